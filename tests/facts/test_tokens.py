"""Tokens and what they cost; a model without a price is unpriced, never free."""

import pytest

from assay.facts.tokens import TokenCounts, fact, find_listed_price, load_prices
from assay.types import Spend, Turn, Usage
from tests.tables import each_row

DAY = "2026-03-02T09:00:00Z"
MILLION = Usage(input=1_000_000)
OPUS = "claude-opus-4-5-20251101"


def spent(*spends: tuple[str, Usage], at: str = DAY) -> list[Turn]:
    return [
        Turn(spends=tuple(Spend(at=at, key=n, model=model, usage=usage) for n, (model, usage) in enumerate(spends)))
    ]


@each_row(
    ("usage", "cost"),
    [
        (Usage(input=1_000_000), 5.0),
        (Usage(output=1_000_000), 25.0),
        (Usage(cache_read=1_000_000), 0.5),
        (Usage(cache_write=1_000_000), 6.25),
        (Usage(cache_write=1_000_000, cache_write_1h=1_000_000), 10.0),
        (Usage(cache_write=1_000_000, cache_write_1h=400_000), 0.6 * 6.25 + 0.4 * 10.0),
        (Usage(cache_write=1_000_000, cache_write_1h=9_000_000), 10.0),
        (Usage(), 0.0),
    ],
)
def test_every_sort_of_token_has_its_price(usage: Usage, cost: float) -> None:
    assert fact(spent((OPUS, usage))).cost_usd == pytest.approx(cost)


@each_row(
    ("spends", "cost", "unpriced"),
    [
        ([], 0.0, []),
        ([(OPUS, MILLION)], 5.0, []),
        ([(OPUS, MILLION), (OPUS, MILLION)], 10.0, []),
        ([("llama-of-mine", MILLION)], None, ["llama-of-mine"]),
        ([(OPUS, MILLION), ("zeta", MILLION), ("alpha", MILLION)], None, ["alpha", "zeta"]),
        ([("", MILLION)], None, [""]),
        ([("llama-of-mine", Usage())], 0.0, []),
        ([(OPUS, MILLION), ("claude-opus-4-9", MILLION)], None, ["claude-opus-4-9"]),
    ],
)
def test_one_unpriced_model_makes_the_cost_unknown(
    spends: list[tuple[str, Usage]], cost: float | None, unpriced: list[str]
) -> None:
    found = fact(spent(*spends))
    assert (found.cost_usd, found.unpriced_models) == (cost, unpriced)


@each_row(
    ("model", "listed"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("anthropic/claude-opus-4-5", "claude-opus-4-5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("Claude-Opus-4-5", "claude-opus-4-5"),
        ("claude-opus-4-9", None),
        ("claude-opus-4-50", None),
        ("claude-opus-4-5-mini", None),
        ("claude-opus", None),
        ("", None),
        ("<synthetic>", None),
    ],
)
def test_the_longest_name_that_fits_tells_the_price(model: str, listed: str | None) -> None:
    price = find_listed_price(model, "2026-03-02")
    assert (price.model if price else None) == listed


def test_tokens_before_the_first_listed_day_are_unpriced() -> None:
    assert fact(spent((OPUS, MILLION), at="2001-01-01T00:00:00Z")).cost_usd is None


def test_tokens_without_a_time_are_unpriced() -> None:
    assert fact(spent((OPUS, MILLION), at="")).unpriced_models == [OPUS]


def test_tokens_are_summed_by_model() -> None:
    one = Usage(input=1, output=2, cache_read=3, cache_write=4, cache_write_1h=1)
    found = fact([*spent(("b", one), ("a", one)), *spent(("b", one))])
    assert found.tokens == TokenCounts(input=3, output=6, cache_read=9, cache_write=12)
    assert list(found.tokens_by_model.items()) == [
        ("a", TokenCounts(input=1, output=2, cache_read=3, cache_write=4)),
        ("b", TokenCounts(input=2, output=4, cache_read=6, cache_write=8)),
    ]


def test_no_price_is_listed_twice_for_a_day_and_none_is_below_nothing() -> None:
    named = [(price.model, price.since) for price in load_prices()]
    assert len(named) == len(set(named))
    assert all(min(p.input, p.output, p.cache_read, p.cache_write, p.cache_write_1h) >= 0 for p in load_prices())
