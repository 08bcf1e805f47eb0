"""How cost grows: per node, with depth, and with the length of the sequence."""

import numpy as np

from blocks import Stack
from minigrad import Tensor
from tests.benchmarks.measuring import interleaved, median


def main():
    per_node()
    with_depth()
    with_length()


def per_node(n=1000):
    """A chain of additions of small arrays: what the engine adds to NumPy's own addition."""
    x = Tensor(np.ones((3, 4)), requires_grad=True)
    seed = np.ones((3, 4))

    def chain():
        y = x
        for _ in range(n):
            y = y + x
        return y

    def plain_numpy():
        y = x.data
        for _ in range(n):
            y = y + x.data

    y = chain()
    times = interleaved(
        {
            "forward": chain,
            "backward": lambda: y.backward(seed, retain_grads=False),
            "backward, gradients kept": lambda: y.backward(seed),
            "NumPy's addition alone": plain_numpy,
        },
        seconds=0.5,
    )
    print("\nPer node, microseconds (medians, a chain of 1,000 additions of 3 x 4 numbers)\n")
    for name, values in times.items():
        print(f"  {name:28} {median(values) / n * 1e6:6.2f}")


def with_depth():
    print("\nWith depth: forward and backward of a stack, T = 16, d_model = 32; ms per block should stay level\n")
    compare("blocks", [1, 4, 16, 64], lambda n: (n, 16), lambda n: n)


def with_length():
    print("\nWith length: one block, d_model = 32; ms per token rises where attention's T^2 takes over\n")
    compare("tokens", [16, 64, 256, 1024], lambda n: (1, n), lambda n: n)


def compare(unit, numbers, sizes, divisor):
    runs = {n: stack_pass(*sizes(n)) for n in numbers}
    times = interleaved(runs, seconds=0.5, least=5)
    for n, values in times.items():
        print(f"  {n:5} {unit}  {median(values) * 1e3:9.3f} ms, {median(values) * 1e3 / divisor(n):7.4f} ms each")


def stack_pass(n_blocks, n_tokens, d_model=32):
    stack = Stack(n_blocks, d_model, 4, 4 * d_model, dtype=np.float32, rng=0)
    x = Tensor(np.random.default_rng(0).normal(size=(1, n_tokens, d_model)).astype(np.float32), requires_grad=True)

    def run():
        x.zero_grad()
        stack.zero_grad()
        (stack(x) * x.data).sum().backward(retain_grads=False)

    return run


if __name__ == "__main__":
    main()
