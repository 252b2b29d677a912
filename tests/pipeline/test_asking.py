"""A store, a model behind real sockets, and what is asked of it: once, of whom it may be, and of nobody in vain."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import assay
from assay.config import Config, Model, Tenant
from assay.errors import BadInput
from assay.judges.model import judge as model_judge
from assay.llm.client import Patience
from assay.pipeline.cost import measure_question
from assay.pipeline.inputs import find_files
from assay.pipeline.models import ASK_AT_ONCE, ONLY_KEPT, OVER_BUDGET, AskOptions, ModelClient, open_models
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.scoring_run import Selection
from assay.scores.report import Report
from assay.stores import Store, open_store
from assay.testing.claude_code import BEGAN, build_prompt, build_reply, write_lines
from assay.testing.models import EarlyStop, ErrorStatus, ModelServer, SlowReply, reply_in_turn
from assay.types import Usage
from tests.llm.judging import FAILED, JOBS, agreeable, asked, instead, jobs, sent, talk, talks
from tests.make_report import hold_report

AGAIN, BATCH, KEPT = AskOptions(again=True), AskOptions(batch=True), AskOptions(only_kept=True)
CALLS = "SELECT key, outcome, cost_usd, input, output FROM calls"


class Place:
    """Transcripts, a store, and the settings."""

    def __init__(self, top: Path) -> None:
        self.folder, self.file = top / "in", top / "s.db"
        self.store: Store = open_store(f"sqlite:///{self.file}")

    def config(self, service: ModelServer, **more: Any) -> Config:
        model = {"url": service.url, **more.pop("model", {})}
        kept = {"judge": "anthropic", "timezone": "UTC", "fallback": "offline"}
        return Config(**{**kept, "model": Model(**model), **more})

    def score(self, config: Config, manner: AskOptions = ASK_AT_ONCE, **choice: str) -> Report:
        changes = scan(self.store, find_files([self.folder]), 1, lambda *_: None)
        chosen = Selection(**choice)
        with (
            closing(open_models(self.store, config, {}, manner)) as found,
            open_run(self.store, config, changes.roots, selection=chosen, jobs=1, models=found) as run,
        ):
            return hold_report(score_run(run).report)

    def wanted(self, config: Config, **choice: str) -> list[Any]:
        changes = scan(self.store, find_files([self.folder]), 1, lambda *_: None)
        with (
            closing(open_models(self.store, config, {}, KEPT)) as found,
            open_run(self.store, config, changes.roots, selection=Selection(**choice), jobs=1, models=found) as run,
        ):
            wanted = list(run.list_questions())
            known = found.client.load_answers([one.key for one in wanted])
            return [one for one in wanted if one.key not in known]

    def calls(self) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.file)) as rows:
            return rows.execute(CALLS).fetchall()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.store.close()


def plain(report: Report) -> bytes:
    """A report without what asking took this time."""
    return msgspec.json.encode(replace(report, judge=replace(report.judge, spending=None)))


def judges(report: Report) -> list[str]:
    return [one.judge for one in report.sessions]


# --- asked once ---------------------------------------------------------------------------------


def test_a_session_is_asked_about_once_in_the_order_in_which_answers_depend_on_each_other(place: Place):
    talks(place.folder, 2)
    with ModelServer(agreeable) as service:
        first = place.score(place.config(service))
        assert [one.job for one in service.calls] == ["topic", "topic", "session", "session"]
        again = place.score(place.config(service))
    assert len(service.calls) == 4
    assert plain(again) == plain(first)
    assert first.judge.spending.calls == 4
    assert again.judge.spending.calls == 0
    assert {one.title for one in first.sessions} == {"Count reeds"}
    assert first.score.value == 100


def test_a_small_session_is_asked_about_and_a_greeting_is_not(place: Place):
    for n, text in enumerate(("hello, are you there?", "Rename the reed to comb")):
        records = [build_prompt(n * 9_000, text, f"s{n}"), build_reply(n * 9_000 + 1, "Sure.", f"s{n}")]
        write_lines(place.folder / f"s{n}.jsonl", *records)
    with ModelServer(agreeable) as service:
        found = place.score(place.config(service))
    assert [one.job for one in service.calls] == ["session"]
    assert [(one.judge, one.judge_status) for one in found.sessions] == [
        ("offline", "no_goal"),
        ("anthropic", "trivial"),
    ]


def test_nobody_is_asked_about_a_session_that_still_goes_on(place: Place):
    talks(place.folder, 1)
    with ModelServer(agreeable) as service:
        [ended] = [one.ended_at for one in place.score(place.config(service), KEPT).sessions]
        soon, later = ((datetime.fromisoformat(ended) + timedelta(minutes=minutes)).isoformat() for minutes in (5, 30))
        first = place.score(place.config(service, as_of=soon))
        assert "session" not in [one.job for one in service.calls]
        second = place.score(place.config(service, as_of=later))
    assert [one.judge_status for one in first.sessions] == ["in_progress"]
    assert [(one.judge_status, one.judge) for one in second.sessions] == [("ok", "anthropic")]
    assert [one.job for one in service.calls].count("session") == 1


def test_what_was_answered_is_worth_it_also_where_all_else_is_judged_anew(place: Place):
    talks(place.folder, 2)
    with ModelServer(agreeable) as service:
        first = place.score(place.config(service))
        with closing(sqlite3.connect(place.file)) as rows, rows:
            for table in ("cuts", "segments", "joined"):
                rows.execute(f"DELETE FROM {table}")
        again = place.score(place.config(service))
    assert len(service.calls) == again.judge.spending.cached == 4
    assert plain(again) == plain(first)


def test_a_conversation_that_goes_on_costs_what_is_new(place: Place):
    talks(place.folder, 2)
    with ModelServer(agreeable) as service:
        place.score(place.config(service))
        more = [
            build_prompt(120, "and now say hello in loom0.py too", "loom0"),
            build_reply(121, "It says hello.", "loom0"),
        ]
        write_lines(place.folder / "s0.jsonl", *talk("loom0"), *more)
        place.score(place.config(service))
    assert jobs(service.calls[4:]) == dict.fromkeys(JOBS, 1)
    assert max(asked(service).values()) == 1


@pytest.mark.parametrize(
    ("changed", "calls"),
    [
        ({"name": "claude-sonnet-4-5"}, 2),
        ({"tokens": 9_000}, 2),
        ({"votes": 2}, 1),
        ({"at_once": 1, "timeout_s": 5.0, "tries": 1, "max_cost": 5.0}, 0),
    ],
)
def test_what_decides_the_answer_asks_again_and_nothing_else_does(place: Place, changed: dict[str, Any], calls: int):
    talks(place.folder, 1)
    with ModelServer(agreeable) as service:
        place.score(place.config(service))
        place.score(place.config(service, model=changed))
        assert len(service.calls) == 2 + calls
        place.score(place.config(service))
    assert len(service.calls) == 2 + calls


def test_another_prompt_is_another_question(place: Place, monkeypatch: pytest.MonkeyPatch):
    talks(place.folder, 1)
    with ModelServer(agreeable) as service:
        place.score(place.config(service))
        model_judge.hash_version.cache_clear()
        monkeypatch.setattr(model_judge, "CONTRACT", model_judge.CONTRACT + 1)
        place.score(place.config(service))
        monkeypatch.undo()
        model_judge.hash_version.cache_clear()
    assert len(service.calls) == 4


def test_to_the_offline_judge_and_back_costs_nothing(place: Place):
    talks(place.folder, 2)
    with ModelServer(agreeable) as service:
        first = place.score(place.config(service))
        offline = place.score(place.config(service, judge="offline"))
        back = place.score(place.config(service))
    assert len(service.calls) == 4
    assert judges(offline) == ["offline", "offline"]
    assert plain(back) == plain(first)


def test_only_what_is_wanted_is_paid_for(place: Place):
    for n, hour in enumerate((0, 48, 96)):
        write_lines(place.folder / f"s{n}.jsonl", *talk(f"loom{n}", start=hour * 3_600))
    since = (BEGAN + timedelta(hours=40)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    with ModelServer(agreeable) as service:
        config = place.config(service)
        assert len(place.wanted(config, since=since)) == 4
        found = place.score(config, since=since)
        assert judges(found) == ["anthropic", "anthropic"]
        assert jobs(service.calls) == dict.fromkeys(JOBS, 2)
        assert "loom0" not in sent(service)
        place.score(config)
    assert jobs(service.calls) == dict.fromkeys(JOBS, 3)


def test_a_session_of_several_streams_outside_the_choice_is_not_in_the_estimate(place: Place):
    write_lines(place.folder / "a.jsonl", *talk("loom"))
    write_lines(place.folder / "b.jsonl", *[{**one, "sessionId": "other"} for one in talk("loom", start=300)])
    write_lines(place.folder / "c.jsonl", *talk("late", start=200_000))
    since = (BEGAN + timedelta(hours=40)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    with ModelServer(agreeable) as service:
        place.score(place.config(service, judge="offline"), since=since)
        assert len(place.wanted(place.config(service), since=since)) == 2
        place.score(place.config(service), since=since)
        assert len(service.calls) == 2


@pytest.mark.parametrize("trouble", [EarlyStop("refusal"), "no JSON at all"])
def test_what_was_refused_or_unusable_is_asked_again_only_on_request(place: Place, trouble: Any):
    talks(place.folder, 3)
    with ModelServer(instead("session", trouble, lambda text: "loom1" in text)) as service:
        config = place.config(service)
        [lost] = [one for one in place.score(config).sessions if one.judge_status == "ungraded"]
        assert lost.judge == "anthropic"
        assert lost.ungraded_reason
        before = len(service.calls)
        assert plain(place.score(config)) == plain(place.score(config))
        assert len(service.calls) == before
        service.reply = agreeable
        found = place.score(config, AGAIN)
        assert len(service.calls) == before + 1
        assert "loom1" in service.calls[-1].text
        place.score(config, AGAIN)
    assert len(service.calls) == before + 1
    assert [one.judge_status for one in found.sessions] == ["ok"] * 3


@pytest.mark.parametrize("trouble", [EarlyStop("refusal"), "no JSON at all", {"gaps": []}])
def test_topics_that_cannot_be_used_are_the_offline_judges_and_said_to_be(place: Place, trouble: Any):
    talks(place.folder, 2)
    with ModelServer(instead("topic", trouble, lambda text: "loom1" in text)) as service:
        found = place.score(place.config(service))
        calls = len(service.calls)
        again = place.score(place.config(service))
    assert judges(found) == ["anthropic"] * 2
    assert [one.judge_status for one in found.sessions] == ["ok"] * 2
    told = sorted(one.fallback or "" for one in found.sessions)
    assert told[0] == ""
    assert told[1].startswith("the offline judge found where goals begin: ")
    assert len(service.calls) == calls, "it was answered, and is not asked again"
    assert plain(again) == plain(found)


def test_what_is_asked_about_languages_is_nothing_and_they_are_told_all_the_same(place: Place):
    talks(place.folder, 1)
    with ModelServer(agreeable) as service:
        [found] = place.score(place.config(service)).sessions
    assert found.language == "en"
    assert set(found.judge_versions) == {"topic", "session", "language"}


# --- interrupted --------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.mark.parametrize("half", [1, 3, 4])
def test_stopped_after_any_number_of_answers_and_gone_on_with(tmp_path: Path, half: int):
    whole, broken = Place(tmp_path / "whole"), Place(tmp_path / "broken")
    for one in (whole, broken):
        talks(one.folder, 3)

    def heard(done: int, total: int) -> None:
        if done and len(broken.calls()) >= half:
            raise Killed

    with ModelServer(agreeable) as service:
        expected = whole.score(whole.config(service))
    with ModelServer(agreeable) as service:
        config = broken.config(service, model={"url": service.url, "at_once": 1})
        with pytest.raises(Killed):
            broken.score(config, AskOptions(heard=heard))
        assert len(broken.calls()) == half
        found = broken.score(config)
        assert set(asked(service).values()) == {1}
        assert len(service.calls) == len(broken.calls()) == 6
    keys = [key for key, *_ in broken.calls()]
    assert len(set(keys)) == 6
    cost = sum((one[3] * 1.0 + one[4] * 5.0) / 1_000_000 for one in broken.calls())
    assert sum(one[2] for one in broken.calls()) == pytest.approx(cost)
    assert [(one.title, one.goal_complete, one.judge) for one in found.sessions] == [
        (one.title, one.goal_complete, one.judge) for one in expected.sessions
    ]
    for one in (whole, broken):
        one.store.close()


# --- batches ------------------------------------------------------------------------------------


def test_batches_are_handed_in_round_by_round_at_half_the_price(place: Place):
    talks(place.folder, 2)
    with ModelServer(agreeable, looks=0) as service:
        found = place.score(place.config(service), BATCH)
    handed = [request.body["requests"] for request in service.requests if request.method == "POST"]
    assert [sorted(one["params"]["tool_choice"]["name"] for one in some) for some in handed] == [
        ["topic", "topic"],
        ["session", "session"],
    ]
    spent = found.judge.spending
    assert spent.cost_usd == pytest.approx((spent.input * 1.0 + spent.output * 5.0) / 2_000_000)
    assert place.store.answers.list_batches("anthropic") == []
    assert judges(found) == ["anthropic"] * 2


def test_a_batch_the_service_no_longer_knows_is_handed_in_anew(place: Place, monkeypatch: pytest.MonkeyPatch):
    talks(place.folder, 2)
    with ModelServer(agreeable, looks=1) as service:
        stopped_while_it_runs(place, service, monkeypatch)
        service.batches.clear()
        service.looks = 0
        found = place.score(place.config(service), BATCH)
    assert [len(one.body["requests"]) for one in service.requests if one.method == "POST"] == [2, 2, 2]
    assert judges(found) == ["anthropic"] * 2
    assert place.store.answers.list_batches("anthropic") == []
    assert len(place.calls()) == 4


def test_a_batch_that_runs_is_collected_and_nothing_is_handed_in_twice(place: Place, monkeypatch: pytest.MonkeyPatch):
    talks(place.folder, 2)
    with ModelServer(agreeable, looks=1) as service:
        stopped_while_it_runs(place, service, monkeypatch)
        service.looks = 0
        place.score(place.config(service), BATCH)
    assert set(asked(service).values()) == {1}
    assert len(service.calls) == len(place.calls()) == 4


def test_without_batch_what_runs_in_one_is_asked_at_once_and_the_batch_is_forgotten_later(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    """The person may not want to wait; what is answered meanwhile is not collected again."""
    talks(place.folder, 2)
    with ModelServer(agreeable, looks=1) as service:
        stopped_while_it_runs(place, service, monkeypatch)
        place.score(place.config(service))
        calls = len(service.calls)
        place.score(place.config(service), BATCH)
    assert calls == len(service.calls) == 6


def stopped_while_it_runs(place: Place, service: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends while it waits for its first batch."""

    async def die(_: float) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Patience.__init__, "__defaults__", (die, time.monotonic))
        with pytest.raises(Killed):
            place.score(place.config(service), BATCH)
    assert len(place.store.answers.list_batches("anthropic")) == 1


