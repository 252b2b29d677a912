"""Failure signals in the final three turns: an error nothing resolved, frustration, scope abandoned, a loop.

They read what people said and how tools ended. File contents, search results and logs that were merely read carry
the same words and mean nothing, so only commands whose outcome is known count, and a later success takes it back.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from assay.sessions import speech
from assay.sessions.calls import LANDING, find_telling_line, list_calls, list_made_edits
from assay.sessions.endings import Ending, find_ending
from assay.sessions.text import take_beginning
from assay.types import Call, Fact, Failure, Turn

VERSION = 4

FINAL_TURNS = 3
LOOP = 3
CHECKS = frozenset({"test", "build", "types"})
"""Linters complain of much that was there before."""
TIDYING = frozenset({"lint", "format"})
READERS = frozenset(
    "cat head tail less more bat nl zcat grep egrep fgrep zgrep rg ag ack find fd ls tree sed awk sort uniq cut tr jq "
    "yq diff cmp wc stat file strings which type test true false echo printf sleep cd pwd env git gh curl wget ping ps "
    "kill pkill lsof journalctl dmesg docker kubectl Get-Content Get-ChildItem Select-String gc gci sls dir".split()
)
"""Their errors are answers, not failures of the work."""
STACK = re.compile(
    r"Traceback \(most recent|^[ \t]+at \S.*:\d+|\b[A-Z]\w*(?:Error|Exception)\b|\bpanic: |^error(?:\[\w+\])?: |"
    r"^fatal: |segmentation fault|npm ERR!|Unhandled",
    re.MULTILINE | re.IGNORECASE,
)
DISMISSED = re.compile(
    r"pr[eé]-?exist|preesist|unrelated|already fail|known (?:issue|failure)|not (?:caused|related)|no relacionad"
    r"|não relacionad|sans rapport|schon vorher|bereits vor(?:her|handen)|не связан|既存|無関係|无关|無關|原有|기존",
    re.IGNORECASE,
)
COMPLAINTS = ("complains", "frustrated")
EARLY = 4
"""Words before "skip it" in its sentence, at most: behind more of them it is part of a request."""
QUOTE = 200
Spoken = Sequence[tuple[int, speech.Utterance]]
"""What the person said in the final turns, each with the number of its turn."""


class Failures(Fact, frozen=True):
    failure_signals: list[Failure]
    """Each with its turn, counted from 1, and a quote; any of them means that the goal was not completed."""


def fact(turns: Sequence[Turn]) -> Failures:
    asked = [(n, turn.prompt) for n, turn in enumerate(turns, 1) if turn.prompt and turn.prompt.kind != "shell"]
    first = asked[-FINAL_TURNS][0] if len(asked) >= FINAL_TURNS else 1
    # What the first prompt of all complains of was there before.
    said = [(n, speech.parse_own_words(prompt)) for n, prompt in asked[1:][-FINAL_TURNS:]]
    end = find_ending(turns)
    found = [
        *find_unresolved_error(turns, first, end),
        *find_frustration(turns, said),
        *find_abandoned_scope(turns, said, end),
        *find_iteration_loop(turns, first, said),
    ]
    return Failures(failure_signals=found)


def find_unresolved_error(turns: Sequence[Turn], first: int, end: Ending) -> Iterator[Failure]:
    """The service failed at the end; or the last run of a check failed; or the last command crashed."""
    if end.kind == "api_error" and not is_accepted(turns[end.turn :]):
        yield Failure(kind="unresolved_error", turn=end.turn, quote=take_beginning(end.quote, QUOTE))
        return
    for number, call in [one for one in list_failed_checks(turns) if one[0] >= first] or find_crash(turns):
        if not is_dismissed(turns[number - 1 :]) and not is_accepted(turns[number:]):
            yield Failure(kind="unresolved_error", turn=number, quote=find_telling_line(call))
            return


def list_failed_checks(turns: Sequence[Turn]) -> list[tuple[int, Call]]:
    """Checks whose last run failed, with nothing written and nothing landed since; the latest first."""
    last: dict[str, tuple[int, Call, bool]] = {}
    for number, turn in enumerate(turns, 1):
        for call in turn.calls:
            if call.status not in ("ok", "error"):
                continue
            if has_written(call) or has_passed(call, LANDING):
                last = {}
            for run in call.runs:
                if run.purpose in CHECKS and run.outcome:
                    last[run.purpose] = (number, call, run.outcome == "failed")
    return sorted(((n, call) for n, call, failed in last.values() if failed), key=lambda one: -one[0])


def find_crash(turns: Sequence[Turn]) -> list[tuple[int, Call]]:
    """The last command of the last turn, if it ran a program that ended with a stack trace or error message."""
    calls = [call for call in turns[-1].calls if not call.by] if turns else []
    for call in reversed(calls):
        if has_written(call):
            return []
        if call.kind == "shell":
            is_crash = call.status == "error" and not is_reading(call) and STACK.search(call.output)
            return [(len(turns), call)] if is_crash else []
    return []


def find_frustration(turns: Sequence[Turn], said: Spoken) -> Iterator[Failure]:
    """The person's patience ended, and nothing later shows that it was put right."""
    for number, words in reversed(said):
        if words.first("frustrated") and not is_pleased(words):
            if not is_accepted(turns[number:]) and not was_settled(turns[number - 1 :], CHECKS):
                yield Failure(kind="frustration", turn=number, quote=words.quote("frustrated"))
            return


