"""Simple commands of a bash text, in order of appearance, read off its syntax tree.

Every construct first reads its parts as if each stood alone, then weakens what the exit code
says of them: a pipe hides its left side, `;` hides what stands before it, `&&` lets either fail.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from assay.sessions.shell.commands import SimpleCommand, ToldBy, chain_ranges, mark_fallback, unquote_word, weaken_range

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
_TOKEN = re.compile(
    r"""[ ]++"""
    r"""|(?P<word>(?:[A-Za-z0-9_./:=@%+,^-]++|'[^'\n]*+'|"[^"\\$`\n!]*+")++)"""
    r"""|(?P<join>&&|\|(?!\|))"""
    r"""|2>(?:&1|/dev/null)(?![^ ])"""
)
_QUOTED = re.compile(r"""'([^']*+)'|"([^"]*+)\"""")
# They change how the rest is read, or begin something that is no simple command.
_GRAMMAR: Final = frozenset(
    "if then elif else fi for while until do done case esac select function time coproc in set export declare typeset "
    "local readonly unset unsetenv test exit return source eval exec trap".split()
)


@cache
def _build_parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse_bash(text: str, options: tuple[str, ...] = ()) -> list[SimpleCommand]:
    """Every simple command of a bash text, run with these options of `set`."""
    if not options and (found := parse_plain(text)) is not None:
        return found
    return parse_bash_tree(text, options)


def parse_bash_tree(text: str, options: tuple[str, ...] = ()) -> list[SimpleCommand]:
    """Every simple command of a bash text, by the syntax tree alone."""
    source = text.encode("utf-8", "replace")
    walk = _walk_tree(source, options)
    if walk.missed_ends:
        parts = bytearray(source)
        for at in walk.missed_ends:
            parts[at] = ord(";")
        walk = _walk_tree(bytes(parts), options)
    return walk.found


def _walk_tree(source: bytes, options: tuple[str, ...]) -> "_BashWalk":
    walk = _BashWalk(source)
    if options:
        walk.set_options(["set", *options])
    walk.read_node(_build_parser().parse(source).root_node)
    return walk


