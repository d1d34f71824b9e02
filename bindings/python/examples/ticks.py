"""A feed of records between programs in any language. This is Python's side of either end:

    python examples/ticks.py

Programs in Rust and Java have the same lane: see the page of this package. Here a child in Python reads.
"""

import subprocess
import sys

import corelane
import numpy

TICK = numpy.dtype([("time", "u8"), ("price", "f8")])


def read(descriptor):
    """What `Lane::<Tick>::open_number(descriptor)` is in Rust, and `Lane.open(descriptor, "Tick", 16, 8)` in Java."""
    ticks = corelane.ItemLane.open(descriptor, TICK, name="Tick")
    total = 0.0
    n = 0
    try:
        while True:
            some = ticks.get_many()
            total += some["price"].sum()
            n += len(some)
    except corelane.Closed:
        print(f"{n} ticks, mean price {total / n:.2f}")


def main():
    if len(sys.argv) == 2:
        return read(int(sys.argv[1]))
    ticks = corelane.ItemLane(TICK, 4096, name="Tick")
    ticks.take_sender()
    number = ticks.fileno()
    reader = subprocess.Popen([sys.executable, __file__, str(number)], pass_fds=[number])
    some = numpy.zeros(1000, TICK)
    for second in range(1000):
        some["time"] = second
        some["price"] = 100 + second / 10
        ticks.put_many(some)
    ticks.close()
    reader.wait()


if __name__ == "__main__":
    main()
