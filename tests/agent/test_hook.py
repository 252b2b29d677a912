"""The hook keeps what it is told, whole or not at all, and never gets in the agent's way."""

import json
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.agent.hooks import KEEP, PLUGIN, keep, list_kept, say, spool_of


def test_an_event_is_kept_as_it_was_told_for_its_owner_alone(tmp_path: Path):
    told = say("Stop", last_assistant_message="woven\n“blau” \u2028")
    done = keep(tmp_path, "Stop", told)
    (file,) = spool_of(tmp_path).iterdir()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (file.read_bytes(), file.suffix) == (told, ".Stop")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_many_at_once_are_all_kept(tmp_path: Path):
    threads = [
        threading.Thread(target=keep, args=(tmp_path, "PostToolUse", say("PostToolUse", n=n, pad="x" * 30_000)))
        for n in range(24)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    told = [json.loads(file.read_bytes())["n"] for file in spool_of(tmp_path).iterdir()]
    assert sorted(told) == list(range(24))


def test_a_huge_event_is_cut_and_the_agent_is_not_told(tmp_path: Path):
    done = keep(tmp_path, "PostToolUse", say("PostToolUse", pad="x" * 5_000_000))
    (file,) = spool_of(tmp_path).iterdir()
    assert (done.returncode, done.stderr, file.stat().st_size) == (0, b"", 65_536)


def test_nothing_told_is_nothing_kept(tmp_path: Path):
    assert keep(tmp_path, "Stop", b"").returncode == 0
    assert list(spool_of(tmp_path).iterdir()) == []


@pytest.mark.parametrize("home", ["", "/proc/nowhere"], ids=["no home", "a home that can't be written"])
def test_without_a_place_to_keep_it_the_event_is_dropped(home: str):
    env = {"PATH": os.environ["PATH"], **({"HOME": home} if home else {})}
    done = subprocess.run(["sh", str(KEEP), "Stop"], input=say("Stop"), env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_where_nothing_can_be_written_any_more_nothing_half_is_left(tmp_path: Path):
    def write_little() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = keep(tmp_path, "Stop", say("Stop", pad="x" * 20_000), preexec_fn=write_little)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(spool_of(tmp_path).iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs to mount a small disk")
def test_a_full_disk_drops_the_event_and_nothing_else(tmp_path: Path):
    home = spool_of(tmp_path).parent
    home.mkdir(parents=True)
    script = f"""mount -t tmpfs -o size=64k none {home} || exit 9
for n in 1 2 3 4; do sh {KEEP} Stop < {tmp_path}/told; echo $?; done
ls -A {home}/spool | wc -l; du -b {home}/spool/* | cut -f1"""
    (tmp_path / "told").write_bytes(say("Stop", pad="x" * 25_000))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=env, capture_output=True, text=True, check=False)
    if done.returncode == 9 or "unshare" in done.stderr:
        pytest.skip("may not mount here")
    codes, left, sizes = done.stdout.split()[:4], done.stdout.split()[4], done.stdout.split()[5:]
    whole = str((tmp_path / "told").stat().st_size)
    assert (codes, done.stderr) == (["0"] * 4, "")
    assert int(left) == len(sizes) in (1, 2)
    assert set(sizes) == {whole}


def test_a_hook_that_is_killed_in_the_middle_leaves_no_event(tmp_path: Path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    hook = subprocess.Popen(
        ["sh", str(KEEP), "Stop"], stdin=subprocess.PIPE, env=env, start_new_session=True, stdout=subprocess.PIPE
    )
    assert hook.stdin is not None
    hook.stdin.write(b'{"session_id": "c-1", "ho')
    hook.stdin.flush()
    for _ in range(200):
        if spool_of(tmp_path).is_dir() and list(spool_of(tmp_path).iterdir()):
            break
        time.sleep(0.01)
    os.killpg(hook.pid, signal.SIGKILL)
    hook.communicate()
    assert list_kept(tmp_path) == []
    keep(tmp_path, "Stop", say("Stop"))
    assert list_kept(tmp_path) == ["Stop"]


def test_a_spool_that_nobody_reads_stops_growing(tmp_path: Path):
    spool_of(tmp_path).mkdir(parents=True)
    for n in range(20_000):
        os.close(os.open(spool_of(tmp_path) / f"{n}.Stop", os.O_CREAT | os.O_WRONLY))
    keep(tmp_path, "SessionStart", say("SessionStart"))
    before = len(os.listdir(spool_of(tmp_path)))
    for name in ("PostToolUse", "SessionStart", "Stop"):
        assert keep(tmp_path, name, say(name)).returncode == 0
    assert (spool_of(tmp_path) / "full").exists()
    assert len(os.listdir(spool_of(tmp_path))) == before


def test_every_event_runs_the_hook_with_its_own_name():
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    commands = {name: one["hooks"] for name, (one,) in hooks.items()}
    assert set(commands) >= {"SessionStart", "SessionEnd", "UserPromptSubmit", "PostToolUse", "SubagentStop", "Stop"}
    for name, (one,) in commands.items():
        assert (one["command"], one["timeout"]) == (f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/keep.sh" {name}', 5)
