"""Codex's settings: changed with their comments kept, and put back to the byte."""

import json
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import tomlkit

from assay.agents.codex import EVENT
from assay.pipeline.inputs import TELEMETRY_ROOT, find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.spool import take_spool
from assay.stores import open_store
from tests.agent.hooks import KEEP, list_kept
from tests.conftest import Ran, is_one_line, run

MINE = """# mine
model   = "gpt-5.2"   # the good one

[model_providers.weaver]
name="weaver"

  [tui]
theme = 'dark'
"""
SERVER = ("--server", "http://127.0.0.1:4318", "--words")


def assay(home: Path, *words: str) -> Ran:
    return run(*words, env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db")})


def write(home: Path, text: str) -> Path:
    path = home / ".codex/config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [MINE, "", MINE.replace("\n", "\r\n"), "[otel]\nenvironment = 'dev' # mine\n", None])
def test_every_byte_is_put_back(tmp_path: Path, text: str | None):
    path = tmp_path / ".codex/config.toml" if text is None else write(tmp_path, text)
    before = None if text is None else path.read_bytes()
    assert assay(tmp_path, "codex", "install", "--yes", *SERVER).code == 0
    told = tomlkit.parse(path.read_text()).unwrap()
    assert told["notify"] == ["sh", str(KEEP), EVENT]
    assert told["otel"]["exporter"]["otlp-http"]["endpoint"] == "http://127.0.0.1:4318/v1/logs"
    assert not text or "# mine" in path.read_text()
    assert "notify, otel.exporter" in assay(tmp_path, "codex", "status").out
    assay(tmp_path, "codex", "uninstall", "--yes")
    assert (path.read_bytes() if path.exists() else None) == before
    assert path.parent.exists() == (text is not None)


def test_from_a_file_that_was_changed_meanwhile_only_our_keys_are_taken(tmp_path: Path):
    path = write(tmp_path, MINE)
    assay(tmp_path, "codex", "install", "--yes", *SERVER)
    path.write_text(path.read_text().replace("dark", "light") + "\n[mine]\nx = 1\n")
    assert "changed by somebody else" in assay(tmp_path, "codex", "uninstall", "--yes").out
    told = tomlkit.parse(path.read_text()).unwrap()
    assert told == tomlkit.parse(MINE.replace("dark", "light")).unwrap() | {"mine": {"x": 1}}
    assert "# the good one" in path.read_text()


@pytest.mark.parametrize("text", ["model = ", "[a\n", "x = 1\nx = 2\n"])
def test_settings_that_cannot_be_read_are_left_alone_and_told(tmp_path: Path, text: str):
    path = write(tmp_path, text)
    ran = assay(tmp_path, "codex", "install", "--yes")
    assert (ran.code, path.read_text(), is_one_line(ran.err)) == (2, text, True)


def test_a_program_that_hears_of_turns_already_stays(tmp_path: Path):
    path = write(tmp_path, 'notify = ["mine"]\n')
    assert "stays" in assay(tmp_path, "codex", "install", "--yes").out
    assert path.read_text() == 'notify = ["mine"]\n'
    write(tmp_path, '[otel]\nexporter = "otlp-http"\n')
    assert assay(tmp_path, "codex", "install", "--yes", *SERVER).code == 2


def test_a_turn_that_only_the_hook_heard_of_is_told_once(tmp_path: Path):
    told = {
        "type": "agent-turn-complete",
        "thread-id": "7b1f0a52-0000-7000-8000-000000000001",
        "turn-id": "1",
        "cwd": "/home/ada/loom",
        "input-messages": ["Weave the hat"],
        "last-assistant-message": "It is woven.",
    }
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = ["sh", str(KEEP), EVENT, json.dumps(told)]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr, list_kept(tmp_path)) == (0, b"", b"", [EVENT])
    found = find_files([Path(TELEMETRY_ROOT)])
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as store:
        assert take_spool(store, found, env).kept == 1
        scan(store, found, 1, ignore_progress)
        (stream,) = store.transcripts.list_streams(None)
    assert (stream.id, stream.title, stream.turns) == (f"{told['thread-id']}@codex", "Weave the hat", 1)


def test_a_turn_whose_rollout_is_there_is_told_by_that(tmp_path: Path):
    thread = "7b1f0a52-0000-7000-8000-000000000001"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"rollout-2026-11-07T09-00-00-{thread}.jsonl").write_text("{}\n")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    subprocess.run(["sh", str(KEEP), EVENT, json.dumps({"thread-id": thread})], env=env, check=True)
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as store:
        taken = take_spool(store, find_files([tmp_path / "in"]), env)
    assert (taken.kept, taken.told) == (0, 1)
