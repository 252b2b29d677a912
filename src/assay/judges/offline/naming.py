"""How commits, pull requests and branches were named, read off the commands that made them."""

import re
from collections.abc import Iterator, Sequence

from assay.types import Turn

COMMIT_MESSAGE = re.compile(
    r"""git commit\b[^\n]{0,300}?-\w{0,9}m\s*"""
    r"""(?:"\$\(cat <<-?'?"?(\w+)'?"?\n(?P<heredoc>[^\n]+)|(?P<quote>["'])(?P<plain>[^"'\n]+))"""
)
TITLE = re.compile(r"""gh pr create\b[^\n]{0,900}?--title[ =](?P<quote>["'])(?P<plain>[^"'\n]+)""")
BRANCH = re.compile(r"git (?:checkout -[bB]|switch -[cC]) (?P<plain>[\w./-]+)")
NAMED = (("commit_name", COMMIT_MESSAGE), ("pull_request_name", TITLE), ("branch_name", BRANCH))


def named_things(turns: Sequence[Turn]) -> Iterator[tuple[str, int, str]]:
    """Commits, pull requests and branches with the turn and the name they were given."""
    for n, turn in enumerate(turns, 1):
        for call in turn.calls:
            if call.command and call.status in ("ok", "error", "open"):
                for kind, pattern in NAMED:
                    if match := pattern.search(call.command):
                        yield kind, n, match["plain"] or match.groupdict().get("heredoc") or ""


def names_of(turns: Sequence[Turn]) -> Iterator[str]:
    """What pull requests, else commits are called."""
    things = list(named_things(turns))
    for wanted in ("pull_request_name", "commit_name"):
        yield from (named for kind, _, named in things if kind == wanted and named)
