"""Waiting for a busy service: as long as it asks, else longer every time, and all calls together."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from hashlib import sha256

from assay.errors import ModelBusy

FIRST_WAIT_S = 1.0
MOST_WAIT_S = 60.0
LONGEST_ASKED_S = 300.0
"""A service that wants a longer pause is left for the next run."""


class Patience:
    """How often and after what pause the same is asked; one for all calls to a service."""

    def __init__(
        self,
        tries: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tries = tries
        self.sleep = sleep
        self.clock = clock
        self.quiet_until = clock()

    async def ready(self) -> None:
        """Returns when no pause holds; a service that is crowded for one call is crowded for all."""
        while (left := self.quiet_until - self.clock()) > 0:
            await self.sleep(left)

    def worth_another(self, tried: int, busy: ModelBusy) -> bool:
        return tried < self.tries and (busy.wait_s or 0) <= LONGEST_ASKED_S

    async def pause(self, key: str, tried: int, busy: ModelBusy) -> None:
        """Waits after the `tried`-th call for a question found the service busy."""
        wait_s = max(busy.wait_s or 0.0, backed_off(key, tried))
        if busy.wait_s is None:  # this call's own bad luck: a timeout, a dead line, a fault
            await self.sleep(wait_s)
        else:
            self.quiet_until = max(self.quiet_until, self.clock() + wait_s)


def backed_off(key: str, tried: int) -> float:
    """Twice as long every time, less up to a half that depends on the question, so that calls don't return in step."""
    longest = min(MOST_WAIT_S, FIRST_WAIT_S * 2.0 ** (tried - 1))
    spread = int.from_bytes(sha256(f"{key} {tried}".encode()).digest()[:4], "big") / 2**32
    return longest * (1 - spread / 2)
