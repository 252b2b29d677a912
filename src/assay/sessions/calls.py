"""Questions that several facts and judges ask of tool calls."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from assay.sessions.text import take_beginning
from assay.types import Call, Edit, Run, Turn

ENDED = frozenset({"ok", "error", "interrupted"})
CHECKS = frozenset({"test", "lint", "types", "build"})
"""Purposes of runs that check work."""
LANDING = frozenset({"commit", "push", "pr"})
"""Purposes of runs that hand work in."""
INTERPRETERS = frozenset(
    "python python2 python3 py pypy pypy3 ipython node nodejs tsx ts-node deno bun ruby perl php Rscript julia lua "
    "elixir sh bash zsh dash ksh fish pwsh powershell".split()
)
"""They run code that a command does not tell all of."""
RUNNERS = frozenset("npm pnpm yarn npx uvx go cargo dotnet mix make just task rake uv poetry".split())
SCRIPT = re.compile(r"\.(?:sh|bash|py|ps1|rb|pl|js|mjs|cjs|ts|bat|cmd)\Z", re.IGNORECASE)
STARTS_CODE = re.compile(r"(?<![\w-])(?:run|run-script|exec|dlx|generate|npx|uvx|make|just|task|rake)(?![\w-])")
ASKS = re.compile(r"(?<!\S)(?:--version|--help|-V|-v|-h)(?!\S)")
SERVER = re.compile(
    r"(?<![\w-])(?:(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:dev|start|serve|watch|preview)(?:[:-]\w+)?"
    r"|(?:next|nuxt|tauri|astro|wrangler|vercel)\s+dev|vite|nodemon|uvicorn|gunicorn|flask\s+run|rails\s+s(?:erver)?"
    r"|manage\.py\s+runserver|-m\s+http\.server|docker[ -]compose\s+up|cargo\s+watch|tail\s+-f)(?![\w-])"
)
"""Commands that run until somebody stops them."""
TELLING = re.compile(r"error|fail|panic|exception|fatal|✗|✘|✕|not ok", re.IGNORECASE)
LONGEST_LINE = 200


def list_calls(turns: Iterable[Turn]) -> Iterator[Call]:
    """Every call of these turns, sub-agents' included."""
    for turn in turns:
        yield from turn.calls


def list_made_edits(call: Call) -> Sequence[Edit]:
    """The edits of a call that succeeded; one that failed, was rejected or has no result made none."""
    return call.edits if call.status == "ok" else ()


def is_mutating(call: Call) -> bool:
    """Whether it changed something: an edit or patch that succeeded, or a shell command with side effects that ran.

    A shell command that failed may have done part of its work, so it counts; one that never ran does not. So does an
    edit of which nobody told what it was given.
    """
    if call.kind == "edit" and call.status == "ok" and not call.target and not call.edits:
        return True
    if call.kind in ("edit", "shell") and list_made_edits(call):
        return True
    return call.kind != "edit" and call.status in ENDED and any(run.mutates for run in call.runs)


def has_unknown_effects(call: Call) -> bool:
    """Whether nobody can tell what a call that ran has changed: it ran code, or somebody else's tool."""
    if call.status not in ENDED or is_mutating(call):
        return False
    if call.kind != "shell":
        return call.kind == "mcp"
    return not ASKS.search(call.command) and any(is_running_code(run, call.command) for run in call.runs)


def is_running_code(run: Run, command: str) -> bool:
    """Whether a run without a purpose starts a script, an interpreter or a task."""
    if run.purpose is not None:
        return False
    if run.program in RUNNERS:
        return bool(STARTS_CODE.search(command))
    return run.program in INTERPRETERS or bool(SCRIPT.search(run.program))


def is_stopped_server(call: Call) -> bool:
    """Whether it ran until somebody stopped it, as such commands do: that stops no work."""
    return call.kind == "shell" and call.status in ("interrupted", "open") and bool(SERVER.search(call.command))


def has_failed(call: Call) -> bool:
    """Whether a call failed, by its status or by what its runs printed."""
    return call.status == "error" or any(run.outcome == "failed" for run in call.runs)


def count_changed_lines(turns: Iterable[Turn]) -> tuple[int, int]:
    """Lines added and removed by edits."""
    added = removed = 0
    for call in list_calls(turns):
        for edit in list_made_edits(call):
            added += edit.added
            removed += edit.removed
    return added, removed


def list_shell_paths(call: Call) -> Iterator[str]:
    """What its shell commands wrote, as far as it can be read off them."""
    if is_mutating(call):
        for run in call.runs:
            yield from run.paths


def list_written_files(edited: Set[str], by_shell: Iterable[str]) -> set[str]:
    """The files behind the paths of edits and of shell commands."""
    return {*edited, *(path for path in by_shell if is_file_name(path, edited))}


def is_file_name(path: str, known: Iterable[str]) -> bool:
    """Whether it is a file of its own: no pattern, no folder, not a known file said in short."""
    if path.strip("./") == "" or any(sign in path for sign in "*?[{"):
        return False
    return path.startswith("/") or not any(one.endswith(f"/{path.removeprefix('./')}") for one in known)


def has_committed(call: Call) -> bool:
    """Whether it committed: git printed an id, or a commit command ran and is not known to have failed."""
    if call.status not in ENDED:
        return False
    return bool(call.commits) or any(run.purpose == "commit" and run.outcome != "failed" for run in call.runs)


def find_telling_line(call: Call) -> str:
    """The line of an output that names the failure, else the command."""
    lines = [line.strip() for line in call.output.splitlines() if line.strip()]
    telling = [line for line in lines if TELLING.search(line)]
    return take_beginning((telling or lines or [call.command])[-1], LONGEST_LINE)
