"""A session, or its prompts alone, as a judge reads them within a budget."""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from assay.sessions.calls import find_telling_line, has_failed, list_made_edits
from assay.sessions.endings import find_ending_kind
from assay.sessions.rendering.blocks import (
    TextBlock,
    TurnView,
    build_blocks,
    find_reply_words,
    format_headline,
    list_files,
)
from assay.sessions.rendering.budget import FINAL_TURNS, Sheet, find_fewest, find_room, format_notice, weigh_lines
from assay.sessions.rendering.frame import PREFIX, quote_names, quote_text, render_frame
from assay.sessions.rendering.repeats import drop_repeats
from assay.sessions.rendering.words import (
    PROMPT_HEADS,
    TURN_ENDS,
    FileNames,
    describe_turns,
    find_names,
    format_count,
    format_time,
    list_titles,
)
from assay.types import Mark, Prompt, Turn

IN_PART = "everything else in part"
AFTER, AFTER_SHORT = (2_000, 500), (300, 100)

SHOWN, LESS, LEAST = (1_500, 500), (400, 100), (160, 0)
HEADS = (160, 60, 30, 8)
MOST_PROMPT_FILES, LONGEST_NAME = 6, 60
MOST_TITLES, LONGEST_TITLE, LONGEST_CLOSING = 4, 100, 160
EVERYTHING = 1 << 60
QUOTED = PREFIX.rstrip()


class Brief(Struct, frozen=True):
    """How much of a turn is told."""

    prompt: tuple[int, int] = (160, 0)
    """Characters of its head and tail; without a tail, of its first line."""
    failures: int = 2
    words: int = 0
    """Characters of the last reply, a third of them at its beginning."""
    is_counted: bool = True
    has_files: bool = False


EARLY_BRIEF = Brief()
LAST_BRIEFS = (
    Brief(prompt=(2_000, 500), failures=8, words=1_200, has_files=True),
    Brief(prompt=(800, 200), failures=4, words=600, has_files=True),
    Brief(prompt=(300, 100), failures=3, words=300),
)
SQUEEZED = (
    Brief(prompt=(300, 100), failures=2, words=200),
    Brief(prompt=(120, 0), failures=1, words=100),
    Brief(prompt=(60, 0), failures=1, words=40),
    Brief(prompt=(30, 0), failures=0),
    Brief(prompt=(8, 0), failures=0, is_counted=False),
)


class RenderRequest(Struct, frozen=True):
    """What is rendered, and how much room there is."""

    turns: Sequence[Turn]
    after: Prompt | None
    tokens: int
    room: int
    names: FileNames

    @property
    def early(self) -> int:
        """How many turns come before the final ones."""
        return max(len(self.turns) - FINAL_TURNS, 0)


def render_session(turns: Sequence[Turn], after: Prompt | None, tokens: int) -> str:
    """What happened in these turns, and what the person said next elsewhere: never more than so many tokens.

    What is left out, and in which order, is in `docs/concepts/rendering.md`; the text itself says it too.
    """
    turns = name_pulls_once(turns)
    what = format_count(len(turns), "turn", "turns")
    request = RenderRequest(turns, after, tokens, find_room(what, tokens), find_names(turns))
    lines = fit_session(replace(request, room=EVERYTHING))
    shown = drop_repeats(lines)
    if weigh_lines(shown) > request.room:  # what is told once leaves room for what would be left out
        saved = weigh_lines(lines) - weigh_lines(shown)
        shown = drop_repeats(fit_session(replace(request, room=request.room + saved)))
    if weigh_lines(shown) > request.room:
        shown = drop_repeats(fit_session(request))
    return render_frame(what, shown)


