"""Signals of how the work was done: what was read twice, tried again unchanged, looked at before it was changed.

Each sign stands in a turn and can be quoted; the fact holds counts and turns only. What a tool would have shown of a
file is not kept, so a second look at another part of a large file is told from a re-read only where it follows at once.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from assay.sessions.calls import CHECKS, find_telling_line, list_made_edits
from assay.types import Call, Fact, Run, Turn

VERSION = 2

QUOTE = 160
MOST_TURNS = 12
SOON = 6
"""Calls after an error in which another way is looked for."""
READING = frozenset("cat head tail less more bat nl sed awk Get-Content gc type".split())
SEARCHING = frozenset("grep egrep fgrep rg ag ack find fd Select-String sls Get-ChildItem".split())
WRITING = frozenset("sed tee cat echo printf perl awk Set-Content Add-Content Out-File".split())
NEUTRAL = frozenset("cd echo printf true export pwd set sort uniq wc cut tr xargs sleep".split())
"""They stand beside file work and are none."""
OWN_TOOLS = frozenset({"Bash", "PowerShell"})
"""Shell tools of agents that have tools to read and to edit; to search, some of their versions have and some don't."""
APART = frozenset({"read", "search", "web", "agent"})
"""Calls that seldom need each other's result."""
NOT_READ = re.compile(r"has not been read|must (?:first )?(?:be )?read|read it (?:first|before)", re.IGNORECASE)
NAMES = re.compile(r"[\w.-]+")
"""What may be the name of a file in a command."""
RANGE = re.compile(r"\bsed\s+-n\s+['\"]?\d+,\d+p|\b(?:head|tail)\s+(?:-n\s*)?-?\d+|-(?:TotalCount|First|Tail)\s+\d+")
SKILL = re.compile(r"\bSKILL\.md\b|/skills/[\w-]+")
RULES = re.compile(
    r"\b(?:CLAUDE|AGENTS|CONTRIBUTING|RELEASE|DEVELOPMENT|STYLE)(?:\.[\w-]+)*\.md\b|\.cursorrules|\.cursor/rules"
)
"""Files in which projects write how work is done."""
SKIPPED = re.compile(r"\bgit\b[^\n;|&]*\s--no-verify\b|\bHUSKY=0\b|\bSKIP=\S+\s+git\b")
TURNED_AWAY = re.compile(r"protected branch|remote rejected|hook declined|pre-(?:commit|push) hook.*(?:failed|exited)")
LINK = re.compile(r"\[[^\]\n]{1,120}\]\([^)\s]{0,200}[\w-]\.[A-Za-z]\w{0,7}(?::\d+|#L\d+)?[^)\s]{0,20}\)")
BARE = re.compile(r"(?<![\w(/.])[\w.-]{1,60}(?:/[\w.-]{1,60}){1,12}\.[A-Za-z]\w{0,7}(?![\w(])(?::\d+)?")
EMOJI = re.compile("[\U0001f300-\U0001faff\u2705\u274c\u26a0\u2728\u2b50\u2757\u2753\u2611]")
DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc)$|(?:^|/)(?:LICENSE|CHANGELOG|README)[^/]*$", re.IGNORECASE)


class Sign(Struct, frozen=True):
    """Something that was seen: the turn, counted from 1, and words that stand in it."""

    turn: int
    quote: str


class Signal(Struct, frozen=True, kw_only=True):
    """How often it was seen, out of how many times it could have been, and in which turns (the first twelve)."""

    count: int
    of: int
    turns: list[int]


class Signals(Fact, frozen=True):
    signals: dict[str, Signal]


class SignalSigns(Struct, frozen=True):
    """All signs of one kind, and how many there could have been."""

    signs: list[Sign]
    of: int
    first: Sign | None = None
    """One of the occasions, to be quoted where nothing was seen."""

    @property
    def share(self) -> float | None:
        """Part of the occasions; `None` without any."""
        return len(self.signs) / self.of if self.of else None


