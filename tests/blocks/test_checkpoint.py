"""A checkpoint goes on as if the training had never stopped, and a file that is none changes nothing."""

import pickle

import numpy as np
import pytest

from blocks import LanguageModel, Linear
from blocks.checkpoint import load_checkpoint, save_checkpoint
from blocks.data import random_windows
from blocks.training import train_step
from minigrad import Module, Parameter
from minigrad.optim import SGD, AdamW, decay_groups

TOKENS = np.arange(200) * 7 % 11
SHAPE = {"vocab_size": 11, "max_length": 6, "n_blocks": 1, "d_model": 8, "n_heads": 2, "d_ff": 16}


def training(make=AdamW, seed=0, **options):
    rng = np.random.default_rng(seed)
    model = LanguageModel(**(SHAPE | options), dropout=0.1, dtype=np.float32, rng=seed)
    return model, make(decay_groups(model.parameters(), 0.1), lr=0.01), rng


def train(model, optimizer, rng, n_steps):
    for _ in range(n_steps):
        train_step(model, optimizer, *random_windows(TOKENS, 4, 6, rng))


@pytest.fixture
def saved(tmp_path):
    model, optimizer, rng = training()
    train(model, optimizer, rng, 3)
    save_checkpoint(tmp_path / "model.npz", model, optimizer, step=3, rng=rng, config=SHAPE, notes={"characters": "ab"})
    return tmp_path / "model.npz", model


@pytest.mark.parametrize("make", [SGD, AdamW])
@pytest.mark.parametrize("source", [np.random.PCG64, np.random.MT19937])
def test_bit_for_bit_what_it_would_have_been(tmp_path, make, source):
    """With dropout, whose random numbers go on too."""
    model, optimizer, _ = training(make)
    rng = np.random.Generator(source(5))
    train(model, optimizer, rng, 3)
    optimizer.lr = 0.02
    save_checkpoint(tmp_path / "model.npz", model, optimizer, step=3, rng=rng)
    train(model, optimizer, rng, 4)

    other, other_optimizer, _ = training(make, seed=9)
    other_rng = np.random.Generator(source(6))
    checkpoint = load_checkpoint(tmp_path / "model.npz")
    checkpoint.restore(other, other_optimizer, other_rng)
    assert checkpoint.step == 3 and other_optimizer.lr == 0.02
    train(other, other_optimizer, other_rng, 4)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, other.state_dict()[name], err_msg=name)
    assert rng.random() == other_rng.random()


def test_what_is_in_the_file(saved):
    path, model = saved
    checkpoint = load_checkpoint(path)
    assert checkpoint.config == SHAPE and checkpoint.notes == {"characters": "ab"}
    assert list(checkpoint.weights) == [name for name, _ in model.named_parameters()]
    assert "<Checkpoint" in repr(checkpoint) and "step 3" in repr(checkpoint) and "AdamW" in repr(checkpoint)
    with np.load(path, allow_pickle=False) as file:  # and any program can read it
        np.testing.assert_array_equal(file["weights/tokens.weight"], model.tokens.weight.data)
        assert file["optimizer/t/tokens.weight"] == 3


def test_a_restored_model_and_the_checkpoint_share_no_arrays(saved):
    path, _ = saved
    checkpoint = load_checkpoint(path)
    model, optimizer, rng = training(seed=1)
    for _ in range(2):  # the same again, though training has changed what the first one put there
        checkpoint.restore(model, optimizer, rng)
        weights = model.state_dict()
        train(model, optimizer, rng, 1)
        moved = model.state_dict()
    checkpoint.restore(model, optimizer, rng)
    assert all((weights[name] == value).all() for name, value in model.state_dict().items())
    train(model, optimizer, rng, 1)
    assert all((moved[name] == value).all() for name, value in model.state_dict().items())


def test_tied_weights_are_stored_once_and_stay_tied(tmp_path):
    class Tied(Module):
        def __init__(self, seed):
            self.first = Linear(3, 3, rng=seed)
            self.second = Linear(3, 3, rng=seed + 1)
            self.second.weight = self.first.weight

    model, other = Tied(0), Tied(7)
    save_checkpoint(tmp_path / "tied.npz", model)
    checkpoint = load_checkpoint(tmp_path / "tied.npz")
    assert "second.weight" not in checkpoint.weights
    checkpoint.restore(other)
    assert other.first.weight is other.second.weight
    np.testing.assert_array_equal(other.second.weight.data, model.first.weight.data)


