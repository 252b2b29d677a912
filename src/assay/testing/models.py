"""Models for tests: `FakeModel` speaks the contract of `assay.llm`, `ModelServer` the protocols of real services.

    with ModelServer(lambda job, text: {"status": "completed"}) as service:
        settings = Model(url=service.url)            # for anthropic and claude-cli; `service.url + "/v1"` for openai

Both are given `reply(job, text)`: `job` is what is asked for (topic, session, quality, or the name of a
schema of your own), `text` what it shows. A dict is the answer in whatever way the schema was asked for, a string is
said as it is. `reply_in_turn(a, b)` gives one after the other, the last for ever. `ErrorStatus`, `EarlyStop`,
`RawBody`, `BrokenReply`, `DribbledReply` and `SlowReply` are what can go wrong on the way to a service.
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

from assay.llm import Answer, Question
from assay.types import Usage

MODEL = "stand-in-1"
JOB = re.compile(r"one JSON object, the (\w+),")
KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
         413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}  # fmt: skip


@dataclass
class ErrorStatus:
    """An HTTP error."""

    code: int
    message: str = "as scripted"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class EarlyStop:
    """A reply that ends for a reason: refusal, max_tokens."""

    reason: str
    text: str = ""


@dataclass
class RawBody:
    """A body as it is."""

    body: bytes
    kind: str = "application/json"


@dataclass
class BrokenReply:
    """The line goes dead in the middle of a reply."""

    text: str = '{"a": 1}'


@dataclass
class SlowReply:
    """Nothing for a while, then something else."""

    seconds: float
    then: Any = ""


@dataclass
class DribbledReply:
    """A reply that comes byte by byte, and is not even whole in the end."""

    every_s: float = 0.1
    bytes: int = 80


Reply = Callable[[str, str], Any]


def reply_in_turn(*replies: Any) -> Reply:
    """One reply after the other; the last one for ever."""
    rest, lock = list(replies), threading.Lock()

    def reply(_job: str, _text: str) -> Any:
        with lock:
            return rest.pop(0) if len(rest) > 1 else rest[0]

    return reply


class FakeModel:
    """A model in this process: `reply` answers every question, an error it gives is raised; `questions` are all."""

    backend = "fake"
    where = "this process"
    caches_from: int | None = None
    room = 1

    def __init__(self, reply: Reply, model: str = MODEL) -> None:
        self.reply = reply
        self.model = model
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        """Answer as the script says; tokens are a quarter of the letters."""
        self.questions.append(question)
        words = f"{question.material}\n{question.task}"
        reply = self.reply(question.job, words)
        if isinstance(reply, Exception):
            raise reply
        text = json.dumps(reply) if isinstance(reply, dict) else str(reply)
        usage = Usage(input=len(question.system + words) // 4, output=len(text) // 4)
        return Answer(text=text, usage=usage, model=self.model)

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class ModelRequest:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    job: str = ""
    text: str = ""


class ModelServer:
    """The service; `requests` holds all that arrived, `calls` those that asked something (those of batches too)."""

    def __init__(self, reply: Reply, *, caches_from: int = 4096, looks: int = 1) -> None:
        self.reply = reply
        self.caches_from = caches_from
        self.looks = looks
        """How often a batch is looked at before it has ended."""
        self.requests: list[ModelRequest] = []
        self.calls: list[ModelRequest] = []
        self.batches: dict[str, dict[str, Any]] = {}
        self.cached: set[str] = set()
        self.lock = threading.RLock()
        self.over = threading.Event()
        self.ids = itertools.count(1)
        self.at_once = self.most_at_once = 0
        self.refuse: ErrorStatus | None = None
        """What every batch meets with."""
        self.tokens: Callable[[str], int | ErrorStatus] = lambda text: len(text) // 4
        """How many tokens the service counts in a text."""

    def __enter__(self) -> "ModelServer":
        fake = self

        class BoundHandler(ModelHandler):
            service = fake

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), BoundHandler)
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

    def answer(self, request: ModelRequest) -> Any:
        """What to do about a question; waits where that is the script."""
        with self.lock:
            self.calls.append(request)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            said = self.reply(request.job, request.text)
            while isinstance(said, SlowReply):
                self.over.wait(said.seconds)
                said = said.then
            return said
        finally:
            with self.lock:
                self.at_once -= 1

    def count_usage(self, body: dict[str, Any], output: int) -> dict[str, int]:
        """Tokens as the real service counts them: a marked prefix is written once and then read."""
        marked, prefix, rest = False, json.dumps([body.get("tools"), body.get("system")]), ""
        blocks = [block for message in body["messages"] for block in list_blocks(message)]
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

    def build_message(self, body: dict[str, Any], said: Any) -> dict[str, Any]:
        """A reply in Anthropic's form."""
        content, stop = build_content(body, said)
        return {
            "id": f"msg_{next(self.ids):04}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", MODEL),
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": self.count_usage(body, len(json.dumps(content)) // 4),
        }

    def build_completion(self, body: dict[str, Any], said: Any) -> dict[str, Any]:
        """A reply in OpenAI's form."""
        text, finish, refusal = json.dumps(said) if isinstance(said, dict) else said, "stop", None
        if isinstance(said, EarlyStop):
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

    def build_result(self, params: dict[str, Any]) -> dict[str, Any]:
        """What becomes of one request of a batch."""
        said = self.answer(ModelRequest("BATCH", "", {}, params, *parse_request(params)))
        if isinstance(said, ErrorStatus):
            return {"type": "errored", "error": describe_error(said)}
        if said in ("expired", "canceled"):
            return {"type": said}
        return {"type": "succeeded", "message": self.build_message(params, said)}