Placed = tuple[int, Call]
"""A call and the number of its turn."""


def fact(turns: Sequence[Turn]) -> Signals:
    return Signals(
        signals={
            name: Signal(
                count=len(seen.signs),
                of=seen.of,
                turns=sorted({sign.turn for sign in seen.signs})[:MOST_TURNS],
            )
            for name, seen in find_signals(turns).items()
        }
    )


def find_signals(turns: Sequence[Turn]) -> dict[str, SignalSigns]:
    """Every signal by name, with what can be quoted."""
    placed = [(n, call) for n, turn in enumerate(turns, 1) for call in turn.calls]
    return {
        "rereads": find_rereads(turns),
        "retries": find_retries(placed),
        "shell_file_work": find_shell_file_work(placed),
        "parallel_calls": find_parallel_calls(turns),
        "read_before_edit": find_read_before_edit(placed),
        "planning": select_kinds(placed, ("todo", "plan")),
        "delegation": select_kinds(placed, ("agent",)),
        "recovered": find_recovered(placed),
        "verified": find_verified(placed),
        "targeted_reads": find_targeted_reads(placed),
        "skills": find_skills(placed),
        "workflow": find_workflow(placed),
        "file_links": find_file_links(turns),
        "emoji": find_emoji(turns),
    }


def quote_call(call: Call) -> str:
    """Words of a call to quote: its command, what it was about, or what it answered; a name is no text of the turn."""
    said = call.command.strip() or call.target.strip() or call.output.strip()
    return said.splitlines()[0][:QUOTE].strip() if said else ""


def build_sign(placed: Placed) -> Sign:
    return Sign(placed[0], quote_call(placed[1]))


def build_signs(signs: Sequence[Placed], there: Sequence[Placed]) -> SignalSigns:
    """Signs among the occasions; those that can be quoted stand first."""
    ordered = sorted(map(build_sign, signs), key=lambda one: not one.quote)
    example = next((one for one in map(build_sign, there) if one.quote), None)
    return SignalSigns(ordered, len(there), example)


# --- reading ----------------------------------------------------------------------------------


def find_rereads(turns: Sequence[Turn]) -> SignalSigns:
    """Files read again by the same agent with nothing written to them, and no context lost, since."""
    known: dict[str, set[str]] = {}
    again: list[Placed] = []
    reads: list[Placed] = []
    last = ""
    for number, turn in enumerate(turns, 1):
        if any(mark.kind == "compact" for mark in turn.marks):
            known.clear()
        for call in turn.calls:
            for path in list_written(call):
                for files in known.values():
                    files.discard(path)
            if call.kind == "read" and call.status == "ok" and call.target:
                reads.append((number, call))
                mine = known.setdefault(call.by, set())
                # Right after another it is the next part of a large file.
                if call.target in mine and call.target != last:
                    again.append((number, call))
                mine.add(call.target)
            last = call.target if call.kind == "read" else ""
    return build_signs(again, reads)


def find_targeted_reads(placed: Sequence[Placed]) -> SignalSigns:
    """Reads of some lines of a file, by offset and limit or a range in a command, among all reads."""
    reads = [one for one in placed if is_read(one[1])]
    return build_signs([one for one in reads if one[1].is_partial or RANGE.search(one[1].command)], reads)


def is_read(call: Call) -> bool:
    return call.status == "ok" and (call.kind == "read" or (call.kind == "shell" and pick_file_job(call) == "read"))


def list_written(call: Call) -> Iterator[str]:
    """Files that it wrote."""
    yield from (edit.path for edit in list_made_edits(call))
    yield from (path for run in call.runs if run.mutates for path in run.paths)


