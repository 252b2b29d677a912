"""Numbers that add up: sessions that are counted in parts make the report of all of them at once."""

from datetime import UTC, tzinfo
from random import Random
from zoneinfo import ZoneInfo

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.reports.json import encode_document
from assay.scores.prism import refresh_crushed
from assay.scores.report import JudgeInfo, Skips, ToldSessions, build_report, gather_sessions
from assay.scores.tally import Tally, add_tallies, tally_sessions
from assay.types import LedgerLine, Session
from tests.make_report import some_sessions
from tests.make_sessions import QUICK, any_session, failing, missed, session_of

BERLIN = ZoneInfo("Europe/Berlin")
JUDGE = JudgeInfo(backend="offline", versions={"outcome": "1"})
SKIPPED = Skips(files=0, lines=0, reasons={})
SEED = "wool"
WENT_ON = LedgerLine(
    at="2026-03-02T09:00:00Z",
    agent="codex",
    stream="s1",
    session="a",
    signal="commit",
    effect="went_on",
    confidence=1.0,
    evidence="git commit",
)


@st.composite
def any_judged_session(draw: st.DrawFn) -> Session:
    """A session in any state, many of them crushed, by one of several judges, on any project and agent."""
    money, time = draw(st.none() | st.floats(0, 100)), draw(st.none() | st.floats(0, 10_000))
    crushed = session_of(day=draw(st.integers(0, 70)), facts={"cost_usd": money, "active_s": time}, grade="A")
    return replace(
        draw(any_session() | st.just(crushed)),
        judge=draw(st.sampled_from(["offline", "offline", "coin"])),
        judge_versions=draw(st.sampled_from([{"outcome": "1"}, {"outcome": "1", "topic": "2"}, {}])),
        fallback=draw(st.sampled_from([None, None, "no answer", "too dear"])),
        project=draw(st.sampled_from(["loom", "/home/ada/wheel", ""])),
        agent=draw(st.sampled_from(["codex", "claude-code"])),
    )


Part = tuple[list[Session], list[LedgerLine]]
PARTS: st.SearchStrategy[list[Part]] = st.lists(
    st.tuples(st.lists(any_judged_session(), max_size=4), st.lists(st.just(WENT_ON), max_size=2)), max_size=5
)
"""Sessions with their lines of the ledger, in parts, some of which are empty."""


def add_parts(parts: list[Part], zone: tzinfo) -> Tally:
    """The sum of the tallies of parts, each kept as a store keeps it."""
    packed = [msgspec.msgpack.encode(tally_sessions(some, ledger, zone)) for some, ledger in parts]
    return add_tallies(msgspec.msgpack.decode(one, type=Tally) for one in packed)


def write_report(told: ToldSessions) -> bytes:
    """All that is said of sessions."""
    return b"".join(encode_document(build_report(told, streams=3, judge=JUDGE, skipped=SKIPPED, seed=SEED)))


@QUICK
@given(PARTS, st.sampled_from([UTC, BERLIN]), st.randoms())
def test_what_is_counted_in_any_parts_makes_the_report_of_all(parts: list[Part], zone: tzinfo, random: Random) -> None:
    fresh = [(refresh_crushed(some), ledger) for some, ledger in parts]
    told = gather_sessions(
        [one for some, _ in fresh for one in some], [line for _, lines in fresh for line in lines], zone
    )
    assert add_parts(fresh, zone) == told.tally
    random.shuffle(fresh)  # stores give parts in an order of their own
    assert write_report(replace(told, tally=add_parts(fresh, zone))) == write_report(told)


def test_what_was_added_is_not_changed() -> None:
    parts = [tally_sessions(some_sessions(), [WENT_ON], UTC), tally_sessions([missed(), session_of()], (), UTC)]
    before = [msgspec.msgpack.encode(one) for one in parts]
    twice = [add_tallies(parts), add_tallies([*parts, *parts]), add_tallies(parts)]
    assert [msgspec.msgpack.encode(one) for one in parts] == before
    assert twice[0] == twice[2]
    assert twice[1].sessions == 2 * twice[0].sessions == 24


def test_no_parts_are_no_sessions() -> None:
    assert add_tallies([]) == tally_sessions((), (), UTC) == Tally()


def test_every_session_is_lost_at_one_step_or_crushed() -> None:
    found = tally_sessions([*some_sessions(), failing("frustration")], (), UTC)
    lost = sum(n for reasons in found.losses.values() for n in reasons.values())
    assert lost + found.left["crushed"] == found.sessions == 11


@QUICK
@given(st.lists(any_judged_session(), max_size=8))
def test_what_is_left_after_a_step_is_what_it_did_not_take(sessions: list[Session]) -> None:
    found = tally_sessions(refresh_crushed(sessions), (), UTC)
    left = found.sessions
    for step in ("substance", "goal", "judged", "complete", "crushed"):
        left -= sum(found.losses.get(step, {}).values())
        assert found.left.get(step, 0) == left


def test_who_fell_back_is_counted_by_judge_and_reason() -> None:
    sessions = [
        session_of(fallback="too dear"), session_of(fallback="too dear"), session_of(fallback="no answer"),
        session_of(fallback="in parts", judge="coin"), session_of(fallback="asked not to", judge_status="opted_out"),
    ]  # fmt: skip
    told = gather_sessions(sessions, (), UTC)
    found = build_report(told, streams=1, judge=JUDGE, skipped=SKIPPED).fallbacks
    assert [(one.judge, one.why, one.sessions) for one in found] == [
        ("", "in parts", 1), ("offline", "too dear", 2), ("offline", "no answer", 1),
    ]  # fmt: skip
