"""Kills processes at either end of lanes at random moments, and starts them again: nothing hangs, nothing is
left behind, nothing is lost. python bench/kills.py [--kills N] [--seed N]."""

import argparse
import os
import random
import sys
import time
from multiprocessing import get_context

import corelane
import numpy
from corelane import mp

CONTEXT = get_context("fork")
# Nothing takes longer, however busy the machine is.
PATIENCE = 30


def message(sender, number):
    """Message `number` of a sender: objects of several kinds, which say their number twice."""
    kinds = [
        lambda: (sender, number, b"x" * (number % 700)),
        lambda: {"from": sender, "number": number, "twice": 2 * number},
        lambda: (sender, number, numpy.full(number % 300, number)),
    ]
    return kinds[number % 3]()


def checked(got):
    if isinstance(got, dict):
        assert got["twice"] == 2 * got["number"], got
        return got["from"], got["number"]
    sender, number, data = got
    if isinstance(data, bytes):
        assert data == b"x" * (number % 700), got
    else:
        assert len(data) == number % 300 and (data == number).all(), got
    return sender, number


def send(lane, told):
    """Tells each number after its put has returned."""
    me = os.getpid()
    number = 0
    while True:
        try:
            lane.put(message(me, number))
        except corelane.Closed:
            lane.wait_for_peer()
            continue
        told.put((me, number))
        number += 1


def receive(lane, told, copy):
    while True:
        try:
            got = lane.get(copy=copy)
        except corelane.Closed:
            lane.wait_for_peer()
            continue
        told.put(checked(got))
        del got


def run(name, make, kills, seed):
    """Returns how many messages were put, and how many came again after a death."""
    chance = random.Random(seed)
    lane, sent, got = make(), corelane.Lanes(), corelane.Lanes()
    several = not isinstance(lane, corelane.Lane)
    # All sides of these stay open while all processes of one happen to be dead.
    sent.put_nowait(None), got.put_nowait(None)
    # How many each sender has put, and how often each of its messages has come: a byte each.
    put, come, died, n = {}, {}, 0, 0

    def has_put(one):
        put[one[0]] = one[1] + 1

    def has_come(one):
        times = come.setdefault(one[0], bytearray())
        if len(times) <= one[1]:
            times.extend(bytes(one[1] + 1000 - len(times)))
        times[one[1]] += 1

    def start(side):
        copy = chance.random() < 0.5
        arguments = (send, (lane, sent)) if side == 0 else (receive, (lane, got, copy))
        process = CONTEXT.Process(target=arguments[0], args=arguments[1], daemon=True)
        process.start()
        return process

    def collect(until=0.0):
        nonlocal n
        end = time.monotonic() + until
        while True:
            found = 0
            for told, note in [(sent, has_put), (got, has_come)]:
                while True:
                    try:
                        many = told.get_many(block=False)
                    except corelane.Empty:
                        break
                    for one in many:
                        if one is not None:
                            note(one)
                    found += len(many)
            n += found
            if time.monotonic() >= end:
                return found
            time.sleep(0.0005)

    processes = [start(side) for side in ([0, 0, 1, 1] if several else [0, 1])]
    for kill in range(kills):
        at = chance.randrange(len(processes))
        collect(chance.random() * 0.01)
        side = 0 if at < len(processes) // 2 else 1
        processes[at].kill()
        processes[at].join()
        died += side
        processes[at] = start(side)
        if kill % 10 == 9:
            before, begin = n, time.monotonic()
            while n == before:
                assert time.monotonic() - begin < PATIENCE, f"{name}: nothing comes any more"
                collect(0.01)
        if sys.stderr.isatty():
            print(f"\r\033[K{name}: {kill + 1} of {kills} kills", end="", file=sys.stderr, flush=True)
    half = len(processes) // 2
    for process in processes[:half]:
        process.kill()
        process.join()
    quiet = time.monotonic()
    while time.monotonic() - quiet < 3:
        if collect(0.05):
            quiet = time.monotonic()
    for process in processes[half:]:
        process.kill()
        process.join()
    collect()
    lost = again = 0
    for sender, many in put.items():
        times = come.get(sender, bytearray())
        times.extend(bytes(max(0, many - len(times))))
        lost += times[:many].count(0)
        again += sum(times) - (len(times) - times.count(0))
    # What a receiver had got and not told when it was killed is lost with it.
    assert lost <= died, f"{name}: {lost} messages are lost, {died} receivers died"
    assert again <= died, f"{name}: {again} messages came again, {died} receivers died"
    return sum(put.values()), lost, again, died


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="of each lane")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = set(os.listdir("/dev/shm"))
    lanes = {
        "Lane": lambda: corelane.Lane(1 << 16),
        "Lanes": lambda: corelane.Lanes(1 << 16),
        "mp.Queue": lambda: mp.Queue(max_size_bytes=1 << 16),
    }
    for name, make in lanes.items():
        begin = time.monotonic()
        put, lost, again, died = run(name, make, options.kills, options.seed)
        took = time.monotonic() - begin
        print(f"\r{name}: {options.kills} kills, {died} of them of receivers; {put} messages put, {lost} of them in the hands "
              f"of a receiver that was killed, {again} received twice, {took:.0f} s")
    left = set(os.listdir("/dev/shm")) - files
    assert not left, f"left in /dev/shm: {left}"
    print("nothing hung, and nothing is left in /dev/shm")


if __name__ == "__main__":
    main()
