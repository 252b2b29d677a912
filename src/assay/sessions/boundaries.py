"""Where a stream is cut into segments: /clear, a topic shift, a commit, a person. Never time alone, never /compact.

`cut` hears what the topic judge says of every gap between prompts; what belongs together again is found by `linking`.
"""

from collections.abc import Sequence, Set
from hashlib import blake2b

from msgspec import Struct

from assay.config import Boundaries
from assay.sessions import speech, written_lines
from assay.sessions.calls import has_committed, is_mutating, list_made_edits, list_shell_paths, list_written_files
from assay.sessions.paths import find_named_file, format_paths, make_absolute
from assay.types import Boundary, Call, Gap, LedgerLine, Prompt, Segment, Stream, Turn, Value
from assay.types.value import is_folder_sign

COMMIT_FLOOR = 0.25
"""Below this probability of a new goal, a commit does not close the session."""
COMMIT_CONFIDENCE = 0.5
"""In a boundary that only a commit suggests: on labelled streams a commit told nothing of what came next."""

SPLIT = Boundary(signal="person", confidence=1.0, evidence="a person split here")

LONGEST_CHORE, LONGEST_ANSWER = 14, 5
"""Words; a longer prompt that has such a phrase in it asks for more."""


class CommitNote(Value, frozen=True):
    """The commits of one turn, and what the session had modified by then."""

    at: str
    ids: tuple[str, ...]
    files: tuple[str, ...]

    def describe_commits(self) -> str:
        ids = ", ".join(one[:7] for one in self.ids[:3])
        return f"{f'commit {ids}' if ids else 'a commit'} of {format_paths(self.files)}"


class SegmentDraft(Struct):
    """A segment that is still growing."""

    id: str
    first: int
    boundary: Boundary
    edited: set[str] = set()
    by_shell: set[str] = set()
    looked_at: set[str] = set()
    has_modified: bool = False
    """Something else than git wrote a file: `git add` only names what was written before."""
    committed: CommitNote | None = None
    """What was committed since the last prompt."""
    is_handed_in: bool = False
    """Nothing was modified since then."""
    went_on: list[LedgerLine] = []

    def files(self, cwd: str) -> tuple[str, ...]:
        """The files modified so far."""
        written = list_written_files(self.edited, self.by_shell)
        return tuple(sorted({make_absolute(path, cwd) for path in written if path}))

    def read_files(self, cwd: str) -> tuple[str, ...]:
        """The files that were looked at, and not modified."""
        read = {make_absolute(path, cwd) for path in self.looked_at}
        return tuple(sorted(read.difference(self.files(cwd))))

    def take(self, turn: Turn, cwd: str) -> None:
        """Grow by a turn."""
        if turn.prompt:
            self.committed = None
            self.is_handed_in = False
        for call in turn.calls:
            if call.kind == "read" and call.target and call.status == "ok":
                self.looked_at.add(call.target)
            self.edited.update(edit.path for edit in list_made_edits(call))
            if call.runs:
                self.by_shell.update(list_shell_paths(call))
            is_modifying = bool(list_made_edits(call)) or is_writing(call)
            self.has_modified = self.has_modified or is_modifying
            self.is_handed_in = self.is_handed_in and not is_modifying
            if has_committed(call) and self.has_modified and (files := self.files(cwd)):
                before = self.committed.ids if self.committed else ()
                self.committed = CommitNote(at=call.ended_at or call.at, ids=(*before, *call.commits), files=files)
                self.is_handed_in = True


def hash_turn(agent: str, stream: str, turn: Turn) -> str:
    """The id of a turn, the same wherever its stream is read; a session has the id of its first turn."""
    mark = turn.prompt.key if turn.prompt else turn.at
    identity = f"{agent}\0{stream}\0{mark}".encode("utf-8", "surrogatepass")
    return blake2b(identity, digest_size=6).hexdigest()


def hash_person(signs: Sequence[str]) -> str:
    """Who worked in a stream, as far as its signs say more than a folder."""
    known = sorted(sign for sign in signs if not is_folder_sign(sign))
    return blake2b("\0".join(known).encode(), digest_size=6).hexdigest() if known else ""


