"""Score configs: what a score may be. Found by name and type, created once, never changed.

Langfuse keeps as many configs of one name as are created, so the oldest active match is everybody's; one of ours
that another process was faster with is archived again.
"""

import re
from collections.abc import Iterator, Sequence
from math import isclose
from typing import Literal

from msgspec import Struct

from assay.errors import BadInput
from assay.http import GarbledAnswer, decode_answer
from assay.langfuse.client import GENERAL, Client
from assay.types import Document, Value

PATH = "/api/public/score-configs"
DataType = Literal["NUMERIC", "CATEGORICAL", "BOOLEAN"]
NAME = re.compile(r"[\w .()-]{1,35}")
PAGE = 100
MOST_PAGES = 1000


class WantedConfig(Value, frozen=True):
    """A score config as it shall be."""

    name: str
    data_type: DataType
    min_value: float | None = None
    max_value: float | None = None
    categories: tuple[str, ...] = ()
    """Labels from the worst, whose value is 0, to the best."""
    description: str = ""


class CategoryAnswer(Struct, frozen=True):
    label: str = ""
    value: float = 0.0


class RemoteConfig(Struct, frozen=True, rename="camel"):
    """A score config as Langfuse has it."""

    id: str
    name: str
    data_type: str
    is_archived: bool = False
    min_value: float | None = None
    max_value: float | None = None
    categories: list[CategoryAnswer] | None = None
    created_at: str = ""


class ConfigPageMeta(Struct, frozen=True, rename="camel"):
    total_pages: int = 1


class ConfigPage(Struct, frozen=True):
    data: list[RemoteConfig]
    meta: ConfigPageMeta = ConfigPageMeta()


class ConfigMismatch(Value, frozen=True):
    """A config of that name that is of another kind."""

    name: str
    id: str
    why: str


class SetupReport(Document, frozen=True, kw_only=True, tag="langfuse_setup"):
    """Which configs there are now."""

    ids: dict[str, str]
    """Config ids by name: all that can be written to."""
    created: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    mismatched: tuple[ConfigMismatch, ...] = ()
    """Left as they are; nothing of that name is created."""
    missing: tuple[str, ...] = ()
    """Would be created, were this no dry run."""


def ensure_configs(client: Client, wanted: Sequence[WantedConfig], *, dry_run: bool = False) -> SetupReport:
    """Ensure that every config is there."""
    for one in wanted:
        check_config(one)
    known = list(list_configs(client))
    ids: dict[str, str] = {}
    created, missing, mismatched = [], [], []
    for one in wanted:
        if match := find_match(known, one):
            ids[one.name] = match.id
        elif other := find_namesake(known, one):
            why = f"it is {describe_remote(other)}, wanted is {describe_wanted(one)}; rename or archive it in Langfuse"
            mismatched.append(ConfigMismatch(name=one.name, id=other.id, why=why))
        elif dry_run:
            missing.append(one.name)
        else:
            ids[one.name] = create_config(client, one)
            created.append(one.name)
    found = tuple(name for name in ids if name not in created)
    return SetupReport(
        ids=ids, created=tuple(created), found=found, mismatched=tuple(mismatched), missing=tuple(missing)
    )


def check_config(one: WantedConfig) -> None:
    """Say what Langfuse would refuse."""
    if not NAME.fullmatch(one.name):
        raise BadInput(f"score config {one.name!r}: give 1 to 35 letters, digits, spaces or any of _ . ( ) -")
    if one.data_type == "CATEGORICAL":
        if len(set(one.categories)) != len(one.categories) or not one.categories:
            raise BadInput(f"score config {one.name!r}: give at least one category, each once")
    elif one.categories:
        raise BadInput(f"score config {one.name!r}: only a CATEGORICAL one has categories")
    low, high = one.min_value, one.max_value
    if one.data_type != "NUMERIC" and (low is not None or high is not None):
        raise BadInput(f"score config {one.name!r}: only a NUMERIC one has a range")
    if low is not None and high is not None and low >= high:
        raise BadInput(f"score config {one.name!r}: its range {low:g} to {high:g} is empty")


