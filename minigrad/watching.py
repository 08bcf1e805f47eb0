"""Watchers: who looks over the engine's shoulder. Breakpoints, the search for NaN and the stepper hook in here.

Without a watcher all of this costs the engine one test of an empty list, before and after each rule.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

WATCHERS: "list[Watcher]" = []


class Watcher:
    """Sees every op of every thread before and after its rules, as long as its `with` block lasts. Watchers nest.

    Each method below is called by the engine and does nothing here. Those that return True ask for a `breakpoint()`
    in the frame that is about to run the rule.
    """

    def __enter__(self) -> "Self":
        WATCHERS.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        WATCHERS.remove(self)

    def before_forward(self, op):
        """`op.inputs` and `op.scope` are known."""
        return False

    def after_forward(self, op, result):
        """`result` is the new tensor; its `op` is None where nothing is recorded."""

    def before_pass(self, output):
        """A backward pass is about to start from the tensor `output`."""

    def before_backward(self, step):
        """`step.grad_output` is final; `step.grad_inputs` is None, since the rule has not run."""
        return False

    def before_leaf(self, leaf, grad):
        """The leaf's `grad` is about to get `grad`: what this pass delivered in all, after its hooks."""

    def after_backward(self, step):
        """The step is complete."""


def before_forward(op):
    return any([watcher.before_forward(op) for watcher in WATCHERS])


def after_forward(op, result):
    for watcher in WATCHERS:
        watcher.after_forward(op, result)


def before_pass(output):
    for watcher in WATCHERS:
        watcher.before_pass(output)


def before_backward(step):
    return any([watcher.before_backward(step) for watcher in WATCHERS])


def before_leaf(leaf, grad):
    for watcher in WATCHERS:
        watcher.before_leaf(leaf, grad)


def after_backward(step):
    for watcher in WATCHERS:
        watcher.after_backward(step)
