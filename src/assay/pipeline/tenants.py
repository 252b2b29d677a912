"""Whose words a stream's are, and what may become of them."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from msgspec.structs import replace

from assay.config import Tenant
from assay.stores.sql.paths import inside
from assay.types import Session

Tenants = Mapping[str, Tenant]

OPTED_OUT = "opted out"
EXPIRED = "kept no longer than its tenant allows"
WORDLESS_FACTS: dict[str, object] = {"files": [], "lines_by_file": {}, "failure_signals": [], "pull_requests": []}
"""Facts that hold words of a transcript, emptied."""


def tenant_of(tenants: Tenants, project: str, attributes: Mapping[str, str] | None = None, key: str = "") -> str | None:
    """The first tenant that a project's folder, resource attributes or the key it came in with belong to."""
    hashed = sha256(key.encode()).hexdigest() if key else ""
    for name, one in tenants.items():
        if any(is_below(project, folder) for folder in one.projects):
            return name
        if one.attributes and one.attributes.items() <= (attributes or {}).items():
            return name
        if hashed and hashed in one.keys:
            return name
    return None


def is_below(project: str, folder: str) -> bool:
    """Whether a folder is another one or lies in it."""
    place = os.path.expanduser(folder).rstrip("/") or "/"
    return project == place or project.startswith(inside(place))


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
