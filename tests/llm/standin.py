"""A stand-in for hosted models: real sockets, the protocols of Anthropic (messages, batches) and OpenAI (chat).

    with Standin(lambda job, text: {"status": "completed"}) as service:
        settings = Model(url=service.url)            # for anthropic and claude-cli; `service.url + "/v1"` for openai

What `reply(job, text)` gives is what the service does: a dict is the answer in whatever way the schema was asked for,
a string is said as it is, and `Status`, `Stop`, `Raw`, `Drop`, `Dribble` and `Slow` are what can go wrong.
`script(a, b)` does one after the other, the last for ever.
"""

import hashlib
import itertools
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "stand-in-1"
JOB = re.compile(r"one JSON object, the (\w+),")
KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
         413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}  # fmt: skip


@dataclass
class Status:
    """An HTTP error."""

    code: int
    message: str = "as scripted"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Stop:
    """A reply that ends for a reason: refusal, max_tokens."""

    reason: str
    text: str = ""


@dataclass
class Raw:
    """A body as it is."""

    body: bytes
    kind: str = "application/json"


@dataclass
class Drop:
    """The line goes dead in the middle of a reply."""

    text: str = '{"a": 1}'


@dataclass
class Slow:
    """Nothing for a while, then something else."""

    seconds: float
    then: Any = ""


@dataclass
class Dribble:
    """A reply that comes byte by byte, and is not even whole in the end."""

    every_s: float = 0.1
    bytes: int = 80


Reply = Callable[[str, str], Any]


def script(*replies: Any) -> Reply:
    """One reply after the other; the last one for ever."""
    rest, lock = list(replies), threading.Lock()

    def reply(job: str, text: str) -> Any:
        with lock:
            return rest.pop(0) if len(rest) > 1 else rest[0]

    return reply


@dataclass
class Request:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    job: str = ""
    text: str = ""


