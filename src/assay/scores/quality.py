"""Quality: what chunks say of each dimension, put together, and the overall quality of it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from assay.scores.profiles import average_scores, hash_profile
from assay.types import Citation
from assay.types.quality import ChunkRule, Dimension, Profile, Quality, Scale
from assay.types.value import Value

MOST_CITATIONS = 8
NEVER_ASKED = "no judge said anything of it"


class ChunkJudgement(Value, frozen=True):
    """What a judge says of one chunk."""

    dimensions: Mapping[str, Dimension]
    own_tokens: int
    """What the chunk weighs: its tokens without those that the chunk before has too."""
    first: int = 0
    """Index of its first turn, where its citations count from 1 at that turn; 0 where they count the session's."""


class QualityJudge(Value, frozen=True):
    """Who judged."""

    name: str
    versions: dict[str, str]


def score_quality(session: str, profile: Profile, chunks: Sequence[ChunkJudgement], judge: QualityJudge) -> Quality:
    """The quality of a session by what was said of its chunks."""
    dimensions = {one.name: merge_chunks(profile, one, chunks) for one in profile.dimensions}
    found = average_scores(profile, {name: one.score for name, one in dimensions.items()})
    return Quality(
        session=session,
        profile=profile.name,
        profile_version=hash_profile(profile),
        dimensions=dimensions,
        overall_quality=found.value,
        computed_from=found.computed_from,
        missing=found.missing,
        chunks=len(chunks),
        judge=judge.name,
        judge_versions=judge.versions,
    )


def merge_chunks(profile: Profile, scale: Scale, chunks: Sequence[ChunkJudgement]) -> Dimension:
    """One dimension over all chunks; those that left it ungraded don't count."""
    said = [(n, shift_citations(one, scale.name), one.own_tokens) for n, one in enumerate(chunks)]
    graded = [(n, found, tokens) for n, found, tokens in said if found and found.score is not None]
    if len(chunks) == 1 and graded:
        only = graded[0][1]
        return replace(only, label=scale.label(only.score or 0.0))
    rule = pick_rule(profile, scale)
    is_open = rule == "last" and (not graded or graded[-1][0] != len(chunks) - 1)
    if not graded or is_open:
        why = next((found.ungraded for _, found, _ in reversed(said) if found and found.ungraded), NEVER_ASKED)
        told = f"the final chunk, which decides, can't be used: {why}" if is_open and graded else why
        found = Dimension(score=None, label=None, evidence=[], rationale="", ungraded=told)
    else:
        average = rule == "mean"
        found = average_chunks(scale, graded, len(chunks)) if average else pick_chunk(scale, graded, len(chunks), rule)
    if len(chunks) == 1:
        return found
    scores = [found.score if found else None for _, found, _ in said]
    return replace(
        found, chunk_scores=scores, coverage=measure_coverage(graded, chunks) if found.score is not None else 0.0
    )


def measure_coverage(graded: Sequence["GradedChunk"], chunks: Sequence[ChunkJudgement]) -> float:
    """The share of a session's tokens that stand in chunks which were graded."""
    whole = sum(one.own_tokens for one in chunks)
    return sum(tokens for _, _, tokens in graded) / whole if whole else len(graded) / len(chunks)


def pick_rule(profile: Profile, scale: Scale) -> ChunkRule:
    """The way in which chunks are put together for a dimension."""
    return scale.across or ("mean" if scale.kind == "numeric" else profile.categorical)


def shift_citations(one: ChunkJudgement, name: str) -> Dimension | None:
    """What a chunk says of a dimension, its citations counted through the session."""
    found = one.dimensions.get(name)
    if found is None or not one.first:
        return found
    return replace(found, evidence=[Citation(turn=c.turn + one.first, quote=c.quote) for c in found.evidence])


GradedChunk = tuple[int, Dimension, int]
"""Index of a chunk, what it says, what it weighs."""


def average_chunks(scale: Scale, graded: Sequence[GradedChunk], chunks: int) -> Dimension:
    """The mean by each chunk's own tokens; chunks that all weigh nothing weigh the same."""
    weights = [tokens for _, _, tokens in graded]
    weights = weights if sum(weights) else [1] * len(graded)
    total = sum(weight * (found.score or 0.0) for weight, (_, found, _) in zip(weights, graded, strict=True))
    score = total / sum(weights)
    told = [f"[{n + 1}] {found.score:.2f}: {found.rationale}" for n, found, _ in graded]
    return Dimension(
        score=score,
        label=scale.label(score),
        evidence=merge_citations([found for _, found, _ in graded]),
        rationale=f"Mean of {len(graded)} of {chunks} chunks by their own tokens. {' '.join(told)}".strip(),
    )


def pick_chunk(scale: Scale, graded: Sequence[GradedChunk], chunks: int, way: ChunkRule) -> Dimension:
    """What the final chunk says, or what most say; of equally many, the later."""
    _, found, _ = graded[-1]
    told = f"Of the final of {chunks} chunks."
    evidence = found.evidence
    if way == "majority":
        votes = Counter(one.score for _, one, _ in graded)
        most = max(votes.values())
        _, found, _ = next(one for one in reversed(graded) if votes[one[1].score] == most)
        told = f"Said of {most} of {chunks} chunks."
        evidence = merge_citations([one for _, one, _ in graded if one.score == found.score])
    return Dimension(
        score=found.score,
        label=scale.label(found.score or 0.0),
        evidence=evidence,
        rationale=f"{told} {found.rationale}".strip(),
    )


def merge_citations(found: Sequence[Dimension]) -> list[Citation]:
    """The first citations of each chunk, then the second ones, each once."""
    deepest = max((len(one.evidence) for one in found), default=0)
    in_turns = [one.evidence[n] for n in range(deepest) for one in found if n < len(one.evidence)]
    once = {(citation.turn, citation.quote): citation for citation in in_turns}
    return sorted(list(once.values())[:MOST_CITATIONS], key=lambda citation: citation.turn)
