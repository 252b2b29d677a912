"""Which habits go with not landing in a person's own sessions, how sure that is, and what to tell the agent.

A habit is a prompt check that fails or a quality dimension that is low. Sessions with it are tested against those
without, and the p values corrected for how many habits there are. What ended sessions that did not land is counted,
not tested: by definition none of those landed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from assay.scores.difference import (
    Difference,
    Direction,
    are_enough,
    compare_sessions,
    correct_p_values,
    pick_direction,
)
from assay.scores.interval import measure_interval
from assay.scores.prism import Score, name_judge, score_sessions, select_counted, split_judge
from assay.scores.reasons import REASONS, find_obstacle
from assay.types import Document, Row, Session
from assay.types.quality import Dimension, Profile, Quality

FEWEST = 20
"""Counted sessions from which on habits are looked for."""
FEWEST_EACH = 5
"""Of those, how many must have landed, and how many not."""
SHOWN = 2
MOST_REASONS = 5
GOOD, GOOD_CATEGORY = 0.7, 2
"""From here on a dimension is not low: the third of four bands and of four categories."""
LOOKED_AT = frozenset({"verification_requested", "process_adherence", "error_handling"})
"""Habits that show in what the judge of outcomes looks at too, so that some of a difference is its own doing."""

CHECK_HABITS = {
    "goal_explicit": (
        "the request names no clear goal",
        "Before you change anything, restate the goal in one sentence; if it is not clear, ask.",
    ),
    "scope_bounded": (
        "the request sets no bounds",
        "Say which files and behaviour you will change and which you will leave alone, and keep to that.",
    ),
    "references_concrete": (
        "the request names no file, function or error",
        "Where a request names no file, function or error, find the place it is about and name it before you edit.",
    ),
    "context_sufficient": (
        "the request leaves out what is needed to do it",
        "If something you need is neither in the request nor in the repository, ask one short question.",
    ),
    "verification_requested": (
        "nobody asked for a check of the result",
        "After every change run the tests, linter and type checker that cover it, and show the result at the end.",
    ),
    "root_cause_oriented": (
        "the cause was not asked for",
        "For a bug, reproduce it first, state its root cause, and fix that, not the symptom.",
    ),
    "plan_first": (
        "no plan came first",
        "For work on more than a few files write a short plan, and wait for a yes before you edit.",
    ),
}
"""Prompt checks that fail: what that is, and a sentence for the agent."""

DIMENSION_HABITS = {
    "tool_efficiency": (
        "wrong tools, or failing calls made again",
        "Read, search and edit files with the tools for that, not the shell; change a call that fails.",
    ),
    "process_adherence": (
        "little order: no plan, edits without reading, nothing checked",
        "Keep a list of steps, read a file before you edit it, and check the result after the last edit.",
    ),
    "context_efficiency": (
        "files read again, or for nothing",
        "Do not read a file again that has not changed, and leave wide searches to a sub-agent.",
    ),
    "error_handling": (
        "errors passed over, or tried again unchanged",
        "When the same thing fails twice, stop, state the cause, and take another way.",
    ),
}
"""Dimensions of the profile `enhanced` that are low; those that ask how a session ended are no habits."""
PROFILE = "enhanced"

FINISH = "Do not stop while the last command or check fails: fix it and run it again, or say why that is expected."
CLOSE = "At the end list what was asked for, and for each item what shows that it is done."
LISTEN = "When I say that something is wrong, repeat what I see and what I expect before you change anything."
SENTENCES = {
    "reworked": "Before you replace code that was written lately, find out why it is so; put decisions into tests.",
    "unresolved_error": FINISH,
    "failed_last": FINISH,
    "check_failed": FINISH,
    "iteration_loop": "After two failed attempts state the root cause before the third.",
    "frustration": LISTEN,
    "complaint": LISTEN,
    "scope_abandoned": "If the goal is too large, propose a smaller one that can be finished now, and finish that.",
    "partial": CLOSE,
    "unconfirmed": CLOSE,
    "incomplete": CLOSE,
    "stopped": "Work in small steps, each of which leaves the code working.",
    "waiting": "Ask all questions at once and early; where you can decide, decide, and say what you chose.",
    "refused": "Before a large or risky step say in two sentences what you will do, and ask.",
    "unchanged": "When a change is asked for, make it; if you did not, say so in the last line, and why.",
    "idle": "When a change is asked for, make it; if you did not, say so in the last line, and why.",
    "admitted": "When something does not work, say what you tried, what you saw, and what would be next.",
    "reverted": "Commit in small steps, and ask before you take anything back.",
    "unverified": CHECK_HABITS["verification_requested"][1],
    "inconclusive": "End with a conclusion: what was found, what follows from it, what is still open.",
}
"""What to tell the agent, by what ended a session; of some an agent is not to blame."""


class ShownSession(Row, frozen=True):
    """A session as an example."""

    id: str
    title: str


class Habit(Row, frozen=True):
    """Something about sessions, and whether those with it land less."""

    name: str
    """The check, or the dimension."""
    kind: str
    """`check` or `dimension`."""
    says: str
    with_it: Score
    without: Score
    difference: Difference
    """Sessions with it less those without, in points: below zero, they land less."""
    p_corrected: float | None
    """For as many habits as were tested (Holm); `None` where either side counts too few."""
    direction: Direction | None
    """`down`: sessions with it land less, beyond chance and corrected for many tests; `up`: they land more."""
    is_looked_at: bool
    """The judge of outcomes looks at this too: some of the difference may be its own doing."""
    sessions: list[ShownSession]
    """The last two with it that did not land."""
    sentence: str


class EndReason(Row, frozen=True):
    """What ended sessions that did not land."""

    reason: str
    says: str
    count: int
    share: float
    low: float
    high: float
    """Percent of all that did not land, with Wilson's 95 % interval."""
    sessions: list[ShownSession]
    sentence: str | None


