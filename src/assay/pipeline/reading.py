"""The one way from what is kept of transcripts to anybody: words come out redacted, or not at all.

Nothing else decodes turns for judges, reports or the person: `tests/test_exits.py` holds us to it.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, Tenant
from assay.pipeline.tenants import WORDLESS_FACTS, Owner, named, owner_of, shared, silenced, tenant_of, withheld
from assay.pipeline.work import Joining, pieces_of
from assay.sessions.join import join
from assay.sessions.redaction import Options, Redactor, clean, silent, version
from assay.stores import StreamPieces
from assay.types import Entry, Session, Stream, Summary

FACTS = msgspec.json.Decoder(dict[str, Any]).decode
JSON = msgspec.json.Encoder().encode
SECRETS = Options()
T = TypeVar("T", bound=Struct)


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
    placed: Stream
    """The same with only its secrets replaced: for finding its folders and files again, never for eyes."""
    redactor: Redactor
    owners: tuple[Owner, ...]
    """Of each turn."""
    owner: Owner
    """Of all of them."""

    @property
    def withheld(self) -> str:
        """Why there are no words in it."""
        return self.owner.withheld


def rules(config: Config, now: datetime) -> Rules:
    """The rules of these settings."""
    chosen = config.redaction
    options = Options(email=chosen.email, home=chosen.home, hosts=chosen.hosts)
    return Rules(options=options, tenants=config.tenants, now=now)


def readable(kept: StreamPieces, rules: Rules) -> Readable:
    """A stream of its files as kept, redacted."""
    stream = join(pieces_of(Joining(pieces=kept.pieces, elsewhere=kept.elsewhere)), kept.elsewhere)
    about = stream.about
    owners = tuple(owner(turn.signs or (about.cwd,), about.ended_at, rules) for turn in stream.turns)
    whole = shared(owners or [owner(about.signs or (about.cwd,), about.ended_at, rules)])
    redactor = Redactor(rules.options)
    heard = silent(stream, [bool(one.withheld) for one in owners]) if any(one.withheld for one in owners) else stream
    if whole.withheld:
        seen = placed = silent(stream)
    elif rules.options == SECRETS:
        seen = placed = clean(heard, redactor)
    else:
        placed = clean(heard, Redactor())
        seen = clean(placed, redactor)
    return Readable(stream=seen, placed=placed, redactor=redactor, owners=owners, owner=whole)


def owner(signs: Sequence[str], ended_at: str, rules: Rules) -> Owner:
    """Whose words with these signs are."""
    return owner_of(rules.tenants, signs, ended_at, rules.now)


def summary(one: Summary, rules: Rules) -> Summary:
    """A stream as it is listed, redacted."""
    redactor = Redactor(rules.options)
    signs = FACTS(one.facts).get("signs") or [one.project]
    if owner(signs, one.ended_at, rules).withheld:
        one = replace(one, title="", branch="", facts=JSON(FACTS(one.facts) | WORDLESS_FACTS))
    if redactor.holds(one.facts.decode("utf-8", "surrogatepass")):
        one = replace(one, facts=JSON(swept(FACTS(one.facts), redactor)))
    title, branch, project = redactor.text(one.title), redactor.text(one.branch), redactor.text(one.project)
    return replace(one, title=title, branch=branch, project=project, file=redactor.text(one.file))


def session(one: Session, rules: Rules) -> Session:
    """A session as it is told.

    Its turns were redacted before it was judged; since then people named it, git said who replaced its lines, and
    words may have to go because time has passed.
    """
    name = one.tenant or (None if one.facts.get("signs") else tenant_of(rules.tenants, one.project))
    found = replace(one, tenant=name)
    if is_withheld(name, one.ended_at, rules):
        found = silenced(found)
    redactor = Redactor(rules.options)
    text = redactor.text
    return replace(
        found,
        title=text(found.title),
        branch=text(found.branch),
        project=text(found.project),
        boundary=replace(found.boundary, evidence=text(found.boundary.evidence)),
        merged_from=[replace(join, evidence=text(join.evidence)) for join in found.merged_from],
        facts=found.facts | {"rework": swept(found.facts.get("rework"), redactor)},
    )


def is_withheld(tenant: str | None, ended_at: str, rules: Rules) -> bool:
    """Whether nobody may see a word of what this tenant said until then."""
    return bool(withheld(named(rules.tenants, tenant), ended_at, rules.now))


def swept(value: Any, redactor: Redactor) -> Any:
    """A value as JSON has it, every text in it redacted, names of fields too."""
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, dict):
        return {redactor.text(name): swept(one, redactor) for name, one in value.items()}
    return [swept(one, redactor) for one in value] if isinstance(value, list | tuple) else value


def tellable(value: T, rules: Rules) -> T:
    """A value of ours with every text in it redacted: what a model or a server said stands in no transcript."""
    return msgspec.convert(swept(msgspec.to_builtins(value), Redactor(rules.options)), type(value))


def entries(ledger: list[Entry], sessions: list[Session], rules: Rules) -> list[Entry]:
    """The ledger as it is told, without the words of sessions that have none."""
    redactor = Redactor(rules.options)
    silent = [one for one in sessions if is_withheld(one.tenant, one.ended_at, rules)]
    wordless = {name for one in silent for name in (one.id, *(join.id for join in one.merged_from))}
    return [replace(one, evidence="" if one.session in wordless else redactor.text(one.evidence)) for one in ledger]


def skips(listed: Iterable[tuple[str, int, str]], rules: Rules) -> list[tuple[str, int, str]]:
    """Paths, lines and reasons of what was skipped, redacted: what a file is called is somebody's word too."""
    redactor = Redactor(rules.options)
    return [(redactor.text(path), line, redactor.text(why)) for path, line, why in listed]


def unreadable(listed: Iterable[tuple[str, str]], rules: Rules) -> list[tuple[str, str]]:
    """Paths that could not be opened, and why, redacted."""
    return [(path, why) for path, _, why in skips(((path, 0, why) for path, why in listed), rules)]
