"""The one way from what is kept of transcripts to anybody: words come out redacted, or not at all.

Whose words they are, and whether anybody may see them, is their tenant's to say. Nothing else decodes turns for
judges, reports or the person: `tests/test_exits.py` holds us to it.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, Tenant, merge_tenant
from assay.files import to_folder_prefix
from assay.pipeline.scan_worker import ENCODE, decode_pieces
from assay.sessions.redaction import RedactionOptions, Redactor, hash_rules, redact_secrets, silence_stream
from assay.sessions.streams import join_files
from assay.stores import StreamPieces
from assay.types import LedgerLine, Part, Session, Stream, StreamSummary, Turn
from assay.types.value import is_folder_sign, sign_attribute, sign_key

Tenants = Mapping[str, Tenant]

AND = " + "
"""Between the tenants whose words stand in one session."""
OPTED_OUT = "opted out"
EXPIRED = "kept no longer than its tenant allows"
WORDLESS_FACTS: dict[str, object] = {"files": [], "lines_by_file": {}, "failure_signals": [], "pull_requests": []}
"""Facts that hold words of a transcript, emptied."""


NO_WORDS: dict[str, Any] = {
    "language": None,
    "intent": None,
    "aim": None,
    "second_intent": None,
    "intent_chance": None,
    "ungraded_reason": None,
    "goal_complete": None,
    "confidence": None,
    "evidence": None,
    "citations": [],
    "reasons": [],
    "intent_reasons": [],
    "crushed": None,
    "title": "",
    "summary": "",
    "grade": None,
    "checks": {},
}
"""What is judged of words that nobody may see: nothing."""


class WordOwner(Struct, frozen=True):
    """Whose some words are, and why nobody may see them; nothing where they may be seen."""

    tenant: str | None = None
    withheld: str = ""


def find_tenant(tenants: Tenants, folder: str, signs: Collection[str] = ()) -> str | None:
    """The first tenant that a folder, or the signs of attributes and keys, belong to."""
    for name, one in tenants.items():
        if any(is_below(folder, project) for project in one.projects):
            return name
        if one.attributes and all(sign_attribute(*pair) in signs for pair in one.attributes.items()):
            return name
        if any(sign_key(key) in signs for key in one.keys):
            return name
    return None


def find_owner_among(tenants: Tenants, signs: Sequence[str], ended_at: str, now: datetime) -> WordOwner:
    """Whose words with these signs are: where several tenants claim them, the one that withholds them, else all."""
    names = list_claimants(tenants, signs)
    found = [WordOwner(name, explain_withheld(tenants[name], ended_at, now)) for name in names]
    return next((one for one in found if one.withheld), merge_owners(found))


def list_claimants(tenants: Tenants, signs: Sequence[str]) -> list[str]:
    """The tenants that words with these signs belong to."""
    folders = [one for one in signs if is_folder_sign(one)] or [""]
    names = dict.fromkeys(find_tenant(tenants, one, signs) for one in folders)
    return [name for name in names if name is not None]


def merge_owners(owners: Iterable[WordOwner]) -> WordOwner:
    """The owner of what several own: all whose words may be seen, by name; of what nobody may see, the first."""
    some = list(owners)
    heard = dict.fromkeys(one.tenant for one in some if one.tenant and not one.withheld)
    if some and all(one.withheld for one in some):
        return some[0]
    return WordOwner(AND.join(heard) or None)


def find_named_tenant(tenants: Tenants, name: str | None) -> Tenant | None:
    """The tenant of that name; of several, whatever one of them forbids is forbidden."""
    if not name or name in tenants:
        return tenants.get(name or "")
    return reduce(merge_tenant, (tenants[one] for one in name.split(AND) if one in tenants), Tenant())


def is_below(project: str, folder: str) -> bool:
    """Whether a folder is another one or lies in it, by its name or by where links lead."""
    places = resolve_folder(os.path.expanduser(folder))
    return any(
        there == place or there.startswith(to_folder_prefix(place))
        for there in resolve_folder(project)
        for place in places
    )


@lru_cache(4096)
def resolve_folder(folder: str) -> frozenset[str]:
    """A folder's path in plain form, and with its links followed."""
    if not folder:
        return frozenset({""})
    plain = os.path.normpath(folder)
    plain = plain[1:] if plain.startswith("//") else plain
    return frozenset({plain, os.path.realpath(plain)} if plain.startswith("/") else {plain})


