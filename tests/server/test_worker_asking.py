"""Workers are killed while they ask a model: next to nothing is asked twice."""

import os
import signal
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from assay.pipeline.inputs import find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.stores import Store, open_store
from assay.testing.claude_code import write_lines
from assay.testing.models import ModelServer, SlowReply
from tests.llm.judging import agreeable, talk
from tests.postgres import start_server
from tests.server.test_workers import start_workers, wait_until

pytestmark = pytest.mark.long


def is_judged(store: Store, n: int) -> bool:
    """Whether so many sessions were judged by the model, for good."""
    found = store.sessions.list_segments(None)
    is_settled = all(one.input and b'"judge":"anthropic"' in one.judged for one in found)
    return len(found) == n and is_settled and not store.work.load_waits()


def test_workers_killed_while_they_ask_repeat_at_most_what_was_in_flight(tmp_path: Path):
    tenant = f"asking-{os.getpid()}"
    url, at_once = start_server().url(tenant), 2
    for n in range(20):
        write_lines(tmp_path / "in" / f"t-{n}.jsonl", *talk(f"t-{n}", start=n * 1000, cwd=f"/home/ada/loom-{n}"))

    def reply(job: str, text: str) -> object:
        return SlowReply(0.4, agreeable(job, text))

    with closing(open_store(url)) as store, ModelServer(reply) as service:
        scan(store, find_files([tmp_path / "in"]), 1, ignore_progress)
        env = {
            "ASSAY_JUDGE": "anthropic",
            "ASSAY_MODEL_URL": service.url,
            "ASSAY_MODEL_AT_ONCE": str(at_once),
            "ANTHROPIC_API_KEY": "k",
        }
        words = ("--tenant", tenant, "--yes")
        with start_workers(3, url, tmp_path, *words, **env) as workers:
            for n in (0, 1):
                wait_until(lambda n=n: len(service.calls) >= 4 + 6 * n, 120)  # type: ignore[misc]
                kill(workers[n])
            wait_until(lambda: is_judged(store, 20), 120)
        asked = Counter((one.job, one.text) for one in service.calls)
        judged = {one.judged for one in store.sessions.list_segments(None)}
        repeated = {name: n for name, n in asked.items() if n > 1}
    assert len(judged) == 20
    assert all(b'"judge":"anthropic"' in one for one in judged)
    assert len(asked) == 40  # topics and a session of each
    assert len(repeated) <= 2 * at_once, repeated
    assert set(repeated.values()) <= {2, 3}
    print(f"{len(asked)} questions, {sum(asked.values())} asked, in flight when killed: {sorted(repeated.values())}")


def kill(worker: "subprocess.Popen[str]") -> None:
    worker.send_signal(signal.SIGKILL)
    worker.wait()
