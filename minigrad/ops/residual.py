"""The residual addition: an addition that knows which of its inputs is the skip."""

from minigrad.arrays import TensorLike
from minigrad.ops.arithmetic import Add
from minigrad.tensor import Tensor


class ResidualAdd(Add):
    """y = skip + branch;   dL/dskip = dL/dy,   dL/dbranch = dL/dy.

    It computes what Add computes, and says it again under the names that a debugger should show. Its own class, and its
    label, are there for whoever reads the graph: diagrams draw `inputs[SKIP]` bold, and the tools for gradient paths
    tell skip and branch apart.   (He et al. 2016, eq. 1)
    """

    SKIP, BRANCH = 0, 1

    def __init__(self, label=None):
        self.label = label

    def forward(self, skip, branch):
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
        branch: what the sublayer made of it, of the same shape.
        label: what the residual is called, such as `attention_residual`.

    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> y = residual_add(x, x.tanh(), "squash")
    >>> y.op
    <op squash((2,), (2,))>
    """
    return ResidualAdd(label)(skip, branch)
