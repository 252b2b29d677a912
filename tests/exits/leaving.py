"""Every way out of the program: what is run, and what it said or sent."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.cli import program
from assay.cli.output import FORMATS
from assay.cli.quality import FORMATS as QUALITY_FORMATS
from assay.scores import profiles
from assay.scores.breakdown import WAYS
from assay.types.quality import Profile
from tests.conftest import Ran, environment, run
from tests.exits.pulled import Langfuse
from tests.llm.judging import list_asked

PULL = "--since 2026-01-01 --into {top}/in/pulled"

EXITS: dict[str, list[str]] = {
    "score": ["", "--json", *(f"--by {way}" for way in WAYS), *(f"-o {{top}}/out{ending}" for ending in FORMATS)],
    "report": [
        "", "--json", "--digest", "--compare 30d 60d..30d", *(f"-o {{top}}/out-report{ending}" for ending in FORMATS),
    ],
    "sessions": ["", "--json", "--ledger", "--all --search e"],
    "compare": ["--before-after 2026-01-01 {top}/in", "agent:claude {secret} {top}/in --json",
        "--since-promotion {secret} --json",
    ],
    "advise": ["", "--json"],
    "usage": ["", "--json", "--by project"],
    "streams": ["", "--json"],
    "import": ["{top}/in --labels {top}/out-labels.jsonl", "{top}/in --labels {top}/out-labels.jsonl --json"],
    "doctor": ["", "--json"],
    "show": [
        "{session}", "{session} --full", "{session} --json", "{stream} --json", "{stream}", "{stream} --stream --full",
        "{beginning}", "nobody",
    ],
    "egress": ["", "--json --judge anthropic", "--judge anthropic", "--words --judge openai --model x"],
    "session rename": ["{session} {secret}"],
    "session mark": ["{session} not --why {secret}", "{session} landed", "{session} --undo"],
    "session marks": ["", "--json"],
    "judges": ["", "--json"],
    "skill": ["--into {top}/claude", "--into {top}/claude --json", "--into {top}/claude --force"],
    "plugin install": [
        "--scope project", "--scope project --yes --json --statusline", "--scope local --hooks --yes",
        "--scope local --server nobody --words",
    ],
    "plugin status": ["", "--json"],
    "plugin doctor": ["", "--json"],
    "plugin deliver": ["", "--json"],
    "plugin uninstall": ["--scope local", "--scope local --yes --json", "--yes"],
    "codex install": ["", "--yes --json --words", "--server nobody"],
    "codex status": ["", "--json"],
    "codex uninstall": ["--yes --json", ""],
    "mcp": ["", "--store nobody://x"],
    "statusline": ["", "--look"],
    "watch": ["--once", "--json"],
    "completion": ["bash", "zsh", "fish --install"],
    "init": ["--defaults --json"],
    "store info": ["", "--json"],
    "store check": ["", "--json"],
    "store move": ["nobody://x", "nobody://x --json"],
    "store backup": ["{top}/nowhere/b.db", "nobody://x --json"],
    "store restore": ["{top}/nowhere", "{top}/nowhere --json"],
    "store prune": ["", "--json"],
    "open": ["{top}/nowhere", "{top}/nowhere --no-browser"],
    "serve": ["--check --port 0", "--check --port 0 --json --require-key --no-worker"],
    "ship": [
        "--dry-run", "--dry-run --json", "--dry-run --words", "--dry-run --json --words --no-words",
        "--dry-run --json --words --person {secret}", "--to http://127.0.0.1:9 --machine loom",
    ],
    "export": [
        "{top}/in -o {top}/lake --turns", "{top}/in -o {top}/lines --format jsonl --words --quality enhanced --json",
        "{top}/in -o {top}/lake --no-turns",
    ],
    "work": ["--once --with-parent", "--once --tenant nobody"],
    "keys add": ["loom", "loom --json --scope read"],
    "keys list": ["", "--json"],
    "keys revoke": ["nobody", "nobody --json"],
    "keys log": ["", "--json"],
    "audit": ["5", "--status", "--status --json", "--list", "--list --json", "--export {top}/out-verdicts.jsonl",
              "--import {top}/out-verdicts.jsonl"],
    "session split": ["{session} 2", "{session} 99"],
    "session merge": ["{session} {other}"],
    "demo": ["", "--json", "9d4a5cfc --full"],
    "quality": [
        "", "--json", "--details", "-p revised --json", "--dry-run", "--dry-run --judge anthropic",
        "--dry-run --json --judge openai --model x", *(f"-o {{top}}/out-quality{end}" for end in QUALITY_FORMATS),
    ],
    "profiles list": ["", "--json"],
    "profiles show": ["enhanced", "revised --json", "nobody"],
    "profiles check": ["", "--json", "nobody"],
    "langfuse status": ["", "--json"],
    "langfuse setup": ["--dry-run", "", "--json"],
    "langfuse pull": [PULL, f"{PULL} --json --traces", "nobody"],
    "langfuse score": [f"{PULL} --dry-run --json", f"{PULL} --on-trace", f"{PULL} --json --recheck --traces"],
    "langfuse upload": ["--dry-run", "--yes --json", "--yes --recheck"],
    "langfuse forget": ["lf-hook --dry-run", "lf-hook --yes --json", "--everything --yes"],
    "langfuse push": ["--dry-run", "", "--all --json", "--all --recheck"],
    "eval init": ["--out {top}/suite", "--out {top}/suite2 --json"],
    "eval check": ["nobody", "nobody --json"],
    "eval run": ["--tasks nobody --baseline x --candidate y --sequential --eval-objective-drop-is-regression --json"],
    "eval compare": ["nobody", "nobody --json"],
    "eval gate": ["nobody", "nobody --json"],
    "eval replay": ["nobody", "nobody --json"],
    "eval aa": ["nobody", "nobody --json"],
    "eval plan": ["--tasks nobody", "--tasks nobody --json"],
    "eval promote": ["nobody", "nobody --json"],
    "eval mine": ["{session} --into {top}/mined", "{session} --into {top}/mined --json"],
}  # fmt: skip
"""Commands and what follows each; `{session}` is every session in turn, `{stream}` every stream."""
ALL_PATHS = frozenset(
    {
        "score",
        "sessions",
        "streams",
        "usage",
        "advise",
        "doctor",
        "egress",
        "quality",
        "audit",
        "langfuse push",
        "langfuse upload",
    }
)
CORRECTIONS = ("session rename", "session mark", "session marks", "session split", "session merge", "audit")
TOLD_ALIKE = frozenset(f"--by {way}" for way in WAYS if way != "tenant")
"""Slices of one report, of which one tells enough once all of them were seen."""
SAYS_THE_SAME = frozenset({"--yes", "--batch", "--again", "--crushed", "--version", "--help", "--here", "--force"})
"""Flags that decide what is done or chosen, not what is shown of it."""


def commands() -> Iterator[tuple[str, set[str]]]:
    """Every command of the command line, with its flags."""
    for name in program.COMMANDS:
        yield from flags_of(program.load_command(name), f"{name} ")


def flags_of(at: Any, above: str) -> Iterator[tuple[str, set[str]]]:
    """A command with its flags, or all commands of a group."""
    if hasattr(at, "commands"):
        for name, one in at.commands.items():
            yield from flags_of(one, f"{above}{name} ")
    else:
        yield above.strip(), {one.opts[0] for one in at.params if getattr(one, "is_flag", False)} - SAYS_THE_SAME


@dataclass
class Place:
    """A folder with transcripts, a store, and settings."""

    top: Path
    env: dict[str, str] = field(default_factory=dict)
    server: Langfuse | None = None

    def run(self, *args: object) -> Ran:
        env = {"HOME": str(self.top / "home"), "ASSAY_STORE": str(self.top / "s.db"), **self.env}
        env |= self.server.env if self.server else {}
        env |= {"ASSAY_PATHS": str(self.top / "in")} if args[0] == "ship" else {}  # it takes all or nothing
        return run(*args, env=env, cwd=self.top)

    def found(self, *args: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.run(args[0], self.top / "in", "--json").json[args[0]]
        return found

    def pull(self) -> Ran:
        """Put what is in Langfuse beside the other transcripts."""
        return self.run("langfuse", "pull", *self.words(PULL))

    def words(self, text: str, **values: str) -> list[str]:
        return shlex.split(text.format(top=self.top, **values))

    def everything(self, *, most: int = 99, **more: str) -> dict[str, str]:
        """What every exit says and what Langfuse is sent."""
        assert self.server
        said = self.all_said(most=most, **more)
        assert self.server.violations == []
        return said | {"what Langfuse is sent": self.server.sent}

    def all_said(self, *, most: int = 99, **more: str) -> dict[str, str]:
        """What every exit says: output, errors, and files that were written; of `most` sessions and streams."""
        sessions, streams = self.found("sessions"), self.found("streams")
        ids = [one["id"] for one in sessions]
        values = {"other": ids[-1], "beginning": common(streams), "secret": "thread", **more}
        said = {}
        for name in sorted(EXITS, key=lambda one: one in CORRECTIONS):
            several = 1 if name in CORRECTIONS else most
            for words in EXITS[name]:
                if most < len(ids) and words in TOLD_ALIKE:
                    continue
                each: list[dict[str, str]] = [{}]
                if "{session}" in words:
                    each = [{"session": one} for one in ids[:several]]
                elif "{stream}" in words:
                    each = [{"stream": one["id"]} for one in streams[:several]]
                for ones in each:
                    args = self.words(words, **values, **ones)
                    paths = [self.top / "in"] if name in ALL_PATHS else []
                    ran = self.run(*name.split(), *paths, *args)
                    said[" ".join([name, *args])] = f"{ran.code}\n{ran.out}\n{ran.err}"
        said |= {path.name: path.read_text("utf-8") for path in self.top.glob("out*")}
        written = [path for name in ("mined", "lines") for path in (self.top / name).rglob("*")]
        said |= {str(path): path.read_text("utf-8") for path in written if path.is_file()}
        left = [path.relative_to(self.top) for path in self.top.rglob("*")]
        return said | {"names of files": "\n".join(str(path) for path in left if path.parts[0] != "in")}


def common(streams: list[dict[str, Any]]) -> str:
    """How several ids begin: a stream that goes on with another's plan is called alike here."""
    ids = [one["id"] for one in streams]
    return next(one for one in ids if f"{one}b" in ids)[:-1]


