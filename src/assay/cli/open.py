"""`assay open`: read what is new, serve the pages on this machine alone, and open them in a browser."""

import webbrowser
from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.answer import answer_request
from assay.cli.options import Jobs, Paths, Project, Since, StorePath, Until, options, read_overrides
from assay.cli.output import print_note
from assay.cli.serve import ServeRequest, build_settings, load_server_module, run_server
from assay.cli.settings import load_config
from assay.errors import BadInput

EXAMPLE = "Example: `assay open`, or `assay open path/to/transcripts --store /tmp/look.db`"

Port = Annotated[int, typer.Option("--port", min=0, max=65_535, help="Where it listens; 0 takes a free one.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only say the address.")]


class OpenRequest(Struct, frozen=True, kw_only=True):
    """What `assay open` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    port: Port = 0
    no_browser: NoBrowser = False
    store: StorePath = None
    jobs: Jobs = 0


@options(OpenRequest)
def command(request: OpenRequest) -> None:
    """Look at your sessions in a browser: what is new is read, pages are served on this machine alone."""
    load_server_module("app")
    settings = build_settings(ServeRequest(port=request.port, store=request.store))
    wrong = [one.says for one in load_server_module("checkup").check_server(settings).checks if not one.is_ok]
    if wrong:
        raise BadInput(wrong[0])
    with answer_request(request, load_config(**read_overrides(request)), remembers=True) as answer:
        if answer.note:
            print_note(answer.note)
    run_server(settings, leave_to_person if request.no_browser else open_browser)


def open_browser(address: str) -> None:
    """Open the pages; where there is no browser, the address was printed."""
    if not webbrowser.open(address):
        print_note(f"no browser can be opened here; open {address} yourself")


def leave_to_person(_: str) -> None:
    """The address was printed; whoever wants to opens it."""
