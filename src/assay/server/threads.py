"""Handlers that wait for a store do so in threads, so that everybody else is served meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_thread(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """A handler that runs in a thread of the hall's; the framework wraps it twice where two methods share a path."""

    @wraps(function)
    async def run(**named: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(named["hall"].threads, partial(function, **named))

    return run
