"""The few words in which our own lines speak, with nothing of a transcript but numbers and days; names of files."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from assay.sessions.calls import has_committed, list_made_edits
from assay.sessions.endings import EndingKind
from assay.sessions.rendering.frame import SPARE, format_one_line, quote_names
from assay.types import Call, CallKind, CallStatus, Edit, MarkKind, PromptKind, Turn

PROMPT_HEADS: dict[PromptKind, str] = {
    "typed": "the person writes",
    "command": "the person gives a command",
    "shell": "the person runs a command",
    "queued": "the person writes while the agent works",
    "rejection": "the person refuses a call and says",
    "plan": "the person accepts a plan",
}
CALL_ENDS: dict[CallStatus, str] = {
    "ok": "ended well",
    "error": "failed",
    "open": "no result",
    "rejected": "refused by the person",
    "denied": "refused by a rule",
    "interrupted": "interrupted",
}
MARK_NAMES: dict[MarkKind, str] = {
    "clear": "the conversation was cleared before",
    "compact": "the context was summarised",
    "interrupt": "the person interrupted the agent",
    "api_error": "the model's service failed",
    "retry": "a request was sent again",
    "rollback": "turns were undone",
    "pr": "a pull request",
}
KIND_NAMES: dict[CallKind, tuple[str, str]] = {
    "shell": ("command", "commands"),
    "edit": ("edit", "edits"),
    "read": ("read", "reads"),
    "search": ("search", "searches"),
    "agent": ("sub-agent", "sub-agents"),
    "plan": ("plan", "plans"),
    "todo": ("to-do list", "to-do lists"),
    "ask": ("question", "questions"),
    "web": ("page", "pages"),
    "skill": ("skill", "skills"),
    "mcp": ("tool", "tools"),
    "other": ("tool", "tools"),
}
EDIT_VERBS = {"create": "created", "update": "changed", "delete": "deleted"}
TURN_ENDS: dict[EndingKind, str] = {
    "answered": "ends with an answer",
    "landed": "ends with work handed in",
    "unanswered": "nothing followed",
    "api_error": "ends with a failure of the model's service",
    "interrupted": "ends interrupted",
    "rejected": "ends with a refusal",
    "pending": "ends waiting for the person",
    "mid_work": "ends in mid-work",
    "announces_more": "ends announcing more",
    "nothing": "nothing was asked",
}
TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})")
LONGEST_COMMAND = 4_000
NEW_BRANCH = re.compile(r"\bgit (?:checkout -[bB]|switch -[cC]) ['\"]?([\w./-]{1,100})")
COMMIT_REPORT = re.compile(r"^\[[^\s\[\]]{1,100} (?:\(root-commit\) )?[0-9a-f]{7,40}\] [^\n]{1,200}", re.MULTILINE)
COMMIT_TITLE = re.compile(r"\s-[a-z]*m (?:['\"]\$\(cat <<-?\s?(['\"]?)EOF\1\n|['\"])([^'\"\n]{1,200})")
PULL_TITLE = re.compile(r"\s(?:--title|-t)[ =](['\"])((?:(?!\1)[^\n]){1,200})")
LARGEST = 10**12
"""Numbers beyond are no numbers of ours."""

FEWEST_PARTS = 3
"""Of a folder's name that are worth leaving out."""
LEAST_SHARE = 0.6
"""The share of files that makes a folder theirs."""
LONGEST_PATH = 120


def format_time(at: str) -> str:
    """Day and minute of a time; empty for what is no time."""
    found = TIME.match(at)
    return f", {found[1]} {found[2]}" if found else ""


def format_count(n: int, one: str, more: str) -> str:
    return f"{n} {one if n == 1 else more}"


def format_lines(edits: Iterable[Edit]) -> str:
    """Lines added and removed, as `+3 -1`."""
    given = list(edits)
    return f"+{sum(edit.added for edit in given)} -{sum(edit.removed for edit in given)}"


def describe_end(call: Call) -> str:
    """How a call ended, in all that is known."""
    code = f" with exit code {call.exit_code}" if call.exit_code and abs(call.exit_code) < LARGEST else ""
    runs = list(dict.fromkeys(f"{run.purpose} {run.outcome or 'unknown'}" for run in call.runs if run.purpose))
    is_mixed = call.status == "ok" and any(run.outcome == "failed" for run in call.runs)
    commits = [format_count(len(call.commits), "commit", "commits") + " made"] if call.commits else []
    return "; ".join(
        ["ended" if is_mixed else CALL_ENDS[call.status] + code, *([", ".join(runs)] if runs else []), *commits]
    )


