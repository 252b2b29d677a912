"""What a command in the sandbox can't do, whoever runs us: leave it, be root, show us files through links."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from assay.evals.sandbox import bubblewrap as sandboxes
from assay.evals.sandbox.bubblewrap import Sandbox, build_plain_sandbox, make_scratch_home, pick_sandbox
from assay.evals.tasks.config import load_config
from tests.evals.run.make import OPEN, PLAIN, bubblewrap, config, of_arm, ran, task, tree

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
WAYS_OUT = {
    "write to its configuration": "mount -o remount,rw,bind /config && touch /config/moth",
    "write to the root folder": "mount -o remount,rw / && touch /moth",
    "write to programs": "mount -o remount,rw,bind /usr && touch /usr/moth",
    "see passwords": "umount /etc/shadow && test -s /etc/shadow",
    "read passwords": "test -s /etc/shadow",
    "make namespaces": "unshare -Urm true",
    "make a user namespace": "unshare -U true",
    "mount something": "mount -t tmpfs none /tmp",
    "have a capability": "grep -E 'Cap(Prm|Eff|Amb):.*[1-9a-f]' /proc/self/status",
    "get one by starting another program": "grep -q 'NoNewPrivs:.*0' /proc/self/status",
    "become root": "su -c true || sudo -n true || test $(id -u) = 0 -a -w /etc/passwd",
    "raise its limits": "ulimit -u unlimited",
    "fill an empty folder with memory": "head -c 1M /dev/zero > /etc/ssh/flood",
    "fill devices with memory": "head -c 1M /dev/zero > /dev/flood",
    "make a device": "mknod /tmp/zero c 1 5",
    "speak to its keeper": "(: >&8) || (: >&9)",
    "see keys of the session": "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(250, 10, -3, "
    'b"user", b"assay-test", 0) < 0)\'',
    "change the limits of its namespace": "echo 10 > /proc/sys/user/max_user_namespaces",
}


def test_there_is_no_way_out(tmp_path):
    script = "\n".join(f"({way}) >/dev/null 2>&1 && echo '{name}'" for name, way in WAYS_OUT.items())
    task(tmp_path / "tasks")
    arms = config(tmp_path, "echo blue > scarf.txt", "a"), config(tmp_path, f"{script}\necho blue > scarf.txt", "b")
    # A key of the session, as a ticket would be; where the kernel keeps none, there is nothing to see.
    ctypes.CDLL(None).syscall(248, b"user", b"assay-test", b"moth", 4, -3)
    found = ran(tmp_path, arms, bubblewrap())
    one = of_arm(found, "candidate")[0]
    assert (tmp_path / "run" / one.folder / "stdout").read_text() == ""
    assert one.checks[0].passed
    assert not (tmp_path / "b" / "moth").exists()
    assert not Path("/usr/moth").exists()


def test_nothing_of_an_agent_belongs_to_root(tmp_path):
    """By bind, a file of a workspace lies on this machine: its owner there is what counts."""
    sandbox = bubblewrap()
    folder = tmp_path / "work"
    folder.mkdir()
    if sandbox.user is not None:
        os.chown(folder, sandbox.user, sandbox.user)
    room = sandboxes.SandboxView(
        mounts=[sandboxes.Mount(here=folder, inside="/workspace", is_writable=True)], cwd="/workspace",
        has_network=False,
        programs=sandboxes.list_search_folders(""),
    )  # fmt: skip
    script = "touch made; cp /bin/sh shell; chmod 6755 shell; chown 0 made; true"
    words = sandboxes.wrap_command(sandbox, ["/bin/sh", "-c", script], room)
    subprocess.run(["/bin/sh", "-c", 'exec "$@" 9>/dev/null', "sh", *words], check=True, capture_output=True)
    owners = {file.stat().st_uid for file in folder.iterdir()}
    assert owners == {os.getuid() or sandbox.user}
    assert 0 not in owners or os.getuid()


@pytest.mark.parametrize("kind", ["plain", "bubblewrap"])
def test_a_program_that_can_not_be_started_is_nobodys_failure(tmp_path, kind):
    task(tmp_path / "tasks")
    arms = config(tmp_path, "echo blue > scarf.txt; (: >&8) || (: >&9) || true", "a"), config(tmp_path, "", "b")
    (arms[1].folder / "agent.sh").write_text("#!/no/such/shell\n")
    arms = arms[0], load_config(str(arms[1].folder), tmp_path / "keep")
    found = ran(tmp_path, arms, PLAIN if kind == "plain" else bubblewrap(), options={"most_attempts": 1})
    assert [trial.state for trial in found.trials] == ["done", "failed_infrastructure"]
    (why,) = (tmp_path / "run").rglob("failure.json")
    assert "could not be started" in why.read_text()


def test_a_configuration_that_nobody_else_may_read_is_read_by_its_agent(tmp_path):
    task(tmp_path / "tasks")
    arms = tuple(config(tmp_path, f'cat "$(dirname "$0")/yarn" > scarf.txt; true {n}', n, yarn="blue") for n in "ab")
    for arm in arms:
        (arm.folder / "yarn").chmod(0o600)
        (arm.folder / "agent.sh").chmod(0o700)
        arm.folder.chmod(0o700)
    found = ran(tmp_path, arms, bubblewrap())
    assert all(trial.checks[0].passed for trial in found.trials)


def test_an_agent_can_open_its_own_output_by_name(tmp_path):
    task(tmp_path / "tasks")
    arms = tuple(config(tmp_path, f"echo {n} > /dev/stdout && echo blue > scarf.txt", n) for n in "ab")
    found = ran(tmp_path, arms, bubblewrap())
    assert all(trial.checks[0].passed for trial in found.trials)
    outs = [tmp_path / "run" / trial.folder / "stdout" for trial in found.trials]
    assert [out.stat().st_uid for out in outs] == [os.getuid()] * 2


FAKE = """#!/bin/sh
[ "$1" = --version ] && echo 1.0 && exit
mkdir -p $HOME/{below}
{script}
echo '{{"type":"result","is_error":false}}'
"""
SECRET = '{"type":"user","uuid":"u","timestamp":"2026-01-01T00:00:00Z","sessionId":"s","message":{"role":"user","content":"private words"}}\n'  # noqa: E501
LINKS = {
    "the folder of the agent": "rm -r $HOME/{top}; ln -s {there} $HOME/{top}",
    "the folder of transcripts": "rm -r $HOME/{below}; ln -s {there}/{last} $HOME/{below}",
    "a folder among them": "ln -s {there}/{last} $HOME/{below}/deeper",
    "a transcript": "ln -s {there}/{last}/rollout-1.jsonl $HOME/{below}/rollout-1.jsonl",
    "a pipe": "mkfifo $HOME/{below}/rollout-2.jsonl; mkfifo /result/cost.json",
}
AGENTS = {"claude-code": ("claude", ".claude", "projects"), "codex": ("codex", ".codex", "sessions")}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", ["plain", "bubblewrap"])
def test_no_file_of_this_machine_is_read_through_a_link(tmp_path, agent, link, kind):
    sandbox = PLAIN if kind == "plain" else bubblewrap()
    program, top, last = AGENTS[agent]
    there, below = tmp_path / "private", f"{top}/{last}"
    tree(there, {f"{last}/rollout-1.jsonl": SECRET})
    script = LINKS[link].format(top=top, below=below, last=last, there=there)
    tree(tmp_path / "bin", {program: FAKE.format(below=below, script=script)})
    (tmp_path / "bin" / program).chmod(0o755)
    task(tmp_path / "tasks")
    arms = []
    for name in "ab":
        tree(tmp_path / name, {"config.toml": f'agent = "{agent}"\n', "files/CLAUDE.md": name})
        arms.append(load_config(str(tmp_path / name), tmp_path / "keep"))
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    found = ran(tmp_path, tuple(arms), sandbox, env=env)
    assert [trial.state for trial in found.trials] == ["done"] * 2
    assert not [
        file for file in (tmp_path / "run").rglob("*") if file.is_file() and b"private words" in file.read_bytes()
    ]
    assert bool([note for note in found.notes if "is a link" in note]) is link.startswith("the folder")


def test_a_plain_directory_says_what_it_does_not_hold():
    assert OPEN.says.endswith("hidden checks could be read by them")
    assert "agents could read, change and reach all that this user can" in PLAIN.says
    assert OPEN.name != PLAIN.name or not PLAIN.is_shut


def test_a_sandbox_is_never_thought_better_than_it_is(tmp_path):
    """Programs in the place of bubblewrap: one that fails, one that knows no `--disable-userns`."""
    real = bubblewrap().program
    tree(tmp_path / "none", {"bwrap": "#!/bin/sh\necho broken >&2; exit 1\n"})
    old = '#!/bin/sh\nfor word; do [ "$word" = --disable-userns ] && echo "bwrap: Unknown option" >&2 && exit 1; done\n'
    tree(tmp_path / "old", {"bwrap": f'{old}exec {real} "$@"\n'})
    for name in ("none", "old"):
        (tmp_path / name / "bwrap").chmod(0o755)
    none = pick_sandbox(str(tmp_path / "none"))
    assert (none.kind, "broken" in none.why) == ("plain", True)
    if os.geteuid():  # as root it is not needed
        older = pick_sandbox(str(tmp_path / "old"))
        assert (older.kind, older.is_shut, "Unknown option" in older.says) == ("bubblewrap", False, True)


def test_what_lies_in_a_hidden_folder_and_is_needed_stays_in_sight(tmp_path):
    """A project that holds its tasks, and the program that is tried, in one folder."""
    if not PLAIN.is_shut:
        pytest.skip(PLAIN.why)
    project = tmp_path / "project"
    tree(project / "tools" / "bin", {"weave.sh": "#!/bin/sh\nls .. > /dev/null; echo blue > scarf.txt\n"})
    task(project, "t", checks=[{"kind": "file_contains", "path": "scarf.txt", "text": "blue"}])
    tree(project, {"config.toml": 'agent = "command"\ncommand = ["weave.sh"]\n', "secret": "red"})
    arm = load_config(str(project), tmp_path / "keep")
    (tmp_path / "tasks").symlink_to(project)
    env = {**os.environ, "PATH": f"{project}/tools/bin:{os.environ['PATH']}"}
    found = ran(tmp_path, (arm, arm), PLAIN, env=env)
    assert all(trial.checks[0].passed for trial in found.trials), found


def test_a_sandbox_is_tried_where_it_is_used():
    assert build_plain_sandbox("why").why.startswith("why")
    assert Sandbox(kind="bubblewrap", is_shut=True).says == "trials ran in bubblewrap"


def test_somebody_else_who_reads_the_tasks_changes_nothing(tmp_path):
    """A back-up, an index, an editor: who opened a file is nobody's business."""
    example, over = ROOT / "examples" / "evaluation", threading.Event()

    def read_all():
        while not over.is_set():
            for file in (example / "tasks").rglob("*"):
                if file.is_file():
                    file.read_bytes()
            time.sleep(0.01)

    path = str(without_bubblewrap(tmp_path))
    reader = threading.Thread(target=read_all)
    reader.start()
    try:
        words = ["eval", "run", "--tasks", "tasks", "--baseline", "configs/plain", "--candidate", "configs/better"]
        done = subprocess.run(
            [sys.executable, "-m", "assay", *words, "--out", str(tmp_path / "run")], cwd=example, text=True,
            capture_output=True, check=False, env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        )  # fmt: skip
    finally:
        over.set()
        reader.join()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "improved" in done.stdout
    assert "plain temporary directories" in done.stdout


def without_bubblewrap(tmp_path: Path) -> Path:
    """A search path on which everything is but bubblewrap."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for one in Path(place).iterdir():
            if one.name != "bwrap" and not (folder / one.name).is_symlink():
                (folder / one.name).symlink_to(one)
    return folder


def test_in_a_plain_directory_an_agent_sees_no_other_trials_folder(tmp_path):
    if not PLAIN.has_users:
        pytest.skip(PLAIN.why)
    other = make_scratch_home() / f"assay-trial-beside-{os.getpid()}" / "hidden"
    other.mkdir(parents=True)
    try:
        (other / "answer").write_text("blue")
        script = 'ls "$(dirname "$(dirname "$PWD")")"; echo blue > scarf.txt'
        task(tmp_path / "tasks")
        found = ran(tmp_path, (config(tmp_path, script, "a"), config(tmp_path, f"{script} ", "b")))
        one = of_arm(found, "candidate")[0]
        seen = (tmp_path / "run" / one.folder / "stdout").read_text().split()
    finally:
        shutil.rmtree(other.parent)
    assert one.checks[0].passed
    assert len(seen) == 1
    assert "beside" not in seen[0]
