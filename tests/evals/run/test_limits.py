"""Agents that use more than they may, or look like it: each ends at its limit, before anything of theirs is copied."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from assay.errors import BadInput
from assay.evals.tasks.task import load_task
from tests.evals.run.make import PLAIN, bubblewrap, config, of_arm, ran, task

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["plain", "bubblewrap"])
def sandbox(request):
    return PLAIN if request.param == "plain" else bubblewrap()


def greedy(tmp: Path, script: str, sandbox, **fields):
    """What becomes of an agent that does its work, and more than that."""
    task(tmp / "tasks", timeout_s=60.0, **fields)
    script = f"echo blue > scarf.txt\n{script.replace('python3', sys.executable)}"
    arms = config(tmp, "echo blue > scarf.txt", "honest"), config(tmp, script, "greedy")
    found = ran(tmp, arms, sandbox)
    assert of_arm(found, "baseline")[0].checks[0].passed
    return found, of_arm(found, "candidate")[0]


DEEP = """python3 - <<'E'
import os
for _ in range(3000):
    os.mkdir("deeper"); os.chdir("deeper")
open("flood", "wb").write(bytes(1 << 20))
E"""
SPARSE = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do truncate -s 50M hole$i; done"
DELETED = """python3 - <<'E'
import os, time
kept = []
for number in range(12):
    kept.append(open(f"gone{number}", "wb"))
    kept[-1].write(bytes(20 << 20)); kept[-1].flush()
    os.unlink(f"gone{number}")
time.sleep(50)
E"""
MAPPED = """python3 - <<'E'
import mmap, os, time
kept = []
for number in range(12):
    with open(f"gone{number}", "w+b") as file:
        file.write(bytes(20 << 20)); file.flush()
        kept.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE))
    os.unlink(f"gone{number}")
time.sleep(50)
E"""
LOCKED = "mkdir a; for i in 1 2 3 4 5 6; do head -c 20M /dev/zero > a/$i; done; chmod 300 a; sleep 50"
DISK = {
    "folders 3,000 deep": (DEEP, "more than 200 deep"),
    "files with nothing in them, said to be 1 GB": (SPARSE, "more than 50 MB"),
    "deleted files that are still open": (DELETED, "more than 50 MB"),
    "deleted files that are still mapped": (MAPPED, "more than 50 MB"),
    "a folder that nobody may list": (LOCKED, "more than 50 MB"),
}


@pytest.mark.parametrize(("script", "why"), DISK.values(), ids=DISK)
def test_what_lies_on_disk_counts_however_it_lies_there(tmp_path, sandbox, script, why):
    found, one = greedy(tmp_path, script, sandbox, disk_mb=50)
    assert (one.state, one.checks[0].passed) == ("done", False)
    assert why in one.checks[0].detail
    assert [note for note in found.notes if why in note]
    assert one.cost.wall_s < 30
    assert sum(file.stat().st_size for file in (tmp_path / "run").rglob("*")) < 10 << 20


MANY = """python3 - <<'E'
import subprocess, time
kept = []
try:
    while len(kept) < 800:
        kept.append(subprocess.Popen(["sleep", "50.{mark}"]))
except OSError:
    pass  # the kernel refuses more; what there is stays
time.sleep(50)
E"""
BOMB = """python3 - <<'E'
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(50)
E"""
HOG = """python3 - <<'E'
import time
kept = []
for _ in range(400):
    kept.append(b"x" * (10 << 20)); time.sleep(0.005)
