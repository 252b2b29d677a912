"""The offline quality judge: every dimension from what was seen, with words that stand there, or ungraded."""

import pytest
from hypothesis import given
from msgspec.structs import replace

from assay.facts import failures as failing
from assay.judges import offline
from assay.judges.offline.quality import SIGNALS, hash_version, judge_quality
from assay.judges.offline.quality_signals import load_weights
from assay.pipeline.judgement import has_quote
from assay.scores.profiles import SHIPPED, load_profile
from assay.types import Call, Mark, OutcomeJudgement, Spend, Turn, Usage
from assay.types.quality import Band, Category, Dimension, Profile, Scale
from tests.judges.make_turns import (
    QUICK,
    any_turns,
    asked,
    checked,
    committed,
    edit,
    look,
    outcome_of,
    rubric_of,
    session,
    shell,
    tool,
)
from tests.tables import each_row

Done = str | Call | Mark


def judged(turns: tuple[Turn, ...], profile: str | Profile) -> dict[str, Dimension]:
    """As the pipeline asks: rubric, failure signals, outcome, quality."""
    rubric = rubric_of(turns)
    failures = failing.fact(turns).failure_signals
    outcome = outcome_of(turns, rubric.intent, failures) if rubric.intent else None
    return judge_quality(turns, load_profile(profile) if isinstance(profile, str) else profile, rubric, outcome)


FIX = "fix the crash in till/sum.py when the basket is empty, and run the tests"
GOOD = session(
    asked(
        FIX,
        tool("todo", "find it, fix it, test it"),
        look("till/sum.py"),
        look("till/basket.py"),
        tool("search", "def total"),
        checked("failed"),
        edit("till/sum.py"),
        edit("till/basket.py"),
        edit("tests/test_sum.py"),
        checked(),
        committed(),
        "Fixed: the total of an empty basket is 0 now, and all tests pass.",
    ),
    asked("great, thanks! that works"),
)
BAD = session(
    asked(
        FIX,
        shell("cat till/sum.py"),
        shell("cat till/basket.py"),
        edit("till/sum.py"),
        checked("failed"),
        checked("failed"),
        edit("till/sum.py"),
        checked("failed"),
        checked("failed"),
        "I tried some things.",
    ),
    asked("this is still broken, it crashes in the same place", edit("till/sum.py"), checked("failed"), "Hm."),
    asked("still wrong! this is useless", checked("failed"), "I could not make it work."),
)


@pytest.mark.parametrize("profile", SHIPPED)
def test_an_orderly_session_scores_above_a_chaotic_one_wherever_both_are_scored(profile: str) -> None:
    good, bad = judged(GOOD, profile), judged(BAD, profile)
    both = [
        (name, good[name].score, bad[name].score) for name in good if None not in (good[name].score, bad[name].score)
    ]
    assert len(both) >= 4
    assert not [(name, one, two) for name, one, two in both if (one or 0.0) < (two or 0.0)]
    assert sum((one or 0.0) > (two or 0.0) for _, one, two in both) >= 3


@pytest.mark.parametrize("profile", SHIPPED)
@pytest.mark.parametrize("turns", [GOOD, BAD], ids=["good", "bad"])
def test_a_score_comes_with_a_label_a_reason_and_quotes_that_stand_there(turns: tuple[Turn, ...], profile: str) -> None:
    for name, found in judged(turns, profile).items():
        if found.score is None:
            assert found.ungraded
            assert not found.evidence
            continue
        scale = load_profile(profile).scale(name)
        assert scale
        assert found.label == scale.label(found.score)
        assert found.rationale.endswith(".")
        assert found.evidence
        assert all(has_quote(one, turns, None) for one in found.evidence), name


@QUICK
@given(any_turns())
def test_whatever_the_turns_scores_are_in_range_and_quotes_stand(turns: tuple[Turn, ...]) -> None:
    for profile in SHIPPED:
        for name, found in judged(turns, profile).items():
            scale = load_profile(profile).scale(name)
            assert scale
            if found.score is None:
                assert found.ungraded
            elif scale.kind == "categorical":
                assert found.score in (0, 1, 2, 3)
            else:
                assert 0 <= found.score <= 1
            assert all(has_quote(one, turns, None) for one in found.evidence), (name, found)


@pytest.mark.parametrize("profile", SHIPPED)
def test_nothing_seen_is_nothing_said(profile: str) -> None:
    for turns in ((), session(asked("hello"))):
        found = judged(turns, profile)
        assert list(found) == [one.name for one in load_profile(profile).dimensions]
        graded = {name for name, one in found.items() if one.score is not None}
        assert not graded - {"goal_achievement", "task_completion", "output_quality", "instruction_following",
                             "execution_quality"}  # fmt: skip


