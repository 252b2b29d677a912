"""How well sessions were run, by a profile: offline from signals, or by a model, large ones chunk by chunk."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config
from assay.errors import JudgeError
from assay.facts.failures import fact as failures_of
from assay.facts.signals import fact as signals_of
from assay.facts.time import fact as time_of
from assay.facts.tokens import fact as tokens_of
from assay.judges.criteria import format_chance
from assay.judges.model import quality as asked
from assay.judges.offline import outcome as offline_outcome
from assay.judges.offline import quality as offline
from assay.judges.offline import rubric as offline_rubric
from assay.llm import UNASKED, Backend, Question, QuestionResult
from assay.llm.egress import EgressQuestion, Estimate
from assay.pipeline import privacy
from assay.pipeline.cost import measure_question
from assay.pipeline.egress import list_leaving
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.judge_stream import OFFLINE
from assay.pipeline.judged_sessions import find_end
from assay.pipeline.lookup import LAST, read_turns
from assay.pipeline.models import AskOptions, ModelAccess, ModelClient
from assay.pipeline.privacy import OPTED_OUT, build_rules, explain_forbidden, explain_withheld, find_named_tenant
from assay.pipeline.score import open_run
from assay.pipeline.scoring_run import Selection
from assay.scores import profiles
from assay.scores.quality import ChunkJudgement, QualityJudge, score_quality
from assay.sessions import rendering
from assay.sessions.calls import CHECKS
from assay.sessions.chunks import TARGET, WHOLE, Chunk, cut_chunks, find_task, shorten_turn
from assay.sessions.links import LinkedSession
from assay.sessions.redaction import Redactor
from assay.stores import Store
from assay.types import CleanText, Intent, OutcomeJudgement, RubricJudgement, Session, Turn
from assay.types.quality import Dimension, Profile, Quality

MODELS = {"anthropic": "claude-sonnet-4-5", "claude-cli": "sonnet"}
"""Quality takes a larger model than the other judges, unless one is named."""
PLENTY = 1_000_000
NEAR = 0.8
"""From this share of the size at which a session is cut on, tokens are counted by the service where it offers that."""
PORTION, BATCHED = 20, 200
"""Sessions whose questions are held at once; more in a batch, for each of those may take a day."""
TRIVIAL = "trivial: under 3 turns, and nothing was done"
NO_WORDS = "the session has no words to judge"
COUNT = "tokens"
UNSAID = ("in_progress", "ungraded")
"""What is said of such a session's goal by nobody, nobody says here."""
SPENDING = frozenset({"cost", "tokens", "cache"})
"""Signals that only tokens and their cost can tell."""


class Subject(Struct, frozen=True, kw_only=True):
    """A session to be judged; its turns are read when they are wanted, for all at once would fill the memory."""

    session: Session
    read: Callable[[], Sequence[Turn]]
    """Its turns, as they may be seen."""
    is_named: bool = False
    """Somebody asked for this very session: it is judged though it is trivial."""


def list_subjects(
    store: Store, config: Config, roots: Sequence[str] | None, choice: Selection, ids: Sequence[str] = ()
) -> list[Subject]:
    """The sessions that are wanted, all or those whose ids begin so, as they were judged last."""
    with open_run(store, config, roots) as run:
        run.judge_streams()
        there = [one for one in run.link_all() if choice.takes(one)]
        linked = select_linked(there, ids) if ids else there
        told = [privacy.redact_session(one, run.terms.privacy) for one in run.build_sessions(linked)]
        found = run.name_projects(told, linked)
    return [Subject(session=one, read=partial(read_turns, store, config, one), is_named=bool(ids)) for one in found]


def select_linked(there: Sequence[LinkedSession], ids: Sequence[str]) -> list[LinkedSession]:
    """Those of the sessions whose ids begin so; `last` is the one that ended last."""
    last = [max(there, key=find_end)] if LAST in ids and there else []
    return [one for one in there if one in last or any(one.segments[0].id.startswith(prefix) for prefix in ids)]


