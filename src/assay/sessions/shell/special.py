"""Programs whose flags decide, and inline scripts: what a table of names cannot say."""

import re
from collections.abc import Callable
from typing import Final

from assay.sessions.shell.git import git
from assay.sessions.shell.verdict import NOTHING, Verdict, written
from assay.sessions.shell.words import has, operands, value

_SED_IN_PLACE = re.compile(r"-[nErsuz]*i|--in-place")
_PERL_IN_PLACE = re.compile(r"-[a-hj-zA-Z0]*i")
_TAR_EXTRACT = re.compile(r"-?[a-zA-Z]*x[a-zA-Z]*$")
_TAR_CREATE = re.compile(r"-?[a-zA-Z]*[cru][a-zA-Z]*$")
_CHANGING_METHOD = re.compile(r"POST|PUT|PATCH|DELETE", re.IGNORECASE)
_GRAPHQL_WRITE = re.compile(r"\bmutation\b")
_SQL_WRITE = re.compile(
    r"\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|update\s+\S+\s+set|delete\s+from|truncate|merge\s+into|vacuum"
    r"|(?:drop|alter|create)\s+(?:or\s+replace\s+)?(?:table|index|view|database|schema|user|role|extension|trigger"
    r"|function|type|sequence|temp|unique|materialized)|grant|revoke|copy\s+\S+\s+from)\b",
    re.IGNORECASE,
)
_MONGO_WRITE = re.compile(r"\.(?:insert|update|delete|remove|drop|replace|create|bulkWrite)\w*\(")
_SCRIPT_WRITE = re.compile(
    r"""\bopen\(\s*(?:[rbf]?["'](?P<opened>[^"']*)["']|[^,()]+(?:\([^()]*\))?)\s*,\s*(?:mode\s*=\s*)?["'][rb]*[wax][bt+]*["']"""
    r"""|(?:Path\(\s*["'](?P<path>[^"']*)["']\s*\))?\.(?:write_text|write_bytes|unlink|touch|rmdir|mkdir|rename)\("""
    r"""|\bshutil\.(?:copy\w*|move|rmtree|make_archive|unpack_archive)\("""
    r"""|\bos\.(?:remove|unlink|rename|replace|makedirs|mkdir|rmdir|removedirs|symlink|chmod|truncate|system)\("""
    r"""|\b(?:writeFile|appendFile|copyFile|outputFile|outputJson|writeJson)(?:Sync)?\(\s*(?:["'`](?P<file>[^"'`]*)["'`])?"""
    r"""|\bfs(?:Promises|\.promises)?\.(?:unlink|rm|rmdir|mkdir|rename|symlink|truncate|chmod|cp|createWriteStream)\w*\("""
    r"""|\bFile\.(?:write|delete|rename|binwrite|unlink)\b|\bFileUtils\.|\bIO\.write\b|\bBun\.write\("""
    r"""|\bDeno\.(?:write|remove|rename|mkdir|copy)\w*\(|\bfile_put_contents\(|\bunlink\(|\[(?:System\.)?IO\.File\]::Write"""
    r"""|\b(?:json|yaml|pickle|toml)\.dump\(|\.to_(?:csv|json|parquet|excel)\(\s*["']|\.savefig\(|fileinput\.\w+\([^)]*inplace"""
)


def sed(args: list[str]) -> Verdict:
    """In place or not; the first operand is the script unless a flag gave it."""
    if not any(_SED_IN_PLACE.match(word) for word in args):
        return NOTHING
    # BSD's `-i ''` leaves an empty word behind.
    rest = [word for word in operands(args, {"-e", "-f", "--expression", "--file"}) if word]
    scripted = has(args, {"-e", "-f", "--expression", "--file"})
    return written(rest if scripted else rest[1:])


def perl(args: list[str], stdin: str) -> Verdict:
    """`perl -pi -e`, or a script on the command line."""
    if any(_PERL_IN_PLACE.match(word) for word in args if not word.startswith("-M")):
        return written(operands(args, {"-e", "-E", "-pe", "-pie", "-ne", "-i"} | {w for w in args if w[-1:] == "e"}))
    return inline(args, stdin)


def tar(args: list[str]) -> Verdict:
    """Extracting and creating write; listing does not."""
    if not args:
        return NOTHING
    target = value(args, {"-C", "--directory"})
    if _TAR_EXTRACT.match(args[0]) or has(args, {"-x", "--extract", "--get"}):
        return written([target] if target else [])
    if _TAR_CREATE.match(args[0]) or has(args, {"-c", "--create"}):
        archive = value(args, {"-f", "--file"}) or next((w for w in args[1:2] if not w.startswith("-")), "")
        return NOTHING if archive in ("-", "") else written([archive])
    return NOTHING


def curl(args: list[str]) -> Verdict:
    """It changes something when it sends, or saves to a file."""
    method = value(args, {"-X", "--request"})
    sends = has(
        args, {"-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-T"}
    )
    if _CHANGING_METHOD.match(method) or (sends and method.upper() not in ("GET", "HEAD")):
        return Verdict(mutates=True)
    if target := value(args, {"-o", "--output"}):
        return written([target])
    return Verdict(mutates=True) if has(args, {"-O", "--remote-name", "--upload-file"}) else NOTHING