# --- models -----------------------------------------------------------------------------------


def reply(job: str, text: str) -> dict[str, Any]:
    """A fitting answer that quotes what it was shown."""
    if job == "quality":
        return of_quality(profiles.load_profile("enhanced"), text)
    said = next((line for line in text.splitlines() if "redacted:" in line), "weave it")
    if job == "topic":
        return {"gaps": [{"turn": turn, "p": 0.1, "reason": said[:60]} for turn in (list_asked(text) if text else [])]}
    return {
        "rationale": f"asked for a change: {said[:100]}", "intent": "feature", "second_intent": "none",
        "title": said[:60], "summary": said[:200],
        "checks": dict.fromkeys(
            ("goal_explicit", "scope_bounded", "references_concrete", "context_sufficient",
             "verification_requested", "root_cause_oriented", "plan_first"), True),
        "state": "not_done", "p": 0.1, "basis": "none", "citations": [],
    }  # fmt: skip


PROMPT = re.compile(r"^\[turn (\d+)\] the person writes[^\n]*\n\| ([^\n]{8,150})(?<=[\w\]])(?!\w)", re.MULTILINE)


def of_quality(profile: Profile, text: str) -> dict[str, Any]:
    """Every dimension scored, citing a prompt; best one with a marker in it."""
    found = sorted(PROMPT.findall(text), key=lambda one: "redacted:" in one[1])[-1:]
    cited = [{"turn": int(turn), "quote": quote} for turn, quote in found]
    why = f"It says {cited[0]['quote'] if cited else 'nothing'}"
    return {one.name: {"evidence": cited, "rationale": why, "score": 1} for one in profile.dimensions}