class Standin:
    """The service; `requests` holds all that arrived, `calls` those that asked something (those of batches too)."""

    def __init__(self, reply: Reply, *, caches_from: int = 4096, looks: int = 1) -> None:
        self.reply = reply
        self.caches_from = caches_from
        self.looks = looks
        """How often a batch is looked at before it has ended."""
        self.requests: list[Request] = []
        self.calls: list[Request] = []
        self.batches: dict[str, dict[str, Any]] = {}
        self.cached: set[str] = set()
        self.lock = threading.RLock()
        self.over = threading.Event()
        self.ids = itertools.count(1)
        self.at_once = self.most_at_once = 0
        self.refuse: Status | None = None
        """What every batch meets with."""
        self.tokens: Callable[[str], int | Status] = lambda text: len(text) // 4
        """How many tokens the service counts in a text."""

    def __enter__(self) -> "Standin":
        standin = self

        class Bound(Handler):
            service = standin

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, request: Request) -> Any:
        """What to do about a question; waits where that is the script."""
        with self.lock:
            self.calls.append(request)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            said = self.reply(request.job, request.text)
            while isinstance(said, Slow):
                self.over.wait(said.seconds)
                said = said.then
            return said
        finally:
            with self.lock:
                self.at_once -= 1

    def usage(self, body: dict[str, Any], output: int) -> dict[str, int]:
        """Tokens as the real service counts them: a marked prefix is written once and then read."""
        marked, prefix, rest = False, json.dumps([body.get("tools"), body.get("system")]), ""
        blocks = [block for message in body["messages"] for block in blocks_of(message)]
        last = max((i for i, block in enumerate(blocks) if "cache_control" in block), default=-1)
        for i, block in enumerate(blocks):
            if i <= last:
                prefix, marked = prefix + block.get("text", ""), True
            else:
                rest += block.get("text", "")
        tokens = len(prefix) // 4
        key = hashlib.sha256(prefix.encode()).hexdigest()
        usage = {"input_tokens": len(rest) // 4, "output_tokens": output}
        with self.lock:
            if not marked or tokens < self.caches_from:
                return usage | {"input_tokens": tokens + len(rest) // 4}
            read = key in self.cached
            self.cached.add(key)
        return usage | {"cache_read_input_tokens" if read else "cache_creation_input_tokens": tokens}

    def message(self, body: dict[str, Any], said: Any) -> dict[str, Any]:
        """A reply in Anthropic's form."""
        content, stop = content_of(body, said)
        return {
            "id": f"msg_{next(self.ids):04}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", MODEL),
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": self.usage(body, len(json.dumps(content)) // 4),
        }

    def completion(self, body: dict[str, Any], said: Any) -> dict[str, Any]:
        """A reply in OpenAI's form."""
        text, finish, refusal = json.dumps(said) if isinstance(said, dict) else said, "stop", None
        if isinstance(said, Stop):
            text, finish = said.text, "length" if said.reason == "max_tokens" else "stop"
            refusal = "I won't" if said.reason == "refusal" else None
        message = {"role": "assistant", "content": text, "refusal": refusal}
        tokens = len(json.dumps(body["messages"])) // 4
        usage = {"prompt_tokens": tokens, "completion_tokens": len(str(text)) // 4, "prompt_tokens_details": {"cached_tokens": 3}}  # fmt: skip  # noqa: E501
        return {
            "id": f"chatcmpl-{next(self.ids):04}",
            "object": "chat.completion",
            "model": body.get("model", MODEL),
            "choices": [{"index": 0, "finish_reason": finish, "message": message}],
            "usage": usage,
        }

    def result(self, params: dict[str, Any]) -> dict[str, Any]:
        """What becomes of one request of a batch."""
        said = self.answer(Request("BATCH", "", {}, params, *asked(params)))
        if isinstance(said, Status):
            return {"type": "errored", "error": problem(said)}
        if said in ("expired", "canceled"):
            return {"type": said}
        return {"type": "succeeded", "message": self.message(params, said)}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    service: Standin
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.note(None)
        path = self.path.partition("?")[0]
        if path == "/v1/models":
            return self.send(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        found = re.fullmatch(r"/v1/messages/batches/(\w+)(/results)?", path)
        batch = self.service.batches.get(found[1]) if found else None
        if not found or not batch:
            return self.send(404, problem(Status(404, f"nothing at {path}")))
        if found[2]:
            lines = "".join(json.dumps(line) + "\n" for line in batch["results"])
            return self.send(200, lines.encode(), "application/x-jsonl")
        batch["looks"] += 1
        return self.send(200, self.batch(found[1], ended=batch["looks"] > self.service.looks))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw or b"{}")
        request, path = self.note(body), self.path.partition("?")[0]
        if path == "/v1/messages/batches" and (refuse := self.service.refuse):
            return self.send(refuse.code, problem(refuse), headers=refuse.headers)
        if path == "/v1/messages/batches":
            results = [{"custom_id": one["custom_id"], "result": self.service.result(one["params"])} for one in body["requests"]]  # fmt: skip  # noqa: E501
            name = f"msgbatch_{next(self.service.ids):04}"
            self.service.batches[name] = {"results": results[::-1], "looks": 0}
            return self.send(200, self.batch(name, ended=False))
        if path == "/v1/messages/count_tokens":
            found = self.service.tokens(asked(body)[1])
            if isinstance(found, Status):
                return self.send(found.code, problem(found), headers=found.headers)
            return self.send(200, {"input_tokens": found})
        if path not in ("/v1/messages", "/v1/chat/completions"):
            return self.send(404, problem(Status(404, f"nothing at {path}")))
        request.job, request.text = asked(body)
        said = self.service.answer(request)
        if isinstance(said, Status):
            return self.send(said.code, problem(said), headers=said.headers)
        if isinstance(said, Raw):
            return self.send(200, said.body, said.kind)
        if isinstance(said, Dribble):
            return self.dribble(said)
        if path == "/v1/chat/completions":
            return self.whole(self.service.completion(body, getattr(said, "text", said) if dead(said) else said), said)
        message = self.service.message(body, said.text if dead(said) else said)
        return self.stream(message, said) if body.get("stream") else self.whole(message, said)

    def note(self, body: Any) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        with self.service.lock:
            self.service.requests.append(request)
        return request

    def batch(self, id: str, *, ended: bool) -> dict[str, Any]:
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        url = f"{self.service.url}/v1/messages/batches/{id}/results" if ended else None
        return {"id": id, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts, "created_at": "2026-03-02T09:00:00Z", "results_url": url}  # fmt: skip

    def whole(self, reply: dict[str, Any], said: Any) -> None:
        """A reply in one piece, or half of one."""
        self.send(200, reply, half=dead(said))

    def send(self, code: int, body: Any, kind: str = "application/json", *, half: bool = False, headers: Any = None) -> None:  # fmt: skip  # noqa: E501
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"content-type": kind, "content-length": str(len(raw)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(raw[: len(raw) // 2] if half else raw)
        except (BrokenPipeError, ConnectionResetError):  # it did not wait
            self.close_connection = True
        if half:
            self.close_connection = True

    def dribble(self, said: Dribble) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "100000")
        self.end_headers()
        self.close_connection = True
        try:
            for _ in range(said.bytes):
                self.service.over.wait(said.every_s)
                self.wfile.write(b" ")
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            return

    def stream(self, message: dict[str, Any], said: Any) -> None:
        """A reply as server-sent events, which Claude Code asks for."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for kind, event in events(message):
                self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **event})}\n\n".encode())
                self.wfile.flush()
                if kind == "content_block_delta" and dead(said):
                    return
        except (BrokenPipeError, ConnectionResetError):
            return


def dead(said: Any) -> bool:
    return isinstance(said, Drop)


def problem(status: Status) -> dict[str, Any]:
    return {"type": "error", "error": {"type": KINDS.get(status.code, "api_error"), "message": status.message}}


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def asked(body: dict[str, Any]) -> tuple[str, str]:
    """Which judge asks, and all its words behind the system prompt."""
    users = [message for message in body.get("messages", []) if message["role"] == "user"]
    text = "\n".join(block.get("text", "") for message in users for block in blocks_of(message))
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("name")
    tool = (body.get("tool_choice") or {}).get("name")
    told = JOB.search(text)
    return schema or tool or (told[1] if told else ""), text


def content_of(body: dict[str, Any], said: Any) -> tuple[list[dict[str, Any]], str]:
    """Blocks of a reply and why it ends."""
    if isinstance(said, Stop):
        return [{"type": "text", "text": said.text}] if said.text else [], said.reason
    tools = [tool["name"] for tool in body.get("tools") or []]
    forced = (body.get("tool_choice") or {}).get("name") or next((n for n in tools if n == "StructuredOutput"), None)
    if isinstance(said, dict) and forced:
        return [{"type": "tool_use", "id": "toolu_0001", "name": forced, "input": said}], "tool_use"
    text = json.dumps(said) if isinstance(said, dict) else str(said)
    return [{"type": "text", "text": text}] if text else [], "end_turn"


def events(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A message cut into the events of a stream."""
    told = [("message_start", {"message": {**message, "content": [], "stop_reason": None}})]
    for i, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}  # fmt: skip  # noqa: E501
        told.append(("content_block_start", {"index": i, "content_block": start}))
        told.append(("content_block_delta", {"index": i, "delta": delta}))
        told.append(("content_block_stop", {"index": i}))
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    told.append(("message_delta", {"delta": ending, "usage": message["usage"]}))
    told.append(("message_stop", {}))
    return told
