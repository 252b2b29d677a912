"""Replaces secrets by markers, in texts and streams; and makes streams that have no words."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b

from msgspec.structs import replace

from assay.sessions.kinds_of_files import load_file_kinds
from assay.sessions.paths import make_absolute
from assay.sessions.redaction.checks import is_random
from assay.sessions.redaction.finder import NO_OPTIONS, RedactionOptions, Span, load_finder
from assay.sessions.turns import find_first_words
from assay.types import Call, CleanText, Edit, Mark, Part, Run, Stream, Turn

SHORTEST = 6
"""No secret that can be told from other words is shorter, its name included."""
MOST_ROUNDS = 8
MOST_KNOWN = 200
LONGEST_CLEAN, MOST_CLEAN = 200, 20_000
"""Of texts that are known to be clean, so that they are not looked through again."""

APART = "\n\0\n"
"""Between texts that are looked at together: no rule reaches across."""
ENDING = re.compile(r"\.([A-Za-z0-9]{1,5})\Z")
OTHER_ENDINGS = frozenset("md rst txt json yaml yml toml xml html css scss less sql csv ini cfg".split())
HIDDEN_TEXT, HIDDEN_PATH = re.compile(r"#[0-9a-f]{12}"), re.compile(r"/[0-9a-f]{12}")
"""What words and paths become: that stays as it is when the rest of a stream falls silent later."""
KNOWN_PROGRAMS = frozenset({"rm", "git"})
"""Programs that facts ask for by name."""


class Redactor:
    """Replaces secrets by markers: the same value by the same marker, another of its kind by one with a number."""

    def __init__(self, options: RedactionOptions = NO_OPTIONS, engine: str = "") -> None:
        self.found: Counter[str] = Counter()
        """How many of each kind were replaced."""
        self.known: dict[bytes, bytes] = {}
        """Values nobody would say by chance, with their markers: they are replaced wherever they stand."""
        self.finder = partial(load_finder, options, engine)
        self.numbers: dict[str, dict[bytes, int]] = {}

    def text(self, text: str) -> CleanText:
        """The text with every secret replaced."""
        if len(text) < SHORTEST:
            return CleanText(text)
        clean = self.finder().clean
        if text in clean and not self.known:
            return CleanText(text)
        raw = given = text.encode("utf-8", "surrogatepass")
        for _ in range(MOST_ROUNDS):  # what was hidden by its neighbour may show without it
            spans = self.finder().find_spans(raw)
            found = self.replace_known(self.replace_spans(raw, spans) if spans else raw)
            if found is raw:
                break
            raw = found
        if raw is not given:
            return CleanText(raw.decode("utf-8", "surrogatepass"))
        if not self.known and len(text) <= LONGEST_CLEAN and len(clean) < MOST_CLEAN:
            clean.add(text)
        return CleanText(text)

    def holds(self, text: str) -> bool:
        """Whether a text has anything to replace."""
        raw = text.encode("utf-8", "surrogatepass")
        return any(value in raw for value in self.known) or bool(self.finder().find_spans(raw))

    def replace_spans(self, text: bytes, spans: list[Span]) -> bytes:
        """The text with markers for these spans."""
        parts: list[bytes] = []
        at = 0
        for start, end, kind in spans:
            while start > at and is_inside(text[start]):
                start -= 1
            while end < len(text) and is_inside(text[end]):
                end += 1
            parts += [text[at:start], self.build_marker(kind, text[start:end])]
            at = end
        return b"".join([*parts, text[at:]])

    def build_marker(self, kind: str, value: bytes) -> bytes:
        """The marker of a value: numbered from the second of its kind on."""
        known = self.numbers.setdefault(kind, {})
        number = known.setdefault(blake2b(value, digest_size=16).digest(), len(known) + 1)
        self.found[kind] += 1
        marker = f"[redacted:{kind}{f'-{number}' if number > 1 else ''}]".encode()
        if len(self.known) < MOST_KNOWN and is_random(value):
            self.known[value] = marker
        return marker

    def replace_known(self, text: bytes) -> bytes:
        """The text without values that were given away elsewhere."""
        for value, marker in self.known.items():
            if value in text:
                self.found[marker[10:-1].decode().rstrip("-0123456789")] += text.count(value)
                text = text.replace(value, marker)
        return text


def is_inside(byte: int) -> bool:
    """Whether a character began before this byte: none is ever cut in half."""
    return byte & 0xC0 == 0x80


# --- streams whose words are clean ----------------------------------------------------------


def redact_secrets(stream: Stream, redactor: Redactor) -> Stream:
    """The stream with every secret replaced; the very same where there is none."""
    turns = tuple(redact_turn(turn, redactor) for turn in stream.turns)
    about = redact_part(stream.about, redactor)
    files = tuple(map(redactor.text, stream.files))
    if (
        about is stream.about
        and files == stream.files
        and all(new is old for new, old in zip(turns, stream.turns, strict=True))
    ):
        return stream
    if redactor.known:  # what was said before the place that gave a value away
        turns = tuple(redact_turn(turn, redactor) for turn in turns)
        about = redact_part(about, redactor)
    return replace(stream, about=about, turns=turns, files=files)


def redact_turn(turn: Turn, redactor: Redactor) -> Turn:
    """A turn with its secrets replaced; most have none, so all its texts are looked at as one first."""
    if not redactor.holds(APART.join(list_texts(turn))):
        return turn
    text = redactor.text
    return replace(
        turn,
        prompt=turn.prompt and replace(turn.prompt, text=text(turn.prompt.text)),
        replies=tuple(replace(reply, text=text(reply.text)) for reply in turn.replies),
        calls=tuple(redact_call(call, text) for call in turn.calls),
        spends=tuple(replace(spend, model=text(spend.model), by=text(spend.by)) for spend in turn.spends),
        marks=tuple(replace(mark, detail=text(mark.detail)) for mark in turn.marks),
        signs=tuple(map(text, turn.signs)),
    )


def list_texts(turn: Turn) -> Iterator[str]:
    """All words of a turn."""
    if turn.prompt:
        yield turn.prompt.text
    for reply in turn.replies:
        yield reply.text
    for call in turn.calls:
        yield from (call.name, call.target, call.command, call.output, call.id, call.agent, call.by)
        for edit in call.edits:
            yield edit.path
            yield edit.text
        for run in call.runs:
            yield run.program
            yield from run.paths
            yield run.folder
    for spend in turn.spends:
        yield from (spend.model, spend.by)
    for mark in turn.marks:
        yield mark.detail
    yield from turn.signs


def redact_call(call: Call, text: Callable[[str], str]) -> Call:
    return replace(
        call,
        name=text(call.name),
        target=text(call.target),
        command=text(call.command),
        output=text(call.output),
        id=text(call.id),
        agent=text(call.agent),
        by=text(call.by),
        edits=tuple(replace(edit, path=text(edit.path), text=text(edit.text)) for edit in call.edits),
        runs=tuple(
            replace(run, program=text(run.program), paths=tuple(map(text, run.paths)), folder=text(run.folder))
            for run in call.runs
        ),
    )


def redact_part(part: Part, redactor: Redactor) -> Part:
    given = (part.title, part.asked, part.branch, part.cwd, *part.branches, *part.signs)
    if not redactor.holds(APART.join(given)):
        return part
    title, asked, branch, cwd, *others = map(redactor.text, given)
    branches, signs = tuple(others[: len(part.branches)]), tuple(others[len(part.branches) :])
    return replace(part, title=title, asked=asked, branch=branch, cwd=cwd, branches=branches, signs=signs)


# --- without words ----------------------------------------------------------------------------


def silence_stream(stream: Stream, silenced_turns: Sequence[bool] = ()) -> Stream:
    """The stream without a word, or without those of some turns: kinds, counts, times, outcomes and line hashes stay.

    Names, paths, targets and commands become hashes, so that facts can still tell one from another. Where it was
    (`cwd`, folders) stays: it is how the owner is known.
    """
    part = stream.about
    which = silenced_turns or [True] * len(stream.turns)
    turns = tuple(
        silence_turn(turn, partial(hide_path, cwd=part.cwd), stream.id) if is_silent else turn
        for turn, is_silent in zip(stream.turns, which, strict=True)
    )
    asked = find_first_words(turn.prompt for turn, is_silent in zip(stream.turns, which, strict=True) if not is_silent)
    return replace(stream, about=replace(part, title="", asked=asked, branch="", branches=()), turns=turns)


def silence_turn(turn: Turn, path: Callable[..., str], salt: str) -> Turn:
    return replace(
        turn,
        prompt=turn.prompt and replace(turn.prompt, text=""),
        replies=tuple(replace(reply, text="") for reply in turn.replies),
        calls=tuple(silence_call(call, path, salt) for call in turn.calls),
        spends=tuple(replace(spend, by=hide_text(spend.by, salt)) for spend in turn.spends),
        marks=tuple(silence_mark(mark, salt) for mark in turn.marks),
    )


def silence_call(call: Call, path: Callable[..., str], salt: str) -> Call:
    return replace(
        call,
        name=hide_text(call.name, salt),
        target=path(call.target),
        command=hide_text(call.command, salt),
        output="",
        id=hide_text(call.id, salt),
        agent=hide_text(call.agent, salt),
        by=hide_text(call.by, salt),
        edits=tuple(silence_edit(edit, path) for edit in call.edits),
        runs=tuple(silence_run(run, path) for run in call.runs),
    )


def silence_edit(edit: Edit, path: Callable[..., str]) -> Edit:
    return replace(edit, path=path(edit.path), text="")


def silence_run(run: Run, path: Callable[..., str]) -> Run:
    return replace(
        run,
        program=run.program if run.program in KNOWN_PROGRAMS else "",
        paths=tuple(path(one, folder=run.folder) for one in run.paths),
        folder="",
    )


def silence_mark(mark: Mark, salt: str) -> Mark:
    if mark.kind == "rollback":  # its detail is a number
        return mark
    return replace(mark, detail=hide_text(mark.detail, salt) if mark.kind == "pr" else "")


def hide_text(text: str, salt: str) -> str:
    """A stand-in that is the same for the same words of one stream, and its own; for a shell it is a comment."""
    words = " ".join(text.split())
    if HIDDEN_TEXT.fullmatch(words):
        return words
    return f"#{hash_text(f'{salt} {words}')}" if words else ""


def hide_path(path: str, cwd: str, folder: str = "") -> str:
    """A stand-in that is the same for the same file in every stream, and its own; a common ending stays."""
    if not path:
        return ""
    whole = make_absolute(path, make_absolute(folder, cwd) if folder else cwd)
    ending = ENDING.search(whole)
    is_known = ending is not None and ending[1].lower() in load_file_kinds().code | OTHER_ENDINGS
    kept = ending[0].lower() if ending and is_known else ""
    return path if HIDDEN_PATH.fullmatch(path.removesuffix(kept)) else f"/{hash_text(whole)}{kept}"


def hash_text(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
