"""Tokens by model and what they cost by a dated price list; an unknown model is unpriced, never free."""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from assay.resources import load_table
from assay.types import Fact, Turn, Usage

VERSION = 2

MILLION = 1_000_000
EDITION = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest))?(?:-v\d+(?::\d+)?)?(?:\[1m\])?")


class TokenCounts(Struct, frozen=True, kw_only=True):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class TokensSpent(Fact, frozen=True):
    tokens: TokenCounts | None
    """`None` where the agent said or did something, and its transcript tells of no tokens at all."""
    tokens_by_model: dict[str, TokenCounts]
    cost_usd: float | None
    """`None` where a model that spent tokens has no known price, or where none are told of."""
    unpriced_models: list[str]


class Price(Struct, frozen=True, kw_only=True):
    """USD per million tokens of the models whose name begins with `model`, from a day on."""

    model: str
    since: str
    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float


class PriceList(Struct, frozen=True, kw_only=True):
    prices: list[Price]


def fact(turns: Sequence[Turn]) -> TokensSpent:
    by_model: dict[str, list[int]] = {}
    unpriced: set[str] = set()
    cost = 0.0
    for turn in turns:
        for spend in turn.spends:
            usage, model = spend.usage, spend.model
            sums = by_model.get(model) or by_model.setdefault(model, [0, 0, 0, 0])
            sums[0] += usage.input
            sums[1] += usage.output
            sums[2] += usage.cache_read
            sums[3] += usage.cache_write
            price = find_listed_price(model, spend.at[:10])
            if price is not None:
                cost += compute_cost(usage, price)
            elif usage != Usage():
                unpriced.add(model)
    is_untold = not by_model and any(turn.replies or turn.calls for turn in turns)
    total = build_tokens(*map(sum, zip(*by_model.values(), strict=True))) if by_model else TokenCounts()
    return TokensSpent(
        tokens=None if is_untold else total,
        tokens_by_model={model: build_tokens(*by_model[model]) for model in sorted(by_model)},
        cost_usd=None if unpriced or is_untold else round(cost, 6),
        unpriced_models=sorted(unpriced),
    )


def build_tokens(input: int, output: int, cache_read: int, cache_write: int) -> TokenCounts:
    return TokenCounts(input=input, output=output, cache_read=cache_read, cache_write=cache_write)


def compute_cost(usage: Usage, price: Price) -> float:
    """USD for one response."""
    hour = min(usage.cache_write_1h, usage.cache_write)
    return (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_read * price.cache_read
        + (usage.cache_write - hour) * price.cache_write
        + hour * price.cache_write_1h
    ) / MILLION


@cache
def load_prices() -> tuple[Price, ...]:
    """The list, longest names and latest days first."""
    listed = load_table("assay.facts", "prices.toml", PriceList).prices
    return tuple(sorted(listed, key=lambda price: (len(price.model), price.since), reverse=True))


@cache
def find_listed_price(model: str, day: str) -> Price | None:
    """The price that held on a day, by the longest name that fits."""
    name = model.rsplit("/", 1)[-1].removeprefix("anthropic.").removeprefix("us.anthropic.").lower()
    fitting = [price for price in load_prices() if is_edition_of(name, price.model)]
    longest = [price for price in fitting if price.model == fitting[0].model]
    return next((price for price in longest if price.since <= day), None)


def is_edition_of(name: str, listed: str) -> bool:
    """Whether a model is the listed one, perhaps with a date behind its name; an unknown edition is not."""
    return name.startswith(listed) and EDITION.fullmatch(name, len(listed)) is not None
