"""Commands that need no syntax tree: words, quoted words without expansions, `&&`, `|` and `2>&1`.

Nearly two thirds of real commands are no more than that. Whatever else occurs is left to the parser,
and a test holds both to the same answer.
"""

import re
from collections.abc import Iterator
from typing import Final

from assay.sessions.shell.simple import Simple, chain, weaken

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


def simples(text: str) -> list[Simple] | None:
    """The simple commands of a plain text; `None` for one that must be parsed."""
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
    return _joined(chained) if all(map(_is_plain, _commands(chained))) else None


def _commands(chained: list[list[list[str]]]) -> Iterator[list[str]]:
    """The words of every command."""
    return (words for piped in chained for words in piped)


def _is_plain(words: list[str]) -> bool:
    """Is it a command at all, and none that changes how the rest is read?"""
    return bool(words) and words[0] not in _GRAMMAR and "=" not in words[0] and words[0][:1].isalpha()


def _joined(chained: list[list[list[str]]]) -> list[Simple]:
    """The commands, told as far as pipes and `&&` leave them heard."""
    found: list[Simple] = []
    for piped in chained:
        start = len(found)
        for words in piped:
            middle = len(found)
            found.append(Simple(words=words, writes=[]))
            if middle > start:
                weaken(found, start, middle, "output")
        if start:
            chain(found, 0, start, len(found))
    return found