class _BashWalk:
    """One pass over one tree; `found` grows in the order of the text."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.found: list[SimpleCommand] = []
        self.missed_ends: list[int] = []
        """Places of line ends that the grammar read over: behind `a 2>&1 | b | c` it takes the next line for words."""
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

    def read_node(self, node: Node) -> int:
        """Read a node; give the index of the command whose status becomes the node's own."""
        kind = node.type
        if len(self.found) >= MAX_FOUND:
            return _NONE
        if kind == "command":
            return self.read_command(node)
        read = _READERS.get(kind)
        if self.depth > MAX_DEPTH or (read is None and not node.child_count):
            return _NONE
        self.depth += 1
        try:
            if read is not None:
                return read(self, node)
            start = len(self.found)
            if kind not in _BODIES:
                return self.read_sequence(node)
            self.read_sequence(node)
            weaken_range(self.found, start, len(self.found), "output")
            return len(self.found) - 1 if len(self.found) > start else _NONE
        finally:
            self.depth -= 1

    def read_command(self, node: Node) -> int:
        """Read a simple command: its words, then whatever its words run."""
        words: list[str] = []
        simple = SimpleCommand(words=words, writes=[])
        nested: list[Node] = []
        children = node.children
        if children and b"\n" in self.source[children[0].start_byte : children[-1].start_byte]:
            self.note_missed_ends(children)
        for child in children:
            kind = child.type
            text = (child.text or b"").decode("utf-8", "replace")
            if kind in ("word", "number"):
                words.append(unquote_word(text))
            elif kind == "file_redirect":
                self.read_redirect(child, simple)
            elif kind == "herestring_redirect":
                simple.stdin = unquote_word(text[3:].lstrip())
            elif kind == "variable_assignment" and not words:
                pass
            elif kind == "heredoc_redirect":
                nested.append(child)
                continue
            else:
                words.append(unquote_word(text))
            if "(" in text or "`" in text:
                nested.append(child)
        return self.add_command(simple, nested)

    def note_missed_ends(self, children: list[Node]) -> None:
        """Note where a line ends between two words of what should be one command."""
        for one, other in pairwise(children):
            between = self.source[one.end_byte : other.start_byte]
            if between.strip() == b"" and b"\n" in between and "heredoc_redirect" not in (one.type, other.type):
                self.missed_ends.append(one.end_byte + between.index(b"\n"))

    def add_command(self, simple: SimpleCommand, nested: list[Node]) -> int:
        """Put a command on the list, with what it prints and what its words run."""
        at = len(self.found)
        words = simple.words
        if not words:
            words.append(">")
        self.found.append(simple)
        head = words[0]
        if head in ("echo", "printf", "exit", "return"):
            simple.prints = self.find_status(" ".join(words[1:]))
        elif head == "set":
            self.set_options(words)
        for node in nested:
            if node.type == "heredoc_redirect":
                self.read_heredoc(node, at)
            else:
                self.read_substitutions(node)
        return at

    def find_status(self, text: str) -> int:
        """Index of the command whose exit status a text shows, or -1."""
        if "$" not in text:
            return _NONE
        if match := _STATUS.search(text):
            return self.first if _FIRST_STATUS.search(match[0]) else self.last
        for match in _VARIABLE.finditer(text):
            if match[1] in self.kept:
                return self.kept[match[1]]
        return _NONE

    def set_options(self, words: list[str]) -> None:
        """Read `set -e`, `set -o pipefail` and their opposites."""
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

    def read_redirect(self, node: Node, simple: SimpleCommand) -> None:
        """Note the file a redirection writes; reading and duplicating descriptors change nothing."""
        operator = target = ""
        for child in node.children:
            kind = child.type
            if kind in (">", ">>", "&>", "&>>", ">|", ">&"):
                operator = kind
            elif kind == "number" and operator == ">&":
                return
            elif kind != "file_descriptor" and operator and not target:
                target = unquote_word((child.text or b"").decode("utf-8", "replace"))
        if target and target != "-" and not (operator == ">&" and target.isdigit()):
            simple.writes.append(target)
            simple.appends = simple.appends or operator in (">>", "&>>")

    def read_redirected(self, node: Node) -> int:
        """Read a statement with redirections, which belong to the last command in it."""
        at = _NONE
        for child in node.children:
            kind = child.type
            if kind == "file_redirect":
                if at == _NONE:
                    at = self.add_command(SimpleCommand(words=[">"], writes=[]), [])
                self.read_redirect(child, self.found[at])
                if b"(" in (child.text or b""):
                    self.read_substitutions(child)
            elif kind == "heredoc_redirect":
                at = self.read_heredoc(child, at)
            elif kind == "herestring_redirect":
                if at != _NONE:
                    self.found[at].stdin = unquote_word((child.text or b"").decode("utf-8", "replace")[3:].lstrip())
            else:
                at = self.read_node(child)
        return at

    def read_heredoc(self, node: Node, at: int) -> int:
        """Read a here-document; the grammar hangs the rest of its opening line under it too."""
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
                self.read_redirect(child, opener)
            elif kind == "heredoc_body":
                if child.child_count:
                    self.read_substitutions(child)
            elif kind in ("&&", "||"):
                operator = kind
            elif kind == "pipeline":
                at = self.read_heredoc_pipe(child, start, opener)
            elif operator:
                middle = len(self.found)
                at = self.read_node(child)
                self.join_ranges(operator, start, middle)
                operator = ""
        return at

    def read_heredoc_pipe(self, node: Node, start: int, opener: SimpleCommand | None) -> int:
        """Read the pipe of `cat <<EOF | bash`: its left side is the opener, and the document goes on to the right."""
        middle = len(self.found)
        at = self.read_pipeline(node)
        if self.pipefail:
            chain_ranges(self.found, start, middle, len(self.found))
        else:
            weaken_range(self.found, start, middle, "output")
        if opener is not None and opener.words[0] == "cat" and middle < len(self.found):
            self.found[middle].stdin = opener.stdin
        return at

    def join_ranges(self, operator: str, start: int, middle: int) -> None:
        """Join the ranges of `a && b` or `a || b`."""
        end = len(self.found)
        if operator == "&&":
            chain_ranges(self.found, start, middle, end)
        elif not _is_giving_up(self.found[middle:end]):
            mark_fallback(self.found, start, middle, end)

    def read_list(self, node: Node) -> int:
        """Read `a && b` or `a || b`, nested to the left."""
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
            at = self.read_node(child)
            if operator and is_piped_on:
                self.unjoined = (operator, start, middle)
            elif operator:
                self.join_ranges(operator, start, middle)
                if operator == "||" and _is_giving_up(self.found[middle:]):
                    at = before
        return at

    def read_pipeline(self, node: Node) -> int:
        """Read `a | b`: without pipefail only the last part is heard."""
        start, at, first = len(self.found), _NONE, _NONE
        unjoined: tuple[str, int, int] | None = None
        for child in node.children:
            if not child.is_named:
                continue
            middle = len(self.found)
            if middle == start:
                self.is_piped_on, self.unjoined = _is_redirected_list(child), None
            at = self.read_node(child)
            first = at if first == _NONE else first
            if middle == start:
                self.is_piped_on, unjoined = False, self.unjoined
                start = unjoined[2] if unjoined else start
                continue
            if self.pipefail:
                chain_ranges(self.found, start, middle, len(self.found))
            else:
                weaken_range(self.found, start, middle, "output")
        if unjoined:
            self.join_ranges(*unjoined)
        self.head = first
        return at

    def read_sequence(self, node: Node) -> int:
        """Read statements after each other: the last one is heard, all of them under `set -e`."""
        start, at, item = len(self.found), _NONE, len(self.found)
        alone: dict[int, ToldBy] = {}
        for child in node.children:
            kind = child.type
            if kind == "&":
                weaken_range(self.found, item, len(self.found), "output")
                continue
            if kind in _OPERATORS or kind == "comment":
                continue
            middle = len(self.found)
            self.head = _NONE
            heard = self.read_node(child)
            if len(self.found) == middle:
                continue
            item = middle
            if middle > start:
                self.weaken_before(start, middle, alone)
            at = self.last = heard
            self.first = self.head if self.head != _NONE else heard
            for each in (self.last, self.first):
                alone[each] = self.found[each].told_by if each == heard else "exit"
        return at

    def weaken_before(self, start: int, middle: int, alone: dict[int, ToldBy]) -> None:
        """Weaken what stood before a statement, save where the text passes its status on."""
        found = self.found
        final = found[-1]
        answer = final.prints if final.words[0] in ("exit", "return") else _NONE
        kept = alone.get(answer) if answer != _NONE else None
        if self.stops_on_error:
            chain_ranges(found, start, middle, len(found))
        else:
            weaken_range(found, start, middle, "output")
        if kept is not None:
            found[answer].told_by = kept

    def read_assignment(self, node: Node) -> int:
        """Read `name=value`, which may keep a status or run substitutions."""
        text = (node.text or b"").decode("utf-8", "replace")
        name, _, assigned = text.partition("=")
        status = self.find_status(assigned) if "$" in assigned and "(" not in assigned else _NONE
        if status != _NONE:
            self.kept[name] = status
        if "(" in text or "`" in text:
            self.read_substitutions(node)
        return _NONE

    def read_test(self, node: Node) -> int:
        """Read `[ … ]` and `[[ … ]]`."""
        return self.add_command(SimpleCommand(words=["test"], writes=[]), [node])

    def read_declaration(self, node: Node) -> int:
        """Read `export A=1`, `declare …`, `unset …`."""
        text = (node.text or b"").decode("utf-8", "replace")
        words = text.split(None, 1)[:1] or ["export"]
        return self.add_command(SimpleCommand(words=words, writes=[]), [node] if "(" in text or "`" in text else [])

    def read_substitutions(self, node: Node) -> None:
        """Read whatever `$(…)`, backquotes and `<(…)` run inside a word."""
        if self.depth > MAX_DEPTH:
            return
        self.depth += 1
        last, first = self.last, self.first
        for child in [node] if node.type in _SUBSTITUTIONS else node.children:
            if child.type in _SUBSTITUTIONS:
                self.read_node(child)
            elif child.child_count:
                self.read_substitutions(child)
        self.last, self.first = last, first
        self.depth -= 1


