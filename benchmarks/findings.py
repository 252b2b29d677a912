"""Labelled streams to figures: assay beside its baselines, always on the same cases."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, get_args

from assay.types import FailureKind, Intent
from benchmarks import agreement
from benchmarks.agreement import Band, Case, Counts, Verdicts
from benchmarks.fit import LabelledGap, LabelledGoal
from benchmarks.labelled import DONE, NONE, Goal, Stream
from benchmarks.left_out import LeftOut, measure_left_out

PAUSE_S = 3600
UNSURE = 0.5
"""Probability of a verdict that comes without one."""
ANY = "any signal"


@dataclass(frozen=True)
class Splits:
    """A way to find boundaries, pooled over all streams."""

    method: str
    tp: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f1: float | None
    f1_interval: tuple[float, float] | None
    pk: float | None
    windowdiff: float | None


@dataclass(frozen=True)
class Boundaries:
    streams: int
    prompts: int
    prompts_found: int
    gaps: int
    boundaries: int
    maybe: int
    methods: list[Splits]
    left_out: dict[str, str]
    """Baselines that could not be had, and why."""


@dataclass(frozen=True)
class Naming:
    """A way to name intents."""

    method: str
    n: int
    accuracy: float | None
    kappa: float | None
    macro_f1: float | None


@dataclass(frozen=True)
class Intents:
    without_session: int
    """Goals whose first prompt is in no session; they are not in `n`."""
    methods: list[Naming]
    recall: dict[str, tuple[int, float | None]]
    """By class: how many labels, and the share that was named so."""
    confusion: dict[str, dict[str, int]]
    """Label, then what was said."""


@dataclass(frozen=True)
class Goals:
    """Verdicts on one set of goals; `ungraded` and `without_session` have a label and no verdict."""

    labelled: int
    graded: int
    ungraded: int
    without_session: int
    methods: dict[str, Verdicts]
    reliability: list[Band]


@dataclass(frozen=True)
class Signal:
    kind: str
    n: int
    """Goals looked at."""
    labelled: int
    fired: int
    hits: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Slice:
    by: str
    name: str
    intent_n: int
    intent_accuracy: float | None
    goals: Verdicts


@dataclass(frozen=True)
class Findings:
    judge: dict[str, Any]
    boundaries: Boundaries
    intents: Intents
    goals: Goals
    ended_properly: Goals
    signals: list[Signal]
    slices: list[Slice]
    left_out: LeftOut | None = None


def findings(
    streams: Sequence[Stream],
    judge: dict[str, Any],
    labelled: Sequence[LabelledGoal] = (),
    gaps: Sequence[LabelledGap] = (),
) -> Findings:
    goals = [goal for stream in streams for goal in stream.goals]
    return Findings(
        judge=judge,
        boundaries=boundaries(streams),
        intents=intents(goals),
        goals=outcomes(goals),
        ended_properly=outcomes([goal for goal in goals if goal.ended_properly]),
        signals=signals(goals),
        slices=[*slices("agent", goals, lambda goal: goal.agent), *slices("script", goals, lambda goal: goal.script)],
        left_out=measure_left_out(streams, labelled, gaps) if labelled else None,
    )


# --- boundaries ---------------------------------------------------------------------------------


def boundaries(streams: Sequence[Stream]) -> Boundaries:
    """What assay says, and what needs no reading."""
    named: dict[str, Callable[[Stream], Collection[float]]] = {
        "assay": lambda stream: stream.said,
        "never split": lambda _: (),
        "always split": lambda stream: stream.gaps,
        "pause > 60 min": long_pauses,
        "commit before": after_commits,
    }
    left_out = {}
    missing = sum(stream.commits is None for stream in streams)
    if missing:
        del named["commit before"]
        left_out["commit before"] = f"needs the transcripts, {missing} of {len(streams)} are not in the corpus"
    return Boundaries(
        streams=len(streams),
        prompts=sum(len(stream.prompts) for stream in streams),
        prompts_found=sum(stream.found for stream in streams),
        gaps=sum(len(stream.gaps) for stream in streams),
        boundaries=sum(len(stream.boundaries) for stream in streams),
        maybe=sum(len(stream.maybe - stream.boundaries) for stream in streams),
        methods=[
            splits(name, [(stream, frozenset(said(stream))) for stream in streams]) for name, said in named.items()
        ],
        left_out=left_out,
    )


def long_pauses(stream: Stream) -> set[float]:
    return {after for before, after in pairwise(stream.prompts) if after - before > PAUSE_S} & stream.gaps


def after_commits(stream: Stream) -> set[float]:
    """Prompts that follow a commit in the turn before."""
    turns = pairwise(stream.prompts)
    return {after for before, after in turns if any(before <= at < after for at in stream.commits or ())} & stream.gaps


def splits(method: str, said: Sequence[tuple[Stream, frozenset[float]]]) -> Splits:
    """A `maybe` counts neither way."""
    counts = [
        Counts(
            tp=len(splits & stream.boundaries),
            fp=len(splits - stream.boundaries - stream.maybe),
            fn=len(stream.boundaries - splits),
        )
        for stream, splits in said
    ]
    pooled = agreement.total(counts)
    pk, windowdiff = agreement.pk_and_windowdiff([flags(stream, splits) for stream, splits in said])
    return Splits(
        method=method,
        **pooled._asdict(),
        precision=pooled.precision,
        recall=pooled.recall,
        f1=pooled.f1,
        f1_interval=agreement.interval(counts, lambda drawn: drawn.f1),
        pk=pk,
        windowdiff=windowdiff,
    )


def flags(stream: Stream, splits: frozenset[float]) -> tuple[list[bool], list[bool]]:
    """For each gap in order of time, whether the labels and a method have a boundary there."""
    ignored = stream.maybe - stream.boundaries
    gaps = sorted(set(stream.prompts))[1:]
    return [gap in stream.boundaries for gap in gaps], [gap in splits - ignored for gap in gaps]


# --- intents ------------------------------------------------------------------------------------


def intents(goals: Sequence[Goal]) -> Intents:
    judged = [goal for goal in goals if goal.session is not None]
    pairs = named_pairs(judged)
    usual = majority(judged)
    counts = agreement.per_class(pairs)
    confused = Counter(pairs)
    labels = in_order(label for label, _ in pairs)
    return Intents(
        without_session=len(goals) - len(judged),
        methods=[
            naming("assay", pairs),
            naming(f"always {usual}", [(accepted(goal, usual), usual) for goal in judged]),
        ],
        recall={name: (counts[name].tp + counts[name].fn, counts[name].recall) for name in labels},
        confusion={
            label: {said: confused[label, said] for said in in_order(said for _, said in pairs)} for label in labels
        },
    )


def named_pairs(goals: Iterable[Goal]) -> list[tuple[str, str]]:
    """Label and what was said, for goals that are in a session."""
    said = [(goal, goal.session.get("intent") or NONE) for goal in goals if goal.session is not None]
    return [(accepted(goal, name), name) for goal, name in said]


def accepted(goal: Goal, said: str) -> str:
    """The label that counts: what was said where the label allows it, else the first one."""
    return said if said in goal.intents else goal.intents[0]


def majority(goals: Sequence[Goal]) -> str:
    """The intent that is right most often."""
    counts = Counter(name for goal in goals for name in goal.intents)
    return max(sorted(counts), key=lambda name: counts[name], default=NONE)


def naming(method: str, pairs: Sequence[tuple[str, str]]) -> Naming:
    return Naming(
        method=method,
        n=len(pairs),
        accuracy=agreement.accuracy(pairs),
        kappa=agreement.kappa(pairs),
        macro_f1=agreement.macro_f1(pairs),
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Intents as the types list them, anything else behind."""
    found, known = set(names), get_args(Intent)
    return [name for name in known if name in found] + sorted(found.difference(known))