def cut_segments(stream: Stream, gaps: Sequence[Gap], splits: Set[str], rules: Boundaries) -> tuple[Segment, ...]:
    """The segments of a stream: every turn is in one of them; only a turn with a prompt begins a new one."""
    opening = next((n for n, turn in enumerate(stream.turns) if turn.prompt), None)
    if opening is None and not any(turn.calls or turn.replies or turn.spends for turn in stream.turns):
        return ()
    return StreamCutter(stream, gaps, splits, rules).segments(opening or 0)


class StreamCutter:
    """What is known of one stream while it is cut."""

    def __init__(self, stream: Stream, gaps: Sequence[Gap], splits: Set[str], rules: Boundaries) -> None:
        self.stream = stream
        self.cwd = stream.about.cwd
        self.gaps = {gap.turn: gap for gap in gaps}
        self.splits = splits
        self.rules = rules
        self.cleared = find_clears(stream.turns)

    def find_turn_id(self, n: int) -> str:
        return hash_turn(self.stream.agent, self.stream.id, self.stream.turns[n])

    def segments(self, opening: int) -> tuple[Segment, ...]:
        """Cut, given the first turn with a prompt: what comes before it belongs to it."""
        drafts = [SegmentDraft(id=self.find_turn_id(0), first=0, boundary=self.explain_opening(opening))]
        for n, turn in enumerate(self.stream.turns):
            if n > opening and turn.prompt and (boundary := self.find_boundary(drafts[-1], n)):
                drafts.append(SegmentDraft(id=self.find_turn_id(n), first=n, boundary=boundary))
            drafts[-1].take(turn, self.cwd)
        ends = [draft.first for draft in drafts[1:]] + [len(self.stream.turns)]
        return tuple(self.build_segment(draft, end, opening) for draft, end in zip(drafts, ends, strict=True))

    def explain_opening(self, opening: int) -> Boundary:
        """Why the first segment began."""
        if any(self.find_turn_id(n) in self.splits for n in range(opening + 1)):
            return SPLIT
        if opening in self.cleared:
            return Boundary(signal="clear", confidence=1.0, evidence="the conversation began with /clear")
        return Boundary(signal="conversation", confidence=1.0, evidence="a new conversation")

    def find_boundary(self, draft: SegmentDraft, n: int) -> Boundary | None:
        """Why a segment begins at a prompt, if it does."""
        gap = self.gaps.get(n)
        if self.splits and self.find_turn_id(n) in self.splits:
            return SPLIT
        if n in self.cleared:
            return Boundary(signal="clear", confidence=1.0, evidence="/clear was given before this prompt")
        if gap and gap.is_shift:
            return Boundary(signal="topic", confidence=gap.confidence, evidence=f"topic shift: {gap.evidence}")
        return self.judge_commit(draft, self.stream.turns[n], gap)

    def judge_commit(self, draft: SegmentDraft, turn: Turn, gap: Gap | None) -> Boundary | None:
        """Whether the commit before a prompt closes the segment; where it does not, the segment notes why."""
        done = draft.committed
        if done is None or self.rules.commit == "off":
            return None
        if self.rules.commit == "hard":
            return Boundary(signal="commit", confidence=1.0, evidence=done.describe_commits())
        chance = gap.confidence if gap else COMMIT_CONFIDENCE
        if not (why := explain_continuation(done.files, turn, self.cwd, gap)):
            told = f"{done.describe_commits()}; the next prompt turns to other work"
            return Boundary(signal="commit", confidence=max(chance, COMMIT_CONFIDENCE), evidence=told)
        draft.went_on.append(
            LedgerLine(
                at=done.at,
                agent=self.stream.agent,
                stream=self.stream.id,
                session=draft.id,
                signal="commit",
                effect="went_on",
                confidence=1.0 - chance,
                evidence=f"{done.describe_commits()}; {why}",
            )
        )
        return None

    def seals_by_commit(self, draft: SegmentDraft) -> bool:
        """Whether a commit was the last thing of note that happened in it, where commits end sessions at all."""
        return draft.is_handed_in and self.rules.commit != "off"

    def build_segment(self, draft: SegmentDraft, end: int, opening: int) -> Segment:
        """The segment up to the turn before `end`."""
        turns = self.stream.turns[draft.first : end]
        began_at = (turns[0].prompt.at if turns[0].prompt else "") or turns[0].at
        spoken = self.stream.turns[max(draft.first, opening)].prompt
        is_plan = draft.first == 0 and spoken is not None and spoken.kind == "plan"
        lines = written_lines.build_book(turns, self.cwd)
        return Segment(
            id=draft.id,
            agent=self.stream.agent,
            stream=self.stream.id,
            project=self.cwd,
            first=draft.first,
            last=end - 1,
            began_at=began_at,
            ended_at=max(began_at, *(max(turn.at, turn.ended_at) for turn in turns)),
            boundary=draft.boundary,
            files=draft.files(self.cwd),
            read=draft.read_files(self.cwd),
            continues=spoken.previous if spoken and is_plan else "",
            cleared_at=self.cleared.get(max(draft.first, opening), ""),
            went_on=tuple(draft.went_on),
            written=lines.list_written(),
            removed=lines.list_removed(),
            commits=written_lines.list_commits(turns),
            undone=written_lines.list_undoing_commands(turns),
            committed_at=draft.committed.at if draft.committed and self.seals_by_commit(draft) else "",
            person=hash_person(self.stream.about.signs),
        )


