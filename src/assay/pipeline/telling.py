"""Sessions with what became of their lines, and what the last report had said of them."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from assay.pipeline.reworking import Outcome
from assay.scores.prism import has_crushed
from assay.scores.survival import Lost
from assay.stores import Fate, Store
from assay.types import Session


def with_rework(session: Session, outcome: Outcome) -> Session:
    """A session with what became of its lines."""
    state = outcome.states.get((session.agent, session.id))
    return replace(session, facts=session.facts | {"rework": msgspec.to_builtins(state)}) if state else session


def lost(sessions: Iterable[Session], outcome: Outcome) -> list[Lost]:
    """Sessions of which the last report said that they crushed, and which were replaced since."""
    known = [(one, one.facts["rework"]) for one in sessions if is_told(one, outcome)]
    return [
        Lost(id=one.id, title=one.title, by=rework["by"], share=rework["share"])
        for one, rework in known
        if rework["state"] == "yes" and has_crushed(one) is False
    ]


def is_told(session: Session, outcome: Outcome) -> bool:
    """Whether the last report said that a session crushed."""
    fate = outcome.fates.get((session.agent, session.id))
    return fate is not None and fate.is_told


def remember(store: Store, sessions: Iterable[Session], outcome: Outcome) -> None:
    """Keep which sessions this report says crushed."""
    changed = []
    for one in sessions:
        crushed = has_crushed(one) is True
        if crushed != is_told(one, outcome):
            fate = outcome.fates.get((one.agent, one.id)) or Fate(agent=one.agent, id=one.id)
            changed.append(replace(fate, is_told=crushed))
    store.rework.save_fates(changed)
