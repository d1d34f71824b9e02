"""Exceptions. Full and Empty are those of the standard library's queue."""


class Closed(BrokenPipeError, EOFError):
    """All processes of the other side have gone, and nothing is left to get, or no room to put."""


class Taken(RuntimeError):
    """Another live process has this side of the lane."""
