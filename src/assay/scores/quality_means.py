"""The quality of many sessions: the mean of each dimension, what pulls the overall quality down, and both by group."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import fsum, sqrt
from statistics import fmean, stdev

from assay.scores.interval import Z
from assay.scores.profiles import scale_score
from assay.types.quality import DimensionMean, Profile, Quality, QualityGroup


def build_groups(
    qualities: Sequence[Quality], profile: Profile, name_session: Callable[[str], str], *, is_time: bool = False
) -> list[QualityGroup]:
    """A group for each name that sessions have: the largest first, periods in order of time."""
    groups: defaultdict[str, list[Quality]] = defaultdict(list)
    for one in qualities:
        groups[name_session(one.session)].append(one)
    found = [build_group(name, some, profile) for name, some in groups.items()]
    return sorted(found, key=lambda one: (0 if is_time else -one.scored, one.name))


def build_group(name: str, qualities: Sequence[Quality], profile: Profile) -> QualityGroup:
    """Some sessions as one."""
    overall = [one.overall_quality for one in qualities if one.overall_quality is not None]
    mean, low, high = measure_mean(overall)
    return QualityGroup(
        name=name,
        sessions=len(qualities),
        scored=len(overall),
        mean=mean,
        low=low,
        high=high,
        judges=sorted({one.judge for one in qualities if one.overall_quality is not None}),
        dimensions=[build_mean(scale.name, qualities, profile) for scale in profile.dimensions],
    )


def build_mean(name: str, qualities: Sequence[Quality], profile: Profile) -> DimensionMean:
    """One dimension of some sessions."""
    shares = [share for one in qualities if (share := find_share(one, name, profile)) is not None]
    mean, low, high = measure_mean(shares)
    pulls = [measure_pull(one, name, profile) for one in qualities if one.overall_quality is not None]
    scale = profile.scale(name)
    return DimensionMean(
        name=name,
        weight=scale.weight if scale else 0.0,
        scored=len(shares),
        mean=mean,
        low=low,
        high=high,
        pull=fsum(pulls) / len(pulls) if pulls else None,
    )


def find_share(quality: Quality, name: str, profile: Profile) -> float | None:
    """A dimension's score as a part of 1."""
    scale, found = profile.scale(name), quality.dimensions.get(name)
    return None if scale is None or found is None or found.score is None else scale_score(scale, found.score)


def measure_pull(quality: Quality, name: str, profile: Profile) -> float:
    """What a dimension takes from one session's overall quality; nothing where it did not go into it."""
    weights = {one.name: one.weight for one in profile.dimensions if one.name in quality.computed_from}
    share = find_share(quality, name, profile)
    return weights[name] / sum(weights.values()) * (1 - share) if name in weights and share is not None else 0.0


def measure_mean(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The mean with its 95 % interval, within 0 and 1."""
    if not values:
        return None, None, None
    mean = fmean(sorted(values))  # sorted: the same whatever the order
    if len(values) < 2:
        return mean, None, None
    half = find_quantile(len(values) - 1) * stdev(sorted(values)) / sqrt(len(values))
    return mean, max(0.0, mean - half), min(1.0, mean + half)


def find_quantile(freedom: int) -> float:
    """How many deviations a 95 % interval of a mean reaches to either side (Student): many where few were measured."""
    known = dict(enumerate((12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228), 1))
    return known.get(freedom) or Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)


def sort_qualities(qualities: Sequence[Quality], by: str, profile: Profile) -> list[Quality]:
    """The worst first, by overall quality or by one dimension; those without a score last, all others as they were."""

    def rank_quality(one: Quality) -> tuple[bool, float]:
        value = one.overall_quality if by == "quality" else find_share(one, by, profile)
        return value is None, value or 0.0

    return sorted(qualities, key=rank_quality)