def find_read_before_edit(placed: Sequence[Placed]) -> SignalSigns:
    """Edits of files that were there, and had been read, written or named in a command before."""
    known: set[str] = set()
    named: set[str] = set()
    commands: list[str] = []
    looked: list[Placed] = []
    blind: list[Placed] = []
    for number, call in placed:
        if call.kind == "edit" and call.status == "error" and NOT_READ.search(call.output):
            blind.append((number, call))
        for edit in list_made_edits(call):
            if edit.how == "update" and edit.removed:  # a file written whole may be new
                if edit.path not in known:  # few are: commands are only then looked through
                    named.update(name for command in commands for name in NAMES.findall(command))
                    commands.clear()
                is_known = edit.path in known or strip_folders(edit.path) in named
                (looked if is_known else blind).append((number, call))
            known.add(edit.path)
        if call.kind in ("read", "search") and call.status == "ok":
            known.add(call.target)
            named.add(strip_folders(call.target))
        elif call.command:
            commands.append(call.command)
    found = build_signs(looked, [*blind, *looked])
    return SignalSigns(found.signs, found.of, found.first)


def strip_folders(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


# --- tools ------------------------------------------------------------------------------------


def find_shell_file_work(placed: Sequence[Placed]) -> SignalSigns:
    """Shell commands that only read, search or write files, where the agent has a tool for that."""
    kinds = {call.kind for _, call in placed}
    has_search = any(call.kind == "search" and call.name in ("Grep", "Glob") for _, call in placed)
    misused: list[Placed] = []
    there: list[Placed] = []
    for one in placed:
        call = one[1]
        if call.kind in ("read", "search", "edit"):
            there.append(one)
        elif call.kind == "shell" and (job := pick_file_job(call)):
            is_own = call.name in OWN_TOOLS and job != "search"
            if is_own or (has_search if job == "search" else job in kinds and call.name in OWN_TOOLS):
                there.append(one)
                misused.append(one)
    return build_signs(misused, there)


def pick_file_job(call: Call) -> str:
    """What file work a command does, where it does nothing else: read, search, edit; else nothing."""
    real = [run for run in call.runs if run.program not in NEUTRAL or (run.mutates and run.paths)]
    if not real or any(run.purpose for run in real):
        return ""
    if all(run.program in WRITING and run.mutates and run.paths for run in real):
        return "" if all(is_scratch(path) for run in real for path in run.paths) else "edit"
    if any(run.mutates for run in real):
        return ""
    if real[0].program in SEARCHING and all(run.program in SEARCHING | READING for run in real):
        return "search"
    return "read" if all(run.program in READING | SEARCHING for run in real) else ""


def is_scratch(path: str) -> bool:
    return path.startswith(("/tmp/", "/dev/", "$"))  # noqa: S108  whoever writes there does not edit


def find_parallel_calls(turns: Sequence[Turn]) -> SignalSigns:
    """Calls that only look, and sub-agents, that were asked for together with another."""
    together: list[Placed] = []
    there: list[Placed] = []
    for number, turn in enumerate(turns, 1):
        responses = {spend.key for spend in turn.spends}
        calls = [call for call in turn.calls if call.kind in APART or pick_file_job(call) in ("read", "search")]
        there += [(number, call) for call in calls]
        together += [(number, call) for n, call in enumerate(calls) if is_together(calls, n, responses)]
    return build_signs(together, there)


def is_together(calls: Sequence[Call], n: int, responses: AbstractSet[int]) -> bool:
    """One response asked for it and a neighbour; or, where responses are not told apart, they ran at one time."""
    call = calls[n]
    for other in (calls[n - 1] if n else None, calls[n + 1] if n + 1 < len(calls) else None):
        if other is None or other.by != call.by:
            continue
        if call.of in responses or other.of in responses:
            if call.of == other.of:
                return True
        elif max(call.at, other.at) < min(call.ended_at, other.ended_at):
            return True
    return False


def select_kinds(placed: Sequence[Placed], kinds: Sequence[str]) -> SignalSigns:
    """Calls of the main agent of these kinds, among all of its calls."""
    mine = [one for one in placed if not one[1].by]
    found = [one for one in mine if one[1].kind in kinds and one[1].status in ("ok", "open")]
    return build_signs(found, mine)


# --- rules and words --------------------------------------------------------------------------


def find_skills(placed: Sequence[Placed]) -> SignalSigns:
    """Skills that were loaded: by the tool that is there for it, or by reading their file where there is none."""
    loaded = [one for one in placed if one[1].kind == "skill" and one[1].status == "ok"]
    by_hand = [one for one in placed if is_read(one[1]) and SKILL.search(one[1].command or one[1].target)]
    has_tool = any(call.kind == "skill" for _, call in placed)
    return build_signs(loaded if has_tool else by_hand, [*loaded, *by_hand])


def find_workflow(placed: Sequence[Placed]) -> SignalSigns:
    """Commits, pushes and pull requests that kept to the project's rules, and looks at where these are written.

    Kept to is what skipped no hook and was turned away by none.
    """
    there = [one for one in placed if is_handed_in(one[1]) or is_rule_read(one[1])]
    broken = [(n, call) for n, call in there if SKIPPED.search(call.command) or TURNED_AWAY.search(call.output)]
    found = build_signs([one for one in there if one not in broken], there)
    return SignalSigns(found.signs, found.of, build_sign(broken[0]) if broken else found.first)


def is_handed_in(call: Call) -> bool:
    return call.status in ("ok", "error") and any(run.purpose in ("commit", "push", "pr") for run in call.runs)


def is_rule_read(call: Call) -> bool:
    return is_read(call) and bool(RULES.search(call.command or call.target))


def find_file_links(turns: Sequence[Turn]) -> SignalSigns:
    """Files that the agent's last words of a turn name so that one click opens them, among all that they name."""
    linked: list[Sign] = []
    named: list[Sign] = []
    for number, turn in enumerate(turns, 1):
        text = turn.replies[-1].text if turn.replies else ""
        links = [Sign(number, match[0][:QUOTE]) for match in LINK.finditer(text)]
        bare = [Sign(number, match[0][:QUOTE]) for match in BARE.finditer(LINK.sub("", text))]
        linked += links
        named += [*links, *bare]
    return SignalSigns(linked, len(named), named[0] if named else None)


def find_emoji(turns: Sequence[Turn]) -> SignalSigns:
    """Words of the agent with a pictogram in them, where the person neither used nor asked for any."""
    prompts = " ".join(turn.prompt.text for turn in turns if turn.prompt)
    replies = [(number, reply.text) for number, turn in enumerate(turns, 1) for reply in turn.replies]
    lines = [(number, line.strip()) for number, text in replies for line in text.splitlines() if EMOJI.search(line)]
    is_wanted = EMOJI.search(prompts) or "emoji" in prompts.lower()
    signs = {number: Sign(number, line[:QUOTE]) for number, line in reversed(lines)}
    said = sorted({number for number, _ in replies})
    first = next(
        (Sign(number, text.strip().splitlines()[0][:QUOTE].strip()) for number, text in replies if text.strip()), None
    )
    return SignalSigns([] if is_wanted else [signs[n] for n in sorted(signs)], len(said), first)


# --- errors -----------------------------------------------------------------------------------


def identify_call(call: Call) -> str:
    """What makes two calls the same: the command, or the tool and its target."""
    said = " ".join(call.command.split()) if call.kind == "shell" else call.target
    return f"{call.name} {said}" if said else ""


def has_failed(call: Call) -> bool:
    """It failed, or a check in it did; a search that finds nothing and a linter that complains are answers."""
    if any(run.outcome == "failed" and run.purpose != "lint" for run in call.runs):
        return True
    return call.status == "error" and not (call.runs and all(map(is_answer, call.runs)))


def is_answer(run: Run) -> bool:
    return run.program in ANSWERING or run.purpose == "lint"


ANSWERING = READING | SEARCHING | NEUTRAL | frozenset("ls test diff cmp which git gh curl".split())


def find_retries(placed: Sequence[Placed]) -> SignalSigns:
    """Calls made again, unchanged, after they had failed, with nothing changed in between."""
    failed: set[str] = set()
    again: list[Placed] = []
    failures: list[Placed] = []
    for one in placed:
        call = one[1]
        name = identify_call(call)
        if any(list_written(call)) or any(run.mutates for run in call.runs):
            failed = set()
        if name in failed and call.status in ("ok", "error"):
            again.append(one)
        if has_failed(call):
            failures.append(one)
            failed.add(name)
        elif call.status == "ok":
            failed.discard(name)
    calls = [one for one in placed if one[1].status in ("ok", "error")]
    found = build_signs(again, calls)
    return SignalSigns(found.signs, found.of, quote_error(failures[0]) if failures else found.first)


def find_recovered(placed: Sequence[Placed]) -> SignalSigns:
    """Errors after which the same came to pass, or, within some calls, another way to it did."""
    left: list[Placed] = []
    over: list[Placed] = []
    passed: set[tuple[str, str | None]] = set()  # later, by agent: a call, or a check for a purpose
    soon: dict[str, list[Call]] = {}
    for one in reversed(placed):
        call = one[1]
        after = soon.setdefault(call.by, [])
        if has_failed(call):
            wanted = list_purposes(call) or {identify_call(call)}
            is_over = all((call.by, name) in passed for name in wanted) or any(
                has_got_past(call, late) for late in after
            )
            (over if is_over else left).append(one)
        elif call.status == "ok":
            passed |= {(call.by, name) for name in (identify_call(call), *list_purposes(call, "passed")) if name}
        after.insert(0, call)
        del after[SOON:]
    signs = [quote_error(one) for one in reversed(over)]
    return SignalSigns(signs, len(over) + len(left), quote_error(left[0]) if left else (signs[0] if signs else None))


def has_got_past(failed: Call, later: Call) -> bool:
    """Another call of the same kind, on the same thing or of the same program, that worked."""
    if later.kind != failed.kind or later.status != "ok" or has_failed(later):
        return False
    if failed.kind == "shell":
        programs = {run.program for run in failed.runs} - NEUTRAL
        return bool(programs & {run.program for run in later.runs}) and list_purposes(failed) <= list_purposes(later)
    return failed.kind != "edit" or later.target == failed.target


def list_purposes(call: Call, outcome: str | None = None) -> set[str | None]:
    """The checks that it ran, or those that ended so."""
    return {run.purpose for run in call.runs if run.purpose in CHECKS and outcome in (None, run.outcome)}


def quote_error(placed: Placed) -> Sign:
    """An error as it says itself."""
    number, call = placed
    said = find_telling_line(call) if call.output.strip() else quote_call(call)
    return Sign(number, said[:QUOTE].strip())


# --- verification -----------------------------------------------------------------------------


def find_verified(placed: Sequence[Placed]) -> SignalSigns:
    """Checks after the last edit of code that did not fail; without an edit of code there is nothing to verify."""
    edits = [n for n, (_, call) in enumerate(placed) if is_code_edit(call)]
    if not edits:
        return SignalSigns([], 0)
    after = [one for one in placed[edits[-1] + 1 :] if is_check(one[1])]
    failed = [one for one in after if any(run.purpose in CHECKS and run.outcome == "failed" for run in one[1].runs)]
    passed = [one for one in after if one not in failed]
    latest = build_sign(placed[edits[-1]])
    return SignalSigns(
        [build_sign(one) for one in passed], max(1, len(after)), quote_error(failed[-1]) if failed else latest
    )


def is_code_edit(call: Call) -> bool:
    return any(not DOCUMENT.search(edit.path) for edit in list_made_edits(call))


def is_check(call: Call) -> bool:
    """A test, linter, type check or build that ran to its end."""
    return call.status in ("ok", "error") and any(run.purpose in CHECKS for run in call.runs)
