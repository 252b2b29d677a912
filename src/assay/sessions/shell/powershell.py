"""PowerShell: simple commands of a text, read off its syntax tree, and what cmdlets write."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import tree_sitter_powershell
from msgspec import Struct
from tree_sitter import Language, Node, Parser

from assay.resources import load_table
from assay.sessions.shell.commands import SimpleCommand, chain_ranges, is_option, mark_fallback, weaken_range
from assay.sessions.shell.rules import NO_EFFECT, Effect, to_effect

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
_LONE_DASHES = re.compile(r"(?<=[ \t])(?:--(?=\s)|-(?=\s*(?:\Z|[|;\n])))")
_PRINTERS = frozenset({"echo", "write-host", "write-output"})
_SWITCHES = frozenset({
    "-recurse", "-force", "-verbose", "-whatif", "-confirm", "-append", "-noclobber", "-passthru", "-nonewline",
    "-usebasicparsing", "-asjob", "-notypeinformation", "-container", "-directory", "-file", "-confirm:$false",
    "-recurse:$true", "-skipcertificatecheck",
})  # fmt: skip
_WRITES_FILES = re.compile(
    r"\[(?:System\.)?IO\.(?:File|Directory)\]::(?:Write|Append|Delete|Move|Copy|Create|Replace)\w*", re.IGNORECASE
)
_FIRST_STRING = re.compile(r"""\(\s*(?:'([^']*)'|"([^"$`]*)")""")
_SENDS = frozenset({"post", "put", "patch", "delete"})
_ALIASED = frozenset({"curl", "wget"})


@cache
def _build_parser() -> Parser:
    return Parser(Language(tree_sitter_powershell.language()))


def _read_text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _unquote(text: str) -> str:
    """A word without its quotes; `@"…"@` is a here-string."""
    if text[:2] in ("@'", '@"'):
        return text[2:-2].strip("\r\n")
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        quote = text[0]
        return text[1:-1].replace(quote * 2, quote)
    return text


class _PowershellWalk:
    """One pass over one tree; `found` grows in the order of the text."""

    def __init__(self) -> None:
        self.found: list[SimpleCommand] = []
        self.depth = 0
        self.last = -1

    def read_node(self, node: Node) -> None:
        """Read a node and weaken what the exit code says of its parts."""
        kind = node.type
        if self.depth > MAX_DEPTH or kind == "comment" or len(self.found) >= MAX_FOUND:
            return
        self.depth += 1
        start = len(self.found)
        if kind == "command":
            self.read_command(node.children)
        elif kind in ("statement_list", "program", "ERROR"):
            self.read_sequence(node)
        elif kind == "pipeline_chain":
            self.read_pipe(node)
        elif kind == "pipeline":
            self.read_chain(node)
        elif kind == "flow_control_statement":
            self.read_flow_control(node)
        else:
            if kind == "invokation_expression":
                self.read_method(node)
            for child in node.children:
                self.read_node(child)
        if kind in _BLOCKS:
            weaken_range(self.found, start, len(self.found), "output")
        self.depth -= 1

    def read_command(self, children: list[Node]) -> None:
        """Read a command: name, arguments, redirections; blocks among the arguments are read after it."""
        simple = SimpleCommand(words=[], writes=[])
        nested: list[Node] = []
        for child in children:
            kind = child.type
            if kind == "command_elements":
                self.read_elements(child.children, simple, nested)
            elif kind in ("command_name", "command_name_expr"):
                simple.words.append(_unquote(_read_text(child)))
            elif kind != "command_invokation_operator":
                self.read_elements([child], simple, nested)
        if not simple.words:
            simple.words.append(">")
        head = simple.words[0].lower()
        if head in _PRINTERS and _STATUS.search(" ".join(simple.words[1:])):
            simple.words[0] = "echo"
            simple.prints = self.last
        self.found.append(simple)
        for node in nested:
            start = len(self.found)
            self.read_node(node)
            weaken_range(self.found, start, len(self.found), "output")

    def read_method(self, node: Node) -> None:
        """Read a method of .NET that writes files, as a command of its name and its file."""
        text = _read_text(node)
        if name := _WRITES_FILES.match(text):
            file = _FIRST_STRING.match(text, name.end())
            self.found.append(SimpleCommand(words=[name[0], (file[1] or file[2] or "") if file else ""], writes=[]))

    def read_elements(self, children: list[Node], simple: SimpleCommand, nested: list[Node]) -> None:
        """Read the arguments and redirections of a command."""
        for child in children:
            kind = child.type
            if kind == "command_argument_sep" or not child.is_named:
                continue
            text = _read_text(child)
            if kind == "redirection":
                self.read_redirection(child, simple)
                continue
            simple.words.append(_unquote(text))
            if "{" in text or "(" in text:
                nested.append(child)

    def read_redirection(self, node: Node, simple: SimpleCommand) -> None:
        """Read `> file`, `2> file`; merging streams writes nothing."""
        for child in node.children:
            if child.type == "redirected_file_name":
                target = _unquote(_read_text(child).strip())
                if target.lower() != "$null":
                    simple.writes.append(target)

    def read_pipe(self, node: Node) -> None:
        """Read `a | b`: the last part is heard, and a text that stands first is what the next one reads."""
        start, fed = len(self.found), ""
        for child in node.children:
            if child.is_named:
                middle = len(self.found)
                self.read_node(child)
                if len(self.found) > middle:
                    weaken_range(self.found, start, middle, "output")
                    self.found[middle].stdin = fed
                text = _read_text(child)
                fed = _unquote(text) if text[:1] in "\"'@" and len(self.found) == middle else ""

    def read_chain(self, node: Node) -> None:
        """Read `a && b`, `a || b`: a flat row of parts with the operators between them."""
        start, operator = len(self.found), ""
        for child in node.children:
            if child.type == "pipeline_chain_tail":
                operator = _read_text(child)
                continue
            middle = len(self.found)
            self.read_node(child)
            if operator == "&&":
                chain_ranges(self.found, start, middle, len(self.found))
            elif operator == "||":
                mark_fallback(self.found, start, middle, len(self.found))

    def read_flow_control(self, node: Node) -> None:
        """Read `exit $LASTEXITCODE` and the like, which hand a status on."""
        text = _read_text(node)
        simple = SimpleCommand(words=text.split()[:2] or ["exit"], writes=[])
        if simple.words[0].lower() == "exit" and _STATUS.search(text):
            simple.prints = self.last
        self.found.append(simple)

    def read_sequence(self, node: Node) -> None:
        """Read statements after each other: the last is heard, and one whose status is checked and passed on."""
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
            self.read_loose_pieces(loose)
            middle = len(self.found)
            text = _read_text(child) if kind == "if_statement" else ""
            before = self.last
            self.read_node(child)
            if len(self.found) > middle:
                self.last = middle
            if len(self.found) > middle > start:
                self.weaken_before(start, middle, before if _FAILS.search(text) and _LEAVES.search(text) else -1)
        self.read_loose_pieces(loose)

    def read_loose_pieces(self, pieces: list[Node]) -> None:
        """Read the pieces of a broken command as one."""
        if pieces:
            self.read_command(pieces)
            pieces.clear()

    def weaken_before(self, start: int, middle: int, guarded: int) -> None:
        """Weaken what was found before a statement, save where its status is passed on."""
        found = self.found
        final = found[-1]
        answer = final.prints if final.words[0].lower() == "exit" else -1
        answer = guarded if guarded >= 0 else answer
        kept = found[answer].told_by if start <= answer < middle else None
        weaken_range(found, start, middle, "output")
        if kept is not None:
            found[answer].told_by = kept