def list_questions(
    subjects: Sequence[Subject], profile: Profile, config: Config, desk: ModelAccess
) -> Iterator[Question]:
    """Every question that judging these would take, as far as it is known without asking anything."""
    if client := desk.client:
        for one in subjects:
            pieces = build_pieces_for(one, profile, config, client, may_count=False)
            told = {"about": one.session.id, "project": one.session.project}
            yield from (replace(piece.question, **told) for piece in pieces)


def list_egress(
    store: Store, subjects: Sequence[Subject], profile: Profile, config: Config, model: Backend
) -> tuple[Estimate, list[EgressQuestion]]:
    """What judging these would send to a model, word for word; nothing is sent."""
    client = ModelClient(store, config, model, AskOptions(only_kept=True))
    with closing(client):
        found = list(list_questions(subjects, profile, config, ModelAccess(client=client)))
        known = set(client.load_answers([one.key for one in found]))
        return client.estimate([measure_question(one) for one in found]), list(list_leaving(found, model, known))


def judge_quality(subjects: Sequence[Subject], profile: Profile, config: Config, desk: ModelAccess) -> list[Quality]:
    """The quality of each session, by whom the desk asks; what that one says is redacted too."""
    told = partial(privacy.redact_struct, rules=build_rules(config, pick_report_time(config)))
    if desk.client is None:
        return [told(judge_offline(one, profile, config, desk.unavailable)) for one in subjects]
    return [told(one) for one in judge_by_model(subjects, profile, config, desk.client)]


def pick_quality_model(config: Config, *, named: str | None = None) -> Config:
    """The settings with the model that quality takes: what is named here, its own, else what they hold."""
    own = MODELS.get(config.judge, "")
    name = (config.model.name or own) if named is None else (named or own or config.model.name)
    return replace(config, model=replace(config.model, name=name))


def explain_unjudged(subject: Subject, config: Config) -> str:
    """Why nobody judges a session; nothing where somebody does."""
    one = subject.session
    if why := explain_withheld(find_named_tenant(config.tenants, one.tenant), one.ended_at, pick_report_time(config)):
        return why
    if one.judge_status == "opted_out":
        return OPTED_OUT
    is_talk = one.judge_status in ("trivial", "no_goal") and not one.facts.get("tool_calls")
    return TRIVIAL if is_talk and not subject.is_named else ""


# --- offline ------------------------------------------------------------------------------------


def judge_offline(subject: Subject, profile: Profile, config: Config, why: str = "") -> Quality:
    """The quality of a session by its signals alone; `why` no model was asked is told."""
    if silence := explain_unjudged(subject, config):
        return leave_ungraded(subject, profile, silence)
    turns = subject.read()
    rubric, outcome = judge_goal(turns)
    outcome = recall_outcome(subject.session, outcome)
    dimensions = explain_unclear(subject.session, profile, offline.judge_quality(turns, profile, rubric, outcome))
    judge = QualityJudge(name=OFFLINE, versions={"quality": offline.hash_version()})
    found = score_quality(subject.session.id, profile, [ChunkJudgement(dimensions=dimensions, own_tokens=1)], judge)
    return replace(found, fallback=why or None)


def explain_unclear(session: Session, profile: Profile, found: dict[str, Dimension]) -> dict[str, Dimension]:
    """Dimensions of which only the outcome tells, ungraded with the chance that leaves it unclear."""
    if session.judge_status != "unclear" or session.confidence is None or session.marked:
        return found
    why = f"the goal is unclear: a chance of {format_chance(session.confidence)} that it was completed"
    silent = {one.name for one in profile.dimensions if tuple(one.signals) == ("outcome",)}
    return {
        name: replace(one, ungraded=why) if one.score is None and name in silent else one for name, one in found.items()
    }


def judge_goal(turns: Sequence[Turn]) -> tuple[RubricJudgement | None, OutcomeJudgement | None]:
    """What the offline judge says of goal and outcome."""
    rubric = offline_rubric(turns)
    if rubric.intent is None:
        return rubric, None
    failures = failures_of(turns).failure_signals
    return rubric, offline_outcome(turns, rubric.intent, failures, None)


