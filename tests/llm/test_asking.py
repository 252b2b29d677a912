"""Many questions at once: patience, guidance, budget, and an end that leaves nothing behind."""

import asyncio
import json
import threading

import pytest

from assay.llm import FINAL
from assay.llm.client import ask_all
from assay.testing.models import BrokenReply, EarlyStop, ErrorStatus, ModelServer, SlowReply, reply_in_turn
from tests.llm.questions import FITS, Purse, Watch, ask_many, check, question, several, to

HTTP = pytest.mark.parametrize("backend", ["anthropic", "openai"])


@HTTP
def test_every_question_is_answered_once(backend):
    with ModelServer(lambda *_: FITS) as service:
        done = ask_many(to(backend, service.url), several(9))
    assert {one.key for one in done} == {one.key for one in several(9)}
    assert [json.loads(one.text) for one in done] == [FITS] * 9
    assert [call.outcome for one in done for call in one.calls] == ["ok"] * 9
    assert len(service.calls) == 9


def test_no_more_calls_are_under_way_than_allowed():
    with ModelServer(lambda *_: SlowReply(0.05, FITS)) as service:
        ask_many(to("openai", service.url), several(12), at_once=3)
    assert service.most_at_once == 3


@HTTP
def test_a_busy_service_is_asked_again_and_every_call_is_on_record(backend):
    watch = Watch()
    replies = reply_in_turn(ErrorStatus(529), ErrorStatus(429, headers={"retry-after": "20"}), FITS)
    with ModelServer(replies) as service:
        (asked,) = ask_many(to(backend, service.url), several(1), patience=watch.patience())
    assert json.loads(asked.text) == FITS
    assert [call.outcome for call in asked.calls] == ["busy", "busy", "ok"]
    assert 20.0 in watch.slept
    assert all(call.at and call.seconds >= 0 for call in asked.calls)


@pytest.mark.parametrize("reply", [ErrorStatus(500), ErrorStatus(529), BrokenReply()])
def test_a_service_that_stays_busy_is_given_up_for_this_run(reply):
    with ModelServer(reply_in_turn(reply)) as service:
        (asked,) = ask_many(to("anthropic", service.url), several(1), patience=Watch().patience(tries=3))
    assert asked.trouble == "busy"
    assert asked.trouble not in FINAL
    assert asked.why
    assert len(asked.calls) == len(service.calls) == 3


@HTTP
@pytest.mark.parametrize("wrong", ["no JSON at all", {"verdict": "maybe", "turn": 1}, {}, "", '{"verdict": "pass"'])
def test_a_reply_that_does_not_fit_is_told_so_once(backend, wrong):
    with ModelServer(reply_in_turn(wrong, FITS)) as service:
        (asked,) = ask_many(to(backend, service.url), several(1))
    assert json.loads(asked.text) == FITS
    assert asked.trouble is None
    assert [call.outcome for call in asked.calls] == ["invalid", "ok"]
    first, second = service.calls
    assert asked.calls[0].detail in second.text
    assert asked.calls[0].detail not in first.text


@HTTP
def test_a_reply_that_does_not_fit_twice_is_no_answer(backend):
    with ModelServer(reply_in_turn("nothing of use")) as service:
        (asked,) = ask_many(to(backend, service.url), several(1))
    assert asked.trouble == "invalid"
    assert asked.text == ""
    assert asked.why == "the reply is no JSON"
    assert len(service.calls) == 2


@pytest.mark.parametrize("reply", [EarlyStop("refusal"), EarlyStop("max_tokens", "{"), ErrorStatus(400, "odd")])
def test_what_is_refused_is_not_asked_again(reply):
    with ModelServer(reply_in_turn(reply)) as service:
        (asked,) = ask_many(to("anthropic", service.url), several(1))
    assert asked.trouble == "refused"
    assert len(service.calls) == 1


