"""Whether people are told apart: one rule for every answer of a server, by what a tenant switched on.

Whose a session is stands in its `person` and `machine`, for a machine is one person's. Where the tenant did not switch
`people` on, nothing that leaves says either, slices or filters by them. Where it did, groups stay as on the team page.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from assay.scores.breakdown import NOTHING, Slice
from assay.scores.comparison import ScoreComparison
from assay.scores.prism import select_counted
from assay.server.access import Visitor
from assay.server.hall import Hall
from assay.server.replies import Refusal
from assay.server.tenants import HOME
from assay.stores import Store
from assay.types import Session
from assay.web.pages.team import FEWEST, split_groups

BY_PEOPLE = ("person", "machine")
NOT_APART = (
    "people are not told apart here; whoever runs the server can let them be (`people = true`, see its settings)"
)
FEW = f"people are compared only where {FEWEST} of them have counted sessions, and each side has {FEWEST}"


def tells_people(hall: Hall, visitor: Visitor, store: Store) -> bool:
    """Whether this visitor may learn whose a session is: by the tenant's switch, or because it can only be theirs."""
    return is_switched_on(hall, visitor) or is_alone(visitor, store)


def is_switched_on(hall: Hall, visitor: Visitor) -> bool:
    """Whether the visitor's tenant wants people told apart, by the file of whoever runs the server."""
    own = hall.settings.own_tenants.get(hall.name_tenant(visitor))
    return own is not None and own.people


def is_alone(visitor: Visitor, store: Store) -> bool:
    """Whether a store is that of whoever sits at this machine, and nobody else shipped into it."""
    return visitor.tenant == HOME and len({one.person for one in store.shipped.list_machines() if one.person}) <= 1


def check_people(hall: Hall, visitor: Visitor, store: Store, asked: Sequence[str]) -> None:
    """Refuse what would tell people apart where they are not to be; `asked`: names of slices."""
    if any(one in BY_PEOPLE for one in asked) and not tells_people(hall, visitor, store):
        raise Refusal(403, NOT_APART)


def hide_people(hall: Hall, visitor: Visitor, store: Store, sessions: Sequence[Session]) -> Sequence[Session]:
    """Sessions as this visitor may see them."""
    if not any(one.person or one.machine for one in sessions) or tells_people(hall, visitor, store):
        return sessions
    return [replace(one, person=None, machine=None) for one in sessions]


def select_slices(by: str, slices: Sequence[Slice], visitor: Visitor, store: Store) -> list[Slice]:
    """Slices that may be told: of people only where there are enough of them, and those with enough sessions."""
    if by not in BY_PEOPLE or is_alone(visitor, store):
        return [*slices]
    named = [one for one in slices if one.name != NOTHING and one.score.counted]
    return split_groups(named)[0] if len(named) >= FEWEST else []


def has_few(found: ScoreComparison, sessions: Sequence[Session]) -> bool:
    """Whether a comparison of people would point at somebody."""
    people = {one.person for one in select_counted(sessions) if one.person}
    return len(people) < FEWEST or any(side.score.counted < FEWEST for side in found.sides)
