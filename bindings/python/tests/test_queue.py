"""corelane.Queue, between threads."""

import queue
import select
import threading
import time

import corelane
import pytest
from conftest import STRESS, within


def test_objects_keep_their_identity_and_order():
    q = corelane.Queue()
    items = [object(), [1], None, q]
    for item in items:
        q.put(item)
    assert q.qsize() == 4 and not q.empty() and not q.full()
    assert [q.get() for _ in items] == items
    assert q.empty()


@pytest.mark.parametrize("maxsize", [1, 2, 6])
def test_a_limit_is_exact(maxsize):
    q = corelane.Queue(maxsize)
    for _ in range(3):
        for i in range(maxsize):
            q.put_nowait(i)
        assert q.full() and q.qsize() == maxsize
        with pytest.raises(queue.Full):
            q.put_nowait(9)
        with pytest.raises(queue.Full), within(5):
            q.put(9, timeout=0.05)
        assert [q.get_nowait() for _ in range(maxsize)] == list(range(maxsize))
        with pytest.raises(queue.Empty):
            q.get_nowait()


def test_bad_arguments():
    with pytest.raises(ValueError, match="at most"):
        corelane.Queue(1 << 40)
    with pytest.raises(ValueError, match="non-negative"):
        corelane.Queue().get(timeout=-1)
    with pytest.raises(TypeError):
        corelane.Queue("x")
    assert corelane.Queue(-1).maxsize == 0


def test_closed():
    q = corelane.Queue(2)
    q.put(1)
    waiting = []

    def put():
        q.put(2)
        with pytest.raises(corelane.Closed):
            q.put(3)
        waiting.append(True)

    thread = threading.Thread(target=put)
    thread.start()
    time.sleep(0.05)
    q.close()
    thread.join(10)
    assert waiting == [True]
    assert "closed" in repr(q)
    assert list(q) == [1, 2]
    with pytest.raises(corelane.Closed):
        q.get()
    with pytest.raises(BrokenPipeError):
        q.put(1)
    with pytest.raises(EOFError):
        q.get_nowait()


@pytest.mark.parametrize("producers,consumers,maxsize", [(1, 1, 3), (4, 3, 10), (3, 1, 0)])
def test_threads(producers, consumers, maxsize):
    n = int(20_000 * STRESS)
    q = corelane.Queue(maxsize)
    got = [[] for _ in range(consumers)]

    def put(who):
        for i in range(n):
            q.put((who, i))

    def get(into):
        for item in q:
            into.append(item)

    puts = [threading.Thread(target=put, args=(who,)) for who in range(producers)]
    gets = [threading.Thread(target=get, args=(into,)) for into in got]
    for thread in puts + gets:
        thread.start()
    for thread in puts:
        thread.join()
    q.close()
    for thread in gets:
        thread.join()
    for into in got:
        for who in range(producers):
            numbers = [i for w, i in into if w == who]
            assert numbers == sorted(numbers)
    assert sorted(sum(got, [])) == [(who, i) for who in range(producers) for i in range(n)]


def test_many():
    q = corelane.Queue(5)
    assert q.put_many(range(9), timeout=0.01) == 5
    assert q.get_many(2) == [0, 1]
    assert q.get_many() == [2, 3, 4]
    assert q.get_many(0) == []
    with pytest.raises(queue.Empty):
        q.get_many(timeout=0.01)
    q.put_many(range(5))
    with pytest.raises(queue.Full):
        q.put_many([1], block=False)


def test_an_iterator_that_raises():
    q = corelane.Queue()

    def items():
        yield 1
        raise KeyError("x")

    with pytest.raises(KeyError):
        q.put_many(items())
    assert q.get_many() == [1]


def test_tasks():
    q = corelane.Queue()
    q.join()
    for i in range(10):
        q.put(i)
    done = []

    def work():
        for i in q:
            time.sleep(0.002)
            done.append(i)
            q.task_done()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    q.join()
    assert len(done) == 10
    with pytest.raises(ValueError):
        q.task_done()
    q.close()
    for thread in threads:
        thread.join()


def test_a_descriptor_for_event_loops():
    q = corelane.Queue()
    ready = lambda: select.select([q.ready_fd()], [], [], 0)[0] != []
    assert not ready()
    q.put(1)
    q.put(2)
    assert ready()
    assert q.get_nowait() == 1 and ready()
    assert q.get_nowait() == 2
    with pytest.raises(queue.Empty):
        q.get_nowait()
    assert not ready()
    threading.Timer(0.02, q.put, (3,)).start()
    assert select.select([q.ready_fd()], [], [], 10)[0]
    q.close()
    assert q.get() == 3 and ready()


def test_objects_are_freed():
    import weakref

    class Thing:
        pass

    q = corelane.Queue()
    thing = Thing()
    seen = weakref.ref(thing)
    q.put(thing)
    del thing
    assert seen() is not None
    del q
    assert seen() is None
