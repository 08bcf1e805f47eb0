"""What a program may ask of the system's allocator, so that each pass does not fetch the same memory anew."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's numbers for mallopt(3)
NEVER = 1 << 30  # larger than any array of a pass
LARGEST = 32 << 20  # what an older glibc accepts at most


def keep_freed_memory() -> bool:
    """Keep the memory of freed arrays in the process, for the arrays of the next pass.

    glibc gives every larger block back to the kernel when it is freed. A pass makes and frees the same arrays again and
    again, so each time the kernel has to find and clear their pages: a third of the time of a block with 8 x 64 tokens
    of width 128. Call this once, at the start of a training loop. The peak of resident memory stays as it is; but the
    process holds on to it until it ends, also while it needs less.

    It changes the allocator of the whole process, which is why importing minigrad does not do it.

    Returns:
        True if the allocator took the hint; False where there is no glibc (Windows, macOS, musl), and nothing changed.

    >>> keep_freed_memory() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    accepted = mallopt(M_MMAP_THRESHOLD, NEVER) or mallopt(M_MMAP_THRESHOLD, LARGEST)
    return bool(accepted and mallopt(M_TRIM_THRESHOLD, NEVER))
