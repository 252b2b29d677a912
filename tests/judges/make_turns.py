"""Sessions made by hand for the judges, and one way to ask each of them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from hypothesis import settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from assay.judges import offline
from assay.types import (
    Call,
    CallKind,
    CallStatus,
    Edit,
    Failure,
    FailureKind,
    Gap,
    Intent,
    LanguageJudgement,
    Mark,
    MarkKind,
    Outcome,
    OutcomeJudgement,
    Part,
    Prompt,
    PromptKind,
    Purpose,
    Reply,
    RubricJudgement,
    Run,
    Stream,
    Turn,
)

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
MINUTES = 10.0
"""From one prompt to the next, unless a test says otherwise."""
DAY = 24 * 60.0

Happened = str | Call | Mark
"""What follows a prompt: words of the agent, a call, a mark."""


# --- the judges -------------------------------------------------------------------------------


def topic_of(turns: Sequence[Turn]) -> tuple[Gap, ...]:
    about = Part(agent="claude-code", stream="s1")
    stream = Stream(id="s1", agent="claude-code", files=(), about=about, turns=tuple(turns))
    return offline.topic(stream)


def language_of(turns: Sequence[Turn]) -> LanguageJudgement:
    return offline.language(turns)


def rubric_of(turns: Sequence[Turn]) -> RubricJudgement:
    return offline.rubric(turns)


def outcome_of(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure] = (), after: Prompt | None = None
) -> OutcomeJudgement:
    return offline.outcome(turns, intent, failures, after)


# --- turns ------------------------------------------------------------------------------------


class Step(Struct, frozen=True):
    """A prompt and what followed, not yet placed in time."""

    prompt: dict[str, Any] | None
    done: tuple[Happened, ...]


def asked(text: str | None, *done: Happened, **prompt: Any) -> Step:
    """A prompt, and the agent's words, calls and marks in order; `text=None` is a turn that nobody began."""
    return Step(None if text is None else {"text": text, **prompt}, done)


def session(*steps: Step, apart: float = MINUTES) -> tuple[Turn, ...]:
    """The turns, so many minutes apart."""
    return tuple(placed(step, n, BEGAN + timedelta(minutes=apart) * n) for n, step in enumerate(steps))


def placed(step: Step, key: int, began: datetime) -> Turn:
    def at(second: int) -> str:
        return (began + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    timed = list(enumerate(step.done, 1))
    return Turn(
        at=at(0),
        ended_at=at(len(timed)),
        prompt=None if step.prompt is None else Prompt(at=at(0), key=key, **step.prompt),
        replies=tuple(Reply(at=at(n), text=one) for n, one in timed if isinstance(one, str)),
        calls=tuple(replace(one, at=at(n), ended_at=at(n)) for n, one in timed if isinstance(one, Call)),
        marks=tuple(replace(one, at=at(n)) for n, one in timed if isinstance(one, Mark)),
    )


def said_next(text: str) -> Prompt:
    return Prompt(at=(BEGAN + timedelta(days=1)).isoformat(), text=text, key=99)


# --- calls ------------------------------------------------------------------------------------


def edit(*paths: str, added: int = 5, removed: int = 2, how: Any = "update", status: Any = "ok") -> Call:
    edits = tuple(Edit(path=path, added=added, removed=removed, how=how) for path in paths)
    return Call(id=paths[0], at="", name="Edit", kind="edit", target=paths[0], edits=edits, status=status)


def look(path: str) -> Call:
    return Call(id=path, at="", name="Read", kind="read", target=path, status="ok")


def tool(kind: Any, target: str = "", status: Any = "ok", name: str = "") -> Call:
    return Call(id=kind, at="", name=name or kind.title(), kind=kind, target=target, status=status)


def shell(
    command: str, purpose: Any = None, outcome: Any = None, *, mutates: bool = False, output: str = "", status: Any = ""
) -> Call:
    """A command; one that failed is an error."""
    run = Run(program=command.partition(" ")[0], purpose=purpose, outcome=outcome, mutates=mutates)
    ended: Any = status or ("error" if outcome == "failed" else "ok")
    return Call(id=command, at="", name="Bash", kind="shell", command=command, runs=(run,), output=output, status=ended)


def checked(outcome: Any = "passed", output: str = "") -> Call:
    said = output or ("3 passed in 0.1s" if outcome == "passed" else "FAILED tests/test_till.py::test_sum")
    return shell("pytest -q", "test", outcome, output=said)


def committed(message: str = "sums") -> Call:
    return shell(f'git commit -am "{message}"', "commit", "passed", mutates=True, output=f"[main 1a2b3c4] {message}")


# --- anything ---------------------------------------------------------------------------------

QUICK = settings(max_examples=60, deadline=None)
WORDS = (
    "fix", "still broken", "thanks", "ok", "commit and push", "why?", "never mind", "```", "Error: boom", "もう一度",
    "为什么", "고쳐", "README.md", "git commit -m 'x", "https://x.y/pull/1", "#12", "<a>", "\n", "let me", "done:", "ß",
    "don’t", "/plan", "> quoted", "\x1b[31m", "\x00", "it works", "forget it", "root cause", "{", "- [ ]", "👍", "İ",
)  # fmt: skip
"""What judges listen for, and what breaks whoever slices text."""
INTENTS: tuple[Intent, ...] = get_args(Intent)
TIMES = ("", "no time", "2026-03-02T09:00:00Z", "2026-03-02T09:00:05.000Z", "2026-04-02", "0001-01-01T00:00:00")
PATHS = ("till/sum.py", "docs/plan.md", "README.md", "C:\\till\\sum.py", "", "/", "..")

texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=12), max_size=12).map(" ".join)
times = st.sampled_from(TIMES)
paths = st.sampled_from(PATHS) | st.text(max_size=6)
lines = st.integers(0, 200)


def one_of(literal: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(literal))


def several(one: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(one, max_size=most).map(tuple)


edits = st.builds(Edit, path=paths, added=lines, removed=lines, how=st.sampled_from(["create", "update", "delete"]))
runs = st.builds(
    Run,
    program=st.sampled_from(["git", "pytest", "cat", ""]),
    purpose=st.none() | one_of(Purpose),
    mutates=st.booleans(),
    paths=several(paths, 2),
    outcome=st.none() | one_of(Outcome),
)
calls = st.builds(
    Call,
    id=st.just("c"),
    at=times,
    ended_at=times,
    name=st.sampled_from(["Bash", "Edit", "ExitPlanMode", "EnterPlanMode"]),
    kind=one_of(CallKind),
    status=one_of(CallStatus),
    target=texts | paths,
    command=texts,
    output=texts,
    runs=several(runs, 2),
    edits=several(edits, 2),
    by=st.sampled_from(["", "a1"]),
)
prompts = st.builds(Prompt, at=times, text=texts, key=st.integers(0, 9), kind=one_of(PromptKind), images=lines)
marks = st.builds(Mark, kind=one_of(MarkKind), at=times, detail=texts)
failures = several(st.builds(Failure, kind=one_of(FailureKind), turn=st.integers(1, 4), quote=texts))


def any_turns(most: int = 5) -> st.SearchStrategy[tuple[Turn, ...]]:
    """Turns in any state, sensible or not."""
    turn = st.builds(
        Turn,
        at=times,
        ended_at=times,
        prompt=st.none() | prompts,
        replies=several(st.builds(Reply, at=times, text=texts), 2),
        calls=several(calls),
        marks=several(marks, 2),
    )
    return several(turn, most)
