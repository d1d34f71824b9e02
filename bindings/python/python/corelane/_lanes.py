"""Lanes of messages: objects, or bytes."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._calls import Calls, duplicate
from ._corelane import Lane as _Lane
from ._wait import Waiters

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Self

_MIB = 1 << 20


class Messages(Calls, _Lane):
    """What lanes of messages have in common."""

    _several = False
    _of: type
    _limit: int

    def __new__(
        cls,
        size: int = _MIB,
        *,
        of: type = object,
        longest: int | None = None,
        maxsize: int = 0,
    ) -> Self:
        if of not in (object, bytes):
            raise TypeError(f"of={of!r}: a lane carries object or bytes; numpy records: ItemLane")
        if size <= 0 or (longest is not None and longest <= 0):
            raise ValueError("size and longest are numbers of bytes, at least 1")
        if maxsize > 0 and not cls._several:
            raise ValueError("maxsize is for Lanes; a Lane has a size in bytes")
        return cls._make(of, size=size, longest=longest or 0, limit=max(maxsize, 0))

    @classmethod
    def _make(
        cls,
        of: type,
        *,
        size: int = 1,
        longest: int = 0,
        limit: int = 0,
        file: int | None = None,
    ) -> Self:
        lane = super().__new__(
            cls,
            several=cls._several,
            objects=of is object,
            size=size,
            longest=longest,
            limit=limit,
            stays_open=cls._stays_open,
            file=file,
        )
        lane._of, lane._limit = of, limit
        lane._messages, lane._room = Waiters(), Waiters()
        return lane

    _stays_open = False

    @classmethod
    def open(cls, descriptor: int, *, of: type = object) -> Self:
        """Open a lane by a descriptor that this process has inherited or received.

        The descriptor stays open, and is the caller's.
        """
        return cls._make(of, file=descriptor)

    def qsize(self) -> int:
        """About how many messages wait. Only for a process that has put or got."""
        size = super()._qsize()
        if size is None:
            raise ValueError("this process has no side of the lane yet: put or get first")
        return size

    def claim_array(
        self,
        shape: int | tuple[int, ...],
        dtype: DTypeLike,
        block: bool = True,
        timeout: float | None = None,
    ) -> ArrayClaim:
        """Room for a numpy array, which is written in place and sent at the end of a with block.

        >>> import corelane
        >>> lane = corelane.Lane()
        >>> with lane.claim_array((2, 3), "u1") as frame:
        ...     frame[:] = 7
        >>> lane.get()
        array([[7, 7, 7],
               [7, 7, 7]], dtype=uint8)
        """
        return ArrayClaim(self, shape, dtype, block, timeout)

    def __repr__(self) -> str:
        return self._describe("objects" if self._of is object else "bytes", "messages")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), duplicate(self.fileno()), self._of, self._limit)


def _reopen(cls: type[Messages], descriptor: Any, of: type, limit: int) -> Messages:
    number = descriptor.detach()
    try:
        return cls._make(of, limit=limit, file=number)
    finally:
        os.close(number)


class ArrayClaim:
    """Room for an array in a lane: see claim_array."""

    __slots__ = ("_array", "_claim")

    def __init__(
        self,
        lane: Messages,
        shape: int | tuple[int, ...],
        dtype: DTypeLike,
        block: bool,
        timeout: float | None,
    ) -> None:
        import numpy

        # Its memory is never touched: only what describes the array is sent.
        like = numpy.empty(shape, dtype)
        if like.dtype.hasobject:
            raise TypeError(f"{like.dtype} has objects: send the array by put")
        self._claim = lane.claim_like(like, block, timeout)
        bytes_of_it = memoryview(self._claim)
        self._array: NDArray[Any] = numpy.frombuffer(bytes_of_it, like.dtype).reshape(shape)

    @property
    def array(self) -> NDArray[Any]:
        """The array, to write into."""
        return self._array

    def commit(self) -> None:
        """Send the array. Don't write to it, or to views of it, any more."""
        self._array.flags.writeable = False
        self._claim.commit()

    def abort(self) -> None:
        """Give the room up: nothing is sent."""
        self._array.flags.writeable = False
        self._claim.abort()

    def __enter__(self) -> NDArray[Any]:
        return self._array

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._array.flags.writeable = False
        self._claim.__exit__(kind, error, traceback)


class Lane(Messages):
    """A queue of messages from one process to one other, of which any may be killed.

    The first put makes this process the sender, the first get the receiver. A process that is killed
    gives its side back, and the next one goes on there. `size` are the bytes of messages that fit,
    `longest` those of the longest one, a quarter of the size if it isn't given. `of=bytes` is for
    bytes, as programs in other languages send and receive them: `Lane<[u8]>` in Rust.

    >>> import corelane
    >>> lane = corelane.Lane()
    >>> lane.put({"job": 7})
    >>> lane.get()
    {'job': 7}
    >>> lane.get(timeout=0.01)
    Traceback (most recent call last):
        ...
    _queue.Empty: the lane is empty
    """


class Lanes(Messages):
    """As Lane, from several processes to several.

    Each message goes to one of the receiving processes, the oldest first. `maxsize` limits the number
    of messages inside. A message that a process had not yet got when it was killed goes to another
    one.

    >>> import corelane
    >>> lanes = corelane.Lanes(maxsize=2)
    >>> lanes.put(1), lanes.put(2), lanes.get_many()
    (None, None, [1, 2])
    """

    _several = True
