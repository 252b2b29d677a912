"""Tool calls dug out of the JavaScript of Codex's `exec`.

The script is parsed, not run: literals, their concatenations, names bound to them, loops and `map` over
literal arrays and small functions of the script's own are followed. What stays unknown inside a template
becomes `${name}`, which a shell reads as an expansion too.
"""

import re
from typing import Any, NamedTuple

import tree_sitter_javascript
from msgspec import Struct
from tree_sitter import Language, Node, Parser

MOST_DEPTH = 80
MOST_NODES = 50_000
MOST_CALLS = 64
"""Bounds for hostile scripts; the longest real one has some thousand nodes."""

_PARSER = Parser(Language(tree_sitter_javascript.language()))
_FUNCTIONS = ("arrow_function", "function_expression", "function_declaration", "generator_function")
_EACH = ("map", "forEach", "flatMap", "filter", "some", "every")


DEEPEST_VALUE = 120
LONGEST_TEXT = 1_000_000
"""Doubling a string in a loop must not fill the memory."""

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_NAME = re.compile(r"[A-Za-z_]\w*")
_INTEGER = re.compile(r"\d{1,15}")


class Closure(NamedTuple):
    """A function that the script defines itself."""

    at: int
    body: Node
    parameters: list[Node]


Scope = dict[str, Any]


class ScriptCall(Struct):
    """One `tools.name(argument)` in a script."""

    tool: str
    argument: Any


def find_calls(script: str) -> list[ScriptCall]:
    """Tool calls of a script, in the order of its text."""
    tree = _PARSER.parse(script.encode("utf-8", "replace"))
    walker = _ScriptWalker()
    scope: Scope = {}
    walker.visit_node(tree.root_node, scope, 0)
    for closure in list(walker.uncalled.values()):
        walker.visit_node(closure.body, {**scope}, 0)
    return walker.found


class _ScriptWalker:
    def __init__(self) -> None:
        self.found: list[ScriptCall] = []
        self.uncalled: dict[int, Closure] = {}
        self.nodes = 0

    def visit_node(self, node: Node | None, scope: Scope, depth: int) -> None:
        self.nodes += 1
        if node is None or depth > MOST_DEPTH or self.nodes > MOST_NODES or len(self.found) >= MOST_CALLS:
            return
        kind = node.type
        if kind == "call_expression":
            self.follow_call(node, scope, depth + 1)
        elif kind in ("variable_declarator", "assignment_expression"):
            self.assign_value(node, scope, depth + 1)
        elif kind == "for_in_statement":
            self.follow_loop(node, scope, depth + 1)
        elif kind == "function_declaration":
            self.declare_function(node.child_by_field_name("name"), node, scope)
        elif kind in _FUNCTIONS:
            self.visit_node(node.child_by_field_name("body"), {**scope}, depth + 1)
        elif kind not in ("string", "comment"):
            for child in node.named_children:
                self.visit_node(child, scope, depth + 1)

    def declare_function(self, name: Node | None, function: Node, scope: Scope) -> None:
        body = function.child_by_field_name("body")
        if name is None or body is None:
            return
        closure = Closure(function.start_byte, body, _list_parameters(function))
        bind_names(name, closure, scope)
        self.uncalled[closure.at] = closure

    def assign_value(self, node: Node, scope: Scope, depth: int) -> None:
        is_declared = node.type == "variable_declarator"
        name = node.child_by_field_name("name" if is_declared else "left")
        value = node.child_by_field_name("value" if is_declared else "right")
        if value is not None and value.type in _FUNCTIONS:
            self.declare_function(name, value, scope)
            return
        self.visit_node(value, scope, depth)
        if name is not None:
            bind_names(name, evaluate(value, scope), scope)

    def follow_loop(self, node: Node, scope: Scope, depth: int) -> None:
        name, body = node.child_by_field_name("left"), node.child_by_field_name("body")
        items = node.child_by_field_name("right")
        self.visit_node(items, scope, depth)
        values = evaluate(items, scope)
        for value in values if isinstance(values, list) and values else [None]:
            inner = {**scope}
            if name is not None:
                bind_names(name, value, inner)
            self.visit_node(body, inner, depth)

    def follow_call(self, node: Node, scope: Scope, depth: int) -> None:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        arguments = given.named_children if given is not None and given.type == "arguments" else []
        tool = _find_tool(function)
        if tool:
            self.found.append(ScriptCall(tool, evaluate(arguments[0], scope) if arguments else None))
        elif function is not None and function.type == "identifier":
            closure = scope.get(_read_text(function))
            if isinstance(closure, Closure):
                self.enter_function(closure, [evaluate(one, scope) for one in arguments], scope, depth)
        elif function is not None and function.type == "member_expression":
            self.visit_node(function.child_by_field_name("object"), scope, depth)
            if arguments and self.follow_callback(function, arguments[0], scope, depth):
                arguments = arguments[1:]
        else:
            self.visit_node(function, scope, depth)
        for argument in arguments:
            self.visit_node(argument, scope, depth)

    def follow_callback(self, function: Node, callback: Node, scope: Scope, depth: int) -> bool:
        """Follow `list.map(callback)` where the list is known; whether it could be."""
        name = function.child_by_field_name("property")
        if name is None or _read_text(name) not in _EACH:
            return False
        closure: Any = scope.get(_read_text(callback)) if callback.type == "identifier" else None
        if callback.type in _FUNCTIONS and (body := callback.child_by_field_name("body")) is not None:
            closure = Closure(callback.start_byte, body, _list_parameters(callback))
        values = evaluate(function.child_by_field_name("object"), scope)
        if not isinstance(closure, Closure) or not isinstance(values, list):
            return False
        for at, value in enumerate(values):
            self.enter_function(closure, [value, at], scope, depth)
        return True

    def enter_function(self, closure: Closure, values: list[Any], scope: Scope, depth: int) -> None:
        self.uncalled.pop(closure.at, None)
        inner = {**scope}
        for at, parameter in enumerate(closure.parameters):
            bind_names(parameter, values[at] if at < len(values) else None, inner)
        self.visit_node(closure.body, inner, depth + 1)


