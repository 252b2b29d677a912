"""Failure signals in the final three turns: an error nothing resolved, frustration, scope abandoned, a loop.

They read what people said and how tools ended. File contents, search results and logs that were merely read carry
the same words and mean nothing, so only commands whose outcome is known count, and a later success takes it back.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from assay.sessions import speech
from assay.sessions.calls import made_edits
from assay.sessions.ending import Ending, ending
from assay.types import Call, Fact, Failure, Turn

VERSION = 1

FINAL_TURNS = 3
LOOP = 3
CHECKS = frozenset({"test", "build", "types"})
"""Linters complain of much that was there before."""
LANDING = frozenset({"commit", "push", "pr"})
READERS = frozenset(
    "cat head tail less more grep rg ag ack find fd ls tree sed awk jq yq diff cmp wc stat file which type test echo "
    "printf sleep cd pwd env git gh curl wget ping ps kill pkill lsof docker kubectl".split()
)
"""Their errors are answers, not failures of the work."""
STACK = re.compile(
    r"Traceback \(most recent|^\s+at \S.*:\d+|\b[A-Z]\w*(?:Error|Exception)\b|\bpanic: |^error(?:\[\w+\])?: |"
    r"^fatal: |segmentation fault|npm ERR!|Unhandled",
    re.MULTILINE | re.IGNORECASE,
)
TELLING = re.compile(r"error|fail|panic|exception|fatal|✗|✘|✕|not ok", re.IGNORECASE)
DISMISSED = re.compile(
    r"pre-?existing|unrelated|already fail|known (?:issue|failure)|not (?:caused|related)|既存|無関係|无关|原有|기존",
    re.IGNORECASE,
)
QUOTE = 200


class Failures(Fact, frozen=True):
    failure_signals: list[Failure]
    """Each with its turn, counted from 1, and a quote; any of them means that the goal was not completed."""


def fact(turns: Sequence[Turn]) -> Failures:
    asked = [n for n, turn in enumerate(turns, 1) if turn.prompt]
    first = asked[-FINAL_TURNS] if len(asked) >= FINAL_TURNS else 1
    end = ending(turns)
    found = [
        *unresolved_error(turns, first, end),
        *frustration(turns, first),
        *scope_abandoned(turns, first, end),
        *iteration_loop(turns, first),
    ]
    return Failures(failure_signals=found)


def unresolved_error(turns: Sequence[Turn], first: int, end: Ending) -> Iterator[Failure]:
    """The service failed at the end; or the last run of a check failed; or the last command crashed."""
    if end.kind == "api_error":
        yield Failure(kind="unresolved_error", turn=end.turn, quote=end.quote[:QUOTE])
        return
    if is_dismissed(turns):
        return
    for number, call in failed_checks(turns) or crashed(turns):
        if number >= first and not is_accepted_after(turns, number):
            yield Failure(kind="unresolved_error", turn=number, quote=telling_line(call))
            return


def failed_checks(turns: Sequence[Turn]) -> list[tuple[int, Call]]:
    """Checks whose last run failed, with nothing edited and nothing landed since."""
    last: dict[str, tuple[int, Call, bool]] = {}
    for number, turn in enumerate(turns, 1):
        for call in turn.calls:
            if call.status not in ("ok", "error"):
                continue
            if made_edits(call) or any(run.purpose in LANDING and run.outcome == "passed" for run in call.runs):
                last = {}
            for run in call.runs:
                if run.purpose in CHECKS and run.outcome:
                    last[run.purpose] = (number, call, run.outcome == "failed")
    return sorted(((n, call) for n, call, failed in last.values() if failed), key=lambda one: -one[0])


def crashed(turns: Sequence[Turn]) -> list[tuple[int, Call]]:
    """The last command of the last turn, if it ran a program that ended with a stack trace or error message."""
    number = len(turns)
    shells = [call for call in turns[-1].calls if call.kind == "shell" and not call.by] if turns else []
    if not shells or shells[-1].status != "error" or not shells[-1].runs:
        return []
    last = shells[-1]
    does_work = any(run.program not in READERS for run in last.runs)
    edited_since = any(made_edits(call) for call in turns[-1].calls[turns[-1].calls.index(last) :])
    return [(number, last)] if does_work and not edited_since and STACK.search(last.output) else []


def is_dismissed(turns: Sequence[Turn]) -> bool:
    """The agent's last words say that what still fails is not of this work."""
    replies = turns[-1].replies if turns else ()
    return bool(replies) and bool(DISMISSED.search(replies[-1].text))