def name_pulls_once(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns, each pull request named where it first is: clients tell of it again and again."""
    known: set[str] = set()

    def is_new(mark: Mark) -> bool:
        if mark.kind != "pr" or mark.detail not in known:
            known.update([mark.detail] if mark.kind == "pr" else [])
            return True
        return False

    return [replace(turn, marks=tuple(filter(is_new, turn.marks))) if turn.marks else turn for turn in turns]


def fit_session(request: RenderRequest) -> list[str]:
    """The lines of a session, shortened until there is room for them."""
    sheet = Sheet(list(build_session_blocks(request)), len(request.turns), request.tokens, request.room)
    return list(sheet.list_lines()) if sheet.shorten_blocks() else render_brief_session(request, sheet)


def build_session_blocks(request: RenderRequest) -> Iterator[TextBlock]:
    """All blocks of a session, in order."""
    if request.names.folder:
        yield TextBlock(0, request.names.list_lines)
    first = next((n for n, turn in enumerate(request.turns, 1) if turn.prompt), 1)
    for n, turn in enumerate(request.turns, 1):
        yield from build_blocks(turn, TurnView(n, n > request.early, n == first, request.names))
    if (after := request.after) is not None:
        head, number = format_next_head(request), len(request.turns) + 1
        yield TextBlock(
            number,
            lambda: [head, *quote_text(after.text, *AFTER)],
            {"middles": lambda: [head, *quote_text(after.text, *AFTER_SHORT)]},
        )


def list_own_lines(turn: Turn, number: int) -> list[str]:
    """What our own lines say of a turn: no word of the transcript."""
    blocks = build_blocks(turn, TurnView(number, is_last=True, is_first=False, names=FileNames()))
    return [line.removeprefix("- ") for block in blocks for line in block.full() if not line.startswith(QUOTED)]


def format_next_head(request: RenderRequest) -> str:
    """The line above the prompt that belongs to another session."""
    assert request.after is not None
    how, at = PROMPT_HEADS[request.after.kind], format_time(request.after.at)
    return f"[turn {len(request.turns) + 1}] another session, next in the same conversation: {how}{at}:"


# --- where shorter shapes are not enough ------------------------------------------------------


def render_brief_session(request: RenderRequest, sheet: Sheet) -> list[str]:
    """Turns in short, oldest first, then the final ones; then folded into one line; then hardly more than prompts."""
    wholes = group_by_turn(sheet)
    total = sum(map(weigh_lines, wholes.values()))
    for n, brief in list_briefs(request):
        short = render_brief_turn(request.turns[n - 1], n, brief, request.names)
        if (less := weigh_lines(wholes[n]) - weigh_lines(short)) > 0:
            wholes[n], total = short, total - less
        note = format_notice(request.tokens, [f"{'older' if n <= request.early else 'all'} turns in short", IN_PART])
        if total + weigh_lines([note]) <= request.room:
            return [note, *chain.from_iterable(wholes.values())]
    return fold_oldest(request, wholes) or squeeze_session(request)


def list_briefs(request: RenderRequest) -> Iterator[tuple[int, Brief]]:
    """Which turn is told in short next, and in how much."""
    yield from ((n, EARLY_BRIEF) for n in range(2, request.early + 1))
    if request.early:
        yield 1, EARLY_BRIEF
    for brief in LAST_BRIEFS:
        yield from ((n, brief) for n in range(request.early + 1, len(request.turns) + 1))


def group_by_turn(sheet: Sheet) -> dict[int, list[str]]:
    """The lines of each turn as they stand."""
    found: dict[int, list[str]] = {}
    for block, lines in zip(sheet.blocks, sheet.lines, strict=True):
        found.setdefault(block.turn, []).extend(lines)
    return found


def fold_oldest(request: RenderRequest, wholes: dict[int, list[str]]) -> list[str]:
    """The oldest turns but the first in one line, as few as will do; nothing where that won't do."""

    def render_lines(last: int) -> list[str]:
        note = format_notice(request.tokens, [f"turns 2-{last} folded", "all others in short"])
        before = [line for n, one in wholes.items() if n < 2 for line in one]
        behind = [line for n, one in wholes.items() if n > last for line in one]
        return [note, *before, *fold_turns(request.turns[1:last], 2), *behind]

    last = (
        find_fewest(2, request.early, lambda last: weigh_lines(render_lines(last)) <= request.room)
        if request.early >= 2
        else None
    )
    return render_lines(last) if last else []


def squeeze_session(request: RenderRequest) -> list[str]:
    """The first and the final prompts, as much of them as there is room for."""
    lines: list[str] = []
    for brief in SQUEEZED:
        lines = render_squeezed(request, brief)
        if weigh_lines(lines) <= request.room:
            break
    return lines


def render_squeezed(request: RenderRequest, brief: Brief) -> list[str]:
    """The whole session with every turn as short as `brief` says."""
    early = request.early
    lines = [format_notice(request.tokens, ["prompts in part, hardly anything else"])]
    if early:
        lines += render_brief_turn(request.turns[0], 1, brief, FileNames())
        lines += fold_turns(request.turns[1:early], 2, is_counted=brief.is_counted)
    for n, turn in enumerate(request.turns[early:], early + 1):
        lines += render_brief_turn(turn, n, brief, FileNames())
    if request.after is not None:
        lines += [format_next_head(request), *quote_prompt(request.after.text, brief.prompt)]
    return lines


# --- all prompts of a conversation, for whoever looks for topic shifts ----------------------


def render_prompts(turns: Sequence[Turn], tokens: int, branch: str = "") -> str:
    """Every prompt with the number of its turn, and in a few lines what was done before the next."""
    turns = name_pulls_once(turns)
    what = format_count(len(turns), "turn", "turns") + ", prompts only"
    room = find_room(what, tokens)
    called = find_names(turns)
    told = [block for n, turn in enumerate(turns, 1) for block in build_prompt_blocks(turn, n, called)]
    names = [*called.list_lines(), *(["- branch:", *quote_names([branch], LONGEST_NAME)] if branch else [])]
    sheet = Sheet([*([TextBlock(0, lambda: names)] if names else []), *told], 0, tokens, room)
    lines = list(sheet.list_lines()) if sheet.shorten_blocks() else render_brief_prompts(turns, tokens, room)
    return render_frame(what, drop_repeats(lines))


def build_prompt_blocks(turn: Turn, number: int, called: FileNames) -> Iterator[TextBlock]:
    """Blocks of a prompt, what it led to, and the files of it."""

    def render_prompt(limit: tuple[int, int]) -> list[str]:
        head = format_headline(turn, number)
        return [f"{head}:", *quote_prompt(turn.prompt.text, limit)] if turn.prompt else [head]

    yield TextBlock(
        number,
        lambda: render_prompt(SHOWN),
        {"middles": lambda: render_prompt(LESS), "heads": lambda: render_prompt(LEAST)},
    )
    files = list(dict.fromkeys(edit.path for call in turn.calls for edit in list_made_edits(call)))
    then = f"- then: {describe_turns([turn])}; {TURN_ENDS[find_ending_kind(turn)]}"
    more = len(files) - MOST_PROMPT_FILES

    def render_files() -> list[str]:
        listed = ", ".join(called.shorten_path(path, LONGEST_NAME) for path in files[:MOST_PROMPT_FILES])
        rest = [f"- and {format_count(more, 'more file', 'more files')}"] if more > 0 else []
        return [f"{then}; files:", *quote_names([listed], MOST_PROMPT_FILES * (LONGEST_NAME + 3)), *rest]

    yield TextBlock(number, render_files if files else lambda: [then], {"lists": lambda: [then]})
    if titles := list_titles(turn.calls):
        told = ["- branches, commits and pull requests:", *quote_names(titles[:MOST_TITLES], LONGEST_TITLE)]
        yield TextBlock(number, lambda: told, {"lists": list})
    words = next((text for reply in reversed(turn.replies) if (text := find_reply_words(reply))), "")
    if closing := next((line for line in words[: SHOWN[0]].splitlines() if line.strip(" #*_`-")), ""):
        begins = ["- the agent's closing words begin:", *quote_names([closing], LONGEST_CLOSING)]
        yield TextBlock(number, lambda: begins, {"replies": list})


def render_brief_prompts(turns: Sequence[Turn], tokens: int, room: int) -> list[str]:
    """The first words of each prompt; of the oldest but the first, only how many there were."""
    most = max(len(turns) - FINAL_TURNS, 1)
    for characters in HEADS:
        sketch = PromptSketch(turns, tokens, room, characters)
        if (last := find_fewest(1, most, sketch.is_fitting)) is not None:
            return sketch.list_lines(last)
    return PromptSketch(turns, tokens, room, HEADS[-1]).list_lines(most)


class PromptSketch(Struct, frozen=True):
    """Prompts by their first characters."""

    turns: Sequence[Turn]
    tokens: int
    room: int
    characters: int

    def list_lines(self, last: int) -> list[str]:
        """All prompts, those from the second to the `last` in one line."""
        hidden = f"turns 2-{last} folded" if last > 1 else "what was done"
        fold = fold_turns(self.turns[1:last], 2, is_counted=False)
        shown = [n for n in range(1, len(self.turns) + 1) if not 2 <= n <= last]
        told = [self.render_turn(n) for n in shown]
        return [
            format_notice(self.tokens, [hidden, "prompts in part"]),
            *(line for lines in told[:1] for line in lines),
            *fold,
            *(line for lines in told[1:] for line in lines),
        ]

    def render_turn(self, n: int) -> list[str]:
        turn = self.turns[n - 1]
        head = format_headline(turn, n)
        return [f"{head}:", *quote_prompt(turn.prompt.text, (self.characters, 0))] if turn.prompt else [head]

    def is_fitting(self, last: int) -> bool:
        return weigh_lines(self.list_lines(last)) <= self.room


# --- a turn in a few lines, and many turns in one -------------------------------------------


def render_brief_turn(turn: Turn, number: int, brief: Brief, names: FileNames) -> list[str]:
    """A turn in a few lines."""
    lines = [format_headline(turn, number)]
    if turn.prompt is not None:
        lines = [f"{lines[0]}:", *quote_prompt(turn.prompt.text, brief.prompt)]
    if brief.is_counted:
        lines.append(f"- in short: {describe_turns([turn])}")
    edits = [edit for call in turn.calls for edit in list_made_edits(call)]
    if brief.has_files and edits:
        lines += ["- files:", *list_files(edits, names)]
    why = list(dict.fromkeys(find_telling_line(call) for call in turn.calls if has_failed(call)))
    if brief.failures and why:
        lines += ["- failures, the last ones:", *quote_names(why[-brief.failures :], min(200, 2 * sum(brief.prompt)))]
    words = next((text for reply in reversed(turn.replies) if (text := find_reply_words(reply))), "")
    if brief.words and words:
        lines += ["- the agent's last words:", *quote_text(words, brief.words // 3, brief.words - brief.words // 3)]
    return lines


def quote_prompt(text: str, limit: tuple[int, int]) -> list[str]:
    """A prompt, or what it begins with."""
    head, tail = limit
    if tail:
        return quote_text(text, head, tail)
    first = next((line for line in text[: 100 * head].splitlines() if line.strip()), text[:head])
    return quote_names([first], head)


def fold_turns(turns: Sequence[Turn], first: int, *, is_counted: bool = True) -> list[str]:
    """Turns in one line, without a word of theirs."""
    if not turns:
        return []
    prompts = format_count(sum(turn.prompt is not None for turn in turns), "prompt", "prompts")
    what = f"; {describe_turns(turns)}" if is_counted else ""
    return [f"[turns {first}-{first + len(turns) - 1}] folded: {prompts}{what}"]