def describe_calls(calls: Sequence[Call]) -> str:
    """How many calls of each kind, and how many did not end well."""
    kinds = Counter(KIND_NAMES[call.kind] for call in calls)
    parts = [format_count(n, *kind) for kind, n in sorted(kinds.items())]
    failed = sum(call.status == "error" for call in calls)
    refused = sum(call.status in ("rejected", "denied", "interrupted") for call in calls)
    if failed:
        parts.append(f"{failed} failed")
    if refused:
        parts.append(f"{refused} stopped or refused")
    return ", ".join(parts)


def describe_checks(calls: Iterable[Call]) -> str:
    """How each sort of check went last, as far as is known."""
    last: dict[str, list[str]] = {}
    for run in (run for call in calls for run in call.runs if run.purpose and run.purpose != "commit"):
        told = last.setdefault(run.purpose or "", [])
        told[:] = [run.outcome] if run.outcome else [*told[:1], "then unknown" if told else "unknown"]
    return ", ".join(f"{purpose} {' '.join(told)}" for purpose, told in last.items())


def describe_turns(turns: Sequence[Turn]) -> str:
    """What was done in some turns, in one line."""
    calls = [call for turn in turns for call in turn.calls]
    edits = [edit for call in calls for edit in list_made_edits(call)]
    commits = sum(has_committed(call) for call in calls)
    marks = Counter(mark.kind for turn in turns for mark in turn.marks)
    parts = [
        describe_calls(calls) if calls else "no calls",
        format_lines(edits) + " lines" if edits else "",
        f"last checks: {found}" if (found := describe_checks(calls)) else "",
        format_count(commits, "commit", "commits") if commits else "",
        *(f"{MARK_NAMES[kind]}{format_times(n)}" for kind, n in sorted(marks.items())),
    ]
    return "; ".join(part for part in parts if part)


def format_times(n: int) -> str:
    return f", {n} times" if n > 1 else ""


def list_titles(calls: Iterable[Call]) -> list[str]:
    """Branches that were begun, titles of commits and of pull requests, each once and as they were said."""
    found: dict[str, None] = {}
    for call in calls:
        if call.kind != "shell" or call.status not in ("ok", "error", "open"):
            continue
        command = call.command[:LONGEST_COMMAND]
        found |= dict.fromkeys(one[1] for one in NEW_BRANCH.finditer(command))
        if has_committed(call):
            reported = [one[0] for one in COMMIT_REPORT.finditer(call.output[:LONGEST_COMMAND])]
            found |= dict.fromkeys(reported or [one[2].strip() for one in COMMIT_TITLE.finditer(command)])
        if any(run.purpose == "pr" and run.outcome != "failed" for run in call.runs):
            found |= dict.fromkeys(one[2] for one in PULL_TITLE.finditer(command))
    return [title for title in found if title.strip()]


class FileNames(Struct, frozen=True):
    """Names of files below the folder that most of them share."""

    folder: str = ""
    """The folder they share, with its last slash."""

    def shorten_path(self, path: str, most: int = LONGEST_PATH) -> str:
        """A file's name on one line; what is cut off is its beginning."""
        path = path.removeprefix(self.folder) or path
        flat = format_one_line(path[-most - SPARE :], most + SPARE)
        return flat if len(flat) <= most else f"…{flat[-most:]}"

    def list_lines(self) -> list[str]:
        """The lines that say which folder names begin at."""
        return ["- files are named from:", *quote_names([self.folder], 300)] if self.folder else []


def find_names(turns: Iterable[Turn]) -> FileNames:
    """The shared folder of all files that were read or written."""
    given = list(dict.fromkeys(list_paths(turns)))
    folders = Counter(folder for path in given for folder in list_folders_above(path))
    shared = [
        folder for folder, n in folders.items() if n >= LEAST_SHARE * len(given) and folder.count("/") > FEWEST_PARTS
    ]
    return (
        FileNames(max(shared, key=lambda folder: (len(folder), folder), default="")) if len(given) > 1 else FileNames()
    )


def list_paths(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        for call in turn.calls:
            yield from (edit.path for edit in call.edits if edit.path.startswith("/"))
            if call.kind in ("read", "edit") and call.target.startswith("/"):
                yield call.target


def list_folders_above(path: str) -> Iterator[str]:
    """The folders a file stands in, each with its last slash."""
    at = path.rfind("/", 0, 4_096)
    while at > 0:
        yield path[: at + 1]
        at = path.rfind("/", 0, at)
