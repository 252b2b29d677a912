"""One trial: a fresh workspace, an agent in it until it ends, checks, and a folder that tells all of it."""

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.evals import costs, doorway, ledger, paths, transcript
from assay.evals.checking import Place, check_all
from assay.evals.configs import Config
from assay.evals.fingerprint import Listing, listing, sealed
from assay.evals.launching import Ended, Keepers, Order
from assay.evals.loaded import LoadedFile, loaded
from assay.evals.packing import unpack
from assay.evals.runner import Given, Launch, Left, Runner, Told, runner
from assay.evals.sandbox import Mount, Room, Sandbox, folders_of, searched, wrapped
from assay.evals.scene import OVER
from assay.evals.tasks import Task
from assay.evals.types import CheckResult, Cost, Trial
from assay.evals.workspace import Unreadable, begin, changes, copy_tree, diff, entries, hand_over, remove
from assay.files import write_atomically
from assay.types import Turn
from assay.types.value import Row

ENV = ("PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME")
INSIDE = {"workspace": "/workspace", "home": "/home/agent", "tmp": "/tmp", "result": "/result", "config": "/config"}  # noqa: S108
OWN = ("workspace", "home", "tmp", "result")
"""Folders that an agent can write to."""
MOST_SAID = 4 << 20
"""Bytes of an agent's output that are kept."""
MOST_TOLD = 8 << 20
"""Characters of instructions that an agent says it was given."""
Judge = Callable[[Task, Path], float | None]
"""Says how well the rubric of a task is met, from the folder of an attempt; `None`: no judgement."""