@pytest.mark.parametrize("gap", ["expired", ErrorStatus(529)])
def test_half_a_batch_is_kept_and_the_other_half_is_handed_in_by_the_next_run(place: Place, gap: Any):
    talks(place.folder, 2)
    with ModelServer(instead("session", gap, lambda text: "loom0" in text), looks=0) as service:
        found = place.score(place.config(service), BATCH)
        assert sorted(one.judge_status for one in found.sessions) == ["ok", "ungraded"]
        service.reply = agreeable
        found = place.score(place.config(service), BATCH)
    assert [one.judge_status for one in found.sessions] == ["ok", "ok"]
    again = [words for words, n in asked(service).items() if n > 1]
    assert [(job, "loom0" in text) for job, _, _, text in again] == [("session", True)]


# --- the limit ----------------------------------------------------------------------------------


def test_a_limit_stops_before_it_is_reached_and_leaves_no_common_score(place: Place):
    talks(place.folder, 6)
    with ModelServer(agreeable) as service:
        config = place.config(service, model={"url": service.url, "max_cost": 0.035})
        found = place.score(config)
        spent = found.judge.spending
        assert 0 < spent.cost_usd <= 0.035
        assert found.judge.fallback == OVER_BUDGET
        assert found.score.value is None
        assert found.score.is_mixed
        assert {one.judge: one.score.counted for one in found.by_judge}.keys() == {"anthropic", "offline"}
        assert sum(one.score.counted for one in found.by_judge) == 6
        assert all((one.judge == "offline") == (one.fallback == OVER_BUDGET) for one in found.sessions)
        whole = place.score(place.config(service))
    assert set(asked(service).values()) == {1}
    assert judges(whole) == ["anthropic"] * 6
    assert whole.score.value == 100


