"""JSON edited as text: a key is set, an item added or taken out, and every other byte stays as its owner wrote it."""

import json
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

SPACE = re.compile(r"[ \t\r\n]*")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
PLAIN = re.compile(r"[^\s,\]}]+")
Path = Sequence[str]


class JsonNode(Struct):
    """A value and where it stands; `parts` are an object's members or a list's items."""

    start: int
    end: int
    keys: list[str] = []
    starts: list[int] = []
    """Where each part begins: its key, or the item itself."""
    parts: list["JsonNode"] = []

    def find(self, key: str) -> int | None:
        """Which of the members has this key; of several the last, which is the one that counts."""
        return next((n for n in reversed(range(len(self.keys))) if self.keys[n] == key), None)


def parse_text(text: str) -> JsonNode:
    """The places of all values in a text that is an object; raises `ValueError` for any other."""
    if not isinstance(json.loads(text), dict):
        raise ValueError("is no object")
    return parse_value(text, skip_space(text, 0))


def skip_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def parse_value(text: str, at: int) -> JsonNode:
    if text[at] not in "{[":
        found = (STRING if text[at] == '"' else PLAIN).match(text, at)
        return JsonNode(at, found.end() if found else at)
    node, is_object = JsonNode(at, at), text[at] == "{"
    at = skip_space(text, at + 1)
    while text[at] not in "}]":
        node.starts.append(at)
        if is_object:
            key = parse_value(text, at)
            node.keys.append(json.loads(text[at : key.end]))
            at = skip_space(text, skip_space(text, key.end) + 1)
        node.parts.append(parse_value(text, at))
        at = skip_space(text, node.parts[-1].end)
        if text[at] == ",":
            at = skip_space(text, at + 1)
    node.end = at + 1
    return node


def find_node(text: str, path: Path) -> JsonNode | None:
    """The value at a path; `None` where there is none."""
    node = parse_text(text)
    for key in path:
        n = node.find(key) if text[node.start] == "{" else None
        if n is None:
            return None
        node = node.parts[n]
    return node


def read_value(text: str, path: Path) -> Any:
    """What stands at a path; `None` where nothing does."""
    node = find_node(text, path)
    return json.loads(text[node.start : node.end]) if node else None


def set_value(text: str, path: Path, value: Any) -> str:
    """Set what stands at a path; objects on the way to it are made. Raises `ValueError` where something else stands."""
    *way, last = path
    for depth in range(len(way), -1, -1):
        parent = find_node(text, way[:depth])
        if parent is None:
            continue
        if text[parent.start] != "{":
            raise ValueError(f"{'.'.join(way[:depth])} is no object")
        for key in reversed(path[depth + 1 :]):
            value = {key: value}
        name = path[depth]
        n = parent.find(name)
        if n is not None:
            old = parent.parts[n]
            return text[: old.start] + format_value(text, value, find_indent(text, parent.starts[n])) + text[old.end :]
        return insert_part(text, parent, value, f"{json.dumps(name, ensure_ascii=False)}: ")
    raise ValueError(f"{last} can't be set")


def add_item(text: str, path: Path, value: Any) -> str:
    """Add an item to the list at a path, which is made where there is none."""
    node = find_node(text, path)
    if node is None:
        return set_value(text, path, [value])
    if text[node.start] != "[":
        raise ValueError(f"{'.'.join(path)} is no list")
    return insert_part(text, node, value)


def remove_value(text: str, path: Path) -> str:
    """Take out what stands at a path; nothing happens where nothing does."""
    parent = find_node(text, path[:-1])
    n = parent.find(path[-1]) if parent and text[parent.start] == "{" else None
    return text if parent is None or n is None else cut_part(text, parent, n)


def remove_item(text: str, path: Path, value: Any) -> str:
    """Take out every item of a list that equals a value."""
    node = find_node(text, path)
    for n in reversed(range(len(node.parts))) if node and text[node.start] == "[" else ():
        node = find_node(text, path) or JsonNode(0, 0)
        if json.loads(text[node.parts[n].start : node.parts[n].end]) == value:
            text = cut_part(text, node, n)
    return text


def insert_part(text: str, node: JsonNode, value: Any, name: str = "") -> str:
    """Add a part behind the last one, set apart like the others."""
    if node.parts:
        gap = text[node.start + 1 : node.starts[0]]
        indent = find_indent(text, node.starts[0]) if "\n" in gap else None
        told = name + format_value(text, value, indent)
        between = "," + (gap or (" " if ", " in text or ": " in text else ""))
        return text[: node.parts[-1].end] + between + told + text[node.parts[-1].end :]
    unit, outer, line = find_unit(text), find_indent(text, node.start), find_newline(text)
    opens, closes = text[node.start], text[node.end - 1]
    told = name + format_value(text, value, outer + unit)
    return text[: node.start] + f"{opens}{line}{outer}{unit}{told}{line}{outer}{closes}" + text[node.end :]


def cut_part(text: str, node: JsonNode, n: int) -> str:
    """Take out one part with what set it apart."""
    if len(node.parts) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if n == len(node.parts) - 1:
        return text[: node.parts[n - 1].end] + text[node.parts[n].end :]
    return text[: node.starts[n]] + text[node.starts[n + 1] :]


def format_value(text: str, value: Any, indent: str | None) -> str:
    """A value as text: on several lines where it stands on a line of its own."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    told = json.dumps(value, ensure_ascii=False, indent=find_unit(text))
    return told.replace("\n", find_newline(text) + indent)


def find_indent(text: str, at: int) -> str:
    """The white space that begins the line of a place."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : min(at, skip_space(text, line))].strip("\r\n")


def find_unit(text: str) -> str:
    """By how much a text is indented: as its first indented line is."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