def _is_redirected_list(node: Node) -> bool:
    return node.type == "redirected_statement" and node.children[0].type == "list"


def _is_giving_up(found: list[SimpleCommand]) -> bool:
    """Whether `|| …` ends in passing the failure on."""
    words = found[-1].words if found else [""]
    return words[0] in ("exit", "return", "false") and words[1:2] != ["0"]


_READERS: Final[dict[str, Callable[[_BashWalk, Node], int]]] = {
    "redirected_statement": _BashWalk.read_redirected,
    "list": _BashWalk.read_list,
    "pipeline": _BashWalk.read_pipeline,
    "program": _BashWalk.read_sequence,
    "compound_statement": _BashWalk.read_sequence,
    "subshell": _BashWalk.read_sequence,
    "variable_assignment": _BashWalk.read_assignment,
    "test_command": _BashWalk.read_test,
    "declaration_command": _BashWalk.read_declaration,
    "unset_command": _BashWalk.read_declaration,
}


# --- commands that need no syntax tree ------------------------------------------------------
#
# Words, quoted words without expansions, `&&`, `|` and `2>&1`: nearly two thirds of real commands are no more.
# Whatever else occurs is left to the parser, and a test holds both to the same answer.


def parse_plain(text: str) -> list[SimpleCommand] | None:
    """The simple commands of a plain text; `None` for one that needs the parser."""
    chained: list[list[list[str]]] = [[[]]]
    at, end = 0, len(text)
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at = token.end()
        if word := token["word"]:
            chained[-1][-1].append(_QUOTED.sub(r"\1\2", word) if "'" in word or '"' in word else word)
        elif token["join"] == "|":
            chained[-1].append([])
        elif token["join"]:
            chained.append([[]])
    return _join_commands(chained) if all(map(_is_plain, _list_commands(chained))) else None


def _list_commands(chained: list[list[list[str]]]) -> Iterator[list[str]]:
    """The words of every command."""
    return (words for piped in chained for words in piped)


def _is_plain(words: list[str]) -> bool:
    """Whether words are a command, and none that changes how the rest is read."""
    return bool(words) and words[0] not in _GRAMMAR and "=" not in words[0] and words[0][:1].isalpha()


def _join_commands(chained: list[list[list[str]]]) -> list[SimpleCommand]:
    """The commands, weakened where pipes and `&&` hide them."""
    found: list[SimpleCommand] = []
    for piped in chained:
        start = len(found)
        for words in piped:
            middle = len(found)
            found.append(SimpleCommand(words=words, writes=[]))
            if middle > start:
                weaken_range(found, start, middle, "output")
        if start:
            chain_ranges(found, 0, start, len(found))
    return found
