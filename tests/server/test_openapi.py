"""Whatever our OpenAPI allows, and what it does not, is answered as it says: never a 5xx, never another shape."""

from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any
from unittest import SkipTest

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from assay.config import Config
from assay.pipeline.score import read_transcripts
from assay.resources import EXAMPLES
from assay.server.app import Server
from assay.server.settings import ServerSettings
from assay.stores import open_store
from tests.server.serving import HERE, PlacedServer, place_store, tighten

CHECKS = (
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
    response_headers_conformance,
)  # fmt: skip
ADDRESS = "/api/v1/openapi/openapi.json"
FEW, MANY = 6, 150


@pytest.fixture
def placed(tmp_path: Path) -> Iterator[PlacedServer]:
    """A server on a store with one conversation; each test has its own, for one that has stopped stays so."""
    url = place_store(tmp_path)
    config = Config(store=url, as_of="2026-11-01")
    first = min((EXAMPLES / "claude-code").rglob("*.jsonl"))
    with read_transcripts([first], config, 1):
        pass
    limits = tighten(key_rate=1e9, key_burst=1e9)
    server = Server(ServerSettings(store=url, hosts=("testserver",), config=config, limits=limits))
    yield PlacedServer(server, HERE)
    server.hall.stores.close()


@pytest.fixture
def session(placed: PlacedServer) -> str:
    with closing(open_store(placed.server.hall.settings.store)) as store:
        return store.sessions.list_segments(None)[0].segment.id if store.sessions.list_segments(None) else "0000"


@pytest.fixture
def described(placed: PlacedServer) -> Any:
    return schemathesis.openapi.from_asgi(ADDRESS, placed)


QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


def ask_all(described: Any, session: str, most: int) -> int:
    """Ask every operation many things, sound ones and others; gives how many operations there are."""
    operations = [one.ok() for one in described.get_all_operations()]
    for operation, mode in product(operations, MODES):
        try:
            strategy = operation.as_strategy(generation_mode=mode)

            @given(case=strategy)
            @settings(max_examples=most, deadline=None, suppress_health_check=QUIET, database=None)
            def ask(case: Any) -> None:
                check(case, session)

            ask()
        except (Unsatisfiable, SkipTest):  # nothing can be wrong with what takes no parameters
            assert mode is GenerationMode.NEGATIVE
    return len(operations)


def test_every_answer_is_as_described(described: Any, session: str):
    assert ask_all(described, session, FEW) > 20


@pytest.mark.long
def test_every_answer_to_much_more_is_as_described(described: Any, session: str):
    assert ask_all(described, session, MANY) > 20


def check(case: Any, session: str) -> None:
    """Ask, with what was made up and with a session that is there, and look at the answer."""
    case.call_and_validate(checks=CHECKS)
    if "session" in (case.path_parameters or {}):
        case.path_parameters["session"] = session
        case.call_and_validate(checks=CHECKS)
