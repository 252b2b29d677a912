"""Programs whose flags decide, git's subcommands and inline scripts: what a table of names cannot say."""

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from assay.sessions.shell.commands import find_flag_value, find_operand_places, has_flag, list_operands
from assay.sessions.shell.rules import NO_EFFECT, Effect, to_effect

_SED_IN_PLACE = re.compile(r"-[nErsuz]*i|--in-place")
_PERL_IN_PLACE = re.compile(r"-[a-hj-zA-Z0]*i")
_TAR_EXTRACT = re.compile(r"-?[a-zA-Z]*x[a-zA-Z]*$")
_TAR_CREATE = re.compile(r"-?[a-zA-Z]*[cru][a-zA-Z]*$")
_CHANGING_METHOD = re.compile(r"POST|PUT|PATCH|DELETE", re.IGNORECASE)
_GRAPHQL_WRITE = re.compile(r"\bmutation\b")
_SQL_WRITE = (
    r"(?i)\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|update\s+\S+\s+set|delete\s+from|truncate|merge\s+into|vacuum"
    r"|(?:drop|alter|create)\s+(?:or\s+replace\s+)?(?:table|index|view|database|schema|user|role|extension|trigger"
    r"|function|type|sequence|temp|unique|materialized)|grant|revoke|copy\s+\S+\s+from)\b"
)
_MONGO_WRITE = re.compile(r"\.(?:insert|update|delete|remove|drop|replace|create|bulkWrite)\w*\(")
_SCRIPT_WRITE = (
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
_CLOUD_READS = re.compile(
    r"(?:describe|list|get|ls|show|wait|help|tail|batch-get|head|lookup|view|info|print|search|read)"
)
_CLOUD_WRITES = re.compile(
    r"(?:create|delete|put|update|cp|mv|rm|sync|mb|rb|run|start|stop|terminate|deploy|add|remove|set|send|publish|invoke"
    r"|apply|enable|disable|attach|detach|modify|reboot|tag|untag|import|restore|register)(?:-|$)"
)
_FILE = re.compile(r"\.$|\./|.*[^/.]\.[A-Za-z]\w{0,5}$")
_compile = cache(re.compile)
"""For patterns that take long to compile and are seldom needed."""
_CHANGES_REPOSITORY: Final = Effect(mutates=True)
_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})


def judge_sed(args: list[str]) -> Effect:
    """In place or not; the first operand is the script unless a flag gave it."""
    if not any(_SED_IN_PLACE.match(word) for word in args):
        return NO_EFFECT
    # BSD's `-i ''` leaves an empty word behind.
    rest = [word for word in list_operands(args, {"-e", "-f", "--expression", "--file"}) if word]
    scripted = has_flag(args, {"-e", "-f", "--expression", "--file"})
    return to_effect(rest if scripted else rest[1:])


def judge_perl(args: list[str], stdin: str) -> Effect:
    """`perl -pi -e`, or a script on the command line."""
    if any(_PERL_IN_PLACE.match(word) for word in args if not word.startswith("-M")):
        return to_effect(
            list_operands(args, {"-e", "-E", "-pe", "-pie", "-ne", "-i"} | {w for w in args if w[-1:] == "e"})
        )
    return judge_inline_script(args, stdin)


def judge_tar(args: list[str]) -> Effect:
    """Extracting and creating write; listing does not."""
    if not args:
        return NO_EFFECT
    target = find_flag_value(args, {"-C", "--directory"})
    if _TAR_EXTRACT.match(args[0]) or has_flag(args, {"-x", "--extract", "--get"}):
        return to_effect([target] if target else [])
    if _TAR_CREATE.match(args[0]) or has_flag(args, {"-c", "--create"}):
        archive = find_flag_value(args, {"-f", "--file"}) or next((w for w in args[1:2] if not w.startswith("-")), "")
        return NO_EFFECT if archive in ("-", "") else to_effect([archive])
    return NO_EFFECT


def judge_curl(args: list[str]) -> Effect:
    """It changes something when it sends, or saves to a file."""
    method = find_flag_value(args, {"-X", "--request"})
    sends = has_flag(
        args, {"-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-T"}
    )
    if _CHANGING_METHOD.match(method) or (sends and method.upper() not in ("GET", "HEAD")):
        return Effect(mutates=True)
    if target := find_flag_value(args, {"-o", "--output"}):
        return to_effect([target])
    return Effect(mutates=True) if has_flag(args, {"-O", "--remote-name", "--upload-file"}) else NO_EFFECT


