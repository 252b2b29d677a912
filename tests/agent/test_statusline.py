"""One line above the prompt, at once and whatever happens; and the live view."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.cli.door import build_line
from assay.config import Config
from assay.pipeline import glance
from assay.scores.advice import CHECK_HABITS
from tests.agent.test_spool import write_fresh
from tests.conftest import Ran, run
from tests.make_sessions import session_of as make_session

KEPT = {
    "value": 71.4, "low": 45.4, "high": 88.3, "crushed": 10, "counted": 14,
    "sights": [{"row": {"stream": "s-1", "state": "open"}, "chance": 0.62, "crushed": None},
               {"row": {"stream": "s-2", "state": "judged"}, "chance": 0.2, "crushed": False}],
}  # fmt: skip
TOLD = {"session_id": "s-1", "cost": {"total_cost_usd": 0.4211},
        "context_window": {"total_input_tokens": 12_000, "total_output_tokens": 400}}  # fmt: skip


def assay(home: Path, *words: str, **env: str) -> Ran:
    return run(*words, env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db"), **env})


def tell(home: Path, told: bytes, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "ASSAY_STORE": str(home / "s.db")}
    command = [sys.executable, "-m", "assay", "statusline"]
    return subprocess.run(command, input=told, env=env, capture_output=True, timeout=20, check=False, **more)


def test_the_line_tells_the_week_the_session_tokens_and_cost():
    line = build_line(TOLD, KEPT)
    assert line == "assay 71 (45 to 88) in 7 days, 10 of 14 · open, 62% likely to land · 12.4k tokens · $0.42"
    assert "did not land" in build_line(TOLD | {"session_id": "s-2"}, KEPT)
    assert build_line({}, {}) == "assay: no score yet"


def test_advice_is_told_until_its_time_is_over():
    assert build_line({}, {"coaching": "Plan first.", "coached_until": time.time() + 60}).endswith(" · Plan first.")
    assert "Plan" not in build_line({}, {"coaching": "Plan first.", "coached_until": time.time() - 1})


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*KEPT, *TOLD, "row", "stream", "total_cost_usd", "total_input_tokens"]), inner
        )
    ),
    max_leaves=8,
)
TABLE = st.dictionaries(st.sampled_from([*KEPT, *TOLD, "coaching", "coached_until"]), ANYTHING)


@settings(deadline=None)
@given(TABLE, TABLE)
def test_whatever_stands_there_there_is_one_line(told: dict[str, Any], kept: dict[str, Any]):
    assert build_line(told, kept).startswith("assay")


@pytest.mark.parametrize("told", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"session_id": 3, "cost": []}'])
def test_what_cannot_be_read_makes_a_shorter_line_and_no_noise(tmp_path: Path, told: bytes):
    (tmp_path / ".local/state/assay").mkdir(parents=True)
    (tmp_path / ".local/state/assay/glance.json").write_bytes(told)
    done = tell(tmp_path, told)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"assay: no score yet\n", b"")


def test_the_line_that_was_there_stays_and_hears_what_ours_hears(tmp_path: Path):
    state = tmp_path / ".local/state/assay"
    state.mkdir(parents=True)
    state.joinpath("glance.json").write_text("{}")
    state.joinpath("statusline-before").write_text("echo mine; wc -c; echo oops >&2; exit 3")
    done = tell(tmp_path, b'{"a": 1}')
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == ["mine", "8", "assay: no score yet"]


def test_the_line_does_not_wait_for_the_look_that_it_begins(tmp_path: Path):
    write_fresh(tmp_path, "s-1")
    state = tmp_path / ".local/state/assay"
    assert tell(tmp_path, json.dumps(TOLD).encode()).stdout.startswith(b"assay: no score yet")
    assert (state / "glance-begun").exists()
    for _ in range(300):
        if (state / "glance.json").exists():
            break
        time.sleep(0.1)
    line = tell(tmp_path, json.dumps(TOLD).encode()).stdout.decode()
    assert "likely to land" in line
    assert json.loads((state / "glance.json").read_text())["sights"][0]["row"]["stream"] == "s-1"


def test_the_door_imports_nothing_of_ours_but_itself():
    run_it = "import sys; sys.argv = ['assay', 'statusline']; from assay.cli.main import main; main(); "
    heavy = ("msgspec", "typer", "sqlalchemy", "rich", "subprocess", "typing")
    code = f"{run_it} print([one for one in sys.modules if one.split('.')[0] in {heavy}])"
    env = {"HOME": "/nonexistent", "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], input=b"{}", env=env, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


def test_watch_shows_the_conversations_of_the_day(tmp_path: Path):
    write_fresh(tmp_path, "s-1")
    ran = assay(tmp_path, "watch", "--once")
    assert (ran.code, ran.err) == (0, "")
    assert "likely to land" in ran.out
    (one,) = assay(tmp_path, "watch", "--json").json["conversations"]
    assert (one["row"]["stream"], one["row"]["state"], one["row"]["turns"]) == ("s-1", "open", 1)


def test_watch_of_nothing_says_so(tmp_path: Path):
    assert "no conversation in the last day" in assay(tmp_path, "watch").out


# --- coaching that is earned ----------------------------------------------------------------------


def coach(sessions: list[Any], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(glance, "judge_habits", lambda *_: {})
    now = datetime.fromisoformat("2026-03-02T12:05:00+00:00")
    said, until = glance.find_coaching(None, Config(coach=True), sessions, now)  # type: ignore[arg-type]
    assert bool(said) == (until > now.timestamp())
    return said


def make_history(planned: float, unplanned: float, last: bool = False) -> list[Any]:
    """Forty sessions with a plan and forty without, and how many of each landed; then one without that just closed."""
    found = [
        make_session(
            id=f"{has_plan}-{n}", crushed=n < 40 * share, goal_complete=n < 40 * share, checks={"plan_first": has_plan},
            ended_at=f"2026-02-{n % 28 + 1:02}T09:00:00.000Z",
        )
        for has_plan, share in ((True, planned), (False, unplanned))
        for n in range(40)
    ]  # fmt: skip
    closed = make_session(id="last", crushed=last, goal_complete=last, checks={"plan_first": False},
                          ended_at="2026-03-02T12:00:00.000Z")  # fmt: skip
    return [*found, closed]


def test_advice_is_given_where_the_persons_own_history_has_shown_it(monkeypatch: pytest.MonkeyPatch):
    assert coach(make_history(0.9, 0.3), monkeypatch) == CHECK_HABITS["plan_first"][1]


@pytest.mark.parametrize(
    "history",
    [make_history(0.6, 0.55), make_history(0.9, 0.3, last=True), make_history(0.3, 0.9), make_history(0.9, 0.3)[-3:]],
    ids=["chance", "it landed", "the other way", "too few"],
)
def test_else_nothing_is_said(history: list[Any], monkeypatch: pytest.MonkeyPatch):
    assert coach(history, monkeypatch) == ""


def test_nothing_is_said_of_a_session_that_closed_long_ago(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(glance, "judge_habits", lambda *_: {})
    later = datetime(2026, 3, 2, 13, tzinfo=UTC)
    assert glance.find_coaching(None, Config(coach=True), make_history(0.9, 0.3), later) == ("", 0.0)  # type: ignore[arg-type]
    assert Config().coach is False