class Advice(Document, frozen=True, kw_only=True, tag="advice"):
    """`assay advise --json`."""

    counted: int
    landed: int
    judge: str | None
    left_out: int
    """Counted sessions that another judge judged: what several say is not put together."""
    why_none: str | None
    """Why nothing is said of habits."""
    habits: list[Habit]
    """The surest first."""
    endings: list[EndReason]
    file: str
    """Where the agent that is used most looks for instructions."""


class HabitRule(Struct, frozen=True):
    """How a habit is told of a session: `None` where it can't be."""

    name: str
    kind: str
    says: str
    sentence: str
    has: Callable[[Session], bool | None]


def build_advice(sessions: Sequence[Session], qualities: Mapping[str, Quality], profile: Profile) -> Advice:
    """What these sessions say of habits; `crushed` of each must be fresh, qualities are by session."""
    counted = select_counted(sessions)
    groups = Counter(map(name_judge, counted))
    judge = min(groups, key=lambda one: (-groups[one], one), default=None)
    some = [one for one in counted if name_judge(one) == judge]
    landed = sum(one.crushed is True for one in some)
    why_none = explain_nothing(len(some), landed)
    rules = list_rules(qualities, profile)
    return Advice(
        counted=len(some),
        landed=landed,
        judge=split_judge(judge)[0] if judge else None,
        left_out=len(counted) - len(some),
        why_none=why_none,
        habits=[] if why_none else compare_habits(some, rules),
        endings=list_endings(some),
        file=pick_file(some),
    )


def explain_nothing(counted: int, landed: int) -> str | None:
    """Why so many sessions say nothing of habits; `None` where they may."""
    missed = counted - landed
    if counted < FEWEST:
        return f"{counted} sessions count, and habits can't be told from chance with fewer than {FEWEST}"
    if min(landed, missed) < FEWEST_EACH:
        what = "did not land" if missed < FEWEST_EACH else "landed"
        few = min(landed, missed)
        return f"only {few} of {counted} counted sessions {what}; it takes {FEWEST_EACH} to tell a habit"
    return None


