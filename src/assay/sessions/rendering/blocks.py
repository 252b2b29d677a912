"""A turn as blocks of lines, each with the shorter shapes it can take."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, Literal

from msgspec import Struct

from assay.sessions.calls import find_telling_line, has_failed, list_made_edits
from assay.sessions.rendering.frame import PREFIX, format_one_line, format_quiet, quote_names, quote_text
from assay.sessions.rendering.words import (
    EDIT_VERBS,
    KIND_NAMES,
    MARK_NAMES,
    PROMPT_HEADS,
    FileNames,
    describe_calls,
    describe_end,
    format_count,
    format_lines,
    format_time,
    format_times,
)
from assay.sessions.speech import split_prompt
from assay.types import Call, CallKind, Edit, Mark, Reply, Turn

DIRECTIVES = re.compile(r"^::git-[a-z-]{1,40}\{[^\n]{0,2000}\}[ \t]*$\n?", re.MULTILINE)
"""What Codex tells its own window at the end of a reply; the words are above."""


Cut = Literal["outputs", "diffs", "lists", "templates", "replies", "errors", "middles", "heads"]
"""What is shortened, in this order."""
Shape = Callable[[], list[str]]

ALL = (20_000, 10_000)
PROMPT = (40_000, 10_000)
TEMPLATE = (400, 100)
"""Of what a template brought: it says how such work is done, not what was done."""
PROMPT_SHORT, FIRST_SHORT = (1_200, 400), (3_000, 1_000)
SAID: frozenset[CallKind] = frozenset({"agent", "ask", "plan"})
TOOLS: frozenset[CallKind] = frozenset({"web", "skill", "mcp", "other"})
CONCLUSION = (200, 400)
"""Of a reply that must be short: it opens with what came out, and ends on what is left."""
EVER = 1_000_000
TOGETHER = {"edits": 8, "quiet": 8, "tools": 8, "looks": 24}
"""Calls of a kind that make one block; more, and too much would go at once."""
SHORT = 120
MOST_FILES = 8


class TextLimits(Struct, frozen=True):
    """Characters shown of the head and the tail of each sort of text."""

    command: tuple[int, int] = (400, 150)
    printed: tuple[int, int] = (0, 300)
    failed: tuple[int, int] = (300, 900)
    between: tuple[int, int] = (0, 240)
    words: tuple[int, int] = (400, 1_200)
    report: tuple[int, int] = (200, 800)
    plan: tuple[int, int] = (1_200, 400)
    target: int = 160
    names: int = 400
    diff: int = 600


EARLY = TextLimits()
LAST = TextLimits(
    command=ALL, printed=ALL, failed=ALL, between=ALL, words=ALL, report=ALL, plan=ALL, target=400, names=2_000
)
"""The final turns: all that was kept."""


class TextBlock(Struct, frozen=True):
    """Some lines of a turn; `shorter` are the shapes it can take, and a later cut's holds for all before it."""

    turn: int
    full: Shape
    shorter: dict[Cut, Shape] = {}


class TurnView(Struct, frozen=True):
    """Where a turn stands in the session."""

    number: int
    is_last: bool
    """One of the final turns."""
    is_first: bool
    names: FileNames

    @property
    def limits(self) -> TextLimits:
        return LAST if self.is_last else EARLY


class LastReply(Struct, frozen=True):
    """The last reply of a turn."""

    reply: Reply | None
    is_end: bool
    """Nothing followed."""


def build_blocks(turn: Turn, view: TurnView) -> Iterator[TextBlock]:
    """Blocks of a turn: the prompt, then all that happened, in its order."""
    yield build_opening(turn, view)
    said = [one for one in turn.replies if find_reply_words(one)]
    busy = [one for one in turn.calls if not is_idle(one)]
    # each of the three keeps its own order, whatever the times say
    things: list[Any] = list(merge(busy, said, turn.marks, key=attrgetter("at")))
    last = LastReply(reply=said[-1] if said else None, is_end=bool(things) and isinstance(things[-1], Reply))
    for sort, group in group_neighbours(things):
        match group[0]:
            case Reply():
                yield from (build_reply(one, last if one is last.reply else None, view) for one in group)
            case Mark():
                yield build_marks(group, view)
            case _:
                yield from BLOCK_BUILDERS[sort](group, view)


