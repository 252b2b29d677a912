"""How long a busy service is waited for."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ModelBusy
from assay.llm.client import LONGEST_ASKED_S, MOST_WAIT_S, hash_wait
from assay.llm.wire import MOST_SAID, build_status_error, sanitize_error, shorten_line
from assay.retry import parse_retry_after
from tests.llm.questions import Watch, question
from tests.tables import each_row


@given(st.text(max_size=20), st.integers(1, 20))
def test_every_wait_is_longer_than_half_of_twice_the_last_and_the_same_again(key, tried):
    longest = min(MOST_WAIT_S, 2.0 ** (tried - 1))
    assert longest / 2 <= hash_wait(key, tried) <= longest
    assert hash_wait(key, tried) == hash_wait(key, tried)


def test_questions_do_not_come_back_in_step():
    assert len({hash_wait(f"question {number}", 3) for number in range(50)}) == 50


def test_a_crowded_service_is_left_alone_by_all_calls_together():
    watch = Watch()
    patience = watch.patience()

    async def run():
        await patience.pause("a", 1, ModelBusy("crowded", 9.0))
        await patience.wait_until_quiet()

    asyncio.run(run())
    assert watch.slept == [9.0]


def test_a_dead_line_holds_up_nobody_else():
    watch = Watch()
    patience = watch.patience()
    asyncio.run(patience.pause("a", 1, ModelBusy("dropped")))
    assert patience.quiet_until <= watch.now


def test_a_service_that_wants_a_very_long_pause_is_left_for_the_next_run():
    patience = Watch().patience(tries=5)
    assert patience.may_retry(1, ModelBusy("crowded", LONGEST_ASKED_S))
    assert not patience.may_retry(1, ModelBusy("crowded", LONGEST_ASKED_S + 1))
    assert not patience.may_retry(5, ModelBusy("crowded", 1.0))


@each_row(("headers", "wait_s"), [
    ({"retry-after": "12"}, 12.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after": "-3"}, 0.0),
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "soon"}, None),
    ({"retry-after": ""}, None),
    ({}, None),
])  # fmt: skip
def test_retry_after_is_read_in_all_its_forms(headers, wait_s):
    assert parse_retry_after(headers) == wait_s


@pytest.mark.parametrize(("ahead_s", "least", "most"), [(90, 80, 90), (-90, 0, 0)])
def test_retry_after_may_be_a_date(ahead_s, least, most):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead_s), usegmt=True)
    assert least <= parse_retry_after({"retry-after": date}) <= most


@given(st.text())
def test_whatever_stands_in_retry_after_is_no_error(value):
    wait_s = parse_retry_after({"retry-after": value})
    assert wait_s is None or wait_s >= 0


@given(st.text(max_size=2_000))
def test_foreign_words_become_one_short_printable_line(text):
    said = shorten_line(text)
    assert said == "" or said.isprintable()
    assert len(said) <= MOST_SAID


@given(st.integers(400, 599), st.text(max_size=300))
def test_every_status_is_some_trouble_with_a_sentence(status, said):
    error = build_status_error(status, shorten_line(said), {}, "the service", "set KEY")
    assert "the service" in str(error)


def test_words_of_the_question_are_not_repeated_also_when_folded_or_cut():
    asked = question()
    assert sanitize_error(f"input: {asked.material}", asked, "") == ""
    assert sanitize_error(asked.material.replace("\n", "\n   "), asked, "") == ""
    assert sanitize_error("x" * 180 + asked.material, asked, "") == ""
    assert sanitize_error("the loom", asked, "") == "the loom"
