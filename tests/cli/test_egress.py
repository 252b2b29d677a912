"""`assay egress`: the very words that a score would send, and none of them sent."""

import json
from pathlib import Path
from typing import Any

import anthropic  # noqa: F401  once here, and not in every process that is forked
import pytest

from assay.testing.claude_code import write_lines
from assay.testing.models import ModelRequest, ModelServer
from tests.conftest import Ran, run
from tests.llm.judging import agreeable, jobs, sent, talk, talks

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def place(top: Path, service: ModelServer) -> list[object]:
    return [top / "in", "--store", top / "s.db", "--judge", "anthropic", "--model-url", service.url]


def egress(top: Path, service: ModelServer, *more: object, **kept: Any) -> Ran:
    return run("egress", *place(top, service), *more, **kept)


def arrived(one: ModelRequest) -> tuple[str, ...]:
    """A question as the service got it."""
    (system,) = one.body["system"]
    material, task = one.body["messages"][0]["content"]
    (tool,) = one.body["tools"]
    return one.job, system["text"], material["text"], task["text"], json.dumps(tool["input_schema"], sort_keys=True)


def told(one: dict[str, Any]) -> tuple[str, ...]:
    return one["job"], one["system"], one["material"], one["task"], json.dumps(one["schema"], sort_keys=True)


def test_what_is_shown_is_what_is_sent_byte_for_byte(tmp_path: Path):
    talks(tmp_path / "in", 3)
    wish = f"Add a Fädenzähler 🧵 to loom9.py, the token is {TOKEN}"
    write_lines(tmp_path / "in" / "s9.jsonl", *talk("loom9", wish=wish))
    with ModelServer(agreeable) as service:
        shown = egress(tmp_path, service, "--json").json
        assert not service.requests
        assert run("score", *place(tmp_path, service), "--yes", "--json").code == 0
        assert sorted(map(told, shown["requests"])) == sorted(map(arrived, service.calls))
        assert shown["estimate"]["questions"] == len(service.calls) == 8
        received = sum(len(text.encode()) for one in service.calls for text in arrived(one)[1:])
        assert sum(one["bytes"] for one in shown["requests"]) == received
        after = egress(tmp_path, service, "--json").json
        assert TOKEN not in sent(service)
        assert len(service.requests) == 8
    assert after["requests"] == []
    assert after["estimate"]["questions"] == 0
    assert TOKEN not in json.dumps(shown)
    assert sum(one["redacted"].get("github-token", 0) for one in shown["requests"]) >= 2
    assert {one["to"] for one in shown["requests"]} == {service.url}


def test_what_a_model_answered_before_is_marked_and_no_part_of_the_estimate(tmp_path: Path):
    talks(tmp_path / "in", 2)
    with ModelServer(agreeable) as service:
        run("score", *place(tmp_path, service), "--yes", "--max-cost", 0.016, "--json")
        done = len(service.calls)
        assert 0 < done < 4
        shown = egress(tmp_path, service, "--json").json
        open_ = [one for one in shown["requests"] if not one["is_answered"]]
        assert len(open_) == shown["estimate"]["questions"] == 4 - done
        run("score", *place(tmp_path, service), "--yes", "--json")
    assert sorted(map(told, open_)) == sorted(map(arrived, service.calls[done:]))


def test_the_choice_and_the_votes_of_a_score_hold_here_too(tmp_path: Path):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("loom0"))
    write_lines(tmp_path / "in" / "b.jsonl", *talk("loom1", start=400_000, cwd="/home/ada/wheel"))
    with ModelServer(agreeable) as service:
        for choice in (["--since", "2026-03-05"], ["--project", "wheel"]):
            shown = egress(tmp_path, service, "--votes", 3, "--json", *choice).json
            assert {one["project"] for one in shown["requests"]} == {"/home/ada/wheel"}
            assert sorted(one["job"] for one in shown["requests"]) == [*["session"] * 3, "topic"]
        run("score", *place(tmp_path, service), "--yes", "--votes", 3, "--project", "wheel")
    assert jobs(service.calls) == {"topic": 1, "session": 3}


@pytest.mark.parametrize(("policy", "requests"), [("opt_out = true", 2), ("retention_days = 90000", 4)])
def test_a_tenant_that_may_not_be_sent_is_not_shown(tmp_path: Path, policy: str, requests: int):
    talks(tmp_path / "in", 1)
    write_lines(
        tmp_path / "in" / "acme.jsonl", *talk("acme", cwd="/srv/acme", wish="Count the heddles in acme.py please")
    )
    (tmp_path / "assay.toml").write_text(f'[tenants.acme]\nprojects = ["/srv/acme"]\n{policy}\n')
    with ModelServer(agreeable) as service:
        ran = egress(tmp_path, service, "--json", cwd=tmp_path)
        words = egress(tmp_path, service, "--words", cwd=tmp_path)
        assert not service.requests
    assert len(ran.json["requests"]) == requests
    assert ("heddles" in ran.out) is ("heddles" in words.out) is (requests == 4)


def test_it_needs_no_key_and_says_where_words_would_go(tmp_path: Path):
    talks(tmp_path / "in", 1)
    found = run("egress", tmp_path / "in", "--store", tmp_path / "s.db", "--judge", "anthropic", "--json").json
    assert found["to"] == "https://api.anthropic.com"
    assert len(found["requests"]) == 2


def test_the_offline_judge_sends_nothing(tmp_path: Path):
    talks(tmp_path / "in", 1)
    ran = run("egress", tmp_path / "in", "--store", tmp_path / "s.db", "--json")
    assert ran.json == {
        "kind": "egress", "schema_version": 1,
        "judge": "offline", "to": None, "model": None, "estimate": None, "requests": [],
    }  # fmt: skip
    assert "nothing" in run("egress", tmp_path / "in", "--store", tmp_path / "s.db").out.lower()


def test_the_words_are_printed_on_request(tmp_path: Path):
    talks(tmp_path / "in", 1)
    with ModelServer(agreeable) as service:
        short, long = egress(tmp_path, service).out, egress(tmp_path, service, "--words").out
    assert "You judge recorded work sessions" not in short
    assert "You judge recorded work sessions" in long
    assert "Add a reed counter to loom0.py" in long
    assert service.url in short


def test_the_project_of_a_question_is_the_one_that_reports_name(tmp_path: Path):
    for name, cwd in (("loom0", "/Users/ada/src/loom"), ("loom1", "/Users/ada/.codex/worktrees/045e/loom")):
        write_lines(tmp_path / "in" / f"{name}.jsonl", *talk(name, cwd=cwd))
    with ModelServer(agreeable) as service:
        shown = egress(tmp_path, service).out
    assert [line.split()[1] for line in shown.splitlines() if " session " in line] == ["loom", "loom"]