def _find_tool(function: Node | None) -> str:
    """The name in `tools.name` or `tools["name"]`."""
    if function is None or function.type not in ("member_expression", "subscript_expression"):
        return ""
    owner = function.child_by_field_name("object")
    if owner is None or _read_text(owner) != "tools":
        return ""
    name = function.child_by_field_name("property") or function.child_by_field_name("index")
    return _read_text(name).strip("\"'`") if name is not None else ""


def _list_parameters(function: Node) -> list[Node]:
    single = function.child_by_field_name("parameter")
    several = function.child_by_field_name("parameters")
    return [single] if single is not None else several.named_children if several is not None else []


def _read_text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


# --- values of expressions --------------------------------------------------------------------


def evaluate(node: Node | None, scope: Scope, depth: int = 0) -> Any:
    """The text, number, list or dict that an expression is known to give, else `None`."""
    if node is None or depth > DEEPEST_VALUE:
        return None
    read = _EVALUATORS.get(node.type)
    return read(node, scope, depth + 1) if read is not None else None


def bind_names(pattern: Node, value: Any, scope: Scope) -> None:
    """Give names to a value: `a`, `[a, b]` or `{a, b: c}`."""
    kind = pattern.type
    if kind in ("identifier", "shorthand_property_identifier_pattern"):
        scope[_read_text(pattern)] = value
    elif kind == "array_pattern":
        for at, part in enumerate(pattern.named_children):
            bind_names(part, value[at] if isinstance(value, list) and at < len(value) else None, scope)
    elif kind == "object_pattern":
        for part in pattern.named_children:
            name = part.child_by_field_name("key") or part
            inner = part.child_by_field_name("value") or part
            bind_names(inner, value.get(_read_text(name)) if isinstance(value, dict) else None, scope)
    elif kind in ("lexical_declaration", "variable_declarator"):
        for part in pattern.named_children[:1]:
            bind_names(part, value, scope)


def _evaluate_string(node: Node, _scope: Scope, _depth: int) -> str:
    return "".join(
        _unescape(_read_text(part)) if part.type == "escape_sequence" else _read_text(part)
        for part in node.named_children
    )


def _evaluate_template(node: Node, scope: Scope, depth: int) -> str:
    parts: list[str] = []
    for part in node.named_children:
        if part.type == "escape_sequence":
            parts.append(_unescape(_read_text(part)))
        elif part.type == "template_substitution":
            inner = evaluate(part.named_children[0], scope, depth) if part.named_children else None
            parts.append(_format_value(inner, part))
        else:
            parts.append(_read_text(part))
    return "".join(parts)[:LONGEST_TEXT]


