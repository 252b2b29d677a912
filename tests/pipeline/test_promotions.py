"""Whether sessions moved since a promotion: from when its files are merged, within windows, and no more than that."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from assay.errors import BadInput
from assay.pipeline.promotions import build_review, pick_promotions, review_promotions
from assay.reports.promotions import render_promotions
from assay.scores.promotion import PromotionOutcome
from assay.types import Session
from assay.types.promotions import NotedFile, NotedPromotion
from tests.make_sessions import BEGAN, missed, session_of
from tests.pipeline.rework_repositories import Repository
from tests.tables import each_row

NEW = "Be right.\n"
AWAY = "/nowhere/shop"


def moment(day: float) -> str:
    return (BEGAN + timedelta(days=day)).isoformat()


def note(day: float = 30, **more: Any) -> NotedPromotion:
    plain: dict[str, Any] = {
        "id": "5ea1", "name": "careful", "at": moment(day), "project": AWAY, "first_commit": "", "branch": "b",
        "agents": ("claude-code",), "commit": "c0", "url": None, "config_sha256": "c5", "verdict": "improved",
        "gain": 0.125, "tasks": 6, "seal": "s",
        "files": (NotedFile(path="CLAUDE.md", sha256=sha256(NEW.encode()).hexdigest()),),
    }  # fmt: skip
    return NotedPromotion(**plain | more)


def group(crushed: int, of: int, day: float, **more: Any) -> list[Session]:
    known = {"project": AWAY, "day": day} | more
    return [(session_of if n < crushed else missed)(**known) for n in range(of)]


def review(sessions: Sequence[Session], *noted: NotedPromotion, day: float = 80) -> list[PromotionOutcome]:
    return review_promotions(noted, sessions, BEGAN + timedelta(days=day), lambda text: text)


def count(one: PromotionOutcome) -> list[int]:
    assert one.comparison
    return [side.sessions for side in one.comparison.sides]


def tell(*outcomes: PromotionOutcome) -> str:
    console = Console(width=140, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(render_promotions(build_review(outcomes), 140))
    return captured.get()


@each_row(
    ("before", "since", "verdict", "said"),
    [
        ((2, 20), (18, 20), "better", "real sessions land more often since (2/20 before, 18/20 since: +80 points"),
        ((18, 20), (2, 20), "worse", "did not help: careful"),
        ((10, 20), (12, 20), "inconclusive", "inconclusive: it may have helped or not"),
        ((400, 800), (400, 800), "no_better", "a gain of 5 points or more is ruled out (400/800 before"),
        ((10, 20), (4, 4), "too_early", "too early: fewer than 5 sessions count since (10/20 before, 4/4 since"),
        ((10, 20), (0, 0), "too_early", "too early: fewer than 5 sessions count since (0/0 since, 10/20 before)"),
        ((4, 4), (4, 20), "nothing_before", "fewer than 5 sessions count before"),
    ],
)
def test_as_much_is_said_as_the_numbers_carry(before: tuple[int, int], since: tuple[int, int], verdict: str, said: str):
    [one] = review([*group(*before, day=10), *group(*since, day=40)], note())
    assert (one.verdict, one.did_not_help) == (verdict, verdict in ("worse", "no_better"))
    assert said in tell(one)


def test_what_different_judges_said_is_not_compared():
    sides = [*group(2, 20, day=10), *group(20, 20, day=40, judge_versions={"outcome": "0"})]
    assert review(sides, note())[0].verdict == "not_comparable"


def test_only_sessions_of_the_project_and_the_agents_count():
    mine = [*group(1, 6, day=10), *group(2, 7, day=40, project=f"{AWAY}/web")]
    others = [*group(9, 9, day=40, agent="codex"), *group(9, 9, day=40, project="/nowhere/shopping")]
    assert count(review([*mine, *others], note())[0]) == [6, 7]
    assert count(review([*mine, *others], note(agents=()))[0]) == [6, 16]


def test_windows_end_after_eight_weeks():
    some = [*group(1, 3, day=0), *group(1, 4, day=90), *group(1, 5, day=120), *group(1, 6, day=200)]
    assert count(review(some, note(day=100), day=300)[0]) == [4, 5]


def test_another_promotion_cuts_the_windows_short():
    first, second = note(day=30), note(day=50, id="2", name="quick")
    elsewhere, codex = note(day=35, id="3", project="/nowhere/tide"), note(day=36, id="4", agents=("codex",))
    some = [*group(1, 3, day=10), *group(1, 4, day=40), *group(1, 5, day=60)]
    one, other, *_ = review(some, first, second, elsewhere, codex)
    assert (count(one), count(other)) == ([3, 4], [4, 5])
    assert "are left out: another promotion went in then" in tell(one)


# --- a repository tells when it was merged ----------------------------------------------------------


AHEAD = 60
"""Days that the first session lies behind the first day of a repository."""


@pytest.fixture
def world(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "shop")
    made.commit(0, {"CLAUDE.md": "Be quick.\n"})
    return made


def of(world: Repository, **more: Any) -> NotedPromotion:
    return note(project=str(world.path), first_commit=world.git("rev-list", "--max-parents=0", "HEAD"), **more)


def four_weeks(world: Repository) -> list[Session]:
    return [one for day in (10, 35, 45, 55) for one in group(1, 6, day=day, project=str(world.path))]


def test_it_is_in_effect_from_when_its_files_are_merged(world: Repository):
    world.commit(AHEAD + 40, {"CLAUDE.md": NEW})
    [one] = review(four_weeks(world), of(world, day=30))
    assert (one.is_merged, count(one)) == (True, [12, 12])
    assert one.in_effect == moment(40)
    assert "in effect since 2026-04-11" in tell(one)


def test_what_was_never_merged_is_not_in_effect(world: Repository):
    world.commit(AHEAD + 40, {"CLAUDE.md": "Be quick and right.\n"})
    [one] = review(four_weeks(world), of(world, day=30))
    assert (one.verdict, one.comparison, one.in_effect) == ("not_merged", None, None)
    assert "the default branch has never had its files" in tell(one)


def test_sessions_after_the_files_changed_again_are_left_out(world: Repository):
    world.commit(AHEAD + 40, {"CLAUDE.md": NEW})
    world.commit(AHEAD + 45, {"shop.py": "x = 1\n"})
    world.commit(AHEAD + 50, {"CLAUDE.md": "Be quick.\n"})
    [one] = review(four_weeks(world), of(world, day=30))
    assert (count(one), one.changed) == ([12, 6], moment(50))
    assert "its files were changed again on 2026-04-21" in tell(one)


def test_a_file_that_was_taken_out_must_be_gone(world: Repository):
    gone = of(world, day=30, files=(NotedFile(path="CLAUDE.md", sha256=None),))
    assert review(four_weeks(world), gone)[0].is_merged is False
    world.commit(AHEAD + 40, {"CLAUDE.md": None})
    assert review(four_weeks(world), gone)[0].is_merged is True


def test_sessions_in_another_clone_of_the_repository_count(world: Repository, tmp_path: Path):
    world.commit(AHEAD + 40, {"CLAUDE.md": NEW})
    noted = replace(of(world, day=30), project=str(tmp_path / "promoted-from-here"))
    [one] = review(four_weeks(world), noted)
    assert (one.is_merged, count(one)) == (True, [12, 12])


def test_a_repository_that_is_not_here_is_said(world: Repository):
    [one] = review(group(1, 6, day=10), note())
    assert (one.is_merged, one.in_effect) == (None, moment(30))
    assert "nobody can tell when it was merged" in tell(one)


# --- which one ------------------------------------------------------------------------------------


def test_promotions_are_named_by_name_or_id():
    noted = [note(), note(day=40, id="77aa", name="quick"), note(day=50, id="88bb")]
    assert [one.id for one in pick_promotions(noted, "")] == ["88bb", "77aa", "5ea1"]
    assert [one.id for one in pick_promotions(noted, "careful")] == ["88bb", "5ea1"]
    assert [one.id for one in pick_promotions(noted, "77")] == ["77aa"]
    with pytest.raises(BadInput, match="there are: careful, quick"):
        pick_promotions(noted, "slow")
    with pytest.raises(BadInput, match="assay eval promote RUN --yes"):
        pick_promotions([], "")


def test_names_are_redacted_before_anybody_sees_them():
    outcomes = review_promotions(
        [note(name="key-abc", files=(NotedFile(path="abc.md", sha256=None),))],
        group(1, 6, day=10),
        datetime(2026, 6, 1, tzinfo=UTC),
        lambda text: text.replace("abc", "[redacted]"),
    )
    assert "abc" not in tell(*outcomes)
    assert outcomes[0].promotion.files[0].path == "[redacted].md"
