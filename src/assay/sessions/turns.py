"""Events of one file, folded into turns.

A `Builder` can stop after any event, hand out its turns, and go on from them later: everything it
looks up (open calls, reported tokens, prompts seen) is found again in the turns themselves.
"""

import re
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.sessions import shell
from assay.sessions.text import beginning, clip
from assay.types import About, Call, CallKind, Event, Mark, Part, Prompt, Reply, Result, Spend, Turn
from assay.types.signs import is_folder, joined

PROMPT = (16_000, 4_000)
REPLY = (1_500, 3_500)
SHORT_REPLY = (150, 350)
COMMAND = (3_000, 1_000)
TARGET = (4_000, 2_000)
DETAIL = 200
FAILED = (1_000, 2_000)
CHECKED = (200, 800)
FINE = (100, 200)
NOTHING = (0, 0)
"""Characters kept at the head and at the tail. Failures tell most; a file that was read tells nothing of the work."""
KEPT: dict[CallKind, tuple[int, int]] = {"agent": (500, 1_500), "ask": (500, 1_500), "plan": (500, 1_500)}
KEPT |= {"read": NOTHING, "search": NOTHING, "edit": NOTHING, "todo": NOTHING}

MOST_EARLY = 50
COMMITTERS = frozenset({"git", "jj", "hg"})
"""They print the ids of commits: of a commit, a cherry-pick, a rebase that goes on."""
ENDED = frozenset({"ok", "error"})
"""Only what ran to its end tells how its tests went."""
REPLY_MOST, TARGET_MOST = sum(REPLY), sum(TARGET)

PR_URL = re.compile(r"https://[\w.-]+/[\w./-]+/(?:pull|merge_requests)/\d+")


class Draft(Struct):
    """A turn that is still being written."""

    at: str = ""
    ended_at: str = ""
    prompt: Prompt | None = None
    replies: list[Reply] = []
    calls: list[Call] = []
    spends: list[Spend] = []
    marks: list[Mark] = []
    signs: tuple[str, ...] = ()

    def frozen(self) -> Turn:
        return Turn(
            at=self.at,
            ended_at=self.ended_at,
            prompt=self.prompt,
            replies=tuple(self.replies),
            calls=tuple(self.calls),
            spends=tuple(self.spends),
            marks=tuple(self.marks),
            signs=self.signs,
        )


class Tally(Struct):
    """What the records of one file said of their stream."""

    streams: dict[str, int] = {}
    """Events by stream id: a file may begin with records of another stream, the majority names it."""
    about: About = About()
    versions: list[str] = []
    branches: list[str] = []
    began_at: str = ""
    signs: tuple[str, ...] = ()
    """Of what comes next: its folder first."""
    early: dict[str, Result] = {}
    """Results whose calls were not yet read: some clients write them the other way round."""