def _evaluate_binary(node: Node, scope: Scope, depth: int) -> Any:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if left is None or right is None or sign is None:
        return None
    one = evaluate(left, scope, depth)
    if _read_text(sign) in ("??", "||"):
        return one if one is not None else evaluate(right, scope, depth)
    if _read_text(sign) != "+":
        return None
    other = evaluate(right, scope, depth)
    if not isinstance(one, str) and not isinstance(other, str):
        return one + other if isinstance(one, int) and isinstance(other, int) else None
    return (_format_value(one, left) + _format_value(other, right))[:LONGEST_TEXT]


def _evaluate_object(node: Node, scope: Scope, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in node.named_children:
        if part.type == "pair":
            name, value = part.child_by_field_name("key"), part.child_by_field_name("value")
            if name is not None:
                found[_evaluate_key(name, scope)] = evaluate(value, scope, depth)
        elif part.type == "shorthand_property_identifier":
            found[_read_text(part)] = scope.get(_read_text(part))
        elif part.type == "spread_element" and part.named_children:
            spread = evaluate(part.named_children[0], scope, depth)
            found.update(spread if isinstance(spread, dict) else {})
    return found


def _evaluate_array(node: Node, scope: Scope, depth: int) -> list[Any]:
    found: list[Any] = []
    for part in node.named_children:
        if part.type == "spread_element" and part.named_children:
            spread = evaluate(part.named_children[0], scope, depth)
            found += spread if isinstance(spread, list) else [None]
        elif part.type != "comment":
            found.append(evaluate(part, scope, depth))
    return found[:10_000]


def _evaluate_member(node: Node, scope: Scope, depth: int) -> Any:
    owner = evaluate(node.child_by_field_name("object"), scope, depth)
    name = node.child_by_field_name("property")
    index = node.child_by_field_name("index")
    if isinstance(owner, dict):
        return owner.get(_read_text(name) if name is not None else evaluate(index, scope, depth))
    at = evaluate(index, scope, depth)
    return owner[at] if isinstance(owner, list) and isinstance(at, int) and at < len(owner) else None


def _evaluate_call(node: Node, scope: Scope, depth: int) -> Any:
    """``String.raw`…` ``, `[…].join(…)` and `text.trim()`; other calls are unknown."""
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or given is None:
        return None
    if given.type == "template_string":
        return _read_text(given)[1:-1] if _read_text(function) == "String.raw" else None
    name = function.child_by_field_name("property")
    owner = evaluate(function.child_by_field_name("object"), scope, depth)
    if name is None or owner is None:
        return None
    if isinstance(owner, str):
        return owner.strip() if _read_text(name) == "trim" else None
    if isinstance(owner, list) and _read_text(name) == "join" and all(isinstance(one, (str, int)) for one in owner):
        between = evaluate(given.named_children[0], scope, depth) if given.named_children else ","
        return str(between).join(map(str, owner))[:LONGEST_TEXT] if isinstance(between, str) else None
    return None


def _evaluate_inner(node: Node, scope: Scope, depth: int) -> Any:
    return evaluate(node.named_children[0], scope, depth) if node.named_children else None


def _evaluate_identifier(node: Node, scope: Scope, _depth: int) -> Any:
    return scope.get(_read_text(node))


def _evaluate_number(node: Node, _scope: Scope, _depth: int) -> Any:
    return int(_read_text(node)) if _INTEGER.fullmatch(_read_text(node)) else None


_EVALUATORS: dict[str, Any] = {
    "string": _evaluate_string,
    "template_string": _evaluate_template,
    "binary_expression": _evaluate_binary,
    "object": _evaluate_object,
    "array": _evaluate_array,
    "identifier": _evaluate_identifier,
    "number": _evaluate_number,
    "member_expression": _evaluate_member,
    "subscript_expression": _evaluate_member,
    "call_expression": _evaluate_call,
    "parenthesized_expression": _evaluate_inner,
    "await_expression": _evaluate_inner,
}


def _evaluate_key(node: Node, scope: Scope) -> str:
    return _evaluate_string(node, scope, 0) if node.type == "string" else _read_text(node)


def _format_value(value: Any, node: Node) -> str:
    """Text of a value; an unknown one becomes the expansion of a name in it, which a shell's grammar takes."""
    if isinstance(value, (str, int)):
        return str(value)
    name = _NAME.search(_read_text(node))
    return f"${{{name[0] if name else 'unknown'}}}"


def _unescape(escape: str) -> str:
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
