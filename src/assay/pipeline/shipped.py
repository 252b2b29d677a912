"""What other machines ship: taken in by the rules of this store, and told beside what was read here.

A session that was shipped is told as its own machine tells it; a person's word that is given here wins over it. Where
words are not allowed, or not any more, they are dropped before anything is stored.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta, tzinfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.config import Tenant
from assay.pipeline import privacy
from assay.pipeline.judgement import hash_values
from assay.pipeline.neighbourhoods import add_folders
from assay.pipeline.scoring_run import ScoringRun, Selection, is_in_project
from assay.pipeline.sent import DECODE, ENCODE, digest_sent, read_sent, strip_words
from assay.pipeline.verdicts import mark_session, pick_standing
from assay.reports.json import encode_json
from assay.scores.audit import is_answered
from assay.scores.prism import refresh_crushed
from assay.scores.reasons import find_obstacle
from assay.scores.tally import tally_sessions
from assay.stores import Machine, Neighbourhood, ShippedPart, ShippedRow, Store, StreamName, ToldNeighbourhood, ToldRow
from assay.types import LedgerLine, PersonVerdict, Session
from assay.types.shipping import SHIPPED_ROOT, Age, SentSession, Shipment, ShipmentReceipt

PACK = msgspec.msgpack.Encoder().encode


class ShippedSession(Struct, frozen=True, kw_only=True):
    """A session of another machine, as it is told here."""

    session: Session
    ledger: list[LedgerLine]
    ages: list[Age]


# --- what comes in ------------------------------------------------------------------------------


class ShipmentRules(Struct, frozen=True, kw_only=True):
    """What may be taken in, of whom."""

    tenant: str
    """Whose store it is."""
    own: Tenant
    """What that tenant allows."""
    privacy: privacy.PrivacyRules


def take_shipment(store: Store, machine: Machine, shipment: Shipment, rules: ShipmentRules) -> ShipmentReceipt:
    """Keep all of a shipment that may be kept, in one transaction; gives what became of it."""
    read = [(bytes(one), read_sent(bytes(one))) for one in shipment.sessions]
    forgotten = store.shipped.find_forgotten(machine.name, [name_sent(sent) for _, sent in read])
    rows, dropped, refused = [], 0, Counter[str]()
    for document, sent in read:
        if why := explain_refusal(sent.session, rules):
            refused[why] += 1
            continue
        may_speak = rules.own.words and not is_silenced(sent.session, rules) and name_sent(sent) not in forgotten
        kept = sent if may_speak else strip_words(sent)
        dropped += kept != sent
        rows.append(build_row(kept, document if kept == sent else ENCODE(kept), rules.tenant))
    gone = store.shipped.save_sessions(machine, rows, [*shipment.withdrawn])
    store.flush()
    return ShipmentReceipt(stored=len(rows), withdrawn=gone, words_dropped=dropped, refused=dict(refused))


def name_sent(sent: SentSession) -> StreamName:
    return sent.session.agent, sent.session.id


def explain_refusal(session: Session, rules: ShipmentRules) -> str:
    """Why nothing of a session is taken: whoever owns its words opted out here."""
    owner = privacy.find_owner(session.facts.get("signs") or [session.project], session.ended_at, rules.privacy)
    named = privacy.find_named_tenant(rules.privacy.tenants, session.tenant)
    is_out = owner.withheld == privacy.OPTED_OUT or (named is not None and named.opt_out)
    return privacy.OPTED_OUT if is_out else ""


def is_silenced(session: Session, rules: ShipmentRules) -> bool:
    """Whether the words of a session are kept no longer."""
    owner = privacy.find_owner(session.facts.get("signs") or [session.project], session.ended_at, rules.privacy)
    return bool(
        owner.withheld
        or privacy.is_withheld(session.tenant, session.ended_at, rules.privacy)
        or privacy.has_expired(rules.own, session.ended_at, rules.privacy.now)
    )


def build_row(sent: SentSession, document: bytes, tenant: str) -> ShippedRow:
    """A session as it is kept; whose it is, is not for the sender to say."""
    one = replace(sent.session, tenant=sent.session.tenant or tenant, person=None, machine=None)
    return ShippedRow(
        agent=one.agent,
        id=one.id,
        streams=tuple(one.streams),
        began_at=one.started_at,
        ended_at=one.ended_at,
        project=one.project,
        digest=digest_sent(document),
        has_words=strip_words(sent) != sent,
        body=ENCODE(replace(sent, session=one, turns=None)),
        words=ENCODE(sent.turns) if sent.turns else b"",
    )


# --- words that have to go ----------------------------------------------------------------------


def forget_shipped(store: Store, found: Iterable[tuple[str, ShippedRow]]) -> int:
    """Delete the words of sessions of machines; gives how many sessions that were."""
    spoken: dict[str, list[ShippedRow]] = {}
    for machine, row in found:
        if row.has_words:
            sent = read_kept(row)
            body = ENCODE(strip_words(sent)) if sent else b""
            spoken.setdefault(machine, []).append(replace(row, body=body))
    for machine, rows in sorted(spoken.items()):
        store.shipped.replace_words(machine, rows)
    return sum(map(len, spoken.values()))


def forget_expired_words(store: Store, before: str, rules: privacy.PrivacyRules) -> int:
    """Delete the words of sessions that ended before a time and whose tenants keep them no longer."""
    return forget_shipped(
        store,
        (
            (machine, row)
            for machine, row in store.shipped.list_spoken(before)
            if (sent := read_kept(row)) and privacy.is_withheld(sent.session.tenant, row.ended_at, rules)
        ),
    )


# --- what is told -------------------------------------------------------------------------------


def takes_shipped(roots: Sequence[str] | None) -> bool:
    """Whether what other machines shipped is meant, too."""
    return roots is None or SHIPPED_ROOT in roots


def list_shipped(run: ScoringRun, selection: Selection) -> Iterator[ShippedSession]:
    """All shipped sessions that are selected."""
    if not takes_shipped(run.roots):
        return
    people = {one.name: one.person for one in run.store.shipped.list_machines()}
    for part in run.store.shipped.list_parts():
        for one in read_part(run, part, people.get(part.machine, "")):
            if is_selected(one.session, selection):
                yield one


def is_selected(session: Session, selection: Selection) -> bool:
    """Whether a session went on after `since`, began before `until`, and is of the project."""
    if selection.since and session.ended_at < selection.since:
        return False
    if selection.until and session.started_at >= selection.until:
        return False
    return not selection.project or is_in_project(session.project, selection.project)


def read_part(run: ScoringRun, part: ShippedPart, person: str) -> list[ShippedSession]:
    """The sessions of a part as they are told here."""
    said: dict[str, list[PersonVerdict]] = {}
    for one in pick_standing(run.verdicts):
        said.setdefault(one.turn, []).append(one)
    found = []
    for row in run.store.shipped.load_part(part.machine, part.month):
        sent = read_kept(row)
        if sent is None:
            continue
        own = [word for segment in list_ids(sent.session) for word in said.get(segment, ())]
        session = replace(add_words(sent.session, own), person=person or None, machine=part.machine)
        found.append(redact_sent(replace(sent, session=session), run.terms.privacy))
    return found


def read_kept(row: ShippedRow) -> SentSession | None:
    """A session as it came; `None` for one of another version: its machine sends it anew once it is of this one."""
    try:
        return DECODE(row.body)
    except msgspec.DecodeError:
        return None


def list_ids(session: Session) -> list[str]:
    """Ids of the segments of a session, as far as it tells them."""
    return [session.id, *(join.id for join in session.merged_from)]


def add_words(session: Session, said: Sequence[PersonVerdict]) -> Session:
    """A session with what was said of it here, after what was said of it there."""
    if not said:
        return session
    mark = session.marked
    if mark is None:
        return mark_session(session, said)
    before = [PersonVerdict(turn=mark.turn, verdict=mark.verdict, why=mark.why, at=mark.at, turns=mark.turns)]
    if mark.answer:
        before.insert(0, replace(before[0], verdict=mark.answer, is_sampled=True))
    judged = replace(session, marked=None, judge_status=mark.judge_status, goal_complete=mark.judged)
    return mark_session(judged, [*before, *said])


def redact_sent(sent: SentSession, rules: privacy.PrivacyRules) -> ShippedSession:
    """A session as it may be seen here: whatever its own machine let pass goes through this one's rules."""
    session = privacy.redact_told(sent.session, rules)
    (told,) = refresh_crushed([privacy.redact_session(session, rules)])
    lines = [privacy.redact_told(line, rules) for line in sent.ledger]
    return ShippedSession(session=told, ledger=privacy.redact_entries(lines, [told], rules), ages=sent.ages)


