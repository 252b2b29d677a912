"""Words of a command: quotes taken off, options told from operands."""

import re
from collections.abc import Collection, Iterator, Sequence

_QUOTED = re.compile(
    r"""'([^']*)'"""  # 1: raw
    r"""|\$'((?:[^'\\]|\\.)*)'"""  # 2: with C escapes
    r'''|\$?"((?:[^"\\]|\\.)*)"'''  # 3: with expansions
    r"""|\\(\n|.)""",  # 4: one escaped character
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r'\\([\\"$`\n])')
_C_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "", "b": "", "e": "", "0": ""}
_C_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"""['"\\]""")
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_CLUSTER = re.compile(r"-[A-Za-z]+")

_UNREADABLE = re.compile(r"[$`\n]|^/dev/|\{\}|^(?:nul|NUL)$|^-$")
_SCRATCH = re.compile(
    r"(?:/private)?/tmp(?:/|$)|(?:/private)?/var/(?:tmp|folders)(?:/|$)|/dev/|nul$|\$null$"
    r"|\$\{?(?:TMPDIR|TMP|TEMP|RUNNER_TEMP|CLAUDE_TMPDIR)\b|\$env:TE?MP\b|%TE?MP%|\$\(mktemp"
    r"|[A-Z]:[\\/](?:Users[\\/][^\\/]+[\\/]AppData[\\/]Local[\\/])?Te?mp(?:[\\/]|$)",
    re.IGNORECASE,
)


def _unquote(match: re.Match[str]) -> str:
    raw, escaped, double, single = match.groups()
    if raw is not None:
        return str(raw)
    if escaped is not None:
        return _C_ESCAPE.sub(lambda m: _C_ESCAPES.get(m[1], m[1]), escaped)
    if double is not None:
        return _IN_DOUBLE.sub(lambda m: "" if m[1] == "\n" else str(m[1]), double)
    return "" if single == "\n" else str(single)


def unquote(text: str) -> str:
    """What the shell would pass on for this word; expansions are left as written."""
    return _QUOTED.sub(_unquote, text) if _SPECIAL.search(text) else text


def name(word: str) -> str:
    """Program name of a command word: the last part of its path, without a Windows suffix."""
    if word.startswith(("$(", "`")):
        return word
    if "\\" in word:
        word = word.replace("\\", "/")
    if "/" in word:
        word = word.rstrip("/").rpartition("/")[2]
    return _SUFFIX.sub("", word) if "." in word else word


def is_assignment(word: str) -> bool:
    """Is it `NAME=value`?"""
    return "=" in word and _ASSIGNMENT.match(word) is not None


def is_option(word: str) -> bool:
    """Is it a flag? A lone `-` means stdin."""
    return word[:1] == "-" and word != "-"


def has(words: Sequence[str], flags: Collection[str]) -> bool:
    """Does one of the flags stand among the words, alone, with `=value`, or in a cluster such as `-rf`?"""
    for word in words:
        if word[:1] not in "-/" or not word:
            continue
        if word in flags or word.partition("=")[0] in flags:
            return True
        if _CLUSTER.fullmatch(word) and any("-" + letter in flags for letter in word[1:]):
            return True
    return False


def value(words: Sequence[str], flags: Collection[str]) -> str:
    """Value of the first of these flags: the next word, what follows `=`, or what is glued to a short one."""
    for at, word in enumerate(words):
        if word in flags:
            return words[at + 1] if at + 1 < len(words) else ""
        head, equals, rest = word.partition("=")
        if equals and head in flags:
            return rest
        if word[:2] in flags and word[:2] != "--":
            return word[2:]
    return ""


def operand_places(words: Sequence[str], values: Collection[str], start: int = 0) -> Iterator[int]:
    """Places of the words that are neither flags nor flags' values."""
    at, end = start, len(words)
    while at < end:
        word = words[at]
        if word == "--":
            yield from range(at + 1, end)
            return
        if is_option(word):
            at += 2 if word in values else 1
            continue
        yield at
        at += 1


def operands(words: Sequence[str], values: Collection[str] = (), start: int = 0) -> list[str]:
    """The words that are neither flags nor flags' values."""
    return [words[at] for at in operand_places(words, values, start)]


def is_scratch(path: str) -> bool:
    """Does writing there leave the work untouched?"""
    return _SCRATCH.match(path) is not None


def is_path(word: str) -> bool:
    """Can the file be named without running the command?"""
    return bool(word) and not _UNREADABLE.search(word)