# --- outcomes -----------------------------------------------------------------------------------


def outcomes(goals: Sequence[Goal]) -> Goals:
    """The judge and its baselines, on the goals that both the readers and the judge decided."""
    labelled = [goal for goal in goals if goal.is_complete is not None]
    graded = [goal for goal in labelled if goal.is_graded]
    lost = sum(goal.session is None for goal in labelled)
    judged = [case(goal) for goal in graded]
    believed = [goal.ended_properly and bool(goal.kinds & DONE) for goal in graded]
    return Goals(
        labelled=len(labelled),
        graded=len(graded),
        ungraded=len(labelled) - len(graded) - lost,
        without_session=lost,
        methods={
            "assay": agreement.verdicts(judged),
            "always complete": ruled(graded, [True for _ in graded]),
            "ended properly": ruled(graded, [goal.ended_properly for goal in graded]),
            "believe the agent": ruled(graded, believed),
            "shorter is better": agreement.verdicts(by_length(graded), is_probability=False),
        },
        reliability=agreement.reliability(judged),
    )


def case(goal: Goal) -> Case:
    """What the judge said of a graded goal."""
    session = goal.session or {}
    p = session.get("confidence")
    return Case(label=bool(goal.is_complete), said=session["goal_complete"], rank=UNSURE if p is None else p)


