"""Where the time of one block's pass goes: into NumPy's work in the rules, or into the engine around it."""

from minigrad import Tensor
from minigrad.backprop import delivered, topological_order
from tests.benchmarks.measuring import interleaved, median
from tests.benchmarks.peers import problem


def main():
    print("\nWhere the time of one block goes, ms (medians)\n")
    header = ("whole pass", "forward rules", "backward rules", "delivery", "order", "the rest")
    print(f"{'size':8} " + " ".join(f"{name:>14}" for name in header))
    for size in ("lesson", "small", "medium", "large"):
        times = {name: median(values) * 1e3 for name, values in interleaved(parts(size), seconds=0.5).items()}
        rest = times["whole pass"] - sum(times[name] for name in header[1:-1])
        print(f"{size:8} " + " ".join(f"{value:14.3f}" for value in (*times.values(), rest)))


def parts(size):
    """The whole pass, and its parts as they run alone."""
    block, x, weights = problem(size)

    x, weights = Tensor(x, requires_grad=True), Tensor(weights)

    def forward():
        return (block(x) * weights).sum()

    loss = forward()
    calls = [(step.op, step.grad_output) for step in loss.backprop()]
    arrays = [[tensor.data for tensor in op.inputs] for op, _ in calls]
    returned = [op.backward(grad) for op, grad in calls]

    def whole_pass():
        forward().backward(retain_grads=False)
        for parameter in block.parameters():
            parameter.grad = None

    def forward_rules():
        for (op, _), inputs in zip(calls, arrays, strict=True):
            op.forward(*inputs)

    def backward_rules():
        for op, grad in calls:
            op.backward(grad)

    def delivery():
        for (op, _), grads in zip(calls, returned, strict=True):
            delivered(op, grads)

    return {
        "whole pass": whole_pass,
        "forward rules": forward_rules,
        "backward rules": backward_rules,
        "delivery": delivery,
        "order": lambda: topological_order(loss),
    }


if __name__ == "__main__":
    main()
