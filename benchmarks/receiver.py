"""What a server takes in: `python -m benchmarks.receiver [--seconds 60] [--rate 2500] [--sqlite]`.

`assay serve` runs as a process of its own on PostgreSQL (which syncs to the disk) or SQLite; senders are threads here.
First a rate is held while others read, then as much is sent as goes, with batches larger than the server lets wait.
Every batch that was acknowledged is looked for in the store, id by id. Asserts nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from assay.stores import Store, open_store, pick_store_url, to_tenant_url
from assay.telemetry.otlp import decode_body
from benchmarks.measure import Peak
from benchmarks.scan import machine
from benchmarks.served import serve
from tests.postgres import PostgresServer

TENANT = "load"
EVENTS = ("user_prompt", "api_request", "tool_decision", "tool_result", "assistant_response")
BATCH, LARGE = 50, 2_000
SENDERS, CROWD = 4, 24


class SyncedServer(PostgresServer):
    """A PostgreSQL server that keeps its promises when the power fails, as one that people use."""

    def start(self) -> None:
        options = f"-h 127.0.0.1 -k {self.folder} -p {self.port} -c max_connections=60"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.folder / "log"), "-o", options, "start")


@dataclass
class Tally:
    """What became of requests."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    acknowledged: dict[str, int] = field(default_factory=dict)
    """How many records each conversation had whose batch was answered with 200."""
    took_s: float = 0.0

    def find_share(self, share: float) -> float:
        """How many milliseconds a share of the requests took at most."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def describe(self) -> str:
        rate = sum(self.acknowledged.values()) / self.took_s if self.took_s else 0.0
        held = f"{rate:,.0f} events/s for {self.took_s:.0f} s, " if rate else ""
        times = f"p50 {self.find_share(0.5):.0f} ms, p99 {self.find_share(0.99):.0f} ms"
        return f"{held}{times}, statuses {dict(sorted(self.statuses.items()))}"


def build_batch(conversation: str, events: int) -> bytes:
    """A request of an agent about one conversation."""
    records = [
        {
            "timeUnixNano": str((1_790_000_000 + n) * 10**9),
            "body": {"stringValue": f"claude_code.{EVENTS[n % len(EVENTS)]}"},
            "attributes": [
                {"key": "event.name", "value": {"stringValue": EVENTS[n % len(EVENTS)]}},
                {"key": "session.id", "value": {"stringValue": conversation}},
                {"key": "event.sequence", "value": {"intValue": n}},
                {"key": "prompt", "value": {"stringValue": "weave the next row of the cloth " * 4}},
                {"key": "input_tokens", "value": {"intValue": 1_200}},
            ],
        }
        for n in range(events)
    ]
    scope = {"scope": {"name": "com.anthropic.claude_code.events"}, "logRecords": records}
    return json.dumps({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [scope]}]}).encode()


def send_batches(address: str, key: str, tally: Tally, plan: tuple[str, float, float, int]) -> None:
    """Send one batch after the other, not faster than `pause` seconds each, for some seconds."""
    name, pause, seconds, events = plan
    began = time.monotonic()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
        n = 0
        while time.monotonic() < began + seconds:
            conversation = f"{name}-{n}"
            body = build_batch(conversation, events)
            sent = time.perf_counter()
            status = client.post("/v1/logs", content=body).status_code
            tally.seconds.append(time.perf_counter() - sent)
            tally.statuses[status] += 1
            if status == 200:
                tally.acknowledged[conversation] = events
            n += 1
            time.sleep(max(0.0, began + n * pause - time.monotonic()))


def read_meanwhile(address: str, key: str, tally: Tally, ended: threading.Event) -> None:
    """Ask for what is stored, again and again."""
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {key}"}, timeout=60) as client:
        while not ended.wait(0.5):
            for path in ("/readyz", "/metrics", "/api/v1/marks"):
                sent = time.perf_counter()
                tally.statuses[client.get(path).status_code] += 1
                tally.seconds.append(time.perf_counter() - sent)


def run_senders(address: str, key: str, plans: list[tuple[str, float, float, int]]) -> Tally:
    tally, began = Tally(), time.monotonic()
    threads = [threading.Thread(target=send_batches, args=(address, key, tally, plan)) for plan in plans]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    tally.took_s = time.monotonic() - began
    return tally


def check_stored(store: Store, tallies: list[Tally]) -> str:
    """That every acknowledged record is there, by its id."""
    wanted = {name: events for tally in tallies for name, events in tally.acknowledged.items()}
    lost = 0
    for name, events in wanted.items():
        ids = {one.id for one in decode_body("logs", "application/json", build_batch(name, events)).records}
        lost += len(ids - {one.id for one in store.telemetry.load_records("claude-code", name)})
    return f"acknowledged {sum(wanted.values()):,} records in {len(wanted):,} requests, of which {lost} are missing"


def read_cpu(pid: int) -> float:
    """CPU seconds of a process, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_assay(store: str, *words: str) -> Any:
    made = subprocess.run(
        [sys.executable, "-m", "assay", *words, "--store", store, "--json"], capture_output=True, check=True
    )
    return json.loads(made.stdout)


def measure_server(store: str, seconds: float, rate: float) -> list[str]:
    """Lines about one server on one store."""
    add = ("keys", "add", "bench", "--tenant", TENANT, "--scope")
    key, reader = (run_assay(store, *add, scope)["token"] for scope in ("ingest", "read"))
    with serve(store, "--require-key") as (address, pid):
        peak, ended, reads = Peak(pid), threading.Event(), Tally()
        peak.start()
        reading = threading.Thread(target=read_meanwhile, args=(address, reader, reads, ended))
        reading.start()
        idle = read_cpu(pid)
        held = run_senders(
            address, key, [(f"held-{n}", SENDERS * BATCH / rate, seconds, BATCH) for n in range(SENDERS)]
        )
        before, took = peak.kb, (read_cpu(pid) - idle) / max(1, sum(held.acknowledged.values()))
        flood = run_senders(address, key, [(f"flood-{n}", 0.0, 10.0, LARGE) for n in range(CROWD)])
        ended.set()
        reading.join()
        peak.ended.set()
    with closing(open_store(to_tenant_url(pick_store_url(store, os.environ), TENANT))) as kept:
        told = check_stored(kept, [held, flood])
    mb, most_mb = f"{before / 1024:.0f} MB", f"{peak.kb / 1024:.0f} MB"
    cpu = f"{1e6 * took:.0f} µs of the server's CPU an event, reads included"
    return [f"held      {held.describe()}, {mb}, {cpu}", f"overload  {flood.describe()}, {most_mb}",
            f"reads     {reads.describe()}", told]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=2_500, help="events a second that are to be held")
    parser.add_argument("--sqlite", action="store_true")
    given = parser.parse_args()
    print(machine())
    if given.sqlite:
        with tempfile.TemporaryDirectory() as folder:
            print(*measure_server(str(Path(folder) / "assay.db"), given.seconds, given.rate), sep="\n")
        return
    server = SyncedServer()
    try:
        print(*measure_server(server.url(), given.seconds, given.rate), sep="\n")
    finally:
        server.close()


if __name__ == "__main__":
    main()
