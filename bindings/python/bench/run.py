"""Measures queues between processes, in turns: pip install faster-fifo iceoryx2 numpy, and then
python bench/run.py [--rounds N] [--tests stream,round-trip,batches] [--messages "100 B,frame"] [--json FILE] [--markdown]."""

import argparse
import contextlib
import itertools
import json
import platform
import statistics
import sys
import time

import numpy
from peers import CONTEXT, close, peers

MESSAGES = {
    "100 B": {"id": 12345, "name": "a sensor", "values": (1.5, 2.5), "ok": True, "at": 17.25},
    "1 KiB": {"id": 12345, "text": "x" * 960},
    "frame": numpy.zeros((1080, 1920, 3), "u1"),
}
LONGEST = {"100 B": 1 << 12, "1 KiB": 1 << 13, "frame": 7 << 20}
COUNT = {"100 B": 200_000, "1 KiB": 100_000, "frame": 100}
BATCH = 100


def send(peer, message, n, batch, begun):
    """One of the senders."""
    begun.wait()
    begin = time.monotonic()
    if batch:
        messages = [message] * batch
        for _ in range(n // batch):
            peer.put_many(messages)
    else:
        put = peer.put
        for _ in range(n):
            put(message)
    return begin


def receive(peer, batch):
    """One of the receivers: until None, or until all senders have gone, of queues that tell."""
    n = 0
    with contextlib.suppress(EOFError):
        while batch:
            messages = peer.get_many()
            ends = sum(message is None for message in messages)
            n += len(messages) - ends
            if ends:
                if ends > 1:  # those of other receivers
                    peer.put_many([None] * (ends - 1))
                return n
        get = peer.get
        while get() is not None:
            n += 1
    return n


def sender(peer, message, n, batch, begun, told):
    told.put(("begin", send(peer, message, n, batch, begun)))


def receiver(peer, batch, told):
    n = receive(peer, batch)
    told.put(("end", time.monotonic(), n))


def stream(peer, message, n, shape, batch=0):
    """Seconds a message, from the first start to the last end."""
    senders, receivers = map(int, shape.split("x"))
    told, begun = CONTEXT.Queue(), CONTEXT.Event()
    each = n // senders
    processes = [
        CONTEXT.Process(target=receiver, args=(peer, batch, told)) for _ in range(receivers)
    ]
    sending = [
        CONTEXT.Process(target=sender, args=(peer, message, each, batch, begun, told))
        for _ in range(senders)
    ]
    if receivers == 1 and senders == 1:
        # The sender tells the end: a lane between two processes has one.
        sending = [
            CONTEXT.Process(target=last_sender, args=(peer, message, each, batch, begun, told))
        ]
    for process in processes + sending:
        process.start()
    begun.set()
    heard = []
    if senders > 1 or receivers > 1:
        for _ in sending:
            heard.append(told.get(timeout=60))
        for process in sending:
            process.join()  # `multiprocessing.Queue` sends until then
        for _ in range(receivers):
            peer.put_many([None]) if batch else peer.put(None)
    while len(heard) < len(processes) + len(sending):
        heard.append(told.get(timeout=60))
    for process in processes + sending:
        process.join()
    got = sum(message[2] for message in heard if message[0] == "end")
    assert got == each * senders, f"{got} of {each * senders} messages came"
    begin = min(message[1] for message in heard if message[0] == "begin")
    end = max(message[1] for message in heard if message[0] == "end")
    return (end - begin) / got


def last_sender(peer, message, n, batch, begun, told):
    begin = send(peer, message, n, batch, begun)
    peer.put_many([None]) if batch else peer.put(None)
    told.put(("begin", begin))


def answer(there, back):
    while (message := there.get()) is not None:
        back.put(message)


def round_trip(there, back, message, n):
    """Seconds a round trip."""
    with_process = CONTEXT.Process(target=answer, args=(there, back))
    with_process.start()
    for _ in range(50):
        there.put(message)
        back.get()
    begin = time.monotonic()
    for _ in range(n):
        there.put(message)
        back.get()
    took = (time.monotonic() - begin) / n
    there.put(None)
    with_process.join()
    return took


def cells(tests):
    """What is measured: its name, and how."""
    for size in MESSAGES:
        for name, make in peers(LONGEST[size]).items():
            try:
                made = make()
            except ImportError as error:
                print(f"Left out: {name} ({error}).", file=sys.stderr)
                continue
            shapes, sizes, many = made.shapes, made.sizes, made.many
            close(made)
            if size not in sizes:
                continue
            for shape in shapes if "stream" in tests else ():
                yield (f"stream {shape}", size, name), make, lambda peer, size=size, shape=shape: stream(
                    peer, MESSAGES[size], COUNT[size], shape
                )
            if many and size != "frame" and "batches" in tests:
                for shape in shapes:
                    yield (f"batches {shape}", size, name), make, lambda peer, size=size, shape=shape: stream(
                        peer, MESSAGES[size], COUNT[size], shape, BATCH
                    )
            if size == "100 B" and "round-trip" in tests:
                yield ("round trip", size, name), make, None


def measure(make, run, size):
    if run is not None:
        peer = make()
        try:
            return run(peer)
        finally:
            close(peer)
    there, back = make(), make()
    try:
        return round_trip(there, back, MESSAGES[size], 5000)
    finally:
        close(there)
        close(back)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tests", default="stream,batches,round-trip")
    parser.add_argument("--messages", default=",".join(MESSAGES))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--markdown", action="store_true", help="the medians as one table")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    unknown = set(options.tests.split(",")) - {"stream", "batches", "round-trip"}
    if unknown:
        parser.error(f"--tests: no test {', '.join(unknown)}")
    messages = options.messages.split(",")
    if not set(messages) <= MESSAGES.keys():
        parser.error(f"--messages: some of {', '.join(MESSAGES)}")
    plan = [cell for cell in cells(options.tests.split(",")) if cell[0][1] in messages]
    results = {key: [] for key, _, _ in plan}
    try:
        for round in range(options.rounds):
            for number, (key, make, run) in enumerate(plan):
                words = f"round {round + 1} of {options.rounds}, {number + 1} of {len(plan)}: "
                show_progress(words + ", ".join(key))
                results[key].append(measure(make, run, key[1]))
    except KeyboardInterrupt:
        pass
    show_progress("")
    show_markdown(results) if options.markdown else show(results)
    if options.json:
        with open(options.json, "w") as file:
            rows = [
                {"test": test, "message": size, "queue": name, "ns": [t * 1e9 for t in times]}
                for (test, size, name), times in results.items()
            ]
            about = {"python": platform.python_version(), "machine": platform.machine()}
            json.dump({"suite": "python", **about, "results": rows}, file, indent=1)


def show_progress(words):
    if sys.stderr.isatty():
        print("\r\033[K" + words, end="", file=sys.stderr, flush=True)


def show(results):
    print("Nanoseconds a message: median, and quartiles.\n")
    for (test, size), rows in itertools.groupby(sorted(results, key=lambda key: key[:2]), lambda key: key[:2]):
        print(f"{test}, {size}")
        for key in rows:
            times = [t * 1e9 for t in results[key]]
            if times:
                low, middle, high = numpy.percentile(times, [25, 50, 75])
                assert statistics.median(times) == middle
                print(f"  {key[2]:24} {middle:12,.0f}   {low:12,.0f} {high:12,.0f}")
        print()


def show_markdown(results):
    """Medians in microseconds: a row for each test, a column for each queue."""
    queues = list(dict.fromkeys(name for _, _, name in results))
    print("| us |", " | ".join(queues), "|")
    print("|---" * (1 + len(queues)) + "|")
    for test, size in dict.fromkeys(key[:2] for key in results):
        measured = [results.get((test, size, name)) for name in queues]
        medians = [statistics.median(times) * 1e6 if times else None for times in measured]
        cells = ["" if us is None else f"{us:.3g}" if us < 100 else f"{us:,.0f}" for us in medians]
        print(f"| {test}, {size} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
