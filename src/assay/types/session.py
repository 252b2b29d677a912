"""What is said of sessions: boundaries, judgements, and a session as everybody reads it."""

from typing import Any, Literal

from assay.types.value import Row, Value

Intent = Literal["question", "investigation", "review", "plan", "small_change", "bug_fix", "feature", "refactor"]

Aim = Literal["read", "plan", "change"]
"""What an intent comes down to: to know something, to decide on something, to have something changed."""

BoundarySignal = Literal[
    "conversation",  # a new conversation: its context is empty
    "clear",  # /clear
    "topic",  # judge 1: the topic shifts
    "commit",  # a commit of the session's files, and the next prompt does not go on with them
    "person",  # somebody split here
]

JoinSignal = Literal[
    "merge",  # anti-fragmentation: soon after, on the same files
    "plan",  # an accepted plan was carried into a new conversation
    "person",  # somebody merged here
]

FailureKind = Literal["unresolved_error", "frustration", "scope_abandoned", "iteration_loop"]
EvidenceKind = Literal["explicit", "silent", "failure"]
JudgeStatus = Literal[
    "ok",
    "unclear",  # judged, and the evidence speaks for neither: nothing is claimed
    "in_progress",  # still going on
    "no_goal",
    "ungraded",
    "opted_out",
    "trivial",
    "excluded",  # a person took it out
]
ReworkState = Literal["yes", "no", "open", "unknown", "not_judged"]
CorrectionKind = Literal["split", "merge", "rename"]
VerdictKind = Literal[
    "landed",
    "not",
    "exclude",  # it shall not count
    "unclear",  # looked at, and there is no telling
    "none",  # what was said before is taken back
]


class Gap(Value, frozen=True):
    """What the topic judge says of the step from one prompt to the next."""

    turn: int
    """Index of the turn after the gap."""
    is_shift: bool
    confidence: float
    """Probability that a new goal begins here."""
    evidence: str


class Boundary(Row, frozen=True):
    """Why a session began."""

    signal: BoundarySignal
    confidence: float
    evidence: str


class Join(Row, frozen=True):
    """Why a session goes on where another one, `id`, had begun."""

    id: str
    signal: JoinSignal
    confidence: float
    evidence: str


class LedgerLine(Row, frozen=True):
    """A line of the ledger: a boundary, a join, or a commit after which the work went on."""

    at: str
    agent: str
    stream: str
    session: str
    """The session that began, was joined, or went on."""
    signal: str
    effect: Literal["began", "joined", "went_on"]
    confidence: float
    evidence: str


class FileLines(Value, frozen=True):
    """Lines of one file, as hashes in the order in which they were written or removed."""

    path: str
    """Absolute, or as it was said where that can't be known."""
    lines: bytes


class Segment(Value, frozen=True):
    """A run of turns of one stream after one goal; most sessions are one segment."""

    id: str
    """Of its first turn; a session has the id of its first segment."""
    agent: str
    stream: str
    project: str
    first: int
    last: int
    """Indexes of its first and last turn in the stream."""
    began_at: str
    ended_at: str
    boundary: Boundary
    files: tuple[str, ...] = ()
    """Those it modified."""
    read: tuple[str, ...] = ()
    """Those it looked at, and did not modify."""
    continues: str = ""
    """Stream whose accepted plan opened this one."""
    cleared_at: str = ""
    """When /clear was given, for a stream that begins with it."""
    went_on: tuple[LedgerLine, ...] = ()
    """Commits inside after which the work went on."""
    written: tuple[FileLines, ...] = ()
    """Lines that it added and left; see `sessions.written_lines`."""
    removed: tuple[FileLines, ...] = ()
    """Lines that it removed and had not added."""
    commits: tuple[str, ...] = ()
    """Ids of the commits made in it, in order, each once."""
    undone: tuple[str, ...] = ()
    """The `git revert`, `restore` and `reset` commands that ran in it."""
    committed_at: str = ""
    """When it last committed what it modified, where nothing was modified or said since."""
    person: str = ""
    """Hash of the signs of whoever worked in it; empty where only a folder is known."""


class Citation(Row, frozen=True):
    """A turn of the session, counted from 1, and words that stand in it."""

    turn: int
    quote: str


class Failure(Row, frozen=True):
    """A failure signal in the final turns."""

    kind: FailureKind
    turn: int
    quote: str


class Reason(Row, frozen=True):
    """One piece of evidence behind a judgement: `weight` is what it adds to the log-odds of completion."""

    kind: str
    turn: int
    quote: str
    weight: float


class LanguageJudgement(Row, frozen=True):
    """What the language judge says."""

    natural: str | None
    """ISO 639-1 code of what the person writes."""
    programming: str | None