def recall_outcome(session: Session, outcome: OutcomeJudgement | None) -> OutcomeJudgement | None:
    """The outcome as a person or the session's own judge says it was: `assay show` says the same of it."""
    said = session.goal_complete
    if session.judge_status in UNSAID and session.marked is None:
        return None
    if session.confidence is None and (said is None or session.marked is None):
        return outcome
    found = outcome or OutcomeJudgement(goal_complete=None, confidence=None, evidence=None)
    if session.marked is not None and said is not None:
        return replace(found, goal_complete=said, confidence=float(said), evidence="explicit", ungraded="")
    cited = tuple(session.citations) or found.citations
    told = {"goal_complete": said, "confidence": session.confidence, "evidence": session.evidence, "citations": cited}
    return replace(found, **told, ungraded="")


def build_ungraded(why: str) -> Dimension:
    return Dimension(score=None, label=None, evidence=[], rationale="", ungraded=why)


NOBODY = QualityJudge(name="nobody", versions={})


def leave_ungraded(
    subject: Subject, profile: Profile, why: str, judge: QualityJudge = NOBODY, chunks: int = 1
) -> Quality:
    """Every dimension ungraded, and why."""
    none = build_ungraded(why)
    said = ChunkJudgement(dimensions={one.name: none for one in profile.dimensions}, own_tokens=1)
    return score_quality(subject.session.id, profile, [said] * chunks, judge)


# --- what a model is asked ----------------------------------------------------------------------


class QualityPiece(Struct, frozen=True, kw_only=True):
    """What a model is shown of a session, and asked about it."""

    question: Question
    turns: Sequence[Turn]
    places: Sequence[int]
    """Numbers of these turns in the session, from 1."""
    own_tokens: int


class PieceTerms(Struct, frozen=True, kw_only=True):
    """What all pieces of a session are made by."""

    profile: Profile
    model: str
    redactor: Redactor
    session: str = ""
    intent: Intent | None = None
    ratio: float = 1.0
    """How many tokens the service counts for one of ours."""

    def ours(self, tokens: int) -> int:
        """The service's tokens in ours."""
        return int(tokens / self.ratio)


def build_pieces_for(
    subject: Subject, profile: Profile, config: Config, client: ModelClient, *, may_count: bool = True
) -> list[QualityPiece]:
    """What a model would be asked about a session; nothing where it may not be shown it."""
    if explain_unjudged(subject, config) or explain_not_allowed(subject, config, client):
        return []
    turns = subject.read()
    if not any(turn.prompt or turn.replies or turn.calls for turn in turns):
        return []
    terms = PieceTerms(
        profile=profile,
        model=client.model.model,
        redactor=Redactor(build_rules(config, pick_report_time(config)).options),
        session=subject.session.id,
        intent=subject.session.intent,
    )
    return build_pieces(turns, replace(terms, ratio=measure_ratio(turns, terms, client, may_count=may_count)))


def explain_not_allowed(subject: Subject, config: Config, client: ModelClient) -> str:
    """Why this model may not be asked about a session: its tenant says so."""
    name = subject.session.tenant
    return explain_forbidden(find_named_tenant(config.tenants, name), name, client.model.backend, client.model.model)


def build_pieces(turns: Sequence[Turn], terms: PieceTerms) -> list[QualityPiece]:
    """A question for each chunk."""
    chunks = split_chunks(turns, terms.ratio)
    return [build_piece(turns, one, (n, len(chunks)), terms) for n, one in enumerate(chunks, 1)]


def split_chunks(turns: Sequence[Turn], ratio: float = 1.0) -> list[Chunk]:
    """The session in chunks by tokens."""
    task = find_task(turns)
    sizes = [round(count_turn_tokens(turn) * ratio) for turn in turns]
    return cut_chunks(sizes, task=round(count_turn_tokens(Turn(prompt=task)) * ratio) if task else 0)


def count_turn_tokens(turn: Turn) -> int:
    """Tokens of a turn as a model would be shown it, were it shown in full."""
    return rendering.estimate_tokens(rendering.render_session([turn], None, PLENTY))