def find_abandoned_scope(turns: Sequence[Turn], said: Spoken, end: Ending) -> Iterator[Failure]:
    """The person let go of it in words, or stopped the agent and never came back."""
    for number, words in reversed(said):
        lets_go = any(heard.word <= EARLY for heard in words.heard.get("drops", ())) and not is_pleased(words)
        if lets_go and not is_built(turns[number - 1 :]) and not is_accepted(turns[number:]):
            yield Failure(kind="scope_abandoned", turn=number, quote=words.quote("drops"))
            return
    is_stopped = end.kind in ("interrupted", "rejected") and not is_accepted(turns[end.turn :])
    if is_stopped and not was_settled(turns, CHECKS | LANDING):
        yield Failure(kind="scope_abandoned", turn=end.turn, quote=take_beginning(end.quote, QUOTE))


def find_iteration_loop(turns: Sequence[Turn], first: int, said: Spoken) -> Iterator[Failure]:
    """The same command failed three times or more without ever passing since, or three complaints end it."""
    for number, call in list_failing_again(turns, first):
        if not is_dismissed(turns[number - 1 :]) and not is_accepted(turns[number:]):
            yield Failure(kind="iteration_loop", turn=number, quote=find_telling_line(call))
            return
    complaints = [(n, words) for n, words in said if words.find_complaint() and not words.first("accepts")]
    if len(complaints) == LOOP:
        number, words = complaints[-1]
        if not was_settled(turns[number - 1 :], CHECKS):
            yield Failure(kind="iteration_loop", turn=number, quote=words.quote(*COMPLAINTS))


def list_failing_again(turns: Sequence[Turn], first: int) -> list[tuple[int, Call]]:
    """Commands that failed three times or more in the final turns with no success since; the latest first."""
    in_a_row: Counter[str] = Counter()
    last: dict[str, tuple[int, Call]] = {}
    for number, turn in enumerate(turns[first - 1 :], first):
        for call in turn.calls:
            if call.kind != "shell" or call.status not in ("ok", "error"):
                continue
            name = " ".join(call.command.split())
            if has_failed(call):
                in_a_row[name] += 1
                last[name] = (number, call)
            elif has_passed(call, CHECKS | LANDING):
                in_a_row.clear()
            else:
                in_a_row.pop(name, None)
    return sorted((last[name] for name, times in in_a_row.items() if times >= LOOP), key=lambda one: -one[0])


# --- what takes a signal back ---------------------------------------------------------------------


def is_dismissed(turns: Sequence[Turn]) -> bool:
    """The agent's last words say that what still fails is not of this work."""
    replies = [reply.text for turn in turns for reply in turn.replies if reply.text.strip()]
    return bool(replies) and bool(DISMISSED.search(replies[-1]))


def is_accepted(turns: Sequence[Turn]) -> bool:
    """The person says that it is fine, or wants it committed or pushed."""
    for turn in turns:
        if turn.prompt:
            said = speech.parse_own_words(turn.prompt)
            if is_pleased(said) or ("chores" in said.heard and not said.first(*COMPLAINTS)):
                return True
    return False


def is_pleased(said: speech.Utterance) -> bool:
    """It accepts, and not in one breath with a complaint."""
    sore = {heard.sentence for heard in said.heard.get("complains", ())}
    return any(heard.sentence not in sore for heard in said.heard.get("accepts", ()))


def was_settled(turns: Sequence[Turn], by: Set[str]) -> bool:
    """A run for one of these purposes passed after the last edit."""
    settled = False
    for call in list_calls(turns):
        settled = has_passed(call, by) or (settled and not has_written(call))
    return settled


def is_built(turns: Sequence[Turn]) -> bool:
    return any(has_written(call) or has_passed(call, LANDING) for call in list_calls(turns))


# --- calls ----------------------------------------------------------------------------------------


def has_written(call: Call) -> bool:
    """It edited files, by a tool or by the shell."""
    return bool(list_made_edits(call)) or (call.status == "ok" and any(run.mutates and run.paths for run in call.runs))


def has_passed(call: Call, purposes: Set[str]) -> bool:
    return any(run.purpose in purposes and run.outcome == "passed" for run in call.runs)


def has_failed(call: Call) -> bool:
    """A run of it failed, or it ended with an error that is no mere answer."""
    failed = {run.purpose for run in call.runs if run.outcome == "failed"}
    return bool(failed - TIDYING) if failed else call.status == "error" and not is_reading(call)


def is_reading(call: Call) -> bool:
    return all(run.program in READERS or run.purpose in TIDYING for run in call.runs)