def is_accepted_after(turns: Sequence[Turn], number: int) -> bool:
    """The person said later that it is fine, or had it committed or pushed."""
    for turn in turns[number:]:
        if turn.prompt:
            said = speech.read(turn.prompt.text)
            if said.first("accepts") or ("chores" in said.heard and not said.first("complains")):
                return True
    return False


def frustration(turns: Sequence[Turn], first: int) -> Iterator[Failure]:
    """The person's patience ended, and nothing later shows that it was put right."""
    for number in range(len(turns), first - 1, -1):
        prompt = turns[number - 1].prompt
        if prompt is None or number == 1:
            continue
        said = speech.read(prompt.text)
        if said.heard.get("frustrated"):
            if not is_accepted_after(turns, number) and not is_checked(turns[number - 1 :]):
                yield Failure(kind="frustration", turn=number, quote=said.quote("frustrated"))
            return


def is_checked(turns: Sequence[Turn]) -> bool:
    """A check passed after the last edit."""
    passed = False
    for turn in turns:
        for call in turn.calls:
            if made_edits(call):
                passed = False
            passed |= any(run.purpose in CHECKS and run.outcome == "passed" for run in call.runs)
    return passed


def scope_abandoned(turns: Sequence[Turn], first: int, end: Ending) -> Iterator[Failure]:
    """The person let go of it in words, or stopped the agent and never came back."""
    for number in range(len(turns), first - 1, -1):
        turn = turns[number - 1]
        if turn.prompt is None or number == 1:
            continue
        said = speech.read(turn.prompt.text)
        early = [heard for heard in said.heard.get("drops", ()) if heard.word <= 4]
        was_built = any(made_edits(call) for later in turns[number - 1 :] for call in later.calls)
        if early and not was_built and not is_accepted_after(turns, number):
            yield Failure(kind="scope_abandoned", turn=number, quote=said.quote("drops"))
            return
    if end.kind in ("interrupted", "rejected") and not has_landed(turns):
        yield Failure(kind="scope_abandoned", turn=end.turn, quote=end.quote[:QUOTE])


def has_landed(turns: Sequence[Turn]) -> bool:
    """Work was committed, or checked after the last edit, before the end."""
    landed = any(
        run.purpose in LANDING and run.outcome == "passed" for turn in turns for call in turn.calls for run in call.runs
    )
    return landed or is_checked(turns)


def iteration_loop(turns: Sequence[Turn], first: int) -> Iterator[Failure]:
    """The same command failed three times or more without ever passing since, or three complaints end it."""
    stuck = failing_again(turns, first)
    if stuck:
        number, call = stuck[-1]
        yield Failure(kind="iteration_loop", turn=number, quote=telling_line(call))
        return
    asked = [(n, turn.prompt) for n, turn in enumerate(turns, 1) if turn.prompt and turn.prompt.kind != "shell"][1:]
    last = [(n, speech.read(prompt.text)) for n, prompt in asked[-LOOP:]]
    complaints = [one for one in last if one[1].first("complains", "frustrated") and not one[1].first("accepts")]
    if len(complaints) == LOOP and not is_checked(turns[-1:]):
        number, said = complaints[-1]
        yield Failure(kind="iteration_loop", turn=number, quote=said.quote("complains", "frustrated"))


def failing_again(turns: Sequence[Turn], first: int) -> list[tuple[int, Call]]:
    """Commands that failed three times or more in the final turns, with no success of theirs or of a check since."""
    in_a_row: Counter[str] = Counter()
    last: dict[str, tuple[int, Call]] = {}
    for number, turn in enumerate(turns[first - 1 :], first):
        for call in turn.calls:
            if call.kind != "shell" or call.status not in ("ok", "error"):
                continue
            name = " ".join(call.command.split())
            if any(run.outcome == "failed" for run in call.runs) or (call.status == "error" and not is_reading(call)):
                in_a_row[name] += 1
                last[name] = (number, call)
            elif any(run.purpose in CHECKS and run.outcome == "passed" for run in call.runs):
                in_a_row.clear()
            else:
                in_a_row.pop(name, None)
    return [last[name] for name, times in in_a_row.items() if times >= LOOP]


def is_reading(call: Call) -> bool:
    return all(run.program in READERS for run in call.runs)


def telling_line(call: Call) -> str:
    """The line of an output that names the failure, else the command."""
    lines = [line.strip() for line in call.output.splitlines() if line.strip()]
    telling = [line for line in lines if TELLING.search(line)]
    return (telling or lines or [call.command])[-1][:QUOTE]