def ruled(goals: Sequence[Goal], said: Sequence[bool]) -> Verdicts:
    """A rule that is always sure of itself."""
    return agreement.verdicts(
        [Case(label=bool(goal.is_complete), said=yes, rank=float(yes)) for goal, yes in zip(goals, said, strict=True)]
    )


def by_length(goals: Sequence[Goal]) -> list[Case]:
    """Complete if no longer than the median, in turns."""
    turns = [int((goal.session or {})["facts"]["turns"]) for goal in goals]
    middle = median(turns) if turns else 0
    return [
        Case(label=bool(goal.is_complete), said=length <= middle, rank=-float(length))
        for goal, length in zip(goals, turns, strict=True)
    ]


# --- failure signals, slices --------------------------------------------------------------------


def signals(goals: Sequence[Goal]) -> list[Signal]:
    """Each kind against its label, and whether any fired against goals that were not completed."""
    judged = [goal for goal in goals if goal.session is not None]
    rows = [signal(kind, [(kind in failures(goal), kind in goal.signals) for goal in judged]) for kind in kinds()]
    decided = [goal for goal in judged if goal.is_complete is not None]
    return [*rows, signal(ANY, [(not goal.is_complete, bool(goal.signals)) for goal in decided])]


def kinds() -> tuple[str, ...]:
    return get_args(FailureKind)


def failures(goal: Goal) -> set[str]:
    """Kinds that the label has: of several that it allows those that fired, else the first."""
    allowed = [kind for kind in goal.failures if kind is not None]
    fired = goal.signals.intersection(allowed)
    return fired or set(allowed[:1] if None not in goal.failures else ())


def signal(kind: str, pairs: Sequence[tuple[bool, bool]]) -> Signal:
    hits = sum(label and fired for label, fired in pairs)
    labelled, fired = sum(label for label, _ in pairs), sum(fired for _, fired in pairs)
    counts = Counts(tp=hits, fp=fired - hits, fn=labelled - hits)
    return Signal(
        kind=kind,
        n=len(pairs),
        labelled=labelled,
        fired=fired,
        hits=hits,
        precision=counts.precision,
        recall=counts.recall,
    )


def slices(by: str, goals: Sequence[Goal], name: Callable[[Goal], str]) -> list[Slice]:
    """The same figures for a part of the goals; a goal without a name is in none."""
    found = []
    for one in sorted({name(goal) for goal in goals} - {""}):
        some = [goal for goal in goals if name(goal) == one]
        pairs = named_pairs(some)
        cases = [case(goal) for goal in some if goal.is_graded]
        found.append(
            Slice(
                by=by,
                name=one,
                intent_n=len(pairs),
                intent_accuracy=agreement.accuracy(pairs),
                goals=agreement.verdicts(cases),
            )
        )
    return found
