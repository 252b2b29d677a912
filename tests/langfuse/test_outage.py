"""An outage is waited for once, however many requests it meets; what is left is listed, and goes on next time."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from assay.http import MOST_GIVEN_UP, SHORT_S
from assay.langfuse import ScoreWrite, WritePlan, connect, pull_sessions, write_scores
from assay.testing.langfuse import Reply
from tests.langfuse.conftest import HOST, client_of, environment
from tests.langfuse.contract import CheckedServer

Make = Callable[..., CheckedServer]
SCORES = [
    ScoreWrite(
        session=f"s{n}", name="tool_efficiency", data_type="NUMERIC", value=0.5, timestamp="2026-11-10T09:00:00Z"
    )
    for n in range(700)
]
WAYS: list[Reply | Exception] = [
    httpx.ConnectError("refused"),
    (503, {}, {"message": "upgrading"}),
    (429, {"Retry-After": "3000"}, {"message": "slow down"}),
]


def die(standin: CheckedServer, after: int, how: Any) -> None:
    """Let the server answer so many requests more, and no others."""
    alive, left = standin.route, iter(range(after))

    def route(*asked: Any) -> Reply:
        if next(left, None) is not None:
            return alive(*asked)
        if isinstance(how, Exception):
            raise how
        return how

    standin.route = route  # type: ignore[method-assign]


@pytest.mark.parametrize("how", WAYS, ids=["refuses connections", "is busy", "asks for an hour"])
def test_a_server_that_dies_in_the_middle_of_700_scores_costs_seconds(make: Make, how):
    standin = make("4.59.0")
    assert standin.time is not None
    client, alive = client_of(standin), standin.route
    die(standin, 30, how)
    began = standin.time.at
    report = write_scores(client, SCORES)
    assert (standin.time.at - began).total_seconds() < 30
    assert len(report.stored) + len(report.not_stored) == 700
    assert not any(one.is_final for one in report.not_stored)
    standin.route = alive  # type: ignore[method-assign]
    standin.time.sleep(120)
    seen = dict.fromkeys(report.stored, "")
    again = write_scores(client, SCORES, WritePlan(already=seen))
    assert (again.not_stored, len(standin.scores)) == ((), 700)


def test_a_server_that_hangs_is_not_waited_for_once_per_score(make: Make):
    standin = make("4.59.0")
    time = standin.time
    assert time is not None
    waits: list[float] = []

    def hang(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith(("health", "v3/scores")) and not waits:
            return standin.build_transport().handle_request(request)
        waits.append(request.extensions["timeout"]["read"])
        time.sleep(waits[-1])
        raise httpx.ReadTimeout("no answer")

    client = connect(environment(HOST), clock=time.clock(), transport=httpx.MockTransport(hang))
    report = write_scores(client, SCORES)
    assert len(report.not_stored) == 700
    assert sum(waits) < 200
    assert waits[-1] == SHORT_S


def test_sessions_that_cannot_be_pulled_are_not_each_waited_for(make: Make, tmp_path):
    standin = make()
    assert standin.time is not None
    client = client_of(standin)
    client.load_project()
    die(standin, 0, httpx.ConnectError("refused"))
    asked = len(standin.log)
    report = pull_sessions(client, tmp_path, [f"s{n}" for n in range(500)])
    assert len(report.failed) == 500
    assert len(standin.log) - asked < 10 + MOST_GIVEN_UP
    assert "refused" in report.failed[-1][1]


def test_a_server_that_comes_back_is_asked_again(make: Make, tmp_path):
    standin = make()
    assert standin.time is not None
    client, alive = client_of(standin), standin.route
    client.load_project()
    die(standin, 0, httpx.ConnectError("refused"))
    assert len(pull_sessions(client, tmp_path, [f"s{n}" for n in range(9)]).failed) == 9
    standin.route = alive  # type: ignore[method-assign]
    standin.time.sleep(90)
    assert pull_sessions(client, tmp_path, ["s1"]).empty == ("s1",)