def update_shipped(run: ScoringRun, roots: Sequence[str] | None, zone: tzinfo, forever: float) -> None:
    """Bring what is told of shipped sessions up to date: part by part, where one changed."""
    parts = run.store.shipped.list_parts() if takes_shipped(roots) else []
    if not parts:  # those that are empty by now are listed too: nothing was ever shipped
        return
    told = run.store.told
    before = {one.name: one for one in told.list_neighbourhoods() if is_shipped(one)}
    people = {one.name: one.person for one in run.store.shipped.list_machines()}
    now, kept = run.as_of.timestamp(), set()
    for part in parts:
        name, person = f"{SHIPPED_ROOT} {part.machine} {part.month}", people.get(part.machine, "")
        key = hash_values(part.revision, person)
        known = before.get(name)
        if known and known.key == key and known.told_at <= now <= known.valid_until:
            kept.add(name)
        elif sessions := read_part(run, part, person):
            about = Neighbourhood(name=name, nodes=(name,), key=key, told_at=now, valid_until=forever)
            told.save_told(build_told(about, sessions, run, zone), [], 0)
            kept.add(name)
    told.drop_neighbourhoods(before.keys() - kept)


def is_shipped(one: Neighbourhood) -> bool:
    return one.name.startswith(SHIPPED_ROOT)


