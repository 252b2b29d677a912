"""The lines a command writes into a file, where its own text holds them: here-documents, `echo`, `printf`."""

import posixpath

from assay.sessions.shell.simple import Simple
from assay.sessions.shell.words import has, name
from assay.types.lines import packed

WRITERS = frozenset({"cat", "tee", "echo", "printf"})
ESCAPED = "\\n"
ANY_TEXT = ("%s", f"%s{ESCAPED}")


def lines_of(program: str, simple: Simple) -> bytes:
    """Hashes of the lines; expansions stay as written, so a line with one is found nowhere."""
    words = simple.words
    if program == "tee":
        return packed(simple.stdin.split("\n"))
    if name(words[0]) != program:
        return b""
    if program == "cat":
        return packed(simple.stdin.split("\n")) if words[1:] in ([], ["-"]) else b""
    return packed(echoed(words[1:]) if program == "echo" else printed(words[1:]))


def appends(program: str, simple: Simple) -> bool:
    """Whether what is in the file stays."""
    return simple.appends or (program == "tee" and has(simple.words, {"-a", "--append"}))


def echoed(words: list[str]) -> list[str]:
    """The lines of `echo`."""
    flags = ""
    while words and words[0] in ("-e", "-n", "-en", "-ne", "-E"):
        flags, words = flags + words[0], words[1:]
    text = " ".join(words)
    return (text.replace(ESCAPED, "\n") if "e" in flags else text).split("\n")


def printed(words: list[str]) -> list[str]:
    """The lines of `printf`: a text without places for others, or the others one to a line."""
    if len(words) > 1 and words[0] in ANY_TEXT:
        return "\n".join(words[1:]).split("\n") if ESCAPED in words[0] else "".join(words[1:]).split("\n")
    return words[0].replace(ESCAPED, "\n").replace("%%", "%").split("\n") if len(words) == 1 else []


def gone_to(simple: Simple, folder: str) -> str:
    """Where the shell stands after a command; what can't be known (`$X`, `-`) becomes a folder that is nowhere."""
    if simple.words[0] == "popd":
        return posixpath.join(folder, "-")
    if simple.words[0] not in ("cd", "pushd"):
        return folder
    target = next((word for word in simple.words[1:] if word == "-" or word[:1] != "-"), "~")
    return target if target.startswith("~") else posixpath.normpath(posixpath.join(folder, target))
