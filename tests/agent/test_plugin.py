"""The plugin is put into Claude Code's settings and taken out again, and every byte is as before."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent.hooks import keep, list_kept, say, spool_of
from tests.conftest import Ran, is_one_line, run
from tests.server.serving import run_server

ODD = b'\n{\n   "theme" : "dark",\r\n\t"model":"s\\u00f6nnet",  "env": {"A":"1"}  , "statusLine":{"command":"date"}}'
SCOPES = {
    "user": ".claude/settings.json",
    "project": "w/.claude/settings.json",
    "local": "w/.claude/settings.local.json",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path


def assay(home: Path, *words: str, **env: str) -> Ran:
    return run(*words, env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db"), **env}, cwd=home / "w")


def write(home: Path, scope: str, content: bytes) -> Path:
    path = home / SCOPES[scope]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def list_files(home: Path) -> set[str]:
    return {str(one.relative_to(home)) for one in home.rglob("*")}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("content", [ODD, b"{}", b'{"a":1}\n', None], ids=["odd", "empty", "one line", "not there"])
@pytest.mark.parametrize(
    "how", [["--statusline", "--server", "http://127.0.0.1:9"], ["--hooks"]], ids=["plugin", "hooks"]
)
def test_every_byte_is_put_back(home: Path, scope: str, content: bytes | None, how: list[str]):
    path = home / SCOPES[scope]
    if content is not None:
        write(home, scope, content)
    before = list_files(home)
    assert assay(home, "plugin", "install", "--scope", scope, "--yes", *how).code == 0
    told = json.loads(path.read_bytes())
    assert ("hooks" in told) == (how == ["--hooks"])
    assert told.get("enabledPlugins", {}) == ({} if how == ["--hooks"] else {"assay@assay": True})
    assert assay(home, "plugin", "uninstall", "--yes").code == 0
    assert (path.read_bytes() if content is not None else path.exists()) == (content if content is not None else False)
    assert list_files(home) - before <= {".local", ".local/state", ".local/state/assay"}


def test_what_changes_is_shown_and_nothing_is_changed_without_a_yes(home: Path):
    path = write(home, "user", ODD)
    ran = assay(home, "plugin", "install")
    assert (ran.code, path.read_bytes()) == (2, ODD)
    assert '+   "enabledPlugins": {' in ran.err
    assert "--yes" in ran.err
    assert not (home / ".local/state/assay/installed.json").exists()


def test_a_second_install_changes_nothing_and_takes_options_anew(home: Path):
    path = write(home, "user", ODD)
    assay(home, "plugin", "install", "--yes")
    first = path.read_bytes()
    ran = assay(home, "plugin", "install", "--yes")
    assert (path.read_bytes(), "nothing to change" in ran.out) == (first, True)
    assay(home, "plugin", "install", "--yes", "--statusline", "--hooks")
    assert "enabledPlugins" not in json.loads(path.read_bytes())
    assay(home, "plugin", "uninstall", "--yes")
    assert path.read_bytes() == ODD


def test_from_a_file_that_was_changed_meanwhile_only_our_keys_are_taken(home: Path):
    path = write(home, "user", ODD)
    assay(home, "plugin", "install", "--yes", "--statusline")
    told = json.loads(path.read_bytes())
    path.write_text(json.dumps(told | {"mine": [1, 2], "model": "opus"}, indent=1))
    ran = assay(home, "plugin", "uninstall", "--yes")
    assert "changed by somebody else" in ran.out
    assert json.loads(path.read_bytes()) == json.loads(ODD) | {"mine": [1, 2], "model": "opus"}


def test_a_file_that_was_only_written_anew_gets_its_bytes_back(home: Path):
    path = write(home, "user", ODD)
    assay(home, "plugin", "install", "--yes")
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=2, sort_keys=True))
    assay(home, "plugin", "uninstall", "--yes")
    assert path.read_bytes() == ODD


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"a": 1,}', b"\xff\xfe{}", b"// mine\n{}", b'{"enabledPlugins": 3}', b"[" * 9000]
)
def test_settings_that_cannot_be_read_are_left_alone_and_told(home: Path, content: bytes):
    path = write(home, "user", content)
    for words in (["install", "--yes"], ["install", "--yes", "--hooks", "--statusline"]):
        if b"enabledPlugins" in content and "--hooks" in words:
            continue
        ran = assay(home, "plugin", *words)
        assert (ran.code, path.read_bytes()) == (2, content)
        assert "nothing was changed" in ran.err
        assert is_one_line(ran.err)


def test_a_link_stays_a_link_and_the_mode_of_a_file_holds(home: Path):
    real = home / "dotfiles.json"
    real.write_bytes(ODD)
    real.chmod(0o640)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(real)
    assay(home, "plugin", "install", "--yes")
    assert (home / ".claude/settings.json").is_symlink()
    assert (real.stat().st_mode & 0o777, b"assay@assay" in real.read_bytes()) == (0o640, True)
    assay(home, "plugin", "uninstall", "--yes")
    assert ((home / ".claude/settings.json").is_symlink(), real.read_bytes()) == (True, ODD)


def test_killed_before_the_settings_are_written_there_is_nothing_to_take_out(home: Path):
    path = write(home, "user", ODD)
    assay(home, "plugin", "install", "--yes")
    path.write_bytes(ODD)
    assay(home, "plugin", "uninstall", "--yes")
    assert path.read_bytes() == ODD


def test_no_secret_stands_in_a_settings_file(home: Path):
    key = "assay_k_0123456789abcdef0123456789abcdef"
    path = write(home, "user", b"{}")
    assay(home, "plugin", "install", "--yes", "--server", "http://127.0.0.1:9", ASSAY_SERVER_KEY=key)
    state = home / ".local/state/assay"
    assert key.encode() not in path.read_bytes()
    assert (state / "key").stat().st_mode & 0o777 == 0o600
    helper = json.loads(path.read_bytes())["otelHeadersHelper"]
    said = subprocess.run([helper], capture_output=True, check=True).stdout
    assert json.loads(said) == {"Authorization": f"Bearer {key}"}
    assay(home, "plugin", "uninstall", "--yes")
    assert list(state.glob("*")) == []


def test_telemetry_that_goes_elsewhere_is_not_led_away(home: Path):
    path = write(home, "user", b'{"env": {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://theirs.example"}}')
    ran = assay(home, "plugin", "install", "--yes", "--server", "http://127.0.0.1:9")
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert b"theirs" in path.read_bytes()


def test_status_and_doctor_tell_what_is_installed(home: Path):
    ran = assay(home, "plugin", "doctor")
    assert (ran.code, "assay plugin install" in ran.out) == (1, True)
    assay(home, "plugin", "install", "--yes")
    keep(home, "Stop", say("Stop"))
    told = assay(home, "plugin", "status", "--json").json
    assert [(one["scope"], one["installed"]) for one in told["scopes"]] == [
        ("user", True), ("project", False), ("local", False)
    ]  # fmt: skip
    assert told["waiting"] == 1
    ran = assay(home, "plugin", "doctor", "--json", PATH=os.environ["PATH"])
    assert {one["what"]: one["ok"] for one in json.loads(ran.out)["checks"]}["hook"]


# --- events for a server ------------------------------------------------------------------------


def tell(home: Path) -> None:
    for name, more in [
        ("SessionStart", {"source": "clear"}),
        ("UserPromptSubmit", {"prompt": "Knit with ghp_0123456789abcdefghijklmnopqrstuvwxyz", "prompt_id": "p1"}),
        ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls yarn"}, "tool_use_id": "t1"}),
        ("SessionEnd", {"reason": "other"}),
    ]:
        keep(home, name, say(name, **more))


def read_conversations(home: Path, url: str) -> list[dict[str, Any]]:
    found = run("streams", "--json", env={"HOME": str(home / "server"), "ASSAY_STORE": str(url)}).json
    streams: list[dict[str, Any]] = found["streams"]
    return streams


@pytest.mark.parametrize("words", [True, False], ids=["with words", "without words"])
def test_events_wait_for_the_server_and_arrive_once(home: Path, words: bool):
    url = f"sqlite:///{home / 'told.db'}"
    with run_server(url) as running:
        address = running.address
    assay(home, "plugin", "install", "--yes", "--server", address, *(["--words"] if words else []))
    tell(home)
    ran = assay(home, "plugin", "deliver")  # the server is down
    assert (ran.code, len(list_kept(home))) == (1, 4)
    copies = {one: (one.read_bytes(), one.stat()) for one in spool_of(home).glob("[!.]*")}
    with run_server(url) as running:
        words_too = ["--words"] if words else []
        assert assay(home, "plugin", "install", "--yes", "--server", running.address, *words_too).code == 0
        assert assay(home, "plugin", "deliver", "--json").json["sent"] == 4
        assert list_kept(home) == []
        for path, (content, stat) in copies.items():  # as if it had been killed before they were deleted
            path.write_bytes(content)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assay(home, "plugin", "deliver")
    (stream,) = read_conversations(home, url)
    assert (stream["turns"], stream["facts"]["tool_calls"]) == (1, 1)
    stored = (home / "told.db").read_bytes()
    assert b"ghp_0123" not in stored
    assert (b"yarn" in stored) == words


def test_a_session_that_ends_delivers_by_itself_and_the_agent_does_not_wait(home: Path):
    with run_server(f"sqlite:///{home / 'told.db'}") as running:
        assay(home, "plugin", "install", "--yes", "--server", running.address)
        assert keep(home, "SessionEnd", say("SessionEnd")).returncode == 0
        for _ in range(200):
            if not list_kept(home):
                break
            time.sleep(0.1)
    assert list_kept(home) == []


def test_a_terminal_is_asked(home: Path):
    import pty

    path = write(home, "user", ODD)
    for answer, changed in ((b"n\n", False), (b"y\n", True)):
        pid, terminal = pty.fork()
        if not pid:
            os.environ.update({"HOME": str(home), "ASSAY_STORE": str(home / "s.db")})
            os.execv(sys.executable, [sys.executable, "-m", "assay", "plugin", "install"])
        said = b""
        while b"[y/N]" not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, answer)
        signal.alarm(0)
        while True:
            try:
                if not os.read(terminal, 4096):
                    break
            except OSError:
                break
        os.waitpid(pid, 0)
        os.close(terminal)
        assert (path.read_bytes() != ODD) == changed
