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

from assay.evals.runners import AgentOutput, AgentTask, Instruction, Launch, Runner, find_runner
from assay.evals.running import ledger, run_folder, transcript
from assay.evals.running.task_checks import CheckPlace, run_checks
from assay.evals.running.transcript import LoadedFile, find_loaded_files
from assay.evals.sandbox import proxy
from assay.evals.sandbox.bubblewrap import (
    Mount,
    Sandbox,
    SandboxView,
    find_program_folders,
    list_search_folders,
    make_scratch_home,
    wrap_command,
)
from assay.evals.sandbox.launch import OVER, CommandEnd, SupervisedCommand, Supervisors
from assay.evals.sandbox.workspace import (
    UnreadableWorkspace,
    copy_tree,
    fill_workspace,
    hand_over_folder,
    hash_entries,
    list_changes,
    remove_tree,
    render_diff,
)
from assay.evals.tasks.config import AgentConfig
from assay.evals.tasks.folders import Listing, hash_files, hash_values, unpack_folder
from assay.evals.tasks.task import Task
from assay.files import write_atomically
from assay.types import Turn
from assay.types.evals import CheckResult, Cost, Trial
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


class TrialRecord(Row, frozen=True):
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
    ended: CommandEnd
    loaded: tuple[LoadedFile, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: Listing = {}
    """Fingerprints of the files beside this one, so that a later change shows."""


class AttemptFailure(Row, frozen=True):
    """`failure.json` of an attempt that says nothing of the agent."""

    why: str
    at: str
    cost: Cost = Cost()
    """What it took all the same, as far as its transcript tells."""


class RunSetting(Struct, frozen=True, kw_only=True):
    """What all trials of a run share."""

    run: Path
    sandbox: Sandbox
    supervisors: Supervisors
    env: Mapping[str, str]
    programs: Mapping[str, str]
    """What is started, by fingerprint of the configuration."""
    hidden: Mapping[str, bytes]
    """Check files by task, in memory: on disk an agent might find them."""
    unseen: Sequence[Path] = ()
    """Folders of tasks, configurations and results, which no agent may see."""
    judge: Judge | None = None


class TrialJob(Struct, frozen=True, kw_only=True):
    """One trial that is to be run: its slot, task and configuration."""

    slot: run_folder.TrialSlot
    task: Task
    config: AgentConfig
    key: str


class Scratch(Struct, frozen=True, kw_only=True):
    """The folders of one attempt, on this machine and as the agent sees them."""

    root: Path
    inside: Mapping[str, str]

    def __truediv__(self, name: str) -> Path:
        return self.root / name


class Attempt:
    """One attempt at a trial, from its folders to its record."""

    def __init__(self, job: TrialJob, setting: RunSetting, folder: Path, scratch: Path) -> None:
        self.job, self.setting, self.folder = job, setting, folder
        self.is_wrapped = setting.sandbox.kind == "bubblewrap"
        here = {name: str(scratch / name) for name in INSIDE}
        there = INSIDE | ({"workspace": job.task.harbor.workdir} if job.task.harbor else {})
        self.scratch = Scratch(root=scratch, inside=there if self.is_wrapped else here)
        self.runner: Runner = find_runner(job.config.agent)
        self.notes: list[str] = []

    def run(self) -> TrialRecord | AttemptFailure:
        """The agent, then the checks; `Failure` where it says nothing of the agent."""
        began_at = format_now()
        self.prepare()
        before = hash_entries(self.scratch / "workspace")
        ended = self.run_agent()
        left, taken = self.take_output(ended)
        turns, claim = transcript.read_turns(taken.files), transcript.load_claimed_cost(self.folder)
        spent = transcript.measure_cost(turns, claim, ended.wall_s)
        if why := self.explain_trouble(left):
            return AttemptFailure(why=why, at=format_now(), cost=spent)
        checks = self.run_checks(before, turns) if ended.ended == "exit" else self.fail_checks(ended)
        if unsure := [check.name for check in checks if check.passed is None]:
            return AttemptFailure(why=f"checks could not be run: {', '.join(unsure)}", at=format_now(), cost=spent)
        found = find_loaded_files(
            self.scratch / "before", self.scratch.inside["workspace"], self.job.config.files,
            limit_instructions(self.runner.find_instructions(taken)),
        )  # fmt: skip
        self.write_files(before, checks, found, ended)
        trial = Trial(
            task=self.job.slot.task, arm=self.job.slot.arm, repeat=self.job.slot.repeat, stage=self.job.slot.stage,
            checks=checks,
            cost=transcript.add_lost_costs(spent, [one.cost for one in load_failures(self.folder.parent)]),
            attempts=run_folder.parse_attempt_number(self.folder), lost=self.count_lost(),
            folder=self.folder.relative_to(self.setting.run).as_posix(),
        )  # fmt: skip
        if self.setting.judge and self.job.task.rubric:
            asked = self.setting.judge(self.job.task, self.folder) if ended.ended == "exit" else 0.0
            trial = replace(trial, judge01=asked)
        return self.build_record(trial, began_at, ended, found)

    def prepare(self) -> None:
        """The folders of an attempt; a command gets a copy of its configuration, and never the folder itself."""
        for name in ("home", "tmp", "result"):
            (self.scratch / name).mkdir(parents=True, mode=0o700)
        for name in ("workspace", "before"):
            fill_workspace(self.job.task, self.job.config, self.scratch / name, self.setting.run / "mirrors")
        if self.job.config.agent == "command":
            copy_tree(self.job.config.folder, self.scratch / "config")
        for name in (*OWN, "config"):
            hand_over_folder(self.scratch / name, self.setting.sandbox.user)

    def run_agent(self) -> CommandEnd:
        """Start the agent and wait for its very end."""
        task, config, inside = self.job.task, self.job.config, self.scratch.inside
        program = self.setting.programs[config.sha256]
        if program.startswith("./"):
            program = f"{inside['config']}/{program[2:]}"
        launch = self.runner.build_launch(
            AgentTask(
                prompt=task.prompt, config=config, program=program, folder=inside["config"], result=inside["result"],
                is_sandboxed=self.is_wrapped,
            )
        )  # fmt: skip
        (self.scratch / "prompt").write_text(launch.stdin, "utf-8")
        env = self.build_env(launch)
        with proxy.open_proxy(self.scratch.root, self.list_services(env), self.setting.sandbox.user) as door:
            argv = proxy.build_proxied_command(launch.argv) if door else list(launch.argv)
            env |= proxy.ENV if door else {}
            order = SupervisedCommand(
                argv=wrap_command(self.setting.sandbox, argv, self.build_view(door)), env=env,
                cwd=str(self.scratch / "workspace"), stdin=str(self.scratch / "prompt"),
                stdout=str(self.folder / run_folder.OUT), stderr=str(self.folder / run_folder.ERR),
                timeout_s=task.timeout_s,
                most_bytes=task.disk_mb << 20, most_memory=task.memory_mb << 20, most_processes=task.processes,
                user=self.setting.sandbox.user, is_wrapped=self.is_wrapped, marker=str(self.scratch.root),
                watch=[*(str(self.scratch / name) for name in OWN), str(self.folder)],
            )  # fmt: skip
            began = time.monotonic()
            ended = self.setting.supervisors.run_command(order)
            return replace(ended, wall_s=time.monotonic() - began) if ended.ended == "lost" else ended

    def explain_trouble(self, left: AgentOutput) -> str:
        """Why this attempt says nothing of the agent, where the agent may not have caused it; else empty."""
        ended = left.ended
        if ended.ended in ("missing", "stopped") or (ended.ended == "lost" and self.is_wrapped):
            said = left.stderr.decode("utf-8", "replace").strip()[-300:]
            return f"{ended.why}: {said}".rstrip(": ") or ended.ended
        return self.runner.explain_trouble(left) if ended.ended in ("exit", "timeout") else ""

    def fail_checks(self, ended: CommandEnd) -> tuple[CheckResult, ...]:
        """The checks of an agent that did not end by itself: nobody looks at what it had done by then."""
        task = self.job.task
        why = {
            "timeout": f"the agent ran longer than its {task.timeout_s:g} s",
            "lost": "the agent killed the process that kept it",
            **dict.fromkeys(OVER, f"the agent {ended.why}"),
        }.get(ended.ended, f"the agent was ended ({ended.ended}){f': {ended.why}' if ended.why else ''}")
        self.notes.append(why)
        return tuple(CheckResult(name=one.name, kind=one.kind, passed=False, detail=why) for one in task.checks)

    def count_lost(self) -> int:
        """Attempts before this one that ended without a result, or whose result is gone.

        One that was cut short by a crash of ours counts only where the agent could have killed us.
        """
        ended = ledger.count_ended_attempts(self.setting.run)[self.folder.parent]
        return ended if self.is_wrapped else max(ended, len(run_folder.list_attempts(self.folder.parent)) - 1)

    def build_env(self, launch: Launch) -> dict[str, str]:
        """An agent's variables: a few of ours, those its configuration names, and its own places."""
        given = {name: self.setting.env[name] for name in (*ENV, *self.job.config.env) if name in self.setting.env}
        inside = self.scratch.inside
        own = {"HOME": inside["home"], "TMPDIR": inside["tmp"], "TERM": "dumb", "SHELL": "/bin/sh"}
        return launch.env | given | own

    def list_services(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """Services that the agent may reach though its task has no network; none where that is not up to us."""
        if self.job.task.network == "full" or not self.is_wrapped:
            return ()
        named = [env.get(name, "") for name in self.runner.ADDRESS]
        return proxy.find_addresses([*named, *self.job.config.args]) or self.runner.HOSTS

    def build_view(self, door: Path | None) -> SandboxView:
        """The part of this machine that the agent gets to see."""
        inside = self.scratch.inside
        mounts = [Mount(here=self.scratch / name, inside=inside[name], is_writable=True) for name in OWN]
        mounts.append(Mount(here=self.scratch / "tmp", inside="/dev/shm", is_writable=True))  # noqa: S108
        if self.job.config.agent == "command":
            mounts.append(Mount(here=self.scratch / "config", inside=inside["config"]))
        mounts += proxy.list_mounts(door)
        program = self.setting.programs[self.job.config.sha256]
        folders = [] if program.startswith("./") else find_program_folders(program)
        return SandboxView(
            mounts=mounts, cwd=inside["workspace"], has_network=self.job.task.network == "full",
            programs=[*folders, *list_search_folders(self.setting.env.get("PATH", ""))], hidden=self.setting.unseen,
            processes=self.job.task.processes,
        )  # fmt: skip

    def take_output(self, ended: CommandEnd) -> tuple[AgentOutput, transcript.TranscriptFiles]:
        """Take over what the agent left."""
        taken = transcript.collect_transcripts(
            self.scratch.root, self.runner.TRANSCRIPTS, self.folder / run_folder.TRANSCRIPTS
        )
        self.notes += taken.notes
        transcript.copy_claim(self.scratch.root, self.folder)
        (self.folder / run_folder.ENDED).write_bytes(format_json(ended))
        said = [shorten_output(self.folder / name) for name in (run_folder.OUT, run_folder.ERR)]
        return AgentOutput(stdout=said[0], stderr=said[1], ended=ended, records=taken), taken

    def run_checks(self, before: Listing, turns: tuple[Turn, ...] | None) -> tuple[CheckResult, ...]:
        """The results of the task's checks on what the agent left."""
        hidden = self.scratch / "hidden"
        unpack_folder(self.setting.hidden[self.job.task.name], hidden)
        place = CheckPlace(
            task=self.job.task, sandbox=self.setting.sandbox, scratch=self.scratch.root, hidden=hidden,
            supervisors=self.setting.supervisors, env=self.setting.env,
        )  # fmt: skip
        return run_checks(place, self.scratch / "workspace", before, turns)

    def write_files(
        self, before: Listing, checks: tuple[CheckResult, ...], found: tuple[LoadedFile, ...], ended: CommandEnd
    ) -> None:
        """Write all files of a trial but its record."""
        try:
            if ended.ended in OVER:
                raise UnreadableWorkspace(ended.why)
            changed = list_changes(before, hash_entries(self.scratch / "workspace"))
            shown = "".join(render_diff(self.scratch / "before", self.scratch / "workspace", changed))
        except (OSError, UnreadableWorkspace) as error:
            shown = f"the workspace can't be compared: {error}\n"
        (self.folder / run_folder.DIFF).write_text(shown, "utf-8", "replace")
        (self.folder / run_folder.CHECKS).write_bytes(format_json(checks))
        (self.folder / run_folder.LOADED).write_bytes(format_json(found))
        if ended.left:
            self.notes.append(f"left {ended.left} processes running; they were killed")

    def build_record(
        self, trial: Trial, began_at: str, ended: CommandEnd, found: tuple[LoadedFile, ...]
    ) -> TrialRecord:
        network: str = self.job.task.network if self.is_wrapped else "open"
        if network == "none" and self.runner.HOSTS:
            network = "service"
        return TrialRecord(
            key=self.job.key, trial=trial, task_sha256=self.job.task.sha256, config_sha256=self.job.config.sha256,
            checks_sha256=hash_values(hash_files(self.scratch / "hidden")), agent=self.job.config.agent,
            sandbox=self.setting.sandbox.name, network=network, began_at=began_at, ended=ended, loaded=found,
            notes=tuple(self.notes), evidence=hash_files(self.folder),
        )  # fmt: skip


def limit_instructions(told: Iterable[Instruction]) -> list[Instruction]:
    """No more instructions than anybody could have read."""
    found, room = [], MOST_TOLD
    for one in told:
        room -= len(one.path) + len(one.text) + 1
        if room < 0:
            break
        found.append(one)
    return found


def format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def format_json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def shorten_output(file: Path) -> bytes:
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


def run_attempt(job: TrialJob, setting: RunSetting) -> TrialRecord | AttemptFailure:
    """Try a trial once; what comes of it is on disk when this returns."""
    folder = run_folder.make_attempt_folder(run_folder.find_trial_folder(setting.run, job.slot, job.key))
    scratch = make_scratch_home() / f"assay-trial-{secrets.token_hex(6)}"
    note = setting.run / run_folder.SCRATCH / scratch.name
    note.write_text(str(scratch), "utf-8")  # first: killed in between, the next run finds what to remove
    scratch.mkdir(mode=0o700)
    try:
        found = Attempt(job, setting, folder, scratch).run()
    except (OSError, UnreadableWorkspace) as error:
        found = AttemptFailure(why=f"{type(error).__name__}: {error}", at=format_now())
    finally:
        remove_tree(scratch)
        note.unlink(missing_ok=True)
    if isinstance(found, AttemptFailure):
        if not setting.supervisors.is_stopped:  # else it is as if we had been killed, and counts for nothing
            write_record(setting.run, folder / run_folder.FAILURE, format_json(found))
    else:
        write_record(setting.run, folder.parent / run_folder.TRIAL, format_json(found))
    return found


def write_record(run: Path, file: Path, content: bytes) -> None:
    """Write the record of an attempt that ended: first on the list, then in its place."""
    ledger.add_entry(run, file, content)
    write_atomically(file, content)


def load_record(folder: Path, key: str) -> TrialRecord | None:
    """A trial that has ended; `None` where there is none, or what is there belongs to something else."""
    try:
        found = msgspec.json.decode((folder / run_folder.TRIAL).read_bytes(), type=TrialRecord)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.key == key else None


def load_failures(folder: Path) -> list[AttemptFailure]:
    """Attempts at a trial that infrastructure broke."""
    found = []
    for attempt in run_folder.list_attempts(folder):
        try:
            found.append(msgspec.json.decode((attempt / run_folder.FAILURE).read_bytes(), type=AttemptFailure))
        except (OSError, msgspec.DecodeError):
            continue  # cut short by a crash of ours
    return found


def list_altered_files(run: Path, record: TrialRecord) -> list[str]:
    """Files of a trial that are not what they were when it ended."""
    folder = run / record.trial.folder
    try:
        there = hash_files(folder)
    except OSError:
        there = {}
    return [path for path in sorted(record.evidence | there) if record.evidence.get(path) != there.get(path)]
