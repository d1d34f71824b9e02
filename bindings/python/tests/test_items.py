"""Lanes of items."""

import corelane
import numpy
import pytest
from conftest import descriptors, running

TICK = numpy.dtype([("time", "u8"), ("price", "f8"), ("size", "u4"), ("side", "u4")])


def send(lane, n):
    items = numpy.zeros(n, lane.dtype)
    items["time"] = numpy.arange(n)
    items["price"] = items["time"] * 0.5
    lane.put_many(items)


@pytest.mark.parametrize("kind", [corelane.ItemLane, corelane.ItemLanes])
def test_another_process(context, kind):
    lane = kind(TICK, 100, name="Tick")
    with running(context, send, lane, 5000) as process:
        got = []
        while sum(map(len, got)) < 5000:
            got.append(lane.get_many(timeout=60))
        process.join(60)
    items = numpy.concatenate(got)
    assert (items["time"] == numpy.arange(5000)).all()
    assert (items["price"] == numpy.arange(5000) * 0.5).all()
    with pytest.raises(corelane.Closed):
        lane.get()


def test_numbers():
    for dtype, value in [("u1", 3), ("i2", -5), ("f4", 0.5), ("i8", -(2**60)), ("f8", 1e300)]:
        lane = corelane.ItemLane(dtype, 16)
        lane.put(value)
        got = lane.get()
        assert got == value and got.dtype == numpy.dtype(dtype)
        assert lane.capacity >= 16


def test_limits():
    lane = corelane.ItemLane("u8", 16)
    sent = lane.put_many(numpy.arange(1000), timeout=0.01)
    assert 16 <= sent < 1000
    with pytest.raises(corelane.Full):
        lane.put_nowait(1)
    assert lane.sent() == sent and lane.qsize() == sent
    assert len(lane.get_many(3)) == 3 and lane.received() == 3
    assert lane.get() == 3
    while not lane.empty():
        lane.get_many()
    with pytest.raises(corelane.Empty):
        lane.get(timeout=0.01)
    with pytest.raises(corelane.Empty):
        lane.get_many(block=False)


def test_what_is_refused():
    with pytest.raises(ValueError, match="name='Tick'"):
        corelane.ItemLane(TICK)
    with pytest.raises(ValueError, match="pad the type"):
        corelane.ItemLane("S7", name="Seven")
    with pytest.raises(TypeError, match="objects"):
        corelane.ItemLane(object)
    with pytest.raises(ValueError, match="at least one"):
        corelane.ItemLane("u8", 0)
    lane = corelane.ItemLane("u8")
    with pytest.raises(ValueError, match="whole number"):
        lane.put_items(b"123")
    for other in [("i8", None), (TICK, "Tick")]:
        with pytest.raises(ValueError):
            corelane.ItemLane.open(lane.fileno(), other[0], name=other[1])
    assert corelane.ItemLane.open(lane.fileno(), "u8").dtype == numpy.dtype("u8")


def test_a_broadcast():
    feed = corelane.Broadcast("u8", 8)
    others = [corelane.Broadcast.open(feed.fileno(), "u8") for _ in range(2)]
    for other in others:
        other.listen()
    feed.put_many(numpy.arange(5))
    assert [other.get_many().tolist() for other in others] == [list(range(5))] * 2
    feed.put_many(numpy.arange(100))
    got = others[0].get_many()
    assert got[-1] == 99 and others[0].lost() == 100 - len(got)
    assert "Broadcast of u64" in repr(others[0])


def test_seats_of_a_forked_child(fork):
    import os
    import signal
    import time

    for kind in [corelane.ItemLane, corelane.ItemLanes, corelane.Broadcast]:
        lane, told = kind("u8", 8), corelane.Lane()
        if kind is corelane.Broadcast:
            lane.listen()

        def parent():
            lane.put(7)
            child = os.fork()
            if child == 0:
                time.sleep(30)
                os._exit(0)
            told.put(child)
            time.sleep(60)

        with running(fork, parent):
            child = told.get(timeout=20)
        try:
            assert lane.get(timeout=20) == 7
            with pytest.raises(corelane.Closed):
                lane.get(timeout=20)
        finally:
            os.kill(child, signal.SIGKILL)


def test_nothing_leaks():
    before = descriptors()
    for _ in range(20):
        for kind in [corelane.ItemLane, corelane.ItemLanes, corelane.Broadcast]:
            lane = kind("u8")
            lane.take_receiver()
            lane.put(1)
            lane.get()
            del lane
    assert descriptors() <= before + 1
