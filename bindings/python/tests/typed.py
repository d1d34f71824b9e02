"""Read by mypy only: what a program may say."""

import asyncio
from typing import Any

import corelane
import numpy
from corelane import mp

queue = corelane.Queue(3)
queue.put(1, timeout=1.0)
item: Any = queue.get()
items: list[Any] = queue.get_many(10)

lane = corelane.Lane(1 << 20, of=bytes, longest=1000)
lane.put(b"x", block=False)
sent: int = lane.put_many([b"x"])
view: memoryview = lane.get(copy=False)
with lane.claim(10) as claim:
    memoryview(claim)[:] = b"0123456789"
with corelane.Lanes(maxsize=10) as lanes:
    lanes.put({})
    for message in lanes:
        print(message)
with lanes.claim_array((3, 4), numpy.float32) as array:
    array[:] = 1
depth: int = lanes.qsize()
has_come: bool = lanes.wait_for_peer(1)


async def main() -> None:
    await lane.put_async(b"x")
    await lane.get_async()
    async for message in lanes:
        print(message)


asyncio.run(main())

ticks = corelane.ItemLane(numpy.dtype("u8"), 10)
ticks.put_many([1, 2])
numbers = ticks.get_many()
numbers.sum()
feed = corelane.Broadcast("f8", 10, name="f64")
lost: int = feed.lost()

jobs: mp.Queue = mp.JoinableQueue(10)
jobs.put(1)
