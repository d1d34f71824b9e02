"""Queues with the interface of `multiprocessing`, for processes of which any may be killed.

>>> from corelane import mp
>>> queue = mp.Queue(maxsize=3)
>>> queue.put("message")
>>> queue.get()
'message'
"""

from __future__ import annotations

from collections.abc import Iterable
from queue import Empty, Full
from typing import TYPE_CHECKING, Any

from ._corelane import Tally
from ._calls import duplicate
from ._lanes import Messages

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Empty", "Full", "JoinableQueue", "Queue", "SimpleQueue"]

_SIZE = 16 << 20


class Queue(Messages):
    """As `multiprocessing.Queue`, and as `faster_fifo.Queue`.

    `maxsize` limits the number of messages, `max_size_bytes` their bytes, and `longest` the bytes of
    one: half of `max_size_bytes` if it isn't given. A put waits while either is used up.
    """

    _several = True
    _stays_open = True
    _is_closed = False

    def __new__(
        cls,
        maxsize: int = 0,
        *,
        max_size_bytes: int = _SIZE,
        longest: int | None = None,
        ctx: object = None,
    ) -> Self:
        if max_size_bytes <= 0:
            raise ValueError(f"max_size_bytes={max_size_bytes}: at least 1")
        longest = longest or max(max_size_bytes // 2, 1)
        return cls._make(object, size=max_size_bytes, longest=longest, limit=max(maxsize, 0))

    def _check(self) -> None:
        if self._is_closed:
            raise ValueError(f"Queue {self!r} is closed")

    def put(self, obj: object, block: bool = True, timeout: float | None = None) -> None:
        """Send an object. Waits while the queue is full, for at most `timeout` seconds."""
        self._check()
        super().put(obj, block, timeout)

    def put_nowait(self, obj: object) -> None:
        """As put, without waiting."""
        self.put(obj, False)

    def get(self, block: bool = True, timeout: float | None = None, *, copy: bool = True) -> Any:
        """The oldest object. Waits while there is none, for at most `timeout` seconds."""
        self._check()
        return super().get(block, timeout, copy=copy)

    def get_nowait(self, *, copy: bool = True) -> Any:
        """As get, without waiting."""
        return self.get(False, copy=copy)

    def put_many(
        self, objs: Iterable[object], block: bool = True, timeout: float | None = None
    ) -> int:
        """Send objects, and return their number. Raises Full if not all were sent in time."""
        self._check()
        objs = list(objs)
        sent = super().put_many(objs, block, timeout)
        if sent < len(objs):
            raise Full(f"{sent} of {len(objs)} objects were sent")
        return sent

    def put_many_nowait(self, objs: Iterable[object]) -> int:
        """As put_many, without waiting."""
        return self.put_many(objs, False)

    def get_many(  # type: ignore[override]
        self,
        block: bool = True,
        timeout: float | None = None,
        max_messages_to_get: int = 1000,
    ) -> list[Any]:
        """Several objects. Waits for the first one only."""
        self._check()
        return super().get_many(max_messages_to_get, block, timeout)

    def get_many_nowait(self, max_messages_to_get: int = 1000) -> list[Any]:
        """As get_many, without waiting."""
        return self.get_many(False, None, max_messages_to_get)

    def empty(self) -> bool:
        """Whether no object waits, about."""
        if self._is_closed:
            raise OSError("handle is closed")
        return self.qsize() == 0

    def full(self) -> bool:
        """Whether `maxsize` objects are inside, about."""
        return 0 < self._limit <= self.qsize()

    def close(self) -> None:
        """This process uses the queue no more."""
        self._is_closed = True
        super().close()

    def is_closed(self) -> bool:
        """Whether this process has closed the queue."""
        return self._is_closed

    def join_thread(self) -> None:
        """Nothing: no thread sends in the background. What `put` has sent is in the queue."""

    def cancel_join_thread(self) -> None:
        """Nothing: see join_thread."""

    def __repr__(self) -> str:
        if self._is_closed:
            return f"<corelane.mp.{type(self).__name__}, closed>"
        most = f" of {self._limit}" if self._limit else ""
        return f"<corelane.mp.{type(self).__name__}: {self.qsize()}{most} objects>"


class SimpleQueue(Queue):
    """As `multiprocessing.SimpleQueue`: `get` and `put` have no timeouts there."""


class JoinableQueue(Queue):
    """As `multiprocessing.JoinableQueue`."""

    _tally: Tally

    @classmethod
    def _make(cls, of: type, **options: Any) -> Self:
        tally = options.pop("tally", None)
        queue = super()._make(of, **options)
        queue._tally = tally or Tally()
        return queue

    def put(self, obj: object, block: bool = True, timeout: float | None = None) -> None:
        """As Queue.put."""
        self._tally.add()
        try:
            super().put(obj, block, timeout)
        except BaseException:
            self._tally.done()
            raise

    def put_many(
        self, objs: Iterable[object], block: bool = True, timeout: float | None = None
    ) -> int:
        """As Queue.put_many, one after the other."""
        objs = list(objs)
        for obj in objs:
            self.put(obj, block, timeout)
        return len(objs)

    def task_done(self) -> None:
        """Say that work on an object from `get` is done."""
        self._tally.done()

    def join(self) -> None:
        """Wait until task_done was called for each object."""
        self._tally.wait()

    def __reduce__(self) -> tuple[Any, ...]:
        descriptors = duplicate(self.fileno()), duplicate(self._tally.fileno())
        return _reopen_joinable, (type(self), *descriptors, self._limit)


def _reopen_joinable(
    cls: type[JoinableQueue], lane: Any, tally: Any, limit: int
) -> JoinableQueue:
    import os

    lane_number, tally_number = lane.detach(), tally.detach()
    try:
        return cls._make(object, limit=limit, file=lane_number, tally=Tally(tally_number))
    finally:
        os.close(lane_number)
        os.close(tally_number)
