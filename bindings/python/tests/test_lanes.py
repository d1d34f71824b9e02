"""Lanes of messages between processes."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import corelane
import numpy
import pytest
from conftest import STRESS, descriptors, running, until, within

LANES = [corelane.Lane, corelane.Lanes]


class Thing:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


OBJECTS = [
    None,
    True,
    7,
    1 << 200,
    1.5,
    "",
    "text ü",
    "\ud800",
    b"",
    b"bytes",
    bytearray(b"array"),
    [1, [2, {"a": (3, None)}]],
    {"x": {1, 2}},
    Thing(5),
    range(9),
    ValueError("x"),
]


@pytest.mark.parametrize("kind", LANES)
def test_objects_of_any_type(kind):
    lane = kind()
    for obj in OBJECTS:
        lane.put(obj)
        for got in [lane.get()]:
            assert type(got) is type(obj)
            assert got == obj or isinstance(obj, ValueError) and got.args == obj.args
    lane.put_many(OBJECTS[:-1])
    assert lane.get_many() == OBJECTS[:-1]
    assert lane.qsize() == 0 and lane.empty()


@pytest.mark.parametrize("kind", LANES)
@pytest.mark.parametrize("copy", [True, False])
def test_arrays(kind, copy):
    lane = kind(8 << 20)
    arrays = [
        numpy.arange(10),
        numpy.ones((3, 4, 5), "f4")[:, ::2],
        numpy.asfortranarray(numpy.arange(12).reshape(3, 4)),
        numpy.zeros(0),
        numpy.array(5),
        numpy.arange(200_000),
        numpy.zeros(3, [("a", "u1"), ("b", "f8")]),
    ]
    for array in arrays:
        lane.put(array)
        got = lane.get(copy=copy)
        assert got.dtype == array.dtype and numpy.array_equal(got, array)
        del got
    lane.put({"one": arrays[0], "two": [arrays[5], arrays[1]]})
    got = lane.get(copy=copy)
    assert numpy.array_equal(got["two"][0], arrays[5])
    assert numpy.array_equal(got["one"], arrays[0])


def test_a_lent_array_keeps_its_slot():
    for kind in LANES:
        lane = kind(1 << 16, longest=1 << 14)
        held = []
        for i in range(4):
            lane.put(numpy.full(1000, i))
            held.append(lane.get(copy=False))
        assert not held[0].flags.writeable
        # The lane fills up: nothing overwrites the arrays.
        with pytest.raises(corelane.Full):
            for _ in range(100):
                lane.put_nowait(numpy.full(1000, 99))
        views = [array[10:20] for array in held]
        del held
        assert [view.tolist() for view in views] == [[i] * 10 for i in range(4)]
        # The newest comes back first: the room comes back with the oldest.
        views.pop()
        views.pop(1)
        del views[:]
        while not lane.empty():
            lane.get()
        for i in range(100):
            lane.put(numpy.full(1000, i))
            assert lane.get()[0] == i


def test_a_lent_array_keeps_the_lane():
    for kind in LANES:
        lane = kind()
        lane.put(numpy.arange(1000))
        array = lane.get(copy=False)
        lane.close()
        del lane
        gc.collect()
        assert array.sum() == 499_500


def test_a_closed_lane_keeps_its_seat_while_it_lends():
    lane = corelane.Lanes()
    lane.put(numpy.arange(100))
    array = lane.get(copy=False)
    lane.close()
    other = corelane.Lanes.open(lane.fileno())
    other.put(1)
    assert other.get() == 1, "the array isn't given to another receiver"
    assert array[99] == 99
    del array
    with pytest.raises(corelane.Empty):
        other.get(timeout=0.1)


@pytest.mark.parametrize("kind", LANES)
def test_claims(kind):
    lane = kind()
    with lane.claim(10) as claim:
        memoryview(claim)[:] = b"0123456789"
    assert lane.get() == b"0123456789"
    claim = lane.claim(10)
    memoryview(claim)[:3] = b"abc"
    claim.commit(3)
    assert lane.get() == b"abc"
    with pytest.raises(ValueError, match="ended"):
        claim.commit()
    with pytest.raises(BufferError):
        memoryview(claim)
    lane.claim(10).abort()
    with pytest.raises(KeyError), lane.claim(5):
        raise KeyError
    del claim
    lane.claim(7)  # dropped
    with pytest.raises(corelane.Empty):
        lane.get_nowait()
    with lane.claim_array((4, 5), "f8") as array:
        array[:] = 3
    with pytest.raises(ValueError):
        array[0] = 1
    got = lane.get()
    assert got.shape == (4, 5) and (got == 3).all()
    with pytest.raises(TypeError, match="objects"):
        lane.claim_array(3, object)
    with pytest.raises(ValueError, match="commit of"):
        lane.claim(3).commit(4)


def test_one_claim_at_a_time():
    lane = corelane.Lane()
    claim = lane.claim(10)
    with pytest.raises(RuntimeError, match="commit it"):
        lane.put(1)
    with pytest.raises(RuntimeError, match="commit it"):
        lane.claim(1)
    claim.commit()
    lane.put(1)
    assert len(lane.get_many()) == 2


def test_bytes():
    for kind in LANES:
        lane = kind(of=bytes)
        lane.put(b"abc")
        lane.put(bytearray(b"def"))
        lane.put(memoryview(b"g0h0i0")[::2])
        lane.put(numpy.arange(3, dtype="u1"))
        lane.put(b"")
        assert lane.get() == b"abc"
        view = lane.get(copy=False)
        assert isinstance(view, memoryview) and view == b"def" and view.readonly
        assert lane.get_many() == [b"ghi", b"\0\1\2", b""]
        with pytest.raises(TypeError, match="carries bytes, not 'int'"):
            lane.put(7)


def test_what_is_refused():
    with pytest.raises(TypeError, match="ItemLane"):
        corelane.Lane(of=int)
    with pytest.raises(ValueError):
        corelane.Lane(0)
    with pytest.raises(ValueError, match="maxsize"):
        corelane.Lane(maxsize=3)
    with pytest.raises(ValueError):
        corelane.Lane.open(0)
    with pytest.raises(ValueError):
        corelane.Lane.open(-1)
    lane = corelane.Lane(1 << 12)
    with pytest.raises(ValueError, match="longest="):
        lane.put(bytes(5000))
    with pytest.raises(ValueError, match="non-negative"):
        lane.get(timeout=-1)
    with pytest.raises(ValueError):
        corelane.Lanes.open(lane.fileno())
    with pytest.raises(ValueError, match="name"):
        corelane.Lane.open(lane.fileno(), of=bytes)
    with pytest.raises(TypeError):
        lane.put(threading.Lock())
    lane.put(1)
    assert lane.get() == 1, "what can't be pickled leaves nothing behind"


def test_timeouts():
    lane = corelane.Lane(1 << 12)
    for call in [lambda: lane.get(timeout=0.2), lambda: lane.get(True, 0.2)]:
        begin = time.monotonic()
        with pytest.raises(corelane.Empty):
            call()
        assert 0.19 < time.monotonic() - begin < 5
    with within(1), pytest.raises(corelane.Empty):
        lane.get(False)
    with pytest.raises(corelane.Full):
        while True:
            lane.put(b"x" * 500, timeout=0.05)
    with pytest.raises(corelane.Full):
        lane.put_nowait(b"x" * 500)
    assert lane.put_many([b""] * 1000, timeout=0.05) < 1000


def echo(lane, back):
    for message in lane:
        back.put(message)


@pytest.mark.parametrize("kind", LANES)
def test_another_process(context, kind):
    there, back = kind(), kind()
    with running(context, echo, there, back) as process:
        for obj in OBJECTS[:-1]:
            there.put(obj)
            assert back.get(timeout=60) == obj
        there.put(numpy.arange(5))
        assert back.get(timeout=60).sum() == 10
        assert there.peer() == "alive" and back.peer() == "alive"
        there.close()
        process.join(60)
        assert process.exitcode == 0
    with pytest.raises(corelane.Closed):
        back.get()
    assert back.peer() == "left"


def test_through_a_pipe(fork):
    receiver, sender = fork.Pipe()
    with running(fork, lambda: receiver.recv().put("hello")):
        lane = corelane.Lane()
        sender.send(lane)
        assert lane.get(timeout=20) == "hello"


def test_by_inheritance():
    lane = corelane.Lane()
    code = "import corelane, sys; corelane.Lane.open(int(sys.argv[1])).put('from a program')"
    number = lane.fileno()
    program = [sys.executable, "-c", code, str(number)]
    subprocess.run(program, pass_fds=[number], check=True)
    assert lane.get(timeout=20) == "from a program"


def test_a_side_is_for_one_process(fork):
    lane, told = corelane.Lane(), corelane.Lane()

    def take():
        try:
            lane.put(1)
        except corelane.Taken as error:
            told.put(str(error))

    lane.put(0)
    with running(fork, take):
        assert "Lanes" in told.get(timeout=20)


def sender(lane, first, last):
    for i in range(first, last):
        lane.put(i)
    time.sleep(60)


@pytest.mark.parametrize("kind", LANES)
def test_a_killed_sender(fork, kind):
    lane = kind()
    for round in range(3):
        with running(fork, sender, lane, round * 100, round * 100 + 100):
            assert lane.wait_for_peer(20)
            got = [lane.get(timeout=20) for _ in range(99)]
            assert got == list(range(round * 100, round * 100 + 99))
        with within(5):
            assert lane.get() == round * 100 + 99
            with pytest.raises(corelane.Closed):
                lane.get()
        assert lane.peer() == "died"


def holder(lane, told):
    lane.get(copy=False).flags
    held = lane.get(copy=False)
    told.put("held")
    time.sleep(60)
    del held


@pytest.mark.parametrize("kind", LANES)
def test_a_killed_receiver_gives_back_what_it_held(fork, kind):
    lane, told = kind(), kind()
    lane.put(numpy.arange(3))
    lane.put(numpy.arange(4))
    with running(fork, holder, lane, told):
        assert told.get(timeout=20) == "held"
    assert len(lane.get(timeout=20)) == 4


def test_a_forked_child_keeps_no_seat(fork):
    """A child of a sender lives longer than the sender, which is killed."""
    lane, told = corelane.Lanes(), corelane.Lanes()

    def parent():
        lane.put("mine")
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
        told.put(child)
        time.sleep(60)

    with running(fork, parent):
        child = told.get(timeout=20)
    try:
        assert lane.get() == "mine"
        with within(10), pytest.raises(corelane.Closed):
            lane.get()
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("kind", LANES)
def test_a_forked_child_has_sides_of_its_own(fork, kind):
    lane = kind()
    lane.put("parent")

    def child():
        assert lane.get() == "parent"
        if kind is corelane.Lanes:
            lane.put("child")
        os._exit(0)

    with running(fork, child) as process:
        process.join(20)
        assert process.exitcode == 0
    lane.put("again")
    assert lane.get() == ("child" if kind is corelane.Lanes else "again")


def test_a_fork_while_threads_wait(fork):
    lane = corelane.Lanes()
    got = []
    thread = threading.Thread(target=lambda: got.append(lane.get()))
    thread.start()
    time.sleep(0.05)

    def child():
        lane.put("from a child")
        os._exit(0)

    for _ in range(5):
        with running(fork, child) as process:
            process.join(20)
            assert process.exitcode == 0
    thread.join(20)
    assert got == ["from a child"]


def test_threads_of_a_process():
    for kind in LANES:
        lane, n = kind(1 << 14), int(3000 * STRESS)
        got = [[] for _ in range(3)]

        def put(who):
            for i in range(n):
                lane.put((who, i))

        def get(into):
            while (message := lane.get()) is not None:
                into.append(message)

        puts = [threading.Thread(target=put, args=(who,)) for who in range(3)]
        gets = [threading.Thread(target=get, args=(into,)) for into in got]
        for thread in puts + gets:
            thread.start()
        for thread in puts:
            thread.join()
        for _ in gets:
            lane.put(None)
        for thread in gets:
            thread.join()
        assert sorted(sum(got, [])) == [(who, i) for who in range(3) for i in range(n)]


def test_ctrl_c_ends_a_wait():
    code = """