def build_piece(turns: Sequence[Turn], one: Chunk, at: tuple[int, int], terms: PieceTerms) -> QualityPiece:
    """What is asked of one chunk; one that does not hold the session's first prompt is told it."""
    shown = list(turns[one.first : one.last + 1])
    places = list(range(one.first + 1, one.last + 2))
    if one.shortened is not None and one.room is not None:
        n = one.shortened - one.first
        shown[n] = shorten_turn(shown[n], terms.ours(one.room), count_turn_tokens)
    first = find_first_request(turns)
    if is_told := one.has_task and first is not None and first < one.first:
        shown.insert(0, Turn(at=turns[first].at, prompt=turns[first].prompt))
        places.insert(0, first + 1)
    profile = select_answerable(terms.profile, shown)
    asks = asked.ProfileQuestion(
        criteria=profiles.render_criteria(profile),
        schema=profiles.build_reply_schema(profile),
        part=describe_place(turns, one, at, terms, is_told=is_told),
        goal=asked.describe_goal(terms.intent),
    )
    room = terms.ours(WHOLE if at[1] == 1 else TARGET)
    material = terms.redactor.text(rendering.render_session(shown, None, room))
    found = asked.build_question(terms.model, asks, material, format_signals(shown))
    return QualityPiece(question=found, turns=shown, places=places, own_tokens=one.own_tokens)


def describe_place(turns: Sequence[Turn], one: Chunk, at: tuple[int, int], terms: PieceTerms, *, is_told: bool) -> str:
    """Which session it is, how long it took, which part is shown, and what came before: no word of a transcript."""
    spent = time_of(turns).active_s
    lasted = f", {round(spent / 60):,} minutes of work" if spent else ""
    named = f"Session {terms.session}: " if terms.session else "The session: "
    whole = f"{named}{len(turns)} turns, {sum(len(turn.calls) for turn in turns)} calls{lasted}."
    before = f"\nBefore this part: {summarize_turns(turns[: one.first])}." if one.first and at[1] > 1 else ""
    return f"{whole} {asked.describe_part(*at, is_told=is_told)}{before}"


def summarize_turns(turns: Sequence[Turn]) -> str:
    """What happened in some turns, in numbers."""
    calls = [call for turn in turns for call in turn.calls]
    edited = {edit.path for call in calls for edit in call.edits}
    failed = sum(call.status == "error" for call in calls)
    last = {run.purpose: run.outcome for call in calls for run in call.runs if run.purpose in CHECKS and run.outcome}
    checks = ", ".join(f"{purpose} {outcome}" for purpose, outcome in sorted(last.items())) or "none"
    commits = sum(len(call.commits) for call in calls)
    return (
        f"{len(turns)} turns, {len(calls)} calls ({failed} failed), {len(edited)} files changed, {commits} commits; "
        f"how each check last ended: {checks}"
    )


def find_first_request(turns: Sequence[Turn]) -> int | None:
    """Index of the turn with the session's first request."""
    task = find_task(turns)
    return next((n for n, turn in enumerate(turns) if turn.prompt is task), None) if task else None


def select_answerable(profile: Profile, turns: Sequence[Turn]) -> Profile:
    """The profile without what only tokens and cost could tell, where none are known."""
    if any(turn.spends for turn in turns):
        return profile
    kept = [one for one in profile.dimensions if not one.signals or not SPENDING.issuperset(one.signals)]
    return replace(profile, dimensions=tuple(kept))


def list_spending(turns: Sequence[Turn]) -> Iterator[str]:
    """What was spent, where that is known."""
    spent = tokens_of(turns)
    if any(turn.spends for turn in turns) and (one := spent.tokens):
        whole = one.input + one.cache_read + one.cache_write
        cost = "not known" if spent.cost_usd is None else f"USD {spent.cost_usd:.2f}"
        yield f"- tokens: {whole:,} in, {one.cache_read:,} of them from the cache, {one.output:,} out; cost: {cost}"


