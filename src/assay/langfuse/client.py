"""Who is at the other end: address and keys, the server's version, and which of its two generations answers."""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Literal
from urllib.parse import urlsplit

import httpx
from msgspec import Struct

from assay.errors import BadInput
from assay.http import Clock, Http, PathNotFound, RemoteError, RequestRefused, RetryPolicy, decode_answer
from assay.types import Document

GENERAL, INGESTION, LEGACY = "general", "ingestion", "legacy"
FREE = {GENERAL: 30, INGESTION: 1000, LEGACY: 15}
"""Requests a minute that Langfuse Cloud's free plan allows; a server of one's own has no limits."""
NUMBERS = re.compile(r"(\d+)\.(\d+)")
ARRAYS_SINCE = (4, 59)
"""From here on scores are handed in as a list, each with its own timestamp."""
MODERN_SINCE = (4, 0)

Generation = Literal["v4", "v3"]


class HealthAnswer(Struct, frozen=True):
    status: str = ""
    version: str = ""


class ProjectAnswer(Struct, frozen=True):
    id: str = ""
    name: str = ""


class ProjectsAnswer(Struct, frozen=True):
    data: list[ProjectAnswer] = []


class Client:
    """A Langfuse project, and what is known of the server that holds it."""

    def __init__(self, http: Http, is_cloud: bool, key: str = "") -> None:
        self.http = http
        self.key = sha256(key.encode()).hexdigest() if key else ""
        """Hash of the public key, by which a tenant may be known."""
        self.is_cloud = is_cloud
        self.version = ""
        self.found_project: ProjectAnswer | None = None
        self.generation: Generation = "v4"
        self.takes_lists: bool = is_cloud
        """Whether scores are handed in as a list; a server that says otherwise is believed."""

    def probe(self) -> None:
        """Ask for the version, which tells what the server understands."""
        self.version = decode_answer(self.http.get("/api/public/health"), HealthAnswer).version
        if found := NUMBERS.search(self.version):
            numbers = int(found[1]), int(found[2])
            self.generation = "v4" if numbers >= MODERN_SINCE else "v3"
            self.takes_lists = numbers >= ARRAYS_SINCE

    def load_project(self) -> ProjectAnswer:
        """The project that the keys lead to, asked for once; many projects share a host."""
        if self.found_project is None:
            found = decode_answer(self.http.get("/api/public/projects", bucket=GENERAL), ProjectsAnswer)
            if not found.data or not found.data[0].id:
                raise RemoteError(f"{self.host}: the keys lead to no project; take those of a project's settings")
            self.found_project = found.data[0]
        return self.found_project

    def close(self) -> None:
        """Let go of the connections."""
        self.http.close()

    @property
    def host(self) -> str:
        """The server, for messages and folders."""
        return self.http.host


class ServerStatus(Document, frozen=True, kw_only=True, tag="langfuse_status"):
    """What is at the other end."""

    host: str
    version: str
    generation: Generation
    project: str
    project_id: str
    writes: Literal["list", "ingestion"]
    """How scores are handed in."""
    per_minute: int
    """Requests a minute that we allow ourselves; 0: as many as there are."""
    written: int | None = None
    """Scores that were written from this store; `None` where none was asked."""
    last_written_at: str | None = None


def connect(
    env: Mapping[str, str],
    *,
    patience: RetryPolicy | None = None,
    clock: Clock | None = None,
    per_minute: Mapping[str, int] | None = None,
    transport: httpx.BaseTransport | None = None,
    clean: Callable[[str], str] = str,
) -> Client:
    """A client for the project that the environment names; asks the server for its version.

    What the server says of an error passes through `clean`.
    """
    host = env.get("LANGFUSE_HOST") or env.get("LANGFUSE_BASE_URL") or ""
    keys = env.get("LANGFUSE_PUBLIC_KEY", ""), env.get("LANGFUSE_SECRET_KEY", "")
    named = {"LANGFUSE_HOST": host, "LANGFUSE_PUBLIC_KEY": keys[0], "LANGFUSE_SECRET_KEY": keys[1]}
    if missing := [name for name, value in named.items() if not value]:
        where = "; the host is such as https://cloud.langfuse.com" if "LANGFUSE_HOST" in missing else ""
        raise BadInput(
            f"no {' and no '.join(missing)} in the environment: set what Langfuse's project settings show{where}"
        )
    name = urlsplit(host if "//" in host else f"//{host}").hostname or ""
    is_cloud = name == "langfuse.com" or name.endswith(".langfuse.com")
    allowed = (FREE if is_cloud else {}) if per_minute is None else per_minute
    try:
        http = Http(host, keys, policy=patience, clock=clock, per_minute=allowed, transport=transport, clean=clean)
    except BadInput as error:
        raise BadInput(f"LANGFUSE_HOST: {error}") from None
    client = Client(http, is_cloud, keys[0])
    try:
        client.probe()
    except PathNotFound as error:
        raise RequestRefused(f"{error}; this does not seem to be a Langfuse server", error.status) from None
    return client


def fetch_status(client: Client) -> ServerStatus:
    """Version, project and habits of the other end; proves that the keys fit."""
    project = client.load_project()
    pace = client.http.paces.get(GENERAL)
    return ServerStatus(
        host=client.host,
        version=client.version,
        generation=client.generation,
        project=project.name,
        project_id=project.id,
        writes="list" if client.takes_lists else "ingestion",
        per_minute=pace.per_minute if pace else 0,
    )
