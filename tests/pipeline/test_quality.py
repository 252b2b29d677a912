"""The quality of sessions: who may be asked what, chunk by chunk, and what is made of the answers."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.config import Config, Model, Redaction, Tenant
from assay.judges.criteria import format_chance, load_criteria
from assay.judges.offline import quality as offline
from assay.llm import Question
from assay.pipeline import quality as judging
from assay.pipeline.models import AskOptions, ModelAccess, open_models
from assay.pipeline.quality import (
    PORTION,
    TRIVIAL,
    PieceTerms,
    QualityPiece,
    Subject,
    build_pieces,
    judge_quality,
    list_questions,
    pick_quality_model,
)
from assay.scores.profiles import load_profile
from assay.sessions.chunks import TARGET, WHOLE
from assay.sessions.redaction import Redactor
from assay.sessions.rendering import estimate_tokens
from assay.stores import Store, open_store
from assay.testing.models import EarlyStop, ErrorStatus, ModelServer
from assay.types import Spend, Turn, Usage
from assay.types.quality import Quality
from tests.judges.make_turns import Step, asked, checked, edit, session, shell
from tests.make_sessions import session_of

PROFILE = load_profile("enhanced")
TERMS = PieceTerms(profile=PROFILE, model="m", redactor=Redactor())
WORDS = re.compile(r"^\[turn (\d+)\] the person writes[^\n]*\n\| ([^\n]{8,60})\b", re.MULTILINE)
PART = re.compile(r"this is part (\d+) of (\d+)")
MODEL = "claude-sonnet-4-5"

Answering = Callable[[int], dict[str, float | None]]
"""Scores that differ from the others, by the number of the part."""


def row(n: int, tokens: int = 20) -> Step:
    """A turn of about so many tokens, nearly all of them the person's."""
    return asked(f"weave row {n} of the scarf " + "blue wool " * (tokens // 2), edit("loom.py"), checked(), f"row {n}")


def rows(count: int, tokens: int = 20) -> tuple[Turn, ...]:
    return session(*(row(n, tokens) for n in range(1, count + 1)))


FEW = rows(3)


def subject(turns: Sequence[Turn] = FEW, *, is_named: bool = False, **more: Any) -> Subject:
    return Subject(session=session_of(**more), read=lambda: turns, is_named=is_named)


def reply(text: str, changed: dict[str, float | None]) -> dict[str, Any]:
    """All dimensions, citing the last prompt that was shown."""
    turn, quote = WORDS.findall(text)[-1]
    plain = {one.name: 2.0 if one.kind == "categorical" else 0.5 for one in PROFILE.dimensions}
    return {
        name: {"evidence": [{"turn": int(turn), "quote": quote}], "rationale": f"Seen in {quote[:12]}", "score": score}
        for name, score in (plain | changed).items()
    }


def answering(by_part: Answering = lambda n: {}) -> Callable[[str, str], Any]:
    def said(_: str, text: str) -> Any:
        found = PART.search(text)
        return reply(text, by_part(int(found[1]) if found else 1))

    return said


def settings(url: str, **more: Any) -> Config:
    model = Model(url=url, name=MODEL, tries=1, **more.pop("model", {}))
    return Config(judge="anthropic", model=model, **more)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def told(store: Store, config: Config, some: Sequence[Subject], **manner: Any) -> list[Quality]:
    with closing(open_models(store, config, {"ANTHROPIC_API_KEY": "none"}, AskOptions(**manner))) as whom:
        return judge_quality(some, PROFILE, config, whom)


# --- what is asked --------------------------------------------------------------------------------


def test_a_session_is_asked_about_once_with_its_signals_in_numbers() -> None:
    failing = shell("pytest -q", "test", "failed", output="Error: secret plan")
    turns = session(asked("weave it", failing, failing, "no"), asked("again please", edit("loom.py"), "woven"))
    (piece,) = build_pieces(turns, TERMS)
    assert piece.places == [1, 2]
    assert "The record holds the whole session." in piece.question.task
    assert "- retries: 1 of " in piece.question.task
    assert "secret plan" in piece.question.material
    assert not [word for word in ("weave", "secret", "loom.py", "pytest") if word in piece.question.task]


CLASSIC = replace(TERMS, profile=load_profile("classic"))
SPENT = Spend(
    at="2026-03-02T09:00:00Z", key=1, model="claude-sonnet-4-5", usage=Usage(input=1_000, output=200, cache_read=9_000)
)


def test_cost_efficiency_is_asked_only_where_tokens_are_known_and_then_they_are_shown() -> None:
    turns = rows(2)
    (without,) = build_pieces(turns, CLASSIC)
    assert "cost_efficiency" not in without.question.task
    assert b"cost_efficiency" not in without.question.schema
    assert "tokens:" not in without.question.task
    (with_spending,) = build_pieces((replace(turns[0], spends=(SPENT,)), turns[1]), CLASSIC)
    assert b"cost_efficiency" in with_spending.question.schema
    assert "- tokens: 10,000 in, 9,000 of them from the cache, 200 out; cost: USD 0.01" in with_spending.question.task


def test_a_dimension_that_was_not_asked_is_ungraded_and_says_why(store: Store) -> None:
    profile = load_profile("classic")

    def said(_: str, text: str) -> Any:
        asked_for = [one for one in profile.dimensions if f"## {one.name}\n" in text]
        turn, quote = WORDS.findall(text)[-1]
        cited = [{"turn": int(turn), "quote": quote}]
        return {one.name: {"evidence": cited, "rationale": "x", "score": 1} for one in asked_for}

    with ModelServer(said) as service:
        config = settings(service.url)
        with closing(open_models(store, config, {"ANTHROPIC_API_KEY": "none"}, AskOptions())) as whom:
            (found,) = judge_quality([subject()], profile, config, whom)
    assert found.dimensions["task_completion"].score == 1
    assert found.missing == ["cost_efficiency"]
    assert "no tokens" in found.dimensions["cost_efficiency"].ungraded


def test_completed_means_in_quality_what_it_means_in_the_outcome() -> None:
    (piece,) = build_pieces(FEW, replace(TERMS, intent="bug_fix"))
    assert load_criteria().intents["bug_fix"].criterion in piece.question.task
    (unknown,) = build_pieces(FEW, TERMS)
    assert "completed means: what was asked for is there" in unknown.question.task


def test_the_offline_quality_goes_by_the_verdict_of_the_session_itself() -> None:
    failed = session_of(goal_complete=False, judge_status="ok", confidence=0.1, evidence="silent")
    done = session_of(goal_complete=True, judge_status="ok", confidence=0.9, evidence="silent")
    config = Config()
    low, high = (
        judge_quality([Subject(session=one, read=lambda: FEW)], PROFILE, config, ModelAccess())[0]
        for one in (failed, done)
    )
    assert (low.dimensions["goal_achievement"].score or 0) < 2 <= (high.dimensions["goal_achievement"].score or 0)


def test_a_session_that_begins_with_an_accepted_plan_is_planned() -> None:
    plan = asked("# Weave it\n1. Warp\n2. Weft", edit("loom.py"), kind="plan")
    steps = [asked(f"row {n}", edit(f"row{n}.py"), edit(f"more{n}.py"), checked(), "woven") for n in range(12)]
    (piece, *_) = build_pieces(session(plan, *steps), TERMS)
    assert "- it begins with a plan that was accepted before" in piece.question.task
    found = offline.judge_quality(session(plan, *steps), PROFILE, None, None)["process_adherence"]
    unplanned = offline.judge_quality(session(asked("Weave it", edit("loom.py")), *steps), PROFILE, None, None)
    assert "it began with a plan that was accepted" in found.rationale.lower()
    assert (found.score or 0) > (unplanned["process_adherence"].score or 0)


@pytest.mark.parametrize(
    ("judge", "last", "named", "expected"),
    [
        ("anthropic", "claude-haiku-4-5", "", "claude-sonnet-4-5"),
        ("anthropic", "claude-haiku-4-5", "claude-opus-4-5", "claude-opus-4-5"),
        ("anthropic", "", None, "claude-sonnet-4-5"),
        ("openai", "gpt-5", "", "gpt-5"),
    ],
)
def test_quality_asks_the_model_it_documents_whatever_ran_before(
    judge: str, last: str, named: str | None, expected: str
) -> None:
    config = Config(judge=judge, model=Model(name=last))
    assert pick_quality_model(config, named=named).model.name == expected


def test_what_leaves_is_redacted() -> None:
    key = "".join(("ghp", "_", "Zk3Qw8Lr2Xv7Tn5Bm9Jc4Hd6Fs1Gy0PaUeRi"))
    (piece,) = build_pieces(session(asked(f"use {key} to push")), TERMS)
    assert key not in piece.question.material
    assert "[redacted:github-token" in piece.question.material


def rendered(some: Sequence[QualityPiece]) -> list[int]:
    return [estimate_tokens(one.question.material) for one in some]


def test_a_large_session_is_asked_about_in_chunks_that_fit() -> None:
    turns = rows(40, 5_000)
    some = build_pieces(turns, TERMS)
    assert len(some) > 2
    assert all(size <= TARGET for size in rendered(some))
    assert {place for one in some for place in one.places} == set(range(1, 41))
    assert [PART.findall(one.question.task) for one in some] == [
        [(str(n), str(len(some)))] for n in range(1, len(some) + 1)
    ]
    assert len({one.question.version for one in some}) == 1


def test_chunks_behind_the_first_are_told_the_first_prompt_and_keep_the_sessions_numbers() -> None:
    turns = rows(40, 5_000)
    first, *others = build_pieces(turns, TERMS)
    assert first.places == list(range(1, len(first.places) + 1))
    assert "Turn 1 repeats" not in first.question.task
    for one in others:
        assert one.places[0] == 1
        assert one.places[1:] == list(range(one.places[1], one.places[-1] + 1))
        assert "Turn 1 repeats the request" in one.question.task
        assert "| weave row 1 of the scarf" in one.question.material
        assert not one.turns[0].calls
        assert [turn is turns[place - 1] for turn, place in zip(one.turns[1:], one.places[1:], strict=True)]


def test_no_first_prompt_is_promised_where_nobody_spoke_or_it_is_there_already() -> None:
    wordy = "blue wool " * 2_500
    silent = session(*(asked(None, wordy, checked()) for _ in range(30)))
    late = session(*(asked("ls", wordy, kind="shell") for _ in range(30)), row(31, 5_000))
    for turns in (silent, late):
        some = build_pieces(turns, TERMS)
        for one in some:
            assert "Turn 1 repeats" not in one.question.task
            assert one.places == list(range(one.places[0], one.places[-1] + 1))


def test_a_giant_turn_is_shortened_and_its_errors_stay() -> None:
    steps = [shell(f"spin {n}", output=f"thread {n} " * 400) for n in range(600)]
    steps[300] = shell("spin badly", None, "failed", output="Error: the thread broke")
    turns = session(row(1), asked("spin all of it", *steps, "spun"), row(3))
    some = build_pieces(turns, TERMS)
    assert all(size <= TARGET for size in rendered(some))
    assert any("Error: the thread broke" in one.question.material for one in some)
    assert any("left out" in one.question.material for one in some)


# --- what is made of the answers ------------------------------------------------------------------


def test_a_models_word_becomes_the_quality(store: Store) -> None:
    with ModelServer(answering(lambda _: {"tool_efficiency": 0.9, "error_handling": None})) as service:
        (found,) = told(store, settings(service.url), [subject()])
    assert (found.judge, found.chunks, found.fallback) == ("anthropic", 1, None)
    assert found.dimensions["tool_efficiency"].score == 0.9
    assert found.missing == ["error_handling"]
    assert found.dimensions["goal_achievement"].evidence[0].turn == 3
    # (.3 * 2/3 + .2 * .9 + .2 * .5 + .15 * .5 + .05 * .5) / .9
    assert found.overall_quality == pytest.approx((0.2 + 0.18 + 0.1 + 0.075 + 0.025) / 0.9)


def test_chunks_are_weighed_by_their_own_tokens_and_the_goal_is_the_final_ones(store: Store) -> None:
    turns = rows(40, 5_000)
    some = build_pieces(turns, TERMS)
    scores = [0.2, 0.6, 1.0, 0.4, 0.8][: len(some)]
    goals = [0.0, 1.0, 3.0, 2.0, 1.0]
    said = answering(lambda n: {"tool_efficiency": scores[n - 1], "goal_achievement": goals[n - 1]})
    with ModelServer(said) as service:
        service.tokens = lambda _: ErrorStatus(404)
        (found,) = told(store, settings(service.url), [subject(turns)])
    own = [one.own_tokens for one in some]
    mean = sum(score * weight for score, weight in zip(scores, own, strict=True)) / sum(own)
    assert found.chunks == len(some)
    assert found.dimensions["tool_efficiency"].score == pytest.approx(mean)
    assert found.dimensions["goal_achievement"].score == goals[len(some) - 1]
    cited = found.dimensions["tool_efficiency"].evidence
    assert [one.turn for one in cited] == [piece.places[-1] for piece in some]
    assert all(one.quote.startswith(f"weave row {one.turn} of the scarf") for one in cited)


@pytest.mark.parametrize("is_final", [False, True])
def test_a_chunk_whose_answer_cannot_be_used_is_left_out_and_said(store: Store, is_final: bool) -> None:
    turns = rows(40, 5_000)
    chunks = len(build_pieces(turns, TERMS))
    lost = chunks if is_final else 2

    def said(job: str, text: str) -> Any:
        return EarlyStop("refusal") if f"this is part {lost} of" in text else answering()(job, text)

    with ModelServer(said) as service:
        service.tokens = lambda _: ErrorStatus(404)
        large = subject(turns)
        broken, whole = told(store, settings(service.url), [large, subject()])
        asked_before = len(service.calls)
        again = told(store, settings(service.url), [large])
        assert len(service.calls) == asked_before
    number, goal = broken.dimensions["tool_efficiency"], broken.dimensions["goal_achievement"]
    assert [score is None for score in number.chunk_scores] == [n == lost for n in range(1, chunks + 1)]
    assert (number.score is None, 0 < (number.coverage or 0) < 1) == (False, True)
    assert f"Mean of {chunks - 1} of {chunks} chunks" in number.rationale
    why = f"the final chunk, which decides, can't be used: chunk {lost} of {chunks}: the model declined to answer"
    assert goal.ungraded == (why if is_final else "")
    assert (broken.judge, broken.chunks, whole.overall_quality is None) == ("anthropic", chunks, False)
    assert again[0].dimensions == broken.dimensions


def test_a_question_names_the_session_its_length_and_what_came_before() -> None:
    turns = rows(40, 5_000)
    first, second, *_ = (one.question.task for one in build_pieces(turns, replace(TERMS, session="5e55")))
    assert "Session 5e55: 40 turns" in first
    assert "Before this part" not in first
    assert re.search(r"Before this part: \d+ turns, \d+ calls \(0 failed\)", second)


def test_a_reply_that_never_fits_leaves_its_session_ungraded(store: Store) -> None:
    with ModelServer(lambda *_: "It went well.") as service:
        (found,) = told(store, settings(service.url), [subject()])
        assert len(service.calls) == 2
    assert found.overall_quality is None
    assert all("JSON object" in one.ungraded for one in found.dimensions.values())


def test_what_was_answered_is_not_asked_again(store: Store) -> None:
    some = [subject(), subject(rows(4))]
    with ModelServer(answering()) as service:
        first = told(store, settings(service.url), some)
        assert len(service.calls) == 2
        assert told(store, settings(service.url), some, only_kept=True) == first
        assert len(service.calls) == 2


def test_sessions_are_asked_about_in_portions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    some = [subject(session(row(n))) for n in range(2 * PORTION + 3)]
    held: list[int] = []
    with ModelServer(answering()) as service:
        config = settings(service.url)
        with closing(open_models(store, config, {"ANTHROPIC_API_KEY": "none"})) as whom:
            assert whom.client
            answers = whom.client.ask_questions

            def counting(questions: Sequence[Question]) -> Any:
                held.append(len(questions))
                return answers(questions)

            monkeypatch.setattr(whom.client, "ask_questions", counting)
            found = judge_quality(some, PROFILE, config, whom)
    assert held == [PORTION, PORTION, 3]
    assert [one.session for one in found] == [one.session.id for one in some]
    assert all(one.judge == "anthropic" for one in found)


# --- when nobody answers --------------------------------------------------------------------------


def test_the_offline_judge_does_it_where_the_service_is_not_there(store: Store) -> None:
    with ModelServer(lambda *_: ErrorStatus(401)) as service:
        (found,) = told(store, settings(service.url), [subject()])
    assert found.judge == "offline"
    assert found.fallback
    assert found.overall_quality is not None


def test_the_offline_judge_does_what_money_does_not_reach(store: Store) -> None:
    with ModelServer(answering()) as service:
        config = settings(service.url, model={"max_cost": 0.0001})
        (found,) = told(store, config, [subject()])
        assert not service.calls
    assert (found.judge, found.fallback) == ("offline", "--max-cost is reached")


def test_without_a_way_to_the_model_the_desk_says_why(store: Store) -> None:
    (found,) = judge_quality([subject()], PROFILE, Config(), ModelAccess(unavailable="no key"))
    assert (found.judge, found.fallback) == ("offline", "no key")


# --- who may be shown -----------------------------------------------------------------------------

LOOM = "/home/ada/loom"
TENANTS: dict[str, tuple[Tenant, str, str | None]] = {
    "opted out": (Tenant(projects=(LOOM,), opt_out=True), "nobody", None),
    "expired": (Tenant(projects=(LOOM,), retention_days=1), "nobody", None),
    "another judge": (Tenant(projects=(LOOM,), judges=("openai",)), "offline", "tenant mill does not allow anthropic"),
    "another model": (
        Tenant(projects=(LOOM,), models=("small",)),
        "offline",
        f"tenant mill does not allow the model {MODEL}",
    ),
    "this one": (Tenant(projects=(LOOM,), judges=("anthropic",), models=(MODEL,)), "anthropic", None),
}


@pytest.mark.parametrize(("tenant", "judge", "why"), TENANTS.values(), ids=TENANTS)
def test_a_tenants_word_holds(store: Store, tenant: Tenant, judge: str, why: str | None) -> None:
    one = subject(project=LOOM, tenant="mill")
    with ModelServer(answering()) as service:
        config = settings(service.url, tenants={"mill": tenant})
        (found,) = told(store, config, [one])
        assert len(service.requests) == (judge == "anthropic")
    assert (found.judge, found.fallback) == (judge, why)
    assert (found.overall_quality is None) == (judge == "nobody")


@pytest.mark.parametrize("judge", ["offline", "anthropic"])
@pytest.mark.parametrize("status", ["opted_out", "trivial"])
def test_sessions_without_words_or_substance_are_ungraded_and_cost_nothing(
    store: Store, judge: str, status: Any
) -> None:
    def unread() -> Sequence[Turn]:
        raise AssertionError("nobody may look")

    one = Subject(session=session_of(judge_status=status), read=unread)
    with ModelServer(answering()) as service:
        (found,) = told(store, settings(service.url) if judge != "offline" else Config(), [one])
        assert not service.requests
    assert {each.ungraded for each in found.dimensions.values()} == {
        TRIVIAL if status == "trivial" else "opted out",
    }
    assert (found.judge, found.overall_quality, found.computed_from) == ("nobody", None, [])


def test_a_trivial_session_that_somebody_names_is_judged(store: Store) -> None:
    one = subject(rows(2), judge_status="trivial", is_named=True)
    (found,) = told(store, Config(), [one])
    assert found.judge == "offline"
    assert found.overall_quality is not None


def test_a_session_below_the_floor_in_which_something_was_done_is_judged(store: Store) -> None:
    one = subject(rows(1), judge_status="trivial", facts={"substance": False, "tool_calls": 2})
    (found,) = told(store, Config(), [one])
    assert found.judge == "offline"
    assert found.overall_quality is not None


@pytest.mark.parametrize("turns", [(), (Turn(at="2026-03-02T09:00:00Z"),)])
def test_a_session_with_no_words_at_all_is_ungraded_not_failed(store: Store, turns: Sequence[Turn]) -> None:
    with ModelServer(answering()) as service:
        (by_model,) = told(store, settings(service.url), [subject(turns)])
        assert not service.requests
    (offline,) = told(store, Config(), [subject(turns)])
    for found in (by_model, offline):
        assert found.overall_quality is None
        assert all(one.score is None and one.ungraded for one in found.dimensions.values())


# --- exact counting -------------------------------------------------------------------------------


def near() -> tuple[Turn, ...]:
    """A little more, by our own count, than a session may have in one piece."""
    turns = rows(20, 4_000)
    assert WHOLE < sum(map(judging.count_turn_tokens, turns)) < 1.2 * WHOLE
    return turns


@pytest.mark.parametrize(("factor", "is_cut"), [(0.8, False), (1.5, True)])
def test_the_services_count_decides_whether_a_session_is_cut(store: Store, factor: float, is_cut: bool) -> None:
    with ModelServer(answering()) as service:
        service.tokens = lambda text: round(estimate_tokens(text) * factor)
        (found,) = told(store, settings(service.url), [subject(near())])
        sent = [one.text for one in service.calls]
    assert (found.chunks > 1) == is_cut
    assert len(sent) == found.chunks
    assert not [text for text in sent if "\n- shortened to fit" in text]


def test_a_small_session_is_not_counted(store: Store) -> None:
    with ModelServer(answering()) as service:
        told(store, settings(service.url), [subject()])
        assert [one.path for one in service.requests] == ["/v1/messages"]


@pytest.mark.parametrize("status", [404, 500])
def test_where_counting_fails_our_own_estimate_has_to_do(store: Store, status: int) -> None:
    with ModelServer(answering()) as service:
        service.tokens = lambda _: ErrorStatus(status)
        (found,) = told(store, settings(service.url), [subject(near())])
    assert found.chunks == len(build_pieces(near(), TERMS))
    assert found.judge == "anthropic"


def test_a_count_is_kept_so_that_the_next_run_asks_the_same(store: Store) -> None:
    one = subject(near())
    with ModelServer(answering()) as service:
        service.tokens = lambda text: round(estimate_tokens(text) * 1.5)
        config = settings(service.url)
        (first,) = told(store, config, [one])
        before = len(service.requests)
        with closing(open_models(store, config, {"ANTHROPIC_API_KEY": "none"})) as whom:
            assert whom.client
            keys = [question.key for question in list_questions([one], PROFILE, config, whom)]
            assert set(whom.client.load_answers(keys)) == set(keys)
        assert told(store, config, [one]) == [first]
        assert len(service.requests) == before


def test_nothing_is_counted_before_the_person_agreed(store: Store) -> None:
    with ModelServer(answering()) as service:
        config = settings(service.url)
        with closing(open_models(store, config, {"ANTHROPIC_API_KEY": "none"})) as whom:
            assert list(list_questions([subject(near())], PROFILE, config, whom))
        assert not service.requests


def test_what_is_counted_is_redacted_as_the_settings_say(store: Store) -> None:
    turns = session(asked("mail it to ada@blue-loom.org"), *(row(n, 4_000) for n in range(2, 24)))
    with ModelServer(answering()) as service:
        told(store, settings(service.url, redaction=Redaction(email=True)), [subject(turns)])
        assert "/v1/messages/count_tokens" in [one.path for one in service.requests]
        assert not [one.path for one in service.requests if "ada@blue" in str(one.body)]


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (
            {"judge_status": "unclear", "goal_complete": None, "confidence": 0.571},
            "a chance of 0.57 that it was completed",
        ),
        ({"judge_status": "unclear", "goal_complete": None, "confidence": 0.9999}, "a chance of 0.99 that it was"),
        ({"judge_status": "in_progress", "goal_complete": None, "confidence": None}, "too little of it: outcome"),
        ({"judge_status": "ungraded", "goal_complete": None, "confidence": None}, "too little of it: outcome"),
    ],
)
def test_where_the_session_s_judge_claims_nothing_the_goal_is_ungraded(known: dict[str, Any], told: str):
    [found] = judge_quality([subject(**known)], PROFILE, Config(), ModelAccess())
    goal = found.dimensions["goal_achievement"]
    assert goal.score is None
    assert told in (goal.ungraded or "")


@pytest.mark.parametrize("chance", [0.7, 0.9999])
def test_the_chance_is_the_session_s_own_as_every_command_tells_it(chance: float):
    one = subject(evidence="silent", confidence=chance)
    [found] = judge_quality([one], PROFILE, Config(), ModelAccess())
    assert f"(chance of completion {format_chance(chance)})" in found.dimensions["goal_achievement"].rationale