def find_clears(turns: Sequence[Turn]) -> dict[int, str]:
    """Turns whose prompt came after /clear, and when that was given.

    A mark stands in the turn that was going on: given after its prompt, it is about the next one.
    """
    found: dict[int, str] = {}
    waiting: list[str] = []
    for n, turn in enumerate(turns):
        waiting += [mark.at for mark in turn.marks if mark.kind == "clear"]
        if turn.prompt is None:
            continue
        said_at = turn.prompt.at
        before = [at for at in waiting if not said_at or at <= said_at]
        if before:
            found[n] = max(before)
        waiting = [at for at in waiting if said_at and at > said_at]
    if waiting and not any(turn.prompt for turn in turns):
        found[0] = max(waiting)
    return found


def explain_continuation(files: Sequence[str], turn: Turn, cwd: str, gap: Gap | None) -> str:
    """Why a turn after a commit of these files goes on with the same work, or nothing."""
    if turn.prompt and is_follow_up(turn.prompt):
        return "the next prompt follows up on it"
    if name := find_touched_file(files, turn, cwd):
        return f"the next turn is about {name} again"
    if how := describe_hand_in(turn):
        return f"the next turn {how}"
    if gap and gap.confidence < COMMIT_FLOOR:
        return f"the topic goes on ({gap.confidence:.0%} likely to be a new one)"
    return ""


def is_follow_up(prompt: Prompt) -> bool:
    """Whether a prompt only asks to hand work in, answers, or finds fault with what was done."""
    said = speech.parse_own_words(prompt)
    if said.words <= LONGEST_CHORE and "chores" in said.heard:
        return True
    return bool(said.find_complaint()) or (said.words <= LONGEST_ANSWER and bool(said.first("agrees", "accepts")))


def find_touched_file(files: Sequence[str], turn: Turn, cwd: str) -> str:
    """A file among these that the turn writes, reads or names, said in short; empty for none."""
    known = set(files)
    for call in turn.calls:
        paths = [edit.path for edit in call.edits]
        paths += [path for run in call.runs for path in run.paths]
        paths += [call.target] if call.kind in ("read", "edit") else []
        if same := next((path for one in paths if one and (path := make_absolute(one, cwd)) in known), ""):
            return format_paths([same])
    words = [turn.prompt.text if turn.prompt else "", *(call.command for call in turn.calls)]
    return next((name for text in words if text and (name := find_named_file(files, text))), "")


def describe_hand_in(turn: Turn) -> str:
    """How the turn hands work in before it edits anything; empty where it does not."""
    for call in turn.calls:
        for run in call.runs:
            if run.purpose in ("push", "pr"):
                return "pushes it" if run.purpose == "push" else "opens a pull request"
        if list_made_edits(call) or is_writing(call):
            return ""
    return ""


def is_writing(call: Call) -> bool:
    """Whether a command other than git's wrote files."""
    return is_mutating(call) and any(run.paths and run.program != "git" for run in call.runs)
