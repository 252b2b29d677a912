"""Simple commands of a bash text, in order of appearance, read off its syntax tree.

Every construct first reads its parts as if each stood alone, then weakens what the exit code
says of them: a pipe hides its left side, `;` hides what stands before it, `&&` lets either fail.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from assay.sessions.shell import plain
from assay.sessions.shell.simple import Simple, Told, chain, weaken
from assay.sessions.shell.words import unquote

# Deeper and longer than anything written by hand; Python's own stack and patience are the limits behind them.
MAX_DEPTH: Final = 80
MAX_FOUND: Final = 1_000

_NONE: Final = -1
_STATUS = re.compile(r"\$\??\{?(?:\?|PIPESTATUS(?:\[0\])?|pipestatus\[1\])\}?")
_FIRST_STATUS = re.compile(r"PIPESTATUS|pipestatus")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_OPERATORS = frozenset({"&&", "||", "|", "|&", ";", "&", "\n", ";;"})
_BODIES = frozenset({
    "while_statement", "for_statement", "c_style_for_statement", "if_statement", "case_statement", "case_item",
    "elif_clause", "else_clause", "function_definition", "do_group", "negated_command", "command_substitution",
    "process_substitution",
})  # fmt: skip
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


class _Walk:
    """One pass over one tree; `found` grows in the order of the text."""

    def __init__(self) -> None:
        self.found: list[Simple] = []
        self.depth = 0
        self.stops_on_error = False
        self.pipefail = False
        # Who answers for `$?` and `${PIPESTATUS[0]}` just now, and variables that keep such an answer.
        self.last = _NONE
        self.first = _NONE
        self.head = _NONE
        self.kept: dict[str, int] = {}
        # In `a && b 2>&1 | c` the grammar pipes the whole list into c, the shell only b: the list waits to be joined.
        self.is_piped_on = False
        self.unjoined: tuple[str, int, int] | None = None

    def node(self, node: Node) -> int:
        """Read a node; give the index of the command whose status becomes its own."""
        kind = node.type
        if len(self.found) >= MAX_FOUND:
            return _NONE
        if kind == "command":
            return self.command(node)
        read = _READERS.get(kind)
        if self.depth > MAX_DEPTH or (read is None and not node.child_count):
            return _NONE
        self.depth += 1
        try:
            if read is not None:
                return read(self, node)
            start = len(self.found)
            if kind not in _BODIES:
                return self.sequence(node)
            self.sequence(node)
            weaken(self.found, start, len(self.found), "output")
            return len(self.found) - 1 if len(self.found) > start else _NONE
        finally:
            self.depth -= 1

    def command(self, node: Node) -> int:
        """A simple command: its words, then whatever its words run."""
        words: list[str] = []
        simple = Simple(words=words, writes=[])
        nested: list[Node] = []
        for child in node.children:
            kind = child.type
            text = (child.text or b"").decode("utf-8", "replace")
            if kind in ("word", "number"):
                words.append(unquote(text))
            elif kind == "file_redirect":
                self.redirect(child, simple)
            elif kind == "herestring_redirect":
                simple.stdin = unquote(text[3:].lstrip())
            elif kind == "variable_assignment" and not words:
                pass
            elif kind == "heredoc_redirect":
                nested.append(child)
                continue
            else:
                words.append(unquote(text))
            if "(" in text or "`" in text:
                nested.append(child)
        return self.keep(simple, nested)

    def keep(self, simple: Simple, nested: list[Node]) -> int:
        """Put a command on the list, with what it prints and what its words run."""
        at = len(self.found)
        words = simple.words
        if not words:
            words.append(">")
        self.found.append(simple)
        head = words[0]
        if head in ("echo", "printf", "exit", "return"):
            simple.prints = self.status_in(" ".join(words[1:]))
        elif head == "set":
            self.options(words)
        for node in nested:
            if node.type == "heredoc_redirect":
                self.heredoc(node, at)
            else:
                self.substitutions(node)
        return at

    def status_in(self, text: str) -> int:
        """Index of the command whose exit status this text shows, if any."""
        if "$" not in text:
            return _NONE
        if match := _STATUS.search(text):
            return self.first if _FIRST_STATUS.search(match[0]) else self.last
        for match in _VARIABLE.finditer(text):
            if match[1] in self.kept:
                return self.kept[match[1]]
        return _NONE

    def options(self, words: list[str]) -> None:
        """`set -e`, `set -o pipefail` and their opposites."""
        for at, word in enumerate(words[1:], 1):
            if word[:1] not in "-+" or word[:2] == "--":
                continue
            turned_on = word[0] == "-"
            if "e" in word[1:]:
                self.stops_on_error = turned_on
            if word.endswith("o") and words[at + 1 : at + 2] == ["pipefail"]:
                self.pipefail = turned_on
            if word.endswith("o") and words[at + 1 : at + 2] == ["errexit"]:
                self.stops_on_error = turned_on

    def redirect(self, node: Node, simple: Simple) -> None:
        """Note the file a redirection writes; reading and duplicating descriptors change nothing."""
        operator = target = ""
        for child in node.children:
            kind = child.type
            if kind in (">", ">>", "&>", "&>>", ">|", ">&"):
                operator = kind
            elif kind == "number" and operator == ">&":
                return
            elif kind != "file_descriptor" and operator and not target:
                target = unquote((child.text or b"").decode("utf-8", "replace"))
        if target and target != "-" and not (operator == ">&" and target.isdigit()):
            simple.writes.append(target)
            simple.appends = simple.appends or operator in (">>", "&>>")

    def redirected(self, node: Node) -> int:
        """A statement with redirections: they belong to the last command in it."""
        at = _NONE
        for child in node.children:
            kind = child.type
            if kind == "file_redirect":
                if at == _NONE:
                    at = self.keep(Simple(words=[">"], writes=[]), [])
                self.redirect(child, self.found[at])
                if b"(" in (child.text or b""):
                    self.substitutions(child)
            elif kind == "heredoc_redirect":
                at = self.heredoc(child, at)
            elif kind == "herestring_redirect":
                if at != _NONE:
                    self.found[at].stdin = unquote((child.text or b"").decode("utf-8", "replace")[3:].lstrip())
            else:
                at = self.node(child)
        return at

    def heredoc(self, node: Node, at: int) -> int:
        """A here-document. The grammar hangs the rest of its opening line under it too."""
        opener = self.found[at] if at != _NONE else None
        start = at if at != _NONE else len(self.found)
        operator = ""
        # The body is read first: what the opening line pipes into may need it.
        for child in node.children:
            if child.type == "heredoc_body" and opener is not None:
                opener.stdin = (child.text or b"").decode("utf-8", "replace")
        for child in node.children:
            kind = child.type
            if kind == "file_redirect" and opener is not None:
                self.redirect(child, opener)
            elif kind == "heredoc_body":
                if child.child_count:
                    self.substitutions(child)
            elif kind in ("&&", "||"):
                operator = kind
            elif kind == "pipeline":
                at = self.piped_on(child, start, opener)
            elif operator:
                middle = len(self.found)
                at = self.node(child)
                self.join(operator, start, middle)
                operator = ""
        return at

    def piped_on(self, node: Node, start: int, opener: Simple | None) -> int:
        """`cat <<EOF | bash`: the left side is the opener, the document goes on to the right."""
        middle = len(self.found)
        at = self.pipeline(node)
        if self.pipefail:
            chain(self.found, start, middle, len(self.found))
        else:
            weaken(self.found, start, middle, "output")
        if opener is not None and opener.words[0] == "cat" and middle < len(self.found):
            self.found[middle].stdin = opener.stdin
        return at

    def join(self, operator: str, start: int, middle: int) -> None:
        """`a && b`, `a || b`."""
        end = len(self.found)
        if operator == "&&":
            chain(self.found, start, middle, end)
        elif not _bails(self.found[middle:end]):
            weaken(self.found, start, end, "output")

    def listed(self, node: Node) -> int:
        """`a && b` or `a || b`, nested to the left."""
        start = middle = len(self.found)
        operator, at = "", _NONE
        is_piped_on, self.is_piped_on = self.is_piped_on, False
        for child in node.children:
            kind = child.type
            if kind in ("&&", "||"):
                operator, middle = kind, len(self.found)
                self.last = self.first = at
                continue
            before = at
            at = self.node(child)
            if operator and is_piped_on:
                self.unjoined = (operator, start, middle)
            elif operator:
                self.join(operator, start, middle)
                if operator == "||" and _bails(self.found[middle:]):
                    at = before
        return at

    def pipeline(self, node: Node) -> int:
        """`a | b`: without pipefail only the last part is heard."""
        start, at, first = len(self.found), _NONE, _NONE
        unjoined: tuple[str, int, int] | None = None
        for child in node.children:
            if not child.is_named:
                continue
            middle = len(self.found)
            if middle == start:
                self.is_piped_on, self.unjoined = _is_redirected_list(child), None
            at = self.node(child)
            first = at if first == _NONE else first
            if middle == start:
                self.is_piped_on, unjoined = False, self.unjoined
                start = unjoined[2] if unjoined else start
                continue
            if self.pipefail:
                chain(self.found, start, middle, len(self.found))
            else:
                weaken(self.found, start, middle, "output")
        if unjoined:
            self.join(*unjoined)
        self.head = first
        return at

    def sequence(self, node: Node) -> int:
        """Statements after each other: the last one is heard, all of them under `set -e`."""
        start, at, item = len(self.found), _NONE, len(self.found)
        alone: dict[int, Told] = {}
        for child in node.children:
            kind = child.type
            if kind == "&":
                weaken(self.found, item, len(self.found), "output")
                continue
            if kind in _OPERATORS or kind == "comment":
                continue
            middle = len(self.found)
            self.head = _NONE
            heard = self.node(child)
            if len(self.found) == middle:
                continue
            item = middle
            if middle > start:
                self.follow(start, middle, alone)
            at = self.last = heard
            self.first = self.head if self.head != _NONE else heard
            for each in (self.last, self.first):
                alone[each] = self.found[each].told if each == heard else "exit"
        return at

    def follow(self, start: int, middle: int, alone: dict[int, Told]) -> None:
        """Something follows: what stood before is no longer heard, save where the text passes it on."""
        found = self.found
        final = found[-1]
        answer = final.prints if final.words[0] in ("exit", "return") else _NONE
        kept = alone.get(answer) if answer != _NONE else None
        if self.stops_on_error:
            chain(found, start, middle, len(found))
        else:
            weaken(found, start, middle, "output")
        if kept is not None:
            found[answer].told = kept

    def assignment(self, node: Node) -> int:
        """`name=value`: it may keep a status, or run substitutions."""
        text = (node.text or b"").decode("utf-8", "replace")
        name, _, assigned = text.partition("=")
        status = self.status_in(assigned) if "$" in assigned and "(" not in assigned else _NONE
        if status != _NONE:
            self.kept[name] = status
        if "(" in text or "`" in text:
            self.substitutions(node)
        return _NONE

    def tested(self, node: Node) -> int:
        """`[ … ]` and `[[ … ]]`."""
        return self.keep(Simple(words=["test"], writes=[]), [node])

    def declared(self, node: Node) -> int:
        """`export A=1`, `declare …`, `unset …`."""
        text = (node.text or b"").decode("utf-8", "replace")
        words = text.split(None, 1)[:1] or ["export"]
        return self.keep(Simple(words=words, writes=[]), [node] if "(" in text or "`" in text else [])

    def substitutions(self, node: Node) -> None:
        """Whatever `$(…)`, backquotes and `<(…)` run inside a word."""
        if self.depth > MAX_DEPTH:
            return
        self.depth += 1
        last, first = self.last, self.first
        for child in [node] if node.type in _SUBSTITUTIONS else node.children:
            if child.type in _SUBSTITUTIONS:
                self.node(child)
            elif child.child_count:
                self.substitutions(child)
        self.last, self.first = last, first
        self.depth -= 1


def _is_redirected_list(node: Node) -> bool:
    return node.type == "redirected_statement" and node.children[0].type == "list"


def _bails(found: list[Simple]) -> bool:
    """Does `|| …` end in giving the failure on?"""
    words = found[-1].words if found else [""]
    return words[0] in ("exit", "return", "false") and words[1:2] != ["0"]


_READERS: Final[dict[str, Callable[[_Walk, Node], int]]] = {
    "redirected_statement": _Walk.redirected,
    "list": _Walk.listed,
    "pipeline": _Walk.pipeline,
    "program": _Walk.sequence,
    "compound_statement": _Walk.sequence,
    "subshell": _Walk.sequence,
    "variable_assignment": _Walk.assignment,
    "test_command": _Walk.tested,
    "declaration_command": _Walk.declared,
    "unset_command": _Walk.declared,
}


def simples(text: str, options: tuple[str, ...] = ()) -> list[Simple]:
    """Every simple command of a bash text, run with these options of `set`."""
    if not options and (found := plain.simples(text)) is not None:
        return found
    return parsed(text, options)


def parsed(text: str, options: tuple[str, ...] = ()) -> list[Simple]:
    """The same by the syntax tree alone."""
    walk = _Walk()
    if options:
        walk.options(["set", *options])
    walk.node(_parser().parse(text.encode("utf-8", "replace")).root_node)
    return walk.found
