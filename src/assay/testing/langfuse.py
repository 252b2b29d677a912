"""A Langfuse server for tests: it remembers what it is sent, and does what no specification says.

    with LangfuseServer() as server:
        server.observations += build_hook_turn(1, "mend the till", reply="mended")
        subprocess.run(["assay", "langfuse", "pull"], env=os.environ | server.environment())

It drops scores that violate their config after it accepted them, shows scores late, keeps two rows for one id on two
days, answers 207 with partial errors, 404s the endpoints of the other generation, sends rows out of order and twice.
"""

import base64
import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import httpx

from assay.http import Clock
from assay.testing.langfuse_rows import (
    Reply,
    build_page,
    build_v2_score,
    build_v3_row,
    build_v3_score,
    find_fault,
    is_allowed,
    is_score_wanted,
    is_wanted,
)
from assay.testing.observations import build_trace, read_spans

KEYS = ("pk-lf-loom", "sk-lf-warp")
GONE = {"message": "This endpoint is not available on deployments running in Langfuse v4 events_only mode."}
NO_SUCH = {"message": "Not Found"}
LEGACY = ("/api/public/sessions", "/api/public/traces", "/api/public/observations", "/api/public/v2/scores")
SCORE_FILTERS = frozenset(
    """limit cursor fields id name source dataType environment configId queueId authorUserId value valueMin valueMax
    traceId sessionId observationId experimentId fromTimestamp toTimestamp""".split()
)
BASIC = "name level statusMessage version environment bookmarked public userId sessionId isRootObservation".split()
GROUPS = {
    "core": "id traceId startTime endTime projectId parentObservationId type".split(),
    "basic": BASIC,
    "time": "completionStartTime createdAt updatedAt".split(),
    "io": ["input", "output"],
    "metadata": ["metadata"],
    "model": "model internalModelId modelParameters".split(),
    "usage": "usageDetails costDetails totalCost".split(),
    "prompt": "promptId promptName promptVersion".split(),
    "metrics": "latency timeToFirstToken".split(),
    "trace_context": "tags release traceName".split(),
}


class FakeClock:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 15, 9, tzinfo=UTC)
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += timedelta(seconds=seconds)

    def clock(self) -> Clock:
        return Clock(sleep=self.sleep, now=lambda: self.at.timestamp(), jitter=lambda: 0.0)


def format_time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def refuse(message: str) -> Reply:
    return 400, {}, {"message": "Invalid request data", "error": [{"code": "custom", "path": [], "message": message}]}


