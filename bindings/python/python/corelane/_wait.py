"""Tasks of asyncio that wait for a descriptor."""

import asyncio
import weakref


class Waiters:
    """The tasks that wait for one descriptor, by their event loops."""

    def __init__(self) -> None:
        self._loops: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, list[asyncio.Future[None]]
        ] = weakref.WeakKeyDictionary()

    async def readable(self, descriptor: int) -> None:
        """Wait until the descriptor can be read."""
        loop = asyncio.get_running_loop()
        waiting = self._loops.setdefault(loop, [])
        if not waiting:
            loop.add_reader(descriptor, self._wake, loop, descriptor)
        future = loop.create_future()
        waiting.append(future)
        try:
            await future
        finally:
            if future in waiting:  # it was cancelled
                waiting.remove(future)
                if not waiting:
                    loop.remove_reader(descriptor)

    def _wake(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        loop.remove_reader(descriptor)
        waiting = self._loops[loop]
        woken, waiting[:] = waiting[:], []
        for future in woken:
            if not future.done():
                future.set_result(None)
