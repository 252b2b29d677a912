"""`assay langfuse` as a person runs it, against a server of the tests' own."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from assay.cli.langfuse import app
from assay.errors import BadInput
from tests.conftest import environment, streams
from tests.langfuse.conftest import environment as keys
from tests.langfuse.make_observations import hook_turn, native_turn
from tests.langfuse.standin import KEYS, Standin


@pytest.fixture
def server() -> Iterator[Standin]:
    standin = Standin("4.59.0")
    running = standin.serve()
    standin.host = f"http://127.0.0.1:{running.server_port}"  # type: ignore[attr-defined]
    yield standin
    running.shutdown()
    running.server_close()
    assert standin.violations == []


def run(server: Standin, *args: object) -> tuple[int, str]:
    env = environment(**keys(server.host))  # type: ignore[attr-defined]
    done = CliRunner().invoke(app, [str(arg) for arg in args], env=env)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert KEYS[1] not in done.output
    return done.exit_code, done.output


def test_status_says_who_is_there(server):
    code, said = run(server, "status")
    assert code == 0
    assert "Langfuse 4.59.0" in said
    assert "project loom (proj1)" in said
    assert json.loads(run(server, "status", "--json")[1])["writes"] == "list"


def test_setup_creates_once_and_tells_what_is_in_the_way(server):
    assert run(server, "setup", "--dry-run")[1].count("would be created") == 7
    assert server.configs == []
    assert run(server, "setup")[1].count(": created") == 7
    assert run(server, "setup")[1].count(": there") == 7
    server.configs[1] |= {"dataType": "BOOLEAN", "minValue": None, "maxValue": None}
    code, said = run(server, "setup")
    assert code == 2
    assert "left alone, it is BOOLEAN" in said


def test_pulled_sessions_are_streams(server, tmp_path):
    server.observations = [*hook_turn(1, "Why?", reply="So.", session="a"), *native_turn(2, "x", text=False)]
    code, said = run(server, "pull", "a", "s1", "nobody", "--into", tmp_path / "pulled")
    assert code == 0
    assert said.splitlines()[:3] == [
        "a: 1 trace, 2 observations",
        "s1: 1 trace, 6 observations, without any text",
        "nobody: nothing there (yet)",
    ]
    found = streams(tmp_path / "pulled", "--store", tmp_path / "s.db")["streams"]
    assert sorted(one["id"] for one in found) == ["a", "s1"]
    again = json.loads(run(server, "pull", "--since", "2026-01-01", "--into", tmp_path / "pulled", "--json")[1])
    assert [one.get("is_changed") for one in again["pulled"]] == [False, False]


def test_a_session_that_fails_is_told_with_an_exit_code(server, tmp_path):
    server.planned = [(400, {}, {"message": "Invalid request data"})]
    code, said = run(server, "pull", "bad", "--into", tmp_path)
    assert code == 2
    assert "bad: GET 127.0.0.1" in said


def test_without_sessions_it_asks_for_some(server):
    with pytest.raises(BadInput, match="--since 7d"):
        run(server, "pull")