class RubricJudgement(Row, frozen=True):
    """What the rubric judge says; without an intent there is no goal."""

    intent: Intent | None
    checks: dict[str, bool | None]
    """`None`: not applicable to the intent."""
    grade: str | None
    title: str
    summary: str
    reasons: tuple[Reason, ...] = ()
    aim: Aim | None = None
    """Surer than the intent, which may be one of several that look alike."""
    second_intent: Intent | None = None
    intent_chance: float | None = None
    """Of the intent; `None` where the judge tells none."""


class OutcomeJudgement(Row, frozen=True):
    """What the outcome judge says; `goal_complete` is `None` where it claims nothing.

    With a `confidence` the evidence speaks for neither (unclear); without one, `ungraded` says why.
    """

    goal_complete: bool | None
    confidence: float | None
    evidence: EvidenceKind | None
    citations: tuple[Citation, ...] = ()
    reasons: tuple[Reason, ...] = ()
    ungraded: str = ""


class ReworkResult(Row, frozen=True):
    """What became of a session's lines; `yes`: they were later replaced."""

    state: ReworkState
    by: str | None = None
    """Who replaced them, for people: "session 1a2b3c", "person Ada", "bot renovate", "revert 1a2b3c4"."""
    share: float | None = None
    """Of its lines, those that are gone."""
    lines: int | None = None
    """Lines of code and tests that reached a commit of the default branch."""
    gone: int | None = None
    commit: str | None = None
    """The later commit that took most of them."""
    session: str | None = None
    """The later session behind it."""
    at: str | None = None
    """When that was."""
    detail: str | None = None
    """Why it is so, where there is more to say."""


class SessionMark(Row, frozen=True):
    """A person's word on how a session ended, and what the judge had said of it."""

    verdict: VerdictKind
    why: str
    at: str
    sampled: bool
    """The session was drawn at random for an audit, and answered."""
    turn: str
    """Id of the turn it was said of; where an audit asked, of the session as it was drawn."""
    turns: int
    """Turns it had then; 0 where that is not known."""
    judged: bool | None
    """What the judge says of the goal."""
    judge_status: JudgeStatus
    """What the judge's word on it is worth."""
    answer: VerdictKind | None = None
    """What was answered when an audit asked about it, whatever was marked since; it alone corrects the score."""


class Session(Row, frozen=True):
    """A session as it is scored, listed and shown: what DESIGN calls "what machines read"."""

    id: str
    agent: str
    project: str
    branch: str
    models: list[str]
    streams: list[str]
    started_at: str
    ended_at: str
    prompts_at: list[str]
    boundary: Boundary
    merged_from: list[Join]
    facts: dict[str, Any]
    language: str | None
    programming_language: str | None
    intent: Intent | None
    judge_status: JudgeStatus
    ungraded_reason: str | None
    goal_complete: bool | None
    confidence: float | None
    evidence: EvidenceKind | None
    citations: list[Citation]
    reasons: list[Reason]
    """Every piece of evidence behind the outcome."""
    intent_reasons: list[Reason]
    """What speaks for the intent."""
    crushed: bool | None
    title: str
    summary: str
    grade: str | None
    checks: dict[str, bool | None]
    judge_versions: dict[str, str]
    judge: str = "offline"
    """Who judged it."""
    fallback: str | None = None
    """Why another judge than the one that was asked for had to do."""
    tenant: str | None = None
    marked: SessionMark | None = None
    """What a person said of it: `judge_status`, `goal_complete` and `crushed` are theirs, all else is the judge's."""
    aim: Aim | None = None
    """What the intent comes down to; surer than the intent."""
    second_intent: Intent | None = None
    intent_chance: float | None = None
    repository: str | None = None
    """The folder that stands for its project: one for all clones, work trees, subfolders and spellings."""
    person: str | None = None
    """Whose it is, by the name they chose; `None` for one that was told here."""
    machine: str | None = None
    """From where it was shipped; `None` for one that was told here."""


class PersonCorrection(Value, frozen=True):
    """A person's correction of the ledger; it wins over every later run.

    `turn` is the id of the turn it is about: the first of what is split off, merged or renamed.
    """

    kind: CorrectionKind
    turn: str
    into: str = ""
    """For a merge: id of a turn of the session it goes on."""
    title: str = ""
    at: str = ""


class PersonVerdict(Value, frozen=True):
    """A person's word on how a session ended; it wins over every judge, and over rework.

    `turn` is the id of the turn it is about, the session's first: it goes with that turn wherever sessions are cut.
    """

    turn: str
    verdict: VerdictKind
    why: str = ""
    at: str = ""
    """ISO 8601, in UTC, to the second: of several that hold, the last one wins."""
    is_sampled: bool = False
    """An answer to an audit, of a session that was drawn at random; else a mark."""
    turns: int = 0
    """Turns the session had then."""


class AuditDraw(Value, frozen=True):
    """How sessions are drawn for audits: a seed, which never changes, and how many were asked for last."""

    seed: str
    wanted: int = 0
