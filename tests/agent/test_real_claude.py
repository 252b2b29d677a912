"""The real Claude Code with the plugin from its local marketplace, driven in a terminal against a stand-in service."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.hooks import PLUGIN, list_kept, spool_of
from tests.agent.standin import Scribe
from tests.conftest import run
from tests.llm.real import fetched, missing
from tests.llm.real import run as run_program
from tests.server.serving import run_server

pytestmark = [pytest.mark.outside, pytest.mark.last]

NEWEST = "2.1.325"
VERSIONS = ("1.0.88", "2.0.14", "2.1.197", NEWEST)
KEY = "sk-ant-none-of-this-is-a-key"
ODD = '{ "theme" :"dark",\n   "cleanupPeriodDays": 99}'


def fetch_claude(version: str) -> Path:
    def fetch(folder: Path) -> None:
        if shutil.which("npm") is None:
            missing("npm is not installed")
        package = f"@anthropic-ai/claude-code@{version}"
        run_program("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package)

    return fetched(f"claude-code-{version}", fetch) / "node_modules" / ".bin"


class Place:
    """A home of its own, a folder to work in, and a real Claude Code."""

    def __init__(self, top: Path, version: str, url: str) -> None:
        self.home, self.work = top / "home", top / "work"
        (self.home / ".claude").mkdir(parents=True)
        self.work.mkdir()
        self.settings = self.home / ".claude" / "settings.json"
        self.settings.write_text(ODD)
        scratch = {name: str(self.home) for name in ("HOME", "TMPDIR", "CLAUDE_CODE_TMPDIR", "XDG_RUNTIME_DIR")}
        self.env = scratch | {
            "PATH": f"{fetch_claude(version)}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "xterm",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1", "IS_SANDBOX": "1",
            "SHELL": "/bin/bash", "USER": "ada",
        }  # fmt: skip
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        known = {
            "hasCompletedOnboarding": True, "theme": "dark", "lastOnboardingVersion": version,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.work): trusted},
        }  # fmt: skip
        (self.home / ".claude.json").write_text(json.dumps(known))

    def assay(self, *words: str) -> Any:
        return run(*words, env={"HOME": str(self.home), "ASSAY_STORE": str(self.home / "s.db")}, cwd=self.work)

    def print(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """One prompt without a terminal."""
        command = ["claude", "-p", *words]
        return subprocess.run(
            command, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip

    def claude(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["claude", *words], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip


class Terminal:
    """Claude Code in tmux: keys go in, and what is on the screen comes out."""

    def __init__(self, place: Place, *words: str) -> None:
        if shutil.which("tmux") is None:
            missing("tmux is not installed")
        self.place = place
        self.socket = str(place.home / "tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", "claude", *words)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.socket, *words], cwd=self.place.work, env=self.place.env, capture_output=True,
            text=True, timeout=30, check=False,
        )  # fmt: skip
        return done.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def wait(self, is_there: Callable[[], bool], what: str, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not is_there():
            if time.monotonic() > until:
                pytest.fail(f"{what} did not come; the screen says\n{self.screen()}")
            screen = self.screen()
            if "auto mode" in screen and "Enter" in screen and "default" in screen:
                self.tmux("send-keys", "Down", "Enter")
            time.sleep(0.3)

    def wait_for(self, text: str) -> None:
        self.wait(lambda: text in self.screen(), f"{text!r}")

    def wait_for_event(self, name: str, count: int = 1) -> None:
        self.wait(lambda: list_kept(self.place.home).count(name) >= count, f"{count} {name}")

    def say(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)
        time.sleep(0.5)
        self.tmux("send-keys", "Enter")

    def close(self) -> None:
        self.tmux("kill-server")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with Scribe(str(tmp_path / "work")) as scribe:
        yield Place(tmp_path, NEWEST, scribe.url)


def test_the_plugin_is_valid(place: Place):
    done = place.claude("plugin", "validate", str(PLUGIN), "--strict")
    assert (done.returncode, "Validation passed" in done.stdout) == (0, True), done.stdout
    assert place.assay("plugin", "install", "--yes").code == 0
    told = place.print("Hello", "--output-format", "stream-json", "--verbose").stdout.splitlines()
    begun = next(one for one in map(json.loads, told) if one.get("subtype") == "init")
    assert {"assay:score", "assay:why", "assay:report", "assay:audit"} <= set(begun["slash_commands"])
    assert "assay:session-scorer" in begun["agents"]
    assert "assay:score-session" in begun["skills"]


def test_what_happens_in_a_terminal_becomes_the_right_sessions(place: Place):
    place.assay("plugin", "install", "--yes")
    terminal = Terminal(place, "--permission-mode", "acceptEdits", "--allowedTools", "Bash(false)", "Bash(ls)")
    try:
        terminal.wait_for_event("SessionStart")
        terminal.say("Please knit a hat DO:write")
        terminal.wait_for_event("Stop")
        terminal.say("/clear")  # in the middle of the work, and on with the same file
        terminal.wait_for_event("SessionEnd")
        terminal.wait_for_event("SessionStart", 2)
        terminal.say("Two rows for the hat, please DO:edit")
        terminal.wait_for_event("Stop", 2)
        terminal.say("/compact")
        terminal.wait_for_event("SessionStart", 3)
        terminal.say("Now something risky DO:ask")
        terminal.wait_for_event("PermissionRequest")
        terminal.wait_for("No")
        terminal.tmux("send-keys", "Escape")
        time.sleep(2)
        terminal.say("Have somebody look DO:agent")
        terminal.wait_for_event("SubagentStop", 2)
        terminal.wait_for_event("Stop", 3)
        time.sleep(2)
        terminal.say("Think for long DO:slow")
        terminal.wait_for_event("UserPromptSubmit", 5)
        time.sleep(1)
        terminal.tmux("send-keys", "Escape")
        time.sleep(1)
        terminal.tmux("send-keys", "C-u")
        terminal.say("/exit")
        terminal.wait_for_event("SessionEnd", 2)
    finally:
        terminal.close()
    files = (place.home / ".claude" / "projects").glob("*/*.jsonl")
    last = max(files, key=lambda one: one.stat().st_mtime).stem
    done = place.print("And the brim DO:edit", "--resume", last, "--permission-mode", "acceptEdits")
    assert done.returncode == 0, done.stderr[-300:]
    check_sessions(place)
    check_removed(place)


def check_sessions(place: Place) -> None:
    """Two conversations, one session: /clear is a boundary, and the same file an hour of work makes one of both."""
    streams = place.assay("streams", "--json").json["streams"]
    assert [one["agent"] for one in streams] == ["claude-code"] * 2
    first, second = streams
    assert first["turns"] == 1
    told = place.assay("sessions", "--json", "--ledger").json["ledger"]
    of_second = {(one["signal"], one["effect"]) for one in told if one["stream"] == second["id"]}
    assert {("clear", "began"), ("merge", "joined")} <= of_second
    sessions = place.assay("sessions", "--json").json["sessions"]
    whole = next(one for one in sessions if first["id"] in one["streams"])
    assert second["id"] in whole["streams"]
    facts = second["facts"]
    assert (facts["compactions"], facts["rejections"]) == (1, 1)
    assert "in_progress" not in {one["judge_status"] for one in sessions}
    assert list_kept(place.home) == []


def check_removed(place: Place) -> None:
    ran = place.assay("plugin", "uninstall", "--yes")
    assert ran.code == 0
    assert place.settings.read_text() == ODD
    before = list_kept(place.home)
    assert place.print("DO:write").returncode == 0
    assert list_kept(place.home) == before


def test_nothing_of_ours_is_seen_by_the_agent(place: Place):
    place.assay("plugin", "install", "--yes")
    done = place.print(
        "Knit DO:write", "--permission-mode", "acceptEdits", "--output-format", "stream-json", "--verbose"
    )
    assert "keep.sh" not in done.stdout + done.stderr
    assert set(list_kept(place.home)) >= {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"}


def test_events_wait_for_a_server_that_is_started_later(place: Place, tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'told.db'}"
    place.assay("plugin", "install", "--yes", "--server", "http://127.0.0.1:9", "--words")
    assert place.print("Knit DO:write", "--permission-mode", "acceptEdits").returncode == 0
    time.sleep(2)
    kept = list_kept(place.home)
    assert "SessionEnd" in kept
    with run_server(url) as server:
        place.assay("plugin", "install", "--yes", "--server", server.address, "--words")
        assert place.assay("plugin", "deliver", "--json").json["sent"] == len(kept)
        assert place.assay("plugin", "deliver", "--json").json["sent"] == 0
    told = run("streams", "--json", env={"HOME": str(tmp_path / "other"), "ASSAY_STORE": url}).json["streams"]
    (stream,) = told
    assert (stream["turns"], stream["facts"]["lines_added"]) == (1, 2)


def test_a_spool_without_room_does_not_stop_the_agent(place: Place):
    place.assay("plugin", "install", "--yes")
    spool_of(place.home).parent.mkdir(parents=True, exist_ok=True)
    spool_of(place.home).write_text("a file where the folder should be")
    done = place.print("Knit DO:write", "--permission-mode", "acceptEdits")
    assert (done.returncode, done.stdout.strip()) == (0, "The hat is begun.")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_tells_what_it_can(version: str, tmp_path: Path):
    with Scribe(str(tmp_path / "work")) as scribe:
        place = Place(tmp_path, version, scribe.url)
        has_plugins = version.startswith("2.1")
        place.assay("plugin", "install", "--yes", *([] if has_plugins else ["--hooks"]))
        for _ in range(2 if version == "2.1.197" else 1):  # it loads a plugin from the second start on
            done = place.print("Knit DO:write", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(false)")
            assert (done.returncode, done.stdout.strip()) == (0, "The hat is begun."), done.stderr[-300:]
            (place.work / "hat.py").unlink(missing_ok=True)
        kept = set(list_kept(place.home))
        assert kept >= {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"}
        assert ("PostToolUseFailure" in kept) == has_plugins
        place.assay("plugin", "uninstall", "--yes")
        assert place.settings.read_text() == ODD


def test_claude_code_asks_about_sessions_over_mcp(place: Place, tmp_path: Path):
    place.print("Knit DO:write", "--permission-mode", "acceptEdits")
    env = {"HOME": str(place.home), "ASSAY_STORE": str(place.home / "s.db"), "PATH": os.environ["PATH"]}
    server = {"command": sys.executable, "args": ["-m", "assay", "mcp"], "env": env}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"assay": server}}))
    allowed = ["--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__assay__list_sessions"]
    done = place.print(
        "Which sessions were there? DO:sessions", *allowed, "--output-format", "stream-json", "--verbose"
    )
    assert done.returncode == 0, done.stderr
    assert "next_page" in done.stdout
    assert "Please knit" in done.stdout or "Knit" in done.stdout