def test_a_limit_without_a_price_is_refused_until_a_price_is_set(place: Place):
    talks(place.folder, 1)
    named = {"name": "loom-7b"}
    with ModelServer(agreeable) as service:
        with pytest.raises(BadInput, match=r"price of loom-7b is not known.*model\.input_usd"):
            place.score(place.config(service, model={**named, "max_cost": 1.0}))
        assert not service.requests
        assert place.score(place.config(service, model=named)).judge.spending.cost_usd is None
        priced = {**named, "max_cost": 1.0, "input_usd": 10.0, "output_usd": 10.0, "votes": 2}
        spent = place.score(place.config(service, model=priced)).judge.spending
    assert spent.calls == 1
    assert spent.cost_usd == pytest.approx((spent.input + spent.output) * 10 / 1_000_000)


# --- who judges instead -------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 3])
def test_let_in_no_longer_the_rest_is_the_offline_judges_and_asked_again_later(place: Place, at: int):
    talks(place.folder, 2)
    with ModelServer(agreeable) as service:
        replies = iter(range(100))
        service.reply = lambda job, text: ErrorStatus(401) if next(replies) >= at else agreeable(job, text)
        found = place.score(place.config(service, model={"at_once": 1}))
        assert "ANTHROPIC_API_KEY" in found.judge.fallback
        assert all(one.fallback == found.judge.fallback for one in found.sessions if one.judge == "offline")
        assert "offline" in judges(found)
        service.reply = agreeable
        found = place.score(place.config(service, model={"at_once": 1}))
    assert judges(found) == ["anthropic"] * 2
    assert found.judge.fallback is None
    assert sorted(asked(service).values()) == [1] * 3 + [2]


