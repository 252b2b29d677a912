"""What an expression of a script is, as far as its text tells."""

import re
from typing import Any, NamedTuple

from tree_sitter import Node

DEPTH = 120
LONGEST = 1_000_000
"""Doubling a string in a loop must not fill the memory."""

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_NAME = re.compile(r"[A-Za-z_]\w*")
_INTEGER = re.compile(r"\d{1,15}")


class Closure(NamedTuple):
    """A function of the script's own."""

    at: int
    body: Node
    parameters: list[Node]


Scope = dict[str, Any]


def value_of(node: Node | None, scope: Scope, depth: int = 0) -> Any:
    """Text, number, list or dict that the expression is known to give, else `None`."""
    if node is None or depth > DEPTH:
        return None
    read = _READERS.get(node.type)
    return read(node, scope, depth + 1) if read is not None else None


def bind(pattern: Node, value: Any, scope: Scope) -> None:
    """Give names to a value: `a`, `[a, b]` or `{a, b: c}`."""
    kind = pattern.type
    if kind in ("identifier", "shorthand_property_identifier_pattern"):
        scope[_source(pattern)] = value
    elif kind == "array_pattern":
        for at, part in enumerate(pattern.named_children):
            bind(part, value[at] if isinstance(value, list) and at < len(value) else None, scope)
    elif kind == "object_pattern":
        for part in pattern.named_children:
            name = part.child_by_field_name("key") or part
            inner = part.child_by_field_name("value") or part
            bind(inner, value.get(_source(name)) if isinstance(value, dict) else None, scope)
    elif kind in ("lexical_declaration", "variable_declarator"):
        for part in pattern.named_children[:1]:
            bind(part, value, scope)


def _string(node: Node, _scope: Scope, _depth: int) -> str:
    return "".join(
        _unescaped(_source(part)) if part.type == "escape_sequence" else _source(part) for part in node.named_children
    )


def _template(node: Node, scope: Scope, depth: int) -> str:
    parts: list[str] = []
    for part in node.named_children:
        if part.type == "escape_sequence":
            parts.append(_unescaped(_source(part)))
        elif part.type == "template_substitution":
            inner = value_of(part.named_children[0], scope, depth) if part.named_children else None
            parts.append(_as_text(inner, part))
        else:
            parts.append(_source(part))
    return "".join(parts)[:LONGEST]


def _sum(node: Node, scope: Scope, depth: int) -> Any:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if left is None or right is None or sign is None:
        return None
    one = value_of(left, scope, depth)
    if _source(sign) in ("??", "||"):
        return one if one is not None else value_of(right, scope, depth)
    if _source(sign) != "+":
        return None
    other = value_of(right, scope, depth)
    if not isinstance(one, str) and not isinstance(other, str):
        return one + other if isinstance(one, int) and isinstance(other, int) else None
    return (_as_text(one, left) + _as_text(other, right))[:LONGEST]


def _object(node: Node, scope: Scope, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in node.named_children:
        if part.type == "pair":
            name, value = part.child_by_field_name("key"), part.child_by_field_name("value")
            if name is not None:
                found[_name(name, scope)] = value_of(value, scope, depth)
        elif part.type == "shorthand_property_identifier":
            found[_source(part)] = scope.get(_source(part))
        elif part.type == "spread_element" and part.named_children:
            spread = value_of(part.named_children[0], scope, depth)
            found.update(spread if isinstance(spread, dict) else {})
    return found


def _array(node: Node, scope: Scope, depth: int) -> list[Any]:
    found: list[Any] = []
    for part in node.named_children:
        if part.type == "spread_element" and part.named_children:
            spread = value_of(part.named_children[0], scope, depth)
            found += spread if isinstance(spread, list) else [None]
        elif part.type != "comment":
            found.append(value_of(part, scope, depth))
    return found[:10_000]


def _member(node: Node, scope: Scope, depth: int) -> Any:
    owner = value_of(node.child_by_field_name("object"), scope, depth)
    name = node.child_by_field_name("property")
    index = node.child_by_field_name("index")
    if isinstance(owner, dict):
        return owner.get(_source(name) if name is not None else value_of(index, scope, depth))
    at = value_of(index, scope, depth)
    return owner[at] if isinstance(owner, list) and isinstance(at, int) and at < len(owner) else None


def _call(node: Node, scope: Scope, depth: int) -> Any:
    """``String.raw`…` ``, `[…].join(…)` and `text.trim()`; other calls are unknown."""
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or given is None:
        return None
    if given.type == "template_string":
        return _source(given)[1:-1] if _source(function) == "String.raw" else None
    name = function.child_by_field_name("property")
    owner = value_of(function.child_by_field_name("object"), scope, depth)
    if name is None or owner is None:
        return None
    if isinstance(owner, str):
        return owner.strip() if _source(name) == "trim" else None
    if isinstance(owner, list) and _source(name) == "join" and all(isinstance(one, (str, int)) for one in owner):
        between = value_of(given.named_children[0], scope, depth) if given.named_children else ","
        return str(between).join(map(str, owner))[:LONGEST] if isinstance(between, str) else None
    return None


def _inner(node: Node, scope: Scope, depth: int) -> Any:
    return value_of(node.named_children[0], scope, depth) if node.named_children else None


def _identifier(node: Node, scope: Scope, _depth: int) -> Any:
    return scope.get(_source(node))


def _number(node: Node, _scope: Scope, _depth: int) -> Any:
    return int(_source(node)) if _INTEGER.fullmatch(_source(node)) else None


_READERS: dict[str, Any] = {
    "string": _string,
    "template_string": _template,
    "binary_expression": _sum,
    "object": _object,
    "array": _array,
    "identifier": _identifier,
    "number": _number,
    "member_expression": _member,
    "subscript_expression": _member,
    "call_expression": _call,
    "parenthesized_expression": _inner,
    "await_expression": _inner,
}


def _name(node: Node, scope: Scope) -> str:
    return _string(node, scope, 0) if node.type == "string" else _source(node)


def _as_text(value: Any, node: Node) -> str:
    """Text of a value; an unknown one becomes the expansion of a name in it, which a shell's grammar takes."""
    if isinstance(value, (str, int)):
        return str(value)
    name = _NAME.search(_source(node))
    return f"${{{name[0] if name else 'unknown'}}}"


def _unescaped(escape: str) -> str:
    letter = escape[1:2]
    if letter in ("x", "u"):
        digits = escape[2:].strip("{}")
        try:
            code = int(digits, 16)
        except ValueError:
            return escape
        # A half of a surrogate pair cannot be stored as UTF-8.
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\N{REPLACEMENT CHARACTER}"
    return _ESCAPES.get(letter, letter)


def _source(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