CLAUDE = """#!/bin/sh
cat > "$NOTES/$$.stdin"
env > "$NOTES/$$.env"
printf '%s\\n' "$@" > "$NOTES/$$.words"
case "$*" in
  *goal_achievement*) said='{quality}' ;;
  *goal_explicit*) said='{session}' ;;
  *) said='{topic}' ;;
esac
printf '{{"type": "result", "subtype": "success", "is_error": false, "result": "", "structured_output": %s}}' "$said"
"""


def claude_program(folder: Path) -> Path:
    """A program called `claude` that notes all it is given."""
    folder.mkdir(parents=True)
    answers = {job: json.dumps(reply(job, "")) for job in ("topic", "session", "quality")}
    program = folder / "claude"
    program.write_text(CLAUDE.format(**answers))
    program.chmod(0o755)
    return program


# --- a bug of ours ----------------------------------------------------------------------------

CRASH = """
import sys
from assay.cli.main import main
from assay.pipeline import {module}
def broken(*_, **__):
    raise KeyError(sys.stdin.read())
assert callable({module}.{function})
{module}.{function} = broken
sys.argv = {words!r}
main()
"""


def crash(module: str, function: str, message: str, words: list[str], env: dict[str, str], cwd: Path) -> str:
    """What is said when a function of ours fails with a message."""
    code = CRASH.format(module=module, function=function, words=["assay", *words])
    done = subprocess.run(
        [sys.executable, "-c", code], input=message, capture_output=True, text=True, env=environment(**env),
        check=False, timeout=60, cwd=cwd,
    )  # fmt: skip
    assert done.returncode == 1
    return done.stdout + done.stderr