def judge_wget(args: list[str]) -> Effect:
    """It saves a file unless told to print or only to look."""
    target = find_flag_value(args, {"-O", "--output-document"}) or next(
        (w[3:] for w in args if w.startswith("-qO")), ""
    )
    if target == "-" or has_flag(args, {"--spider"}) or "-qO-" in args or "-O-" in args:
        return NO_EFFECT
    return to_effect([target]) if target else Effect(mutates=True)


def judge_dd(args: list[str]) -> Effect:
    """`of=` names what it writes."""
    return to_effect([target]) if (target := next((w[3:] for w in args if w.startswith("of=")), "")) else NO_EFFECT


def judge_find(args: list[str]) -> Effect:
    """Only `-delete` and `-fprint` write by themselves."""
    if "-delete" not in args:
        return NO_EFFECT
    roots = tuple(args[: next((i for i, word in enumerate(args) if word[:1] in "-(!"), len(args))])
    return Effect(mutates=True, touched=roots)


def judge_gh(args: list[str]) -> Effect | None:
    """`gh api` sends when it has fields or a method; a graphql query only looks."""
    if args[:1] != ["api"]:
        return None
    rest = args[1:]
    method = find_flag_value(rest, {"-X", "--method"})
    if method:
        return Effect(None, _CHANGING_METHOD.match(method) is not None)
    fields = has_flag(rest, {"-f", "-F", "--field", "--raw-field", "--input"})
    if "graphql" in rest:
        return Effect(None, any(_GRAPHQL_WRITE.search(word) for word in rest))
    return Effect(None, fields)


def judge_sql(args: list[str], stdin: str) -> Effect:
    """Any argument or input that holds a writing statement."""
    return Effect(None, any(_compile(_SQL_WRITE).search(text) for text in (*args, stdin)))


def judge_mongo(args: list[str], stdin: str) -> Effect:
    """A call of a writing method in the script."""
    return Effect(None, any(_MONGO_WRITE.search(text) for text in (*args, stdin)))


def judge_inline_script(args: list[str], stdin: str) -> Effect:
    """A script on the command line or on stdin: whether it evidently writes files."""
    script = find_flag_value(args, {"-c", "-e", "-E", "-r", "--eval", "-p", "-pe", "-ne"})
    if not script and "eval" in args[:1]:
        script = " ".join(args[1:])
    if not script and (not list_operands(args) or "-" in args):
        script = stdin
    found = list(_compile(_SCRIPT_WRITE).finditer(script))
    if not found:
        return NO_EFFECT
    named = [match["opened"] or match["path"] or match["file"] for match in found]
    return to_effect([path for path in named if path]) if all(named) else Effect(mutates=True)


def judge_node(args: list[str], stdin: str) -> Effect:
    """`node --test` runs tests; else a script is judged."""
    return Effect("test") if has_flag(args, {"--test"}) else judge_inline_script(args, stdin)


def judge_ruby(args: list[str], stdin: str) -> Effect:
    """`ruby -Itest …` is how minitest is run."""
    is_test = any(word.startswith("-I") and ("test" in word or "spec" in word) for word in args)
    return Effect("test") if is_test or (args[:1] == ["-I"] and "test" in args) else judge_inline_script(args, stdin)


def judge_deno(args: list[str], stdin: str) -> Effect | None:
    """Only `deno eval` is judged here; other subcommands are in the table."""
    return judge_inline_script(args, stdin) if args[:1] == ["eval"] else None


def judge_php(args: list[str], stdin: str) -> Effect:
    """`php -l` checks syntax."""
    return Effect("lint") if "-l" in args else judge_inline_script(args, stdin)


def judge_cloud(args: list[str]) -> Effect:
    """`aws s3 cp`, `gcloud run deploy`: the first verb among the operands decides."""
    for word in list_operands(args, {"--profile", "--region", "--project", "--output", "--format", "--query"})[:5]:
        if _CLOUD_READS.match(word):
            return NO_EFFECT
        if _CLOUD_WRITES.match(word):
            return Effect(mutates=True)
    return NO_EFFECT


# --- git ------------------------------------------------------------------------------------


