"""A stand-in for the service of Claude Code whose model follows a script: `DO:write` in a prompt picks the steps."""

import itertools
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SPENT = {"input_tokens": 1000, "output_tokens": 50, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 100}
PICK = re.compile(r"DO:(\w+)")
SUMMARY = "<analysis>what was done</analysis>\n<summary>\n1. Primary Request and Intent: the hat.\n</summary>"

Step = tuple[str, str, dict[str, Any]]
"""Words, the tool that is called with them, and what it is given; no tool ends the turn."""


def build_scripts(folder: str) -> dict[str, list[Step]]:
    """What the model does for each word."""
    hat = f"{folder}/hat.py"
    return {
        "write": [
            ("Knitting.", "Write", {"file_path": hat, "content": "rows = 1\nyarn = 'blue'\n"}),
            ("Checking.", "Bash", {"command": "false", "description": "Check"}),
            ("The hat is begun.", "", {}),
        ],
        "edit": [
            ("Looking.", "Read", {"file_path": hat}),
            ("Mending.", "Edit", {"file_path": hat, "old_string": "rows = 1", "new_string": "rows = 2"}),
            ("The hat has two rows.", "", {}),
        ],
        "ask": [
            ("May I?", "Bash", {"command": "curl -s http://127.0.0.1:9/", "description": "Ask"}),
            ("Understood.", "", {}),
        ],
        "agent": [
            ("Handing on.", AGENT, {"description": "Look", "prompt": "DO:look", "subagent_type": "general-purpose"}),
            ("It reported back.", "", {}),
        ],
        "look": [("Looking.", "Bash", {"command": "ls", "description": "Look"}), ("There is a hat.", "", {})],
        "slow": [("SLEEP", "", {})],
        "sessions": [("Asking.", "mcp__assay__list_sessions", {}), ("There they are.", "", {})],
    }


AGENT = "Task"


class Scribe:
    """The service at one address."""

    def __init__(self, folder: str) -> None:
        self.scripts = build_scripts(folder)
        self.ids = itertools.count(1)
        self.bodies: list[dict[str, Any]] = []

    def __enter__(self) -> "Scribe":
        scribe = self

        class Bound(ScribeHandler):
            service = scribe

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def pick(self, body: dict[str, Any]) -> Step:
        """The next step of the script that was named last."""
        messages = body.get("messages", [])
        last = read_text(messages[-1]) if messages else ""
        if ("summary" in last and "TEXT ONLY" in last) or "detailed summary" in last:
            return SUMMARY, "", {}
        names = {one.get("name") for one in body.get("tools") or ()}
        for n in range(len(messages) - 1, -1, -1):
            found = PICK.findall(read_text(messages[n])) if messages[n].get("role") == "user" else []
            if found:
                steps = self.scripts[found[-1]]
                done = sum(one.get("role") == "assistant" for one in messages[n + 1 :])
                words, tool, given = steps[min(done, len(steps) - 1)]
                return words, "Agent" if tool == AGENT and "Agent" in names else tool, given
        return "Hello.", "", {}


def read_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return " ".join(one.get("text", "") for one in content or () if one.get("type") == "text")


class ScribeHandler(BaseHTTPRequestHandler):
    service: Scribe
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send(404, {"type": "error", "error": {"type": "not_found_error", "message": "nothing here"}})

    def do_HEAD(self) -> None:
        self.send(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self.send(200, {"input_tokens": 100})
        if not path.endswith("/messages"):
            return self.send(404, {"type": "error", "error": {"type": "not_found_error", "message": "nothing here"}})
        self.service.bodies.append(body)
        words, tool, given = self.service.pick(body)
        if words == "SLEEP":
            time.sleep(20)
        content: list[dict[str, Any]] = [{"type": "text", "text": words}]
        number = next(self.service.ids)
        if tool:
            content.append({"type": "tool_use", "id": f"toolu_{number:06}", "name": tool, "input": given})
        message = {"id": f"msg_{number:06}", "type": "message", "role": "assistant", "model": body.get("model"),
                   "content": content, "stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None,
                   "usage": SPENT}  # fmt: skip
        return self.stream(message) if body.get("stream") else self.send(200, message)

    def send(self, code: int, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        begun = message | {"content": [], "stop_reason": None, "usage": SPENT | {"output_tokens": 1}}
        events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": begun})]
        for n, block in enumerate(message["content"]):
            empty = block | ({"text": ""} if block["type"] == "text" else {"input": {}})
            told = ({"type": "text_delta", "text": block["text"]} if block["type"] == "text"
                    else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])})  # fmt: skip
            events += [
                ("content_block_start", {"index": n, "content_block": empty}),
                ("content_block_delta", {"index": n, "delta": told}),
                ("content_block_stop", {"index": n}),
            ]
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events += [("message_delta", {"delta": ending, "usage": SPENT}), ("message_stop", {})]
        for kind, event in events:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **event})}\n\n".encode())
