"""Which sessions a number counts: what is listed behind it is what was counted."""

from datetime import UTC

from assay.scores.conditions import fits_conditions
from tests.make_report import report_of, some_sessions


def count(conditions: dict[str, str]) -> int:
    return sum(fits_conditions(one, conditions, UTC) for one in report_of(SESSIONS).sessions)


SESSIONS = some_sessions()


def test_each_step_of_the_waterfall_lists_as_many_as_it_counts():
    report = report_of(SESSIONS)
    for step in ("substance", "goal", "judged", "complete", "crushed"):
        assert count({"left": step}) == getattr(report.waterfall, step), step
    assert count({}) == report.waterfall.sessions


def test_each_loss_lists_as_many_as_it_counts_and_so_does_the_rest():
    losses = report_of(SESSIONS).losses
    assert any(losses.values())
    for step, whys in losses.items():
        for why, n in whys.items():
            assert count({"lost": step, "why": why}) == n, (step, why)
            assert count({"lost": step, "but": why}) == sum(whys.values()) - n, (step, why)


def test_those_that_did_not_crush_are_the_counted_ones_less_the_crushed():
    score = report_of(SESSIONS).score
    assert count({"crushed": "no"}) == score.counted - score.crushed
    assert count({"crushed": "yes"}) == score.crushed


def test_each_reason_lists_its_sessions():
    report = report_of(SESSIONS)
    for one in report.obstacles:
        found = [two.id for two in report.sessions if fits_conditions(two, {"obstacle": find_kind(one.reason)}, UTC)]
        assert sorted(found) == sorted(one.sessions)


def find_kind(reason: str) -> str:
    from assay.scores.reasons import REASONS

    return next(kind for kind, words in REASONS.items() if words == reason)
