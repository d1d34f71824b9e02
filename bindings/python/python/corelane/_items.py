"""Lanes of items: numpy records of one type, as programs in other languages send and receive them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._calls import Calls, duplicate
from ._corelane import Items as _Items
from ._errors import Closed
from ._wait import Waiters

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, DTypeLike, NDArray
    from typing_extensions import Self


def _name(dtype: numpy.dtype[Any]) -> str:
    """The name of a number's type in Rust."""
    if dtype.kind in "iuf" and dtype.isnative and dtype.itemsize in (1, 2, 4, 8):
        return dtype.kind + str(8 * dtype.itemsize)
    raise ValueError(
        f"dtype {dtype}: say what the type is called in the other program, as in name='Tick'"
    )


def _alignment(dtype: numpy.dtype[Any]) -> int:
    """The alignment that a compiler gives such a struct."""
    if dtype.subdtype is not None:
        return _alignment(dtype.subdtype[0])
    if dtype.fields is not None:
        return max(_alignment(field[0]) for field in dtype.fields.values())
    return dtype.alignment


class ItemLane(Calls, _Items):
    """A queue of items of one type from one process to one other, of which any may be killed.

    An item is a number or a numpy record without padding, of at most 1024 bytes. `capacity` is the
    number of items that always fit. `name` is the name of the type in programs in other languages.

    >>> import corelane, numpy
    >>> tick = numpy.dtype([("time", "u8"), ("price", "f8")])
    >>> lane = corelane.ItemLane(tick, 1024, name="Tick")
    >>> lane.put((1, 99.5))
    >>> lane.put_many(numpy.zeros(3, tick))
    3
    >>> lane.get()
    np.void((1, 99.5), dtype=[('time', '<u8'), ('price', '<f8')])
    >>> len(lane.get_many())
    3
    """

    _shape = "one"
    _dtype: numpy.dtype[Any]
    _named: str

    def __new__(
        cls, dtype: DTypeLike, capacity: int = 1024, *, name: str | None = None, producers: int = 0
    ) -> Self:
        if capacity <= 0:
            raise ValueError(f"capacity={capacity}: a lane has room for at least one item")
        return cls._make(dtype, name, capacity=capacity, producers=producers)

    @classmethod
    def _make(
        cls,
        dtype: DTypeLike,
        name: str | None,
        *,
        capacity: int = 1,
        producers: int = 0,
        file: int | None = None,
    ) -> Self:
        import numpy

        items = numpy.dtype(dtype)
        if items.hasobject:
            raise TypeError(f"{items} has objects: send them by a Lane")
        named = name or _name(items)
        lane = super().__new__(
            cls,
            shape=cls._shape,
            size=items.itemsize,
            align=_alignment(items),
            name=named,
            capacity=capacity,
            producers=producers,
            file=file,
        )
        lane._dtype, lane._named = items, named
        lane._messages, lane._room = Waiters(), Waiters()
        return lane

    @classmethod
    def open(cls, descriptor: int, dtype: DTypeLike, *, name: str | None = None) -> Self:
        """Open a lane by a descriptor that this process has inherited or received."""
        return cls._make(dtype, name, file=descriptor)

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of the items."""
        return self._dtype

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Send an item. Waits for room, for at most `timeout` seconds."""
        import numpy

        self.put_items(numpy.array(item, self._dtype), block, timeout)

    def put_nowait(self, item: Any) -> None:
        """As put, without waiting."""
        self.put(item, False)

    def put_many(self, items: ArrayLike, block: bool = True, timeout: float | None = None) -> int:
        """Send the items of an array, and return their number: less than all if the time is over."""
        import numpy

        return self.put_items(numpy.ascontiguousarray(items, self._dtype), block, timeout)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """The oldest item. Waits while there is none, for at most `timeout` seconds."""
        import numpy

        return numpy.frombuffer(self.get_items(1, block, timeout), self._dtype)[0]

    def get_nowait(self) -> Any:
        """As get, without waiting."""
        return self.get(False)

    def get_many(
        self, most: int = 1000, block: bool = True, timeout: float | None = None
    ) -> NDArray[Any]:
        """Up to `most` items, as an array. Waits for the first one only."""
        import numpy

        return numpy.frombuffer(self.get_items(most, block, timeout), self._dtype)

    def __iter__(self) -> Iterator[Any]:
        """The items, until all senders have gone."""
        while True:
            try:
                items = self.get_many()
            except Closed:
                return
            yield from items

    def __repr__(self) -> str:
        return self._describe(self._named, "items")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), duplicate(self.fileno()), self._dtype, self._named)


def _reopen(
    cls: type[ItemLane], descriptor: Any, dtype: numpy.dtype[Any], name: str
) -> ItemLane:
    number = descriptor.detach()
    try:
        return cls._make(dtype, name, file=number)
    finally:
        os.close(number)


class ItemLanes(ItemLane):
    """As ItemLane, from several processes to several: at most `producers` at a time send, 16 if it
    isn't given, each with room for `capacity` items. Each item goes to one receiving process.
    """

    _shape = "several"


class Broadcast(ItemLane):
    """As ItemLane, from one process to all that listen: each gets all items.

    The sender never waits. An item that a process doesn't get in time is overwritten; `lost` counts
    such items. A process hears what is sent after its first get, or after `listen`.

    >>> import corelane
    >>> feed = corelane.Broadcast("u8", 64)
    >>> feed.listen()
    >>> feed.put(7)
    >>> feed.get()
    np.uint64(7)
    """

    _shape = "all"

    def listen(self) -> None:
        """Hear what is sent from now on."""
        self.take_receiver()
