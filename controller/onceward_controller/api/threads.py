"""The threads on which handlers block."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor  # noqa: TID251  # the one kind asyncio takes
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from litestar import Litestar


def sized_pool(threads: int) -> Callable[[Litestar], AbstractAsyncContextManager[None]]:
    """Return the lifespan that gives the event loop ``threads`` threads for blocking calls.

    Left alone, a loop sizes its pool by the number of cores, and handlers that only wait for a
    store would wait for each other. What is queued when the process ends is dropped unanswered;
    what runs is waited for by the loop itself.
    """

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        pool = ThreadPoolExecutor(threads, thread_name_prefix="onceward-api")
        asyncio.get_running_loop().set_default_executor(pool)
        try:
            yield
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    return lifespan
