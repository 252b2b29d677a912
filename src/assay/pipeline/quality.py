"""How well sessions were run, by a profile: offline from signals, or by a model, large ones chunk by chunk."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config
from assay.errors import JudgeError
from assay.facts.failures import fact as failures_of
from assay.facts.signals import fact as signals_of
from assay.judges.model import quality as asked
from assay.judges.offline import outcome as offline_outcome
from assay.judges.offline import quality as offline
from assay.judges.offline import rubric as offline_rubric
from assay.llm import Asked, Question
from assay.pipeline import reading
from assay.pipeline.asking import Asker, Desk
from assay.pipeline.cutting import OFFLINE
from assay.pipeline.given import present
from assay.pipeline.pool import cores
from assay.pipeline.reading import rules
from assay.pipeline.running import Choice, Run
from assay.pipeline.scoring import kept_only, turns_of
from assay.scores import profiles
from assay.scores.quality import Judge, Judged, quality
from assay.sessions import rendering
from assay.sessions.chunking import TARGET, WHOLE, Chunk, chunk, shorten, task_of
from assay.sessions.linking import Linked
from assay.sessions.redaction import Redactor
from assay.stores.sql import Store
from assay.types import OutcomeJudgement, Prompt, RubricJudgement, Session, Turn
from assay.types.quality import Dimension, Profile, Quality

MODELS = {"anthropic": "claude-sonnet-4-5", "claude-cli": "sonnet"}
"""Quality takes a larger model than the other judges, unless one is named."""
PLENTY = 1_000_000
NEAR = 0.8
"""From this share of the size at which a session is cut on, tokens are counted by the service where it offers that."""
OPTED_OUT = "its tenant opted out"


class Subject(Struct, frozen=True, kw_only=True):
    """A session with its turns, as they may be seen."""

    session: Session
    turns: Sequence[Turn]


def subjects(
    store: Store, config: Config, roots: Sequence[str] | None, choice: Choice, ids: Sequence[str] = ()
) -> list[Subject]:
    """The sessions that are wanted, all or those whose ids begin so, as they were judged last."""
    with closing(kept_only(store, config)) as desk, Run(store, roots, config, cores(), desk) as run:
        run.bring_up_to_date()
        linked = [one for one in run.linked() if choice.takes(one) and is_called(one, ids)]
        found = [reading.session(one, run.terms.reading) for one in run.sessions(linked)]
    return [Subject(session=one, turns=turns_of(store, config, one)) for one in found]


def is_called(linked: Linked, ids: Sequence[str]) -> bool:
    return not ids or any(linked.segments[0].id.startswith(one) for one in ids)


def would_ask(subjects: Sequence[Subject], profile: Profile, config: Config, desk: Desk) -> Iterator[Question]:
    """Every question that judging these would take."""
    if desk.asker:
        for one in subjects:
            if is_askable(one):
                yield from (piece.question for piece in pieces(one, profile, desk.asker.model.model, config))


def is_askable(subject: Subject) -> bool:
    """Whether a model may be shown it, and there is anything to show."""
    return subject.session.judge_status != "opted_out" and any(
        turn.prompt or turn.replies or turn.calls for turn in subject.turns
    )


def judged(subjects: Sequence[Subject], profile: Profile, config: Config, desk: Desk) -> list[Quality]:
    """The quality of each session, by whom the desk asks."""
    if desk.asker is None:
        return [judged_offline(one, profile, desk.instead) for one in subjects]
    return list(by_model(subjects, profile, config, desk.asker))


def for_quality(config: Config) -> Config:
    """The settings with the model that quality takes."""
    name = config.model.name or MODELS.get(config.judge, "")
    return replace(config, model=replace(config.model, name=name))


# --- offline ------------------------------------------------------------------------------------


def judged_offline(subject: Subject, profile: Profile, why: str = "") -> Quality:
    """By signals alone."""
    turns = subject.turns
    if subject.session.judge_status == "opted_out":
        return silent(subject, profile, OPTED_OUT)
    rubric, outcome = by_offline(turns)
    dimensions = offline.quality(turns, profile, rubric, outcome)
    judge = Judge(name=OFFLINE, versions={"quality": offline.version()})
    found = quality(subject.session.id, profile, [Judged(dimensions=dimensions, own_tokens=1)], judge)
    return replace(found, fallback=why or None)


def by_offline(turns: Sequence[Turn]) -> tuple[RubricJudgement | None, OutcomeJudgement | None]:
    """What the offline judge says of goal and outcome."""
    rubric = offline_rubric(turns)
    if rubric.intent is None:
        return rubric, None
    failures = failures_of(turns).failure_signals
    return rubric, offline_outcome(turns, rubric.intent, failures, None)


def silent(subject: Subject, profile: Profile, why: str) -> Quality:
    """Every dimension ungraded, and why."""
    none = Dimension(score=None, label=None, evidence=[], rationale="", ungraded=why)
    dimensions = {one.name: none for one in profile.dimensions}
    return quality(
        subject.session.id, profile, [Judged(dimensions=dimensions, own_tokens=1)], Judge(name="nobody", versions={})
    )


# --- by a model ---------------------------------------------------------------------------------


class Piece(Struct, frozen=True, kw_only=True):
    """What a model is shown of a session, and asked about it."""

    question: Question
    turns: Sequence[Turn]
    places: Sequence[int]
    """Numbers of these turns in the session, from 1."""
    own_tokens: int


def pieces(subject: Subject, profile: Profile, model: str, config: Config, ratio: float = 1.0) -> list[Piece]:
    """A question for each chunk; `ratio` is how many tokens the service counts for one of ours."""
    turns, redactor = subject.turns, Redactor(rules(config, present(config)).options)
    chunks = chunked(turns, ratio)
    return [piece(turns, one, (n, len(chunks)), (profile, model, redactor)) for n, one in enumerate(chunks, 1)]


def chunked(turns: Sequence[Turn], ratio: float = 1.0) -> list[Chunk]:
    """The session in chunks by tokens."""
    task = task_of(turns)
    return chunk([round(size_of(turn) * ratio) for turn in turns], task=size_of(Turn(prompt=task)) if task else 0)


def size_of(turn: Turn) -> int:
    """Tokens of a turn as a model would be shown it."""
    return rendering.estimate(rendering.session([turn], None, PLENTY))


def piece(turns: Sequence[Turn], one: Chunk, at: tuple[int, int], by: tuple[Profile, str, Redactor]) -> Piece:
    """What is asked of one chunk; one that does not begin the session is told its first prompt."""
    profile, model, redactor = by
    shown = list(turns[one.first : one.last + 1])
    places = list(range(one.first + 1, one.last + 2))
    if one.shortened is not None and one.room is not None:
        n = one.shortened - one.first
        shown[n] = shorten(shown[n], one.room, size_of)
    if one.has_task and (first := first_asked(turns)) is not None:
        shown.insert(0, Turn(at=turns[first].at, prompt=cast(Prompt, turns[first].prompt)))
        places.insert(0, first + 1)
    asks = asked.Asks(
        criteria=profiles.prompt_text(profile),
        schema=profiles.schema(profile),
        part=asked.part(*at, has_task=one.has_task),
    )
    material = redactor.text(rendering.session(shown, None, WHOLE if at[1] == 1 else TARGET))
    found = asked.question(model, asks, material, signals_told(shown))
    return Piece(question=found, turns=shown, places=places, own_tokens=one.own_tokens)


def first_asked(turns: Sequence[Turn]) -> int | None:
    """Index of the turn with the session's first request."""
    task = task_of(turns)
    return next((n for n, turn in enumerate(turns) if turn.prompt is task), None) if task else None


