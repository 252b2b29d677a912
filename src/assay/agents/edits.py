"""What is to be done to a settings file, and what remains of it when that is undone."""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from assay.agents.json_text import add_item, find_node, parse_text, read_value, remove_item, remove_value, set_value
from assay.errors import BadInput

EMPTY = "{\n}\n"
"""What a settings file is made of that was not there."""


class SettingEdit(Struct, frozen=True, kw_only=True):
    """One key that is set, or one item that is added to a list; `was` is what stood there before."""

    path: tuple[str, ...]
    value: Any
    is_item: bool = False
    was: Any = None

    def describe(self) -> str:
        return ".".join(self.path)


def check_settings(name: str, text: str) -> None:
    """Refuse a settings file that is no JSON object: nothing of it is touched then."""
    try:
        parse_text(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{name}: can't be read as JSON ({error}); nothing was changed. Mend it, or move it away, and try again"
        ) from None


def apply_edits(name: str, text: str, edits: Sequence[SettingEdit]) -> tuple[str, list[SettingEdit]]:
    """A text with all edits made, and the edits with what stood there before; those that hold already are left out."""
    made = []
    for edit in edits:
        was = read_value(text, edit.path)
        if edit.value in was if edit.is_item and isinstance(was, list) else was == edit.value:
            continue
        try:
            text = (add_item if edit.is_item else set_value)(text, edit.path, edit.value)
        except ValueError as error:
            raise BadInput(f"{name}: {error}; nothing was changed") from None
        made.append(
            SettingEdit(path=edit.path, value=edit.value, is_item=edit.is_item, was=None if edit.is_item else was)
        )
    return text, made


def undo_edits(text: str, before: str | None, edits: Sequence[SettingEdit]) -> tuple[str, list[str]]:
    """A text without what the edits put there, and the keys that somebody has set otherwise since: they stay."""
    others = []
    for edit in reversed(edits):
        now = read_value(text, edit.path)
        if edit.is_item:
            text = remove_item(text, edit.path, edit.value)
        elif now == edit.value:
            text = remove_value(text, edit.path) if edit.was is None else set_value(text, edit.path, edit.was)
        elif now is not None:
            others.append(edit.describe())
        text = drop_empty(text, before, edit.path)
    return text, others


def drop_empty(text: str, before: str | None, path: tuple[str, ...]) -> str:
    """Take out objects and lists on the way that are empty now and were not there before."""
    for depth in range(len(path), 0, -1):
        way = path[:depth]
        was_there = before is not None and find_node(before, way) is not None
        if read_value(text, way) in ({}, []) and not was_there:
            text = remove_value(text, way)
    return text


def say_the_same(one: str, other: str) -> bool:
    """Whether two texts hold the same, however they are written."""
    found: bool = json.loads(one) == json.loads(other)
    return found
