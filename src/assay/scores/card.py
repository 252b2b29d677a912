"""The judge card: what was measured of a judge on other people's labelled sessions, and by the person's own audit."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.resources import load_table
from assay.scores.audit import find_answer, find_chance, is_answered
from assay.scores.breakdown import name_intent
from assay.types import Row, Session

BANDS = 5


class Figure(Struct, frozen=True, forbid_unknown_fields=True):
    """A measured figure: its value, its 95 % interval over repositories, and what simple rules reach."""

    name: str
    says: str
    value: float
    low: float | None = None
    high: float | None = None
    baselines: dict[str, float] = {}


class ReliabilityBand(Row, frozen=True):
    """Goals whose chance lies in a band: how sure the judge was, and how many of them were completed."""

    low: float
    high: float
    n: int
    mean: float
    share: float


class Measurement(Struct, frozen=True, forbid_unknown_fields=True):
    """What was measured of one judge, with each repository left out of every fit in turn."""

    measured_at: str
    streams: int
    repositories: int
    goals: int
    failures: int
    """Goals that were not completed."""
    versions: dict[str, str]
    """Of the judge that was measured."""
    figures: list[Figure]
    reliability: list[ReliabilityBand]


class IntentTally(Row, frozen=True):
    """Of the audited sessions of one intent, how often judge and person agree."""

    intent: str
    audited: int
    agreed: int


class OwnMeasurement(Row, frozen=True):
    """What the person's own audit says of the judge."""

    audited: int
    """Answers landed or not, of sessions drawn at random."""
    decided: int
    """Those of which the judge claimed something too."""
    agreed: int
    kappa: float | None
    """Agreement beyond chance; `None` where one side always says the same."""
    brier: float
    reliability: list[ReliabilityBand]
    intents: list[IntentTally]


class JudgeCard(Row, frozen=True):
    """All that is known of how well one judge does."""

    judge: str
    versions: dict[str, str]
    measured: Measurement | None
    """`None` for a judge that was never measured against labels."""
    is_measured_version: bool
    own: OwnMeasurement | None


def load_measurement(judge: str) -> Measurement | None:
    """What was measured of a judge, if anything was."""
    return load_table("assay.scores", "card.toml", dict[str, Measurement]).get(judge)


def find_figure(measured: Measurement, name: str) -> Figure | None:
    return next((figure for figure in measured.figures if figure.name == name), None)


def build_card(judge: str, versions: dict[str, str], sessions: Iterable[Session] = ()) -> JudgeCard:
    """The card of a judge, with what audits of its sessions say."""
    measured = load_measurement(judge)
    return JudgeCard(
        judge=judge,
        versions=versions,
        measured=measured,
        is_measured_version=measured is not None and measured.versions == versions,
        own=measure_own([one for one in sessions if one.judge == judge and is_answered(one)]),
    )


def measure_own(answered: Sequence[Session]) -> OwnMeasurement | None:
    """What answers to an audit say of the judge; `None` where none says whether a session landed."""
    told = [one for one in answered if find_answer(one) is not None]
    if not told:
        return None
    decided = [one for one in told if one.marked and one.marked.judged is not None]
    pairs = [(bool(one.marked and one.marked.judged), bool(find_answer(one))) for one in decided]
    chances = [(find_chance(one), bool(find_answer(one))) for one in told]
    groups: dict[str, list[bool]] = {}
    for one, (judged, said) in zip(decided, pairs, strict=True):
        groups.setdefault(name_intent(one) or "no goal", []).append(judged == said)
    return OwnMeasurement(
        audited=len(told),
        decided=len(decided),
        agreed=sum(judged == said for judged, said in pairs),
        kappa=measure_kappa(pairs),
        brier=sum((chance - said) ** 2 for chance, said in chances) / len(chances),
        reliability=measure_reliability(chances),
        intents=[
            IntentTally(intent=intent, audited=len(group), agreed=sum(group))
            for intent, group in sorted(groups.items(), key=lambda pair: (sum(pair[1]) - len(pair[1]), pair[0]))
        ],
    )


def measure_kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa: agreement beyond what the two shares would give by chance."""
    if not pairs:
        return None
    judged, said = Counter(one for one, _ in pairs), Counter(one for _, one in pairs)
    chance = sum(judged[value] * said[value] for value in (True, False)) / len(pairs) ** 2
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    return (agreed - chance) / (1 - chance) if chance < 1 else None


def measure_reliability(chances: Sequence[tuple[float, bool]]) -> list[ReliabilityBand]:
    """In bands of the chance: how sure the judge was, and how often it came true."""
    bands: list[list[tuple[float, bool]]] = [[] for _ in range(BANDS)]
    for chance, said in chances:
        bands[min(BANDS - 1, int(chance * BANDS))].append((chance, said))
    return [
        ReliabilityBand(
            low=n / BANDS,
            high=(n + 1) / BANDS,
            n=len(band),
            mean=sum(chance for chance, _ in band) / len(band),
            share=sum(said for _, said in band) / len(band),
        )
        for n, band in enumerate(bands)
        if band
    ]
