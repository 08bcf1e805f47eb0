"""How the gradient gets from a loss back to a tensor: by residual, by route, by path length, and what is odd about it.

`blocks` offers the same names.
"""

import importlib
from typing import TYPE_CHECKING

# Each is loaded when it is first asked for, so that a script that trains does not wait for what it does not use.
ON_DEMAND = {
    "minigrad.residuals.comparison": ("Comparison", "Difference", "compare"),
    "minigrad.residuals.faults": ("gradient_faults",),
    "minigrad.residuals.picture": ("draw_residual_gradients", "draw_residual_stream"),
    "minigrad.residuals.plots": ("plot_path_lengths", "plot_residual_gradients", "plot_residual_stream"),
    "minigrad.residuals.split": ("gradient_paths", "residual_gradients"),
    "minigrad.residuals.stream": ("residual_stream",),
    "minigrad.residuals.tables": (
        "GradientFault",
        "GradientFaults",
        "GradientPaths",
        "ResidualGradient",
        "ResidualGradients",
        "ResidualStream",
        "ResidualWrite",
    ),
}

if TYPE_CHECKING:
    from minigrad.residuals.comparison import Comparison, Difference, compare
    from minigrad.residuals.faults import gradient_faults
    from minigrad.residuals.picture import draw_residual_gradients, draw_residual_stream
    from minigrad.residuals.plots import plot_path_lengths, plot_residual_gradients, plot_residual_stream
    from minigrad.residuals.split import gradient_paths, residual_gradients
    from minigrad.residuals.stream import residual_stream
    from minigrad.residuals.tables import (
        GradientFault,
        GradientFaults,
        GradientPaths,
        ResidualGradient,
        ResidualGradients,
        ResidualStream,
        ResidualWrite,
    )
else:  # hidden from type checkers, which would otherwise accept any name

    def __getattr__(name):
        for module, names in ON_DEMAND.items():
            if name in names:
                return getattr(importlib.import_module(module), name)
        raise AttributeError(f"module 'minigrad.residuals' has no attribute {name!r}")

    def __dir__():  # for Tab and help(), which would not see what is loaded on demand
        return __all__


__all__ = [
    "Comparison",
    "Difference",
    "GradientFault",
    "GradientFaults",
    "GradientPaths",
    "ResidualGradient",
    "ResidualGradients",
    "ResidualStream",
    "ResidualWrite",
    "compare",
    "draw_residual_gradients",
    "draw_residual_stream",
    "gradient_faults",
    "gradient_paths",
    "plot_path_lengths",
    "plot_residual_gradients",
    "plot_residual_stream",
    "residual_gradients",
    "residual_stream",
]
