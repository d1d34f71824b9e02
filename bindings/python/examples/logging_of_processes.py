"""Many processes log into one file, by the handlers of the standard library.

    python examples/logging_of_processes.py

A process that is killed in the middle of a message holds up nobody, and what it had logged is in the file.
"""

import logging
import logging.handlers
import multiprocessing
import os
import signal
import sys

from corelane import mp


def work(log, number):
    root = logging.getLogger()
    root.addHandler(logging.handlers.QueueHandler(log))
    root.setLevel(logging.INFO)
    for i in range(100):
        root.info("message %d of worker %d", i, number)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    log = mp.Queue()
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(processName)s %(message)s"))
    listener = logging.handlers.QueueListener(log, handler)
    listener.start()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(log, number)) for number in range(5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    listener.stop()


if __name__ == "__main__":
    main()
