"""`assay score` with a judge that asks a model: as a person runs it, stops it, and goes on."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anthropic  # noqa: F401  once here, and not in every process that is forked
import openai  # noqa: F401
import pytest

from assay.testing.claude_code import write_lines
from assay.testing.models import ErrorStatus, ModelServer, SlowReply
from tests.conftest import Ran, command, environment, is_one_line, run
from tests.llm.judging import agreeable, asked, jobs, talk, talks

pytestmark = pytest.mark.long

INPUT_USD, OUTPUT_USD = 1.0, 5.0
"""Haiku 4.5, a million tokens."""


def options(top: Path, service: ModelServer, *more: object) -> list[object]:
    place = [top / "in", "--store", top / "s.db", "--judge", "anthropic", "--model-url", service.url]
    return ["score", *place, "--json", "--jobs", 1, *more]


def score(top: Path, service: ModelServer, *more: object, **kept: Any) -> Ran:
    return run(*options(top, service, *more), **kept)


def started(top: Path, service: ModelServer, *more: object) -> subprocess.Popen[bytes]:
    env = environment(ASSAY_MODEL_AT_ONCE="2")
    return subprocess.Popen(
        command(*options(top, service, "--yes", *more)), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def rows(top: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(top / "s.db")) as store:
        return store.execute(query).fetchall()


def until(true: Callable[[], object]) -> None:
    for _ in range(2_000):
        if true():
            return
        time.sleep(0.01)
    pytest.fail("it never came to that")


def plain(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what asking took this time, and where."""
    return {**report, "judge": {**report["judge"], "spending": None, "where": None}, "what_if": None}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    top = tmp_path_factory.mktemp("undisturbed")
    talks(top / "in", 4)
    with ModelServer(agreeable) as service:
        found: dict[str, Any] = score(top, service, "--yes").json
    return plain(found)


# --- stopped and gone on with -------------------------------------------------------------------


