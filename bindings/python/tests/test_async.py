"""Lanes in tasks of asyncio."""

import asyncio
import select
import threading
import time

import corelane
import pytest
from conftest import running, within

KINDS = [corelane.Lane, corelane.Lanes, lambda: corelane.ItemLane("u8"), lambda: corelane.ItemLanes("u8")]


def send(lane, n, pause):
    for i in range(n):
        time.sleep(pause)
        lane.put(i)


@pytest.mark.parametrize("kind", KINDS)
def test_messages_of_another_process(fork, kind):
    lane = kind()

    async def main():
        return [int(await asyncio.wait_for(lane.get_async(), 20)) for _ in range(20)]

    with running(fork, send, lane, 20, 0.01):
        assert asyncio.run(main()) == list(range(20))


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_task_has_got_nothing(kind):
    lane = kind()

    async def main():
        for i in range(20):
            task = asyncio.create_task(lane.get_async())
            await asyncio.sleep(0.001 * (i % 3))
            if i % 2:
                lane.put(i)
            task.cancel()
            try:
                got = int(await task)
                assert got == i
            except asyncio.CancelledError:
                if i % 2:
                    assert int(lane.get_nowait()) == i

    asyncio.run(main())


def test_several_tasks():
    lanes = corelane.Lanes()

    async def main():
        tasks = [asyncio.create_task(lanes.get_async()) for _ in range(5)]
        await asyncio.sleep(0.02)
        for i in range(5):
            lanes.put(i)
        return sorted(await asyncio.wait_for(asyncio.gather(*tasks), 20))

    assert asyncio.run(main()) == list(range(5))
    assert asyncio.run(main()) == list(range(5)), "in another loop"


def test_room():
    lane = corelane.Lane(1 << 12)

    async def main():
        sent = 0

        async def fill():
            nonlocal sent
            for _ in range(50):
                await lane.put_async(b"x" * 500)
                sent += 1

        task = asyncio.create_task(fill())
        await asyncio.sleep(0.05)
        assert 0 < sent < 50
        threading.Thread(target=lambda: [lane.get() for _ in range(50)]).start()
        await asyncio.wait_for(task, 20)

    asyncio.run(main())


def test_the_end():
    lane = corelane.Lane()
    other = corelane.Lane.open(lane.fileno())

    async def main():
        other.put(1)
        asyncio.get_running_loop().call_later(0.05, other.close)
        return [message async for message in lane]

    with within(10):
        assert asyncio.run(main()) == [1]


def test_a_descriptor():
    lane = corelane.Lane()
    ready = lambda: select.select([lane.ready_fd()], [], [], 0)[0] != []
    with pytest.raises(corelane.Empty):
        ready(), lane.get_nowait()
    assert not ready()
    lane.put(1)
    assert select.select([lane.ready_fd()], [], [], 10)[0]
    assert lane.get_nowait() == 1
    with pytest.raises(corelane.Empty):
        lane.get_nowait()
    assert not ready()
