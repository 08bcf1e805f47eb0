"""python -m minigrad.step: a script, unchanged, with the commands piped in."""

import io
import os
import shutil
import subprocess
import sys

import pytest

from minigrad import Tensor, scope
from minigrad.debugging.terminal import Prompt, main

SCRIPT = """\
import sys

from helper import FACTOR
from minigrad import Tensor, scope

print("arguments", sys.argv[1:], __name__)
x = Tensor([1.0, -2.0], requires_grad=True, name="x")
with scope("layer"):
    h = (x * FACTOR).relu()
loss = (h * h).sum()
loss.backward()
print("x.grad", x.grad)
h.norm().backward()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "script.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "scripts" / "helper.py").write_text("FACTOR = 3.0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def walk(folder, monkeypatch, capsys):
    """Run a script under the stepper with some commands; returns all that was printed."""

    def run(*commands, script="scripts/script.py"):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["minigrad.step", script])
            patch.setattr(sys, "path", ["", *sys.path])
            patch.setattr(sys, "stdin", io.StringIO("".join(f"{command}\n" for command in commands)))
            main()
        sys.modules.pop("helper", None)
        return capsys.readouterr().out

    return run


def test_as_a_command_with_a_pipe(folder):
    """The script finds its own arguments and its neighbours, and runs to its end when the commands end."""
    done = subprocess.run(
        [sys.executable, "-m", "minigrad.step", "scripts/script.py", "--epochs", "3"],
        input="next\ncontinue relu\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        check=True,
    )
    assert "arguments ['--epochs', '3'] __main__" in done.stdout
    assert "(step) continue relu\nstep 3 of 4: layer.relu" in done.stdout
    assert "x.grad [18.  0.]" in done.stdout
    assert done.stdout.endswith("The script ended after 2 backward passes.\n")


def test_next_walks_the_steps_in_their_order(walk):
    out = walk("next", "n", "n")
    steps = [line for line in out.splitlines() if line.startswith("step ")]
    assert steps == [
        "step 1 of 4: sum",
        "step 2 of 4: multiply",
        "step 3 of 4: layer.relu",
        "step 4 of 4: layer.multiply",
    ]
    assert "(step) next" in out
    assert "in   dL/dy (2,) [6. 0.] norm 6" in out
    assert "out  dL/dx (2,) [18.  0.] norm 18, to x" in out
    assert "out  dL/dy none, to a constant" in out
    assert "the last step of this pass" in out


def test_the_script_waits_at_a_step(walk):
    out = walk("next", "quit")
    assert "x.grad" not in out
    assert "ended" not in out


def test_back_shows_again_and_next_goes_on(walk):
    out = walk("next", "back", "back", "next", "next")
    steps = [line.split(": ")[1] for line in out.splitlines() if line.startswith("step ")]
    assert steps == ["sum", "multiply", "sum", "multiply", "layer.relu"]
    assert "this is the first step of the pass" in out


@pytest.mark.parametrize("name", ["layer.relu", "relu", "layer.r*"])
def test_continue_to_a_name(walk, name):
    steps = [line for line in walk(f"continue {name}").splitlines() if line.startswith("step ")]
    assert steps == ["step 1 of 4: sum", "step 3 of 4: layer.relu"]


def test_continue_finds_a_recorded_step_after_back(walk):
    out = walk("c layer.multiply", "b", "b", "b", "c relu")
    assert [line.split(": ")[1] for line in out.splitlines() if line.startswith("step ")][-1] == "layer.relu"


def test_continue_to_the_next_pass_and_to_a_name_in_it(walk):
    out = walk("continue", "continue relu")
    assert "Pass 2: backward from norm, 3 ops" in out
    assert out.rindex("layer.relu") > out.index("Pass 2")


def test_continue_to_a_name_that_this_pass_does_not_have_stays_where_it_is(walk):
    out = walk("next", "continue layer.rleu", "quit")
    assert "not in this pass: no op is called 'layer.rleu'; there are names such as layer.relu" in out
    assert "x.grad" not in out


def test_continue_to_a_leaf_names_its_consumers(walk):
    assert "'x' is a leaf, which no op made, so it has no rule to stop at; its consumers are layer.multiply" in walk(
        "c x"
    )


def test_continue_to_a_name_that_came_before(walk):
    assert "step 2 of 3: layer.relu" in walk("c relu", "c relu")
    assert "ended before another op called 'relu' came" in walk("c relu", "c relu", "c relu")


def test_a_loss_that_is_nan(walk, folder):
    (folder / "nan.py").write_text(
        "from minigrad import Tensor\nTensor(float('nan'), requires_grad=True).exp().backward()\n", encoding="utf-8"
    )
    assert "with minigrad.detect_anomaly():" in walk(script="nan.py")
    assert "detect_anomaly" not in walk()


def test_print(walk):
    out = walk("c relu", "print", "print grad_x * 2", "p op.inputs[0].shape", "p nothing")
    assert "y            (2,) [" in out
    assert "grad_y       (2,) [6. 0.] norm 6" in out
    assert "[12.  0.]" in out
    assert "\n(2,)\n" in out
    assert "NameError" in out


def test_print_of_an_op_with_any_number_of_inputs(walk, folder):
    (folder / "stacked.py").write_text(
        "from minigrad import Tensor, stack\n"
        "stack([Tensor(1.0, requires_grad=True), Tensor(2.0, requires_grad=True)]).backward([3.0, 4.0])\n",
        encoding="utf-8",
    )
    out = walk("p grad_xs[1]", "p xs[0]", "p grad_y", script="stacked.py")
    assert "(step) p grad_xs[1]\n4.0" in out
    assert "(step) p xs[0]\n1.0" in out
    assert "[3. 4.]" in out


def test_where_shows_the_users_line(walk):
    out = walk("continue relu", "where")
    assert "script.py:9: h = (x * FACTOR).relu()" in out
    assert "    9 ->     h = (x * FACTOR).relu()" in out


def test_explain(walk):
    out = walk("c relu", "explain")
    assert "the sum of 2 contributions" in out
    assert "finite differences: the rule agrees in 2 entries" in out


def test_draw_lights_the_step(walk, folder):
    out = walk("c relu", "draw lit.dot")
    assert "wrote lit.dot" in out
    dot = (folder / "lit.dot").read_text(encoding="utf-8")
    assert "#d7191c" in dot
    assert "this step" in dot


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz: install it so that `dot` is on the PATH")
def test_draw_writes_a_picture_by_default(walk, folder):
    assert "wrote step.svg" in walk("draw")
    assert (folder / "step.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_draw_to_a_file_that_cannot_be_says_why(walk):
    assert "got 'picture.bmp'" in walk("draw picture.bmp")


def test_help_lists_every_command(walk):
    out = walk("help", "help print")
    for command in ("next", "back", "continue", "print", "where", "draw", "explain", "quit", "help"):
        assert f"\n    {command} " in out
    assert "EOF" not in out


def test_an_unknown_command(walk):
    assert "there is no command 'jump'" in walk("jump")


def test_an_empty_line_repeats(walk):
    steps = [line for line in walk("next", "", "").splitlines() if line.startswith("step ")]
    assert len(steps) == 4


def test_quit_is_not_swallowed_by_the_script(walk, folder):
    (folder / "careful.py").write_text(
        "from minigrad import Tensor\n"
        "try:\n    Tensor(1.0, requires_grad=True).exp().backward()\nexcept Exception:\n    print('caught')\n",
        encoding="utf-8",
    )
    assert "caught" not in walk("quit", script="careful.py")


CAREFUL = """\
from minigrad import Tensor

