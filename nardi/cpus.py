"""How many workers there are by default."""

import os

__all__ = ["num_cpus"]


def num_cpus() -> int:
    """Number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