def test_a_service_that_is_not_there_is_no_judge(place: Place):
    talks(place.folder, 2)
    with ModelServer(agreeable) as gone:
        config = place.config(gone)
    found = place.score(config)
    assert judges(found) == ["offline"] * 2
    assert "can't be reached" in found.judge.fallback
    with ModelServer(agreeable) as service:
        back = place.score(place.config(service))
    assert judges(back) == ["anthropic"] * 2


def test_where_nobody_may_stand_in_there_is_no_report_without_the_model(place: Place):
    talks(place.folder, 2)
    with ModelServer(lambda *_: ErrorStatus(401)) as service, pytest.raises(BadInput) as caught:
        place.score(place.config(service, fallback="none"))
    assert "ANTHROPIC_API_KEY" in str(caught.value)
    assert "--fallback offline" in str(caught.value)
    with closing(sqlite3.connect(place.file)) as kept:
        assert kept.execute("SELECT 1 FROM rework WHERE is_told").fetchall() == []


def test_commands_that_ask_nobody_say_what_was_judged_and_what_was_not(place: Place):
    talks(place.folder, 2)
    with ModelServer(agreeable) as service:
        first = place.score(place.config(service))
        assert plain(place.score(place.config(service), KEPT)) == plain(first)
        write_lines(place.folder / "s9.jsonl", *talk("loom9"))
        found = place.score(place.config(service), KEPT)
        assert len(service.calls) == 4
    new = [one for one in found.sessions if one.judge == "offline"]
    assert [one.fallback for one in new] == [ONLY_KEPT]
    assert found.score.value is None


