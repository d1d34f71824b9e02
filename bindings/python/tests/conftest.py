import contextlib
import gc
import multiprocessing
import os
import time

import pytest

STRESS = float(os.environ.get("CORELANE_STRESS", "1"))
WAYS = multiprocessing.get_all_start_methods()


@pytest.fixture(params=WAYS)
def context(request):
    return multiprocessing.get_context(request.param)


@pytest.fixture
def fork():
    return multiprocessing.get_context("fork")


@contextlib.contextmanager
def within(seconds):
    """The block ends in time."""
    begin = time.monotonic()
    yield
    took = time.monotonic() - begin
    assert took < seconds, f"it took {took:.2f} s"


@contextlib.contextmanager
def running(context, target, *args):
    """A process that is killed at the end, if it still lives."""
    process = context.Process(target=target, args=args)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)
