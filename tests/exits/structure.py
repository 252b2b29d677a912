"""Rules about where in the source something may be done, each with the few files that may and why."""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.house import list_nodes

SRC = Path(__file__).parents[2] / "src" / "assay"
NETWORK = frozenset(
    "anthropic openai httpx httpx2 requests urllib.request urllib3 http.client socket ssl smtplib ftplib telnetlib "
    "aiohttp websockets xmlrpc".split()
)
STARTS = frozenset({"system", "popen", "posix_spawn", "fork", "execv", "execve", "execvp", "spawnv"})
WRITES = frozenset({"write_bytes", "write_text", "NamedTemporaryFile", "TemporaryFile", "mkstemp", "mkdtemp"})
TRANSCRIPTS = frozenset({"Turn", "Stream", "Part"})


class Rule(NamedTuple):
    """What is looked for, and in which files or folders it may stand, with the reason."""

    finds: Callable[[ast.AST], bool]
    allowed: Mapping[str, str]


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an expression; nothing for others."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def last(node: ast.AST) -> str:
    """The name that is called."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)


def modules(node: ast.AST) -> Iterator[str]:
    """What a node imports, also by name at run time."""
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{one.name}" for one in node.names)
    elif last(node) in ("import_module", "__import__", "import_sdk"):
        given: ast.AST | None = node.args[0] if isinstance(node, ast.Call) and node.args else None
        given = given.values[0] if isinstance(given, ast.JoinedStr) else given
        yield str(given.value) if isinstance(given, ast.Constant) else "?"


def imports(*wanted: str) -> Callable[[ast.AST], bool]:
    return lambda node: any(one == name or one.startswith(f"{name}.") for one in modules(node) for name in wanted)


def decodes(node: ast.AST) -> bool:
    """Decodes, or takes the decoder of, what is kept of a transcript's words."""
    if last(node) in ("Decoder", "decode", "convert"):
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if names & {"Turn", "Stream"}:
            return True
    return any(
        one in ("assay.pipeline.scan_worker.DECODE", "assay.pipeline.scan_worker.decode_pieces")
        for one in modules(node)
    )


def lists_streams(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("list_streams", "load_stream", "list_skips", "list_recent")
        and dotted(node.func.value).split(".")[-1] in ("transcripts", "work", "self")
    )


def says(node: ast.AST) -> bool:
    is_stream = isinstance(node, ast.Attribute) and dotted(node) in ("sys.stdout", "sys.stderr", "sys.__stdout__")
    return last(node) == "print" or is_stream or imports("logging", "warnings", "syslog", "rich.console.Console")(node)


def writes(node: ast.AST) -> bool:
    if last(node) in WRITES:
        return True
    if last(node) != "open" or not isinstance(node, ast.Call):
        return False
    is_os = dotted(node.func) == "os.open"
    modes = [one.value for one in [*node.args, *(key.value for key in node.keywords)] if isinstance(one, ast.Constant)]
    return is_os or any(isinstance(mode, str) and set(mode) & set("wax+") and len(mode) < 4 for mode in modes)


def starts(node: ast.AST) -> bool:
    run = last(node)
    is_os = isinstance(node, ast.Call) and dotted(node.func).startswith("os.") and run in STARTS
    return is_os or run.startswith("create_subprocess") or imports("subprocess", "pty")(node)


RULES: dict[str, Rule] = {
    "kept turns are decoded": Rule(
        decodes,
        {
            "pipeline/scan_worker.py": "establishes facts while it scans, and hands pieces to privacy",
            "pipeline/privacy.py": "the one step: what it hands out is redacted",
            "pipeline/usage.py": "counts tokens and time: no word of a turn comes out",
        },
    ),
    "kept summaries, pieces and skips are fetched": Rule(
        lists_streams,
        {
            "pipeline/doctor.py": "counts streams; skips go through privacy.redact_skips",
            "pipeline/live.py": "names and numbers of streams; names are redacted",
            "pipeline/places.py": "through privacy.redact_summary",
            "pipeline/telling.py": "a method of its own that is called so: places of streams, none of their words",
            "pipeline/scan.py": "establishes facts of streams; counts kinds of skips, without their particulars",
            "pipeline/sources_compared.py": "names and numbers of streams; ids through redact_comparison",
            "pipeline/usage.py": "names folders, redacted, and counts",
            "pipeline/store_care.py": "takes names of streams alone, to forget their words",
            "pipeline/graded_runs.py": "names, agents and files of streams; `assay import` redacts them",
            "pipeline/langfuse_upload.py": "names and agents of streams; their words through privacy.redact_stream",
            "cli/streams.py": "through privacy.redact_summary and privacy.redact_skips",
            "cli/show.py": "through privacy.redact_summary and privacy.redact_stream",
        },
    ),
    "words are declared clean": Rule(
        lambda node: last(node) == "CleanText",
        {
            "sessions/redaction": "that is its task",
            "judges/model/prompt_files.py": "words of our own prompts",
            "llm/client.py": "our own guidance",
            "llm/contract.py": "no guidance",
            "langfuse/mapping.py": "names of a profile's dimensions",
            "langfuse/scores.py": "no comment",
        },
    ),
    "the network is used": Rule(
        imports(*NETWORK), {"llm": "models", "http.py": "services", "langfuse": "scores that are clean, through http",
        "testing": "servers on the loopback, for tests",
        "server/connections.py": "listens; what is answered are documents, made where commands make theirs",
        "evals/sandbox/proxy_inside.py": "an agent's own way to its service",
        "evals/sandbox/proxy.py": "the sandbox's side of it"}
    ),
    "modules are imported by a name that is not written there": Rule(
        imports("?"),
        { "__init__.py": "lazily, our own", "llm/wire.py": "SDKs",
         "sessions/redaction/finder.py": "engines", "lake/parquet.py": "pyarrow and duckdb"},
    ),
    "programs are started": Rule(
        starts, {"git/runner.py": "git", "llm/claude_cli.py": "claude", "evals": "agents, checks and gh",
        "agents/checkup.py": "our own hook, and claude for its version",
        "cli/door.py": "the status line that was there before ours, and our next look",
        "server/workers.py": "assay work, beside a server"}
    ),
    "something is printed or logged": Rule(
        says,
        {
            "cli": "the only room that speaks",
            "evals/sandbox/pytest_inside.py": "a check's own process; what it says is redacted in evals/running",
            "pipeline/cluster.py": "says nothing itself: what Ray prints of its nodes goes beside a command's answer",
        },
    ),
    "files are written": Rule(
        writes,
        {
            "testing": "what a test makes up",
            "files.py": "reports (-o), runs, and pulled sessions, each whole or not at all",
            "cli/eval_run.py": "a .gitignore beside the runs",
            "evals": "runs and tasks, for their owner; what is told of them is redacted in evals/running/evaluation",
            "cli/program.py": "the null device",
            "cli/door.py": "an empty file that says when a look was begun",
            "cli/asked_before.py": "a pointer, opened to be read",
            "listing.py": "folders, opened to be listed",
            "stores": "the store, for its owner alone",
            "git/repo.py": "ids of commits, in a file without a name",
            "lake/partitions.py": "rows of sessions as they were told, and of turns as privacy hands them out",
        },
    ),
}  # fmt: skip


def broken(rule: Rule, tree: ast.AST) -> list[int]:
    """Lines that do what the rule is about."""
    return [getattr(node, "lineno", 0) for node in list_nodes(tree) if rule.finds(node)]


def allowed(rule: Rule, path: str) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in rule.allowed)
