"""How things are timed: in turn, many times, and by their medians."""

import statistics
import time


def interleaved(candidates, seconds=2.0, least=7):
    """Time functions in turn, A B C A B C ..., so that a drift of the machine's speed meets them all alike.

    Args:
        candidates: a dict from names to functions without arguments.
        seconds: about how long to go on with each.
        least: rounds at the least.

    Returns:
        A dict from names to lists of seconds, one for each round.
    """
    for run in candidates.values():
        run()  # the first run warms caches up
    times = {name: [] for name in candidates}
    end = time.perf_counter() + seconds * len(candidates)
    while time.perf_counter() < end or len(times[next(iter(times))]) < least:
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


def ratio(times, name, other):
    """The median of the ratios name / other, round by round, and the quartiles around it."""
    ratios = [a / b for a, b in zip(times[name], times[other], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, low, high


def median(times):
    return statistics.median(times)