def wget(args: list[str]) -> Verdict:
    """It saves a file unless told to print or only to look."""
    target = value(args, {"-O", "--output-document"}) or next((w[3:] for w in args if w.startswith("-qO")), "")
    if target == "-" or has(args, {"--spider"}) or "-qO-" in args or "-O-" in args:
        return NOTHING
    return written([target]) if target else Verdict(mutates=True)


def dd(args: list[str]) -> Verdict:
    """`of=` names what it writes."""
    return written([target]) if (target := next((w[3:] for w in args if w.startswith("of=")), "")) else NOTHING


def find(args: list[str]) -> Verdict:
    """Only `-delete` and `-fprint` write by themselves."""
    if "-delete" not in args:
        return NOTHING
    roots = tuple(args[: next((i for i, word in enumerate(args) if word[:1] in "-(!"), len(args))])
    return Verdict(mutates=True, touched=roots)


def gh(args: list[str]) -> Verdict | None:
    """`gh api` sends when it has fields or a method; a graphql query only looks."""
    if args[:1] != ["api"]:
        return None
    rest = args[1:]
    method = value(rest, {"-X", "--method"})
    if method:
        return Verdict(None, _CHANGING_METHOD.match(method) is not None)
    fields = has(rest, {"-f", "-F", "--field", "--raw-field", "--input"})
    if "graphql" in rest:
        return Verdict(None, any(_GRAPHQL_WRITE.search(word) for word in rest))
    return Verdict(None, fields)


def sql(args: list[str], stdin: str) -> Verdict:
    """Any argument or input that holds a writing statement."""
    return Verdict(None, any(_SQL_WRITE.search(text) for text in (*args, stdin)))


def mongo(args: list[str], stdin: str) -> Verdict:
    """A call of a writing method in the script."""
    return Verdict(None, any(_MONGO_WRITE.search(text) for text in (*args, stdin)))


def inline(args: list[str], stdin: str) -> Verdict:
    """A script on the command line or on stdin: does it evidently write files?"""
    script = value(args, {"-c", "-e", "-E", "-r", "--eval", "-p", "-pe", "-ne"})
    if not script and "eval" in args[:1]:
        script = " ".join(args[1:])
    if not script and (not operands(args) or "-" in args):
        script = stdin
    found = list(_SCRIPT_WRITE.finditer(script))
    if not found:
        return NOTHING
    named = [match["opened"] or match["path"] or match["file"] for match in found]
    return written([path for path in named if path]) if all(named) else Verdict(mutates=True)


def node(args: list[str], stdin: str) -> Verdict:
    """Node runs tests of its own."""
    return Verdict("test") if has(args, {"--test"}) else inline(args, stdin)


def ruby(args: list[str], stdin: str) -> Verdict:
    """`ruby -Itest …` is how minitest is run."""
    is_test = any(word.startswith("-I") and ("test" in word or "spec" in word) for word in args)
    return Verdict("test") if is_test or (args[:1] == ["-I"] and "test" in args) else inline(args, stdin)


def deno(args: list[str], stdin: str) -> Verdict | None:
    """Its subcommands are in the table."""
    return inline(args, stdin) if args[:1] == ["eval"] else None


def php(args: list[str], stdin: str) -> Verdict:
    """`php -l` checks syntax."""
    return Verdict("lint") if "-l" in args else inline(args, stdin)


_CLOUD_READS = re.compile(
    r"(?:describe|list|get|ls|show|wait|help|tail|batch-get|head|lookup|view|info|print|search|read)"
)
_CLOUD_WRITES = re.compile(
    r"(?:create|delete|put|update|cp|mv|rm|sync|mb|rb|run|start|stop|terminate|deploy|add|remove|set|send|publish|invoke"
    r"|apply|enable|disable|attach|detach|modify|reboot|tag|untag|import|restore|register)(?:-|$)"
)


def cloud(args: list[str]) -> Verdict:
    """`aws s3 cp`, `gcloud run deploy`: the first verb among the operands decides."""
    for word in operands(args, {"--profile", "--region", "--project", "--output", "--format", "--query"})[:5]:
        if _CLOUD_READS.match(word):
            return NOTHING
        if _CLOUD_WRITES.match(word):
            return Verdict(mutates=True)
    return NOTHING


# By their arguments alone.
JUDGES: Final[dict[str, Callable[[list[str]], Verdict | None]]] = {
    "git": git,
    "sed": sed,
    "tar": tar,
    "bsdtar": tar,
    "curl": curl,
    "wget": wget,
    "dd": dd,
    "find": find,
    "gh": gh,
    "aws": cloud,
    "gcloud": cloud,
}

# By their arguments and what they are fed on stdin.
FED_JUDGES: Final[dict[str, Callable[[list[str], str], Verdict | None]]] = {
    "perl": perl,
    "psql": sql,
    "mongosh": mongo,
    "python": inline,
    "node": node,
    "ruby": ruby,
    "php": php,
    "deno": deno,
    "Rscript": inline,
    "julia": inline,
}