class LangfuseServer:
    """The server; `time` is None for the real clock. `log` holds all that was asked, `scores` all that was written."""

    def __init__(
        self,
        version: str = "4.16.0",
        time: FakeClock | None = None,
        *,
        project: str = "proj1",
        keys: tuple[str, str] = KEYS,
    ) -> None:
        self.version = version
        self.project = project
        self.keys = keys
        self.others: list[LangfuseServer] = []
        """Other projects at the same address, each by keys of its own."""
        numbers = re.findall(r"\d+", version)
        self.numbers = (int(numbers[0]), int(numbers[1])) if numbers else (4, 60)
        self.time = time
        self.late_s = 0.0
        self.observations: list[dict[str, Any]] = []
        self.traces: list[dict[str, Any]] = []
        self.configs: list[dict[str, Any]] = []
        self.scores: dict[tuple[str, str, str], dict[str, Any]] = {}
        """Rows by day, name and id, as the database orders them."""
        self.first: dict[str, dict[str, Any]] = {}
        """First events by id, which later writes are merged with, until they are deleted after 30 days."""
        self.planned: list[Reply | Exception] = []
        """What to answer next, whatever is asked (health apart)."""
        self.event_faults: dict[str, tuple[int, str]] = {}
        """Names of scores that ingestion answers with an error, for one time."""
        self.dropped: set[str] = set()
        """Names of scores that are accepted and lost."""
        self.log: list[tuple[str, str, dict[str, str], Any]] = []
        self.lock = threading.RLock()

    @property
    def is_modern(self) -> bool:
        return self.numbers >= (4, 0)

    @property
    def takes_lists(self) -> bool:
        return self.numbers >= (4, 59)

    def now(self) -> datetime:
        return self.time.at if self.time else datetime.now(UTC)

    def list_queries(self, path: str) -> list[dict[str, str]]:
        """The queries of all requests to a path below `/api/public/`."""
        return [query for _, there, query, _ in self.log if there == f"/api/public/{path}"]

    # --- the way in and out -----------------------------------------------------------------------

    def answer(self, method: str, url: str, headers: dict[str, str], content: bytes) -> Reply:
        if other := next((one for one in self.others if one.is_allowed(headers)), None):
            return other.answer(method, url, headers, content)
        parts = urlsplit(url)
        path, query = parts.path, dict(parse_qsl(parts.query, keep_blank_values=True))
        body = json.loads(content) if content else None
        with self.lock:
            self.log.append((method, path, query, body))
            if path != "/api/public/health":
                if not self.is_allowed(headers):
                    return 401, {}, {"message": "Invalid credentials. Confirm that you've configured the correct host."}
                if self.planned:
                    planned = self.planned.pop(0)
                    if isinstance(planned, Exception):
                        raise planned
                    return planned
            status, more, found = self.route(method, path, query, body)
            self.inspect(method, path, query, body, status, found)
            return status, more, found

    def is_allowed(self, headers: dict[str, str]) -> bool:
        known = base64.b64encode(":".join(self.keys).encode()).decode()
        return headers.get("authorization") == f"Basic {known}"

    def inspect(self, method: str, path: str, query: dict[str, str], body: Any, status: int, answer: Any) -> None:
        """Look at a request and its answer; a subclass may note what is wrong with them."""

    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Reply:
        name = path.removeprefix("/api/public/")
        if path.startswith(LEGACY) and self.is_modern:
            return 404, {}, GONE
        if name == "v2/observations" and not self.is_modern:
            return 404, {}, NO_SUCH
        if name == "v3/scores" and self.numbers < (3, 179):
            return 404, {}, NO_SUCH
        ways: dict[tuple[str, str], Callable[[], Reply]] = {
            ("GET", "health"): lambda: (200, {}, {"status": "OK", "version": self.version}),
            ("GET", "projects"): self.list_projects,
            ("GET", "v2/observations"): lambda: self.list_observations(query),
            ("GET", "observations"): lambda: self.list_v3_observations(query),
            ("GET", "traces"): lambda: self.list_v3_traces(query),
            ("GET", "sessions"): lambda: self.list_v3_sessions(query),
            ("GET", "score-configs"): lambda: self.list_configs(query),
            ("POST", "score-configs"): lambda: self.create_config(body),
            ("POST", "scores"): lambda: self.post_scores(body),
            ("POST", "ingestion"): lambda: self.ingest(body),
            ("GET", "v3/scores"): lambda: self.list_scores(query),
            ("GET", "v2/scores"): lambda: self.list_v2_scores(query),
            ("POST", "otel/v1/traces"): lambda: self.take_spans(body),
        }
        if (method, name) in ways:
            return ways[method, name]()
        if method == "DELETE" and name.startswith("scores/"):
            return self.delete_score(name.rpartition("/")[2])
        if method == "GET" and name.startswith("traces/"):
            return self.show_v3_trace(name.rpartition("/")[2])
        if method == "PATCH" and name.startswith("score-configs/"):
            return self.change_config(name.rpartition("/")[2], body)
        return 404, {}, NO_SUCH

    def list_projects(self) -> Reply:
        organization = {"id": "org1", "name": "weavers"}
        return 200, {}, {"data": [{"id": self.project, "name": "loom", "organization": organization, "metadata": {}}]}

    # --- observations -----------------------------------------------------------------------------

    def list_observations(self, query: dict[str, str]) -> Reply:
        limit = int(query.get("limit", 50))
        if limit > 1000:
            return refuse("Too big: expected number to be <=1000")
        if query.get("parseIoAsJson") == "true":
            return refuse("parseIoAsJson=true is no longer supported on the v2 observations endpoint.")
        rows = [row for row in self.observations if is_wanted(row, query)]
        rows.sort(
            key=lambda row: (row["startTime"], blake2b(row["traceId"].encode()).digest(), row["id"]), reverse=True
        )
        begin = json.loads(base64.b64decode(query["cursor"]))["n"] if query.get("cursor") else 0
        page = rows[begin : begin + limit]
        groups = ["core", *query.get("fields", "core,basic").split(",")]
        names = {name for group in groups for name in GROUPS.get(group, ())}
        prices = dict.fromkeys(("modelId", "inputPrice", "outputPrice", "totalPrice"))
        found = [{name: row[name] for name in row if name in names} | prices for row in page]
        meta = {}
        if begin + limit < len(rows):
            last = {"lastStartTimeTo": page[-1]["startTime"], "lastTraceId": page[-1]["traceId"]}
            last |= {"lastId": page[-1]["id"], "n": begin + limit}
            meta = {"cursor": base64.b64encode(json.dumps(last).encode()).decode()}
        return 200, {}, {"data": found, "meta": meta}

    def list_v3_observations(self, query: dict[str, str]) -> Reply:
        rows = [
            build_v3_row(row) for row in self.observations if row["traceId"] == query.get("traceId", row["traceId"])
        ]
        return build_page(rows, query)

    def list_v3_traces(self, query: dict[str, str]) -> Reply:
        since = query.get("fromTimestamp", "")
        rows = [row for row in self.traces if row["sessionId"] == query.get("sessionId", row["sessionId"])]
        rows = [row for row in rows if row["timestamp"] >= since]
        more = {"htmlPath": "/t", "latency": 1.0, "totalCost": 0.0, "observations": [], "scores": []}
        return build_page([row | more for row in rows], query)

    def show_v3_trace(self, id: str) -> Reply:
        found = [row for row in self.traces if row["id"] == id]
        more = {"htmlPath": "/t", "latency": 1.0, "totalCost": 0.0, "observations": [], "scores": []}
        missing = {"message": f"Trace {id} not found within authorized project", "error": "LangfuseNotFoundError"}
        return (200, {}, found[0] | more) if found else (404, {}, missing)

    def take_spans(self, body: dict[str, Any]) -> Reply:
        """Spans by OTLP: each a row; sent again there are two of it, for nothing is merged on v4."""
        rows = read_spans(body)
        self.observations += rows
        if not self.is_modern:
            seen = {(row["traceId"], row["id"]): row for row in self.observations}
            self.observations = list(seen.values())
            for row in rows:
                if not row["parentObservationId"]:
                    self.traces = [one for one in self.traces if one["id"] != row["traceId"]] + [build_trace([row])]
        return 200, {}, {}

    def list_v3_sessions(self, query: dict[str, str]) -> Reply:
        found: dict[str, str] = {}
        for row in sorted(self.traces, key=lambda row: row["timestamp"]):
            if row["sessionId"]:
                found.setdefault(row["sessionId"], row["timestamp"])
        rows = [
            {"id": session, "createdAt": at, "projectId": "proj1", "environment": "default"}
            for session, at in found.items()
            if at >= query.get("fromTimestamp", "")
        ]
        return build_page(rows, query)

    # --- configs ----------------------------------------------------------------------------------

    def list_configs(self, query: dict[str, str]) -> Reply:
        if int(query.get("limit", 50)) > 100:
            return refuse("Too big: expected number to be <=100")
        return build_page(list(reversed(self.configs)), query)

    def create_config(self, body: dict[str, Any]) -> Reply:
        if len(body["name"]) > 35 or not re.fullmatch(r"[\w .()-]+", body["name"]):
            return refuse("Name contains invalid characters")
        if body["dataType"] != "NUMERIC" and ("minValue" in body or "maxValue" in body):
            return refuse("min and max only for NUMERIC")
        at = format_time(self.now() + timedelta(milliseconds=len(self.configs)))
        made = {"id": f"cfg-{len(self.configs)}", "isArchived": False, "description": None, "createdAt": at}
        made |= {"updatedAt": at, "projectId": "proj1", "minValue": None, "maxValue": None, "categories": None}
        self.configs.append(made | body)
        return 200, {}, self.configs[-1]

    def change_config(self, id: str, body: dict[str, Any]) -> Reply:
        for config in self.configs:
            if config["id"] == id:
                config.update(body)
                return 200, {}, config
        return 404, {}, NO_SUCH

    # --- scores -----------------------------------------------------------------------------------

    def post_scores(self, body: Any) -> Reply:
        if not isinstance(body, list):
            if why := find_fault(body):
                return refuse(why)
            self.keep_score(body, format_time(self.now()))
            return 200, {}, {"id": body.get("id") or "made"}
        if not self.takes_lists:
            return refuse("Invalid input: expected object, received array")
        errors = []
        for one in body:
            why = find_fault(one) or self.event_faults.pop(one["name"], (0, ""))[1]
            if why:
                errors.append({"message": why})
            else:
                self.keep_score(one, one.get("timestamp") or format_time(self.now()))
        if errors:
            return 207, {}, {"accepted": len(body) - len(errors), "rejected": len(errors), "errors": errors}
        return 202, {}, {"message": "Accepted"}

    def ingest(self, body: dict[str, Any]) -> Reply:
        successes, errors = [], []
        for event in body["batch"]:
            status, why = 400, ""
            if event["type"] not in ("score-create", "sdk-log") and self.is_modern:
                why = "Event type not accepted"
            elif event["type"] == "score-create":
                why = find_fault(event["body"])
                if event["body"]["name"] in self.event_faults:
                    status, why = self.event_faults.pop(event["body"]["name"])
            if why:
                errors.append({"id": event["id"], "status": status, "message": why, "error": "[]"})
                continue
            successes.append({"id": event["id"], "status": 201})
            if event["type"] == "score-create":
                self.keep_score(event["body"], event["timestamp"])
        return 207, {}, {"successes": successes, "errors": errors}

    def keep_score(self, body: dict[str, Any], at: str) -> None:
        """What the worker makes of a score that was accepted: a row, or nothing."""
        config = next((one for one in self.configs if one["id"] == body.get("configId")), None)
        if body["name"] in self.dropped or (body.get("configId") and not is_allowed(body, config)):
            return
        key, name = body.get("id") or f"made-{len(self.scores)}", config["name"] if config else body["name"]
        first = self.first.setdefault(key, {"timestamp": at, "body": {}})
        if not self.takes_lists:
            at = first["timestamp"]
        merged = first["body"] | {key: value for key, value in body.items() if value is not None}
        merged["metadata"] = first["body"].get("metadata", {}) | (body.get("metadata") or {})
        first["body"] = merged
        kind = merged.get("dataType") or ("NUMERIC" if isinstance(merged["value"], int | float) else "CATEGORICAL")
        row = {"id": key, "name": name, "timestamp": at, "body": merged, "dataType": kind}
        row["seen_at"] = self.now() + timedelta(seconds=self.late_s)
        before = self.scores.get((at[:10], name, key))
        row["before"] = before if before and before["seen_at"] <= self.now() else None
        self.scores[at[:10], name, key] = row

    def delete_score(self, id: str) -> Reply:
        """A score is deleted a while after the order was taken, whether there is one or not."""
        for row in self.scores.values():
            if row["id"] == id:
                row["gone_at"] = self.now() + timedelta(seconds=self.late_s)
        self.first.pop(id, None)
        return 202, {}, {"message": "Score deletion request accepted"}

    def forget_events(self) -> None:
        """30 days later: rows are no longer merged with what was written first."""
        self.first.clear()

    def list_visible_scores(self) -> list[dict[str, Any]]:
        found = []
        for row in self.scores.values():
            shown = row if row["seen_at"] <= self.now() else row["before"]
            if shown and not ("gone_at" in row and row["gone_at"] <= self.now()):
                found.append(shown)
        return sorted(found, key=lambda row: row["timestamp"], reverse=True)

    def list_scores(self, query: dict[str, str]) -> Reply:
        if unknown := set(query) - SCORE_FILTERS:
            return refuse(f"Unrecognized key: {unknown}")
        limit, groups = int(query.get("limit", 50)), set(query.get("fields", "").split(",")) - {""}
        if limit > 100 or groups - {"details", "subject", "annotation"}:
            return refuse("Too big, or an unknown group")
        found: dict[str, dict[str, Any]] = {}
        for row in self.list_visible_scores():
            if is_score_wanted(row, query):
                found.setdefault(row["id"], build_v3_score(row, groups))
        rows = list(found.values())
        begin = int(base64.urlsafe_b64decode(query["cursor"])) if query.get("cursor") else 0
        more = base64.urlsafe_b64encode(str(begin + limit).encode()).decode()
        meta = {"limit": limit} | ({"cursor": more} if begin + limit < len(rows) else {})
        return 200, {}, {"data": rows[begin : begin + limit], "meta": meta}

    def list_v2_scores(self, query: dict[str, str]) -> Reply:
        ids = query["scoreIds"].split(",")
        return build_page([build_v2_score(row) for row in self.list_visible_scores() if row["id"] in ids], query)

    # --- how to reach it --------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.running = self.serve()
        return self

    def __exit__(self, *_: object) -> None:
        self.running.shutdown()
        self.running.server_close()

    def environment(self) -> dict[str, str]:
        """The variables with which Assay and Langfuse's own SDK find the server that runs."""
        host = f"http://127.0.0.1:{self.running.server_port}"
        return {"LANGFUSE_HOST": host, "LANGFUSE_PUBLIC_KEY": self.keys[0], "LANGFUSE_SECRET_KEY": self.keys[1]}

    def build_transport(self) -> httpx.MockTransport:
        """A way to the server for `httpx`, without a socket."""

        def handle(request: httpx.Request) -> httpx.Response:
            headers = {name.lower(): value for name, value in request.headers.items()}
            status, more, body = self.answer(request.method, str(request.url), headers, request.content)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            return httpx.Response(status, headers=more, content=content)

        return httpx.MockTransport(handle)

    def serve(self) -> ThreadingHTTPServer:
        """A real server on a free port; somebody has to shut it down."""
        fake = self

        class LangfuseHandler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, more, body = fake.answer(self.command, self.path, headers, content)
                sent = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {
                    "content-type": "application/json",
                    "content-length": str(len(sent)),
                    **more,
                }.items():
                    self.send_header(name, value)
                with suppress(ConnectionError):  # who asked may be gone
                    self.end_headers()
                    self.wfile.write(sent)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815

            def log_message(self, *_args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), LangfuseHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server
