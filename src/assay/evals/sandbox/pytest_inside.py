"""Runs pytest on a task's check files and tells what became of them. A program of its own, with no imports of ours.

The word on its standard input is what its last line begins with: whoever ends it early does not know that word. No
settings, no `conftest.py` and no plugin of the workspace count, and no module of it comes before an installed one.
"""

import json
import os
import sys
from importlib import metadata


class TestTally:
    """Counts tests, as a plugin of pytest."""

    def __init__(self) -> None:
        self.collected = self.passed = 0
        self.wrong: list[str] = []

    def pytest_collection_finish(self, session) -> None:  # type: ignore[no-untyped-def]
        self.collected = len(session.items)

    def pytest_collectreport(self, report) -> None:  # type: ignore[no-untyped-def]
        if report.outcome != "passed":
            self.wrong.append(f"{report.nodeid} {report.outcome}")

    def pytest_runtest_logreport(self, report) -> None:  # type: ignore[no-untyped-def]
        if report.outcome != "passed":
            self.wrong.append(f"{report.nodeid} {report.outcome}")
        elif report.when == "call":
            self.passed += 1


def run_tests(checks: str, files: list[str]) -> dict[str, object]:
    """What became of the tests below a folder."""
    try:
        import pytest  # noqa: PLC0415
    except ImportError:
        return {"missing": True}
    installed = [point.value.partition(":")[0] for point in metadata.entry_points(group="pytest11")]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # from here on plugins of the workspace would be found, too
    sys.path += [checks, os.getcwd()]
    tally = TestTally()
    plugins = [word for name in dict.fromkeys(installed) for word in ("-p", name)]
    steady = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull, "-o", "addopts="]
    places = [os.path.join(checks, file) for file in files]
    code = pytest.main([*steady, *plugins, "--rootdir", checks, "--confcutdir", checks, *places], plugins=[tally])
    return {"code": int(code), "collected": tally.collected, "passed": tally.passed, "wrong": tally.wrong[:10]}


def main() -> None:
    word = sys.stdin.readline().strip()
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    out = os.dup(1)
    found = run_tests(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    os.write(out, f"\n{word} {json.dumps(found)}\n".encode())
    os._exit(0)  # nothing that the code under test left for the end may speak after this


if __name__ == "__main__":
    main()
