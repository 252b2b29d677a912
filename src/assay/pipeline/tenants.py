"""Whose words a stream's are, and what may become of them."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Tenant, stricter
from assay.files import to_folder_prefix
from assay.types import Session
from assay.types.signs import is_folder, of_attribute, of_key

Tenants = Mapping[str, Tenant]

AND = " + "
"""Between the tenants whose words stand in one session."""
OPTED_OUT = "opted out"
EXPIRED = "kept no longer than its tenant allows"
WORDLESS_FACTS: dict[str, object] = {"files": [], "lines_by_file": {}, "failure_signals": [], "pull_requests": []}
"""Facts that hold words of a transcript, emptied."""


class Owner(Struct, frozen=True):
    """Whose some words are, and why nobody may see them; nothing where they may be seen."""

    tenant: str | None = None
    withheld: str = ""


def tenant_of(tenants: Tenants, folder: str, signs: Collection[str] = ()) -> str | None:
    """The first tenant that a folder, or the signs of attributes and keys, belong to."""
    for name, one in tenants.items():
        if any(is_below(folder, project) for project in one.projects):
            return name
        if one.attributes and all(of_attribute(*pair) in signs for pair in one.attributes.items()):
            return name
        if any(of_key(key) in signs for key in one.keys):
            return name
    return None


def owner_of(tenants: Tenants, signs: Sequence[str], ended_at: str, now: datetime) -> Owner:
    """Whose words with these signs are: where several tenants claim them, the one that withholds them, else all."""
    folders = [one for one in signs if is_folder(one)] or [""]
    names = dict.fromkeys(tenant_of(tenants, one, signs) for one in folders)
    found = [Owner(name, withheld(tenants[name], ended_at, now)) for name in names if name is not None]
    return next((one for one in found if one.withheld), shared(found))


def shared(owners: Iterable[Owner]) -> Owner:
    """The owner of what several own: all whose words may be seen, by name; of what nobody may see, the first."""
    some = list(owners)
    heard = dict.fromkeys(one.tenant for one in some if one.tenant and not one.withheld)
    if some and all(one.withheld for one in some):
        return some[0]
    return Owner(AND.join(heard) or None)


def named(tenants: Tenants, name: str | None) -> Tenant | None:
    """The tenant of that name; of several, whatever one of them forbids is forbidden."""
    if not name or name in tenants:
        return tenants.get(name or "")
    return reduce(stricter, (tenants[one] for one in name.split(AND) if one in tenants), Tenant())


def is_below(project: str, folder: str) -> bool:
    """Whether a folder is another one or lies in it, by its name or by where links lead."""
    places = ways_to(os.path.expanduser(folder))
    return any(
        there == place or there.startswith(to_folder_prefix(place)) for there in ways_to(project) for place in places
    )


@lru_cache(4096)
def ways_to(folder: str) -> frozenset[str]:
    """A folder's path in plain form, and with its links followed."""
    if not folder:
        return frozenset({""})
    plain = os.path.normpath(folder)
    plain = plain[1:] if plain.startswith("//") else plain
    return frozenset({plain, os.path.realpath(plain)} if plain.startswith("/") else {plain})


def withheld(tenant: Tenant | None, ended_at: str, now: datetime) -> str:
    """Why a tenant's words may not be shown to anybody; nothing where they may."""
    if tenant is None:
        return ""
    if tenant.opt_out:
        return OPTED_OUT
    if tenant.retention_days is None or not ended_at:
        return ""
    return EXPIRED if when(ended_at) < now - timedelta(days=tenant.retention_days) else ""


def forbidden(tenant: Tenant | None, name: str | None, backend: str, model: str) -> str:
    """Why a model may not judge a tenant's sessions; nothing where it may."""
    if tenant is not None and tenant.judges is not None and backend not in tenant.judges:
        return f"tenant {name} does not allow {backend}"
    if tenant is not None and tenant.models is not None and model not in tenant.models:
        return f"tenant {name} does not allow the model {model}"
    return ""


def when(at: str) -> datetime:
    """A time as records write it; one that can't be read is long ago."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def silenced(session: Session) -> Session:
    """A session without a word of its transcript: facts in numbers, and where it stands."""
    wordless = {name: value for name, value in WORDLESS_FACTS.items() if name in session.facts}
    rework = session.facts.get("rework")
    if isinstance(rework, dict):
        wordless["rework"] = rework | {"by": None, "detail": None}
    return replace(
        session,
        branch="",
        boundary=replace(session.boundary, evidence=""),
        merged_from=[replace(one, evidence="") for one in session.merged_from],
        facts=session.facts | wordless,
        language=None,
        intent=None,
        judge_status="trivial" if session.judge_status == "trivial" else "opted_out",
        ungraded_reason=None,
        goal_complete=None,
        confidence=None,
        evidence=None,
        citations=[],
        reasons=[],
        intent_reasons=[],
        crushed=None,
        title="",
        summary="",
        grade=None,
        checks={},
    )
