"""What a lake holds: a class for each table, a field for each column, and what it means below it.

Times are text as records write them (ISO 8601, UTC). What is not known is null, never 0. A column is added without
a new `FORMAT`; one that is renamed, dropped or means something else raises it.
"""

from datetime import date

from msgspec import Struct

FORMAT = 1
"""Of the whole lake: one of a later format is not read."""


class LineAge(Struct, frozen=True, kw_only=True):
    """Lines of one session that were followed for the same time."""

    days: float
    """For how long they were followed."""
    removed: bool
    """They were removed then; else they may live on."""
    lines: int


class CitedTurn(Struct, frozen=True, kw_only=True):
    """A turn of the session, counted from 1, and words that stand in it."""

    turn: int
    quote: str


class WeighedReason(Struct, frozen=True, kw_only=True):
    """One piece of evidence behind a judgement."""

    kind: str
    turn: int
    quote: str
    weight: float


class SessionColumns(Struct, frozen=True, kw_only=True):
    """`sessions`: a row for each session, by month of its beginning, in order of time."""

    id: str
    agent: str
    began_at: str
    """When its first segment began; rows are in order of this, agent and id."""
    ended_at: str
    started_at: str
    """As reports tell it."""
    day: date | None
    """On which it began, in the lake's time zone."""
    folder: str
    """In which it was worked: `--project` looks here."""
    project: str | None
    """The folder that stands for its repository."""
    branch: str | None
    model: str | None
    """All its models, by name."""
    intent: str | None
    """What it was after; where the eight intents are not told apart, what it comes down to."""
    language: str | None
    tenant: str | None
    person: str | None
    machine: str | None
    title: str
    judge: str
    judged_by: str
    """Judge and versions as JSON: sessions with another one make no common score."""
    judge_status: str
    goal_complete: bool | None
    crushed: bool | None
    """Whether it landed; null where it does not count."""
    confidence: float | None
    rework: str
    """What became of its lines: yes, no, open, unknown, not_judged."""
    rework_detail: str
    exclusion: str | None
    """Why it does not count."""
    steps: str
    """The steps of the waterfall that it is left after, in order, with blanks between."""
    lost_at: str | None
    """The step after which it is not left."""
    lost_why: str | None
    obstacle: str | None
    """The kind of reason that held it back."""
    advice: str | None
    fallback: str | None
    """Why another judge than the one that was asked for had to do."""
    is_drawable: bool
    """Audits may draw it."""
    is_answered: bool
    """An audit asked about it."""
    is_lost: bool
    """It had crushed in the report before the export, and was replaced since."""
    chance: float
    """The judge's chance that it landed; where it gave none, what it says of the goal."""
    grade: str | None
    """Of its prompts."""
    goal_explicit: bool | None
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None
    """Checks of its prompts; null where one does not apply."""
    turns: int
    tokens: int | None
    """All tokens, those from the cache included."""
    cost_usd: float | None
    active_s: float | None
    lines_added: int | None
    lines_removed: int | None
    went_on: int
    """Commits in it after which the work went on."""
    ages: list[LineAge]
    """Of its lines that reached a commit."""
    body: str
    """The session as `assay sessions --json` prints it."""


class JudgementColumns(Struct, frozen=True, kw_only=True):
    """`judgements`: what was judged of each session, and on what evidence."""

    session: str
    agent: str
    judge: str
    judge_versions: str
    """As JSON."""
    judge_status: str
    ungraded_reason: str | None
    goal_complete: bool | None
    confidence: float | None
    evidence: str | None
    intent: str | None
    intent_chance: float | None
    aim: str | None
    second_intent: str | None
    grade: str | None
    marked: str | None
    """A person's verdict; it wins over the judge's."""
    failure_signals: list[str]
    citations: list[CitedTurn]
    reasons: list[WeighedReason]


class LedgerColumns(Struct, frozen=True, kw_only=True):
    """`ledger`: where sessions begin, were joined and went on, by month, in order of time."""

    at: str
    session: str
    """The session that began, was joined, or went on."""
    effect: str
    stream: str
    n: int
    """Place among the lines of one session."""
    agent: str
    """Of the session it stands in, as is `of`."""
    of: str
    signal: str
    confidence: float
    evidence: str
    line: str
    """The line as `assay sessions --json` prints it."""


class StreamColumns(Struct, frozen=True, kw_only=True):
    """`streams`: conversations that the sessions were cut from, by month of their beginning."""

    agent: str
    id: str
    folder: str
    began_at: str
    ended_at: str
    is_shipped: bool
    """By another machine; of these there is a row for each session that stands in it."""


class TurnColumns(Struct, frozen=True, kw_only=True):
    """`turns`: facts of each turn of each session, by month of the session; words only where they were asked for."""

    session: str
    agent: str
    turn: int
    """Counted from 1, as citations count."""
    at: str
    ended_at: str
    prompt_kind: str | None
    """Null where nobody said anything."""
    prompt_chars: int
    images: int
    replies: int
    reply_chars: int
    calls: int
    failed_calls: int
    edits: int
    lines_added: int
    lines_removed: int
    commits: int
    models: list[str]
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    marks: list[str]
    prompt: str | None
    """What the person said, redacted; null unless words were asked for."""
    reply: str | None
    """What the agent said, redacted; null unless words were asked for."""


class QualityColumns(Struct, frozen=True, kw_only=True):
    """`quality`: how well each session was run, a row for each dimension and one for `overall_quality`."""

    session: str
    agent: str
    profile: str
    profile_version: str
    dimension: str
    score: float | None
    """0 to 1, or 0 to 3 for a category; null where it was not judged."""
    label: str | None
    coverage: float | None
    ungraded: str
    judge: str
    rationale: str | None
    """Null unless words were asked for."""


class TrialColumns(Struct, frozen=True, kw_only=True):
    """`evaluations`: the trials of recorded runs, in one part for each run."""

    run: str
    task: str
    arm: str
    stage: str
    repeat: int
    state: str
    checks: int
    checks_passed: int
    judge01: float | None
    tokens: int | None
    tool_calls: int | None
    steps: int | None
    wall_s: float | None
    usd: float | None
    attempts: int
    lost: int


TABLES: dict[str, type[Struct]] = {
    "sessions": SessionColumns,
    "judgements": JudgementColumns,
    "ledger": LedgerColumns,
    "streams": StreamColumns,
    "turns": TurnColumns,
    "quality": QualityColumns,
    "evaluations": TrialColumns,
}
"""Every table of a lake, by the folder that it lies in."""
