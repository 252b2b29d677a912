"""Streams whose words are clean, or that have none."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b

from msgspec.structs import replace

from assay.sessions.kinds_of_files import table
from assay.sessions.paths import absolute
from assay.sessions.redaction.redactor import Redactor
from assay.sessions.turns import first_words
from assay.types import Call, Edit, Mark, Part, Run, Stream, Turn

APART = "\n\0\n"
"""Between texts that are looked at together: no rule reaches across."""
ENDING = re.compile(r"\.([A-Za-z0-9]{1,5})\Z")
OTHER_ENDINGS = frozenset("md rst txt json yaml yml toml xml html css scss less sql csv ini cfg".split())
TOLD_APART = frozenset({"rm", "git"})
"""Programs that facts ask for by name."""


def clean(stream: Stream, redactor: Redactor) -> Stream:
    """The stream with every secret replaced; the very same where there is none."""
    turns = tuple(cleaned(turn, redactor) for turn in stream.turns)
    about = cleaned_part(stream.about, redactor)
    files = tuple(map(redactor.text, stream.files))
    if (
        about is stream.about
        and files == stream.files
        and all(new is old for new, old in zip(turns, stream.turns, strict=True))
    ):
        return stream
    if redactor.known:  # what was said before the place that gave a value away
        turns = tuple(cleaned(turn, redactor) for turn in turns)
        about = cleaned_part(about, redactor)
    return replace(stream, about=about, turns=turns, files=files)


def cleaned(turn: Turn, redactor: Redactor) -> Turn:
    """A turn with its secrets replaced; most have none, so all its texts are looked at as one first."""
    if not redactor.holds(APART.join(texts(turn))):
        return turn
    text = redactor.text
    return replace(
        turn,
        prompt=turn.prompt and replace(turn.prompt, text=text(turn.prompt.text)),
        replies=tuple(replace(reply, text=text(reply.text)) for reply in turn.replies),
        calls=tuple(cleaned_call(call, text) for call in turn.calls),
        spends=tuple(replace(spend, model=text(spend.model), by=text(spend.by)) for spend in turn.spends),
        marks=tuple(replace(mark, detail=text(mark.detail)) for mark in turn.marks),
        signs=tuple(map(text, turn.signs)),
    )


def texts(turn: Turn) -> Iterator[str]:
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


def cleaned_call(call: Call, text: Callable[[str], str]) -> Call:
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


def cleaned_part(part: Part, redactor: Redactor) -> Part:
    given = (part.title, part.asked, part.branch, part.cwd, *part.branches, *part.signs)
    if not redactor.holds(APART.join(given)):
        return part
    title, asked, branch, cwd, *others = map(redactor.text, given)
    branches, signs = tuple(others[: len(part.branches)]), tuple(others[len(part.branches) :])
    return replace(part, title=title, asked=asked, branch=branch, cwd=cwd, branches=branches, signs=signs)


# --- without words ----------------------------------------------------------------------------


def silent(stream: Stream, silenced_turns: Sequence[bool] = ()) -> Stream:
    """The stream without a word, or without those of some turns: kinds, counts, times, outcomes and line hashes stay.

    Names, paths, targets and commands become hashes, so that facts can still tell one from another. Where it was
    (`cwd`, folders) stays: it is how the owner is known.
    """
    part = stream.about
    which = silenced_turns or [True] * len(stream.turns)
    turns = tuple(
        silenced(turn, partial(hidden_path, cwd=part.cwd), stream.id) if is_silent else turn
        for turn, is_silent in zip(stream.turns, which, strict=True)
    )
    asked = first_words(turn.prompt for turn, is_silent in zip(stream.turns, which, strict=True) if not is_silent)
    return replace(stream, about=replace(part, title="", asked=asked, branch="", branches=()), turns=turns)


def silenced(turn: Turn, path: Callable[..., str], salt: str) -> Turn:
    return replace(
        turn,
        prompt=turn.prompt and replace(turn.prompt, text=""),
        replies=tuple(replace(reply, text="") for reply in turn.replies),
        calls=tuple(silenced_call(call, path, salt) for call in turn.calls),
        spends=tuple(replace(spend, by=hidden(spend.by, salt)) for spend in turn.spends),
        marks=tuple(silenced_mark(mark, salt) for mark in turn.marks),
    )


def silenced_call(call: Call, path: Callable[..., str], salt: str) -> Call:
    return replace(
        call,
        name=hidden(call.name, salt),
        target=path(call.target),
        command=hidden(call.command, salt),
        output="",
        id=hidden(call.id, salt),
        agent=hidden(call.agent, salt),
        by=hidden(call.by, salt),
        edits=tuple(silenced_edit(edit, path) for edit in call.edits),
        runs=tuple(silenced_run(run, path) for run in call.runs),
    )


def silenced_edit(edit: Edit, path: Callable[..., str]) -> Edit:
    return replace(edit, path=path(edit.path), text="")


def silenced_run(run: Run, path: Callable[..., str]) -> Run:
    return replace(
        run,
        program=run.program if run.program in TOLD_APART else "",
        paths=tuple(path(one, folder=run.folder) for one in run.paths),
        folder="",
    )


def silenced_mark(mark: Mark, salt: str) -> Mark:
    if mark.kind == "rollback":  # its detail is a number
        return mark
    return replace(mark, detail=hidden(mark.detail, salt) if mark.kind == "pr" else "")


def hidden(text: str, salt: str) -> str:
    """A stand-in that is the same for the same words of one stream; for a shell it is a comment."""
    words = " ".join(text.split())
    return f"#{digest(f'{salt} {words}')}" if words else ""


def hidden_path(path: str, cwd: str, folder: str = "") -> str:
    """A stand-in that is the same for the same file in every stream, with its ending, if that is a common one."""
    if not path:
        return ""
    whole = absolute(path, absolute(folder, cwd) if folder else cwd)
    ending = ENDING.search(whole)
    is_known = ending is not None and ending[1].lower() in table().code | OTHER_ENDINGS
    return f"/{digest(whole)}{ending[0].lower() if ending and is_known else ''}"


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
