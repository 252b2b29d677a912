"""What the PRISM Score says of sessions as scores, and scores handed over with a store that remembers."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.http import ServiceBusy
from assay.langfuse import Client, ScoreTarget, ensure_configs, find_trace, pull_sessions
from assay.langfuse.configs import check_config
from assay.langfuse.mapping import FACT_CONFIGS, build_fact_scores
from assay.langfuse.observations import find_environment
from assay.langfuse.push import Delivery, deliver_scores, find_project
from assay.stores import Store, open_store
from assay.testing.observations import build_bug_fix, build_hook_turn, build_trace
from assay.types import Citation, CleanText, Session
from tests.langfuse.conftest import client_of
from tests.langfuse.contract import CheckedServer
from tests.make_sessions import session_of

VERSIONS = ["3.150.0", "4.16.0", "4.59.0"]
TARGET = ScoreTarget(session="s1", timestamp="2026-11-10T09:00:00Z")
Make = Callable[..., CheckedServer]


def clean(text: str) -> CleanText:
    return CleanText(text.replace("hunter2", "[redacted]"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


# --- facts ------------------------------------------------------------------------------------------

LANDED = session_of(crushed=True)
REWORKED = session_of(rework="yes", crushed=False, intent="feature")
MISSED = session_of(goal_complete=False, crushed=False, confidence=0.0, evidence="failure")
NAMES = ("assay_crushed", "assay_goal_complete", "assay_confidence", "assay_intent")
CASES: list[tuple[Session, tuple[bool | float | str, ...]]] = [
    (LANDED, (True, True, 0.9, "bug_fix")),
    (REWORKED, (False, True, 0.9, "feature")),
    (MISSED, (False, False, 0.0, "bug_fix")),
    *((session_of(judge_status=one), ()) for one in ("no_goal", "ungraded", "opted_out", "trivial")),
]


@pytest.mark.parametrize(("session", "wanted"), CASES)
def test_a_session_gives_what_was_judged_of_it_and_no_more(session: Session, wanted: tuple[Any, ...]):
    found = [(one.name, one.value) for one in build_fact_scores(session, TARGET, {}, clean)]
    assert found == list(zip(NAMES, wanted, strict=False))


def test_its_configs_are_such_as_langfuse_takes():
    for one in FACT_CONFIGS:
        check_config(one)
        assert len(one.name) <= 35
    assert len(next(one for one in FACT_CONFIGS if one.name == "assay_intent").categories) == 8


def test_its_words_are_cleaned_and_nobody_is_named():
    rework = {"rework": {"state": "yes", "by": "person Ada", "share": 0.8}}
    session = session_of(citations=[Citation(turn=2, quote="it is hunter2")], facts=rework, crushed=False)
    scores = build_fact_scores(session, TARGET, {}, clean)
    assert all(one.metadata["citations"] == [{"turn": 2, "quote": "it is [redacted]"}] for one in scores)
    assert all(one.metadata["judge_version"] == session.judge_versions for one in scores)
    assert not [one for one in scores if "Ada" in f"{one.metadata} {one.comment}"]
    assert "later replaced" in next(one.comment for one in scores if one.name == "assay_crushed")


# --- small looks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_is_known_if_anything_of_it_is_there(make: Make, version):
    standin = make(version)
    standin.observations = build_hook_turn(1, "Why?", reply="So.")
    standin.traces = [build_trace(standin.observations)]
    client = client_of(standin)
    before = len(standin.log)
    assert (find_environment(client, "s1"), find_environment(client, "nobody")) == ("default", None)
    assert len(standin.log) - before == 2


def test_the_trace_of_a_moment_is_found_in_a_pulled_session(make: Make, tmp_path):
    standin = make()
    standin.observations = [*build_bug_fix("a"), *build_bug_fix("a", first=7)]
    path = Path(pull_sessions(client_of(standin), tmp_path, ["a"]).pulled[0].path)
    begin = {row["traceId"]: row["startTime"] for row in standin.observations if row["isRootObservation"]}
    assert {trace: find_trace(path, at) for trace, at in begin.items()} == {trace: trace for trace in begin}
    assert find_trace(path, "2026-01-01T00:00:00.000Z") == "a-turn1"
    assert find_trace(tmp_path / "nowhere.jsonl", "2026-01-01T00:00:00.000Z") == ""


# --- handing over -----------------------------------------------------------------------------------


class Stop(BaseException):
    """The process is gone."""


def post(client: Client, store: Store, dies_after: int = 1000) -> Delivery:
    """Hands over until so many scores are kept."""
    left = iter(range(dies_after))

    def now() -> datetime:
        if next(left, None) is None:
            raise Stop
        return datetime(2026, 11, 15, tzinfo=UTC)

    return Delivery(client=client, store=store, project=find_project(client), now=now)


def rows(standin: CheckedServer) -> dict[str, Any]:
    names = [name for _, name, _ in standin.scores]
    assert len(names) == len(set(names)), standin.scores
    return {row["name"]: row["body"]["value"] for row in standin.scores.values()}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dies_after", [0, 1, 3])
def test_killed_while_reading_back_nothing_is_sent_again(make: Make, store: Store, version, dies_after):
    standin = make(version)
    client = client_of(standin)
    there = ensure_configs(client, FACT_CONFIGS)
    scores = build_fact_scores(LANDED, TARGET, there.ids, clean)
    with pytest.raises(Stop):
        deliver_scores(post(client, store, dies_after), scores, there)
    assert store.written.count_scores(find_project(client)).scores == dies_after
    sent = [body for method, _, _, body in standin.log if method == "POST"]
    found = deliver_scores(post(client, store), scores, there)
    assert (len(found.unchanged), found.stored, found.not_stored) == (4, (), ())
    assert [body for method, _, _, body in standin.log if method == "POST"] == sent
    assert store.written.count_scores(find_project(client)).scores == len(rows(standin)) == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_store_knows_is_not_even_asked_about(make: Make, store: Store, version):
    standin = make(version)
    client = client_of(standin)
    there = ensure_configs(client, FACT_CONFIGS)
    scores = build_fact_scores(LANDED, TARGET, there.ids, clean)
    deliver_scores(post(client, store), scores, there)
    ready = post(client, store)
    before = len(standin.log)
    assert len(deliver_scores(ready, scores, there).unchanged) == 4
    assert len(standin.log) == before


@pytest.mark.parametrize("version", VERSIONS)
def test_another_verdict_on_another_day_takes_the_place_of_the_first(make: Make, store: Store, tmp_path, version):
    standin = make(version)
    client = client_of(standin)
    there = ensure_configs(client, FACT_CONFIGS)
    deliver_scores(post(client, store), build_fact_scores(LANDED, TARGET, there.ids, clean), there)
    assert standin.time is not None
    standin.time.sleep(40 * 86_400)
    standin.forget_events()
    with closing(open_store(f"sqlite:///{tmp_path / 'other.db'}")) as other:
        found = deliver_scores(post(client, other), build_fact_scores(REWORKED, TARGET, there.ids, clean), there)
    assert len(found.stored) == 4
    assert rows(standin)["assay_crushed"] == 0


def test_a_server_that_goes_away_leaves_what_is_missing_for_the_next_run(make: Make, store: Store):
    standin = make()
    client = client_of(standin)
    there = ensure_configs(client, FACT_CONFIGS)
    scores = build_fact_scores(LANDED, TARGET, there.ids, clean)
    ready = post(client, store)
    standin.planned = [(500, {}, {"message": "broken"})] * 10
    with pytest.raises(ServiceBusy, match="500"):
        deliver_scores(ready, scores, there)
    standin.planned = []
    assert len(deliver_scores(ready, scores, there).stored) == 4
