"""A session in few words."""

import pytest

from assay.reports.format import format_duration, format_percent, shorten_paths
from assay.reports.summary import HELD_BACK, explain_outcome, find_doubt, name_proof
from assay.scores.reasons import REASONS
from assay.types import Reason, Session
from tests.make_sessions import failing, missed, reason, session_of
from tests.tables import each_row


def quoted(kind: str) -> Reason:
    return Reason(kind, 1, "make test", 0.0)


@each_row(
    ("session", "words"),
    [
        (session_of(), "explicit"),
        (session_of(evidence="silent", confidence=0.814), "likely, 81 %"),
        (session_of(rework="yes"), "later replaced"),
        (missed(), "unverified"),
        (missed(intent="question"), "unconfirmed"),
        (failing("unresolved_error"), "error unresolved"),
        (session_of(facts={"substance": False}), "trivial"),
        (session_of(judge_status="no_goal"), "no goal"),
        (session_of(judge_status="opted_out"), "opted out"),
        (session_of(judge_status="ungraded", ungraded_reason="too thin"), "ungraded: too thin"),
    ],
)
def test_every_fate_has_its_words(session: Session, words: str):
    assert explain_outcome(session) == words


@each_row(
    ("session", "proof"),
    [
        (session_of(), ""),
        (session_of(reasons=[reason("says_done", 1), quoted("check_passed")]), "a check passed"),
        (session_of(reasons=[quoted("accepted_next")]), "the person said so"),
        (missed(reasons=[quoted("check_passed")]), ""),
    ],
)
def test_what_shows_a_goal_reached_is_named(session: Session, proof: str):
    assert name_proof(session) == proof


@each_row(
    ("session", "doubt"),
    [
        (session_of(), None),
        (session_of(evidence="silent", confidence=0.75), 0.25),
        (session_of(rework="yes"), None),
        (missed(confidence=0.4), 0.4),
        (missed(confidence=None), None),
        (session_of(judge_status="unclear", goal_complete=None, confidence=0.5), None),
    ],
)
def test_what_nobody_and_nothing_says_is_in_doubt(session: Session, doubt: float | None):
    assert find_doubt(session) == doubt


def test_every_reason_for_not_crushing_has_a_short_form():
    assert HELD_BACK.keys() == REASONS.keys()


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (0.2, "1"), (71.4, "71"), (99.7, "99"), (100, "100"), (0.0, "0"), (100.0, "100")]
)
def test_nothing_is_rounded_to_all_or_nothing(value: float, shown: str):
    assert format_percent(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3600, "1.0 h"), (90_000, "25.0 h"), (864_000, "10.0 days")],
)
def test_a_time_is_told_in_the_unit_that_fits(seconds: float, shown: str):
    assert format_duration(seconds) == shown


@each_row(
    ("paths", "names"),
    [
        (["/home/ada/loom", "/home/ada/wheel"], ["loom", "wheel"]),
        (["/home/ada/loom", "/home/bob/loom"], ["ada/loom", "bob/loom"]),
        (["/loom", "/srv/loom"], ["/loom", "srv/loom"]),
        (["loom", "/srv/loom"], ["loom", "srv/loom"]),
        (["C:\\code\\Reel"], ["Reel"]),
        ([""], ["–"]),
        (["/"], ["/"]),
        ([], []),
    ],
)
def test_a_folder_is_called_by_the_end_that_tells_it_from_others(paths: list[str], names: list[str]):
    assert [shorten_paths(paths).get(path) for path in paths] == names
