"""Rework as transcripts alone tell it: a later session removed the lines, or took them back with git.

Transcripts see few of the removals there are, so they can only say `yes`; their silence says nothing. A session is
only compared with those of its own project, a commit that is taken back by its id with all.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from assay.clock import parse_time
from assay.config import Rework
from assay.sessions.paths import make_absolute
from assay.sessions.shell import read_command
from assay.sessions.written_lines import count_hashes, split_hashes
from assay.types import FileLines, ReworkResult

SHORTEST_ID = 7
COMMIT = re.compile(r"(?<![\w/.~^-])([0-9a-f]{7,40})(\^|~\d*)?(?![\w/.-])")
FROM_TRANSCRIPT = "as a later transcript shows"


class SessionWork(Struct, frozen=True, kw_only=True):
    """What a session did, as far as its transcript tells; `written` holds code and tests only."""

    id: str
    project: str
    began_at: str
    ended_at: str
    written: tuple[FileLines, ...] = ()
    removed: tuple[FileLines, ...] = ()
    commits: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()

    @property
    def lines(self) -> int:
        return sum(count_hashes(one.lines) for one in self.written)


Writers = dict[str, tuple[SessionWork, int]]
"""Who last wrote a file, and how many lines."""


def find_replaced(works: Iterable[SessionWork], rules: Rework, as_of: datetime) -> dict[str, ReworkResult]:
    """The sessions whose lines later ones removed; nothing about all others."""
    projects: defaultdict[str, list[SessionWork]] = defaultdict(list)
    for one in sort_by_time(works, as_of):
        projects[one.project].append(one)
    found: dict[str, ReworkResult] = {}
    for project, some in sorted(projects.items()):
        if project:
            found |= find_removals(some, rules)
    return found


def find_taken_back(works: Iterable[SessionWork], rules: Rework, as_of: datetime) -> dict[str, ReworkResult]:
    """The sessions whose commits, or lines that were never committed, a later one took back with git."""
    return find_undos(sort_by_time(works, as_of), rules)


def sort_by_time(works: Iterable[SessionWork], as_of: datetime) -> list[SessionWork]:
    """Sessions that had begun by the present, in order."""
    ordered = sorted(works, key=lambda one: (one.began_at, one.id))
    return [one for one in ordered if (began := parse_time(one.began_at)) and began <= as_of]


def is_in_time(owner: SessionWork, later: SessionWork, rules: Rework) -> bool:
    """Whether a session began after another one, and soon enough after its end."""
    began, ended = parse_time(later.began_at), parse_time(owner.ended_at)
    if began is None or ended is None or (later.began_at, later.id) <= (owner.began_at, owner.id):
        return False
    return began - ended <= timedelta(days=rules.days)


# --- lines removed ----------------------------------------------------------------------------


def find_removals(works: Sequence[SessionWork], rules: Rework) -> dict[str, ReworkResult]:
    """Sessions of one project, in order of time, of which enough lines were removed by the next ones."""
    taken = [list(list_taken_lines(work)) for work in works]
    owners: dict[tuple[str, bytes], list[SessionWork]] = {key: [] for keys in taken for key in keys}
    paths = {path for path, _ in owners}
    gone: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for work, keys in zip(works, taken, strict=True):
        in_time: dict[int, bool] = {}
        for owner in (owners[key].pop() for key in keys if owners[key]):
            if id(owner) not in in_time:
                in_time[id(owner)] = owner.id != work.id and is_in_time(owner, work, rules)
            if in_time[id(owner)]:
                gone[owner.id][work.id] += 1
        for one in work.written:
            for line in split_hashes(one.lines) if one.path in paths else ():
                if (one.path, line) in owners:
                    owners[one.path, line].append(work)
    by_id = {one.id: one for one in works}
    judged = ((owner, judge_removals(by_id[owner], by, by_id, rules)) for owner, by in gone.items())
    return {owner: one for owner, one in judged if one}


def list_taken_lines(work: SessionWork) -> Iterator[tuple[str, bytes]]:
    """Lines that a session removed and did not put elsewhere."""
    back = (
        Counter(line for one in work.written for line in split_hashes(one.lines)) if work.removed else Counter[bytes]()
    )
    for one in work.removed:
        for line in split_hashes(one.lines):
            if back[line] > 0:
                back[line] -= 1
            else:
                yield one.path, line


def judge_removals(
    owner: SessionWork, by: Counter[str], works: dict[str, SessionWork], rules: Rework
) -> ReworkResult | None:
    """That a session was replaced, if enough of its lines are gone; of those who did it, who took most is named."""
    lines, gone = owner.lines, by.total()
    if lines < rules.min_lines or gone / lines < rules.share:
        return None
    later = min(by, key=lambda one: (-by[one], works[one].began_at, one))
    return build_rework(works[later], lines, gone, f"removed, {FROM_TRANSCRIPT}")


def build_rework(later: SessionWork, lines: int, gone: int, detail: str) -> ReworkResult:
    return ReworkResult(
        state="yes",
        by=f"session {later.id}",
        share=gone / lines if lines else None,
        lines=lines or None,
        gone=gone if lines else None,
        session=later.id,
        at=later.began_at,
        detail=detail,
    )


# --- taken back with git ----------------------------------------------------------------------


def find_undos(works: Sequence[SessionWork], rules: Rework) -> dict[str, ReworkResult]:
    """Sessions, of all that are given in order of time, whose commits or uncommitted lines a later one took back."""
    made: defaultdict[str, list[tuple[str, SessionWork]]] = defaultdict(list)
    for work in works:
        for commit in work.commits:
            made[commit[:SHORTEST_ID]].append((commit, work))
    found: dict[str, ReworkResult] = {}
    writers: defaultdict[str, Writers] = defaultdict(dict)
    for later in works:
        for command in later.undone:
            for owner, commit in find_reverted(command, made):
                if is_in_time(owner, later, rules):
                    detail = f"commit {commit[:10]} was taken back, {FROM_TRANSCRIPT}"
                    found.setdefault(owner.id, build_rework(later, owner.lines, owner.lines, detail))
            for owner, gone in find_restored(command, later, writers[later.project]):
                if is_in_time(owner, later, rules) and is_much(gone, owner.lines, rules):
                    found.setdefault(
                        owner.id, build_rework(later, owner.lines, gone, f"thrown away, {FROM_TRANSCRIPT}")
                    )
        writers[later.project].update((one.path, (later, count_hashes(one.lines))) for one in later.written)
    return found


def find_reverted(
    command: str, made: Mapping[str, Sequence[tuple[str, SessionWork]]]
) -> Iterator[tuple[SessionWork, str]]:
    """Whose commits a command takes back, named by their ids."""
    known = [(named, before) for named, before in COMMIT.findall(command) if named[:SHORTEST_ID] in made]
    purposes = {run.purpose for run in read_command(command)} if known else set()
    if not purposes & {"revert", "reset"}:
        return
    for named, before in known:
        if "revert" in purposes or before:  # a reset to a commit keeps it, one to its parent does not
            for full, owner in made.get(named[:SHORTEST_ID], ()):
                if full.startswith(named) or named.startswith(full):
                    yield owner, full


def find_restored(command: str, later: SessionWork, writers: Writers) -> list[tuple[SessionWork, int]]:
    """Whose uncommitted lines a command throws away: in files that the later session did not write itself.

    People commit by hand, too. So only files that are named, or the session right before a reset to where it stands,
    are taken to hold lines that nobody had committed.
    """
    words = command.split()
    if not writers or not later.project or "--staged" in words:
        return []
    runs = [run for run in read_command(command) if run.purpose in ("restore", "reset")]
    if not runs:
        return []
    is_all = any(run.purpose == "reset" for run in runs) and is_staying(words)
    paths = {make_absolute(path, later.project) for run in runs for path in run.paths}
    own = {one.path for one in (*later.written, *later.removed)}
    last = max((work for work, _ in writers.values()), key=lambda one: (one.began_at, one.id), default=None)
    gone: dict[str, tuple[SessionWork, int]] = {}
    for path, (work, lines) in writers.items():
        is_hit = path in paths or (work is last and (is_all or is_below(path, paths)))
        if is_hit and not work.commits and path not in own:
            gone[work.id] = work, lines + gone.get(work.id, (work, 0))[1]
    return list(gone.values())


def is_staying(words: Sequence[str]) -> bool:
    """Whether a reset goes to no other commit."""
    said = words[words.index("reset") + 1 :] if "reset" in words else words
    return {word for word in said if not word.startswith("-")} <= {"HEAD"}


def is_below(path: str, folders: set[str]) -> bool:
    """Whether a path is one of these, or in a folder of these."""
    return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in folders)


def is_much(gone: int, lines: int, rules: Rework) -> bool:
    """Whether enough lines are gone to call a session replaced."""
    return lines >= rules.min_lines and gone / lines >= rules.share
