"""What moves messages between processes: each with put, get and what else it has."""

import contextlib
import ctypes
import functools
import itertools
import multiprocessing
import os
import pickle
import queue
import time
from multiprocessing import shared_memory

import corelane
from corelane import mp

CONTEXT = multiprocessing.get_context("fork")
MIB = 1 << 20


class Standard:
    """A queue of the standard library, or one with its interface."""

    many = False
    shapes = "1x1", "10x1", "1x10"
    sizes = "100 B", "1 KiB", "frame"

    def __init__(self, make):
        self.queue = make()
        # Without a call in between, as a user's program.
        self.put, self.get = self.queue.put, self.queue.get

    def put_many(self, objs):
        self.queue.put_many(objs)

    def get_many(self):
        return self.queue.get_many()


class FasterFifo(Standard):
    """Its calls have timeouts of ten seconds if none is given. A receiver gets `Empty` at once when
    another one has taken the message that woke both."""

    many = True

    def __init__(self, size):
        import faster_fifo

        super().__init__(lambda: faster_fifo.Queue(max_size_bytes=size))
        self.put = functools.partial(self.queue.put, timeout=1000)
        self.get = self.get_in_the_end

    def get_in_the_end(self):
        while True:
            try:
                return self.queue.get(timeout=1000)
            except queue.Empty:
                pass

    def put_many(self, objs):
        self.queue.put_many(objs, timeout=1000)

    def get_many(self):
        while True:
            try:
                return self.queue.get_many(timeout=1000)
            except queue.Empty:
                pass


class Corelane(Standard):
    many = True

    def __init__(self, make, shapes=Standard.shapes, in_place=False):
        super().__init__(make)
        self.shapes, self.in_place = shapes, in_place
        if in_place:
            self.sizes = ("frame",)
            self.put = self.put_in_place
            self.get = functools.partial(self.queue.get, copy=False)

    def put_in_place(self, obj):
        if obj is None:
            self.queue.put(obj)
        else:
            # The camera writes into the lane. Here its picture is there already.
            self.queue.claim_array(obj.shape, obj.dtype).commit()


class Pipe(Standard):
    shapes = ("1x1",)

    def __init__(self):
        reader, writer = CONTEXT.Pipe(duplex=False)
        self.put, self.get = writer.send, reader.recv


class ByHand(Standard):
    """A ring of slots in shared_memory, with two semaphores."""

    shapes = ("1x1",)
    slots = 8

    def __init__(self, longest):
        self.longest = longest
        self.memory = shared_memory.SharedMemory(create=True, size=self.slots * (longest + 8))
        self.room, self.there = CONTEXT.Semaphore(self.slots), CONTEXT.Semaphore(0)
        self.at = 0

    def slot(self):
        start = self.at % self.slots * (self.longest + 8)
        self.at += 1
        return start

    def put(self, obj):
        data = pickle.dumps(obj, 5)
        self.room.acquire()
        start = self.slot()
        self.memory.buf[start : start + 8] = len(data).to_bytes(8, "little")
        self.memory.buf[start + 8 : start + 8 + len(data)] = data
        self.there.release()

    def get(self):
        self.there.acquire()
        start = self.slot()
        length = int.from_bytes(self.memory.buf[start : start + 8], "little")
        obj = pickle.loads(self.memory.buf[start + 8 : start + 8 + length])
        self.room.release()
        return obj

    def close(self):
        self.memory.close()
        self.memory.unlink()


class Iceoryx(Standard):
    """Publishes slices of bytes; a receiver that finds none looks again."""

    shapes = ("1x1",)
    names = itertools.count()

    def __init__(self, longest):
        import iceoryx2

        self.iox, self.longest = iceoryx2, longest
        self.name = f"corelane-bench-{os.getpid()}-{next(self.names)}"
        self.port = None

    def service(self):
        iox = self.iox
        iox.set_log_level(iox.LogLevel.Error)
        self.node = iox.NodeBuilder.new().create(iox.ServiceType.Ipc)
        builder = self.node.service_builder(iox.ServiceName.new(self.name))
        builder = builder.publish_subscribe(iox.Slice[ctypes.c_uint8])
        self.made = (
            builder.enable_safe_overflow(False).subscriber_max_buffer_size(64).open_or_create()
        )
        return self.made

    def put(self, obj):
        if self.port is None:
            builder = self.service().publisher_builder().initial_max_slice_len(self.longest)
            wait = self.iox.BackpressureStrategy.RetryUntilDelivered
            self.port = builder.backpressure_strategy(wait).create()
            while self.made.dynamic_config.number_of_subscribers == 0:
                time.sleep(0.001)
        data = pickle.dumps(obj, 5)
        sample = self.port.loan_slice_uninit(len(data))
        ctypes.memmove(sample.payload_ptr, data, len(data))
        sample.assume_init().send()

    def get(self):
        if self.port is None:
            self.port = self.service().subscriber_builder().create()
        while (sample := self.port.receive()) is None:
            pass
        payload = sample.payload()
        return pickle.loads(ctypes.string_at(payload.as_ptr(), payload.len()))


def close(peer):
    with contextlib.suppress(AttributeError):
        peer.close()


def peers(longest):
    """All of them, for messages of up to so many bytes."""
    size = max(MIB, 8 * longest)
    lane = {"size": size, "longest": longest}
    return {
        "multiprocessing.Queue": lambda: Standard(CONTEXT.Queue),
        "SimpleQueue": lambda: Standard(CONTEXT.SimpleQueue),
        "Pipe": Pipe,
        "shared_memory by hand": lambda: ByHand(longest),
        "faster-fifo": lambda: FasterFifo(size),
        "iceoryx2": lambda: Iceoryx(longest),
        "corelane.Lane": lambda: Corelane(lambda: corelane.Lane(**lane), ("1x1",)),
        "corelane.Lanes": lambda: Corelane(lambda: corelane.Lanes(**lane)),
        "corelane.mp.Queue": lambda: Corelane(lambda: mp.Queue(max_size_bytes=size, longest=longest)),
        "Lane, in place": lambda: Corelane(lambda: corelane.Lane(**lane), ("1x1",), True),
        "Lanes, in place": lambda: Corelane(lambda: corelane.Lanes(**lane), ("1x1", "1x10"), True),
    }