def is_idle(call: Call) -> bool:
    """Whether a call tells a reviewer nothing: a to-do list that was kept up."""
    return call.kind == "todo" and call.status == "ok" and not call.by


def group_neighbours(things: Iterable[Call | Reply | Mark]) -> Iterator[tuple[str, list[Any]]]:
    """Neighbours of a sort, up to a number."""
    for sort, group in groupby(things, key=find_sort):
        while some := list(islice(group, TOGETHER.get(sort, EVER))):
            yield sort, some


def find_sort(thing: Call | Reply | Mark) -> str:
    if not isinstance(thing, Call):
        return thing.kind if isinstance(thing, Mark) else "reply"
    if thing.by:
        return "others"
    if thing.status != "ok" or thing.kind in SAID or has_failed(thing):
        return "singles"
    if thing.kind == "edit":
        return "edits" if thing.edits else "singles"
    if thing.kind == "shell":
        is_telling = thing.commits or thing.edits or any(run.purpose or run.mutates for run in thing.runs)
        return "singles" if is_telling else "quiet"
    return "tools" if thing.kind in TOOLS else "looks"


# --- what was said ----------------------------------------------------------------------------


def build_opening(turn: Turn, view: TurnView) -> TextBlock:
    """The block of the prompt, and who speaks it."""
    prompt = turn.prompt
    if prompt is None:
        return TextBlock(view.number, lambda: [format_headline(turn, view.number)])

    def render(head: int, tail: int) -> list[str]:
        return [format_headline(turn, view.number) + ":", *quote_text(prompt.text, head, tail)]

    def render_typed() -> list[str]:
        told = [quote_text(one.text, *(TEMPLATE if one.owner == "template" else PROMPT)) for one in pieces]
        return [format_headline(turn, view.number) + ":", *(line for lines in told for line in lines)]

    short = FIRST_SHORT if view.is_first else PROMPT_SHORT
    pieces = split_prompt(prompt) if prompt.kind != "plan" else ()
    shorter: dict[Cut, Shape] = {} if view.is_last else {"middles": lambda: render(*short)}
    if any(one.owner == "template" for one in pieces):
        shorter = {"templates": render_typed, **shorter}
    return TextBlock(view.number, lambda: render(*PROMPT), shorter)


def format_headline(turn: Turn, number: int) -> str:
    """The line that begins a turn."""
    if turn.prompt is None:
        return f"[turn {number}] nobody speaks{format_time(turn.at)}"
    images = ", " + format_count(turn.prompt.images, "image", "images") if turn.prompt.images else ""
    return f"[turn {number}] {PROMPT_HEADS[turn.prompt.kind]}{format_time(turn.prompt.at)}{images}"


def find_reply_words(reply: Reply) -> str:
    """The words of a reply, without Codex's directives."""
    return DIRECTIVES.sub("", reply.text).strip()


def build_reply(said: Reply, last: LastReply | None, view: TurnView) -> TextBlock:
    """The block of a reply: of those between calls the end, of the last one more."""
    limits = view.limits
    text = find_reply_words(said)
    if last is None:
        between = limits.between
        return TextBlock(view.number, lambda: ["- the agent says:", *quote_text(text, *between)], {"replies": list})

    def render(head: int, tail: int) -> list[str]:
        return ["- the agent's last words:" if last.is_end else "- the agent says:", *quote_text(text, head, tail)]

    return TextBlock(view.number, lambda: render(*limits.words), {"replies": lambda: render(*CONCLUSION)})


def build_marks(marks: Sequence[Mark], view: TurnView) -> TextBlock:
    """The block of marks: the same things in a row as one."""
    first = marks[0]
    head = f"- {MARK_NAMES[first.kind]}{format_times(len(marks))}"
    if first.kind not in ("pr", "api_error", "rollback") or not first.detail.strip():
        return TextBlock(view.number, lambda: [head])
    details = list(dict.fromkeys(mark.detail for mark in marks if mark.detail.strip()))
    return TextBlock(view.number, lambda: [f"{head}:", *quote_names(details[:MOST_FILES], 200)])


