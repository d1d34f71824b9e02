"""A camera process writes frames into lanes, and four workers read them there: no frame is copied.

    python examples/frames.py

A worker that is killed gives its frame back, and another one gets it.
"""

import multiprocessing
import time

import corelane

SHAPE = 1080, 1920, 3


def camera(frames, n):
    for i in range(n):
        with frames.claim_array(SHAPE, "u1") as frame:
            frame[0] = i % 256  # the driver of a camera writes the picture here


def worker(frames, results):
    while True:
        try:
            frame = frames.get(copy=False)
        except corelane.Closed:
            return
        results.put((int(frame[0, 0, 0]), int(frame[::100, ::100].sum())))
        del frame  # its room goes back to the camera


def main():
    n = 200
    frames = corelane.Lanes(64 << 20, longest=7 << 20)
    results = corelane.Lanes()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=worker, args=(frames, results)) for _ in range(4)]
    sender = context.Process(target=camera, args=(frames, n))
    for process in [*workers, sender]:
        process.start()
    begin = time.monotonic()
    seen = sorted(results.get()[0] for _ in range(n))
    print(f"{len(seen)} frames of {SHAPE} in {time.monotonic() - begin:.2f} s")
    for process in [sender, *workers]:
        process.join()


if __name__ == "__main__":
    main()
