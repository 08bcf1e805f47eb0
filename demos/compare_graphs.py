"""Two programs side by side: where the first value differs, and where the first gradient does.

Four models that should be the same one: one is right, one has another eps in a norm, one has a rule that forgets the
skip of a residual, and one has its norms behind the residuals instead of before them.

What to look at: the wrong eps is found by its value, with the argument. The wrong rule leaves every value as it is, and
the loss to the last bit; it is found by the first arrow, walking back, that delivers something else, with the line that
made it. The other order of norms is another program: it is said where the two part.
"""

import argparse

from blocks import LanguageModel, compare
from minigrad import cross_entropy
from minigrad.ops.residual import ResidualAdd

TOKENS, FOLLOWING = [1, 5, 2, 7], [5, 2, 7, 3]


def main(arguments=None):
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    right = loss_of(model_with("pre"))
    for title, other in (
        ("The same once more", same()),
        ("Another eps in one norm", another_eps()),
        ("A rule without the skip", no_skip()),
        ("Norms behind the residuals", norms_behind()),
    ):
        print(f"{title}: loss {other.item():.12f}, beside {right.item():.12f}")
        print("\n".join(f"  {line}" for line in str(compare(right, other)).splitlines()), "\n")


def model_with(norm):
    return LanguageModel(vocab_size=11, max_length=8, n_blocks=2, d_model=16, n_heads=2, d_ff=32, norm=norm, rng=0)


def loss_of(model):
    return cross_entropy(model(TOKENS), FOLLOWING)


def same():
    return loss_of(model_with("pre"))


def another_eps():
    model = model_with("pre")
    model.blocks[1].attention_norm.eps = 1e-3
    return loss_of(model)


def no_skip():
    model = model_with("pre")
    model.blocks[1].add = lambda skip, branch, label: Forgetful(label)(skip, branch)
    return loss_of(model)


def norms_behind():
    model = model_with("post")
    weights = model_with("pre").state_dict()
    model.load_state_dict({name: value for name, value in weights.items() if not name.startswith("final_norm")})
    return loss_of(model)


class Forgetful(ResidualAdd):
    """y = skip + branch, with a mistake: dL/dskip = 0."""

    name = "residual_add"

    def backward(self, grad_y):
        return 0 * grad_y, grad_y


if __name__ == "__main__":
    main()