# --- what was done, call by call or in sum --------------------------------------------------


def build_single_blocks(calls: Sequence[Call], view: TurnView) -> Iterator[TextBlock]:
    """Blocks of calls that are told one by one."""
    for call in calls:
        yield build_tool_reply(call, view) if call.kind in SAID else build_single_block(call, view)


def build_single_block(call: Call, view: TurnView) -> TextBlock:
    """The block of a call with what it printed; of one that failed, at least the line that tells why."""
    limits = view.limits
    is_bad = call.status != "ok" or has_failed(call)
    what = f"- {KIND_NAMES[call.kind][0]}: {describe_end(call)}:"

    def render(output: tuple[int, int]) -> list[str]:
        return [what, *quote_text(find_subject(call, view), *limits.command), *quote_output(call, output)]

    def render_short() -> list[str]:
        tail = ["- why:", *quote_names([find_telling_line(call)], 200)] if is_bad and call.output.strip() else []
        return [what, *quote_names([find_subject(call, view)], SHORT), *tail]

    if is_bad:
        return TextBlock(view.number, lambda: render(limits.failed), {"errors": render_short})
    return TextBlock(
        view.number, lambda: render(limits.printed), {"outputs": lambda: render((0, 0)), "lists": render_short}
    )


def find_subject(call: Call, view: TurnView) -> str:
    """What a call was about: its command, its files, its tool and target."""
    if call.command:
        return call.command
    if call.kind in TOOLS:
        return f"{call.name} {call.target}"
    is_file = call.kind in ("read", "edit")
    return (view.names.shorten_path(call.target) if is_file else call.target) or call.name


def quote_output(call: Call, limit: tuple[int, int]) -> list[str]:
    """What a call printed, and the line that names its failure where that would be cut out."""
    text = call.output.strip()
    if not text or limit == (0, 0) or call.status == "rejected":  # then the client speaks to the model
        return []
    head, tail = limit
    lines = ["- it printed:", *quote_text(text, head, tail)]
    if has_failed(call) and (why := find_telling_line(call)) not in text[:head] and why not in text[len(text) - tail :]:
        lines += ["- why:", *quote_names([why], 200)]
    return lines


def build_tool_reply(call: Call, view: TurnView) -> TextBlock:
    """The block of a sub-agent's report, a question with its answer, a plan."""
    limits = view.limits
    about = limits.plan if call.kind == "plan" else (limits.target, 0)
    head = f"- {KIND_NAMES[call.kind][0]}: {describe_end(call)}:"
    answer = {"agent": "- it reported:", "ask": "- the answer:"}.get(call.kind, "- the reply:")

    told = call.output.strip()
    if call.kind == "plan":  # the client repeats the plan in its reply, or speaks to the model
        told = told.replace(call.target.strip(), "").strip() if call.target.strip() else ""

    def render(target: tuple[int, int], output: tuple[int, int]) -> list[str]:
        said = [answer, *quote_text(told, *output)] if told else []
        return [head, *quote_text(call.target or call.name, *target), *said]

    return TextBlock(
        view.number,
        lambda: render(about, limits.report),
        {"replies": lambda: render((SHORT, 0), (100, 300))},
    )


def build_edit_blocks(calls: Sequence[Call], view: TurnView) -> Iterator[TextBlock]:
    """Blocks of edits in a row: each with its diff, or the files with their lines."""
    edits = [edit for call in calls for edit in list_made_edits(call)]
    total = f"- {format_count(len(edits), 'edit', 'edits')}, {format_lines(edits)} lines:"

    def render_diffs() -> list[str]:
        return [line for edit in edits for line in render_diff(edit, view)]

    def render_files() -> list[str]:
        return [total, *list_files(edits, view.names)]

    yield TextBlock(view.number, render_diffs, {"diffs": render_files})


