"""A person's word on how a session ended wins over judge and rework, and holds through every later run."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.config import Config, Tenant
from assay.errors import BadInput
from assay.langfuse.mapping import ScoreTarget, build_fact_scores
from assay.pipeline import corrections
from assay.pipeline.langfuse_scores import explain_not_scored
from assay.pipeline.lookup import find_sessions
from assay.pipeline.models import ModelAccess
from assay.pipeline.quality import Subject, judge_quality
from assay.pipeline.verdict_lines import encode_verdicts, import_verdicts
from assay.pipeline.verdicts import mark_session, pick_standing
from assay.reports.json import encode_document
from assay.reports.summary import explain_outcome
from assay.scores.prism import has_crushed
from assay.scores.profiles import load_profile
from assay.stores import Store, open_store
from assay.testing.claude_code import write_lines
from assay.types import CleanText, PersonVerdict, Session, VerdictKind
from tests.judges import make_turns
from tests.make_report import report_of
from tests.make_sessions import QUICK, missed, session_of
from tests.pipeline.test_scoring import AT, PLAIN, score, talk
from tests.plain_judge import TOPICS, VERSION, install
from tests.tables import each_row

TARGET = ScoreTarget(session="s1", timestamp="2026-11-10T09:00:00Z")


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    install(monkeypatch, tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One that crushed, one that failed, one that is small talk; the judge says so."""
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "comb", "tease"))
    write_lines(tmp_path / "in" / "b.jsonl", *talk("failed to spin", "again", "and again", stream="s2", start=1000))
    write_lines(tmp_path / "in" / "c.jsonl", *talk("hm", stream="s3", start=2000))
    return tmp_path / "in"


def by_title(store: Store, folder: Path, config: Config = PLAIN) -> dict[str, Session]:
    return {one.title.split(" /")[0]: one for one in score(store, folder, config=config).report.sessions}


def mark(store: Store, session: Session, verdict: VerdictKind, why: str = "", at: str = AT) -> Session:
    return corrections.mark_landing(store, PLAIN, session, verdict, why, at)


def ended(one: Session) -> tuple[object, ...]:
    return one.judge_status, one.goal_complete, one.crushed


@each_row(
    ("title", "verdict", "is_now"),
    [
        ("card", "not", ("ok", False, False)),
        ("card", "exclude", ("excluded", None, None)),
        ("failed to spin", "landed", ("ok", True, True)),
        ("hm", "landed", ("ok", True, True)),
        ("hm", "exclude", ("excluded", None, None)),
    ],
)
def test_a_persons_word_wins_over_the_judge(
    store: Store, folder: Path, title: str, verdict: VerdictKind, is_now: tuple[object, ...]
):
    before = by_title(store, folder)
    told = mark(store, before[title], verdict, "  I looked\nat it ")
    after = by_title(store, folder)
    assert ended(told) == ended(after[title]) == is_now
    assert (said := after[title].marked)
    assert (said.verdict, said.why, said.at, said.sampled) == (verdict, "I looked at it", AT, False)
    assert (said.judged, said.judge_status) == (before[title].goal_complete, before[title].judge_status)
    assert after[title].confidence == before[title].confidence
    assert {name: one for name, one in after.items() if name != title} == {
        name: one for name, one in before.items() if name != title
    }
    corrections.withdraw_verdict(store, PLAIN, told, AT)
    assert by_title(store, folder) == before


def test_the_score_and_its_waterfall_go_by_it(store: Store, folder: Path):
    first = score(store, folder).report
    assert (first.score.crushed, first.score.counted, first.waterfall.substance) == (1, 2, 2)
    for title, verdict in (("failed to spin", "landed"), ("hm", "landed")):
        mark(store, by_title(store, folder)[title], verdict)
    found = score(store, folder)
    assert found.judged == 0
    assert (found.report.score.crushed, found.report.score.counted) == (3, 3)
    assert (found.report.waterfall.substance, found.report.waterfall.judged) == (3, 3)
    mark(store, by_title(store, folder)["card"], "exclude")
    last = score(store, folder).report
    assert (last.score.crushed, last.score.counted, last.exclusions) == (2, 2, {"excluded": 1})


