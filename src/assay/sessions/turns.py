"""Events of one file, folded into turns.

A `Builder` can stop after any event, hand out its turns, and go on from them later: everything it
looks up (open calls, reported tokens, prompts seen) is found again in the turns themselves.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from assay.sessions import shell
from assay.sessions.text import clip
from assay.types import About, Call, Event, Mark, Part, Prompt, Reply, Result, Spend, Turn

PROMPT = (16_000, 4_000)
REPLY = (1_500, 3_500)
COMMAND = (3_000, 1_000)
TARGET = (4_000, 2_000)
OUTPUT_FINE = (200, 300)
OUTPUT_TELLING = (1_000, 2_000)
"""Characters kept at the head and at the tail. Errors, and results of tests, agents and people tell most."""

PR_URL = re.compile(r"https://[\w.-]+/[\w./-]+/(?:pull|merge_requests)/\d+")
TELLING = frozenset({"agent", "ask", "plan"})


class Draft(Struct):
    """A turn that is still being written."""

    at: str = ""
    ended_at: str = ""
    prompt: Prompt | None = None
    replies: list[Reply] = []
    calls: list[Call] = []
    spends: list[Spend] = []
    marks: list[Mark] = []

    def frozen(self) -> Turn:
        return Turn(
            at=self.at,
            ended_at=self.ended_at,
            prompt=self.prompt,
            replies=tuple(self.replies),
            calls=tuple(self.calls),
            spends=tuple(self.spends),
            marks=tuple(self.marks),
        )


class Tally(Struct):
    """What the records of one file said of their stream."""

    streams: dict[str, int] = {}
    """Events by stream id: a file may begin with records of another stream, the majority names it."""
    about: About = About()
    versions: list[str] = []
    branches: list[str] = []
    began_at: str = ""
    ended_at: str = ""


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
        match event:
            case Spend():
                self.spend(event)
            case Call():
                self.call(event)
            case Result():
                self.result(event)
            case Reply():
                self.open(event.at).replies.append(Reply(at=event.at, text=clip(event.text, *REPLY)))
            case Prompt():
                self.prompt(event)
            case Mark():
                self.open(event.at).marks.append(event)
            case About():
                self.about(event)
        tally = self.tally
        tally.streams[self.stream] = tally.streams.get(self.stream, 0) + 1

    def open(self, at: str) -> Draft:
        """The turn that goes on now, made to reach up to `at`."""
        if not self.drafts:
            self.drafts.append(Draft(at=at))
        self.touch(len(self.drafts) - 1, at)
        return self.drafts[-1]

    def touch(self, number: int, at: str) -> None:
        """Note that a turn changed, at some time."""
        draft = self.drafts[number]
        self.changed.add(number)
        draft.at = draft.at or at
        draft.ended_at = max(draft.ended_at, at)
        tally = self.tally
        if at:
            tally.began_at = tally.began_at or at
            tally.ended_at = max(tally.ended_at, at)

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
        draft.calls.append(
            replace(
                call,
                command=clip(call.command, *COMMAND),
                target=clip(call.target, *TARGET),
                runs=shell.read(call.command, call.dialect) if call.command else (),
            )
        )

    def result(self, result: Result) -> None:
        place = self.calls.get(result.id)
        if place is None:
            return
        turn, n = place
        draft = self.drafts[turn]
        call = draft.calls[n]
        done = ended(call, result)
        if done == call:
            return
        draft.calls[n] = done
        self.touch(turn, result.at)
        if any(run.purpose == "pr" and run.outcome == "passed" for run in done.runs):
            for url in PR_URL.findall(result.output)[:1]:
                draft.marks.append(Mark(kind="pr", at=result.at, detail=url))

    def about(self, about: About) -> None:
        tally = self.tally
        known = tally.about
        tally.began_at = tally.began_at or about.at
        if about.stream:
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
        )
        for value, seen in ((about.version, tally.versions), (about.branch, tally.branches)):
            if value and value not in seen and len(seen) < 50:
                seen.append(value)

    def first_words(self) -> str:
        """What the first prompt begins with: a title where nobody gave one."""
        first = next((draft.prompt for draft in self.drafts if draft.prompt), None)
        return " ".join(first.text[:400].split())[:100] if first else ""

    def part(self, agent: str) -> Part:
        """What is known of the stream by now."""
        tally, about = self.tally, self.tally.about
        counted = {name: n for name, n in tally.streams.items() if name}
        stream = max(counted, key=lambda name: (counted[name], name)) if counted else ""
        first = next((draft for draft in self.drafts if draft.calls or draft.replies), None)
        return Part(
            agent=agent,
            stream=about.parent or stream,
            by=about.by,
            parent=about.parent,
            forked_from=about.forked_from,
            cwd=about.cwd,
            branch=about.branch,
            title=about.title or self.first_words(),
            origin=about.origin,
            versions=tuple(tally.versions),
            branches=tuple(tally.branches),
            began_at=tally.began_at,
            ended_at=tally.ended_at,
            is_warmup=bool(about.by) and first is not None and is_warmup(first),
        )


def is_warmup(draft: Draft) -> bool:
    """Whether a sub-agent only warmed the cache: all its calls were cancelled as such."""
    return bool(draft.calls) and all(call.output == "Warmup" or call.status == "open" for call in draft.calls)


def ended(call: Call, result: Result) -> Call:
    """The call with its result; a later result refines an earlier one."""
    code = call.exit_code if result.exit_code is None else result.exit_code
    failed = result.status not in ("ok", "open")
    runs = shell.conclude(call.runs, code, failed, result.output) if call.runs else ()
    commits = call.commits
    if any(run.purpose == "commit" for run in runs):
        commits = shell.commit_ids(result.output) or commits
    if result.commit and not any(id.startswith(result.commit[:7]) for id in commits):
        commits = (*commits, result.commit)
    telling = failed or call.kind in TELLING or any(run.purpose for run in runs)
    return replace(
        call,
        status=result.status,
        exit_code=code,
        output=clip(result.output, *(OUTPUT_TELLING if telling else OUTPUT_FINE)) or call.output,
        ended_at=max(result.at, call.ended_at),
        edits=call.edits if result.edits is None else result.edits,
        runs=runs,
        commits=commits,
        agent=result.agent or call.agent,
    )