def list_rules(qualities: Mapping[str, Quality], profile: Profile) -> list[HabitRule]:
    """All habits that are looked for."""
    checks = [
        HabitRule(name, "check", says, sentence, partial(fails_check, name=name))
        for name, (says, sentence) in CHECK_HABITS.items()
    ]
    dimensions = [
        HabitRule(name, "dimension", says, sentence, partial(is_low, qualities=qualities, name=name, profile=profile))
        for name, (says, sentence) in DIMENSION_HABITS.items()
        if profile.scale(name)
    ]
    return checks + dimensions


def fails_check(session: Session, *, name: str) -> bool | None:
    """Whether a check of a session's prompts does not hold; `None` where it does not apply."""
    held = session.checks.get(name)
    return None if held is None else not held


def is_low(session: Session, *, qualities: Mapping[str, Quality], name: str, profile: Profile) -> bool | None:
    """Whether a dimension is below what is called good; `None` where it has no score."""
    quality = qualities.get(session.id)
    found: Dimension | None = quality.dimensions.get(name) if quality else None
    scale = profile.scale(name)
    if found is None or found.score is None or scale is None:
        return None
    return found.score < (GOOD_CATEGORY if scale.kind == "categorical" else GOOD)


def compare_habits(sessions: Sequence[Session], rules: Iterable[HabitRule]) -> list[Habit]:
    """Every habit with its difference, corrected for how many could be tested; the surest first."""
    found = [build_habit(rule, sessions) for rule in rules]
    p_values = {
        one.name: one.difference.p_value
        for one in found
        if one.difference.p_value is not None and are_enough(one.with_it, one.without)
    }
    corrected = correct_p_values(p_values)
    told = [
        replace(
            one,
            p_corrected=corrected.get(one.name),
            direction=pick_direction(one.with_it, one.without, corrected.get(one.name)),
        )
        for one in found
    ]
    return sorted(told, key=rank_habit)


def build_habit(rule: HabitRule, sessions: Sequence[Session]) -> Habit:
    """A habit before its p value is corrected."""
    known = [(rule.has(one), one) for one in sessions]
    some, others = ([one for has, one in known if has is wanted] for wanted in (True, False))
    return Habit(
        name=rule.name,
        kind=rule.kind,
        says=rule.says,
        with_it=score_sessions(some),
        without=score_sessions(others),
        difference=compare_sessions(some, others),
        p_corrected=None,
        direction=None,
        is_looked_at=rule.name in LOOKED_AT,
        sessions=pick_examples([one for one in some if one.crushed is False]),
        sentence=rule.sentence,
    )


def rank_habit(one: Habit) -> tuple[bool, float, str]:
    return one.direction != "down", 2.0 if one.difference.p_value is None else one.difference.p_value, one.name


def pick_examples(sessions: Iterable[Session]) -> list[ShownSession]:
    """The last few."""
    last = sorted(sessions, key=lambda one: (one.started_at, one.id), reverse=True)[:SHOWN]
    return [ShownSession(id=one.id, title=one.title) for one in last]


def list_endings(sessions: Sequence[Session]) -> list[EndReason]:
    """What ended those that did not land, the commonest first."""
    groups: defaultdict[str, list[Session]] = defaultdict(list)
    for one in sessions:
        if kind := find_obstacle(one):
            groups[kind].append(one)
    total = sum(map(len, groups.values()))
    commonest = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:MOST_REASONS]
    return [build_ending(kind, some, total) for kind, some in commonest]


def build_ending(kind: str, some: Sequence[Session], total: int) -> EndReason:
    low, high = measure_interval(len(some), total)
    return EndReason(
        reason=kind,
        says=REASONS[kind],
        count=len(some),
        share=100 * len(some) / total,
        low=low,
        high=high,
        sessions=pick_examples(some),
        sentence=SENTENCES.get(kind),
    )


def pick_file(sessions: Iterable[Session]) -> str:
    """Where the agent that is used most looks for instructions."""
    agents = Counter(one.agent for one in sessions)
    return "AGENTS.md" if agents["codex"] > agents["claude-code"] else "CLAUDE.md"