def signals_told(turns: Sequence[Turn]) -> str:
    """The auto-signals in numbers: no word of a transcript."""
    found = signals_of(turns).signals
    lines = [
        f"- {name.replace('_', ' ')}: {one.count} of {one.of}"
        + (f" (turns {', '.join(map(str, one.turns))})" if one.turns else "")
        for name, one in found.items()
        if one.of
    ]
    return "\n".join(lines) or "- none"


def judged_by_model(
    subject: Subject, profile: Profile, made: Sequence[Piece], answers: dict[str, Asked], asker: Asker
) -> Quality:
    """What a model says of a session's chunks; where an answer is missing, the offline judge has to do."""
    if any(one.question.key not in answers for one in made):
        return judged_offline(subject, profile, asker.closed or "the model gave no answer")
    judge = Judge(name=asker.model.backend, versions={"quality": made[0].question.version})
    try:
        chunks = [
            Judged(
                dimensions=asked.dimensions(answers[one.question.key], profile, one.turns, one.places),
                own_tokens=one.own_tokens,
            )
            for one in made
        ]
    except JudgeError as error:
        return replace(silent(subject, profile, str(error)), judge=judge.name, judge_versions=judge.versions)
    return quality(subject.session.id, profile, chunks, judge)


def by_model(subjects: Sequence[Subject], profile: Profile, config: Config, asker: Asker) -> Iterator[Quality]:
    """Every session, all questions asked at once."""
    made = {
        one.session.id: pieces(one, profile, asker.model.model, config, ratio(one, asker))
        for one in subjects
        if is_askable(one)
    }
    answers = asker.answers([one.question for some in made.values() for one in some])
    for subject in subjects:
        some = made.get(subject.session.id)
        yield judged_by_model(subject, profile, some, answers, asker) if some else judged_offline(subject, profile)


def ratio(subject: Subject, asker: Asker) -> float:
    """How many tokens the service counts for one of ours, where that decides whether a session is cut."""
    ours = sum(map(size_of, subject.turns))
    if ours < NEAR * WHOLE or asker.closed:
        return 1.0
    exact = asker.counted(Redactor().text(rendering.session(subject.turns, None, PLENTY)))
    return exact / ours if exact else 1.0
