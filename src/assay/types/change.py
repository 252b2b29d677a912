"""A change in short: enough lines of a diff for a reader to see what was done, and never many."""

import re
from collections.abc import Iterable

MOST_LINES, MOST_OLD = 8, 3
"""Where lines were both removed and added, the new ones tell more."""
LONGEST, MOST = 100, 480
"""Characters of a line, and of all."""
HEAD = 2_000
"""Characters of a whole file that are looked at."""
MORE = "… {} more lines"
WORD = re.compile(r"[\w+/=.~%:@-]*\Z", re.ASCII)


def in_short(changed: Iterable[str], added: int, removed: int) -> str:
    """The first of these lines, which begin with `+` or `-`, and how many more of the `added` and `removed` there are.

    Blank lines are left out; a line that is too long ends before the word in which it is cut, so that no half of a
    secret is kept where the whole would have been found.
    """
    old = min(removed, max(MOST_OLD, MOST_LINES - added))
    room = {"-": old, "+": min(added, MOST_LINES - old)}
    kept: list[str] = []
    size = 0
    for line in changed:
        sign = line[:1]
        if not room.get(sign):
            if not any(room.values()):
                break
            continue
        short = line.rstrip() if len(line) <= LONGEST else WORD.sub("", line[:LONGEST]) + "…"
        if len(short) == 1:
            continue
        if size + len(short) > MOST:
            break
        room[sign] -= 1
        size += len(short) + 1
        kept.append(short)
    left = added + removed - len(kept)
    return "\n".join([*kept, MORE.format(left)] if left else kept)


def of_file(text: str, lines: int) -> str:
    """The head of a file that was written."""
    head = text[:HEAD]
    whole = head if len(head) == len(text) else head[: head.rfind("\n") + 1]
    return in_short([f"+{line}" for line in whole.splitlines()], lines, 0)
