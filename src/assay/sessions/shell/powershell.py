"""Simple commands of a PowerShell text, in order of appearance, read off its syntax tree."""

import re
from functools import cache
from typing import Final

import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

from assay.sessions.shell.simple import Simple, chain, weaken

MAX_DEPTH: Final = 250
MAX_FOUND: Final = 1_000

_BLOCKS = frozenset({
    "if_statement", "foreach_statement", "while_statement", "for_statement", "do_statement", "switch_statement",
    "function_statement", "script_block_expression", "sub_expression", "parenthesized_expression",
    "trap_statement", "assignment_expression",
})  # fmt: skip
_QUOTED = frozenset({"array_literal_expression", "string_literal", "command_name_expr", "expandable_string_literal"})
_STATUS = re.compile(r"\$LASTEXITCODE|\$\?", re.IGNORECASE)
_FAILS = re.compile(r"\$LASTEXITCODE\s*-(?:ne|gt)\s*0|-not\s*\$\?|!\s*\$\?", re.IGNORECASE)
_LEAVES = re.compile(r"\b(?:exit|throw|return)\b", re.IGNORECASE)
_LONE_DASHES = re.compile(r"(?<=\s)--(?=\s)")
_PRINTERS = frozenset({"echo", "write-host", "write-output"})


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_powershell.language()))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _unquote(text: str) -> str:
    """A word without its quotes; `@"…"@` is a here-string."""
    if text[:2] in ("@'", '@"'):
        return text[2:-2].strip("\r\n")
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        quote = text[0]
        return text[1:-1].replace(quote * 2, quote)
    return text


class _Walk:
    """One pass over one tree; `found` grows in the order of the text."""

    def __init__(self) -> None:
        self.found: list[Simple] = []
        self.depth = 0
        self.last = -1

    def node(self, node: Node) -> None:
        """Read a node and weaken what the exit code says of its parts."""
        kind = node.type
        if self.depth > MAX_DEPTH or kind == "comment" or len(self.found) >= MAX_FOUND:
            return
        self.depth += 1
        start = len(self.found)
        if kind == "command":
            self.command(node.children)
        elif kind in ("statement_list", "program", "ERROR"):
            self.sequence(node)
        elif kind == "pipeline_chain":
            self.piped(node)
        elif kind == "pipeline":
            self.chained(node)
        elif kind == "flow_control_statement":
            self.flow(node)
        else:
            for child in node.children:
                self.node(child)
        if kind in _BLOCKS:
            weaken(self.found, start, len(self.found), "output")
        self.depth -= 1

    def command(self, children: list[Node]) -> None:
        """A command: name, arguments, redirections; blocks among the arguments are read after it."""
        simple = Simple(words=[], writes=[])
        nested: list[Node] = []
        for child in children:
            kind = child.type
            if kind == "command_elements":
                self.elements(child.children, simple, nested)
            elif kind in ("command_name", "command_name_expr"):
                simple.words.append(_unquote(_text(child)))
            elif kind != "command_invokation_operator":
                self.elements([child], simple, nested)
        if not simple.words:
            simple.words.append(">")
        head = simple.words[0].lower()
        if head in _PRINTERS and _STATUS.search(" ".join(simple.words[1:])):
            simple.words[0] = "echo"
            simple.prints = self.last
        self.found.append(simple)
        for node in nested:
            start = len(self.found)
            self.node(node)
            weaken(self.found, start, len(self.found), "output")

    def elements(self, children: list[Node], simple: Simple, nested: list[Node]) -> None:
        """Arguments and redirections of a command."""
        for child in children:
            kind = child.type
            if kind == "command_argument_sep" or not child.is_named:
                continue
            text = _text(child)
            if kind == "redirection":
                self.redirection(child, simple)
                continue
            simple.words.append(_unquote(text))
            if "{" in text or "(" in text:
                nested.append(child)

    def redirection(self, node: Node, simple: Simple) -> None:
        """`> file`, `2> file`; merging streams writes nothing."""
        for child in node.children:
            if child.type == "redirected_file_name":
                target = _unquote(_text(child).strip())
                if target.lower() != "$null":
                    simple.writes.append(target)

    def piped(self, node: Node) -> None:
        """`a | b`: the last part is heard."""
        start = len(self.found)
        for child in node.children:
            if child.is_named:
                middle = len(self.found)
                self.node(child)
                if len(self.found) > middle:
                    weaken(self.found, start, middle, "output")

    def chained(self, node: Node) -> None:
        """`a && b`, `a || b`: a flat row of parts with the operators between them."""
        start, operator = len(self.found), ""
        for child in node.children:
            if child.type == "pipeline_chain_tail":
                operator = _text(child)
                continue
            middle = len(self.found)
            self.node(child)
            if operator == "&&":
                chain(self.found, start, middle, len(self.found))
            elif operator == "||":
                weaken(self.found, start, len(self.found), "output")

    def flow(self, node: Node) -> None:
        """`exit $LASTEXITCODE` hands the status on."""
        text = _text(node)
        simple = Simple(words=text.split()[:2] or ["exit"], writes=[])
        if simple.words[0].lower() == "exit" and _STATUS.search(text):
            simple.prints = self.last
        self.found.append(simple)

    def sequence(self, node: Node) -> None:
        """Statements after each other: the last is heard, and one whose status is checked and passed on."""
        start, loose = len(self.found), list[Node]()
        for child in node.children:
            kind = child.type
            if kind in (
                "command_name",
                "command_elements",
                "generic_token",
                "command_parameter",
                "command_argument_sep",
            ):
                # A command that the grammar gave up on lies about in pieces.
                loose.append(child)
                continue
            self.loose(loose)
            middle = len(self.found)
            text = _text(child) if kind == "if_statement" else ""
            before = self.last
            self.node(child)
            if len(self.found) > middle:
                self.last = middle
            if len(self.found) > middle > start:
                self.follow(start, middle, before if _FAILS.search(text) and _LEAVES.search(text) else -1)
        self.loose(loose)

    def loose(self, pieces: list[Node]) -> None:
        """Read the pieces of a broken command as one."""
        if pieces:
            self.command(pieces)
            pieces.clear()

    def follow(self, start: int, middle: int, guarded: int) -> None:
        """Something follows what was found so far."""
        found = self.found
        final = found[-1]
        answer = final.prints if final.words[0].lower() == "exit" else -1
        answer = guarded if guarded >= 0 else answer
        kept = found[answer].told if start <= answer < middle else None
        weaken(found, start, middle, "output")
        if kept is not None:
            found[answer].told = kept


def simples(text: str) -> list[Simple]:
    """Every simple command of a PowerShell text."""
    root = _parser().parse(text.encode("utf-8", "replace")).root_node
    if root.has_error and _LONE_DASHES.search(text):
        # The grammar knows no `--`, which git needs; quoted it means the same.
        root = _parser().parse(_LONE_DASHES.sub("'--'", text).encode("utf-8", "replace")).root_node
    walk = _Walk()
    walk.node(root)
    return walk.found