def build_told(
    about: Neighbourhood, found: Sequence[ShippedSession], run: ScoringRun, zone: tzinfo
) -> ToldNeighbourhood:
    """What is kept of a part."""
    ledger = [
        ((one.session.agent, one.session.id), [(line, encode_json(line)) for line in one.ledger]) for one in found
    ]
    folders = add_folders([[(one.session.project, 1, bool(one.session.branch))] for one in found])
    return ToldNeighbourhood(
        about=replace(
            about,
            valid_until=min([about.valid_until, *find_ends(found, run)]),
            folders=tuple((name, use.sessions, use.has_branch) for name, use in sorted(folders.items())),
        ),
        tally=PACK(
            tally_sessions([one.session for one in found], (line for one in found for line in one.ledger), zone)
        ),
        places=[],
        rows=[build_told_row(one) for one in found],
        ledger=ledger,
        deeds=[],
    )


def find_ends(found: Iterable[ShippedSession], run: ScoringRun) -> Iterator[float]:
    """When words of sessions have to go."""
    tenants = run.terms.privacy.tenants
    for one in found:
        tenant = privacy.find_named_tenant(tenants, one.session.tenant)
        if tenant and tenant.retention_days is not None and one.session.ended_at:
            end = privacy.parse_record_time(one.session.ended_at) + timedelta(days=tenant.retention_days)
            if end >= run.as_of:
                yield end.timestamp()


def build_told_row(one: ShippedSession) -> ToldRow:
    """A session as it is kept; what it lost since the last report is told where it came from."""
    session = one.session
    return ToldRow(
        agent=session.agent,
        id=session.id,
        folder=session.project,
        began_at=session.started_at,
        ended_at=session.ended_at,
        crushed=session.crushed,
        obstacle=find_obstacle(session) or "",
        is_news=False,
        is_answered=is_answered(session),
        ages=PACK(one.ages) if one.ages else b"",
        body=encode_json(session),
        work=b"",
    )
