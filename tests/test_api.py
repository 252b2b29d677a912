"""`assay.score` and `assay.quality`: the main jobs for Python."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest

import assay
from assay.errors import BadInput, StoreError
from assay.testing.claude_code import build_conversation, write_lines
from assay.testing.models import ModelServer
from tests.conftest import environment
from tests.pipeline.test_quality import answering

CARE = """
about = "One thing"
[[dimensions]]
name = "care"
kind = "numeric"
weight = 1.0
asks = "Was it checked?"
bands = [{ low = 0.0, high = 1.0, label = "any", means = "any" }]
signals = ["verification"]
"""


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with a store of its own."""
    for name, value in environment(HOME=str(tmp_path / "home"), ASSAY_STORE=str(tmp_path / "s.db")).items():
        monkeypatch.setenv(name, value)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("one", 4))
    write_lines(tmp_path / "home" / ".claude" / "projects" / "p" / "b.jsonl", *build_conversation("two", 4))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def streams(report: assay.Report) -> list[str]:
    return sorted({stream for one in report.sessions for stream in one.streams})


def test_paths_may_be_one_or_several_or_left_out(top: Path):
    assert streams(assay.score(top / "in")) == streams(assay.score(str(top / "in"))) == ["one"]
    assert streams(assay.score([top / "in", str(top / "home")])) == ["one", "two"]
    assert streams(assay.score()) == ["two"]
    assert (top / "s.db").exists()


def test_a_store_may_be_given(top: Path):
    report = assay.score(top / "in", store=top / "mine.db")
    assert (top / "mine.db").exists()
    assert not (top / "s.db").exists()
    assert report == assay.score(top / "in", store=str(top / "mine.db"), jobs=2)


def test_the_report_is_what_the_command_line_prints_as_json(top: Path):
    report = assay.score(top / "in")
    assert isinstance(report, assay.Report)
    assert msgspec.json.decode(msgspec.json.encode(report))["schema_version"] == 1
    assert report.waterfall.streams == 1


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ({}, ["one"]),
        ({"since": "2026-03-02"}, ["one"]),
        ({"since": "2026-03-03"}, []),
        ({"until": "2026-03-02"}, []),
        ({"since": "1h"}, []),
        ({"project": "loom"}, ["one"]),
        ({"project": "mill"}, []),
        ({"since": "2026-03-02 23:00", "timezone": "Asia/Tokyo"}, []),
        ({"since": "2026-03-02 17:00", "timezone": "Asia/Tokyo"}, ["one"]),
    ],
    ids=str,
)
def test_sessions_may_be_chosen(top: Path, choice: dict[str, str], wanted: list[str]):
    assert streams(assay.score(top / "in", **{"timezone": "UTC", **choice})) == wanted


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ({"since": "yesterday"}, "since 'yesterday'"),
        ({"judge": "nobody"}, "nobody"),
        ({"timezone": "Mars/Olympus"}, "time zone"),
        ({"paths": "nowhere"}, "no such file"),
        ({"store": "."}, "is a folder"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_told(top: Path, choice: dict[str, str], why: str):
    with pytest.raises(BadInput, match=why):
        assay.score(**{"paths": top / "in", **choice})


def test_a_judge_that_can_not_be_asked_is_told_unless_another_may_stand_in(top: Path):
    with pytest.raises(BadInput, match="ANTHROPIC_API_KEY"):
        assay.score(top / "in", judge="anthropic", may_ask=True)
    report = assay.score(top / "in", judge="anthropic", fallback="offline", may_ask=True)
    assert {one.judge for one in report.sessions} == {"offline"}
    assert "ANTHROPIC_API_KEY" in str(report.judge.fallback)


def test_no_transcripts_anywhere_is_told(top: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(top / "nobody"))
    with pytest.raises(BadInput, match="no transcripts found"):
        assay.score()


def test_a_store_that_is_none_is_told(top: Path):
    (top / "s.db").write_text("Dear diary\n" * 99)
    with pytest.raises(StoreError, match="not an Assay store"):
        assay.score(top / "in")


def test_the_quality_of_a_session_of_a_report(top: Path):
    (session,) = assay.score(top / "in").sessions
    found = assay.quality(session)
    assert (found.session, found.profile, found.judge, found.chunks) == (session.id, "enhanced", "offline", 1)
    assert found == assay.quality(session.id[:6].upper()) == assay.quality(session.id, "enhanced", store=top / "s.db")
    assert found.overall_quality is not None
    assert assay.quality(session, profile="classic").profile == "classic"


def test_the_quality_by_a_profile_of_ones_own(top: Path):
    (session,) = assay.score(top / "in").sessions
    (top / "care.toml").write_text(CARE)
    assert list(assay.quality(session, top / "care.toml").dimensions) == ["care"]
    assert assay.quality(session, str(top / "care.toml")).profile == "care"


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ({"session": "nobody"}, "no session begins with 'nobody'"),
        ({"session": ""}, "no session begins with ''"),
        ({"profile": "nobody"}, "no profile is called 'nobody'"),
        ({"judge": "nobody"}, "nobody"),
        ({"store": "other.db"}, "no session begins with"),
    ],
    ids=str,
)
def test_a_quality_that_cannot_be_had_is_told(top: Path, choice: dict[str, str], why: str):
    (session,) = assay.score(top / "in").sessions
    with pytest.raises(BadInput, match=why):
        assay.quality(**{"session": session.id, **choice})


def test_a_model_is_asked_for_quality_only_where_it_may_be(top: Path, monkeypatch: pytest.MonkeyPatch):
    (session,) = assay.score(top / "in").sessions
    with ModelServer(answering()) as service:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", service.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        with pytest.raises(BadInput, match=r"1 questions.*give may_ask=True"):
            assay.quality(session, judge="anthropic")
        assert not service.requests
        found = assay.quality(session, judge="anthropic", may_ask=True, model="some-model")
        assert [one.body["model"] for one in service.calls] == ["some-model"]
        assert found.judge == "anthropic"
        assert assay.quality(session, judge="anthropic", model="some-model") == found
        assert len(service.calls) == 1


def test_the_package_is_typed_and_says_what_it_offers():
    assert files("assay").joinpath("py.typed").is_file()
    assert {"Quality", "Report", "quality", "score"} <= set(assay.__all__) <= set(dir(assay))
    assert get_type_hints(assay.score)["return"] is assay.Report
    assert get_type_hints(assay.quality)["return"] is assay.Quality
    with pytest.raises(AttributeError, match="yarn"):
        _ = assay.yarn


def test_importing_it_loads_nothing_else():
    loaded = "import sys, assay; print([name for name in sys.modules if name.startswith(('assay.', 'sqlalchemy'))])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_trials_are_compared_from_python_as_on_the_command_line():
    from assay.types.evals import CheckResult, Trial

    def trial(arm: str, passed: bool) -> Trial:
        check = CheckResult(name="blue", kind="command", passed=passed)
        return Trial(task="weave", arm=arm, repeat=1, checks=(check,))  # type: ignore[arg-type]

    before, after = trial("baseline", passed=False), trial("candidate", passed=True)
    assert (assay.composite(before), assay.composite(after, before)) == (0.0, 1.0)
    found = assay.compare([before], [after])
    assert (found.verdict, found.label, assay.should_promote(found)) == ("improved", "single-run", True)
    assert not assay.should_promote(msgspec.structs.replace(found, verdict="neutral"))
