"""Questions handed in together: half the price, and gone on with after a break."""

import asyncio
import json
import re

import pytest

from assay.errors import ModelBusy, ModelRefused, ModelUnavailable
from assay.llm.client import MOST_BYTES, QuestionRunner, ask_batch, split_batches
from assay.testing.models import EarlyStop, ErrorStatus, ModelServer, reply_in_turn
from assay.types import CleanText
from tests.llm.questions import FITS, SCHEMA, Purse, Watch, check, question, several, to
from tests.tables import each_row


def in_batch(url, questions, *, batch="", purse=None, watch=None, name="claude-haiku-4-5"):
    """What became of the questions, and the batches that were begun."""
    done, begun = [], []

    async def run():
        model = to("anthropic", url, name=name)
        asking = QuestionRunner(model, 2, (watch or Watch()).patience(), check, purse or Purse())
        try:
            await ask_batch(
                asking, model, questions, batch=batch, begun=lambda *one: begun.append(one), done=done.append
            )
        finally:
            await model.close()

    asyncio.run(run())
    return done, begun


def test_a_batch_is_handed_in_looked_after_and_collected():
    watch = Watch()
    with ModelServer(lambda *_: FITS, looks=3) as service:
        done, begun = in_batch(service.url, several(5), watch=watch)
    assert {one.key: json.loads(one.text) for one in done} == {one.key: FITS for one in several(5)}
    assert begun == [(next(iter(service.batches)), tuple(one.key for one in several(5)))]
    assert len(watch.slept) == 3
    assert watch.slept == sorted(watch.slept)
    assert {call.share for one in done for call in one.calls} == {0.5}
    assert all(call.usage.input > 20 for one in done for call in one.calls)


def test_requests_of_a_batch_have_names_the_service_takes_and_their_schema_enforced():
    with ModelServer(lambda *_: FITS) as service:
        in_batch(service.url, several(2))
    sent = next(one for one in service.requests if one.path.endswith("/batches")).body["requests"]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"]) for one in sent)
    assert all(one["params"]["tools"][0]["input_schema"] == SCHEMA for one in sent)
    assert all(one["params"]["temperature"] == 0 for one in sent)


@pytest.mark.parametrize(("name", "sent"), [
    ("claude-haiku-4-5", True),
    ("claude-sonnet-4-6", True),
    ("claude-opus-4-6", True),
    ("claude-opus-4-8", False),
    ("claude-opus-5-5", False),
    ("some-model", False),
])  # fmt: skip
def test_a_batch_has_a_temperature_only_where_the_model_is_known_to_take_it(name, sent):
    with ModelServer(lambda *_: FITS) as service:
        in_batch(service.url, several(1), name=name)
    assert ("temperature" in service.calls[0].body) is sent


def test_a_batch_that_was_begun_before_is_collected_and_not_handed_in_again():
    with ModelServer(lambda *_: FITS) as service:
        first, ((batch, _),) = in_batch(service.url, several(3))
        done, begun = in_batch(service.url, several(3), batch=batch)
    assert not begun
    assert [one.text for one in done] == [one.text for one in first]
    assert len(service.calls) == 3


def test_a_batch_is_kept_before_anybody_waits_for_it():
    class Killed(BaseException):
        pass

    kept = []

    async def die(_seconds):
        raise Killed

    async def run(url):
        model = to("anthropic", url)
        watch = Watch()
        watch.sleep = die
        asking = QuestionRunner(model, 2, watch.patience(), check, Purse())
        try:
            await ask_batch(asking, model, several(2), batch="", begun=lambda *one: kept.append(one), done=print)
        finally:
            await model.close()

    with ModelServer(lambda *_: FITS, looks=2) as service:
        with pytest.raises(Killed):
            asyncio.run(run(service.url))
        done, begun = in_batch(service.url, several(2), batch=kept[0][0])
    assert len(done) == 2
    assert not begun
    assert len(service.calls) == 2


