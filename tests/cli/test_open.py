"""`assay open`: what is new is read, and the pages open in the person's own browser."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from assay.resources import EXAMPLES
from tests.conftest import environment, is_one_line, run


def wait_for(file: Path) -> str:
    """What a file holds once somebody has written it."""
    until = time.monotonic() + 60
    while not (file.exists() and file.read_text().endswith("\n")) and time.monotonic() < until:
        time.sleep(0.05)
    return file.read_text().strip()


def test_the_browser_gets_the_address_of_pages_with_what_was_just_read(tmp_path: Path):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "open", str(EXAMPLES), "--store", str(tmp_path / "s.db"), "--jobs", "1"],
        stderr=subprocess.PIPE, text=True, env=environment(HOME=str(tmp_path), BROWSER=str(browser)),
    )  # fmt: skip
    try:
        page = httpx.get(wait_for(opened), timeout=60)
        assert page.status_code == 200
        assert "17 counted sessions</a> crushed" in page.text
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert [line for line in said.splitlines() if line.startswith("{")] == []
    assert "listening on http://127.0.0.1:" in said


def test_nothing_to_read_is_told_and_nothing_is_served(tmp_path: Path):
    ran = run("open", str(tmp_path / "nowhere"), "--store", str(tmp_path / "s.db"), env={"HOME": str(tmp_path)})
    assert (ran.code, is_one_line(ran.err), ran.out) == (2, True, "")
