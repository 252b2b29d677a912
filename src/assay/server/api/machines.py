"""`/api/v1/machines`: sessions that other machines ship with `assay ship`, each once."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import msgspec
from litestar import Response, delete, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import FromPath, QueryParameter
from msgspec.structs import replace

from assay.config import Tenant
from assay.errors import BadInput, StoreError
from assay.pipeline.privacy import build_rules, explain_withheld
from assay.pipeline.shipped import ShipmentRules, take_shipment
from assay.server.access import Visitor
from assay.server.api.answers import ERRORS, READS, TAGGED, AnyRequest, answer, answer_change
from assay.server.documents import ForgottenMachine
from assay.server.guard import read_headers
from assay.server.hall import Hall
from assay.server.keys import format_now
from assay.server.limits import read_body, unpack_body
from assay.server.people import BY_PEOPLE, check_people
from assay.server.replies import Refusal
from assay.server.seals import open_cursor, seal_cursor
from assay.server.threads import run_in_thread
from assay.stores import Machine, Store
from assay.types import Deed
from assay.types.shipping import MachinesView, Shipment, ShipmentReceipt, ShippedPage

DECODE = msgspec.json.Decoder(Shipment).decode
ON_PAGE = 5_000
LONGEST_PERSON = 80
After = Annotated[str, QueryParameter(description="`next` of the page before.", max_length=1_000)]
TAKEN = "this machine's sessions come with another key; use that one, or call the machine otherwise (ship.machine)"
TEXT = Schema(type=OpenAPIType.STRING, max_length=LONGEST_PERSON)
LIST = Schema(type=OpenAPIType.ARRAY, items=Schema(type=OpenAPIType.OBJECT))
NAMES = Schema(
    type=OpenAPIType.ARRAY,
    items=Schema(type=OpenAPIType.ARRAY, items=Schema(type=OpenAPIType.STRING), min_items=2, max_items=2),
)
SHIPMENT = Schema(
    type=OpenAPIType.OBJECT,
    properties={"person": TEXT, "sessions": LIST, "withdrawn": NAMES},
    additional_properties=False,
)


@dataclass
class ShipmentOperation(Operation):
    """What is sent, which may be packed: no framework reads it."""

    request_body: RequestBody | Any = field(
        default_factory=lambda: RequestBody(
            required=True,
            description="Sessions as `assay ship --dry-run --json` shows them, and names of others to withdraw.",
            content={"application/json": OpenAPIMediaType(schema=SHIPMENT)},
        )
    )


@get("/api/v1/machines", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_machines(
    request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[MachinesView]:
    """List the machines that shipped sessions, and whose they are, to who may delete them or tell people apart."""
    store = hall.open_store(visitor)
    if not visitor.may("admin"):
        check_people(hall, visitor, store, BY_PEOPLE)
    return answer(request, store, MachinesView(machines=store.shipped.list_machines()))


@delete("/api/v1/machines/{machine:str}", status_code=200, responses=ERRORS)
@run_in_thread
def drop_machine(
    machine: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[ForgottenMachine]:
    """Delete all that a machine shipped, for good."""
    store = hall.open_store(visitor)
    if store.shipped.find_machine(machine) is None:
        raise Refusal(404, "there is no such machine")
    gone = store.shipped.drop_machine(machine)
    deed = Deed(at=format_now(), who=visitor.name, kind="machine_dropped", about=machine[:64], count=gone)
    store.keys.save_deed(deed)
    hall.reports.forget(visitor.tenant)
    return answer_change(ForgottenMachine(machine=machine, sessions=gone))


@get("/api/v1/machines/{machine:str}/sessions", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_shipped(
    request: AnyRequest,
    machine: FromPath[str],
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    after: After = "",
) -> Response[ShippedPage]:
    """Tell what is here of a machine: names and digests, for whoever ships it."""
    store, own = hall.open_store(visitor), find_own(hall, visitor)
    check_machine(store, visitor, machine)
    secret = store.keys.load_secret()
    place = open_cursor(secret, f"machine {machine}", after) if after else ()
    found = store.shipped.list_lines(machine, place, ON_PAGE + 1)
    page = found[:ON_PAGE]
    behind = (page[-1].agent, page[-1].id) if len(found) > ON_PAGE else None
    following = seal_cursor(secret, f"machine {machine}", behind) if behind else None
    return answer(request, store, ShippedPage(words=own.words, sessions=page, next=following))


@post(
    "/api/v1/machines/{machine:str}/sessions",
    status_code=200,
    responses=ERRORS,
    operation_class=ShipmentOperation,
    request_max_body_size=None,
)
async def take_sessions(
    request: AnyRequest, machine: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[ShipmentReceipt]:
    """Take sessions of a machine in, in place of what was here of them; answered when all of it is on the disk."""
    headers, limits = read_headers(cast(Any, request.scope)), hall.settings.limits
    with hall.receiver.bytes.hold() as add:
        packed = await read_body(request.stream(), headers.get("content-length", ""), limits, add)
        body = unpack_body(packed, headers.get("content-encoding", ""), limits.unpacked_bytes)
        add(0 if body is packed else len(body))
        receipt = await asyncio.get_running_loop().run_in_executor(
            hall.threads, save_shipment, hall, visitor, machine, body
        )
    hall.figures.count("assay_shipped_sessions_total", receipt.stored)
    return answer_change(receipt)


def save_shipment(hall: Hall, visitor: Visitor, machine: str, body: bytes) -> ShipmentReceipt:
    """Keep what may be kept of a shipment."""
    store, own = hall.open_store(visitor), find_own(hall, visitor)
    check_machine(store, visitor, machine)
    try:
        shipment = DECODE(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, f"this is no shipment: {str(error)[:200]}") from None
    person = shipment.person
    if len(person) > LONGEST_PERSON or not person.isprintable():
        raise Refusal(400, f"the person's name must be printable and of at most {LONGEST_PERSON} characters")
    at = format_now()
    rules = build_rules(hall.settings.config, datetime.now(UTC))
    found = Machine(name=machine, person=person, key=visitor.key, shipped_at=at)
    terms = ShipmentRules(tenant=hall.name_tenant(visitor), own=own, privacy=rules)
    try:
        return take_shipment(store, found, shipment, terms)
    except StoreError:
        raise
    except BadInput as error:
        raise Refusal(400, str(error)) from None


def find_own(hall: Hall, visitor: Visitor) -> Tenant:
    """What a visitor's tenant allows; refused where that is nothing. A cloned repository's file allows no words."""
    name = hall.name_tenant(visitor)
    own = hall.settings.config.tenants.get(name, Tenant())
    own = replace(own, words=own.words and hall.settings.own_tenants.get(name, Tenant()).words)
    if why := explain_withheld(own, "", datetime.now(UTC)):
        raise Refusal(403, f"nothing of this tenant is taken in: {why}")
    return own


def check_machine(store: Store, visitor: Visitor, name: str) -> None:
    """Refuse a name that can't be, or a machine that another key ships: that key must be revoked first."""
    if not is_machine(name):
        raise Refusal(400, "a machine's name has at most 40 letters, digits, dots and dashes")
    known = store.shipped.find_machine(name)
    if known is None or known.key == visitor.key:
        return
    if any(one.id == known.key and one.revoked_at is None for one in store.keys.list_keys()):
        raise Refusal(403, TAKEN)


def is_machine(name: str) -> bool:
    return 0 < len(name) <= 40 and name.isascii() and name.replace("-", "").replace(".", "").replace("_", "").isalnum()


HANDLERS: list[Any] = [list_machines, drop_machine, list_shipped, take_sessions]
