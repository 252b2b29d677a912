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

from assay.sessions import shell, speech
from assay.sessions.text import clip_text, take_beginning
from assay.types import About, Call, CallKind, Event, Mark, Part, Prompt, Reply, Result, Spend, Turn
from assay.types.value import is_folder_sign, merge_signs

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
UNPARSED = re.compile(r"^\s*\+ CategoryInfo\s*: ParserError: \(:\)", re.MULTILINE)
"""PowerShell could not read the text it was given, and ran none of it, whatever the exit code."""
COMMITTERS = frozenset({"git", "jj", "hg"})
"""They print the ids of commits: of a commit, a cherry-pick, a rebase that goes on."""
ENDED = frozenset({"ok", "error"})
"""Only what ran to its end tells how its tests went."""
REPLY_MOST, TARGET_MOST = sum(REPLY), sum(TARGET)

PR_URL = re.compile(r"https://[\w.-]+/[\w./-]+/(?:pull|merge_requests)/\d+")


class TurnDraft(Struct):
    """A turn that is still being written."""

    at: str = ""
    ended_at: str = ""
    prompt: Prompt | None = None
    replies: list[Reply] = []
    calls: list[Call] = []
    spends: list[Spend] = []
    marks: list[Mark] = []
    signs: tuple[str, ...] = ()

    def freeze(self) -> Turn:
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


class StreamTally(Struct):
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