def step():
    with open("closed.txt", "w", encoding="utf-8") as file:
        try:
            file.write("kept")
            Tensor(1.0, requires_grad=True).exp().backward()
        finally:
            print("finally")
try:
    step()
{handler}
    print("swallowed")
for _ in range(3):
    try:
        step()
    except:
        print("again")
print("after")
"""


@pytest.mark.parametrize(
    "handler", ["except:", "except BaseException:", "except (ValueError, BaseException) as error:"]
)
def test_stp_a_quit_is_not_swallowed_by_a_bare_except(walk, folder, handler):
    (folder / "careful.py").write_text(CAREFUL.format(handler=handler), encoding="utf-8")
    tracing = sys.gettrace()
    text = walk("quit", script="careful.py")
    for word in ("swallowed", "again", "after", "ended"):
        assert word not in text
    assert text.count("finally") == 1
    assert (folder / "closed.txt").read_text(encoding="utf-8") == "kept"
    assert sys.gettrace() is tracing


def test_stp_a_quit_in_nested_handlers_ends_at_the_next_op(walk, folder):
    (folder / "careful.py").write_text(
        "from minigrad import Tensor\n"
        "x = Tensor(1.0, requires_grad=True)\n"
        "try:\n    try:\n        x.exp().backward()\n    except:\n        pass\nexcept:\n    pass\n"
        "x.exp()\nprint('after')\n",
        encoding="utf-8",
    )
    text = walk("quit", script="careful.py")
    assert "after" not in text and "ended" not in text


@pytest.mark.parametrize("closed", ["<&-", "</dev/null"])
@pytest.mark.skipif(os.name != "posix", reason="a shell that closes the input; run it on Linux or macOS")
def test_stp_a_without_an_input_the_script_runs_to_its_end(folder, closed):
    done = subprocess.run(
        f'"{sys.executable}" -m minigrad.step scripts/script.py {closed}',
        shell=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        check=True,
    )
    assert done.stdout.endswith("The script ended after 2 backward passes.\n")
    assert done.stderr == ""


def test_a_script_without_a_backward_pass(walk, folder):
    (folder / "idle.py").write_text("print('idle')\n", encoding="utf-8")
    assert "The script ended without a backward pass." in walk(script="idle.py")


def test_an_error_of_the_script_comes_through(walk, folder):
    (folder / "broken.py").write_text("raise ValueError('mine')\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^mine$"):
        walk(script="broken.py")


def test_no_script(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["minigrad.step"])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err.endswith("the following arguments are required: script\n")


def test_a_missing_script(walk, capsys):
    with pytest.raises(SystemExit):
        walk(script="none.py")
    assert "there is no file 'none.py'" in capsys.readouterr().err


def test_names_are_completed():
    prompt = Prompt()
    x = Tensor([1.0, -2.0], requires_grad=True, name="x")
    with scope("layer"):
        h = x.relu()
    steps = []
    prompt.after_backward = steps.append
    with prompt:
        h.sum().backward()
    prompt.steps = steps
    assert prompt.complete_c("lay", "c lay", 2, 5) == ["layer.relu"]
    assert prompt.complete_continue("rel", "continue layer.rel", 15, 18) == ["relu"]  # behind a blank or a dot
    assert prompt.complete_p("grad_", "p grad_", 2, 7) == ["grad_x", "grad_y"]
    assert prompt.completenames("ex") == ["explain"]
