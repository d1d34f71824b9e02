"""Queues between threads and between processes that may be killed.

>>> import corelane
>>> lane = corelane.Lane()  # give it to another process as an argument
>>> lane.put({"job": 7})
>>> lane.get()
{'job': 7}
"""

from __future__ import annotations

import os
from queue import Empty, Full

from . import _corelane
from ._errors import Closed, Taken
from ._lanes import Lane, Lanes

__all__ = ["Closed", "Empty", "Full", "Lane", "Lanes", "Taken"]

os.register_at_fork(
    before=_corelane.before_fork,
    after_in_parent=_corelane.after_fork_in_parent,
    after_in_child=_corelane.after_fork_in_child,
)