@pytest.mark.parametrize(("way", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_stopped_after_half_the_calls_nothing_that_was_answered_is_asked_again(
    tmp_path: Path, undisturbed: dict[str, Any], way: signal.Signals, code: int
):
    talks(tmp_path / "in", 4)
    with ModelServer(agreeable) as service:
        answered = iter(range(100))
        service.reply = lambda job, text: SlowReply(60 if next(answered) >= 4 else 0, agreeable(job, text))
        process = started(tmp_path, service)
        until(lambda: len(service.calls) == 6 and len(rows(tmp_path, "SELECT 1 FROM answers")) == 4)
        process.send_signal(way)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (code, b"")
        if way == signal.SIGINT:
            told = err.decode().splitlines()
            assert len(told) == 2
            assert told[1].startswith("assay: stopped; what was")
        under_way = {index for index, _ in enumerate(service.calls) if index >= 4}
        service.over.set()  # what hung may end now
        service.reply = agreeable
        found = score(tmp_path, service, "--yes").json
        counts = asked(service)
    lost = [words for words, n in counts.items() if n > 1]
    assert len(lost) <= len(under_way) == 2
    assert len(counts) == 8
    assert sum(counts.values()) == 8 + len(lost)
    calls = rows(tmp_path, "SELECT key, cost_usd, input, output FROM calls")
    assert len(calls) == len({key for key, *_ in calls}) == 8
    assert sum(cost for _, cost, *_ in calls) == pytest.approx(
        sum((given * INPUT_USD + came * OUTPUT_USD) / 1_000_000 for _, _, given, came in calls)
    )
    assert found["judge"]["spending"]["calls"] == 4
    assert plain(found) == undisturbed


def test_killed_while_a_batch_runs_the_next_run_collects_it(tmp_path: Path, undisturbed: dict[str, Any]):
    talks(tmp_path / "in", 4)
    with ModelServer(agreeable, looks=1) as service:
        process = started(tmp_path, service, "--batch")
        until(lambda: any(one.method == "GET" for one in service.requests))
        process.kill()
        process.communicate()
        assert len(rows(tmp_path, "SELECT id FROM batches")) == 1
        service.looks = 0
        ran = score(tmp_path, service, "--yes", "--batch")
        handed = [len(one.body["requests"]) for one in service.requests if one.method == "POST"]
    assert handed == [4, 4]
    assert set(asked(service).values()) == {1}
    assert rows(tmp_path, "SELECT id FROM batches") == []
    assert plain(ran.json) == undisturbed
    calls = rows(tmp_path, "SELECT cost_usd, input, output FROM calls")
    assert len(calls) == 8
    assert sum(cost for cost, *_ in calls) == pytest.approx(
        sum((given * INPUT_USD + came * OUTPUT_USD) / 2_000_000 for _, given, came in calls)
    )


# --- the limit ----------------------------------------------------------------------------------


def test_half_the_money_is_a_report_without_a_common_score_and_says_what_is_missing(
    tmp_path: Path, undisturbed: dict[str, Any]
):
    talks(tmp_path / "in", 4)
    with ModelServer(agreeable) as service:
        estimate = run("egress", *options(tmp_path, service)[1:]).json["estimate"]["cost_usd"]
        ran = score(tmp_path, service, "--yes", "--max-cost", estimate / 2, env={"ASSAY_MODEL_AT_ONCE": "1"})
        assert ran.code == 5
        assert ran.err.splitlines()[-1].startswith("assay: stopped at --max-cost; what was answered is kept")
        found = json.loads(ran.out)
        spent = found["judge"]["spending"]
        assert estimate / 8 < spent["cost_usd"] <= estimate / 2
        assert found["score"]["value"] is None
        assert found["score"]["is_mixed"] is True
        assert {one["judge"]: one["score"]["counted"] for one in found["by_judge"]}.keys() == {"anthropic", "offline"}
        said = {(one["judge"], one["fallback"]) for one in found["sessions"]}
        assert said == {("anthropic", None), ("offline", "--max-cost is reached")}
        shown = run(*[one for one in options(tmp_path, service, "--yes", "--max-cost", 0) if one != "--json"])
        assert shown.code == 5
        assert "PRISM Score: no score, several judges" in shown.out
        assert "judged by the offline judge instead: --max-cost is reached" in " ".join(shown.out.split())
        whole = score(tmp_path, service, "--yes")
    assert plain(whole.json) == undisturbed
    assert set(asked(service).values()) == {1}


def test_a_limit_on_a_model_without_a_price_is_refused_and_a_price_can_be_set(tmp_path: Path):
    talks(tmp_path / "in", 1)
    with ModelServer(agreeable) as service:
        ran = score(tmp_path, service, "--model", "loom-7b")
        assert "price not known" in ran.err
        ran = score(tmp_path, service, "--yes", "--model", "loom-7b", "--max-cost", 1)
        assert (ran.code, ran.out) == (2, "")
        assert "set model.input_usd and model.output_usd in assay.toml" in ran.err
        assert not service.requests
        (tmp_path / "assay.toml").write_text("[model]\ninput_usd = 1.0\noutput_usd = 2.0\n")
        ran = score(tmp_path, service, "--yes", "--model", "loom-7b", "--max-cost", 1, cwd=tmp_path)
    assert ran.json["judge"]["spending"]["cost_usd"] > 0
    assert "USD" in ran.err


# --- the person's word --------------------------------------------------------------------------


def test_in_a_pipe_nothing_is_sent_without_yes(tmp_path: Path):
    talks(tmp_path / "in", 2)
    with ModelServer(agreeable) as service:
        ran = score(tmp_path, service)
        assert (ran.code, ran.out) == (2, "")
        assert is_one_line(ran.err)
        assert not [
            word for word in ("4 questions", "USD", "nothing was sent", "--yes", "assay egress") if word not in ran.err
        ]
        assert not service.requests
        assert score(tmp_path, service, "--yes").code == 0
        quiet = score(tmp_path, service)
    assert (quiet.code, quiet.err) == (0, "")  # nothing is left to ask


@pytest.mark.parametrize(("typed", "code", "calls"), [(b"\n", 2, 0), (b"y\n", 0, 2)])
def test_on_a_terminal_the_person_is_asked(tmp_path: Path, typed: bytes, code: int, calls: int):
    talks(tmp_path / "in", 1)
    leader, terminal = pty.openpty()
    with ModelServer(agreeable) as service:
        process = subprocess.Popen(
            command(*options(tmp_path, service)), env=environment(), stdin=terminal, stderr=terminal,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        os.close(terminal)
        said = b""
        while b"Go on? [y/N]" not in said:
            said += os.read(leader, 4_096)
        assert not service.requests
        os.write(leader, typed)
        out, _ = process.communicate(timeout=60)
        os.close(leader)
        assert (process.returncode, len(service.calls)) == (code, calls)
        assert b"2 questions" in said
    assert bool(out) is (code == 0)


# --- without a model ----------------------------------------------------------------------------


def no_key(top: Path, service: ModelServer) -> list[object]:
    return [one for one in options(top, service, "--yes") if one not in ("--model-url", service.url)]


def test_without_a_key_nobody_judges_unless_the_offline_judge_may_and_then_it_is_said_everywhere(tmp_path: Path):
    talks(tmp_path / "in", 2)
    with ModelServer(agreeable) as service:
        ran = run(*no_key(tmp_path, service))
        assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
        assert "ANTHROPIC_API_KEY" in ran.err
        ran = run(*no_key(tmp_path, service), "--fallback", "offline")
        assert (ran.code, is_one_line(ran.err)) == (0, True)
        assert "ANTHROPIC_API_KEY" in ran.err
        assert "the offline judge judges instead" in ran.err
        found = ran.json
        assert "no key" in found["judge"]["fallback"]
        assert all(one["judge"] == "offline" and "no key" in one["fallback"] for one in found["sessions"])
        shown = run(*[one for one in no_key(tmp_path, service) if one != "--json"], "--fallback", "offline").out
        assert "judged by the offline judge, right in " in shown
        assert "instead of a model: anthropic can't be asked" in " ".join(shown.split())
        assert rows(tmp_path, "SELECT 1 FROM answers") == []
        back = score(tmp_path, service, "--yes").json
    assert {one["judge"] for one in back["sessions"]} == {"anthropic"}
    assert back["judge"]["fallback"] is None


def test_without_the_package_it_is_said_what_to_install_and_egress_needs_none(tmp_path: Path):
    talks(tmp_path / "in", 1)
    write_lines(tmp_path / "hide" / "anthropic.py", "raise ImportError")
    with ModelServer(agreeable) as service:
        env = environment(PYTHONPATH=str(tmp_path / "hide"))
        given = options(tmp_path, service)
        ran = [
            subprocess.run(command(*words), env=env, capture_output=True, check=False, timeout=60)
            for words in ([*given, "--yes"], ["egress", *given[1:]])
        ]
        assert (ran[0].returncode, ran[0].stdout) == (2, b"")
        assert b"pip install 'assay[anthropic]'" in ran[0].stderr
        assert ran[1].returncode == 0
        assert json.loads(ran[1].stdout) == run("egress", *given[1:]).json
        assert not service.requests


@pytest.mark.parametrize("trouble", ["unreachable", "401"])
def test_a_service_that_does_not_answer_is_said_and_asked_again_another_time(tmp_path: Path, trouble: str):
    talks(tmp_path / "in", 2)
    with ModelServer(lambda *_: ErrorStatus(401)) as service:
        if trouble == "401":
            ran = score(tmp_path, service, "--yes")
            let = score(tmp_path, service, "--yes", "--fallback", "offline")
    if trouble == "unreachable":
        ran = score(tmp_path, service, "--yes")
        let = score(tmp_path, service, "--yes", "--fallback", "offline")
    assert (ran.code, ran.out) == (2, "")
    found = let.json
    why = found["judge"]["fallback"]
    assert ("can't be reached" if trouble == "unreachable" else "ANTHROPIC_API_KEY") in why
    assert {(one["judge"], one["fallback"]) for one in found["sessions"]} == {("offline", why)}
    assert why in ran.err
    assert why in let.err
    with ModelServer(agreeable) as there:
        assert {one["judge"] for one in score(tmp_path, there, "--yes").json["sessions"]} == {"anthropic"}


# --- afterwards ---------------------------------------------------------------------------------


def test_show_and_sessions_with_the_same_options_ask_nobody_and_say_what_the_report_said(tmp_path: Path):
    talks(tmp_path / "in", 2)
    with ModelServer(agreeable) as service:
        report = score(tmp_path, service, "--yes", "--votes", 3).json
        assert jobs(service.calls)["session"] == 6
        before = len(service.requests)
        same = [
            "--judge",
            "anthropic",
            "--model-url",
            service.url,
            "--votes",
            3,
            "--store",
            tmp_path / "s.db",
            "--json",
        ]
        listed = run("sessions", tmp_path / "in", *same).json["sessions"]
        first = report["sessions"][0]
        shown = run("show", first["id"], *same).json
        assert len(service.requests) == before
    assert listed == report["sessions"]
    assert {name: shown["session"][name] for name in ("judge", "title", "confidence", "reasons")} == {
        name: first[name] for name in ("judge", "title", "confidence", "reasons")
    }


def test_what_was_judged_is_shown_without_a_key_and_without_a_way_to_the_service(tmp_path: Path):
    talks(tmp_path / "in", 1)
    store = ["--store", tmp_path / "s.db", "--json"]
    with ModelServer(agreeable) as service:
        there = {"ANTHROPIC_BASE_URL": service.url}
        report = run("score", tmp_path / "in", "--judge", "anthropic", "--yes", *store, env=there).json
    store += ["--judge", "anthropic"]
    ran = run("sessions", tmp_path / "in", *store)
    assert (ran.json["sessions"], ran.err) == (report["sessions"], "")
    assert run("show", report["sessions"][0]["id"], *store).json["session"]["judge"] == "anthropic"


def test_an_endpoint_that_named_its_model_itself_is_not_asked_for_it_again(tmp_path: Path):
    talks(tmp_path / "in", 1)
    store = ["--store", tmp_path / "s.db", "--json"]
    with ModelServer(agreeable) as service:
        given = ["--judge", "openai", "--model-url", f"{service.url}/v1", "--yes"]
        report = run("score", tmp_path / "in", *given, *store).json
        assert report["judge"]["model"] == "stand-in-1"
        before = len(service.requests)
        listed = run("sessions", tmp_path / "in", *given[:-1], *store).json["sessions"]
        assert len(service.requests) == before
    assert listed == report["sessions"]


def test_again_is_only_for_what_was_refused(tmp_path: Path):
    talks(tmp_path / "in", 2)
    write_lines(tmp_path / "in" / "s9.jsonl", *talk("loom9"))
    with ModelServer(agreeable) as service:
        service.reply = lambda job, text: "no JSON" if job == "session" and "loom9" in text else agreeable(job, text)
        first = score(tmp_path, service, "--yes").json
        assert sorted(one["judge_status"] for one in first["sessions"]) == ["ok", "ok", "ungraded"]
        service.reply = agreeable
        assert "1 question:" in score(tmp_path, service, "--again").err
        before = len(service.calls)
        found = score(tmp_path, service, "--yes", "--again").json
    assert {one["judge_status"] for one in found["sessions"]} == {"ok"}
    assert jobs(service.calls[before:]) == {"session": 1}