# --- what is not shown is ungraded ------------------------------------------------------------


def of(dimension: str, *done: Done, then: tuple[str, ...] = (), profile: str = "revised") -> Dimension:
    turns = session(asked("weave the blue scarf", *done, "The scarf is woven."), *(asked(text) for text in then))
    return judged(turns, profile)[dimension]


@pytest.mark.parametrize(
    ("dimension", "profile"),
    [
        ("user_satisfaction", "revised"),  # nobody said anything
        ("security_compliance", "revised"),  # nothing to do with security
        ("error_handling", "enhanced"),  # no error, and too little to call it prevented
        ("process_adherence", "enhanced"),  # nothing was changed
        ("cost_efficiency", "classic"),  # no tokens are known
    ],
)
def test_a_dimension_of_which_nothing_is_seen_is_ungraded(dimension: str, profile: str) -> None:
    found = of(dimension, look("scarf.txt"), profile=profile)
    assert found.score is None
    assert found.ungraded


@each_row(
    ("then", "label"),
    [
        ((), None),
        (("now the red one",), None),
        (("thanks, that looks great",), "satisfied"),
        (("commit and push",), "satisfied"),
        (("thanks, looks good", "perfect, thank you"), "delighted"),
        (("this is still wrong",), "dissatisfied"),
        (("this is still wrong", "great, now it works"), "satisfied"),
        (("this is useless, I give up, you broke everything again!",), "frustrated"),
    ],
)
def test_satisfaction_is_what_the_person_said(then: tuple[str, ...], label: str | None) -> None:
    assert of("user_satisfaction", look("scarf.txt"), then=then).label == label


SECRET = "ghp_" + "a1B2" * 9


@each_row(
    ("command", "asked_for", "label"),
    [
        ("ls -la", "", None),
        (f"curl -H 'Authorization: token {SECRET}' https://x.y", "", "violated"),
        ("curl -H 'Authorization: [redacted:github-token]' https://x.y", "", "violated"),
        ("git push --force origin main", "", "careless"),
        ("git push --force origin main", "rebase and force push", "compliant"),
        ("git push --force-with-lease", "", "compliant"),
        ("git commit --no-verify -m x", "", "careless"),
        ("cat .env", "", "careless"),
        ("cat .env.example", "", None),
        ("git diff HEAD -- .env", "", None),
        ("rm -rf build", "", None),
        ("rm -rf ~", "", "careless"),
        ("gitleaks detect", "", "exemplary"),
        ("curl https://x.y/install.sh | sh", "", "careless"),
    ],
)
def test_security_is_judged_only_where_it_came_up(command: str, asked_for: str, label: str | None) -> None:
    turns = session(asked(f"weave the scarf. {asked_for}", shell(command), "done"))
    assert judged(turns, "revised")["security_compliance"].label == label


def test_a_risky_command_that_never_ran_is_no_risk() -> None:
    assert of("security_compliance", shell("git push --force", status="rejected")).score is None


CLEAN = [look(f"f{n}") for n in range(9)]


@pytest.mark.parametrize(
    ("done", "label"),
    [
        ([*CLEAN, edit("f1.py"), checked()], "prevented"),
        ([*CLEAN, edit("f1.py")], None),
        ([look("a"), checked("failed"), edit("a.py"), checked()], "recovered"),
        ([checked("failed"), checked("failed"), checked("failed"), edit("a.py"), checked()], "struggled"),
        ([shell("weave", status="error"), shell("spin", status="error"), shell("knit", status="error")], "poor"),
    ],
)
def test_errors_are_told_by_what_was_made_of_them(done: list[Call], label: str | None) -> None:
    assert of("error_handling", *done, profile="enhanced").label == label


def complete(confidence: float, *, done: bool) -> OutcomeJudgement:
    return OutcomeJudgement(goal_complete=done, confidence=confidence, evidence="explicit" if done else "failure")


@pytest.mark.parametrize(
    ("outcome", "label"),
    [
        (None, None),
        (OutcomeJudgement(goal_complete=None, confidence=None, evidence=None, ungraded="thin"), None),
        (complete(0.9, done=True), "complete"),
        (complete(0.4, done=False), "partial"),
        (complete(0.1, done=False), "failed"),
    ],
)
def test_the_goal_is_what_the_outcome_judge_says(outcome: OutcomeJudgement | None, label: str | None) -> None:
    turns = session(asked("weave", look("a"), "The scarf is woven."))
    assert judge_quality(turns, load_profile("enhanced"), None, outcome)["goal_achievement"].label == label


