"""The peer in Python."""

import sys
import time

import corelane
import numpy

TICK = numpy.dtype([("number", "u8"), ("product", "u8")])
SOME = 500


def ticks(first, last):
    items = numpy.zeros(last - first, TICK)
    items["number"] = numpy.arange(first, last, dtype="u8")
    items["product"] = items["number"] * numpy.uint64(0x9E3779B97F4A7C15)
    return items


def record(number):
    return number.to_bytes(8, sys.byteorder) * (1 + number % 16)


def taken(position):
    """Takes a side, which the system may still give back after a kill."""
    for _ in range(5000):
        try:
            return position()
        except corelane.Taken:
            time.sleep(0.001)
    return position()


def meet(lane):
    if not lane.wait_for_peer(20):
        sys.exit("peer in Python: no peer has come")


def check(is_next, number):
    if not is_next:
        sys.exit(f"peer in Python: another item instead of {number}")


def push(lane, items):
    first = taken(lane.sent)
    while first < items:
        try:
            lane.put_many(ticks(first, min(first + SOME, items)))
        except corelane.Closed:
            meet(lane)
        first = lane.sent()


def pop(lane, items):
    first = taken(lane.received)
    while first < items:
        try:
            got = lane.get_many(SOME)
            check((got == ticks(first, first + len(got))).all(), first)
        except corelane.Closed:
            meet(lane)
        first = lane.received()


def push_records(lane, items):
    number = taken(lane.sent)
    while number < items:
        try:
            lane.put(record(number))
        except corelane.Closed:
            meet(lane)
        number = lane.sent()


def pop_records(lane, items):
    number = taken(lane.received)
    while number < items:
        try:
            check(lane.get(copy=False) == record(number), number)
            number += 1
        except corelane.Closed:
            meet(lane)


def main():
    role, kind, descriptor, items = sys.argv[1:]
    try:
        if kind == "items":
            lane = corelane.ItemLane.open(int(descriptor), TICK, name="Tick")
            work = push if role == "push" else pop
        else:
            lane = corelane.Lane.open(int(descriptor), of=bytes)
            work = push_records if role == "push" else pop_records
        work(lane, int(items))
        lane.close()
    except (ValueError, corelane.Taken) as error:
        sys.exit(f"peer in Python: {error}")


main()