time.sleep(50)
E"""
HOGS = """python3 - <<'E'
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = b"x" * (60 << 20); time.sleep(50); os._exit(0)
time.sleep(50)
E"""
USES = {
    "800 processes": (MANY, "more than 100 processes"),
    "threads": ("python3 -c 'import threading, time\nfor _ in range(300): threading.Thread(target=time.sleep, args=(50,)).start()'", "more than 100 processes"),  # noqa: E501
    "a fork bomb": (BOMB, "more than 100 processes"),
    "memory": (HOG, "more than 300 MB of memory"),
    "memory of many": (HOGS, "more than 300 MB of memory"),
}  # fmt: skip


@pytest.mark.parametrize(("script", "why"), USES.values(), ids=USES)
def test_processes_and_memory_have_an_end(tmp_path, script, why):
    mark = f"{os.getpid()}{time.monotonic_ns()}"
    sandbox = bubblewrap()  # in which a fork bomb is held by the kernel too
    found, one = greedy(tmp_path, script.replace("{mark}", mark), sandbox, processes=100, memory_mb=300)
    assert (one.state, one.checks[0].passed) == ("done", False)
    assert why in one.checks[0].detail
    assert [note for note in found.notes if why in note]
    assert not [one for one in psutil.process_iter(["cmdline"]) if f"50.{mark}" in (one.info["cmdline"] or ())]


def test_memory_that_processes_share_counts_once(tmp_path, sandbox):
    script = """python3 - <<'E'
import os, time
kept = b"x" * (120 << 20)
for _ in range(6):
    if os.fork() == 0:
        time.sleep(1); os._exit(0)
time.sleep(1)
E"""
    _, one = greedy(tmp_path, script, sandbox, memory_mb=300)
    assert one.checks[0].passed, one.checks[0].detail


def test_a_check_that_uses_too_much_fails(tmp_path, sandbox):
    task(tmp_path / "tasks", checks=[{"kind": "command", "run": "sh grow.sh; true"}], disk_mb=50)
    grow = "for i in 1 2 3 4 5 6; do truncate -s 50M hole$i; done"
    arms = config(tmp_path, "echo true > grow.sh", "a"), config(tmp_path, f"echo '{grow}' > grow.sh", "b")
    found = ran(tmp_path, arms, sandbox)
    assert [trial.checks[0].passed for trial in found.trials] == [True, False]


MEASURED = """
import resource, sys
from pathlib import Path
from assay.evals.running import transcript
scratch = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
taken = transcript.collect_transcripts(scratch, ("result", "*.jsonl"), scratch / "into")
found = transcript.read_turns(taken.files), sum(1 for _ in taken)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(taken.files), found[1], (after - before) >> 10)
"""


def test_a_large_transcript_takes_little_memory(tmp_path):
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "a.jsonl").write_bytes(b'{"a":1}\n' * (40 << 17))
    with (tmp_path / "result" / "b.jsonl").open("wb") as file:
        file.write(b'{"a":[' + b"[]," * (8 << 20) + b"1]}\n" + b'{"b":2}')
    words = [sys.executable, "-c", MEASURED, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")})
    files, records, grown_mb = map(int, done.stdout.split())
    assert (files, records) == (2, (40 << 17) + 1)
    assert grown_mb < 150


LIMITS = {
    "timeout_s = inf": "timeout_s must be above 0, and a number",
    "timeout_s = nan": "timeout_s must be above 0, and a number",
    "memory_mb = 0": "memory_mb must be above 0",
    "processes = -1": "processes must be above 0",
    "disk_mb = 9999999999999": "disk_mb must be above 0, and at most",
    f"prompt2 = {'[' * 5000}{']' * 5000}": "nested too deeply",
}


@pytest.mark.parametrize(("line", "why"), LIMITS.items(), ids=[line[:20] for line in LIMITS])
def test_a_limit_that_is_none_is_refused(tmp_path, line, why):
    folder = task(tmp_path)
    file = folder / "task.toml"
    told = [one for one in file.read_text().splitlines() if one.split(" = ")[0] != line.split(" = ")[0]]
    file.write_text("\n".join([line, *told]))
    with pytest.raises(BadInput, match=why) as refused:
        load_task(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 0])
def test_a_check_that_never_ends_is_refused(tmp_path, number):
    folder = task(tmp_path, checks=[{"kind": "command", "run": "true", "timeout_s": 1}])
    file = folder / "task.toml"
    file.write_text(file.read_text().replace("timeout_s = 1\n", f"timeout_s = {json.dumps(number).lower()}\n".replace("infinity", "inf")))  # fmt: skip  # noqa: E501
    with pytest.raises(BadInput, match="timeout_s must be above 0"):
        load_task(folder)