# --- votes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "status", "complete"),
    [
        ([True, True, False], "ok", True),
        ([False, True, False], "ok", False),
        ([True, False], "unclear", None),
        ([True, None, True], "ok", True),
    ],
)
def test_most_votes_decide_and_as_many_on_either_side_do_not(
    place: Place, votes: list[bool | None], status: str, complete: bool | None
):
    talks(place.folder, 1)
    said = {True: agreeable("session", ""), False: FAILED, None: EarlyStop("refusal")}
    ballot = reply_in_turn(*(said[one] for one in votes))
    with ModelServer(lambda job, text: ballot(job, text) if job == "session" else agreeable(job, text)) as service:
        [found] = place.score(place.config(service, model={"votes": len(votes)})).sessions
    assert jobs(service.calls) == {"topic": 1, "session": len(votes)}
    assert (found.judge_status, found.goal_complete) == (status, complete)


# --- tenants ------------------------------------------------------------------------------------


SECRET = "heddle"
POLICIES = {
    "opted out": (Tenant(opt_out=True), "nobody", None),
    "kept too long": (Tenant(retention_days=30), "nobody", None),
    "another judge": (Tenant(judges=("openai",)), "offline", "tenant acme does not allow anthropic"),
    "another model": (Tenant(models=("loom-7b",)), "offline", "tenant acme does not allow the model claude-haiku-4-5"),
}


