"""corelane.mp.Queue: what CPython's own tests ask of multiprocessing.Queue, in our words.

Not the same, as the page of `mp` says: an object that can't be pickled raises in put, and a queue has
a size in bytes.
"""

import queue
import sys
import time

import pytest
from conftest import running, within

from corelane import mp


@pytest.fixture(params=[mp.Queue, mp.JoinableQueue, mp.SimpleQueue])
def kind(request):
    return request.param


def puts(q, child_can_start, parent_can_continue):
    child_can_start.wait()
    for _ in range(6):
        q.get()
    parent_can_continue.set()


def test_put(context, kind):
    maxsize = 6
    q = kind(maxsize=maxsize)
    child_can_start, parent_can_continue = context.Event(), context.Event()
    with running(context, puts, q, child_can_start, parent_can_continue) as process:
        assert q.empty() and not q.full()
        q.put(1)
        q.put(2, True)
        q.put(3, True, None)
        q.put(4, False)
        q.put(5, False, None)
        q.put_nowait(6)
        assert not q.empty() and q.full()
        for put, args, least in [
            (q.put, (7, False), 0),
            (q.put, (7, False, None), 0),
            (q.put_nowait, (7,), 0),
            (q.put, (7, True, 0.1), 0.1),
            (q.put, (7, False, 0.2), 0),
        ]:
            begin = time.monotonic()
            with pytest.raises(queue.Full):
                put(*args)
            assert least <= time.monotonic() - begin < least + 2
        child_can_start.set()
        assert parent_can_continue.wait(60)
        assert q.empty() and not q.full()
        process.join(60)
        assert process.exitcode == 0


def gets(q, child_can_start, parent_can_continue):
    child_can_start.wait()
    for i in range(2, 6):
        q.put(i)
    parent_can_continue.set()


def test_get(context, kind):
    q = kind()
    child_can_start, parent_can_continue = context.Event(), context.Event()
    with running(context, gets, q, child_can_start, parent_can_continue):
        assert q.empty()
        child_can_start.set()
        assert parent_can_continue.wait(60)
        assert not q.empty()
        assert q.get(True, None) == 2
        assert q.get(True) == 3
        assert q.get(timeout=1) == 4
        assert q.get_nowait() == 5
        assert q.empty()
        for get, args, least in [
            (q.get, (False,), 0),
            (q.get, (False, None), 0),
            (q.get_nowait, (), 0),
            (q.get, (True, 0.1), 0.1),
            (q.get, (False, 0.2), 0),
        ]:
            begin = time.monotonic()
            with pytest.raises(queue.Empty):
                get(*args)
            assert least <= time.monotonic() - begin < least + 2


def more(q):
    for i in range(10, 20):
        q.put(i)


def test_a_child_of_a_process_that_has_put(context):
    q = mp.Queue()
    for i in range(10):
        q.put(i)
    with running(context, more, q) as process:
        process.join(60)
    assert [q.get() for _ in range(20)] == list(range(20))
    with pytest.raises(queue.Empty):
        q.get(False)


def test_qsize():
    q = mp.Queue()
    assert q.qsize() == 0
    q.put(1)
    q.put(5)
    assert q.qsize() == 2
    q.get()
    q.get()
    assert q.qsize() == 0


def work(q):
    for obj in iter(q.get, None):
        time.sleep(0.01)
        q.task_done()
    q.task_done()


def test_tasks_are_joined(context):
    q = mp.JoinableQueue()
    workers = [context.Process(target=work, args=(q,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for i in range(10):
        q.put(i)
    q.join()
    assert q.empty()
    for _ in workers:
        q.put(None)
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    q.join()
    with pytest.raises(ValueError):
        q.task_done()


def test_get_in_a_module_that_is_imported(tmp_path, monkeypatch):
    (tmp_path / "imported_by_test.py").write_text(
        "from corelane import mp\nq = mp.Queue()\nq.put(b'x')\nq.get(timeout=3)\nq.close()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("imported_by_test")
    sys.modules.pop("imported_by_test")


def test_timeout():
    q = mp.Queue()
    begin = time.monotonic()
    with pytest.raises(queue.Empty):
        q.get(timeout=0.2)
    assert time.monotonic() - begin >= 0.19
    q.close()


class NotPicklable:
    def __reduce__(self):
        raise AttributeError


def test_an_object_that_is_not_picklable(kind):
    q = kind(maxsize=2)
    for _ in range(3):
        with pytest.raises(AttributeError):
            q.put(NotPicklable())
    q.put(True)
    assert q.get(timeout=1)
    assert not q.full()


def test_a_closed_queue(kind):
    q = kind()
    q.put("x")
    q.close()
    q.join_thread()
    with pytest.raises(ValueError, match="is closed"):
        q.put("foo")
    with pytest.raises(ValueError, match="is closed"):
        q.get()
    with pytest.raises(OSError, match="is closed"):
        q.empty()
    assert "closed" in repr(q)
    q.close()


def test_many_as_faster_fifo():
    q = mp.Queue(max_size_bytes=100_000)
    q.put_many(list(range(100)))
    got = []
    while len(got) < 100:
        got += q.get_many(timeout=1, max_messages_to_get=30)
        assert len(got) <= 100
    assert got == list(range(100))
    with pytest.raises(queue.Empty):
        q.get_many(block=False)
    with pytest.raises(queue.Full):
        q.put_many([bytes(1000)] * 1000, timeout=0.01)
    assert q.get_many_nowait()


def test_a_large_object():
    q = mp.Queue()
    q.put(bytes(5_000_000))
    assert len(q.get()) == 5_000_000
    with pytest.raises(ValueError, match="longest="):
        q.put(bytes(20_000_000))


def put_and_exit(q):
    q.put("last words")


def test_a_sender_that_has_ended(context):
    """The queue doesn't end with its senders."""
    q = mp.Queue()
    for _ in range(3):
        with running(context, put_and_exit, q) as process:
            process.join(60)
        assert q.get() == "last words"
    with within(3), pytest.raises(queue.Empty):
        q.get(timeout=0.3)


def put_forever(q):
    i = 0
    while True:
        q.put(i)
        i += 1


def get_forever(q, done):
    while True:
        done.put(q.get())


def test_killed_processes(fork):
    q, done = mp.Queue(maxsize=100), mp.Queue(maxsize=100)
    senders = [fork.Process(target=put_forever, args=(q,)) for _ in range(2)]
    getters = [fork.Process(target=get_forever, args=(q, done)) for _ in range(2)]
    for process in senders + getters:
        process.start()
    try:
        for round in range(20):
            some = [senders, getters][round % 2]
            process = some.pop(0)
            process.kill()
            process.join()
            if some is senders:
                process = fork.Process(target=put_forever, args=(q,))
            else:
                process = fork.Process(target=get_forever, args=(q, done))
            process.start()
            some.append(process)
            for _ in range(50):
                assert done.get(timeout=20) >= 0
    finally:
        for process in senders + getters:
            process.kill()
            process.join()
    for _ in range(101):  # at most so many are left
        try:
            q.put("the last", timeout=0.5)
            break
        except queue.Full:
            q.get(timeout=5)
    while q.get(timeout=5) != "the last":
        pass
    assert q.empty()