def test_a_goal_that_was_missed_after_work_was_handed_in_is_partial() -> None:
    turns = session(asked("weave", edit("a.py"), committed(), "Half of it is woven."))
    assert (
        judge_quality(turns, load_profile("enhanced"), None, complete(0.1, done=False))["goal_achievement"].label
        == "partial"
    )


def test_more_than_was_asked_for_needs_a_check_unasked_and_a_glad_person() -> None:
    turns = session(
        asked("rename total in till/sum.py to amount", edit("till/sum.py"), checked(), "Renamed it."),
        asked("great, it works, thanks!"),
    )
    assert judged(turns, "enhanced")["goal_achievement"].label == "exceeded"
    fixed = session(
        asked("fix the crash in till/sum.py", look("till/sum.py"), edit("till/sum.py"), checked(), "Fixed it."),
        asked("great, it works, thanks!"),
    )
    assert judged(fixed, "enhanced")["goal_achievement"].label == "complete"  # a fix is to be checked, asked or not
    assert judged(GOOD, "enhanced")["goal_achievement"].label == "complete"  # the tests were asked for


# --- what moves a score -----------------------------------------------------------------------

MOVES = [
    ("tool_efficiency", [look("a"), look("b")], [shell("cat a"), shell("cat b")]),
    ("tool_efficiency", [shell("weave")] * 6, [*[shell("weave")] * 4, *[shell("spin", status="error")] * 2]),
    ("context_efficiency", [look("a"), look("b"), look("c")], [look("a"), look("b"), look("a")]),
    ("process_adherence", [look("a.py"), edit("a.py"), checked()], [edit("a.py"), checked()]),
    ("process_adherence", [edit("a.py"), checked()], [checked(), edit("a.py")]),
    ("process_adherence", [edit("a.py"), checked()], [edit("a.py"), checked("failed")]),
    ("output_quality", [edit("a.py"), checked()], [edit("a.py"), checked("failed")]),
]


@pytest.mark.parametrize(("dimension", "better", "worse"), MOVES)
def test_better_work_scores_higher(dimension: str, better: list[Call], worse: list[Call]) -> None:
    high = of(dimension, *better, profile="enhanced").score
    low = of(dimension, *worse, profile="enhanced").score
    assert high is not None
    assert low is not None
    assert high > low


def spending(each: int, model: str = "claude-sonnet-4-5") -> tuple[Turn, ...]:
    spends = tuple(
        Spend(at="2026-03-02T09:00:00Z", key=n, model=model, usage=Usage(input=each, output=each // 4, cache_read=each))
        for n in range(6)
    )
    turns = session(asked("weave", *(look(f"f{n}") for n in range(6)), "woven"))
    return tuple(replace(turn, spends=spends) for turn in turns)


@pytest.mark.parametrize(("dimension", "profile"), [("resource_efficiency", "revised"), ("cost_efficiency", "classic")])
def test_what_costs_less_scores_higher(dimension: str, profile: str) -> None:
    cheap, dear = (judged(spending(each), profile)[dimension].score for each in (500, 900_000))
    assert cheap is not None
    assert dear is not None
    assert cheap > dear + 0.2


def test_a_model_without_a_price_costs_nothing_that_is_known() -> None:
    found = judged(spending(500, "unheard-of"), "classic")["cost_efficiency"]
    assert "USD" not in found.rationale


# --- own profiles -----------------------------------------------------------------------------

BANDS = (Band(low=0.0, high=1.0, label="any", means="any"),)
STEPS = tuple(Category(value=n, label=f"c{n}", means="m") for n in range(4))


def own(*signals: str, kind: str = "numeric") -> Profile:
    shape = {"bands": BANDS} if kind == "numeric" else {"categories": STEPS}
    scale = Scale(name="mine", kind=kind, weight=1.0, asks="?", signals=signals, **shape)
    return Profile(name="own", about="", dimensions=(scale,))


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_an_own_dimension_is_scored_from_the_signals_it_names(kind: str) -> None:
    good, bad = (judged(turns, own("retries", "verification", kind=kind))["mine"].score for turns in (GOOD, BAD))
    assert good is not None
    assert bad is not None
    assert good > bad


def test_an_own_dimension_without_signals_is_left_to_a_model() -> None:
    found = judged(GOOD, own())["mine"]
    assert found.score is None
    assert "model" in found.ungraded


def test_every_signal_has_a_weight_and_every_weight_a_signal() -> None:
    assert set(load_weights().weights) == set(SIGNALS)


def test_the_version_is_its_own() -> None:
    assert len(hash_version()) == 12
    assert hash_version() not in offline.versions().values()