def explain_withheld(tenant: Tenant | None, ended_at: str, now: datetime) -> str:
    """Why a tenant's words may not be shown to anybody; nothing where they may."""
    if tenant is None:
        return ""
    if tenant.opt_out:
        return OPTED_OUT
    return EXPIRED if has_expired(tenant, ended_at, now) else ""


def has_expired(tenant: Tenant, ended_at: str, now: datetime) -> bool:
    """Whether a tenant keeps words of that time no longer."""
    if tenant.retention_days is None or not ended_at:
        return False
    return parse_record_time(ended_at) < now - timedelta(days=tenant.retention_days)


def explain_forbidden(tenant: Tenant | None, name: str | None, backend: str, model: str) -> str:
    """Why a model may not judge a tenant's sessions; nothing where it may."""
    if tenant is not None and tenant.judges is not None and backend not in tenant.judges:
        return f"tenant {name} does not allow {backend}"
    if tenant is not None and tenant.models is not None and model not in tenant.models:
        return f"tenant {name} does not allow the model {model}"
    return ""


def parse_record_time(at: str) -> datetime:
    """A time as records write it; one that can't be read is long ago."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def remove_words(session: Session) -> Session:
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
        judge_status="trivial" if session.judge_status == "trivial" else "opted_out",
        marked=None,
        **NO_WORDS,
    )


FACTS = msgspec.json.Decoder(dict[str, Any]).decode
JSON = msgspec.json.Encoder().encode
SECRETS = RedactionOptions()
T = TypeVar("T", bound=Struct)


class PrivacyRules(Struct, frozen=True, kw_only=True):
    """What may be read, and how."""

    options: RedactionOptions = RedactionOptions()
    tenants: dict[str, Tenant] = {}
    now: datetime = datetime.max.replace(tzinfo=UTC)

    @property
    def version(self) -> tuple[object, ...]:
        """All that decides what a reader sees; time passes without it."""
        return hash_rules(), self.options, sorted(self.tenants.items())


class VisibleStream(Struct, frozen=True, kw_only=True):
    """A stream as it may be seen."""

    stream: Stream
    placed: Stream
    """The same with only its secrets replaced: for finding its folders and files again, never for eyes."""
    redactor: Redactor
    owners: tuple[WordOwner, ...]
    """Of each turn."""
    owner: WordOwner
    """Of all of them."""

    @property
    def withheld(self) -> str:
        """Why there are no words in it."""
        return self.owner.withheld


def build_rules(config: Config, now: datetime) -> PrivacyRules:
    """The rules of these settings."""
    chosen = config.redaction
    options = RedactionOptions(email=chosen.email, home=chosen.home, hosts=chosen.hosts)
    return PrivacyRules(options=options, tenants=config.tenants, now=now)


def redact_stream(kept: StreamPieces, rules: PrivacyRules) -> VisibleStream:
    """A stream of its files as kept, redacted."""
    stream = join_files(decode_pieces(kept), kept.elsewhere)
    about = stream.about
    owners = tuple(find_owner(turn.signs or (about.cwd,), about.ended_at, rules) for turn in stream.turns)
    if all(part.is_forgotten for _, part, _ in kept.pieces):
        owners = tuple(replace(one, withheld=one.withheld or EXPIRED) for one in owners)
    whole = merge_owners(owners or [find_owner(about.signs or (about.cwd,), about.ended_at, rules)])
    redactor = Redactor(rules.options)
    heard = (
        silence_stream(stream, [bool(one.withheld) for one in owners])
        if any(one.withheld for one in owners)
        else stream
    )
    if whole.withheld:
        seen = placed = silence_stream(stream)
    elif rules.options == SECRETS:
        seen = placed = redact_secrets(heard, redactor)
    else:
        placed = redact_secrets(heard, Redactor())
        seen = redact_secrets(placed, redactor)
    return VisibleStream(stream=seen, placed=placed, redactor=redactor, owners=owners, owner=whole)


def forget_pieces(kept: StreamPieces, ended_at: str, rules: PrivacyRules) -> StreamPieces | None:
    """The files of a stream without the words whose retention has passed; `None` where there are none."""
    return silence_pieces(kept, lambda signs: are_expired(signs, ended_at, rules))


def are_expired(signs: Sequence[str], ended_at: str, rules: PrivacyRules) -> bool:
    """Whether one of the tenants of words with these signs keeps them no longer, opted out or not."""
    names = list_claimants(rules.tenants, signs)
    return any(has_expired(rules.tenants[name], ended_at, rules.now) for name in names)


def silence_pieces(kept: StreamPieces, is_silent: Callable[[Sequence[str]], bool]) -> StreamPieces | None:
    """The files of a stream without the words of turns with such signs; `None` where there are none.

    Ids stay, by which files are joined and copies found.
    """
    pieces = []
    for (path, part, turns), (_, _, before) in zip(decode_pieces(kept), kept.pieces, strict=True):
        silenced = [is_silent(turn.signs or (part.cwd,)) for turn in turns] or [is_silent(part.signs or (part.cwd,))]
        if not any(silenced):
            pieces.append((path, part, before))
            continue
        stream = Stream(id=part.stream, agent=part.agent, files=(path,), about=part, turns=tuple(turns))
        silent = silence_stream(stream, silenced if turns else ())
        bodies = tuple(ENCODE(keep_ids(*pair)) for pair in zip(turns, silent.turns, strict=True))
        pieces.append((path, replace(silent.about, is_forgotten=all(silenced)), bodies))
    silent_pieces = tuple(pieces)
    return replace(kept, pieces=silent_pieces) if silent_pieces != kept.pieces else None


def keep_ids(turn: Turn, silent: Turn) -> Turn:
    """A turn without words that can still be joined with what belongs to it."""
    calls = zip(turn.calls, silent.calls, strict=True)
    return replace(
        silent,
        calls=tuple(replace(hushed, id=call.id, agent=call.agent, by=call.by) for call, hushed in calls),
        spends=turn.spends,
    )


class SpokenPrompt(Struct, frozen=True):
    """Of a kept prompt, when and what."""

    at: str = ""
    text: str = ""


class SpokenTurn(Struct, frozen=True):
    """Of a kept turn, what was said and whose words that is; the rest is left where it lies."""

    prompt: SpokenPrompt | None = None
    signs: tuple[str, ...] = ()


SPOKEN = msgspec.msgpack.Decoder(SpokenTurn).decode


def find_prompts(kept: StreamPieces, words: Sequence[str], rules: PrivacyRules) -> dict[str, str]:
    """Prompts in which one of these words stands, in small letters, by their time; as they may be seen."""
    found: dict[str, str] = {}
    redactor = Redactor(rules.options)
    for _, part, bodies in kept.pieces:
        for turn in map(SPOKEN, bodies):
            said = turn.prompt.text if turn.prompt else ""
            if turn.prompt is None or not any(word in said.lower() for word in words):
                continue
            if not find_owner(turn.signs or (part.cwd,), part.ended_at, rules).withheld:
                found[turn.prompt.at] = "\n".join(filter(None, (found.get(turn.prompt.at), redactor.text(said))))
    return found


def find_owner(signs: Sequence[str], ended_at: str, rules: PrivacyRules) -> WordOwner:
    """Whose words with these signs are."""
    return find_owner_among(rules.tenants, signs, ended_at, rules.now)


def redact_summary(one: StreamSummary, rules: PrivacyRules) -> StreamSummary:
    """A stream as it is listed, redacted."""
    redactor = Redactor(rules.options)
    signs = FACTS(one.facts).get("signs") or [one.project]
    if find_owner(signs, one.ended_at, rules).withheld:
        one = replace(one, title="", branch="", facts=JSON(FACTS(one.facts) | WORDLESS_FACTS))
    if redactor.holds(one.facts.decode("utf-8", "surrogatepass")):
        one = replace(one, facts=JSON(redact_json(FACTS(one.facts), redactor)))
    title, branch, project = redactor.text(one.title), redactor.text(one.branch), redactor.text(one.project)
    return replace(one, title=title, branch=branch, project=project, file=redactor.text(one.file))


def redact_session(one: Session, rules: PrivacyRules) -> Session:
    """A session as it is told.

    Its turns were redacted before it was judged; since then people named it, git said who replaced its lines, and
    words may have to go because time has passed.
    """
    name = one.tenant or (None if one.facts.get("signs") else find_tenant(rules.tenants, one.project))
    found = replace(one, tenant=name)
    if is_withheld(name, one.ended_at, rules):
        found = remove_words(found)
    redactor = Redactor(rules.options)
    text = redactor.text
    return replace(
        found,
        title=text(found.title),
        branch=text(found.branch),
        project=text(found.project),
        boundary=replace(found.boundary, evidence=text(found.boundary.evidence)),
        merged_from=[replace(join, evidence=text(join.evidence)) for join in found.merged_from],
        facts=found.facts | {"rework": redact_json(found.facts.get("rework"), redactor)},
        marked=found.marked and replace(found.marked, why=text(found.marked.why)),
    )


def is_withheld(tenant: str | None, ended_at: str, rules: PrivacyRules) -> bool:
    """Whether nobody may see a word of what this tenant said until then."""
    return bool(explain_withheld(find_named_tenant(rules.tenants, tenant), ended_at, rules.now))


def redact_json(value: Any, redactor: Redactor) -> Any:
    """A value as JSON has it, every text in it redacted, names of fields too."""
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, dict):
        return {redactor.text(name): redact_json(one, redactor) for name, one in value.items()}
    return [redact_json(one, redactor) for one in value] if isinstance(value, list | tuple) else value


def redact_told(value: T, rules: PrivacyRules) -> T:
    """The same for what another machine told and redacted by its own rules: nearly always there is nothing left."""
    redactor = Redactor(rules.options)
    return redact_struct(value, rules) if redactor.holds(JSON(value).decode("utf-8", "surrogatepass")) else value


def redact_sent_turns(words: bytes, session: Session, rules: PrivacyRules) -> tuple[Turn, ...]:
    """The turns of a session that another machine sent, by the rules of this one."""
    if not words or is_withheld(session.tenant, session.ended_at, rules):
        return ()
    about = Part(agent=session.agent, stream=session.streams[0], cwd=session.project)
    turns = msgspec.json.decode(words, type=tuple[Turn, ...])
    stream = Stream(id=session.streams[0], agent=session.agent, files=(), about=about, turns=turns)
    return redact_secrets(stream, Redactor(rules.options)).turns


def redact_struct(value: T, rules: PrivacyRules) -> T:
    """A value of ours with every text in it redacted: what a model or a server said stands in no transcript."""
    return msgspec.convert(redact_json(msgspec.to_builtins(value), Redactor(rules.options)), type(value))


def redact_entries(ledger: list[LedgerLine], sessions: list[Session], rules: PrivacyRules) -> list[LedgerLine]:
    """The ledger as it is told, without the words of sessions that have none."""
    redactor = Redactor(rules.options)
    silent = [one for one in sessions if is_withheld(one.tenant, one.ended_at, rules)]
    wordless = {name for one in silent for name in (one.id, *(join.id for join in one.merged_from))}
    return [replace(one, evidence="" if one.session in wordless else redactor.text(one.evidence)) for one in ledger]


def redact_skips(listed: Iterable[tuple[str, int, str]], rules: PrivacyRules) -> list[tuple[str, int, str]]:
    """Paths, lines and reasons of what was skipped, redacted: what a file is called is somebody's word too."""
    redactor = Redactor(rules.options)
    return [(redactor.text(path), line, redactor.text(why)) for path, line, why in listed]


def redact_unreadable(listed: Iterable[tuple[str, str]], rules: PrivacyRules) -> list[tuple[str, str]]:
    """Paths that could not be opened, and why, redacted."""
    return [(path, why) for path, _, why in redact_skips(((path, 0, why) for path, why in listed), rules)]
