"""How much is taken: bodies up to a size and a time, unpacked up to a size, so many requests from everybody."""

import asyncio
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from assay.server.replies import Refusal
from assay.server.settings import Limits

GZIP = 16 + zlib.MAX_WBITS
MOST_KNOWN = 10_000
"""Keys and addresses whose requests are counted; of more, those that came longest ago are forgotten."""


class RateLimit:
    """Tokens that grow with time: each request takes one, and where there is none it has to wait."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self.burst = burst
        self.clock = clock
        self.known: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """Take a token of somebody's; gives how many seconds they have to wait for one, 0 where there was one."""
        now = self.clock()
        left = self.count_left(who, now)
        self.known[who] = (left - 1 if left >= 1 else left, now)
        self.known.move_to_end(who)
        while len(self.known) > MOST_KNOWN:
            self.known.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self.rate

    def count_left(self, who: str, now: float) -> float:
        left, at = self.known.get(who, (self.burst, now))
        return min(self.burst, left + max(0.0, now - at) * self.rate)


class HeldBytes:
    """How many bytes of requests are in memory."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0

    @contextmanager
    def hold(self) -> Iterator[Callable[[int], None]]:
        """Gives what is called with every lot of bytes that comes into memory; at the end all of them are gone."""
        mine = 0

        def add(size: int) -> None:
            nonlocal mine
            if self.held + size > self.most:
                raise Refusal(503, "too much is being sent at once; try again", retry_s=2)
            self.held += size
            mine += size

        try:
            yield add
        finally:
            self.held -= mine


async def read_body(chunks: AsyncIterator[bytes], length: str, limits: Limits, add: Callable[[int], None]) -> bytes:
    """All of a request's body, if it is small enough and comes soon enough; `add` is told of every part of it."""
    if length.isdecimal() and len(length) < 20 and int(length) > limits.body_bytes:
        raise Refusal(413, explain_size(limits.body_bytes))
    body = bytearray()
    try:
        async with asyncio.timeout(limits.body_s):
            async for chunk in chunks:
                body += chunk
                if len(body) > limits.body_bytes:
                    raise Refusal(413, explain_size(limits.body_bytes))
                add(len(chunk))
    except TimeoutError:
        raise Refusal(408, f"the body took longer than {limits.body_s:g} s; send less at once") from None
    return bytes(body)


def explain_size(most: int) -> str:
    return f"the body is larger than {most >> 10} KiB; send less at once"


def unpack_body(body: bytes, encoding: str, most: int) -> bytes:
    """A body as it was before it was packed; never more than so many bytes are made of it."""
    kind = encoding.strip().lower()
    if kind in ("", "identity"):
        return body
    if kind != "gzip":
        raise Refusal(415, "this content encoding is not known; send gzip, or none")
    found, left = bytearray(), body
    while left:
        unpacker = zlib.decompressobj(GZIP)
        try:
            found += unpacker.decompress(left, most + 1 - len(found))
        except zlib.error:
            raise Refusal(400, "the body is no gzip, though its content encoding says so") from None
        if len(found) > most:
            raise Refusal(413, f"the body unpacks to more than {most >> 20} MiB; send less at once")
        if not unpacker.eof:
            raise Refusal(400, "the body is gzip that was cut off")
        left = unpacker.unused_data
    return bytes(found)
