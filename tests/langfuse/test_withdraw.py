"""Scores of which nothing stands any longer are taken out, and seen to be gone; others stay."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.langfuse import Delivery, Outbox, ScoreTarget, SetupReport, find_project, push_scores, withdraw_scores
from assay.langfuse.mapping import build_fact_scores
from assay.langfuse.scores import fetch_own_ids
from assay.stores import Store, open_store
from assay.types import CleanText, Session
from tests.langfuse.conftest import client_of
from tests.langfuse.contract import CheckedServer
from tests.make_sessions import session_of

Make = Callable[..., CheckedServer]
VERSIONS = ["3.150.0", "4.16.0", "4.59.0"]
NO_CONFIGS = SetupReport(ids={})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def place(part: str = "", session: str = "s1") -> ScoreTarget:
    return ScoreTarget(session=session, timestamp="2026-11-10T09:00:00Z", part=part, environment="default")


def fill(outbox: Outbox, session: Session, part: str = "") -> None:
    outbox.add(session, place(part), build_fact_scores(session, place(part), {}, CleanText))


def push(standin: CheckedServer, store: Store, *sessions: Session, alive: tuple[str, ...] = (), **more: Any) -> Any:
    """Write some sessions; the first is the plain one, the others are goals within it."""
    client = client_of(standin)
    outbox = Outbox("facts", (*alive, *(one.id for one in sessions)))
    for n, one in enumerate(sessions):
        fill(outbox, one, one.id if n else "")
    delivery = Delivery(client=client, store=store, project=find_project(client), **more)
    return push_scores(delivery, outbox, NO_CONFIGS)


def there(standin: CheckedServer) -> list[str]:
    return sorted(row["name"] for row in standin.list_visible_scores())


FIRST, SECOND = session_of(id="first", crushed=True), session_of(id="second", crushed=True)
FACTS = ["assay_confidence", "assay_crushed", "assay_goal_complete", "assay_intent"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_goal_that_is_gone_takes_its_scores_with_it(make: Make, store: Store, version):
    standin = make(version)
    push(standin, store, FIRST, SECOND)
    assert there(standin) == sorted(FACTS * 2)
    found = push(standin, store, FIRST)
    assert (len(found.withdrawal.withdrawn), found.is_complete) == (4, True)
    assert there(standin) == FACTS
    assert push(standin, store, FIRST).withdrawal.withdrawn == ()


def test_a_dimension_that_is_ungraded_now_loses_its_row(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST)
    found = push(standin, store, session_of(id="first", crushed=True, intent=None))
    assert len(found.withdrawal.withdrawn) == 1
    assert there(standin) == FACTS[:-1]


def test_a_goal_that_was_not_looked_at_this_time_keeps_its_scores(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST, SECOND)
    assert push(standin, store, FIRST, alive=("second",)).withdrawal.withdrawn == ()


def test_scores_of_another_family_stay(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST)
    client = client_of(standin)
    delivery = Delivery(client=client, store=store, project=find_project(client))
    outbox = Outbox("quality:enhanced", ["first"])
    outbox.skip(FIRST, place(), "insufficient evidence")
    assert push_scores(delivery, outbox, NO_CONFIGS).withdrawal.withdrawn == ()


@pytest.mark.parametrize(("keeps", "left"), [(True, FACTS), (False, [])])
def test_a_session_of_which_nothing_may_be_said_any_more_is_silent_there_too(make: Make, store: Store, keeps, left):
    standin = make()
    push(standin, store, FIRST)
    client = client_of(standin)
    outbox = Outbox("facts", ["first"])
    outbox.skip(FIRST, place(), "opted out", keeps_rows=keeps)
    push_scores(Delivery(client=client, store=store, project=find_project(client)), outbox, NO_CONFIGS)
    assert there(standin) == left


def test_scores_on_a_session_that_langfuse_has_no_longer_go(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST)
    client = client_of(standin)
    delivery = Delivery(client=client, store=store, project=find_project(client))
    found = push_scores(delivery, Outbox("", ()), NO_CONFIGS, ["s1"])
    assert (len(found.withdrawal.withdrawn), there(standin)) == (4, [])


def test_another_environment_has_rows_of_its_own_and_the_old_ones_go(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST)
    client = client_of(standin)
    outbox, moved = (
        Outbox("facts", ["first"]),
        ScoreTarget(session="s1", timestamp="2026-11-10T09:00:00Z", environment="staging"),
    )
    outbox.add(FIRST, moved, build_fact_scores(FIRST, moved, {}, CleanText))
    found = push_scores(Delivery(client=client, store=store, project=find_project(client)), outbox, NO_CONFIGS)
    assert (len(found.written.stored), len(found.withdrawal.withdrawn)) == (4, 4)
    assert {row["body"].get("environment") for row in standin.list_visible_scores()} == {"staging"}


def test_a_dry_run_takes_nothing_out(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST, SECOND)
    assert len(push(standin, store, FIRST, dry_run=True).withdrawal.would_withdraw) == 4
    assert there(standin) == sorted(FACTS * 2)


def test_deletions_that_show_late_are_waited_for_and_those_that_never_do_are_told(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST, SECOND)
    standin.late_s = 20
    assert len(push(standin, store, FIRST).withdrawal.withdrawn) == 4
    standin.late_s = 500
    found = push(standin, store, session_of(id="first", crushed=True, intent=None))
    assert [one.why for one in found.withdrawal.not_withdrawn] == [
        "the server took the order, but it was still there after 45 s; run it again"
    ]
    assert not found.is_complete


def test_a_server_that_goes_away_leaves_the_rest_for_the_next_time(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST)
    ids = [row["id"] for row in standin.list_visible_scores()]
    client = client_of(standin)
    standin.planned = [httpx.ConnectError("refused")] * 99
    found = withdraw_scores(client, ids, 45, lambda _ids: None)
    assert [one.id for one in found.not_withdrawn] == ids


def test_only_our_own_scores_are_found_on_a_session(make: Make, store: Store):
    standin = make()
    push(standin, store, FIRST)
    client = client_of(standin)
    client.http.post("/api/public/scores", {"name": "mine", "value": 1, "sessionId": "s1", "id": "assay-not"})
    assert len(fetch_own_ids(client, {"sessionId": "s1"})) == 4
