"""Which sessions of a neighbourhood would be told as they are kept, and what all of them count up to.

The *input* of a session is a hash of all that it is told from, its neighbours' part in it included. Tallies are kept by
month, each under a hash of the inputs of its sessions, so that a month is counted again only where one of them changed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from hashlib import blake2b

import msgspec
from msgspec import Struct

from assay.pipeline.rework import ReworkOutcome, is_told
from assay.pipeline.scoring_run import ScoringRun, name_session
from assay.scores.tally import Tally, add_tallies, tally_sessions
from assay.sessions.links import LinkedSession
from assay.stores import CommitDeed, KeptNeighbourhood, StreamName, ToldChoice
from assay.types import Session

PACK = msgspec.msgpack.Encoder().encode
SESSION = msgspec.json.Decoder(Session).decode
TALLY = msgspec.msgpack.Decoder(Tally).decode
Months = dict[str, tuple[bytes, bytes]]
"""Of each month a hash of what its sessions were told from, and their tally."""
MONTHS = msgspec.msgpack.Decoder(Months).decode
PORTION = 500
HASH_BYTES = 16

Bodies = Callable[[ToldChoice], Iterator[bytes]]


class SessionInputs(Struct, frozen=True, kw_only=True):
    """All sessions of a neighbourhood, what each is told from, and what is kept of them."""

    linked: Sequence[LinkedSession]
    hashes: Mapping[StreamName, bytes]
    kept: KeptNeighbourhood

    def list_fresh(self) -> list[LinkedSession]:
        """Those that would not be told as they are kept."""
        return [one for one in self.linked if not self.is_same(name_session(one))]

    def is_same(self, name: StreamName) -> bool:
        return name in self.kept.rows and self.kept.rows[name][0] == self.hashes.get(name)

    def list_same(self, outcome: ReworkOutcome) -> dict[StreamName, bool]:
        """Those that stay as they are kept, and whether they are news."""
        names = [name for one in self.linked if self.is_same(name := name_session(one))]
        return {name: (self.kept.rows[name][1] is True) != is_told(name, outcome) for name in names}

    def tally_months(self, told: Iterable[Session], load: Bodies, zone: tzinfo) -> Months:
        """The tallies of all months, given those that were told anew; `load` reads those that are kept."""
        known = MONTHS(self.kept.months) if self.kept.months else {}
        new = {(one.agent, one.id): one for one in told}
        by_month: dict[str, list[LinkedSession]] = {}
        for one in self.linked:
            by_month.setdefault(one.segments[0].began_at[:7], []).append(one)
        found: Months = {}
        for month, some in by_month.items():
            names = [name_session(one) for one in some]
            sign = hash_packed([(name, self.hashes.get(name)) for name in names])
            if self.hashes and month in known and known[month][0] == sign:
                found[month] = known[month]
                continue
            sessions = [new[name] for name in names if name in new]
            sessions += load_sessions([name for name in names if name not in new], load)
            lines = (line for one in some for segment in one.segments for line in segment.went_on)
            found[month] = sign, PACK(tally_sessions(sessions, lines, zone))
        return found


def hash_inputs(
    run: ScoringRun,
    linked: Sequence[LinkedSession],
    judged: Mapping[StreamName, bytes],
    outcome: ReworkOutcome,
    deeds: Iterable[CommitDeed],
    named: Mapping[str, str],
) -> dict[StreamName, bytes]:
    """Hashes of all that sessions are told from; none where words go by themselves as time passes."""
    if any(tenant.retention_days is not None for tenant in run.terms.privacy.tenants.values()):
        return {}
    of_session: dict[StreamName, list[CommitDeed]] = {}
    for deed in deeds:
        of_session.setdefault((deed.agent, deed.id), []).append(deed)
    found = {}
    for one in linked:
        name = name_session(one)
        followed = outcome.found.get(name)
        ages, state = followed.ages if followed else None, outcome.states.get(name)
        project = named[one.segments[0].project]
        found[name] = hash_packed((one, judged[name], run.list_terms(one), state, ages, project, of_session.get(name)))
    return found


def load_sessions(names: Sequence[StreamName], load: Bodies) -> list[Session]:
    """Sessions as they are kept, a portion at a time."""
    portions = (tuple(names[start : start + PORTION]) for start in range(0, len(names), PORTION))
    return [SESSION(body) for some in portions for body in load(ToldChoice(names=some))]


def add_months(months: Months) -> bytes:
    """The tally of all months together."""
    return PACK(add_tallies(TALLY(tally) for _, tally in months.values()))


def hash_packed(value: object) -> bytes:
    return blake2b(PACK(value), digest_size=HASH_BYTES).digest()