def list_configs(client: Client) -> Iterator[RemoteConfig]:
    """All configs of the project, each once, archived ones too."""
    seen: set[str] = set()
    for number in range(1, MOST_PAGES):
        page = decode_answer(client.http.get(PATH, {"page": number, "limit": PAGE}, GENERAL), ConfigPage)
        for one in page.data:
            if one.id not in seen:
                seen.add(one.id)
                yield one
        if number >= page.meta.total_pages:
            return
    raise GarbledAnswer(f"{client.host}{PATH}: says that there are always more pages")


def find_match(known: Sequence[RemoteConfig], wanted: WantedConfig) -> RemoteConfig | None:
    """The oldest active config that is as wanted."""
    same = [one for one in known if one.name == wanted.name and not one.is_archived and is_same(one, wanted)]
    return min(same, key=lambda one: (one.created_at, one.id), default=None)


def find_namesake(known: Sequence[RemoteConfig], wanted: WantedConfig) -> RemoteConfig | None:
    """The oldest active config of that name."""
    same = [one for one in known if one.name == wanted.name and not one.is_archived]
    return min(same, key=lambda one: (one.created_at, one.id), default=None)


def is_same(one: RemoteConfig, wanted: WantedConfig) -> bool:
    """Whether a config allows just the values that are wanted."""
    if one.data_type != wanted.data_type:
        return False
    if wanted.data_type == "CATEGORICAL":
        return list_labels(one) == wanted.categories and all(
            isclose(category.value, n) for n, category in enumerate(sort_categories(one))
        )
    if wanted.data_type == "NUMERIC":
        return is_equal(one.min_value, wanted.min_value) and is_equal(one.max_value, wanted.max_value)
    return True


def is_equal(one: float | None, other: float | None) -> bool:
    return one is None and other is None if one is None or other is None else isclose(one, other)


def sort_categories(one: RemoteConfig) -> list[CategoryAnswer]:
    return sorted(one.categories or [], key=lambda category: category.value)


def list_labels(one: RemoteConfig) -> tuple[str, ...]:
    """Its categories from the lowest value on."""
    return tuple(category.label for category in sort_categories(one))


def describe_remote(one: RemoteConfig) -> str:
    return describe_values(one.data_type, one.min_value, one.max_value, list_labels(one))


def describe_wanted(one: WantedConfig) -> str:
    return describe_values(one.data_type, one.min_value, one.max_value, one.categories)


def describe_values(kind: str, low: float | None, high: float | None, categories: tuple[str, ...]) -> str:
    """A config in a few words."""
    if kind == "CATEGORICAL":
        return f"CATEGORICAL ({', '.join(categories)})"
    if kind == "NUMERIC":
        return f"NUMERIC ({'-∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'})"
    return kind


def create_config(client: Client, wanted: WantedConfig) -> str:
    """Create a config; gives the id of the one that everybody uses."""
    body: dict[str, object] = {"name": wanted.name, "dataType": wanted.data_type}
    if wanted.description:
        body["description"] = wanted.description
    if wanted.min_value is not None:
        body["minValue"] = wanted.min_value
    if wanted.max_value is not None:
        body["maxValue"] = wanted.max_value
    if wanted.categories:
        body["categories"] = [{"label": label, "value": n} for n, label in enumerate(wanted.categories)]
    made = decode_answer(client.http.post(PATH, body, bucket=GENERAL, is_repeatable=False), RemoteConfig)
    winner = find_match(list(list_configs(client)), wanted) or made
    if winner.id != made.id:  # another process created the same one a moment before
        client.http.patch(f"{PATH}/{made.id}", {"isArchived": True}, GENERAL)
    return winner.id