import corelane, sys
lane = corelane.Lane(4096)
print("ready", flush=True)
try:
    if sys.argv[1] == "get":
        lane.get()
    while True:
        lane.put(b"x" * 100)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    for call in ["get", "put"]:
        program = subprocess.Popen(
            [sys.executable, "-c", code, call],
            stdout=subprocess.PIPE,
            text=True,
            # A shell lets programs in its background ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        assert program.stdout.readline() == "ready\n"
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        with within(5):
            assert program.communicate(timeout=20)[0] == "interrupted\n"
        assert program.returncode == 0


def test_other_threads_run_while_one_waits():
    lane, counted = corelane.Lane(), [0]
    thread = threading.Thread(target=lane.get)
    thread.start()
    begin = time.monotonic()
    while time.monotonic() - begin < 0.2:
        counted[0] += 1
    assert counted[0] > 1000
    lane.put(1)
    thread.join(10)


def test_what_it_says_of_itself():
    lane = corelane.Lanes()
    assert repr(lane) == "<corelane.Lanes of objects>"
    with pytest.raises(ValueError, match="no side"):
        lane.qsize()
    lane.put(1)
    assert "1 messages, this process sends, the other side: absent" in repr(lane)
    lane.get()
    assert "sends and receives" in repr(lane)
    assert repr(corelane.Lane(of=bytes)) == "<corelane.Lane of bytes>"


def test_a_limit_of_messages():
    lane = corelane.Lanes(maxsize=3)
    for _ in range(5):
        lane.put_many([1, 2, 3])
        with pytest.raises(corelane.Full):
            lane.put_nowait(4)
        other = corelane.Lanes._make(object, limit=3, file=lane.fileno())
        with pytest.raises(corelane.Full):
            other.put_nowait(4)
        assert lane.get_many() == [1, 2, 3]


def test_nothing_leaks():
    before = descriptors()
    for kind in LANES:
        for _ in range(20):
            lane = kind()
            lane.put(numpy.arange(10))
            array = lane.get(copy=False)
            claim = lane.claim(3)
            lane.ready_fd()
            lane.close()
            del lane, array, claim
    assert descriptors() <= before + 1


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_stays_flat():
    import tracemalloc

    lane = corelane.Lane()
    message = {"id": 1, "array": numpy.arange(10), "text": "x" * 50}
    n = int(20_000 * STRESS)

    def some():
        for _ in range(n // 20):
            for _ in range(20):
                lane.put(message)
            for _ in range(10):
                lane.get()
            for _ in range(10):
                lane.get(copy=False)

    some()
    before = resident()
    tracemalloc.start()
    some()
    now, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now < 100_000
    some()
    assert resident() < before + (4 << 20)


def test_a_message_that_no_sender_made():
    raw = corelane.Lane(of=bytes)
    lane = corelane.Lane()
    # Of the right kind, with other contents: as another program would write it.
    for wrong in [b"", b"\0", b"\7" + bytes(7), b"\0\0\0\0\xff\xff\xff\xff", bytes(8) + b"junk"]:
        with lane.claim(len(wrong)) as claim:
            memoryview(claim)[:] = wrong
        assert lane.get() == wrong
    assert raw.fileno() != lane.fileno()
    assert pickle.loads(pickle.dumps(1)) == 1


def test_a_sender_that_waits_is_woken(fork):
    lane = corelane.Lane(1 << 12)

    def slowly():
        time.sleep(0.1)
        for _ in range(200):
            lane.get(timeout=20)

    with running(fork, slowly):
        for _ in range(200):
            lane.put(b"x" * 100, timeout=20)
        until(lambda: lane.qsize() == 0)


def test_a_fork_while_several_threads_wait(fork):
    lanes = corelane.Lanes()
    threads = [threading.Thread(target=lanes.get) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)

    def child():
        lanes.put("from a child")
        os._exit(0)

    for _ in range(3):
        with running(fork, child) as process:
            process.join(20)
            assert process.exitcode == 0
    for thread in threads:
        thread.join(20)


def test_a_lent_message_of_a_parent_keeps_no_seat_in_its_child(fork):
    """The parent has closed its lane, and still has a message."""
    lanes, told = corelane.Lanes(), corelane.Lanes()
    lanes.put(numpy.arange(3))

    def parent():
        held = lanes.get(copy=False)
        lanes.close()
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
        told.put(child)
        time.sleep(60)
        del held

    with running(fork, parent):
        child = told.get(timeout=20)
    try:
        with within(10):
            assert len(lanes.get(timeout=20)) == 3
    finally:
        os.kill(child, signal.SIGKILL)


class Poison:
    def __reduce__(self):
        return int, ("no number",)


def test_a_message_that_can_not_be_made_an_object():
    for kind in LANES:
        lane = kind()
        lane.put_many([1, 2, Poison(), 3])
        assert lane.get_many() == [1, 2]
        with pytest.raises(ValueError):
            lane.get()
        assert lane.get() == 3
        lane.put(Poison())
        with pytest.raises(ValueError):
            lane.get_many()
        assert lane.qsize() == 0
