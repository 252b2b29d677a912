"""Evidence leads to the trace and the observation in which its words stand."""

from collections.abc import Callable
from pathlib import Path

from assay.langfuse import EvidenceMap, pull_sessions
from assay.testing.observations import build_call, build_hook_turn, build_step
from tests.langfuse.conftest import client_of
from tests.langfuse.contract import CheckedServer

Make = Callable[..., CheckedServer]
TURNS = [
    *build_hook_turn(1, "Why do the threads break?", reply="The tension is wrong, I think."),
    *build_hook_turn(
        2,
        "Mend it",
        build_step(build_call("a", "Bash", "Exit code 1\n1 failed: test_tension", command="pytest -q")),
        reply="Mended, at last.",
    ),
]
ROOTS = [row for row in TURNS if row["isRootObservation"]]


def test_words_are_found_in_the_observation_that_holds_them(make: Make, tmp_path: Path):
    standin = make()
    standin.observations = TURNS
    client = client_of(standin)
    path = Path(pull_sessions(client, tmp_path, ["s1"]).pulled[0].path)
    found = EvidenceMap(client, path, [row["startTime"] for row in ROOTS])
    tool = next(row for row in TURNS if row["type"] == "TOOL")
    cases = {
        (1, "the threads  break"): ROOTS[0],
        (2, "1 failed: test_tension"): tool,
        (2, "so"): ROOTS[1],
        (2, "words that nobody said"): ROOTS[1],
    }
    for (turn, quote), row in cases.items():
        place = found.locate(turn, quote)
        assert (place["trace"], place["observation"]) == (row["traceId"], row["id"]), quote
        assert place["url"] == (
            f"https://langfuse.example/project/proj1/traces/{row['traceId']}?observation={row['id']}"
        )
    assert found.locate(3, "the threads break") == found.locate(0, "the threads break") == {}
