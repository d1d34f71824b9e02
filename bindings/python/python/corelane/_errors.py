"""Exceptions. Empty and Full are those of the standard library's queue."""


class Closed(BrokenPipeError, EOFError):
    """All of the other side have gone: nothing is left to get, or nobody makes room.

    >>> import corelane
    >>> queue = corelane.Queue()
    >>> queue.close()
    >>> queue.get()
    Traceback (most recent call last):
        ...
    corelane.Closed: the queue is closed
    """


class Taken(RuntimeError):
    """Another live process has this side of the lane."""


for _error in (Closed, Taken):
    _error.__module__ = "corelane"
