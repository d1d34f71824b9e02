"""Queues between threads, and between processes that may be killed.

A lane is a queue in memory that processes share. Give it to another process as an argument:

>>> import corelane, multiprocessing
>>> def work(jobs, results):
...     for job in jobs:  # until all senders have gone
...         results.put(job * job)
>>> jobs, results = corelane.Lane(), corelane.Lane()
>>> worker = multiprocessing.get_context("fork").Process(target=work, args=(jobs, results))
>>> worker.start()
>>> jobs.put(7)
>>> results.get()
49
>>> jobs.close()
>>> worker.join()

| | between | carries |
|---|---|---|
| `Queue` | threads | objects |
| `Lane` | one process and one other | objects, or bytes |
| `Lanes` | several processes and several | objects, or bytes |
| `ItemLane`, `ItemLanes` | the same | numpy records of one type |
| `Broadcast` | one process and all that listen | numpy records of one type |
| `mp.Queue` | any processes | objects; as `multiprocessing.Queue` |
"""

import os
from queue import Empty, Full

from . import _corelane
from ._corelane import Queue
from ._errors import Closed, Taken
from ._items import Broadcast, ItemLane, ItemLanes
from ._lanes import Lane, Lanes

__all__ = [
    "Broadcast",
    "Closed",
    "Empty",
    "Full",
    "ItemLane",
    "ItemLanes",
    "Lane",
    "Lanes",
    "Queue",
    "Taken",
]

os.register_at_fork(
    before=_corelane.before_fork,
    after_in_parent=_corelane.after_fork_in_parent,
    after_in_child=_corelane.after_fork_in_child,
)