def format_signals(turns: Sequence[Turn]) -> str:
    """The auto-signals and what was spent, in numbers: no word of a transcript."""
    found = signals_of(turns).signals
    opening = next((turn.prompt for turn in turns if turn.prompt), None)
    lines = ["- it begins with a plan that was accepted before"] if opening and opening.kind == "plan" else []
    lines += [*list_spending(turns)]
    lines += [
        f"- {name.replace('_', ' ')}: {one.count} of {one.of}"
        + (f" (turns {', '.join(map(str, one.turns))})" if one.turns else "")
        for name, one in found.items()
        if one.of
    ]
    return "\n".join(lines) or "- none"


def measure_ratio(turns: Sequence[Turn], terms: PieceTerms, client: ModelClient, *, may_count: bool) -> float:
    """How many tokens the service counts for one of ours, where that decides whether a session is cut."""
    ours = sum(map(count_turn_tokens, turns))
    if ours < NEAR * WHOLE:
        return 1.0
    text = terms.redactor.text(rendering.render_session(turns, None, PLENTY))
    exact = count_tokens(text, client, may_count=may_count)
    return exact / rendering.estimate_tokens(text) if exact else 1.0


def count_tokens(text: CleanText, client: ModelClient, *, may_count: bool) -> int | None:
    """Tokens as the service counts them, kept: another count would be other chunks, and other questions."""
    key = sha256("\0".join((COUNT, client.model.model, text)).encode("utf-8", "surrogatepass")).hexdigest()
    kept = client.store.answers.load_answers([key])
    if key in kept:
        return int(kept[key].text)
    found = client.count_tokens(text) if may_count and not client.closed else None
    if found:
        client.store.answers.save_answer(
            QuestionResult(key=key, job=COUNT, version="1", text=str(found)), client.model.backend
        )
    return found


# --- what a model says --------------------------------------------------------------------------


def judge_by_model(
    subjects: Sequence[Subject], profile: Profile, config: Config, client: ModelClient
) -> Iterator[Quality]:
    """Every session, in portions, the questions of each asked at once."""
    most = BATCHED if client.options.batch else PORTION
    for start in range(0, len(subjects), most):
        some = subjects[start : start + most]
        made = [build_pieces_for(one, profile, config, client) for one in some]
        answers = client.ask_questions([one.question for each in made for one in each])
        for subject, each in zip(some, made, strict=True):
            if each:
                yield judge_pieces(subject, profile, config, each, (answers, client))
            else:
                yield judge_unasked(subject, profile, config, client)


def judge_unasked(subject: Subject, profile: Profile, config: Config, client: ModelClient) -> Quality:
    """A session about which no model was asked: nothing may be seen, or nothing can."""
    why = explain_unjudged(subject, config)
    if not why and (instead := explain_not_allowed(subject, config, client)):
        return judge_offline(subject, profile, config, instead)
    return leave_ungraded(subject, profile, why or NO_WORDS)


def judge_pieces(
    subject: Subject,
    profile: Profile,
    config: Config,
    made: Sequence[QualityPiece],
    said: tuple[dict[str, QuestionResult], ModelClient],
) -> Quality:
    """What a model says of a session's chunks; where an answer is missing, the offline judge has to do.

    A chunk whose answer can't be used says nothing: the others' mean tells how much of the session it rests on, and
    what only the final chunk can tell is ungraded where that is the one.
    """
    answers, client = said
    unasked = [answers[one.question.key] for one in made if answers[one.question.key].trouble in UNASKED]
    if unasked:
        return judge_offline(subject, profile, config, unasked[0].why)
    judge = QualityJudge(name=client.model.backend, versions={"quality": made[0].question.version})
    chunks: list[ChunkJudgement] = []
    for n, one in enumerate(made, 1):
        try:
            dimensions = asked.read_dimensions(answers[one.question.key], profile, one.turns, one.places)
        except JudgeError as error:
            why = f"chunk {n} of {len(made)}: {error}" if len(made) > 1 else str(error)
            dimensions = dict.fromkeys((scale.name for scale in profile.dimensions), build_ungraded(why))
        chunks.append(ChunkJudgement(dimensions=dimensions, own_tokens=one.own_tokens))
    return score_quality(subject.session.id, profile, chunks, judge)
