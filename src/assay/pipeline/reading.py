"""The one way from what is kept of transcripts to anybody: words come out redacted, or not at all.

Nothing else decodes turns for judges, reports or the person: `tests/test_exits.py` holds us to it.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, Tenant
from assay.pipeline.tenants import WORDLESS_FACTS, silenced, tenant_of, withheld
from assay.pipeline.work import Joining, pieces_of
from assay.sessions.join import join
from assay.sessions.redaction import Options, Redactor, clean, silent, version
from assay.stores.sql.settling import Pieces
from assay.types import Entry, Session, Stream, Summary

FACTS = msgspec.json.Decoder(dict[str, Any]).decode
JSON = msgspec.json.Encoder().encode


class Rules(Struct, frozen=True, kw_only=True):
    """What may be read, and how."""

    options: Options = Options()
    tenants: dict[str, Tenant] = {}
    now: datetime = datetime.max.replace(tzinfo=UTC)

    @property
    def version(self) -> tuple[object, ...]:
        """All that decides what a reader sees; time passes without it."""
        return version(), self.options, sorted(self.tenants.items())


class Readable(Struct, frozen=True, kw_only=True):
    """A stream as it may be seen."""

    stream: Stream
    redactor: Redactor
    tenant: str | None = None
    withheld: str = ""
    """Why there are no words in it."""


def rules(config: Config, now: datetime) -> Rules:
    """The rules of these settings."""
    chosen = config.redaction
    options = Options(email=chosen.email, home=chosen.home, hosts=chosen.hosts)
    return Rules(options=options, tenants=config.tenants, now=now)


def readable(kept: Pieces, rules: Rules) -> Readable:
    """A stream of its files as kept, redacted."""
    stream = join(pieces_of(Joining(pieces=kept.pieces, elsewhere=kept.elsewhere)), kept.elsewhere)
    name = tenant_of(rules.tenants, stream.about.cwd)
    why = withheld(rules.tenants.get(name or ""), stream.about.ended_at, rules.now)
    redactor = Redactor(rules.options)
    return Readable(
        stream=silent(stream) if why else clean(stream, redactor), redactor=redactor, tenant=name, withheld=why
    )


def summary(one: Summary, rules: Rules) -> Summary:
    """A stream as it is listed, redacted."""
    tenant = rules.tenants.get(tenant_of(rules.tenants, one.project) or "")
    if withheld(tenant, one.ended_at, rules.now):
        one = replace(one, title="", branch="", facts=JSON(FACTS(one.facts) | WORDLESS_FACTS))
    redactor = Redactor(rules.options)
    facts = JSON(with_places(FACTS(one.facts), redactor)) if rules.options != Options() else one.facts
    title, branch, project = redactor.text(one.title), redactor.text(one.branch), redactor.text(one.project)
    return replace(one, title=title, branch=branch, project=project, facts=facts)


def session(one: Session, rules: Rules) -> Session:
    """A session with what time and places ask for: words that were judged may have to go since."""
    name = tenant_of(rules.tenants, one.project)
    found = replace(one, tenant=name)
    if withheld(rules.tenants.get(name or ""), one.ended_at, rules.now):
        found = silenced(found)
    return placed(found, rules.options) if rules.options != Options() else found


def placed(one: Session, options: Options) -> Session:
    """A session whose folders and files are redacted too; the store needs them as they are, to find them again."""
    redactor = Redactor(options)
    return replace(one, project=redactor.text(one.project), facts=with_places(one.facts, redactor))


def with_places(facts: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Facts whose paths are redacted."""
    found = dict(facts)
    if "files" in found:
        found["files"] = [redactor.text(path) for path in found["files"]]
    if "lines_by_file" in found:
        found["lines_by_file"] = {redactor.text(path): lines for path, lines in found["lines_by_file"].items()}
    return found


def entries(ledger: list[Entry], sessions: list[Session]) -> list[Entry]:
    """The ledger without the words of sessions that have none."""
    wordless = {one.id for one in sessions if one.judge_status == "opted_out"}
    return [replace(one, evidence="") if one.session in wordless else one for one in ledger]
