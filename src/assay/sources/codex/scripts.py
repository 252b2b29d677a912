"""Tool calls dug out of the JavaScript of Codex's `exec`.

The script is parsed, not run: literals, their concatenations, names bound to them, loops and `map` over
literal arrays and small functions of the script's own are followed. What stays unknown inside a template
becomes `${name}`, which a shell reads as an expansion too.
"""

from typing import Any

import tree_sitter_javascript
from msgspec import Struct
from tree_sitter import Language, Node, Parser

from assay.sources.codex.values import Closure, Scope, bind, value_of

DEPTH = 80
NODES = 50_000
CALLS = 64
"""Bounds for hostile scripts; the longest real one has some thousand nodes."""

_PARSER = Parser(Language(tree_sitter_javascript.language()))
_FUNCTIONS = ("arrow_function", "function_expression", "function_declaration", "generator_function")
_EACH = ("map", "forEach", "flatMap", "filter", "some", "every")


class Dug(Struct):
    """One `tools.name(argument)`."""

    tool: str
    argument: Any


def dig(script: str) -> list[Dug]:
    """Tool calls of a script, in the order of its text."""
    tree = _PARSER.parse(script.encode("utf-8", "replace"))
    digger = _Digger()
    scope: Scope = {}
    digger.visit(tree.root_node, scope, 0)
    for closure in list(digger.uncalled.values()):
        digger.visit(closure.body, {**scope}, 0)
    return digger.found


class _Digger:
    def __init__(self) -> None:
        self.found: list[Dug] = []
        self.uncalled: dict[int, Closure] = {}
        self.nodes = 0

    def visit(self, node: Node | None, scope: Scope, depth: int) -> None:
        self.nodes += 1
        if node is None or depth > DEPTH or self.nodes > NODES or len(self.found) >= CALLS:
            return
        kind = node.type
        if kind == "call_expression":
            self.call(node, scope, depth + 1)
        elif kind in ("variable_declarator", "assignment_expression"):
            self.assign(node, scope, depth + 1)
        elif kind == "for_in_statement":
            self.loop(node, scope, depth + 1)
        elif kind == "function_declaration":
            self.declare(node.child_by_field_name("name"), node, scope)
        elif kind in _FUNCTIONS:
            self.visit(node.child_by_field_name("body"), {**scope}, depth + 1)
        elif kind not in ("string", "comment"):
            for child in node.named_children:
                self.visit(child, scope, depth + 1)

    def declare(self, name: Node | None, function: Node, scope: Scope) -> None:
        body = function.child_by_field_name("body")
        if name is None or body is None:
            return
        closure = Closure(function.start_byte, body, _parameters(function))
        bind(name, closure, scope)
        self.uncalled[closure.at] = closure

    def assign(self, node: Node, scope: Scope, depth: int) -> None:
        is_declared = node.type == "variable_declarator"
        name = node.child_by_field_name("name" if is_declared else "left")
        value = node.child_by_field_name("value" if is_declared else "right")
        if value is not None and value.type in _FUNCTIONS:
            self.declare(name, value, scope)
            return
        self.visit(value, scope, depth)
        if name is not None:
            bind(name, value_of(value, scope), scope)

    def loop(self, node: Node, scope: Scope, depth: int) -> None:
        name, body = node.child_by_field_name("left"), node.child_by_field_name("body")
        items = node.child_by_field_name("right")
        self.visit(items, scope, depth)
        values = value_of(items, scope)
        for value in values if isinstance(values, list) and values else [None]:
            inner = {**scope}
            if name is not None:
                bind(name, value, inner)
            self.visit(body, inner, depth)

    def call(self, node: Node, scope: Scope, depth: int) -> None:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        arguments = given.named_children if given is not None and given.type == "arguments" else []
        tool = _tool(function)
        if tool:
            self.found.append(Dug(tool, value_of(arguments[0], scope) if arguments else None))
        elif function is not None and function.type == "identifier":
            closure = scope.get(_source(function))
            if isinstance(closure, Closure):
                self.enter(closure, [value_of(one, scope) for one in arguments], scope, depth)
        elif function is not None and function.type == "member_expression":
            self.visit(function.child_by_field_name("object"), scope, depth)
            if arguments and self.each(function, arguments[0], scope, depth):
                arguments = arguments[1:]
        else:
            self.visit(function, scope, depth)
        for argument in arguments:
            self.visit(argument, scope, depth)

    def each(self, function: Node, callback: Node, scope: Scope, depth: int) -> bool:
        """Follow `list.map(callback)` where the list is known."""
        name = function.child_by_field_name("property")
        if name is None or _source(name) not in _EACH:
            return False
        closure: Any = scope.get(_source(callback)) if callback.type == "identifier" else None
        if callback.type in _FUNCTIONS and (body := callback.child_by_field_name("body")) is not None:
            closure = Closure(callback.start_byte, body, _parameters(callback))
        values = value_of(function.child_by_field_name("object"), scope)
        if not isinstance(closure, Closure) or not isinstance(values, list):
            return False
        for at, value in enumerate(values):
            self.enter(closure, [value, at], scope, depth)
        return True

    def enter(self, closure: Closure, values: list[Any], scope: Scope, depth: int) -> None:
        self.uncalled.pop(closure.at, None)
        inner = {**scope}
        for at, parameter in enumerate(closure.parameters):
            bind(parameter, values[at] if at < len(values) else None, inner)
        self.visit(closure.body, inner, depth + 1)


def _tool(function: Node | None) -> str:
    """The name in `tools.name` or `tools["name"]`."""
    if function is None or function.type not in ("member_expression", "subscript_expression"):
        return ""
    owner = function.child_by_field_name("object")
    if owner is None or _source(owner) != "tools":
        return ""
    name = function.child_by_field_name("property") or function.child_by_field_name("index")
    return _source(name).strip("\"'`") if name is not None else ""


def _parameters(function: Node) -> list[Node]:
    single = function.child_by_field_name("parameter")
    several = function.child_by_field_name("parameters")
    return [single] if single is not None else several.named_children if several is not None else []


def _source(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
