"""A hundred secrets as people leave them lying about, in every place that holds words, leave by no exit."""

from collections.abc import Iterator

import pytest

from assay.testing.models import ModelServer
from tests.exits.leaving import Place, reply
from tests.exits.planting import claude_code, codex
from tests.exits.pulled import Langfuse, hooked, native, proxied
from tests.sessions.redaction_hundred import left, rows

ROWS = list(rows())
FOUND = [one for one in ROWS if not one.missed]
NAMED = next(one for one in FOUND if one.kind == "file name, token=").text.split("/")[-1].removesuffix(".json")
AT_ONCE = 3


class Hundred:
    """Plants some of them in every place, all in turn."""

    def __init__(self) -> None:
        self.at = 0
        self.planted: set[str] = set()

    def __call__(self, place: str, *, named: bool) -> str:
        if named:
            return NAMED if place.endswith((" path", " branch")) else "plain"
        some = [ROWS[(self.at + n) % len(ROWS)] for n in range(AT_ONCE)]
        self.at += AT_ONCE
        self.planted |= {one.kind for one in some}
        return "\n".join(one.text for one in some)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    top = tmp_path_factory.mktemp("hundred")
    plant = Hundred()
    claude_code(top / "in" / "a", "/work/loom", plant)
    codex(top / "in" / "b", "/work/till", plant)
    assert plant.planted == {one.kind for one in ROWS}
    with Langfuse(*hooked("/work/loom", plant), *proxied("/work/till", plant), *native(plant)) as server:
        place = Place(top, server=server)
        place.pull()
        yield place


def leaks(text: str) -> dict[str, list[str]]:
    return {one.kind: found for one in FOUND if (found := left(one, text))}


@pytest.mark.long
def test_no_exit_lets_one_of_them_through(planted: Place):
    said = planted.everything()
    assert len(said) > 40
    assert not {name: found for name, text in said.items() if name != "names of files" and (found := leaks(text))}
    assert "[redacted:" in said["what Langfuse is sent"]


def test_no_model_is_sent_one_of_them(planted: Place):
    with ModelServer(reply) as service:
        env = {"ASSAY_STORE": str(planted.top / "asked.db"), "ASSAY_MODEL_URL": service.url}
        place = Place(planted.top, env)
        ran = place.run("score", planted.top / "in", "--judge", "anthropic", "--yes", "--json")
        judged = place.run("quality", planted.top / "in", "--judge", "anthropic", "--yes", "--json")
    assert (ran.code, judged.code) == (0, 0)
    assert {one.job for one in service.calls} >= {"session", "quality"}
    assert not leaks("\n".join(str(one.body) for one in service.requests) + ran.out + judged.out)


def test_a_leak_would_be_seen():
    assert len([one for one in FOUND if leaks(f"it says {one.text} there")]) == len(FOUND)