@pytest.mark.parametrize("name", POLICIES)
def test_no_word_of_a_tenant_goes_where_it_may_not(place: Place, name: str):
    tenant, judge, why = POLICIES[name]
    talks(place.folder, 1)
    wish = f"Add a {SECRET} counter to acme.py and run the tests"
    write_lines(place.folder / "acme.jsonl", *talk("acme", cwd="/srv/acme/app", wish=wish))
    tenants = {"acme": replace(tenant, projects=("/srv/acme",))}
    with ModelServer(agreeable) as service:
        for manner in (AskOptions(), BATCH):
            service.looks = 0
            found = place.score(place.config(service, tenants=tenants), manner)
            [theirs] = [one for one in found.sessions if one.project.startswith("/srv/acme")]
            assert (theirs.judge, theirs.fallback, theirs.tenant) == (judge, why, "acme")
    assert jobs(service.calls) == dict.fromkeys(JOBS, 1)
    assert SECRET not in sent(service)
    assert "acme" not in sent(service)


def test_a_tenant_whose_words_may_be_seen_is_judged_like_anybody(place: Place):
    ended = (datetime.now(UTC) - BEGAN).days
    tenant = Tenant(
        projects=("/home/ada",), retention_days=ended + 30, judges=("anthropic",), models=("claude-haiku-4-5",)
    )
    talks(place.folder, 1)
    with ModelServer(agreeable) as service:
        found = place.score(place.config(service, tenants={"ada": tenant}))
    assert judges(found) == ["anthropic"]


# --- a busy service -----------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_is_asked_at_once_than_is_set(place: Place, at_once: int):
    talks(place.folder, 6)
    with ModelServer(lambda job, text: SlowReply(0.02, agreeable(job, text))) as service:
        place.score(place.config(service, model={"at_once": at_once}))
    assert service.most_at_once == at_once


def test_a_service_that_asks_for_a_pause_gets_it(place: Place):
    talks(place.folder, 1)
    busy = iter([ErrorStatus(429, headers={"retry-after": "1"})])
    times = []

    def reply(job: str, text: str) -> Any:
        times.append(datetime.now(UTC))
        return next(busy, None) or agreeable(job, text)

    with ModelServer(reply) as service:
        found = place.score(place.config(service))
    assert (times[1] - times[0]).total_seconds() >= 1
    assert judges(found) == ["anthropic"]
    assert [one[1] for one in place.calls()] == ["busy", "ok", "ok"]
    assert len(service.calls) == 3


def test_no_answer_in_time_leaves_a_session_ungraded_until_the_next_run(place: Place):
    talks(place.folder, 2)
    slow = instead("session", SlowReply(30, {}), lambda text: "loom1" in text)
    with ModelServer(slow) as service:
        config = place.config(service, model={"timeout_s": 0.4, "tries": 1})
        found = place.score(config)
        [late] = [one for one in found.sessions if one.judge_status != "ok"]
        assert (late.judge_status, late.judge) == ("ungraded", "anthropic")
        assert "gave no answer within 0.4 s" in late.ungraded_reason
        assert found.judge.spending.troubles == {"busy": 1}
        service.reply = agreeable
        found = place.score(config)
    assert [one.judge_status for one in found.sessions] == ["ok", "ok"]
    assert len(service.calls) == 5


