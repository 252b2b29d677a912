"""`/api/v1/events`: server-sent events whenever what is stored changes, so that nobody has to ask all the time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from litestar import get
from litestar.di import NamedDependency
from litestar.response import ServerSentEvent, ServerSentEventMessage

from assay.server.access import Visitor
from assay.server.hall import Hall
from assay.server.replies import Refusal
from assay.server.seals import build_tag

LOOK_S = 1.0
PING_S = 15.0
LISTENERS: Counter[tuple[int, str]] = Counter()


@get("/api/v1/events", include_in_schema=False)
async def listen(hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> ServerSentEvent:
    """Tell of every change: `changed` when a report could say something else, `live` when `/api/v1/live` would.

    Each comes with a text that is another one each time; `leaving` when the server stops.
    """
    name = (id(hall), visitor.tenant)
    if LISTENERS[name] >= hall.settings.limits.listeners:
        raise Refusal(503, "too many listen already; try again", retry_s=30)
    return ServerSentEvent(list_events(hall, visitor, name))


async def list_events(hall: Hall, visitor: Visitor, name: tuple[int, str]) -> AsyncIterator[ServerSentEventMessage]:
    """Events of one tenant, for as long as the key is good and the server stays."""
    LISTENERS[name] += 1
    try:
        last, live, quiet_s = "", "", 0.0
        while not hall.leaving.is_set():
            if visitor.key and not await hall.access.still_opens(visitor):
                break
            state = await asyncio.to_thread(read_state, hall, visitor)
            quiet_s += LOOK_S
            if state != last:
                last, quiet_s = state, 0.0
                yield ServerSentEventMessage(event="changed", data=state)
            if (now := await asyncio.to_thread(sign_live, hall, visitor)) != live:
                live, quiet_s = now, 0.0
                yield ServerSentEventMessage(event="live", data=live)
            elif quiet_s >= PING_S:
                quiet_s = 0.0
                yield ServerSentEventMessage(comment="still here")
            await wait_for_leaving(hall)
        yield ServerSentEventMessage(event="leaving", data="bye")
    finally:
        LISTENERS[name] -= 1


async def wait_for_leaving(hall: Hall) -> None:
    """Wait a moment, or until the server leaves."""
    try:
        async with asyncio.timeout(LOOK_S):
            await hall.leaving.wait()
    except TimeoutError:
        return


def read_state(hall: Hall, visitor: Visitor) -> str:
    """What changes with the tenant's store, sealed: nobody learns from it how much there is."""
    store = hall.open_store(visitor)
    return build_tag(store.keys.load_secret(), store.read_state().encode()).strip('"')


def sign_live(hall: Hall, visitor: Visitor) -> str:
    """What changes with the conversations that go on, sealed like the state."""
    store = hall.open_store(visitor)
    return build_tag(store.keys.load_secret(), hall.reports.encode_live(visitor.tenant, store)).strip('"')


HANDLERS: list[Any] = [listen]
