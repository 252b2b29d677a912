"""What asking costs: told before, never above the limit, and added up after."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import Model as Settings
from assay.errors import BadInput
from assay.facts.tokens import Price, compute_cost
from assay.llm import ModelCall, Question
from assay.pipeline.cost import (
    REPLY_TOKENS,
    CostLimit,
    ModelSpending,
    estimate_cost,
    estimate_usage,
    find_price,
    measure_question,
)
from assay.types import CleanText, Usage
from tests.llm.questions import question, several

HAIKU = "claude-haiku-4-5"
PRICE = Price(model="m", since="", input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, cache_write_1h=2.0)


class Service:
    backend, model, where, room = "anthropic", HAIKU, "https://loom.example", 1

    def __init__(self, caches_from: int | None = None, **more: Any) -> None:
        self.caches_from = caches_from
        vars(self).update(more)


def call(usage: Usage, **more) -> ModelCall:
    return ModelCall(at="", model="m", usage=usage, seconds=0.1, outcome="ok", **more)


def long(job: str = "outcome", about: str = "reed") -> Question:
    return question(job=job, material=CleanText(f"{about} " * 9_000))


# --- prices -------------------------------------------------------------------------------------


def test_a_known_model_has_its_price_and_an_unknown_one_has_none():
    assert find_price(HAIKU, Settings()).output == 5.0
    assert find_price("loom-7b", Settings()) is None


@pytest.mark.parametrize("half", [{"input_usd": 2.0}, {"output_usd": 2.0}])
def test_half_a_price_in_the_settings_is_none(half):
    assert find_price("loom-7b", Settings(**half)) is None


def test_a_price_in_the_settings_wins_and_promises_no_cheaper_cache():
    found = find_price(HAIKU, Settings(input_usd=3.0, output_usd=4.0))
    assert compute_cost(Usage(input=1_000_000, output=1_000_000, cache_read=1_000_000), found) == pytest.approx(10.0)


# --- before -------------------------------------------------------------------------------------


def test_what_is_answered_costs_nothing_and_is_counted_apart():
    sizes = [measure_question(one) for one in several(4)]
    found = estimate_cost(sizes, Service(), {sizes[0].key, sizes[1].key}, PRICE, 1.0)
    rest = estimate_cost(sizes[2:], Service(), set(), PRICE, 1.0)
    assert (found.questions, found.cached) == (2, 2)
    assert (found.input, found.output, found.cost_usd) == (rest.input, rest.output, rest.cost_usd)


def test_the_later_questions_of_a_session_read_its_prefix_from_the_cache():
    sizes = [measure_question(long(job)) for job in ("session", "session", "session")]
    plain = estimate_cost(sizes, Service(None), set(), PRICE, 1.0)
    warm = estimate_cost(sizes, Service(4096), set(), PRICE, 1.0)
    assert plain.input == warm.input
    prefix, tasks = sizes[0].prefix, sum(one.task for one in sizes)
    output = sum(REPLY_TOKENS[one.job] for one in sizes)
    wanted = (prefix * 1.25 + 2 * prefix * 0.1 + tasks + output * 5) / 1_000_000
    assert warm.cost_usd == pytest.approx(wanted)
    assert warm.cost_usd < 0.6 * plain.cost_usd


def test_a_prefix_that_is_too_short_or_of_another_session_is_not_shared():
    short, other = measure_question(question()), measure_question(long(about="warp"))
    assert estimate_usage(short, 4096, is_warm=True).cache_read == 0
    found = estimate_cost([measure_question(long()), other], Service(4096), set(), PRICE, 1.0)
    alone = [
        estimate_cost([one], Service(4096), set(), PRICE, 1.0).cost_usd for one in (measure_question(long()), other)
    ]
    assert found.cost_usd == pytest.approx(sum(alone))


def test_the_questions_of_a_batch_share_no_prefix():
    sizes = [measure_question(long(job)) for job in ("session", "session")]
    plain, batch = (estimate_cost(sizes, Service(cached), set(), PRICE, 0.5).cost_usd for cached in (None, 4096))
    assert batch == plain


def test_a_batch_is_estimated_at_its_share_and_an_unpriced_model_at_nothing_known():
    sizes = [measure_question(one) for one in several(2)]
    whole, half, unknown = (
        estimate_cost(sizes, Service(), set(), cost, share).cost_usd
        for cost, share in ((PRICE, 1.0), (PRICE, 0.5), (None, 1))
    )
    assert half == pytest.approx(whole / 2)
    assert unknown is None


# --- the limit ----------------------------------------------------------------------------------


@given(
    limit=st.floats(0, 0.01),
    steps=st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.floats(0, 1)), max_size=60),
    share=st.sampled_from([0.5, 1.0]),
)
def test_however_calls_come_and_go_the_limit_is_kept(limit, steps, share):
    """Any number at once, each of any cost up to its dearest."""
    purse, running = CostLimit(limit, PRICE, share, Service()), {}
    asked = several(7)
    for which, ends, part in steps:
        one = asked[which]
        if which in running and ends:
            used = int(running.pop(which) * part)
            purse.record(one, call(Usage(output=used), share=share))
        elif which not in running and purse.reserve(one):
            running[which] = purse.dearest(one, PRICE) / share / PRICE.output * 1_000_000
    assert purse.spent_usd + sum(purse.reserved.values()) <= limit + 1e-12


def test_a_call_at_its_dearest_is_no_more_than_was_set_aside():
    one = long()
    purse = CostLimit(1.0, PRICE, 1.0, Service())
    whole = measure_question(one).prefix + measure_question(one).task
    dearest = Usage(cache_write=whole, output=one.most_output)
    assert compute_cost(dearest, PRICE) <= purse.dearest(one, PRICE) + 1e-12


def test_what_was_set_aside_is_free_again_when_a_call_cost_less():
    one, other, third = several(3)
    most = CostLimit(None, PRICE, 1.0, Service()).dearest(one, PRICE)
    purse = CostLimit(most * 1.5, PRICE, 1.0, Service())
    assert purse.reserve(one)
    assert not purse.reserve(other)
    purse.record(one, call(Usage(input=10)))
    assert purse.reserve(other)
    purse.record(other, call(Usage(), cost_usd=most))
    assert not purse.reserve(third)


def test_what_is_put_again_is_in_no_batch_and_set_aside_at_full_price():
    purse = CostLimit(1.0, PRICE, 0.5, Service())
    first, again = question(), question(guidance=CleanText("`a` is missing"))
    assert purse.dearest(again, PRICE) == pytest.approx(2 * purse.dearest(first, PRICE))


def test_what_a_model_may_think_is_set_aside_too():
    plain, thinking = (CostLimit(1.0, PRICE, 1.0, Service(room=room)).dearest(question(), PRICE) for room in (1, 4))
    assert thinking - plain == pytest.approx(3 * question().most_output * PRICE.output / 1_000_000)


def test_what_a_program_asks_again_by_itself_is_set_aside_too():
    one = question()
    once, twice = (
        CostLimit(1.0, PRICE, 1.0, Service(**more)).dearest(one, PRICE)
        for more in ({}, {"requests": 2, "overhead": 100})
    )
    more = 2 * (100 + one.most_output) * PRICE.cache_write / 1_000_000
    assert twice == pytest.approx(2 * once + more)


def test_nothing_may_be_asked_for_nothing():
    assert not CostLimit(0.0, PRICE, 1.0, Service()).reserve(question())
    assert CostLimit(None, None, 1.0, Service()).reserve(question())


def test_a_limit_on_a_model_without_a_price_is_refused_with_what_to_do():
    with pytest.raises(BadInput, match=r"price of loom-7b.*model\.input_usd and model\.output_usd.*--max-cost"):
        CostLimit(1.0, None, 1.0, Service(model="loom-7b"))


def test_a_call_costs_what_the_service_says_else_what_the_list_says():
    purse, used = CostLimit(None, PRICE, 0.5, Service()), Usage(input=1_000, output=100)
    assert purse.cost_of(call(used, cost_usd=7.0)) == 7.0
    assert purse.cost_of(call(used)) == pytest.approx(0.0015)
    assert purse.cost_of(call(used, share=0.5)) == pytest.approx(0.00075)
    assert CostLimit(None, None, 1.0, Service()).cost_of(call(used)) is None


def test_every_run_counts_for_itself():
    ModelSpending().troubles["busy"] += 1
    assert not ModelSpending().troubles
