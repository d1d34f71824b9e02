"""Lanes of messages: objects, or bytes."""

from __future__ import annotations

import os
from typing import Any

from ._corelane import Lane as _Lane
from ._errors import Closed

_MIB = 1 << 20


class _Messages(_Lane):
    """What lanes of messages have in common."""

    _several = False

    def __new__(
        cls,
        size: int = _MIB,
        *,
        of: type = object,
        longest: int | None = None,
        maxsize: int = 0,
    ):
        if of not in (object, bytes):
            raise TypeError(f"of={of!r}: a lane carries object or bytes")
        if size <= 0:
            raise ValueError(f"size={size}: a lane has at least one byte")
        return cls._make(of, size=size, longest=longest or 0, limit=maxsize)

    @classmethod
    def _make(cls, of, *, size=1, longest=0, limit=0, file=None, stays_open=False):
        lane = super().__new__(
            cls,
            several=cls._several,
            objects=of is object,
            size=size,
            longest=longest,
            limit=limit,
            stays_open=stays_open,
            file=file,
        )
        lane._of, lane._limit = of, limit
        return lane

    @classmethod
    def open(cls, descriptor: int, *, of: type = object):
        """Open a lane by a descriptor that this process has inherited or received."""
        return cls._make(of, file=descriptor)

    def empty(self):
        return self.qsize() == 0

    def __iter__(self):
        """Messages until all senders have gone."""
        while True:
            try:
                yield self.get()
            except Closed:
                return

    def close(self):
        self.close_sender()
        self.close_receiver()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        from multiprocessing.reduction import DupFd

        return _reopen, (type(self), DupFd(self.fileno()), self._of, self._limit)

    def claim_array(self, shape, dtype, block=True, timeout=None):
        return _ArrayClaim(self, shape, dtype, block, timeout)


def _reopen(cls, duplicate, of, limit):
    descriptor = duplicate.detach()
    try:
        return cls._make(of, limit=limit, file=descriptor)
    finally:
        os.close(descriptor)


class _ArrayClaim:
    """Room for an array in a lane."""

    __slots__ = ("_array", "_claim")

    def __init__(self, lane, shape, dtype, block, timeout):
        import numpy

        # Its memory is never touched: only what describes the array is sent.
        like = numpy.empty(shape, dtype)
        self._claim = lane.claim_like(like, block, timeout)
        self._array = numpy.frombuffer(self._claim, dtype).reshape(shape)

    def __enter__(self):
        return self._array

    def __exit__(self, *error):
        self._array.flags.writeable = False
        self._claim.__exit__(*error)


class Lane(_Messages):
    """From one process to one other."""


class Lanes(_Messages):
    """From several processes to several."""

    _several = True
