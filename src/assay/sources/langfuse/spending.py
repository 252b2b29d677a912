"""Tokens, under the names that the several ways into Langfuse give them."""

from collections.abc import Mapping
from typing import Any

from assay.sources.langfuse.records import number
from assay.types import Usage

INPUT = ("input", "input_tokens", "prompt_tokens")
OUTPUT = ("output", "output_tokens", "completion_tokens")
READ = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "cache_read_tokens")
WRITE = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write", "cache_creation_tokens")
WRITE_5M, WRITE_1H = "input_cache_creation_5m", "input_cache_creation_1h"
NOTHING = Usage()


def usage_of(given: Mapping[str, Any]) -> Usage:
    """What a response spent; where the input holds the cached tokens too (the total tells), they are taken out."""
    asked, output, read, write = (first(given, names) for names in (INPUT, OUTPUT, READ, WRITE))
    hour = number(given.get(WRITE_1H))
    write += number(given.get(WRITE_5M)) + hour
    total = number(given.get("total")) or number(given.get("total_tokens"))
    if total and total == asked + output and asked >= read + write:
        asked -= read + write
    return Usage(input=asked, output=output, cache_read=read, cache_write=write, cache_write_1h=hour)


def first(given: Mapping[str, Any], names: tuple[str, ...]) -> int:
    """The first of these counts that is given."""
    return next((number(given[name]) for name in names if name in given), 0)