def test_it_holds_for_another_judge_and_other_cuts(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch):
    mark(store, by_title(store, folder)["card"], "not", "no")
    monkeypatch.setenv(VERSION, "2")
    assert ended(by_title(store, folder)["card"]) == ("ok", False, False)
    monkeypatch.setenv(VERSION, "3")
    monkeypatch.setenv(TOPICS, "comb")
    cut = by_title(store, folder)
    assert (ended(cut["card"])[2], cut["comb"].marked) == (False, None)


def test_a_session_that_another_one_swallowed_brings_its_verdict(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "comb", "Now dye", "dry", "hang"))
    dye = mark(store, by_title(store, tmp_path / "in")["Now dye"], "not")
    monkeypatch.setenv(VERSION, "2")
    monkeypatch.setenv(TOPICS, "nothing")
    [whole] = score(store, tmp_path / "in").report.sessions
    assert (whole.facts["turns"], ended(whole)) == (5, ("ok", False, False))
    assert whole.id != dye.id
    assert whole.marked
    assert (whole.marked.turn, whole.marked.turns) == (dye.id, 3)


def test_of_a_session_that_is_split_the_beginning_keeps_it(store: Store, folder: Path):
    session = mark(store, by_title(store, folder)["card"], "landed")
    before, after = corrections.split_session(store, PLAIN, session, "2", AT)
    assert before.marked
    assert (before.marked.turns, before.facts["turns"]) == (3, 1)
    assert after.marked is None


def test_of_several_in_a_merged_session_the_last_said_wins_until_they_are_apart_again(store: Store, folder: Path):
    found = by_title(store, folder)
    mark(store, found["card"], "landed", at="2026-03-02T12:00:02+00:00")
    mark(store, found["failed to spin"], "not", at="2026-03-02T12:00:01+00:00")
    whole = corrections.merge_sessions(store, PLAIN, found["card"], found["failed to spin"], AT)
    assert ended(whole) == ("ok", True, True)
    mark(store, whole, "not", at="2026-03-02T12:00:03+00:00")
    _, apart = corrections.split_session(store, PLAIN, whole, "4", AT)
    assert ended(apart) == ("ok", False, False)
    assert ended(by_title(store, folder)["card"]) == ("ok", False, False)


def test_what_was_said_can_be_taken_back(store: Store, folder: Path):
    before = by_title(store, folder)["card"]
    for verdict in ("not", "exclude", "not"):
        session = mark(store, before, verdict)
    assert corrections.withdraw_verdict(store, PLAIN, session, AT) == replace(before, crushed=before.crushed)
    with pytest.raises(BadInput, match="nobody marked"):
        corrections.withdraw_verdict(store, PLAIN, before, AT)
    assert ended(mark(store, before, "not")) == ("ok", False, False)


def test_all_words_on_a_merged_session_are_taken_back_at_once(store: Store, folder: Path):
    found = by_title(store, folder)
    mark(store, found["card"], "not")
    mark(store, found["failed to spin"], "not")
    whole = corrections.merge_sessions(store, PLAIN, found["card"], found["failed to spin"], AT)
    assert corrections.withdraw_verdict(store, PLAIN, whole, "2020-01-01T00:00:00+00:00").marked is None


def test_an_audits_answer_holds_again_when_the_mark_over_it_is_taken_back(store: Store, folder: Path):
    session = by_title(store, folder)["card"]
    store.corrections.save_verdicts([PersonVerdict(turn=session.id, verdict="not", at=AT, is_sampled=True)])
    marked = mark(store, session, "landed", at="2026-03-02T13:00:00+00:00")
    assert (marked.crushed, marked.marked and marked.marked.sampled) == (True, True)
    after = corrections.withdraw_verdict(store, PLAIN, session, "2026-03-02T14:00:00+00:00")
    assert (after.crushed, after.marked and after.marked.sampled) == (False, True)
    assert corrections.withdraw_verdict(store, PLAIN, session, "2026-03-02T15:00:00+00:00").marked is None