def judge_checkout(args: list[str]) -> Effect:
    """Of paths it is a restore; of a branch it moves the work tree; of one side of a merge it settles a conflict."""
    if has_flag(args, {"--ours", "--theirs"}):
        return to_effect([one for one in list_operands(args) if one != "--"])
    if "--" in args:
        return to_effect(args[args.index("--") + 1 :], "restore") if args[-1] != "--" else _CHANGES_REPOSITORY
    if has_flag(args, {"-b", "-B", "--orphan", "--detach", "-t", "--track"}):
        return _CHANGES_REPOSITORY
    found = list_operands(args)
    if len(found) > 1:
        return to_effect(found[1:] if not _FILE.match(found[0]) else found, "restore")
    return to_effect(found, "restore") if found and _FILE.match(found[0]) else _CHANGES_REPOSITORY


def judge_stash(args: list[str]) -> Effect:
    """Every stash changes something, save looking at it."""
    return NO_EFFECT if args[:1] in (["list"], ["show"]) else _CHANGES_REPOSITORY


def judge_reset(args: list[str]) -> Effect:
    """Only a hard reset throws work away."""
    return Effect("reset" if "--hard" in args else None, mutates=True)


def judge_revert(args: list[str]) -> Effect:
    """Leaving a revert is not one."""
    return Effect(None if has_flag(args, {"--abort", "--quit", "--skip"}) else "revert", mutates=True)


def judge_tag(args: list[str]) -> Effect:
    """Naming a tag makes it, unless tags are listed or checked."""
    looks = has_flag(args, {"-l", "--list", "-v", "--verify", "--contains", "--points-at", "--merged", "--sort", "-n"})
    return NO_EFFECT if looks or not list_operands(args) else _CHANGES_REPOSITORY


def judge_branch(args: list[str]) -> Effect:
    """Naming a branch makes it, unless branches are listed."""
    if has_flag(args, {"-d", "-D", "-m", "-M", "-c", "-C", "-u", "--delete", "--move", "--copy", "--set-upstream-to"}):
        return _CHANGES_REPOSITORY
    looks = {"-a", "-r", "-l", "-v", "--list", "--all", "--contains", "--merged", "--no-merged", "--show-current"}
    return (
        NO_EFFECT
        if has_flag(args, looks | {"--points-at", "--sort", "--format"}) or not list_operands(args)
        else _CHANGES_REPOSITORY
    )


def judge_config(args: list[str]) -> Effect:
    """A name reads, a name and a value write."""
    if has_flag(
        args, {"--unset", "--unset-all", "--add", "--replace-all", "--remove-section", "--rename-section", "-e"}
    ):
        return _CHANGES_REPOSITORY
    if has_flag(args, {"--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch"}):
        return NO_EFFECT
    found = list_operands(args, {"-f", "--file", "--type", "--default"})
    if found[:1] in (["get"], ["list"]):
        return NO_EFFECT
    return _CHANGES_REPOSITORY if len(found) > 1 else NO_EFFECT


def judge_push(args: list[str]) -> Effect:
    """A dry run sends nothing."""
    return NO_EFFECT if has_flag(args, {"-n", "--dry-run"}) else Effect("push", mutates=True)


GIT_JUDGES: Final[dict[str, Callable[[list[str]], Effect]]] = {
    "checkout": judge_checkout,
    "stash": judge_stash,
    "reset": judge_reset,
    "revert": judge_revert,
    "tag": judge_tag,
    "branch": judge_branch,
    "config": judge_config,
    "push": judge_push,
}


def judge_git(args: list[str]) -> Effect | None:
    """The effect of the subcommands above; `None` for those in the table."""
    place = next(find_operand_places(args, _VALUES), None)
    if place is None:
        return NO_EFFECT
    judge = GIT_JUDGES.get(args[place])
    return judge(args[place + 1 :]) if judge else None


# --- who judges which program ---------------------------------------------------------------

# By their arguments alone.
PROGRAM_JUDGES: Final[dict[str, Callable[[list[str]], Effect | None]]] = {
    "git": judge_git,
    "sed": judge_sed,
    "tar": judge_tar,
    "bsdtar": judge_tar,
    "curl": judge_curl,
    "wget": judge_wget,
    "dd": judge_dd,
    "find": judge_find,
    "gh": judge_gh,
    "aws": judge_cloud,
    "gcloud": judge_cloud,
}

# By their arguments and what they are fed on stdin.
STDIN_JUDGES: Final[dict[str, Callable[[list[str], str], Effect | None]]] = {
    "perl": judge_perl,
    "psql": judge_sql,
    "mongosh": judge_mongo,
    "python": judge_inline_script,
    "node": judge_node,
    "ruby": judge_ruby,
    "php": judge_php,
    "deno": judge_deno,
    "Rscript": judge_inline_script,
    "julia": judge_inline_script,
}
