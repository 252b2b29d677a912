"""What a profile and a judged session come to in Langfuse: score configs, and scores."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.langfuse.configs import ScoreConfig
from assay.langfuse.scores import ScoreWrite
from assay.scores import profiles
from assay.types import Clean, Value
from assay.types.quality import Dimension, Profile, Quality


class Target(Value, frozen=True):
    """Where scores go."""

    session: str
    """Langfuse's id of it."""
    timestamp: str
    """Best when it began: that never moves."""
    trace: str = ""
    """Written on this trace instead of on the session."""
    part: str = ""
    """Which of several goals of that session they are about; empty for all of it."""


def configs_of(profile: Profile) -> list[ScoreConfig]:
    """The score configs of a profile's dimensions and of its overall quality."""
    return [
        ScoreConfig(
            name=one.name,
            data_type=one.type,
            min_value=one.min,
            max_value=one.max,
            categories=tuple(label for label, _ in sorted(one.categories, key=lambda category: category[1])),
            description=one.description,
        )
        for one in profiles.configs(profile)
    ]


def scores_of(
    quality: Quality, profile: Profile, target: Target, ids: Mapping[str, str], clean: Callable[[str], Clean]
) -> list[ScoreWrite]:
    """A score for each dimension that was graded, and one for the whole; `ids` are those of the configs, by name.

    What is ungraded gives no score. A dimension without a config (it was mismatched) gives one without a config.
    """
    of = "/".join(part for part in (profile.name, target.part) if part)
    told: dict[str, Any] = {"profile": profile.name, "profile_version": quality.profile_version, "judge": quality.judge}
    told |= {"judge_version": quality.judge_versions, "assay_session": quality.session}
    found = []
    for scale in profile.dimensions:
        one = quality.dimensions.get(scale.name)
        if one is None or one.score is None:
            continue
        is_label = scale.kind == "categorical"
        found.append(
            ScoreWrite(
                session=target.session,
                trace=target.trace,
                name=scale.name,
                of=of,
                data_type="CATEGORICAL" if is_label else "NUMERIC",
                value=(scale.label(one.score) or "") if is_label else one.score,
                timestamp=target.timestamp,
                comment=clean(one.rationale),
                metadata=told | evidence(one, clean),
                config_id=ids.get(scale.name, ""),
            )
        )
    return [*found, *whole(quality, target, of, told, ids)]


def evidence(one: Dimension, clean: Callable[[str], Clean]) -> dict[str, Any]:
    """The turns a dimension's score rests on, with words that stand there."""
    return {
        "label": one.label,
        "evidence": [{"turn": cited.turn, "quote": clean(cited.quote)} for cited in one.evidence],
    }


def whole(
    quality: Quality, target: Target, of: str, told: dict[str, Any], ids: Mapping[str, str]
) -> Iterator[ScoreWrite]:
    """The overall quality if there is one, and what it was computed from."""
    if quality.overall_quality is None:
        return
    missing = f"; without {', '.join(quality.missing)}" if quality.missing else ""
    yield ScoreWrite(
        session=target.session,
        trace=target.trace,
        name=profiles.OVERALL,
        of=of,
        data_type="NUMERIC",
        value=quality.overall_quality,
        timestamp=target.timestamp,
        comment=Clean(f"Weighted mean of {', '.join(quality.computed_from)}{missing}"),
        metadata=told | {"computed_from": quality.computed_from, "missing": quality.missing},
        config_id=ids.get(profiles.OVERALL, ""),
    )
