"""Sessions as far as their lines can be followed, and as the targets of a repository."""

import re
from collections import defaultdict

from msgspec import Struct

from assay.pipeline.repositories import Asked, Place
from assay.sessions.kinds_of_files import is_code
from assay.sessions.linebook import together
from assay.sessions.linking import Linked, moment
from assay.sessions.rework.checkouts import inside
from assay.sessions.rework.history import Target
from assay.sessions.rework.replaced import Work
from assay.stores import StreamName
from assay.types import Session, Written

PULL = re.compile(r"/(?:pull|pulls|merge_requests)/(\d{1,9})")


class Followable(Struct, frozen=True, kw_only=True):
    """A session, and what its transcript says of its lines."""

    name: StreamName
    work: Work
    streams: tuple[str, ...]
    pulls: tuple[int, ...]
    began: float
    """In seconds; 0 where the transcript tells no time."""
    ended: float

    @property
    def asked(self) -> Asked:
        paths = tuple(one.path for one in self.work.written)
        return Asked(folder=self.work.project, paths=paths, commits=self.work.commits)


def followable(linked: Linked, pulls: tuple[int, ...]) -> Followable:
    """A session as its transcript tells of its lines."""
    first = linked.segments[0]
    book = together(linked.segments) if len(linked.segments) > 1 else None
    written, removed = (book.written(), book.removed()) if book else (first.written, first.removed)
    work = Work(
        id=first.id,
        project=first.project,
        began_at=first.began_at,
        ended_at=max(one.ended_at for one in linked.segments),
        written=tuple(one for one in written if is_code(inside(one.path, first.project) or one.path)),
        removed=removed,
        commits=tuple(dict.fromkeys(commit for one in linked.segments for commit in one.commits)),
        undone=tuple(command for one in linked.segments for command in one.undone),
    )
    began = seconds(work.began_at)
    return Followable(
        name=name_of(linked),
        work=work,
        streams=tuple(dict.fromkeys(one.stream for one in linked.segments)),
        pulls=pulls,
        began=began,
        ended=max(began, seconds(work.ended_at)),
    )


def target(one: Followable, place: Place) -> Target:
    """A session with its lines by the files of a repository."""
    paths = place.paths(one.asked)
    lines: defaultdict[str, list[bytes]] = defaultdict(list)
    for written in one.work.written:
        if written.path in paths:
            lines[paths[written.path]].append(written.lines)
    return Target(
        id=one.work.id,
        written=tuple(Written(path=path, lines=b"".join(some)) for path, some in sorted(lines.items())),
        commits=one.work.commits,
        names=one.streams,
        pulls=one.pulls,
        started=one.began,
        ended=one.ended,
    )


def bystander(one: Followable) -> Target:
    """A session that only says which commits are its own; numbers of pull requests mean nothing elsewhere."""
    return Target(
        id=one.work.id, commits=one.work.commits, names=one.streams, started=one.began, ended=one.ended, is_asked=False
    )


def pulls_of(session: Session) -> tuple[int, ...]:
    """Numbers of the pull requests that a session opened."""
    urls = session.facts.get("pull_requests", ())
    return tuple(dict.fromkeys(int(found[1]) for url in urls if (found := PULL.search(url))))


def name_of(linked: Linked) -> StreamName:
    return linked.segments[0].agent, linked.segments[0].id


def seconds(at: str) -> float:
    """A record's time in seconds, 0 for none."""
    found = moment(at)
    return found.timestamp() if found else 0.0
