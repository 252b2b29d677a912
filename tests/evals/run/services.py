"""Stand-ins for the services of Claude Code and Codex, spoken to by the real programs.

Their model is a weaver: it weaves what the prompt names (`weave the scarf`) in the colour that its instructions say
(`COLOUR: blue`), with one shell command, and then says that it is done.
"""

import itertools
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COLOUR, THING = re.compile(r"COLOUR: (\w+)"), re.compile(r"weave the (\w+)")
SPENT = {"input_tokens": 1000, "output_tokens": 50, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 100}
SPENT_BY_CODEX = {"input_tokens": 1200, "input_tokens_details": {"cached_tokens": 200}, "output_tokens": 30,
                  "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 1230}  # fmt: skip


class Weaver:
    """Both services at one address; `requests` holds what each was asked, `refuse` what it answers instead."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.refuse: list[int] = []
        """Statuses for the next requests; the last one for ever, unless it is 200."""
        self.seconds = 0.0
        self.ids = itertools.count(1)

    def __enter__(self) -> "Weaver":
        weaver = self

        class Bound(Handler):
            service = weaver

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def status(self) -> int:
        if not self.refuse:
            return 200
        return self.refuse.pop(0) if len(self.refuse) > 1 else self.refuse[0]


class Handler(BaseHTTPRequestHandler):
    service: Weaver
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send(404, {"error": {"message": "nothing here", "type": "invalid_request_error"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if not self.path.partition("?")[0].endswith(("/messages", "/responses")):
            return self.send(404, {"error": {"message": "nothing here", "type": "invalid_request_error"}})
        text = raw.decode()
        self.service.requests.append(text)
        status = self.service.status()
        if status != 200:
            kind = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}.get(
                status, "api_error"
            )
            return self.send(status, {"type": "error", "error": {"type": kind, "message": "as scripted"}})
        time.sleep(self.service.seconds)
        colour, thing = COLOUR.findall(text), THING.findall(text)
        command = f"echo {colour[-1] if colour else 'grey'} > {thing[-1] if thing else 'nothing'}.txt"
        events = anthropic if "/messages" in self.path else openai
        return self.stream(events(json.loads(text), command, next(self.service.ids)))

    def send(self, code: int, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def stream(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for kind, event in events:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **event})}\n\n".encode())


def anthropic(body: dict[str, Any], command: str, number: int) -> list[tuple[str, dict[str, Any]]]:
    """One message as a stream: the command, or the last word once it has run."""
    is_done = "tool_result" in json.dumps(body["messages"])
    if is_done:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "It is woven."}
    else:
        given = json.dumps({"command": command, "description": "Weave"})
        block = {"type": "tool_use", "id": f"toolu_{number:04}", "name": "Bash", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": given}
    start = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": body["model"], "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": {**SPENT, "output_tokens": 1}}  # fmt: skip
    ending = {"stop_reason": "end_turn" if is_done else "tool_use", "stop_sequence": None}
    return [
        ("message_start", {"message": start}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ending, "usage": SPENT}),
        ("message_stop", {}),
    ]


def openai(body: dict[str, Any], command: str, number: int) -> list[tuple[str, dict[str, Any]]]:
    """One response as a stream of the Responses API."""
    is_done = any(item.get("type") == "function_call_output" for item in body["input"])
    if is_done:
        words = [{"type": "output_text", "text": "It is woven.", "annotations": []}]
        item: dict[str, Any] = {"type": "message", "id": f"m{number}", "role": "assistant", "content": words}
    else:
        item = {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": "exec_command",
                "arguments": json.dumps({"cmd": command})}  # fmt: skip
    response = {"id": f"r{number}", "object": "response", "output": []}
    done = {**response, "status": "completed", "output": [item], "usage": SPENT_BY_CODEX}
    return [
        ("response.created", {"response": {**response, "status": "in_progress"}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": done}),
    ]