def render_diff(edit: Edit, view: TurnView) -> list[str]:
    """The lines of one edit."""
    head = f"- {EDIT_VERBS[edit.how]} a file, {format_lines([edit])} lines:"
    text = quote_text(edit.text, view.limits.diff) if edit.text.strip() else []
    return [head, *quote_names([view.names.shorten_path(edit.path)], 2 * SHORT), *text]


def list_files(edits: Sequence[Edit], names: FileNames) -> list[str]:
    """The files with their lines, those first that were changed most often."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.path, []).append(edit)
    ranked = sorted(by_file, key=lambda path: -len(by_file[path]))
    shown = [f"{PREFIX}{names.shorten_path(path)} {format_lines(by_file[path])}" for path in ranked[:MOST_FILES]]
    more = len(ranked) - len(shown)
    return [*shown, f"- and {format_count(more, 'more file', 'more files')}"] if more else shown


def build_quiet_blocks(calls: Sequence[Call], view: TurnView) -> Iterator[TextBlock]:
    """Blocks of commands that ended well, checked nothing and changed nothing."""
    head = format_quiet(len(calls))
    limits = view.limits

    def render_commands() -> list[str]:
        return [f"{head}:", *quote_names((call.command for call in calls), limits.target)]

    def render_full() -> list[str]:
        return [line for call in calls for line in build_single_block(call, view).full()]

    shorter: dict[Cut, Shape] = {"lists": lambda: [head]}
    if view.is_last:
        yield TextBlock(view.number, render_full, {"outputs": render_commands, **shorter})
    else:
        yield TextBlock(view.number, render_commands, shorter)


def build_look_blocks(calls: Sequence[Call], view: TurnView) -> Iterator[TextBlock]:
    """The block of what was read and searched."""
    yield TextBlock(
        view.number,
        lambda: list_subjects("looked", calls, view),
        {"lists": lambda: [f"- looked: {describe_calls(calls)}"]},
    )


def build_tool_blocks(calls: Sequence[Call], view: TurnView) -> Iterator[TextBlock]:
    """Blocks of other tools; in the final turns with what they gave."""
    head = f"- used: {describe_calls(calls)}"

    def render_full() -> list[str]:
        lines: list[str] = []
        for has_output, some in groupby(calls, key=lambda call: bool(call.output.strip())):
            each = list(some)
            told = [line for call in each for line in build_single_block(call, view).full()] if has_output else []
            lines += told or list_subjects("used", each, view)
        return lines

    shorter: dict[Cut, Shape] = {"lists": lambda: [head]}
    if view.is_last:
        yield TextBlock(view.number, render_full, {"outputs": lambda: list_subjects("used", calls, view), **shorter})
    else:
        yield TextBlock(view.number, lambda: list_subjects("used", calls, view), shorter)


def list_subjects(verb: str, calls: Sequence[Call], view: TurnView) -> list[str]:
    """How many calls of each kind, and what they were about."""
    names = Counter(format_one_line(find_subject(call, view), 80) for call in calls)
    told = ", ".join(f"{name} ({n}×)" if n > 1 else name for name, n in names.items() if name)
    head = f"- {verb}: {describe_calls(calls)}"
    return [f"{head}:", *quote_names([told], view.limits.names)] if told else [head]


def build_subagent_blocks(calls: Sequence[Call], view: TurnView) -> Iterator[TextBlock]:
    """The block of what sub-agents did, in sum."""
    edits = [edit for call in calls for edit in list_made_edits(call)]
    head = f"- sub-agents: {describe_calls(calls)}" + (f"; {format_lines(edits)} lines" if edits else "")
    files = [f"{head}:", *list_files(edits, view.names)] if edits else [head]
    yield TextBlock(view.number, lambda: files, {"lists": lambda: [head]})


BLOCK_BUILDERS: dict[str, Callable[[Sequence[Call], TurnView], Iterator[TextBlock]]] = {
    "singles": build_single_blocks,
    "edits": build_edit_blocks,
    "quiet": build_quiet_blocks,
    "looks": build_look_blocks,
    "tools": build_tool_blocks,
    "others": build_subagent_blocks,
}