def test_the_answer_to_an_audit_after_a_mark_is_what_is_taken_back_first(store: Store, folder: Path):
    session = mark(store, by_title(store, folder)["card"], "not")
    late = "2026-03-02T13:00:00+00:00"
    store.corrections.save_verdicts([PersonVerdict(turn=session.id, verdict="unclear", at=late, is_sampled=True)])
    assert len(encode_verdicts(store, PLAIN).splitlines()) == 1
    after = corrections.withdraw_verdict(store, PLAIN, session, late)
    assert (ended(after), after.marked and after.marked.answer) == (("ok", False, False), None)
    assert corrections.withdraw_verdict(store, PLAIN, session, late).marked is None


def test_a_verdict_on_a_session_that_is_not_here_waits_for_it(store: Store, folder: Path):
    session = by_title(store, folder)["card"]
    text = (folder / "a.jsonl").read_bytes()
    mark(store, session, "not")
    write_lines(folder / "a.jsonl", *talk("Another story", stream="s9"))
    score(store, folder)
    assert corrections.list_marked(store, PLAIN) == []
    assert corrections.count_strangers(store) == 1
    (folder / "a.jsonl").write_bytes(text)
    assert by_title(store, folder)["card"].crushed is False
    assert [one.id for one in corrections.list_marked(store, PLAIN)] == [session.id]
    assert corrections.count_strangers(store) == 0


def test_words_are_redacted_and_withheld_like_any_other(store: Store, folder: Path):
    secret = "AKIAQ3EGRIH4QOZ5PLNK"
    session = by_title(store, folder)["card"]
    mark(store, session, "not", f"it printed {secret}")
    [found] = find_sessions(store, PLAIN, session.id)
    assert found.marked
    assert found.marked.why.startswith("it printed [redacted:")
    assert secret.encode() not in b"".join(encode_document(score(store, folder).report))
    silent = replace(PLAIN, tenants={"acme": Tenant(projects=(session.project,), opt_out=True)})
    for one in score(store, folder, config=silent).report.sessions:
        assert (one.marked, one.crushed, one.goal_complete) == (None, None, None)
    assert b"it printed" not in b"".join(encode_document(score(store, folder, config=silent).report))


def test_words_on_a_session_that_is_withheld_are_not_handed_on(store: Store, folder: Path):
    session = by_title(store, folder)["card"]
    mark(store, session, "not", "the wool is felted")
    store.corrections.save_verdicts([verdict("landed", turn="0123456789ab")])
    assert b"felted" in encode_verdicts(store, PLAIN)
    silent = replace(PLAIN, tenants={"acme": Tenant(projects=(session.project,), opt_out=True)})
    told = [msgspec.json.decode(line) for line in encode_verdicts(store, silent).splitlines()]
    assert [(one["session"], one.get("why")) for one in told] == [(session.id, None), ("0123456789ab", None)]


@pytest.mark.parametrize(("kind", "said"), [("landed", "completed"), ("not", "not completed")])
def test_quality_goes_by_it_too(kind: VerdictKind, said: str):
    turns = make_turns.session(*(make_turns.asked(f"weave row {n}", f"row {n} is done") for n in range(1, 4)))
    profile = load_profile("enhanced")
    subject = Subject(session=mark_session(session_of(), [verdict(kind)]), read=lambda: turns)
    [found] = judge_quality([subject], profile, Config(), ModelAccess(unavailable="no key"))
    assert found.dimensions["goal_achievement"].rationale.lower().startswith((said, "the goal was " + said))


def test_langfuse_is_told_who_said_so():
    one = mark_session(missed(), [PersonVerdict(turn="a", verdict="landed", why="I saw it", at=AT)])
    scores = {score.name: score for score in build_fact_scores(one, TARGET, {}, CleanText)}
    assert scores["assay_crushed"].value is True
    assert scores["assay_goal_complete"].comment == "A person said: landed."
    assert scores["assay_crushed"].metadata["marked"] == {"verdict": "landed", "why": "I saw it"}
    out = mark_session(session_of(), [verdict("exclude")])
    assert build_fact_scores(out, TARGET, {}, CleanText) == []
    assert explain_not_scored(out) == "not graded: excluded"


