"""Transcripts in a stand-in for S3, read and judged by processes and by a Ray cluster: the same bytes, and how fast.

    python -m benchmarks.cluster CORPUS [--mb 2000] [--nodes 2] [--cores 1] [--kill]

Copies of the transcripts below CORPUS, each with other ids, are put into moto's S3, which runs here too: what it takes
of the machine is part of both. A cluster of several nodes (Ray's own utility for tests) runs on this
machine. With `--kill`, a node is killed in the middle, and then the driver, which is started again.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx

ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BUCKET = "corpus"
AS_OF = "2027-01-01"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--mb", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="of each node")
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-cluster-") as folder:
        measure(given, Path(folder))


def measure(given: argparse.Namespace, folder: Path) -> None:
    """Print a line for each engine."""
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.remote.stand_in"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout
    address = server.stdout.readline().strip()
    os.environ |= {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    try:
        size, count = fill_bucket(given.corpus, given.mb << 20, address)
        print(f"{size / 1e6:.0f} MB in {count} objects at {address}", flush=True)
        cores = given.nodes * given.cores
        alone = run(folder / "processes", ["--engine", "processes", "--jobs", f"{cores}"], size, cores)
        cluster = start_cluster(given.nodes, given.cores)
        try:
            os.environ["RAY_ADDRESS"] = cluster.address
            spread = run(folder / "ray", ["--engine", "ray"], size, cores)
            print(f"same bytes: {alone == spread}", flush=True)
            if given.kill:
                killed = run_killed(folder / "killed", cluster, address, count)
                print(f"same bytes with a node and the driver killed: {alone == killed}", flush=True)
        finally:
            cluster.shutdown()
    finally:
        server.kill()
        server.wait()


def fill_bucket(corpus: Path, most: int, address: str) -> tuple[int, int]:
    """Put copies of the transcripts there, each with ids of its own, until it is enough; bytes and objects."""
    files = sorted(corpus.rglob("*.jsonl"))
    httpx.put(f"{address}/{BUCKET}", timeout=60).raise_for_status()
    size = copies = count = 0
    with httpx.Client(timeout=60) as client:
        while size < most:
            for file in files:
                content = ID.sub(partial(rename, copies), file.read_bytes())
                client.put(
                    f"{address}/{BUCKET}/{copies}/{file.relative_to(corpus)}", content=content
                ).raise_for_status()
                size, count = size + len(content), count + 1
                if size >= most:
                    break
            copies += 1
    return size, count


def rename(copy: int, found: re.Match[bytes]) -> bytes:
    """An id, as this copy has it."""
    return found[0][:-4] + b"%04x" % copy


def start_cluster(nodes: int, cores: int) -> Any:
    """Nodes on this machine: a head without cores, and those that work."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(nodes):
        cluster.add_node(num_cpus=cores)
    return cluster


def build_command(folder: Path, more: list[str]) -> list[str]:
    return [
        *(sys.executable, "-m", "assay", "score", f"s3://{BUCKET}", "--as-of", AS_OF, "--json"),
        *("--store", f"{folder}.db", *more),
    ]


def run(folder: Path, more: list[str], size: int, cores: int) -> str:
    """Score the bucket once; what was printed."""
    began = time.perf_counter()
    done = subprocess.run(build_command(folder, more), stdout=subprocess.PIPE, check=True, text=True)
    took = time.perf_counter() - began
    print(f"{more[1]}: {took:.1f} s, {size / 1e6 / took / cores:.2f} MB/s per core", flush=True)
    return done.stdout


def run_killed(folder: Path, cluster: Any, address: str, count: int) -> str:
    """Score the bucket while a node, then the driver is killed, and once more; what was printed at last."""
    httpx.put(f"{address}/_trouble", json={}, timeout=60).raise_for_status()
    driver = subprocess.Popen(build_command(folder, ["--engine", "ray"]), stdout=subprocess.DEVNULL)
    wait_for_files(Path(f"{folder}.db"), count // 10)
    cluster.add_node(num_cpus=1)
    cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
    wait_for_files(Path(f"{folder}.db"), count_files(Path(f"{folder}.db")) + count // 4)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    kept = count_files(Path(f"{folder}.db"))
    before = len(httpx.put(f"{address}/_trouble", json={}, timeout=60).json())
    done = subprocess.run(build_command(folder, ["--engine", "ray"]), stdout=subprocess.PIPE, check=True, text=True)
    after = len(httpx.put(f"{address}/_trouble", json={}, timeout=60).json())
    total = count_files(Path(f"{folder}.db"))
    print(
        f"{total} objects: {before} read until the driver was killed, {kept} kept, {after} read afterwards", flush=True
    )
    return done.stdout


def wait_for_files(store: Path, wanted: int) -> int:
    for _ in range(2400):
        if (found := count_files(store)) >= wanted:
            return found
        time.sleep(0.1)
    raise SystemExit("nothing is read")


def count_files(store: Path) -> int:
    import sqlite3

    if not store.exists():
        return 0
    copy = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return int(copy.execute("SELECT count(*) FROM files").fetchone()[0])
    except sqlite3.Error:
        return 0
    finally:
        copy.close()


if __name__ == "__main__":
    main()