def test_all_that_does_not_fit_is_listed_and_nothing_is_changed(saved):
    path, _ = saved
    other, _, _ = training(seed=1, tied=False, d_model=4, n_heads=1, n_blocks=2)
    before = other.state_dict()
    with pytest.raises(KeyError) as raised:
        load_checkpoint(path).restore(other)
    for words in ("output.weight", "blocks.1.attention.query.weight", "tokens.weight has shape (11, 4), got (11, 8)"):
        assert words in str(raised.value)
    assert all((before[name] == value).all() for name, value in other.state_dict().items())


def test_an_optimizer_of_another_kind_or_without_a_state_changes_nothing(saved, tmp_path):
    path, model = saved
    other, optimizer, rng = training(SGD, seed=1)
    before = other.state_dict()
    with pytest.raises(ValueError, match="holds the state of AdamW, not of SGD"):
        load_checkpoint(path).restore(other, optimizer, rng)
    with pytest.raises(KeyError, match=r"missing there: none; unknown here: m/blocks.0.*, m/tokens.weight"):
        load_checkpoint(path).restore(other, AdamW([other.positions.weight]))
    save_checkpoint(tmp_path / "bare.npz", model)
    with pytest.raises(ValueError, match="holds no optimizer"):
        load_checkpoint(tmp_path / "bare.npz").restore(other, optimizer)
    with pytest.raises(ValueError, match="no state for rng"):
        load_checkpoint(tmp_path / "bare.npz").restore(other, rng=rng)
    assert all((before[name] == value).all() for name, value in other.state_dict().items())
    with pytest.raises(ValueError, match="no parameter of the model"):
        save_checkpoint(tmp_path / "bare.npz", model, AdamW([Parameter([1.0])]))


@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short(saved, part):
    path, _ = saved
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ValueError, match=r"model.npz is no checkpoint, or a damaged one"):
        load_checkpoint(path)


def test_damage_inside_is_found(saved):
    path, _ = saved
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        load_checkpoint(path)


def test_foreign_files(tmp_path):
    path = tmp_path / "foreign"
    for content in (b"text", pickle.dumps({"format": 1}), b"\x80\x05", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="no checkpoint"):
            load_checkpoint(path)
    for arrays in ({"a": np.ones(3)}, {"about": np.ones(3)}, {"about": np.array("{}")}, {"about": np.array("[]")}):
        np.savez(tmp_path / "foreign.npz", **arrays)
        with pytest.raises(ValueError, match="no checkpoint"):
            load_checkpoint(tmp_path / "foreign.npz")
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(ValueError, match="no checkpoint"):
        load_checkpoint(tmp_path / "array.npy")
    np.savez(tmp_path / "foreign.npz", about=np.array('{"format": "minigrad checkpoint 9"}'))
    with pytest.raises(ValueError, match="of another kind: 'minigrad checkpoint 9'"):
        load_checkpoint(tmp_path / "foreign.npz")
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none.npz")


def test_a_full_disk_loses_nothing(saved):
    resource = pytest.importorskip("resource", reason="limits of a process: run on Linux or macOS")
    path, model = saved
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 8, limits[1]))  # no file can be longer, as on a full disk
    try:
        with pytest.raises(OSError, match="the checkpoint was not written, and a file that was there is as it was"):
            save_checkpoint(path, model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["model.npz"]


def test_what_json_cannot_say(tmp_path):
    model = Linear(2, 2, rng=0)
    for config in ({"rng": object()}, {"shape": {1, 2}}):
        with pytest.raises(TypeError, match="what JSON can say"):
            save_checkpoint(tmp_path / "model.npz", model, config=config)
    save_checkpoint(
        tmp_path / "model.npz", model, config={"dtype": np.float32, "eps": np.float64(1e-5), "n": np.int64(3)}
    )
    assert load_checkpoint(tmp_path / "model.npz").config == {"dtype": "float32", "eps": 1e-5, "n": 3}
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_checkpoint(tmp_path / "nowhere" / "model.npz", model)
