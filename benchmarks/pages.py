"""What pages take: `python -m benchmarks.pages --store URL… [--postgres] [--paint] [--turns 10000]`.

`assay serve` is started on each store, and asked for each page as a browser would: the first time, and again. With
`--postgres` the same once more on a copy of the store in a PostgreSQL server. With `--paint` Chromium opens the
overview, and says when it painted first. `--turns` makes a session of so many turns and opens it. Stores of many
sessions are what `benchmarks.growth` and `benchmarks.million` make. Asserts nothing.
"""

import argparse
import json
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from assay import score
from assay.stores import FILE_URL
from benchmarks.million import fill_store
from benchmarks.scan import machine
from benchmarks.served import serve
from tests.postgres import USER, start_server
from tests.web.browsing import open_browser, visit

HTML = {"accept": "text/html"}
PAGES = (
    "/",
    "/sessions",
    "/sessions?sort=cost",
    "/sessions?crushed=no&by_intent=refactor",
    "/sessions?search=nothing+like+it",
    "/sessions/ID",
    "/compare?a=agent:claude-code&b=agent:codex",
    "/compare?a=2026-09&b=2026-10",
    "/team",
    "/rework",
    "/quality",
    "/advise",
    "/audit",
    "/judges",
    "/privacy",
    "/live",
)
SESSION = re.compile(r'href="/sessions/([0-9a-f]{12})"')
PAINTED = "performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)[0]"


def time_page(client: httpx.Client, path: str, repeats: int) -> tuple[httpx.Response, list[float]]:
    """Milliseconds of the first time and of those after it."""
    took = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        reply = client.get(path, headers=HTML)
        took.append(1000 * (time.perf_counter() - began))
    return reply, took


def time_pages(url: str, paths: Sequence[str], repeats: int, pause: float) -> list[str]:
    """A line for each page, `pause` seconds after the server began to listen."""
    lines = ["| page | status | first ms | again ms | bytes |", "| --- | ---: | ---: | ---: | ---: |"]
    with serve(url) as (address, _), httpx.Client(base_url=address, timeout=600) as client:
        time.sleep(pause)
        shown = ""
        for path in paths:
            reply, took = time_page(client, path.replace("ID", shown), repeats)
            shown = shown or next(iter(SESSION.findall(reply.text)), "") if path == "/sessions" else shown
            again = statistics.median(took[1:])
            lines.append(f"| `{path}` | {reply.status_code} | {took[0]:,.0f} | {again:,.0f} | {len(reply.content):,} |")
    return lines


def time_paint(url: str, path: str, repeats: int) -> str:
    """When Chromium painted a page first, counted from when it was asked to open it."""
    took = []
    with serve(url) as (address, _), open_browser() as browser:
        for _ in range(repeats + 1):
            with visit(browser, address) as look:
                took.append(float(look.open(path).wait_for_function(PAINTED).json_value()))
    return f"`{path}` painted first after {took[0]:,.0f} ms, then {statistics.median(took[1:]):,.0f} ms"


@contextmanager
def copy_to_postgres(url: str) -> Iterator[str]:
    """The same store, without what files said, on a PostgreSQL server that is started for it."""
    server = start_server()
    name = f"pages{time.monotonic_ns()}"
    server.run("createdb", "-h", "127.0.0.1", "-p", str(server.port), "-U", USER, name)
    other = f"postgresql://{USER}@127.0.0.1:{server.port}/{name}"
    fill_store(url.removeprefix(FILE_URL), other, 1)
    yield other


def make_long_session(folder: Path, turns: int) -> tuple[str, str]:
    """The URL of a store with one session of so many turns, and the session's id."""
    lines: list[dict[str, object]] = []
    for n in range(turns):
        at = f"2026-10-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z"
        known = {"sessionId": "long", "version": "2.0.0", "cwd": "/home/dev/loom", "timestamp": at}
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"grep -n warp{n} loom.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n}: warp = weave({n})\n" * 20}
        usage = {"input_tokens": 10, "output_tokens": 5}
        for kind, content in (
            ("user", f"Now look at thread {n} of the loom, and say what became of it."),
            ("assistant", [{"type": "text", "text": f"I look at thread {n}. " * 12}, call]),
            ("user", [result]),
            ("assistant", [{"type": "text", "text": f"Thread {n} was woven into the cloth. " * 12}]),
        ):
            message: dict[str, object] = {"role": kind, "content": content}
            if kind == "assistant":
                message |= {"id": f"m{n}-{len(lines)}", "model": "claude-sonnet-4-5-20250929", "usage": usage}
            lines.append({"type": kind, "uuid": f"u{len(lines)}", "message": message, **known})
    file = folder / "long" / "-home-dev-loom" / "00000000-0000-4000-8000-000000000001.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    found = score(str(folder / "long"), store=folder / "long.db", jobs=1)
    longest = max(found.sessions, key=lambda one: one.facts["turns"])
    return f"sqlite:///{folder / 'long.db'}", longest.id


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--store", action="append", default=[], help="the URL of a store; it stays as it is")
    parser.add_argument("--postgres", action="store_true", help="each on a PostgreSQL server, too")
    parser.add_argument("--paint", action="store_true", help="let Chromium say when it painted the overview")
    parser.add_argument("--turns", type=int, default=0, help="open a session of so many turns")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--pause", type=float, default=0.0, help="seconds after the start until the first page is asked"
    )
    return parser.parse_args()


def measure(url: str, args: argparse.Namespace) -> None:
    print(f"\n{machine()}; {url.partition(':')[0]}\n", flush=True)
    print("\n".join(time_pages(url, PAGES, args.repeats, args.pause)), flush=True)
    if args.paint:
        print(f"\n{time_paint(url, '/', args.repeats)}", flush=True)


def main() -> None:
    args = read_arguments()
    for url in args.store:
        measure(url, args)
        if args.postgres:
            with copy_to_postgres(url) as other:
                measure(other, args)
    if args.turns:
        with tempfile.TemporaryDirectory(prefix="assay-pages-") as folder:
            url, name = make_long_session(Path(folder), args.turns)
            paths = (f"/sessions/{name}", f"/sessions/{name}?turns=now", f"/sessions/{name}?page=9")
            print(f"\n{machine()}; a session of {args.turns:,} turns\n", flush=True)
            print("\n".join(time_pages(url, paths, args.repeats, args.pause)).replace(name, "LONG"), flush=True)


if __name__ == "__main__":
    main()
