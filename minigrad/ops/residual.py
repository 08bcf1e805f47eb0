"""The residual addition: an addition that knows which of its inputs is the skip."""

from minigrad import wording
from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class ResidualAdd(Op):
    """y = skip + branch;   dL/dskip = dL/dy,   dL/dbranch = dL/dy.

    The sublayer's input goes two ways: past the sublayer over the skip, and through it on the branch. The gradient goes
    back both ways, and over the skip nothing changes it.   (He et al. 2016, eq. 1)
    """

    SKIP, BRANCH = 0, 1

    def __init__(self, label=None):
        self.label = label

    def forward(self, skip, branch):
        if () not in (skip.shape, branch.shape) and skip.shape != branch.shape:
            raise wording.wrong_shape("branch", branch.shape, skip.shape)
        return skip + branch

    def backward(self, grad_y):
        grad_skip = grad_branch = grad_y
        return grad_skip, grad_branch

    @property
    def path(self) -> str:
        """Its scopes and its label: `blocks.0.attention_residual`."""
        return ".".join((*self.scope, self.label or self.name))


WAYS = {ResidualAdd.SKIP: "skip", ResidualAdd.BRANCH: "branch"}


def residual_add(skip: TensorLike, branch: TensorLike, label: str | None = None) -> Tensor:
    """skip + branch, marked as a residual in the graph.

    Args:
        skip: the input of a sublayer.
        branch: what the sublayer made of it, of the same shape; a single number may stand for either.
        label: what the residual is called, such as `attention_residual`.

    Raises:
        ValueError: a branch of another shape.

    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> y = residual_add(x, x.tanh(), "squash")
    >>> y.op
    <op squash((2,), (2,))>
    """
    return ResidualAdd(label)(skip, branch)
