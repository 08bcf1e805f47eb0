"""How the gradient gets from a loss back to a tensor: by residual, by route, by path length, and what is odd about it.

`blocks` offers the same names.
"""

import importlib
from typing import TYPE_CHECKING

from minigrad.residuals.faults import gradient_faults
from minigrad.residuals.split import gradient_paths, residual_gradients
from minigrad.residuals.tables import (
    GradientFault,
    GradientFaults,
    GradientPaths,
    ResidualGradient,
    ResidualGradients,
)

# Loaded when they are first asked for: drawing takes time to import, and matplotlib may be missing.
ON_DEMAND = {
    "draw_residual_gradients": "minigrad.residuals.picture",
    "plot_path_lengths": "minigrad.residuals.plots",
    "plot_residual_gradients": "minigrad.residuals.plots",
}

if TYPE_CHECKING:
    from minigrad.residuals.picture import draw_residual_gradients
    from minigrad.residuals.plots import plot_path_lengths, plot_residual_gradients
else:  # hidden from type checkers, which would otherwise accept any name

    def __getattr__(name):
        if name in ON_DEMAND:
            return getattr(importlib.import_module(ON_DEMAND[name]), name)
        raise AttributeError(f"module 'minigrad.residuals' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__  # so that Tab and help() show what is loaded on demand, too


__all__ = [
    "GradientFault",
    "GradientFaults",
    "GradientPaths",
    "ResidualGradient",
    "ResidualGradients",
    "draw_residual_gradients",
    "gradient_faults",
    "gradient_paths",
    "plot_path_lengths",
    "plot_residual_gradients",
    "residual_gradients",
]
