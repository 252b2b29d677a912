"""OTLP over HTTP: what agents send is checked, unpacked, decoded, and answered when it is on the disk."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from assay.config import Tenant
from assay.errors import BadInput
from assay.pipeline.privacy import PrivacyRules, explain_withheld, find_owner
from assay.pipeline.telemetry import find_folder, list_signs
from assay.server.access import Visitor
from assay.server.figures import Figures
from assay.server.limits import HeldBytes, read_body, unpack_body
from assay.server.replies import JSON, PROTOBUF, RawReply, Refusal, build_otlp_reply, read_kind
from assay.server.settings import ServerSettings
from assay.server.tenants import TenantStores
from assay.server.writer import Writer
from assay.telemetry.otlp import TelemetryBatch, decode_body
from assay.types.telemetry import Signal, TelemetryRecord

RECORDS = "assay_telemetry_records_total"


class Receiver:
    """Takes telemetry in for the tenant of whoever sent it."""

    def __init__(
        self, settings: ServerSettings, stores: TenantStores, figures: Figures, report: Callable[[str], None]
    ) -> None:
        self.settings = settings
        self.stores = stores
        self.figures = figures
        self.writer = Writer(settings.limits, report)
        self.bytes = HeldBytes(settings.limits.held_bytes)

    async def receive(
        self, signal: Signal, visitor: Visitor, headers: Mapping[str, str], chunks: AsyncIterator[bytes]
    ) -> RawReply:
        """Take one request in; answered when all of it that may be kept is stored."""
        media_type = read_media_type(headers.get("content-type", ""))
        limits, tenants = self.settings.limits, self.settings.config.tenants
        if why := explain_withheld(tenants.get(visitor.tenant), "", datetime.now(UTC)):
            self.figures.count(RECORDS, signal=signal, outcome="refused")
            raise Refusal(403, f"nothing of this tenant is taken in: {why}")
        with self.bytes.hold() as add:
            packed = await read_body(chunks, headers.get("content-length", ""), limits, add)
            body = unpack_body(packed, headers.get("content-encoding", ""), limits.unpacked_bytes)
            add(0 if body is packed else len(body))
            batch = await asyncio.to_thread(decode, signal, media_type, body)
            allowed, withheld = select_allowed(batch.records, visitor, tenants)
            await self.save(visitor, allowed)
        self.count(signal, len(allowed), batch.rejected, withheld)
        dropped = withheld.total()
        told = "; ".join(filter(None, [batch.why, *(f"{n} records: {why}" for why, n in sorted(withheld.items()))]))
        return build_otlp_reply(signal, media_type, batch.rejected + dropped, told)

    async def save(self, visitor: Visitor, records: tuple[TelemetryRecord, ...]) -> None:
        """Have records in the store of the visitor's tenant, and of nobody else's."""
        if not records:
            return
        store = self.stores.find_open(visitor.tenant) or await asyncio.to_thread(self.stores.find, visitor.tenant)
        if store is None:
            raise Refusal(401, "this key opens nothing any more")
        await self.writer.save(visitor.tenant, store, records)

    def count(self, signal: Signal, stored: int, rejected: int, withheld: Counter[str]) -> None:
        for outcome, n in (("stored", stored), ("rejected", rejected), ("withheld", withheld.total())):
            if n:
                self.figures.count(RECORDS, n, signal=signal, outcome=outcome)


def read_media_type(given: str) -> str:
    """Protobuf or JSON, by what a request says of itself."""
    kind = read_kind(given)
    if kind not in (PROTOBUF, JSON):
        raise Refusal(415, f"send {PROTOBUF} or {JSON}")
    return kind


def decode(signal: Signal, media_type: str, body: bytes) -> TelemetryBatch:
    try:
        return decode_body(signal, media_type, body)
    except BadInput as error:
        raise Refusal(400, str(error)) from None


def select_allowed(
    records: Sequence[TelemetryRecord], visitor: Visitor, tenants: Mapping[str, Tenant]
) -> tuple[tuple[TelemetryRecord, ...], Counter[str]]:
    """The records that may be kept, each with the key it came with, and why how many others may not."""
    named = [replace(one, key=visitor.hashed) for one in records] if visitor.hashed else records
    if not tenants:
        return tuple(named), Counter()
    rules = PrivacyRules(tenants=dict(tenants), now=datetime.now(UTC))
    own, kept, withheld = tenants.get(visitor.tenant), [], Counter[str]()
    for one in named:
        signs = [folder for folder in [find_folder(one)] if folder and "\0" not in folder]
        found = find_owner([*signs, *list_signs([one])], one.at, rules)
        why = explain_withheld(own, one.at, rules.now) or found.withheld
        if why:
            withheld[why] += 1
        else:
            kept.append(one)
    return tuple(kept), withheld
