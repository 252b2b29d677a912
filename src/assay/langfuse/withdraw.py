"""Scores of ours taken out of Langfuse again, and proof that they are gone."""

from collections.abc import Callable, Iterable, Sequence

from assay.http import AccessDenied, PathNotFound, RemoteError
from assay.langfuse.client import GENERAL, Client
from assay.langfuse.scores import fetch_scores
from assay.langfuse.write import FIRST_LOOK_S, LONGEST_PAUSE_S, SCORES
from assay.types import Document, Value

STILL_THERE = "the server took the order, but it was still there after {:g} s; run it again"


class NotWithdrawn(Value, frozen=True):
    """A score that is still in Langfuse, as far as we can see."""

    id: str
    why: str


class WithdrawReport(Value, frozen=True):
    """What became of scores that should go, by their ids."""

    withdrawn: tuple[str, ...] = ()
    not_withdrawn: tuple[NotWithdrawn, ...] = ()
    would_withdraw: tuple[str, ...] = ()
    """Would be taken out, were this no dry run."""


class ForgetReport(Document, frozen=True, kw_only=True, tag="langfuse_forget"):
    """`assay langfuse forget --json`: what became of the scores of sessions."""

    host: str
    project: str
    sessions: list[str]
    files: list[str]
    """Pulled files that were deleted, or would be."""
    scores: WithdrawReport


def withdraw_scores(
    client: Client, ids: Sequence[str], deadline_s: float, gone: Callable[[Iterable[str]], None]
) -> WithdrawReport:
    """Delete scores; `gone` is told of those that can be seen no longer, at once."""
    faults: dict[str, str] = {}
    for key in ids:
        try:
            client.http.delete(f"{SCORES}/{key}", GENERAL)
        except AccessDenied:
            raise
        except PathNotFound:
            pass  # somebody else was faster
        except RemoteError as error:
            faults[key] = str(error)
    left = [key for key in ids if key not in faults]
    withdrawn: list[str] = []
    for found in watch_scores(client, left, deadline_s, faults):
        gone(found)
        withdrawn += found
    rest = [key for key in ids if key not in withdrawn]
    why = STILL_THERE.format(deadline_s)
    return WithdrawReport(
        withdrawn=tuple(withdrawn),
        not_withdrawn=tuple(NotWithdrawn(id=key, why=faults.get(key, why)) for key in rest),
    )


def watch_scores(
    client: Client, ids: Sequence[str], deadline_s: float, faults: dict[str, str]
) -> Iterable[Sequence[str]]:
    """Those that are gone, as soon as they are, until the time is up."""
    clock, left = client.http.clock, list(ids)
    ends, pause_s = clock.now() + deadline_s, FIRST_LOOK_S
    while left:
        clock.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        try:
            there = {row.id for row in fetch_scores(client, left)}
        except AccessDenied:
            raise
        except RemoteError as error:
            faults.update((key, f"deletion ordered, but not looked up: {error}") for key in left)
            return
        if found := [key for key in left if key not in there]:
            yield found
        left = [key for key in left if key in there]
        if clock.now() >= ends:
            return
