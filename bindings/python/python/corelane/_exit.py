"""The end of a process: it gives its sides of lanes back."""

import atexit
import sys

from ._corelane import close_all


def register() -> None:
    """A child of multiprocessing runs neither atexit nor the end of its objects."""
    util = sys.modules.get("multiprocessing.util")
    if util is None:
        atexit.register(close_all)
    else:
        # After the finalizers of queues that send what is left.
        util.Finalize(None, close_all, exitpriority=-100)
