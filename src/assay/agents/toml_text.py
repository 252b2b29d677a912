"""TOML edited with its comments and layout kept (tomlkit); the same functions as `edits` has for JSON."""

from collections.abc import MutableMapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from assay.agents.edits import SettingEdit
from assay.errors import BadInput

EMPTY = ""
Table = MutableMapping[str, Any]


def check_settings(name: str, text: str) -> None:
    """Refuse a settings file that is no TOML: nothing of it is touched then."""
    try:
        tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise BadInput(f"{name}: can't be read as TOML ({error}); nothing was changed. Mend it and try again") from None


def apply_edits(name: str, text: str, edits: Sequence[SettingEdit]) -> tuple[str, list[SettingEdit]]:
    """A text with all edits made, and the edits with what stood there before; those that hold already are left out."""
    document: Table = tomlkit.parse(text)
    made = []
    for edit in edits:
        was = read_value(document, edit.path)
        if was == edit.value:
            continue
        table = document
        for key in edit.path[:-1]:
            table = table.setdefault(key, tomlkit.table())
            if not isinstance(table, MutableMapping):
                raise BadInput(f"{name}: {key} is no table; nothing was changed")
        table[edit.path[-1]] = to_item(edit.value)
        made.append(SettingEdit(path=edit.path, value=edit.value, was=was))
    return tomlkit.dumps(document), made


def undo_edits(text: str, before: str | None, edits: Sequence[SettingEdit]) -> tuple[str, list[str]]:
    """A text without what the edits put there, and the keys that somebody has set otherwise since: they stay."""
    document: Table = tomlkit.parse(text)
    earlier: Table = tomlkit.parse(before or EMPTY)
    others = []
    for edit in reversed(edits):
        now = read_value(document, edit.path)
        if now != edit.value:
            others += [edit.describe()] if now is not None else []
            continue
        table = find_table(document, edit.path[:-1])
        if edit.was is None:
            del table[edit.path[-1]]
        else:
            table[edit.path[-1]] = to_item(edit.was)
        if len(edit.path) > 1 and not table and edit.path[0] not in earlier:
            del document[edit.path[0]]
    return tomlkit.dumps(document), others


def say_the_same(one: str, other: str) -> bool:
    """Whether two texts hold the same, however they are written."""
    found: bool = tomlkit.parse(one).unwrap() == tomlkit.parse(other).unwrap()
    return found


def find_table(document: Table, path: Sequence[str]) -> Table:
    for key in path:
        document = document[key]
    return document


def read_value(document: Table, path: Sequence[str]) -> Any:
    """What stands at a path, as plain values; `None` where nothing does."""
    found: Any = document
    for key in path:
        if not isinstance(found, MutableMapping) or key not in found:
            return None
        found = found[key]
    return found.unwrap() if hasattr(found, "unwrap") else found


def to_item(value: Any) -> Any:
    """A value as it stands behind a key: tables within a line."""
    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    for key, inner in value.items():
        table[key] = to_item(inner)
    return table
