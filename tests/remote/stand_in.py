"""A stand-in for S3 in a process of its own: moto behind a door that can turn callers away.

`python -m tests.remote.stand_in` prints its address. `PUT /_trouble` takes JSON: how many of the next requests for
objects are answered with 503, or which object is changed once it was read.
"""

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Door:
    def __init__(self) -> None:
        self.inside = DomainDispatcherApplication(create_backend_app)
        self.busy = 0
        self.changes = ""
        self.read: list[str] = []

    def __call__(self, environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == "/_trouble":
            return self.take_trouble(environ, respond)
        if method == "GET" and path.count("/") > 1:
            if self.busy:
                self.busy -= 1
                respond("503 Slow Down", [("Content-Type", "application/xml")])
                return [SLOW_DOWN]
            self.read.append(path)
        found = list(self.inside(environ, respond))
        if self.changes and path.endswith(self.changes) and method == "GET":
            self.change(path)
        return found

    def take_trouble(self, environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        said = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)) or "{}")
        read, self.read = self.read, []
        self.busy, self.changes = said.get("busy", 0), said.get("changes", "")
        respond("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(read).encode()]

    def change(self, path: str) -> None:
        """Put something else in the place of an object."""
        from moto.s3.models import s3_backends

        bucket, _, key = path.lstrip("/").partition("/")
        self.changes = ""
        next(iter(s3_backends["123456789012"].values())).put_object(bucket, key, b'{"other": 1}\n')


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, Door(), threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    logging.getLogger("werkzeug").disabled = True
    server.serve_forever()