def parse_powershell(text: str) -> list[SimpleCommand]:
    """Every simple command of a PowerShell text."""
    root = _build_parser().parse(text.encode("utf-8", "replace")).root_node
    if root.has_error and _LONE_DASHES.search(text):
        # The grammar knows neither `--`, which git needs, nor `-` for stdin; quoted they mean the same.
        root = _build_parser().parse(_LONE_DASHES.sub(r"'\g<0>'", text).encode("utf-8", "replace")).root_node
    walk = _PowershellWalk()
    walk.read_node(root)
    return walk.found


# --- cmdlets --------------------------------------------------------------------------------


class _CmdletTable(Struct, frozen=True):
    writes: dict[str, tuple[str, ...]]
    changes: frozenset[str]
    same: dict[str, str]


@cache
def _load_cmdlets() -> _CmdletTable:
    document = load_table("assay.sessions.shell", "cmdlets.toml", dict[str, dict[str, Any]])
    return _CmdletTable(
        writes={name: tuple(parameters) for name, parameters in document["writes"].items()},
        changes=frozenset(document["changes"]["names"].split()),
        same={alias: name for name, aliases in document["same"].items() for alias in aliases.split()},
    )


def _parse_arguments(args: list[str]) -> tuple[dict[str, str], list[str]]:
    """Named and unnamed arguments; names in lower case, without the dash."""
    named: dict[str, str] = {}
    unnamed: list[str] = []
    words: Iterator[str] = iter(args)
    for word in words:
        if not is_option(word):
            unnamed.append(word)
        elif ":" in word[1:-1] or word.lower() in _SWITCHES:
            named[word[1:].partition(":")[0].lower()] = word.partition(":")[2]
        else:
            named[word[1:].lower()] = next(words, "")
    return named, unnamed


def judge_cmdlet(program: str, args: list[str]) -> Effect | None:
    """The effect of a cmdlet or its alias; `None` for anything else."""
    if program.startswith("["):
        return to_effect(args)
    known = _load_cmdlets()
    lower = program.lower()
    name = known.same.get(lower, lower)
    if name in known.changes:
        return Effect(mutates=True)
    parameters = known.writes.get(name)
    if parameters is None or (lower in _ALIASED and any(word[:2] == "--" for word in args)):
        return None
    named, unnamed = _parse_arguments(args)
    if "whatif" in named:
        return NO_EFFECT
    if name.startswith("invoke-"):
        if named.get("method", "").lower() in _SENDS:
            return Effect(mutates=True)
        return to_effect([named["outfile"]]) if "outfile" in named else NO_EFFECT
    return to_effect(_find_targets(parameters, named, unnamed))


def _find_targets(parameters: tuple[str, ...], named: dict[str, str], unnamed: list[str]) -> list[str]:
    found = next((named[parameter] for parameter in parameters if parameter in named), "")
    if not found:
        place = 1 if "#2" in parameters and "path" not in named and "literalpath" not in named else 0
        found = unnamed[place] if len(unnamed) > place else ""
    return [part.strip("\"' ") for part in found.split(",") if part.strip()]
