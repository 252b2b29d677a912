"""`assay work`: reads, judges and tells what came in, for a server; as many of them as there is work for."""

import logging
import os
import signal
from importlib import import_module
from threading import Event
from typing import Annotated, Any

import typer
from msgspec import Struct

from assay.cli.options import StorePath, options
from assay.cli.output import print_note
from assay.cli.serve import ServerLog, load_server_module
from assay.cli.settings import load_config
from assay.errors import BadInput
from assay.pipeline.models import needs_model
from assay.server.settings import ServerSettings
from assay.stores import find_queue_address, has_store, list_tenants, pick_store_url, show_address

EXAMPLE = "Example: `assay work --store postgresql://assay@db.example/assay --jobs 2`, on as many machines as you like"
MISSING = "a worker for PostgreSQL needs procrastinate: pip install 'assay[workers]'"

Tenants = Annotated[
    list[str] | None,
    typer.Option("--tenant", metavar="NAME", help="Only for this tenant, as often as needed; without one, for all."),
]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=64, help="How much this process does at once, in PostgreSQL.")]
Once = Annotated[bool, typer.Option("--once", help="End when nothing is due any more.")]
Yes = Annotated[
    bool,
    typer.Option("--yes", help="Ask the model that is set as judge, at most `max_cost` of any 24 hours for a tenant."),
]
WithParent = Annotated[bool, typer.Option("--with-parent", hidden=True)]


class WorkRequest(Struct, frozen=True, kw_only=True):
    """What `assay work` takes."""

    tenant: Tenants = None
    jobs: Jobs = 1
    once: Once = False
    yes: Yes = False
    with_parent: WithParent = False
    store: StorePath = None


@options(WorkRequest)
def command(request: WorkRequest) -> None:
    """Read, judge and tell what came in to a server; as many workers as you like share one PostgreSQL."""
    config = load_config(store=request.store)
    url = pick_store_url(config.store, os.environ)
    workers = load_server_module("workers")
    settings = workers.WorkSettings(
        store=url,
        config=config,
        tenants=check_tenants(url, request.tenant or ()),
        jobs=request.jobs,
        asks=request.yes,
        once=request.once,
    )
    log = ServerLog(ServerSettings(store=url, config=config))
    logging.basicConfig(handlers=[log], level=logging.WARNING, force=True)
    if needs_model(config) and not request.yes:
        print_note(f"{config.judge} is not asked: --yes lets it be, what it answered before is used")
    workshop = workers.Workshop(settings, log.report)
    try:
        run_worker(workshop, with_parent=request.with_parent)
    finally:
        workshop.close()
    if not request.with_parent:
        print_note("nothing is due" if request.once else "stopped; what was begun is due again")


def check_tenants(url: str, named: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """The tenants that were named, if each has a store."""
    known = list_tenants(url) if named and has_store(url) else []
    for one in named:
        if one not in known:
            raise BadInput(f"--tenant {one}: has no store at {show_address(url)}; `assay keys add` makes one")
    return tuple(named)


def run_worker(workshop: Any, *, with_parent: bool) -> None:
    """Work until told to stop: alone on a store in a file, else on what the queue hands out."""
    if with_parent:
        load_server_module("workers").leave_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    address = find_queue_address(workshop.settings.store)
    if address is None:
        leaving = Event()
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, lambda *_: leaving.set())
        load_server_module("workers").work_here(workshop, leaving)
        return
    try:
        queue = import_module("assay.server.work_queue")
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("assay"):
            raise
        raise BadInput(MISSING) from None
    queue.run_queue(address, workshop)
