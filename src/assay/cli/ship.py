"""`assay ship`: what this machine has read goes to a server, exactly once."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from rich.text import Text

from assay.cli.options import AsJson, Jobs, Setting, Since, StorePath, options, read_overrides
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import ProgressBar, open_transcripts
from assay.cli.settings import load_last_config
from assay.cli.terminal import Console
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.pipeline import privacy
from assay.pipeline.inputs import parse_time, pick_report_time
from assay.pipeline.score import Transcripts, open_run
from assay.pipeline.scoring_run import Selection
from assay.pipeline.shipping import (
    KEY,
    Sender,
    Shipping,
    ShipReport,
    find_person,
    name_machine,
    open_client,
    ship_sessions,
)
from assay.reports.format import format_count, format_line, sanitize_text
from assay.sessions.redaction import Redactor

EXAMPLE = "Example: `assay ship --to https://assay.example --dry-run`, with the key of this machine in ASSAY_KEY"
LONGEST_KEY = 500
MOST_LISTED = 10
REFUSED = 1
"""Exit code where the server did not take something."""

To = Annotated[
    str | None,
    typer.Option("--to", metavar="URL", help="The server; else ship.to of your assay.toml. The key is in $ASSAY_KEY."),
    Setting("ship_to"),
]
Person = Annotated[
    str | None,
    typer.Option("--person", metavar="NAME", help="Whose sessions these are, by any name; else git's user.name."),
    Setting("ship_person"),
]
MachineName = Annotated[
    str | None,
    typer.Option("--machine", metavar="NAME", help="What this machine is called there; else a name that says nothing."),
    Setting("ship_machine"),
]
Words = Annotated[
    bool | None,
    typer.Option("--words/--no-words", help="Also titles, prompts, replies and quotes, where the server takes them."),
    Setting("ship_words"),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would go; the server is only asked what it has. --json: in full.")
]


class ShipRequest(Struct, frozen=True, kw_only=True):
    """What `assay ship` takes."""

    to: To = None
    person: Person = None
    machine: MachineName = None
    words: Words = None
    since: Since = None
    dry_run: DryRun = False
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(ShipRequest)
def command(request: ShipRequest) -> None:
    """Send what this machine has read to a server, each session once; words only if both ends allow."""
    config = load_last_config(**read_overrides(request))
    if not config.ship.to and not request.dry_run:
        raise BadInput("ship to which server? give --to https://assay.example, or ship.to in your own assay.toml")
    with open_transcripts(None, config, request.jobs, may_be_empty=True) as transcripts:
        found = ship(request, config, transcripts)
    if request.as_json:
        print_json(found)
    else:
        let_pipe_close()
        for line in describe(found):
            Console().print(Text(sanitize_text(line)), soft_wrap=True)
    if found.refused:
        raise typer.Exit(REFUSED)


def ship(request: ShipRequest, config: Config, transcripts: Transcripts) -> ShipReport:
    """Send, or find out what would be sent."""
    store = transcripts.store
    rules = privacy.build_rules(config, pick_report_time(config))
    redactor = Redactor(rules.options)
    machine = name_machine(config, store)
    client = open_client(config, machine, load_key(config), redactor) if config.ship.to else None
    sender = Sender(machine=machine, person=redactor.text(find_person(config)), words=config.ship.words)
    shipping = Shipping(store, config, sender, client)
    selection = Selection(since=parse_time(request.since, "--since", pick_zone(config)))
    with (
        open_run(store, config, transcripts.changes.roots, selection=selection, jobs=request.jobs) as run,
        ProgressBar("shipping", "items") as bar,
    ):
        if client is None:
            return ship_sessions(shipping, run, pick_zone(config), bar.show, is_dry=True)
        with closing(client.http):
            return ship_sessions(shipping, run, pick_zone(config), bar.show, is_dry=request.dry_run)


def load_key(config: Config) -> str:
    """The key, from the environment or its file; a server on this machine may need none."""
    if given := os.environ.get(KEY, "").strip():
        return check_key(given, KEY)
    if not config.ship.key_file:
        return ""
    path = Path(config.ship.key_file).expanduser()
    try:
        with path.open("rb") as file:
            said = file.read(LONGEST_KEY + 1).decode("utf-8", "replace").strip()
    except OSError as error:
        raise BadInput(f"ship.key_file: {path} can't be read: {error.strerror}") from None
    return check_key(said, f"ship.key_file: {path}")


def check_key(key: str, where: str) -> str:
    """A key that can stand in a header; what it says is never told."""
    if not key or len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise BadInput(f"{where}: holds no key; `assay keys add NAME` at the server makes one")
    return key


def describe(found: ShipReport) -> Iterator[str]:
    """What was sent, for people."""
    what = "facts and judgements with words" if found.words else "facts and judgements, no words"
    whose = f"machine {found.machine}" + (f", {format_line(found.person, 80)}" if found.person else "")
    verb = "would go" if found.is_dry else "shipped"
    yield f"{verb} to {found.to or 'a server that has nothing yet'}: {what} ({whose})"
    sent = found.new + found.changed
    yield (
        f"{format_count(found.sessions, 'session')} here: {found.new} new, {found.changed} changed, "
        f"{found.sessions - sent} as they are there; {found.withdrawn} withdrawn; {found.bytes / 1000:,.0f} kB"
    )
    if found.opted_out:
        yield f"{format_count(found.opted_out, 'session')} of tenants that opted out stay here"
    if found.words_dropped:
        yield f"{format_count(found.words_dropped, 'session')} without words: the server takes none of them"
    for why, n in sorted(found.refused.items()):
        yield f"{format_count(n, 'session')} not taken: {why}"
    for one in found.documents[:MOST_LISTED]:
        place, title = format_line(one.session.project, 60), format_line(one.session.title, 60)
        yield f"  {one.session.id}  {one.session.started_at[:16]}  {place}  {title}".rstrip()
    if len(found.documents) > MOST_LISTED:
        yield f"  and {len(found.documents) - MOST_LISTED} more; --json shows every word of them"
