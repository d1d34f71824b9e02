"""Calls that all lanes have, by those that each has of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from queue import Empty, Full
from typing import TYPE_CHECKING, Any

from ._errors import Closed
from ._wait import Waiters

if TYPE_CHECKING:
    from typing_extensions import Self


class Calls:
    """What is the same for messages and for items."""

    _messages: Waiters
    _room: Waiters

    if TYPE_CHECKING:
        # Of the lane.
        get: Any
        get_nowait: Any
        put_nowait: Any
        ready_fd: Any
        room_fd: Any
        close_sender: Any
        close_receiver: Any
        sides: Any
        qsize: Any
        peer: Any

    async def put_async(self, obj: Any) -> None:
        """As put, in a task of asyncio. A task that is cancelled has put nothing."""
        while True:
            try:
                self.put_nowait(obj)
                return
            except Full:
                await self._room.readable(self.room_fd())

    async def get_async(self, **how: bool) -> Any:
        """As get, in a task of asyncio. A task that is cancelled has got nothing."""
        while True:
            try:
                return self.get_nowait(**how)
            except Empty:
                await self._messages.readable(self.ready_fd())

    def __iter__(self) -> Iterator[Any]:
        """What comes, until all senders have gone."""
        while True:
            try:
                message = self.get()
            except Closed:
                return
            yield message

    async def __aiter__(self) -> AsyncIterator[Any]:
        """As the iterator, in a task of asyncio."""
        while True:
            try:
                message = await self.get_async()
            except Closed:
                return
            yield message

    def empty(self) -> bool:
        """Whether nothing waits, about."""
        return bool(self.qsize() == 0)

    def close(self) -> None:
        """Give back the sides that this process has."""
        self.close_sender()
        self.close_receiver()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _describe(self, of: str, what: str) -> str:
        """What a lane says of itself."""
        sends, receives = self.sides()
        words = f"<corelane.{type(self).__name__} of {of}"
        if sends or receives:
            sides = " and ".join(["sends"] * sends + ["receives"] * receives)
            depth = f"{self.qsize()} {what}"
            words += f": {depth}, this process {sides}, the other side: {self.peer()}"
        return words + ">"


def duplicate(descriptor: int) -> Any:
    """A descriptor for a process that is being started, or one that gets it through a pipe."""
    from multiprocessing.reduction import DupFd

    return DupFd(descriptor)