def test_a_refusal_is_paid_for():
    purse = Purse()
    with ModelServer(reply_in_turn(EarlyStop("refusal"))) as service:
        ask_many(to("anthropic", service.url), several(1), purse=purse)
    assert purse.paid[0].usage.input > 20


def test_when_nobody_is_answered_the_rest_is_not_asked():
    with ModelServer(lambda *_: ErrorStatus(401)) as service:
        done = ask_many(to("anthropic", service.url), several(20), at_once=2)
    assert len(service.calls) <= 2
    assert [one.trouble for one in done] == ["unavailable"] * 20
    assert all("ANTHROPIC_API_KEY" in one.why for one in done)
    assert sum(len(one.calls) for one in done) == len(service.calls)


def test_a_budget_that_is_spent_stops_the_asking_and_what_was_answered_stays():
    purse = Purse(calls=4)
    with ModelServer(lambda *_: FITS) as service:
        done = ask_many(to("openai", service.url), several(10), purse=purse)
    assert len(service.calls) == 4
    assert sorted(one.trouble or "" for one in done) == [""] * 4 + ["over_budget"] * 6
    assert len(purse.paid) == 4


def test_every_call_is_paid_for_once():
    purse = Purse()
    replies = reply_in_turn(ErrorStatus(500), "no JSON", FITS, FITS, EarlyStop("refusal"), FITS)
    with ModelServer(replies) as service:
        done = ask_many(to("openai", service.url), several(4), purse=purse, at_once=1)
    assert len(purse.paid) == len(service.calls) == sum(len(one.calls) for one in done) == 6


def test_stopped_in_the_middle_nothing_runs_on_and_nothing_that_was_done_is_lost():
    done, arrived = [], threading.Semaphore(0)

    def reply(job, text):
        arrived.release()
        return FITS if "(0)" in text or "(1)" in text else SlowReply(20, FITS)

    async def run(url):
        model = to("openai", url, timeout_s=30)
        work = asyncio.create_task(
            ask_all(
                model,
                several(8),
                at_once=2,
                patience=Watch().patience(),
                check=check,
                budget=Purse(),
                done=done.append,
            )
        )
        for _ in range(4):
            await asyncio.to_thread(arrived.acquire)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await model.close()
        return len(asyncio.all_tasks())

    with ModelServer(reply) as service:
        assert asyncio.run(run(service.url)) == 1
    assert len(done) == 2
    assert len(service.calls) == 4


def test_what_keeps_an_answer_may_fail_and_then_nothing_runs_on():
    def full(_):
        raise OSError("disk full")

    async def run(url):
        model = to("openai", url, timeout_s=30)
        asking = ask_all(
            model,
            several(4),
            at_once=3,
            patience=Watch().patience(),
            check=check,
            budget=Purse(),
            done=full,
        )
        try:
            async with asyncio.timeout(10):
                with pytest.raises(OSError, match="disk full"):
                    await asking
            return len(asyncio.all_tasks())
        finally:
            await model.close()

    with ModelServer(lambda job, text: FITS if "(0)" in text else SlowReply(20, FITS)) as service:
        assert asyncio.run(run(service.url)) == 1


def test_interrupted_and_resumed_no_question_is_asked_twice_and_none_is_lost():
    kept = {}
    questions = several(10)
    with ModelServer(lambda *_: FITS) as service:
        for purse in (Purse(calls=5), Purse()):
            left = [one for one in questions if one.key not in kept]
            for one in ask_many(to("openai", service.url), left, purse=purse):
                if not one.trouble:
                    assert one.key not in kept
                    kept[one.key] = one
    assert set(kept) == {one.key for one in questions}
    assert len(service.calls) == 10


def test_guidance_leaves_the_key_of_a_question_as_it_is():
    assert question().key == question(guidance="x").key
    assert question().key != question(sample=1).key


def test_nobody_asked_is_nobody_answered():
    with ModelServer(lambda *_: FITS) as service:
        assert ask_many(to("openai", service.url), []) == []
    assert not service.calls