# --- before anything is asked -------------------------------------------------------------------


def test_what_is_estimated_is_what_is_asked(place: Place):
    talks(place.folder, 4)
    write_lines(place.folder / "more.jsonl", *[{**one, "sessionId": "m"} for one in talk("loom3", start=200)])
    with ModelServer(agreeable) as service:
        config = place.config(service, model={"votes": 2})
        wanted = place.wanted(config)
        with closing(open_models(place.store, config, {}, KEPT)) as found:
            before = found.client.estimate([measure_question(one) for one in wanted])
        spent = place.score(config).judge.spending
    assert before.questions == spent.calls == len({one.key for one in wanted})
    assert before.input == pytest.approx(spent.input, rel=0.25)
    assert before.cost_usd >= spent.cost_usd * 0.75


def test_half_way_the_estimate_is_of_the_rest(place: Place):
    talks(place.folder, 3)
    with ModelServer(agreeable) as service:
        place.score(place.config(service, model={"max_cost": 0.02}))
        done = len(service.calls)
        assert 0 < done < 6
        config = place.config(service)
        assert len(place.wanted(config)) == 6 - done
        place.score(config)
    assert len(service.calls) == 6


def test_only_a_service_that_takes_batches_is_asked_for_one(place: Place):
    talks(place.folder, 1)
    with ModelServer(agreeable) as service, pytest.raises(BadInput, match="--batch: openai takes no batches"):
        place.score(place.config(service, judge="openai", model={"name": "gpt-5-mini"}), BATCH)


def test_a_model_that_thinks_is_given_room_for_it_in_the_limit(place: Place):
    """A reply may take as much as the service was allowed, and that must fit."""
    with ModelServer(agreeable) as service:
        config = place.config(service, judge="openai", model={"name": "gpt-5-mini", "max_cost": 1.0})
        found = open_models(place.store, config, {})
    assert isinstance(found.client, ModelClient)
    question = next(iter(judged_questions(place, service)))
    found.client.model.limit = "max_completion_tokens"
    allowed = found.client.model.build_body(question)["max_completion_tokens"]
    cost = found.client.price
    assert found.client.purse.dearest(question, cost) >= allowed * cost.output / 1_000_000
    found.close()


def judged_questions(place: Place, service: ModelServer) -> Iterator[Any]:
    talks(place.folder, 1)
    yield from (one for one in place.wanted(place.config(service)))


# --- from Python --------------------------------------------------------------------------------


def test_python_must_say_that_it_may_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = talks(tmp_path / "in", 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CONFIG", "/dev/null")
    with ModelServer(agreeable) as service:
        monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
        given: dict[str, Any] = {"store": tmp_path / "s.db", "jobs": 1, "judge": "anthropic"}
        with pytest.raises(BadInput, match=r"would ask claude-haiku-4-5 at http://127.* 4 questions.*may_ask=True"):
            assay.score(folder, **given)
        assert not service.requests
        found = assay.score(folder, may_ask=True, **given)
        assert judges(found) == ["anthropic"] * 2
        assert plain(assay.score(folder, **given)) == plain(found)
        with pytest.raises(BadInput, match="may_ask=True"):
            assay.score(folder, model="claude-sonnet-4-5", **given)
        cheap = assay.score(folder, model="claude-sonnet-4-5", max_cost=0.0, may_ask=True, **given)
        assert judges(cheap) == ["offline"] * 2
    assert len(service.calls) == 4


def test_nothing_is_counted_twice_over_runs(place: Place):
    talks(place.folder, 1)
    with ModelServer(instead("topic", EarlyStop("refusal"))) as service:
        assert place.score(place.config(service)).judge.spending.troubles == {"refused": 1}
        found = place.score(place.config(service)).judge.spending
    assert found.troubles == {}
    assert Usage(input=found.input, output=found.output) == Usage()