@each_row(("reply", "trouble"), [
    (ErrorStatus(400, "odd"), "refused"),
    (ErrorStatus(400, "prompt is too long"), "refused"),
    (ErrorStatus(529), "busy"),
    (ErrorStatus(500), "busy"),
    (ErrorStatus(401), "unavailable"),
    ("expired", "busy"),
    ("canceled", "busy"),
    (EarlyStop("refusal"), "refused"),
    (EarlyStop("max_tokens", "{"), "refused"),
])  # fmt: skip
def test_every_result_of_a_batch_is_told_apart(reply, trouble):
    with ModelServer(lambda job, text: reply if "(0)" in text else FITS) as service:
        done, _ = in_batch(service.url, several(2))
    assert {one.key: one.trouble for one in done} == dict(
        zip([one.key for one in several(2)], [trouble, None], strict=True)
    )
    assert all(one.why for one in done if one.trouble)


def test_a_reply_off_its_schema_is_asked_again_at_once_and_at_full_price():
    purse = Purse()
    with ModelServer(reply_in_turn({"verdict": "maybe", "turn": 1}, FITS)) as service:
        (asked,), _ = in_batch(service.url, several(1), purse=purse)
    assert json.loads(asked.text) == FITS
    assert [(call.outcome, call.share) for call in asked.calls] == [("invalid", 0.5), ("ok", 1.0)]
    assert "verdict must be pass or fail" in service.calls[-1].text
    assert purse.paid == list(asked.calls)


def test_a_reply_off_its_schema_twice_is_no_answer():
    with ModelServer(reply_in_turn({"verdict": "maybe", "turn": 1})) as service:
        (asked,), _ = in_batch(service.url, several(1))
    assert asked.trouble == "invalid"
    assert len(service.calls) == 2


def test_what_the_budget_has_no_room_for_is_not_handed_in():
    with ModelServer(lambda *_: FITS) as service:
        done, begun = in_batch(service.url, several(5), purse=Purse(calls=3))
    assert sorted(one.trouble or "" for one in done) == ["", "", "", "over_budget", "over_budget"]
    assert len(begun[0][1]) == len(service.calls) == 3


def test_a_budget_with_no_room_at_all_hands_in_nothing():
    with ModelServer(lambda *_: FITS) as service:
        done, begun = in_batch(service.url, several(2), purse=Purse(calls=0))
    assert [one.trouble for one in done] == ["over_budget"] * 2
    assert not begun
    assert not service.requests


def test_a_question_that_the_batch_does_not_know_may_be_asked_later():
    with ModelServer(lambda *_: FITS) as service:
        _, ((batch, _),) = in_batch(service.url, several(2))
        done, _ = in_batch(service.url, several(3), batch=batch)
    assert [one.trouble for one in done] == [None, None, "busy"]


def test_a_batch_that_is_gone_is_refused():
    with ModelServer(lambda *_: FITS) as service, pytest.raises(ModelRefused, match="msgbatch_9"):
        in_batch(service.url, several(1), batch="msgbatch_9")


@pytest.mark.parametrize(("status", "kind"), [(401, ModelUnavailable), (529, ModelBusy)])
def test_a_batch_that_can_not_be_handed_in_says_why(status, kind):
    with ModelServer(lambda *_: FITS) as service:
        service.refuse = ErrorStatus(status)
        with pytest.raises(kind):
            in_batch(service.url, several(1))
    assert len(service.requests) == (1 if status == 401 else 3)


def test_many_questions_make_several_batches(monkeypatch):
    from assay.llm import client

    monkeypatch.setattr(client, "MOST_QUESTIONS", 4)
    assert [len(one) for one in split_batches(several(10))] == [4, 4, 2]
    large = question(material=CleanText("x" * (MOST_BYTES // 2)))
    assert [len(one) for one in split_batches([large, large, large])] == [1, 1, 1]
    assert list(split_batches([])) == []