class Builder:
    """Folds events into turns."""

    def __init__(self, tally: Tally | None = None, turns: tuple[Turn, ...] = ()) -> None:
        self.tally = tally or Tally()
        self.drafts: list[Draft] = []
        self.changed: set[int] = set()
        """Numbers of the turns that are not as they were handed in."""
        self.calls: dict[str, tuple[int, int]] = {}
        self.spends: dict[int, tuple[int, int]] = {}
        self.prompts: set[int] = set()
        self.stream = self.tally.about.stream
        self.events = 0
        """Events since the stream was last counted."""
        self.folds: dict[type, Callable[[Any], None]] = {
            Spend: self.spend,
            Call: self.call,
            Result: self.result,
            Reply: self.reply,
            Prompt: self.prompt,
            Mark: self.mark,
            About: self.about,
        }
        for turn in turns:
            self.restore(turn)

    def restore(self, turn: Turn) -> None:
        """Take up a turn that was handed out before."""
        here = len(self.drafts)
        self.drafts.append(
            Draft(
                at=turn.at,
                ended_at=turn.ended_at,
                prompt=turn.prompt,
                replies=list(turn.replies),
                calls=list(turn.calls),
                spends=list(turn.spends),
                marks=list(turn.marks),
                signs=turn.signs,
            )
        )
        self.calls.update((call.id, (here, n)) for n, call in enumerate(turn.calls))
        self.spends.update((spend.key, (here, n)) for n, spend in enumerate(turn.spends))
        if turn.prompt:
            self.prompts.add(turn.prompt.key)

    def turns(self) -> tuple[Turn, ...]:
        """All turns as they stand."""
        return tuple(draft.frozen() for draft in self.drafts)

    def take(self, event: Event) -> None:
        """Fold one event in."""
        self.events += 1
        self.folds[type(event)](event)

    def reply(self, reply: Reply) -> None:
        """The last words of a turn are kept nearly whole, those between two calls only in short."""
        replies = self.open(reply.at).replies
        if replies and len(replies[-1].text) > SHORT_REPLY[0] + SHORT_REPLY[1]:
            replies[-1] = replace(replies[-1], text=clip(replies[-1].text, *SHORT_REPLY))
        replies.append(replace(reply, text=clip(reply.text, *REPLY)) if len(reply.text) > REPLY_MOST else reply)

    def mark(self, mark: Mark) -> None:
        self.open(mark.at).marks.append(replace(mark, detail=beginning(mark.detail, DETAIL)))

    def open(self, at: str) -> Draft:
        """The turn that goes on now, made to reach up to `at`."""
        drafts = self.drafts
        if not drafts:
            drafts.append(Draft(at=at))
        draft = drafts[-1]
        draft.signs = joined(draft.signs, self.tally.signs)
        self.changed.add(len(drafts) - 1)
        if at > draft.ended_at:
            draft.ended_at = at
        return draft

    def touch(self, number: int, at: str) -> None:
        """Note that a turn changed, at some time."""
        draft = self.drafts[number]
        draft.signs = joined(draft.signs, self.tally.signs)
        self.changed.add(number)
        if at > draft.ended_at:
            draft.ended_at = at
        if not draft.at:
            draft.at = at

    def count(self) -> None:
        """Count the events since the last time for the stream they came under."""
        streams = self.tally.streams
        streams[self.stream] = streams.get(self.stream, 0) + self.events
        self.events = 0

    def prompt(self, prompt: Prompt) -> None:
        if prompt.key in self.prompts:
            return
        self.prompts.add(prompt.key)
        prompt = replace(prompt, text=clip(prompt.text, *PROMPT))
        last = self.drafts[-1] if self.drafts else None
        if last and last.prompt is None and not (last.replies or last.calls or last.spends):
            last.prompt = prompt  # only marks came before: a /clear belongs to what follows it
            last.at = prompt.at or last.at
        else:
            self.drafts.append(Draft(at=prompt.at, prompt=prompt))
        self.touch(len(self.drafts) - 1, prompt.at)

    def spend(self, spend: Spend) -> None:
        """The last report for a response wins, but never one with less output than before."""
        place = self.spends.get(spend.key)
        if place is None:
            draft = self.open(spend.at)
            self.spends[spend.key] = (len(self.drafts) - 1, len(draft.spends))
            draft.spends.append(spend)
            return
        turn, n = place
        before = self.drafts[turn].spends[n]
        if spend.usage.output >= before.usage.output and spend.usage != before.usage:
            self.drafts[turn].spends[n] = replace(before, usage=spend.usage)
            self.touch(turn, spend.at)

    def call(self, call: Call) -> None:
        if call.id in self.calls:
            return
        draft = self.open(call.at)
        self.calls[call.id] = (len(self.drafts) - 1, len(draft.calls))
        if call.command:
            runs = shell.read_command(call.command, call.dialect)
            call = replace(call, command=clip(call.command, *COMMAND), runs=runs)
        if len(call.target) > TARGET_MOST:
            call = replace(call, target=clip(call.target, *TARGET))
        draft.calls.append(call)
        if self.tally.early and (early := self.tally.early.pop(call.id, None)):
            self.result(early)

    def result(self, result: Result) -> None:
        place = self.calls.get(result.id)
        if place is None:
            if len(self.tally.early) < MOST_EARLY:
                self.tally.early[result.id] = replace(result, output=clip(result.output, *FAILED))
            return
        turn, n = place
        draft = self.drafts[turn]
        call = draft.calls[n]
        done = draft.calls[n] = ended(call, result)
        self.touch(turn, result.at)
        if done.runs and any(run.purpose == "pr" and run.outcome == "passed" for run in done.runs):
            for url in PR_URL.findall(result.output)[:1]:
                draft.marks.append(Mark(kind="pr", at=result.at, detail=url))

    def about(self, about: About) -> None:
        tally = self.tally
        known = tally.about
        tally.began_at = tally.began_at or about.at
        if about.stream and about.stream != self.stream:
            self.count()
            self.stream = about.stream
        tally.about = About(
            stream=self.stream,
            by=known.by or about.by,
            parent=known.parent or about.parent,
            forked_from=known.forked_from or about.forked_from,
            cwd=known.cwd or about.cwd,
            branch=about.branch or known.branch,
            version=about.version or known.version,
            title=about.title or known.title,
            model=about.model or known.model,
            origin=known.origin or about.origin,
            is_warmup=known.is_warmup or about.is_warmup,
        )
        if about.cwd or about.signs:
            folders = (about.cwd,) if about.cwd else tuple(filter(is_folder, tally.signs))
            tally.signs = (*folders, *(about.signs or (one for one in tally.signs if not is_folder(one))))
        for value, seen in ((about.version, tally.versions), (about.branch, tally.branches)):
            if value and value not in seen and len(seen) < 50:
                seen.append(value)

    def part(self, agent: str) -> Part:
        """What is known of the stream by now."""
        self.count()
        tally, about = self.tally, self.tally.about
        counted = {name: n for name, n in tally.streams.items() if name}
        stream = max(counted, key=lambda name: (counted[name], name)) if counted else ""
        return Part(
            agent=agent,
            stream=about.parent or stream,
            by=about.by,
            parent=about.parent,
            forked_from=about.forked_from,
            cwd=about.cwd,
            branch=about.branch,
            title=about.title,
            asked=first_words([draft.prompt for draft in self.drafts]),
            origin=about.origin,
            versions=tuple(tally.versions),
            branches=tuple(tally.branches),
            began_at=tally.began_at or next((draft.at for draft in self.drafts if draft.at), ""),
            first_at=min((draft.at for draft in self.drafts if draft.at), default=""),
            ended_at=max((draft.ended_at for draft in self.drafts), default=""),
            is_warmup=bool(about.by) and about.is_warmup,
            signs=reduce(joined, (draft.signs for draft in self.drafts), ()),
        )


