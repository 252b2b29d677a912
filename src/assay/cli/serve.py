"""`assay serve`: telemetry comes in and what is stored is read, over HTTP; on this machine alone without a key."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from assay.cli.options import AsJson, StorePath, options
from assay.cli.output import let_pipe_close, print_json, print_note
from assay.cli.settings import load_config
from assay.cli.terminal import Console
from assay.cli.trouble import build_redaction
from assay.config import load_own_tenants
from assay.errors import BadInput
from assay.reports.format import sanitize_text
from assay.reports.json import encode_json
from assay.server.settings import ServerSettings
from assay.sessions.redaction import Redactor
from assay.stores import find_queue_address, pick_store_url

EXAMPLE = "Example: `assay serve`, then set OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 for your agents"
MISSING = "the server needs Litestar, uvicorn and opentelemetry-proto: pip install 'assay[server]'"

Host = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where it listens; any but this machine's own asks for keys.")
]
Port = Annotated[int, typer.Option("--port", min=0, max=65_535, help="4318 is that of OTLP over HTTP.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="A name under which others know it; as often as needed."),
]
RequireKey = Annotated[
    bool, typer.Option("--require-key", help="Ask for keys on this machine, too: behind a proxy, or where many log in.")
]
Runs = Annotated[
    str, typer.Option("--runs", metavar="FOLDER", help="Evaluations that those who need no key may read, too.")
]
NoWorker = Annotated[
    bool,
    typer.Option("--no-worker", help="Start no worker beside it: `assay work` is run by somebody else."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Its worker asks the model that is set as judge; see `assay work`.")]
Check = Annotated[bool, typer.Option("--check", help="Only see whether it could start; exit code 2 where not.")]


class ServeRequest(Struct, frozen=True, kw_only=True):
    """What `assay serve` takes."""

    host: Host = "127.0.0.1"
    port: Port = 4318
    allow_host: AllowHost = None
    require_key: RequireKey = False
    runs: Runs = ""
    no_worker: NoWorker = False
    yes: Yes = False
    check: Check = False
    as_json: AsJson = False
    store: StorePath = None


@options(ServeRequest)
def command(request: ServeRequest) -> None:
    """Receive telemetry and answer questions over HTTP; on this machine alone no key is needed."""
    settings = build_settings(request)
    checkup = load_server_module("checkup").check_server(settings)
    if request.check:
        print_checkup(checkup, as_json=request.as_json)
    wrong = [one.says for one in checkup.checks if not one.is_ok]
    if wrong:
        raise BadInput(wrong[0])
    if not request.check:
        words = None if request.no_worker else list_worker_words(settings, asks=request.yes)
        run_server(replace(settings, has_workers=True), worker_words=words)


def list_worker_words(settings: ServerSettings, *, asks: bool) -> list[str] | None:
    """With which words a worker is started beside the server; PostgreSQL has its own, wherever they run."""
    if find_queue_address(settings.store) is not None:
        print_note("what comes in is judged by workers: run `assay work` with the same --store")
        return None
    return ["--store", settings.store, *(["--yes"] if asks else [])]


def build_settings(request: ServeRequest) -> ServerSettings:
    """How the server is to be run."""
    config = load_config(store=request.store)
    return ServerSettings(
        store=pick_store_url(config.store, os.environ),
        host=request.host,
        port=request.port,
        hosts=tuple(request.allow_host or ()),
        asks_here=request.require_key,
        runs=request.runs,
        config=config,
        own_tenants=load_own_tenants(os.environ),
    )


def load_server_module(name: str) -> Any:
    """A module of the server, which needs packages that not everybody has."""
    try:
        return import_module(f"assay.server.{name}")
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("assay"):
            raise
        raise BadInput(MISSING) from None


def print_checkup(checkup: Any, *, as_json: bool) -> None:
    """Print whether a server could start."""
    if as_json:
        print_json(checkup)
        return
    let_pipe_close()
    for one in checkup.checks:
        Console().print(Text(sanitize_text(f"{'ok ' if one.is_ok else 'no '} {one.what}: {one.says}")), soft_wrap=True)


# --- running ------------------------------------------------------------------------------------


class LogLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the server's log: of a request nothing that somebody wrote into it, of trouble nothing secret."""

    at: str
    level: str
    event: str
    route: str = ""
    method: str = ""
    status: int = 0
    ms: float = 0
    tenant: str = ""
    key: str = ""
    address: str = ""
    message: str = ""


class ServerLog(logging.Handler):
    """Writes JSON lines to stderr, redacted; what libraries log goes the same way."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(logging.WARNING)
        self.redactor = Redactor(build_redaction(settings.config))
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.report(self.format(record), record.levelname.lower())

    def report(self, message: str, level: str = "error") -> None:
        """Write what went wrong."""
        self.write(LogLine(at=format_now(), level=level, event="trouble", message=self.redactor.text(message)))

    def tell(self, line: Any) -> None:
        """Write that a request was answered."""
        who = line.visitor
        self.write(
            LogLine(
                at=format_now(),
                level="error" if line.status >= 500 else "info",
                event="request",
                route=line.route,
                method=line.method,
                status=line.status,
                ms=round(line.ms, 1),
                tenant=who.tenant if who else "",
                key=who.key if who else "",
                address=who.address if who else "",
            )
        )

    def write(self, line: LogLine) -> None:
        sys.stderr.buffer.write(encode_json(line) + b"\n")
        sys.stderr.buffer.flush()


def run_server(
    settings: ServerSettings,
    open_pages: Callable[[str], None] | None = None,
    worker_words: Sequence[str] | None = None,
) -> None:
    """Serve until somebody stops it; what was acknowledged is stored by then.

    For a person who looks at pages, `open_pages` is told their address, and only trouble is logged.
    """
    app, connections = load_server_module("app"), load_server_module("connections")
    log = ServerLog(settings)
    logging.basicConfig(handlers=[log], level=logging.WARNING, force=True)
    server = app.Server(settings, *(() if open_pages else (log.tell,)), report=log.report)
    with connections.open_socket(settings) as listening:
        port = listening.getsockname()[1]
        at = f"http://{settings.host}:{port}"
        print_note(f"listening on {at}: telemetry at /v1, questions at /api/v1, pages in a browser; Ctrl-C stops")
        if open_pages:
            open_pages(f"{at}/")
        serving = connections.build_server(server, settings, server.hall.leaving)
        with keep_worker(worker_words, log):
            asyncio.run(serving.serve(sockets=[listening]))
    print_note("stopped; what was acknowledged is stored")


@contextmanager
def keep_worker(words: Sequence[str] | None, log: ServerLog) -> Iterator[None]:
    """Have a worker beside the server, in a process of its own, for as long as it serves."""
    if words is None:
        yield
        return
    worker = load_server_module("workers").WorkerProcess(words, log.report)
    worker.start()
    try:
        yield
    finally:
        worker.stop()


def format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
