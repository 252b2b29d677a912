"""The fakes that are shipped do what their page says, and fail what breaks a contract."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import ModelBusy
from assay.llm import Backend
from assay.sources import claude_code, codex
from assay.testing import (
    ClaudeTranscript,
    CodexTranscript,
    FakeModel,
    LangfuseServer,
    check_judge,
    check_source,
    read_turns,
    reply_in_turn,
)
from assay.types import Emit
from tests.llm.questions import FITS, ask_many, question
from tests.testing import coin, parrot

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/test-your-own-source-or-judge.md"
AGENTS: dict[str, tuple[Any, ModuleType]] = {
    "claude": (ClaudeTranscript, claude_code),
    "codex": (CodexTranscript, codex),
}


@pytest.mark.long
def test_every_example_of_the_page_runs(tmp_path: Path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    (tmp_path / "test_page.py").write_text("\n".join(blocks))
    for name in ("parrot", "coin"):
        shutil.copy(Path(__file__).with_name(f"{name}.py"), tmp_path)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "5 passed" in ran.stdout


def test_assay_does_not_import_its_fakes():
    code = "import sys, assay.cli.score, assay.cli.langfuse, assay.cli.eval, assay.pipeline.api; assay.score;"
    code += "sys.exit(any(name.startswith('assay.testing') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_fakes_need_no_more_than_assay():
    blocked = "pytest hypothesis jsonschema psutil yaml orjson anthropic openai".split()
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r})); import assay.testing, assay.testing.observations"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("agent", AGENTS)
def test_a_transcript_says_what_happened(agent: str, tmp_path: Path):
    make, source = AGENTS[agent]
    transcript = make(cwd="/home/ada/till", branch="fix")
    transcript.add_prompt("Mend the till")
    transcript.add_shell("pytest -q", "1 failed", exit_code=1)
    transcript.add_edit("till.py", "a = 1\nb = 2", "a = 2")
    transcript.add_edit("/home/ada/till/new.py", "", "x = 1\ny = 2\n")
    transcript.add_call("look_up", {"query": "prices"}, "none")
    transcript.add_shell("pytest -q", "3 passed in 0.1s")
    transcript.add_reply("Mended.")
    transcript.wait(minutes=5).add_prompt("Thanks")
    file = transcript.write(tmp_path)
    check_source(source, file)
    first, second = read_turns(source, file)
    assert (first.prompt and first.prompt.text, second.prompt and second.prompt.text) == ("Mend the till", "Thanks")
    assert [reply.text for reply in first.replies] == ["Mended."]
    assert [(call.command, call.runs[0].outcome) for call in first.calls if call.kind == "shell"] == [
        ("pytest -q", "failed"),
        ("pytest -q", "passed"),
    ]
    edits = [edit for call in first.calls for edit in call.edits]
    assert [(Path(edit.path).name, edit.added, edit.removed) for edit in edits] == [("till.py", 1, 2), ("new.py", 2, 0)]
    assert "look_up" in [call.name for call in first.calls]
    assert second.at > first.at


def test_a_fake_model_answers_as_a_real_one():
    model: Backend = (fake := FakeModel(reply_in_turn({"verdict": "maybe"}, ModelBusy("later"), FITS)))
    asked = ask_many(model, [question()])
    assert [json.loads(one.text) for one in asked] == [FITS]
    assert len(fake.questions) == 3


def test_a_fake_model_raises_what_it_is_told():
    with pytest.raises(ModelBusy, match="later"):
        asyncio.run(FakeModel(lambda *_: ModelBusy("later")).ask(question()))


def test_a_server_is_found_by_its_environment():
    with LangfuseServer() as server:
        assert server.environment()["LANGFUSE_HOST"].startswith("http://127.0.0.1:")


# --- what breaks a contract is seen -----------------------------------------------------------


class Forgetful(Struct):
    """A reader with a memory that is not in its fields."""

    unknown: dict[str, int] = {}

    def take(self, record: parrot.Record, emit: Emit) -> None:
        parrot.Reader.take(cast(parrot.Reader, SHARED), record, emit)


SHARED = SimpleNamespace(lines=0)


def change(module: ModuleType, **more: Any) -> Any:
    return SimpleNamespace(**{**vars(module), **more})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"AGENT": ""}, "AGENT"),
        ({"VERSION": "1"}, "VERSION"),
        ({"claims": lambda head: False}, "does not know"),
        ({"claims": lambda head: True}, "no transcript"),
        ({"Reader": Forgetful}, "otherwise"),
    ],
)
def test_a_source_that_breaks_its_contract_fails(changes: dict[str, Any], why: str, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"parrot": "person", "says": "hello"}\n{"parrot": "bird", "says": "hello"}\n')
    with pytest.raises(AssertionError, match=why):
        check_source(change(parrot, **changes), log)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"versions": dict}, "versions"),
        ({"topic": lambda stream: ()}, "gap"),
        ({"outcome": lambda *a: replace(coin.outcome(*a), confidence=2.0)}, "confidence"),
        ({"outcome": lambda turns, *a: coin.outcome(turns[1:], *a)}, "nobody said"),
    ],
)
def test_a_judge_that_breaks_its_contract_fails(changes: dict[str, Any], why: str, tmp_path: Path):
    file = ClaudeTranscript().add_prompt("Toss").add_reply("Heads").add_prompt("Again").write(tmp_path)
    with pytest.raises(AssertionError, match=why):
        check_judge(change(coin, **changes), read_turns(claude_code, file))
