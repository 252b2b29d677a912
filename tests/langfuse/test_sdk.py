"""The vendor's own SDK, old and new, reads from the stand-in what we wrote: an oracle that is not ours."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.langfuse import connect, ensure_configs, pull_sessions, write_scores
from assay.langfuse.scores import fetch_scores
from assay.testing.langfuse import KEYS
from assay.testing.observations import build_hook_turn
from tests.langfuse.conftest import environment
from tests.langfuse.contract import CheckedServer
from tests.langfuse.test_write import CONFIGS, scores
from tests.llm.real import fetched, run

SDKS = [("4.18.0", "4.16.0"), ("5.0.4", "4.59.0")]
"""Each with the oldest server it is sure to work with, as far as we know."""
SCRIPT = Path(__file__).parent / "read_by_sdk.py"


def installed(version: str) -> Path:
    """A folder with that SDK and all it needs."""

    def fetch(folder: Path) -> None:
        run(sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), f"langfuse=={version}")

    return fetched(f"langfuse-{version}-py{sys.version_info.minor}", fetch)


@pytest.mark.outside
@pytest.mark.last
@pytest.mark.parametrize(("sdk", "server"), SDKS)
def test_the_real_sdk_reads_back_what_we_wrote(sdk, server, tmp_path):
    folder = installed(sdk)
    standin = CheckedServer(server)
    standin.observations = build_hook_turn(1, "Why?", reply="So.")
    running = standin.serve()
    host = f"http://127.0.0.1:{running.server_port}"
    client = connect(environment(host))
    ids = ensure_configs(client, CONFIGS).ids
    assert len(write_scores(client, scores(ids)).stored) == 3
    env = {**os.environ, "PYTHONPATH": str(folder), "LANGFUSE_PUBLIC_KEY": KEYS[0], "LANGFUSE_SECRET_KEY": KEYS[1]}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), host, "s1"], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    pulled = pull_sessions(client, tmp_path, ["s1"]).pulled[0]
    own = list(fetch_scores(client, ["sdk-1"]))
    running.shutdown()
    running.server_close()
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["rows"] == 3
    at = "2026-11-10T09:00:00+00:00"
    for name, value in {"tool_efficiency": 0.75, "goal_achievement": "most", "crushed": True}.items():
        kept, comment, config, metadata, timestamp, subject = told["scores"][name]
        assert (kept, comment, config, timestamp, subject) == (value, f"why {name}", ids[name], at, "s1")
        assert metadata["judge_version"] == "j1"
    assert told["configs"] == {one.name: one.data_type for one in CONFIGS}
    assert told["observations"] == pulled.observations == 2
    assert told["own"] == [0.5]
    assert [one.value for one in own] == [0.5]
    assert standin.violations == []