class TurnBuilder:
    """Folds events into turns."""

    def __init__(self, tally: StreamTally | None = None, turns: tuple[Turn, ...] = ()) -> None:
        self.tally = tally or StreamTally()
        self.drafts: list[TurnDraft] = []
        self.changed: set[int] = set()
        """Numbers of the turns that are not as they were handed in."""
        self.calls: dict[str, tuple[int, int]] = {}
        self.spends: dict[int, tuple[int, int]] = {}
        self.prompts: set[int] = set()
        self.stream = self.tally.about.stream
        self.events = 0
        """Events since the stream was last counted."""
        self.folds: dict[type, Callable[[Any], None]] = {
            Spend: self.add_spend,
            Call: self.add_call,
            Result: self.add_result,
            Reply: self.add_reply,
            Prompt: self.add_prompt,
            Mark: self.add_mark,
            About: self.add_about,
        }
        for turn in turns:
            self.restore_turn(turn)

    def restore_turn(self, turn: Turn) -> None:
        """Take up a turn that was handed out before."""
        here = len(self.drafts)
        self.drafts.append(
            TurnDraft(
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
        return tuple(draft.freeze() for draft in self.drafts)

    def take(self, event: Event) -> None:
        """Fold one event in."""
        self.events += 1
        self.folds[type(event)](event)

    def add_reply(self, reply: Reply) -> None:
        """The last words of a turn are kept nearly whole, those between two calls only in short."""
        replies = self.open_turn(reply.at).replies
        if replies and len(replies[-1].text) > SHORT_REPLY[0] + SHORT_REPLY[1]:
            replies[-1] = replace(replies[-1], text=clip_text(replies[-1].text, *SHORT_REPLY))
        replies.append(replace(reply, text=clip_text(reply.text, *REPLY)) if len(reply.text) > REPLY_MOST else reply)

    def add_mark(self, mark: Mark) -> None:
        self.open_turn(mark.at).marks.append(replace(mark, detail=take_beginning(mark.detail, DETAIL)))

    def open_turn(self, at: str) -> TurnDraft:
        """The turn that goes on now, made to reach up to `at`."""
        drafts = self.drafts
        if not drafts:
            drafts.append(TurnDraft(at=at))
        draft = drafts[-1]
        draft.signs = merge_signs(draft.signs, self.tally.signs)
        self.changed.add(len(drafts) - 1)
        if at > draft.ended_at:
            draft.ended_at = at
        return draft

    def touch_turn(self, number: int, at: str) -> None:
        """Note that a turn changed, at some time."""
        draft = self.drafts[number]
        draft.signs = merge_signs(draft.signs, self.tally.signs)
        self.changed.add(number)
        if at > draft.ended_at:
            draft.ended_at = at
        if not draft.at:
            draft.at = at

    def count_events(self) -> None:
        """Count the events since the last time for the stream they came under."""
        streams = self.tally.streams
        streams[self.stream] = streams.get(self.stream, 0) + self.events
        self.events = 0

    def add_prompt(self, prompt: Prompt) -> None:
        if prompt.key in self.prompts:
            return
        self.prompts.add(prompt.key)
        prompt = replace(prompt, text=clip_text(prompt.text, *PROMPT))
        last = self.drafts[-1] if self.drafts else None
        if last and last.prompt is None and not (last.replies or last.calls or last.spends):
            last.prompt = prompt  # only marks came before: a /clear belongs to what follows it
            last.at = prompt.at or last.at
        else:
            self.drafts.append(TurnDraft(at=prompt.at, prompt=prompt))
        self.touch_turn(len(self.drafts) - 1, prompt.at)

    def add_spend(self, spend: Spend) -> None:
        """The last report for a response wins, but never one with less output than before."""
        place = self.spends.get(spend.key)
        if place is None:
            draft = self.open_turn(spend.at)
            self.spends[spend.key] = (len(self.drafts) - 1, len(draft.spends))
            draft.spends.append(spend)
            return
        turn, n = place
        before = self.drafts[turn].spends[n]
        if spend.usage.output >= before.usage.output and spend.usage != before.usage:
            self.drafts[turn].spends[n] = replace(before, usage=spend.usage)
            self.touch_turn(turn, spend.at)

    def add_call(self, call: Call) -> None:
        if call.id in self.calls:
            return
        draft = self.open_turn(call.at)
        self.calls[call.id] = (len(self.drafts) - 1, len(draft.calls))
        if call.command:
            runs = shell.read_command(call.command, call.dialect)
            call = replace(call, command=clip_text(call.command, *COMMAND), runs=runs)
        if len(call.target) > TARGET_MOST:
            call = replace(call, target=clip_text(call.target, *TARGET))
        draft.calls.append(call)
        if self.tally.early and (early := self.tally.early.pop(call.id, None)):
            self.add_result(early)

    def add_result(self, result: Result) -> None:
        place = self.calls.get(result.id)
        if place is None:
            if len(self.tally.early) < MOST_EARLY:
                self.tally.early[result.id] = replace(result, output=clip_text(result.output, *FAILED))
            return
        turn, n = place
        draft = self.drafts[turn]
        call = draft.calls[n]
        done = draft.calls[n] = end_call(call, result)
        self.touch_turn(turn, result.at)
        if done.runs and any(run.purpose == "pr" and run.outcome == "passed" for run in done.runs):
            for url in PR_URL.findall(result.output)[:1]:
                draft.marks.append(Mark(kind="pr", at=result.at, detail=url))

    def add_about(self, about: About) -> None:
        tally = self.tally
        known = tally.about
        tally.began_at = tally.began_at or about.at
        if about.stream and about.stream != self.stream:
            self.count_events()
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
            folders = (about.cwd,) if about.cwd else tuple(filter(is_folder_sign, tally.signs))
            tally.signs = (*folders, *(about.signs or (one for one in tally.signs if not is_folder_sign(one))))
        for value, seen in ((about.version, tally.versions), (about.branch, tally.branches)):
            if value and value not in seen and len(seen) < 50:
                seen.append(value)

    def part(self, agent: str) -> Part:
        """What is known of the stream by now."""
        self.count_events()
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
            asked=find_first_words([draft.prompt for draft in self.drafts]),
            origin=about.origin,
            versions=tuple(tally.versions),
            branches=tuple(tally.branches),
            began_at=tally.began_at or next((draft.at for draft in self.drafts if draft.at), ""),
            first_at=min((draft.at for draft in self.drafts if draft.at), default=""),
            ended_at=max((draft.ended_at for draft in self.drafts), default=""),
            is_warmup=bool(about.by) and about.is_warmup,
            signs=reduce(merge_signs, (draft.signs for draft in self.drafts), ()),
        )


def find_first_words(prompts: Iterable[Prompt | None]) -> str:
    """What the first prompt begins with in the person's own words, on one line; of a template alone its own."""
    for prompt in filter(None, prompts):
        pieces = [piece for piece in speech.split_prompt(prompt) if piece.owner != "client"]
        typed = "".join(piece.text for piece in pieces if piece.owner == "typed")
        said = typed if any(map(str.isalnum, typed)) else "".join(piece.text for piece in pieces)
        if any(map(str.isalnum, said)):
            return take_beginning(" ".join(take_beginning(said, 400).split()), 100).strip()
    return ""


def end_call(call: Call, result: Result) -> Call:
    """The call with its result; a later result refines an earlier one."""
    if call.dialect == "powershell" and result.status == "ok" and UNPARSED.search(result.output):
        result = replace(result, status="error")
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
        output=(clip_text(result.output, *keep) if keep != NOTHING else "") or call.output,
        ended_at=max(result.at, call.ended_at),
        edits=call.edits if result.edits is None else result.edits,
        runs=runs,
        commits=commits,
        agent=result.agent or call.agent,
    )
