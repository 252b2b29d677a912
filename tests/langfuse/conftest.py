"""A stand-in for each test, whose traffic must have been as the specification says."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.langfuse import Client, connect
from assay.testing.langfuse import KEYS, FakeClock
from tests.langfuse.contract import CheckedServer

HOST = "https://langfuse.example"


def environment(host: str = HOST) -> dict[str, str]:
    return {"LANGFUSE_HOST": host, "LANGFUSE_PUBLIC_KEY": KEYS[0], "LANGFUSE_SECRET_KEY": KEYS[1]}


@pytest.fixture
def make() -> Iterator[Callable[..., CheckedServer]]:
    """Makes stand-ins of a version; in the end none may have seen or said what the specification forbids."""
    made: list[CheckedServer] = []

    def standin(version: str = "4.16.0", time: FakeClock | None = None) -> CheckedServer:
        made.append(CheckedServer(version, time or FakeClock()))
        return made[-1]

    yield standin
    assert [fault for one in made for fault in one.violations] == []


def client_of(standin: CheckedServer, host: str = HOST, **more: Any) -> Client:
    assert standin.time is not None
    return connect(environment(host), clock=standin.time.clock(), transport=standin.build_transport(), **more)