def first_words(prompts: Iterable[Prompt | None]) -> str:
    """What the first prompt begins with, on one line."""
    first = next((prompt for prompt in prompts if prompt), None)
    return beginning(" ".join(beginning(first.text, 400).split()), 100).rstrip() if first else ""


def ended(call: Call, result: Result) -> Call:
    """The call with its result; a later result refines an earlier one."""
    code = call.exit_code if result.exit_code is None or call.kind != "shell" else result.exit_code
    has_failed = result.status not in ("ok", "open")
    keep = FAILED if has_failed else KEPT.get(call.kind, FINE)
    runs, commits = call.runs, call.commits
    if runs and result.status in ENDED and any(run.purpose for run in runs):
        runs = shell.conclude_runs(runs, code, has_failed, result.output)
        keep = FAILED if has_failed or any(run.outcome == "failed" for run in runs) else CHECKED
    if any(run.program in COMMITTERS and run.mutates for run in runs):
        commits = shell.find_commit_ids(result.output) or commits
    if result.commit and not any(one.startswith(result.commit[:7]) for one in commits):
        commits = (*commits, result.commit)
    return replace(
        call,
        status=result.status,
        exit_code=code,
        output=(clip(result.output, *keep) if keep != NOTHING else "") or call.output,
        ended_at=max(result.at, call.ended_at),
        edits=call.edits if result.edits is None else result.edits,
        runs=runs,
        commits=commits,
        agent=result.agent or call.agent,
    )
