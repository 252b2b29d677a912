"""A stand-in for S3 that all tests of this room share."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import environment

ROOT = Path(__file__).parents[2]


class StandIn:
    """The stand-in as a test sees it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.env = {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def put(self, path: str, content: bytes = b"") -> None:
        """An object, or a bucket."""
        httpx.put(f"{self.address}/{path}", content=content, timeout=60).raise_for_status()

    def put_folder(self, path: str, folder: Path) -> None:
        self.put(path.split("/")[0])
        for file in sorted(folder.rglob("*.jsonl")):
            self.put(f"{path}/{file.relative_to(folder)}", file.read_bytes())

    def trouble(self, **said: object) -> list[str]:
        """Make trouble from now on; which objects were read until then."""
        found: list[str] = httpx.put(f"{self.address}/_trouble", json=said, timeout=60).json()
        return found


@pytest.fixture(scope="session")
def s3() -> Iterator[StandIn]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.remote.stand_in"],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    )
    assert process.stdout
    try:
        yield StandIn(process.stdout.readline().decode().strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
