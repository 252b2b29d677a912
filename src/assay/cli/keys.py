"""`assay keys`: who may send to a server and read from it, and what was done there."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated, get_args

import typer
from rich.table import Table
from rich.text import Text

from assay.cli.options import AsJson, StorePath, check_word
from assay.cli.output import let_pipe_close, print_json, print_note
from assay.cli.settings import load_settings, name_person
from assay.cli.terminal import Console
from assay.errors import BadInput
from assay.reports.format import format_line
from assay.server import keys
from assay.stores import Store, has_store, list_tenants, open_store, pick_store_url, to_tenant_url
from assay.types import AccessKey, Scope
from assay.types.access import AuditLog, Keyring, TenantKeys

EXAMPLE = "Example: `assay keys add laptop`, `assay keys add dashboard --scope read --tenant team`"
SCOPES: dict[str, Scope] = {name: name for name in get_args(Scope)}

app = typer.Typer(
    help="Make, list and revoke the keys of a server; see who did what there.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

KeyName = Annotated[str, typer.Argument(metavar="NAME", help="What you call it, such as the machine that will use it.")]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="Id of a key, as `assay keys list` has it.")]
InScope = Annotated[
    str,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        help="`ingest`: send telemetry; `read`: see scores and sessions; `admin`: that, mark, delete and make keys.",
    ),
]
OfTenant = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="Whose store it opens; nobody else's can be reached with it.")
]
OneTenant = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="Only this tenant's; without one, every tenant's.")
]


@app.command("add")
def add(
    name: KeyName, scope: InScope = "ingest", tenant: OfTenant = "own", store: StorePath = None, as_json: AsJson = False
) -> None:
    """Make a key, and show it this once."""
    check_word(scope, [*SCOPES], "--scope")
    with open_tenant(store, tenant) as kept:
        made = keys.make_key(kept, tenant, name, SCOPES[scope], name_person())
    if as_json:
        print_json(made)
        return
    let_pipe_close()
    Console().print(Text(made.token), soft_wrap=True)
    print_note(f"key {made.key.id} may {scope} for tenant {tenant}; it is shown this once and kept nowhere")
    if scope == "ingest":
        print_note("agents send it with OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20KEY'")


@app.command("list")
def list_all(tenant: OneTenant = None, store: StorePath = None, as_json: AsJson = False) -> None:
    """List keys: what each opens, when it was made and last used, and whether it was revoked."""
    found = Keyring(
        tenants=[TenantKeys(tenant=name, keys=kept.keys.list_keys()) for name, kept in open_tenants(store, tenant)]
    )
    if as_json:
        print_json(found)
        return
    rows = [(one.tenant, key) for one in found.tenants for key in one.keys]
    if not rows:
        print_note("there is no key yet; `assay keys add NAME` makes one")
        return
    let_pipe_close()
    Console().print(render_keys(rows))


@app.command("revoke")
def revoke(id: KeyId, tenant: OneTenant = None, store: StorePath = None, as_json: AsJson = False) -> None:
    """Let a key open nothing any more; servers that run notice within seconds."""
    for name, kept in open_tenants(store, tenant):
        if any(one.id == id for one in kept.keys.list_keys()):
            keys.revoke_key(kept, id, name_person())
            if as_json:
                print_json(Keyring(tenants=[TenantKeys(tenant=name, keys=kept.keys.list_keys())]))
            else:
                print_note(f"key {id} of tenant {name} opens nothing any more")
            return
    raise BadInput(f"there is no key {format_line(id, 20)}; `assay keys list` lists them")


@app.command("log")
def log(tenant: OfTenant = "own", store: StorePath = None, as_json: AsJson = False) -> None:
    """Show the audit log of a tenant: keys made and revoked, and what was deleted, by whom."""
    deeds = [one for _, kept in open_tenants(store, tenant) for one in kept.keys.list_deeds()]
    found = AuditLog(tenant=tenant, deeds=deeds)
    if as_json:
        print_json(found)
        return
    if not deeds:
        print_note(f"nothing was done yet that the audit log of tenant {tenant} would tell")
        return
    let_pipe_close()
    table = Table.grid(padding=(0, 2))
    for one in found.deeds:
        table.add_row(
            one.at, Text(format_line(one.who, 40)), one.kind, Text(format_line(one.about, 60)), f"{one.count}"
        )
    Console().print(table)


def render_keys(rows: list[tuple[str, AccessKey]]) -> Table:
    """Keys as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("id", "tenant", "scope", "name", "made", "last used", "revoked"):
        table.add_column(heading)
    for tenant, key in rows:
        times = [key.made_at, key.used_at or "never", key.revoked_at or ""]
        table.add_row(key.id, tenant, key.scope, Text(format_line(key.name, 60)), *(at[:16] for at in times))
    return table


@contextmanager
def open_tenant(given: str | None, tenant: str) -> Iterator[Store]:
    """The store of a tenant, made where there is none: the first key is how a tenant begins."""
    url = pick_store_url(load_settings(store=given).store, os.environ)
    with closing(open_store(to_tenant_url(url, tenant))) as kept:
        yield kept


def open_tenants(given: str | None, tenant: str | None) -> Iterator[tuple[str, Store]]:
    """The stores that are there, of one tenant or of all, one after the other."""
    url = pick_store_url(load_settings(store=given).store, os.environ)
    for name in [tenant] if tenant else list_tenants(url):
        if has_store(there := to_tenant_url(url, name)):
            with closing(open_store(there)) as kept:
                yield name, kept