class ModelHandler(BaseHTTPRequestHandler):
    """One connection."""

    service: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.note_request(None)
        path = self.path.partition("?")[0]
        if path == "/v1/models":
            return self.send(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        found = re.fullmatch(r"/v1/messages/batches/(\w+)(/results)?", path)
        batch = self.service.batches.get(found[1]) if found else None
        if not found or not batch:
            return self.send(404, describe_error(ErrorStatus(404, f"nothing at {path}")))
        if found[2]:
            lines = "".join(json.dumps(line) + "\n" for line in batch["results"])
            return self.send(200, lines.encode(), "application/x-jsonl")
        batch["looks"] += 1
        return self.send(200, self.describe_batch(found[1], ended=batch["looks"] > self.service.looks))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw or b"{}")
        request, path = self.note_request(body), self.path.partition("?")[0]
        if path == "/v1/messages/batches" and (refuse := self.service.refuse):
            return self.send(refuse.code, describe_error(refuse), headers=refuse.headers)
        if path == "/v1/messages/batches":
            results = [{"custom_id": one["custom_id"], "result": self.service.build_result(one["params"])} for one in body["requests"]]  # fmt: skip  # noqa: E501
            name = f"msgbatch_{next(self.service.ids):04}"
            self.service.batches[name] = {"results": results[::-1], "looks": 0}
            return self.send(200, self.describe_batch(name, ended=False))
        if path == "/v1/messages/count_tokens":
            found = self.service.tokens(parse_request(body)[1])
            if isinstance(found, ErrorStatus):
                return self.send(found.code, describe_error(found), headers=found.headers)
            return self.send(200, {"input_tokens": found})
        if path not in ("/v1/messages", "/v1/chat/completions"):
            return self.send(404, describe_error(ErrorStatus(404, f"nothing at {path}")))
        request.job, request.text = parse_request(body)
        said = self.service.answer(request)
        if isinstance(said, ErrorStatus):
            return self.send(said.code, describe_error(said), headers=said.headers)
        if isinstance(said, RawBody):
            return self.send(200, said.body, said.kind)
        if isinstance(said, DribbledReply):
            return self.send_slowly(said)
        if path == "/v1/chat/completions":
            return self.send_whole(
                self.service.build_completion(body, getattr(said, "text", said) if is_broken(said) else said), said
            )
        message = self.service.build_message(body, said.text if is_broken(said) else said)
        return self.send_stream(message, said) if body.get("stream") else self.send_whole(message, said)

    def note_request(self, body: Any) -> ModelRequest:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ModelRequest(self.command, self.path, headers, body)
        with self.service.lock:
            self.service.requests.append(request)
        return request

    def describe_batch(self, id: str, *, ended: bool) -> dict[str, Any]:
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        url = f"{self.service.url}/v1/messages/batches/{id}/results" if ended else None
        return {"id": id, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts, "created_at": "2026-03-02T09:00:00Z", "results_url": url}  # fmt: skip

    def send_whole(self, reply: dict[str, Any], said: Any) -> None:
        """A reply in one piece, or half of one."""
        self.send(200, reply, half=is_broken(said))

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

    def send_slowly(self, said: DribbledReply) -> None:
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

    def send_stream(self, message: dict[str, Any], said: Any) -> None:
        """A reply as server-sent events, which Claude Code asks for."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for kind, event in list_events(message):
                self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **event})}\n\n".encode())
                self.wfile.flush()
                if kind == "content_block_delta" and is_broken(said):
                    return
        except (BrokenPipeError, ConnectionResetError):
            return


def is_broken(said: Any) -> bool:
    return isinstance(said, BrokenReply)


def describe_error(status: ErrorStatus) -> dict[str, Any]:
    return {"type": "error", "error": {"type": KINDS.get(status.code, "api_error"), "message": status.message}}


def list_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def parse_request(body: dict[str, Any]) -> tuple[str, str]:
    """Which judge asks, and all its words behind the system prompt."""
    users = [message for message in body.get("messages", []) if message["role"] == "user"]
    text = "\n".join(block.get("text", "") for message in users for block in list_blocks(message))
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("name")
    tool = (body.get("tool_choice") or {}).get("name")
    named = JOB.search(text)
    return schema or tool or (named[1] if named else ""), text


def build_content(body: dict[str, Any], said: Any) -> tuple[list[dict[str, Any]], str]:
    """Blocks of a reply and why it ends."""
    if isinstance(said, EarlyStop):
        return [{"type": "text", "text": said.text}] if said.text else [], said.reason
    tools = [tool["name"] for tool in body.get("tools") or []]
    forced = (body.get("tool_choice") or {}).get("name") or next((n for n in tools if n == "StructuredOutput"), None)
    if isinstance(said, dict) and forced:
        return [{"type": "tool_use", "id": "toolu_0001", "name": forced, "input": said}], "tool_use"
    text = json.dumps(said) if isinstance(said, dict) else str(said)
    return [{"type": "text", "text": text}] if text else [], "end_turn"


def list_events(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A message cut into the events of a stream."""
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}})
    ]
    for i, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append(("content_block_start", {"index": i, "content_block": start}))
        events.append(("content_block_delta", {"index": i, "delta": delta}))
        events.append(("content_block_stop", {"index": i}))
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append(("message_delta", {"delta": ending, "usage": message["usage"]}))
    events.append(("message_stop", {}))
    return events
