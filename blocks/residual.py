"""The residual connection: the input of a sublayer is added to what the sublayer made of it."""

from minigrad import Tensor, residual_add


def with_residual(x: Tensor, branch: Tensor, label: str) -> Tensor:
    """y = x + branch, marked as a residual:  dL/dx gets dL/dy as it is, and what the branch makes of it."""
    return residual_add(x, branch, label)


def without_residual(x: Tensor, branch: Tensor, label: str) -> Tensor:
    """y = branch, for comparison: every gradient has to go through the sublayer."""
    return branch