class Record(Row, frozen=True):
    """`trial.json`: written last, and whole or not at all."""

    key: str
    trial: Trial
    task_sha256: str
    config_sha256: str
    checks_sha256: str
    """Of the check files, before and after: they were the same."""
    agent: str
    sandbox: str
    network: str
    """`none`, `service` (nothing but the agent's own), `full`, or `open`: not held back by anything."""
    began_at: str
    ended: Ended
    loaded: tuple[LoadedFile, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: Listing = {}
    """Fingerprints of the files beside this one, so that a later change shows."""


class Failure(Row, frozen=True):
    """`failure.json` of an attempt that says nothing of the agent."""

    why: str
    at: str
    cost: Cost = Cost()
    """What it took all the same, as far as its transcript tells."""


class Setting(Struct, frozen=True, kw_only=True):
    """What all trials of a run share."""

    run: Path
    sandbox: Sandbox
    keepers: Keepers
    env: Mapping[str, str]
    programs: Mapping[str, str]
    """What is started, by fingerprint of the configuration."""
    hidden: Mapping[str, bytes]
    """Check files by task, in memory: on disk an agent might find them."""
    unseen: Sequence[Path] = ()
    """Folders of tasks, configurations and results, which no agent may see."""
    judge: Judge | None = None


class Job(Struct, frozen=True, kw_only=True):
    """One trial to run."""

    slot: paths.Slot
    task: Task
    config: Config
    key: str


class Scratch(Struct, frozen=True, kw_only=True):
    """The folders of one attempt, on this machine and as the agent sees them."""

    root: Path
    inside: Mapping[str, str]

    def __truediv__(self, name: str) -> Path:
        return self.root / name


class Attempt:
    """One attempt at a trial."""

    def __init__(self, job: Job, setting: Setting, folder: Path, scratch: Path) -> None:
        self.job, self.setting, self.folder = job, setting, folder
        self.is_wrapped = setting.sandbox.kind == "bubblewrap"
        here = {name: str(scratch / name) for name in INSIDE}
        there = INSIDE | ({"workspace": job.task.harbor.workdir} if job.task.harbor else {})
        self.scratch = Scratch(root=scratch, inside=there if self.is_wrapped else here)
        self.runner: Runner = runner(job.config.agent)
        self.notes: list[str] = []

    def run(self) -> Record | Failure:
        """The agent, then the checks; `Failure` where it says nothing of the agent."""
        began_at = now()
        self.prepare()
        before = entries(self.scratch / "workspace")
        ended = self.agent()
        left, taken = self.left(ended)
        reading, claim = transcript.read(taken.files), transcript.claimed(self.folder)
        spent = transcript.cost(reading.turns, claim, ended.wall_s)
        if why := self.trouble(left):
            return Failure(why=why, at=now(), cost=spent)
        checks = self.checks(before, reading.turns) if ended.ended == "exit" else self.failed(ended)
        if unsure := [check.name for check in checks if check.passed is None]:
            return Failure(why=f"checks could not be run: {', '.join(unsure)}", at=now(), cost=spent)
        found = loaded(
            self.scratch / "before", self.scratch.inside["workspace"], self.job.config.files,
            bounded(self.runner.told(taken)),
        )  # fmt: skip
        self.tell(before, checks, found, ended)
        trial = Trial(
            task=self.job.slot.task, arm=self.job.slot.arm, repeat=self.job.slot.repeat, stage=self.job.slot.stage,
            checks=checks, cost=costs.with_lost(spent, [one.cost for one in failures(self.folder.parent)]),
            attempts=paths.number_of(self.folder), lost=self.lost(),
            folder=self.folder.relative_to(self.setting.run).as_posix(),
        )  # fmt: skip
        if self.setting.judge and self.job.task.rubric:
            asked = self.setting.judge(self.job.task, self.folder) if ended.ended == "exit" else 0.0
            trial = replace(trial, judge01=asked)
        return self.record(trial, began_at, ended, found)

    def prepare(self) -> None:
        """The folders of an attempt; a command gets a copy of its configuration, and never the folder itself."""
        for name in ("home", "tmp", "result"):
            (self.scratch / name).mkdir(parents=True, mode=0o700)
        for name in ("workspace", "before"):
            begin(self.job.task, self.job.config, self.scratch / name, self.setting.run / "mirrors")
        if self.job.config.agent == "command":
            copy_tree(self.job.config.folder, self.scratch / "config")
        for name in (*OWN, "config"):
            hand_over(self.scratch / name, self.setting.sandbox.user)

    def agent(self) -> Ended:
        """Start the agent and wait for its very end."""
        task, config, inside = self.job.task, self.job.config, self.scratch.inside
        program = self.setting.programs[config.sha256]
        if program.startswith("./"):
            program = f"{inside['config']}/{program[2:]}"
        launch = self.runner.launch(
            Given(
                prompt=task.prompt, config=config, program=program, folder=inside["config"], result=inside["result"],
                is_sandboxed=self.is_wrapped,
            )
        )  # fmt: skip
        (self.scratch / "prompt").write_text(launch.stdin, "utf-8")
        env = self.env(launch)
        with doorway.opened(self.scratch.root, self.allowed(env), self.setting.sandbox.user) as door:
            argv = doorway.through(launch.argv) if door else list(launch.argv)
            env |= doorway.ENV if door else {}
            order = Order(
                argv=wrapped(self.setting.sandbox, argv, self.room(door)), env=env,
                cwd=str(self.scratch / "workspace"), stdin=str(self.scratch / "prompt"),
                stdout=str(self.folder / paths.OUT), stderr=str(self.folder / paths.ERR), timeout_s=task.timeout_s,
                most_bytes=task.disk_mb << 20, most_memory=task.memory_mb << 20, most_processes=task.processes,
                user=self.setting.sandbox.user, is_wrapped=self.is_wrapped, marker=str(self.scratch.root),
                watch=[*(str(self.scratch / name) for name in OWN), str(self.folder)],
            )  # fmt: skip
            began = time.monotonic()
            ended = self.setting.keepers.keep(order)
            return replace(ended, wall_s=time.monotonic() - began) if ended.ended == "lost" else ended

    def trouble(self, left: Left) -> str:
        """Why this attempt says nothing of the agent, where the agent may not have caused it; else empty."""
        ended = left.ended
        if ended.ended in ("missing", "stopped") or (ended.ended == "lost" and self.is_wrapped):
            said = left.stderr.decode("utf-8", "replace").strip()[-300:]
            return f"{ended.why}: {said}".rstrip(": ") or ended.ended
        return self.runner.trouble(left) if ended.ended in ("exit", "timeout") else ""

    def failed(self, ended: Ended) -> tuple[CheckResult, ...]:
        """The checks of an agent that did not end by itself: nobody looks at what it had done by then."""
        task = self.job.task
        why = {
            "timeout": f"the agent ran longer than its {task.timeout_s:g} s",
            "lost": "the agent killed the process that kept it",
            **dict.fromkeys(OVER, f"the agent {ended.why}"),
        }.get(ended.ended, f"the agent was ended ({ended.ended}){f': {ended.why}' if ended.why else ''}")
        self.notes.append(why)
        return tuple(CheckResult(name=one.name, kind=one.kind, passed=False, detail=why) for one in task.checks)

    def lost(self) -> int:
        """Attempts before this one that ended without a result, or whose result is gone.

        One that was cut short by a crash of ours counts only where the agent could have killed us.
        """
        ended = ledger.ended(self.setting.run)[self.folder.parent]
        return ended if self.is_wrapped else max(ended, len(paths.attempts(self.folder.parent)) - 1)

    def env(self, launch: Launch) -> dict[str, str]:
        """An agent's variables: a few of ours, those its configuration names, and its own places."""
        given = {name: self.setting.env[name] for name in (*ENV, *self.job.config.env) if name in self.setting.env}
        inside = self.scratch.inside
        own = {"HOME": inside["home"], "TMPDIR": inside["tmp"], "TERM": "dumb", "SHELL": "/bin/sh"}
        return launch.env | given | own

    def allowed(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """Services that the agent may reach though its task has no network; none where that is not up to us."""
        if self.job.task.network == "full" or not self.is_wrapped:
            return ()
        named = [env.get(name, "") for name in self.runner.ADDRESS]
        return doorway.addresses([*named, *self.job.config.args]) or self.runner.HOSTS

    def room(self, door: Path | None) -> Room:
        """What the agent sees."""
        inside = self.scratch.inside
        mounts = [Mount(here=self.scratch / name, inside=inside[name], is_writable=True) for name in OWN]
        mounts.append(Mount(here=self.scratch / "tmp", inside="/dev/shm", is_writable=True))  # noqa: S108
        if self.job.config.agent == "command":
            mounts.append(Mount(here=self.scratch / "config", inside=inside["config"]))
        mounts += doorway.mounts(door)
        program = self.setting.programs[self.job.config.sha256]
        folders = [] if program.startswith("./") else folders_of(program)
        return Room(
            mounts=mounts, cwd=inside["workspace"], has_network=self.job.task.network == "full",
            programs=[*folders, *searched(self.setting.env.get("PATH", ""))], hidden=self.setting.unseen,
            processes=self.job.task.processes,
        )  # fmt: skip

    def left(self, ended: Ended) -> tuple[Left, transcript.Taken]:
        """Take over what the agent left."""
        taken = transcript.collect(self.scratch.root, self.runner.TRANSCRIPTS, self.folder / paths.TRANSCRIPTS)
        self.notes += taken.notes
        costs.take_claim(self.scratch.root, self.folder)
        (self.folder / paths.ENDED).write_bytes(pretty(ended))
        said = [shortened(self.folder / name) for name in (paths.OUT, paths.ERR)]
        return Left(stdout=said[0], stderr=said[1], ended=ended, records=taken), taken

    def checks(self, before: Listing, turns: tuple[Turn, ...] | None) -> tuple[CheckResult, ...]:
        """What the checks say."""
        hidden = self.scratch / "hidden"
        unpack(self.setting.hidden[self.job.task.name], hidden)
        place = Place(
            task=self.job.task, sandbox=self.setting.sandbox, scratch=self.scratch.root, hidden=hidden,
            keepers=self.setting.keepers, env=self.setting.env,
        )  # fmt: skip
        return check_all(place, self.scratch / "workspace", before, turns)

    def tell(
        self, before: Listing, checks: tuple[CheckResult, ...], found: tuple[LoadedFile, ...], ended: Ended
    ) -> None:
        """Write the trial's files, all but the last one."""
        try:
            if ended.ended in OVER:
                raise Unreadable(ended.why)
            changed = changes(before, entries(self.scratch / "workspace"))
            shown = "".join(diff(self.scratch / "before", self.scratch / "workspace", changed))
        except (OSError, Unreadable) as error:
            shown = f"the workspace can't be compared: {error}\n"
        (self.folder / paths.DIFF).write_text(shown, "utf-8", "replace")
        (self.folder / paths.CHECKS).write_bytes(pretty(checks))
        (self.folder / paths.LOADED).write_bytes(pretty(found))
        if ended.left:
            self.notes.append(f"left {ended.left} processes running; they were killed")

    def record(self, trial: Trial, began_at: str, ended: Ended, found: tuple[LoadedFile, ...]) -> Record:
        network: str = self.job.task.network if self.is_wrapped else "open"
        if network == "none" and self.runner.HOSTS:
            network = "service"
        return Record(
            key=self.job.key, trial=trial, task_sha256=self.job.task.sha256, config_sha256=self.job.config.sha256,
            checks_sha256=sealed(listing(self.scratch / "hidden")), agent=self.job.config.agent,
            sandbox=self.setting.sandbox.name, network=network, began_at=began_at, ended=ended, loaded=found,
            notes=tuple(self.notes), evidence=listing(self.folder),
        )  # fmt: skip


def bounded(told: Iterable[Told]) -> list[Told]:
    """As many instructions as anybody could have read."""
    found, room = [], MOST_TOLD
    for one in told:
        room -= len(one.path) + len(one.text) + 1
        if room < 0:
            break
        found.append(one)
    return found


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def shortened(file: Path) -> bytes:
    """What an agent said; the middle of a flood is dropped, on disk too."""
    if not file.is_file():
        return b""
    if file.stat().st_size > MOST_SAID:
        with file.open("rb+") as opened:
            head = opened.read(MOST_SAID // 2)
            opened.seek(-MOST_SAID // 2, os.SEEK_END)
            tail = opened.read()
            opened.seek(0)
            opened.truncate()
            opened.write(head + b"\n[...]\n" + tail)
    return file.read_bytes()


def attempt(job: Job, setting: Setting) -> Record | Failure:
    """Try a trial once; what comes of it is on disk when this returns."""
    folder = paths.next_attempt(paths.trial_folder(setting.run, job.slot, job.key))
    scratch = paths.scratch_home() / f"assay-trial-{secrets.token_hex(6)}"
    note = setting.run / paths.SCRATCH / scratch.name
    note.write_text(str(scratch), "utf-8")  # first: killed in between, the next run finds what to remove
    scratch.mkdir(mode=0o700)
    try:
        found = Attempt(job, setting, folder, scratch).run()
    except (OSError, Unreadable) as error:
        found = Failure(why=f"{type(error).__name__}: {error}", at=now())
    finally:
        remove(scratch)
        note.unlink(missing_ok=True)
    if isinstance(found, Failure):
        if not setting.keepers.is_stopped:  # else it is as if we had been killed, and counts for nothing
            put(setting.run, folder / paths.FAILURE, pretty(found))
    else:
        put(setting.run, folder.parent / paths.TRIAL, pretty(found))
    return found


def put(run: Path, file: Path, content: bytes) -> None:
    """Write the record of an attempt that ended: first on the list, then in its place."""
    ledger.add(run, file, content)
    write_atomically(file, content)


def recorded(folder: Path, key: str) -> Record | None:
    """A trial that has ended; `None` where there is none, or what is there belongs to something else."""
    try:
        found = msgspec.json.decode((folder / paths.TRIAL).read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.key == key else None


def failures(folder: Path) -> list[Failure]:
    """Attempts at a trial that infrastructure broke."""
    found = []
    for attempt in paths.attempts(folder):
        try:
            found.append(msgspec.json.decode((attempt / paths.FAILURE).read_bytes(), type=Failure))
        except (OSError, msgspec.DecodeError):
            continue  # cut short by a crash of ours
    return found


def altered(run: Path, record: Record) -> list[str]:
    """Files of a trial that are not what they were when it ended."""
    folder = run / record.trial.folder
    try:
        there = listing(folder)
    except OSError:
        there = {}
    return [path for path in sorted(record.evidence | there) if record.evidence.get(path) != there.get(path)]