# --- what counts --------------------------------------------------------------------------------


def verdict(kind: VerdictKind, at: str = AT, *, turn: str = "a", sampled: bool = False) -> PersonVerdict:
    return PersonVerdict(turn=turn, verdict=kind, at=at, is_sampled=sampled)


@each_row(
    ("said", "stands"),
    [
        ([], []),
        ([verdict("landed"), verdict("not")], ["not"]),
        ([verdict("landed", "2"), verdict("not", "1")], ["landed"]),
        ([verdict("landed"), verdict("none")], []),
        ([verdict("landed"), verdict("none"), verdict("not")], ["not"]),
        ([verdict("landed"), verdict("none", turn="b")], ["landed"]),
        ([verdict("landed", sampled=True), verdict("none")], ["landed"]),
        ([verdict("landed", "1", sampled=True), verdict("not", "2"), verdict("unclear", "3", sampled=True)],
         ["unclear"]),
        ([verdict("landed", "1"), verdict("unclear", "2", sampled=True)], ["unclear"]),
        ([verdict("landed", "1", sampled=True), verdict("not", "2")], ["landed", "not"]),
        ([verdict("landed", "1"), verdict("unclear", "2", sampled=True), verdict("none", "3", sampled=True)],
         ["landed"]),
    ],
)  # fmt: skip
def test_the_last_word_stands_and_the_answer_to_an_audit_beside_a_mark_after_it(
    said: list[PersonVerdict], stands: list[str]
):
    assert [one.verdict for one in pick_standing(said)] == stands


def test_rework_takes_nothing_from_what_a_person_says_landed():
    lost = session_of(rework="yes")
    kept = mark_session(lost, [verdict("landed")])
    assert (has_crushed(lost), has_crushed(kept)) == (False, True)
    report = report_of([kept, session_of(rework="open"), mark_session(session_of(rework="open"), [verdict("landed")])])
    assert (report.score.crushed, report.score.rework_open) == (3, 1)


def test_what_is_told_of_it_is_the_persons_word():
    one = mark_session(missed(), [verdict("landed")])
    other = mark_session(session_of(), [verdict("not")])
    assert [explain_outcome(one), explain_outcome(other)] == ["you: landed", "you: did not land"]
    [held] = report_of([one, other]).obstacles
    assert (held.reason, held.sessions) == ("you said that it did not land", [other.id])


def test_a_report_with_marks_is_read_back_as_it_was():
    one = mark_session(session_of(), [verdict("not")])
    assert msgspec.json.decode(msgspec.json.encode(one), type=Session) == one


# --- what is taken in ---------------------------------------------------------------------------

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
TIMES = ["2026-03-02T12:00:00+00:00", "2026-03-02T13:00:00Z", "0001-01-01T00:00:00+14:00", "now", "2026-03-02"]
FIELDS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["mark", "audit", "audit", "word"]),
        "session": st.sampled_from(["0123456789ab", "ba9876543210", "0123456789AB"]),
        "verdict": st.sampled_from(["landed", "not", "exclude", "unclear", "none"]),
        "at": st.sampled_from(TIMES),
    },
    optional={
        "why": st.text(max_size=20) | st.lists(st.none()),
        "turns": st.integers(),
        "seed": st.sampled_from(["5eed", "feed", "", "../x"]),
    },
)
LINES = st.lists(st.binary(max_size=40) | FIELDS.map(lambda one: json.dumps(one).encode()), max_size=12)


@QUICK
@given(LINES)
def test_whatever_a_file_holds_is_taken_in_or_told_once(lines: list[bytes]):
    with TemporaryDirectory() as folder, closing(open_store(f"sqlite:///{folder}/s.db")) as store:
        found = import_verdicts(store, lines, NOW)
        assert found.added + found.known + len(found.skipped) == sum(bool(one.strip()) for one in lines)
        kept = store.corrections.load_verdicts()
        assert len(kept) == found.added
        again = import_verdicts(store, lines, NOW)
        assert (again.added, store.corrections.load_verdicts()) == (0, kept)
