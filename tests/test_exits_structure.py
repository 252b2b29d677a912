"""No exit is reachable but through one step: few files may let words out, and every command is in the table."""

import ast
from functools import cache

from assay.cli.output import FORMATS
from assay.cli.quality import FORMATS as QUALITY_FORMATS
from assay.scores.breakdown import WAYS
from tests.exits.leaving import EXITS, commands
from tests.exits.structure import RULES, SRC, allowed, broken
from tests.house import parse_text
from tests.tables import each_row


@cache
def trees() -> dict[str, ast.AST]:
    files = sorted(SRC.rglob("*.py"))
    return {file.relative_to(SRC).as_posix(): parse_text(file.read_text("utf-8")) for file in files}


@cache
def doing(name: str) -> dict[str, list[int]]:
    """Files that do what a rule is about, and in which lines."""
    return {path: found for path, tree in trees().items() if (found := broken(RULES[name], tree))}


@each_row("name", RULES)
def test_only_few_files_may(name: str):
    assert not {path: lines for path, lines in doing(name).items() if not allowed(RULES[name], path)}


@each_row("name", RULES)
def test_every_file_that_may_does(name: str):
    does = doing(name)
    assert not [
        one for one in RULES[name].allowed if not any(path == one or path.startswith(f"{one}/") for path in does)
    ]


PLANTED = {
    "kept turns are decoded": [
        "turns = msgspec.msgpack.Decoder(Turn).decode", "msgspec.msgpack.decode(body, type=Turn)",
        "msgspec.msgpack.decode(body, type=tuple[Turn, ...])", "from assay.pipeline.scan_worker import DECODE",
        "from assay.pipeline.scan_worker import decode_pieces",
    ],
    "kept summaries, pieces and skips are fetched": [
        "titles = [one.title for one in store.transcripts.list_streams(roots)]",
        "found.store.transcripts.list_streams(None, prefix=prefix)",
        "self.store.transcripts.load_stream(agent, id)", "opened.transcripts.list_skips(roots)",
    ],
    "words are declared clean": ["CleanText(prompt.text)", "types.CleanText(text)", "map(str, [CleanText(x)])"],
    "the network is used": [
        "import httpx", "from urllib.request import urlopen", "import urllib.request as u", "import socket, os",
        "importlib.import_module('requests')", "__import__('smtplib')", "from http import client",
        "def f():\n    import ssl",
    ],
    "modules are imported by a name that is not written there": ["importlib.import_module(name)"],
    "programs are started": [
        "import subprocess", "from subprocess import run", "os.system('curl')", "os.popen('x')",
        "await asyncio.create_subprocess_exec('x')", "os.execve(p, a, e)",
    ],
    "something is printed or logged": [
        "print(turn)", "import logging", "from logging import getLogger", "import warnings", "sys.stderr.write(x)",
        "from rich.console import Console",
    ],
    "files are written": [
        "Path(x).write_text(words)", "open(x, 'w')", "path.open('ab')", "open(x, mode='x')", "os.open(x, flags)",
        "tempfile.mkstemp()", "io.open(p, 'r+')",
    ],
}  # fmt: skip


@each_row(("name", "source"), [(name, one) for name, some in PLANTED.items() for one in some])
def test_a_rule_finds_what_breaks_it(name: str, source: str):
    assert broken(RULES[name], ast.parse(source))
    assert PLANTED.keys() == RULES.keys()


@each_row(
    "source",
    [
        "import urllib.parse", "text.find('x')", "open(path, 'rb')", "path.open('rb', buffering=0)",
        "path.read_text('utf-8')", "ENCODE = msgspec.msgpack.Encoder().encode", "def show(turn: Turn): ...",
        "importlib.import_module('assay.llm')", "importlib.import_module(f'assay.{kind}')",
    ],
)  # fmt: skip
def test_a_rule_finds_nothing_else(source: str):
    assert not [name for name, rule in RULES.items() if broken(rule, ast.parse(source))]


def test_the_table_of_exits_is_whole():
    there = dict(commands())
    assert there.keys() == EXITS.keys()
    told = {name: {word for words in some for word in words.split()} for name, some in EXITS.items()}
    assert not {name: flags - told[name] for name, flags in there.items() if flags - told[name]}
    assert {f"{{top}}/out{ending}" for ending in FORMATS} | set(WAYS) <= told["score"]
    assert {f"{{top}}/out-quality{ending}" for ending in QUALITY_FORMATS} <= told["quality"]
