"""What was done in a turn, call by call or in sum."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from assay.sessions.calls import made_edits, telling_line
from assay.sessions.rendering.frame import PREFIX, named, one_line, quiet, quoted
from assay.sessions.rendering.names import Names
from assay.sessions.rendering.shapes import MOST_FILES, SAID, SHORT, TOOLS, Block, Cut, Scene, Shape, has_failed
from assay.sessions.rendering.words import HOW, KINDS, counted, ended, lines_of, several
from assay.types import Call, Edit


def singles(calls: Sequence[Call], scene: Scene) -> Iterator[Block]:
    """Calls that are told one by one."""
    for call in calls:
        yield said_by_tool(call, scene) if call.kind in SAID else single(call, scene)


def single(call: Call, scene: Scene) -> Block:
    """A call with what it printed; of one that failed, at least the line that tells why."""
    limits = scene.limits
    is_bad = call.status != "ok" or has_failed(call)
    what = f"- {KINDS[call.kind][0]}: {ended(call)}:"

    def told(output: tuple[int, int]) -> list[str]:
        return [what, *quoted(subject(call, scene), *limits.command), *printed(call, output)]

    def briefly() -> list[str]:
        tail = ["- why:", *named([telling_line(call)], 200)] if is_bad and call.output.strip() else []
        return [what, *named([subject(call, scene)], SHORT), *tail]

    if is_bad:
        return Block(scene.number, lambda: told(limits.failed), {"errors": briefly})
    return Block(scene.number, lambda: told(limits.printed), {"outputs": lambda: told((0, 0)), "lists": briefly})


def subject(call: Call, scene: Scene) -> str:
    """What a call was about: its command, its files, its tool and target."""
    if call.command:
        return call.command
    if call.kind in TOOLS:
        return f"{call.name} {call.target}"
    is_file = call.kind in ("read", "edit")
    return (scene.names.short(call.target) if is_file else call.target) or call.name


def printed(call: Call, limit: tuple[int, int]) -> list[str]:
    """What a call printed, and the line that names its failure where that would be cut out."""
    text = call.output.strip()
    if not text or limit == (0, 0) or call.status == "rejected":  # then the client speaks to the model
        return []
    head, tail = limit
    lines = ["- it printed:", *quoted(text, head, tail)]
    if has_failed(call) and (why := telling_line(call)) not in text[:head] and why not in text[len(text) - tail :]:
        lines += ["- why:", *named([why], 200)]
    return lines


def said_by_tool(call: Call, scene: Scene) -> Block:
    """A sub-agent's report, a question with its answer, a plan."""
    limits = scene.limits
    about = limits.plan if call.kind == "plan" else (limits.target, 0)
    head = f"- {KINDS[call.kind][0]}: {ended(call)}:"
    answer = {"agent": "- it reported:", "ask": "- the answer:"}.get(call.kind, "- the reply:")

    def told(target: tuple[int, int], output: tuple[int, int]) -> list[str]:
        said = [answer, *quoted(call.output, *output)] if call.output.strip() else []
        return [head, *quoted(call.target or call.name, *target), *said]

    return Block(
        scene.number,
        lambda: told(about, limits.report),
        {"replies": lambda: told((SHORT, 0), (100, 300))},
    )


def edited(calls: Sequence[Call], scene: Scene) -> Iterator[Block]:
    """Edits in a row: each with its diff, or the files with their lines."""
    edits = [edit for call in calls for edit in made_edits(call)]
    total = f"- {several(len(edits), 'edit', 'edits')}, {lines_of(edits)} lines:"

    def with_diffs() -> list[str]:
        return [line for edit in edits for line in diff(edit, scene)]

    def files() -> list[str]:
        return [total, *files_of(edits, scene.names)]

    yield Block(scene.number, with_diffs, {"diffs": files})


def diff(edit: Edit, scene: Scene) -> list[str]:
    """One edit."""
    head = f"- {HOW[edit.how]} a file, {lines_of([edit])} lines:"
    text = quoted(edit.text, scene.limits.diff) if edit.text.strip() else []
    return [head, *named([scene.names.short(edit.path)], 2 * SHORT), *text]


def files_of(edits: Sequence[Edit], names: Names) -> list[str]:
    """The files with their lines, those first that were changed most often."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.path, []).append(edit)
    ranked = sorted(by_file, key=lambda path: -len(by_file[path]))
    shown = [f"{PREFIX}{names.short(path)} {lines_of(by_file[path])}" for path in ranked[:MOST_FILES]]
    more = len(ranked) - len(shown)
    return [*shown, f"- and {several(more, 'more file', 'more files')}"] if more else shown


def calm(calls: Sequence[Call], scene: Scene) -> Iterator[Block]:
    """Commands that ended well, checked nothing and changed nothing."""
    head = quiet(len(calls))
    limits = scene.limits

    def each() -> list[str]:
        return [f"{head}:", *named((call.command for call in calls), limits.target)]

    def in_full() -> list[str]:
        return [line for call in calls for line in single(call, scene).full()]

    shorter: dict[Cut, Shape] = {"lists": lambda: [head]}
    if scene.is_last:
        yield Block(scene.number, in_full, {"outputs": each, **shorter})
    else:
        yield Block(scene.number, each, shorter)


def looked(calls: Sequence[Call], scene: Scene) -> Iterator[Block]:
    """What was read and searched."""
    yield Block(
        scene.number, lambda: listed("looked", calls, scene), {"lists": lambda: [f"- looked: {counted(calls)}"]}
    )


def used(calls: Sequence[Call], scene: Scene) -> Iterator[Block]:
    """Other tools; in the final turns with what they gave."""
    head = f"- used: {counted(calls)}"

    def in_full() -> list[str]:
        lines: list[str] = []
        for has_output, some in groupby(calls, key=lambda call: bool(call.output.strip())):
            each = list(some)
            told = [line for call in each for line in single(call, scene).full()] if has_output else []
            lines += told or listed("used", each, scene)
        return lines

    shorter: dict[Cut, Shape] = {"lists": lambda: [head]}
    if scene.is_last:
        yield Block(scene.number, in_full, {"outputs": lambda: listed("used", calls, scene), **shorter})
    else:
        yield Block(scene.number, lambda: listed("used", calls, scene), shorter)


def listed(verb: str, calls: Sequence[Call], scene: Scene) -> list[str]:
    """How many calls of each kind, and what they were about."""
    names = Counter(one_line(subject(call, scene), 80) for call in calls)
    told = ", ".join(f"{name} ({n}×)" if n > 1 else name for name, n in names.items() if name)
    head = f"- {verb}: {counted(calls)}"
    return [f"{head}:", *named([told], scene.limits.names)] if told else [head]


def others(calls: Sequence[Call], scene: Scene) -> Iterator[Block]:
    """What sub-agents did, in sum."""
    edits = [edit for call in calls for edit in made_edits(call)]
    head = f"- sub-agents: {counted(calls)}" + (f"; {lines_of(edits)} lines" if edits else "")
    files = [f"{head}:", *files_of(edits, scene.names)] if edits else [head]
    yield Block(scene.number, lambda: files, {"lists": lambda: [head]})


SHAPED: dict[str, Callable[[Sequence[Call], Scene], Iterator[Block]]] = {
    "singles": singles,
    "edits": edited,
    "quiet": calm,
    "looks": looked,
    "tools": used,
    "others": others,
}
