"""What the package is built with beside its source: its phrases and tables, packed, and its man page."""

import ast
import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKERS = {"sessions/speech/phrases.py": "pack_phrases", "resources.py": "pack_tables"}
PROGRAM, MAN_PAGE = "src/assay/cli/program.py", "share/man/man1/assay.1"
HEAD = r""".TH ASSAY 1 "" "assay {version}" "User commands"
.SH NAME
assay \- tell whether coding agents' sessions land their goals
.SH SYNOPSIS
.B assay
.I COMMAND
[\fIOPTION\fR]... [\fIPATH\fR]...
.SH DESCRIPTION
Reads transcripts of Claude Code, Codex and other coding agents, on this machine, and says how many sessions landed,
how sure that is, why the others did not, and what helps.
Without a path it finds transcripts by itself.
.B assay COMMAND \-\-help
has every option of a command and an example.
.SH COMMANDS
"""
TAIL = r""".SH EXIT STATUS
.TP
.B 0
fine; of
.BR "assay eval" :
the candidate may go in
.TP
.B 1
.BR "assay eval" :
regressed or mixed
.TP
.B 2
the command line or what it names can't be used; one line on stderr says what to do
.TP
.BR 3 ", " 4 ", " 5
.BR "assay eval" :
inconclusive or neutral; invalid; stopped by its budget
.SH ENVIRONMENT
.TP
.B ASSAY_STORE
where results are kept
.TP
.B ASSAY_CONFIG
the settings file of the person, instead of the one in their configuration folder
.TP
.BI ASSAY_ NAME
any setting of
.IR assay.toml ,
such as
.B ASSAY_JUDGE
.TP
.B NO_COLOR
no colours
.SH FILES
.TP
.I assay.toml
settings, of the person and of a project
"""


class PackTables(BuildHookInterface[Any]):
    """Packs phrases and tables, so that no process has to parse them; writes the man page of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        for file, pack in PACKERS.items():
            module = runpy.run_path(str(Path(self.root) / "src" / "assay" / file))
            module["PACKED"].write_bytes(module[pack]())
            build_data["artifacts"].append(str(module["PACKED"].relative_to(self.root)))
        if self.target_name == "wheel":
            self.scratch = tempfile.TemporaryDirectory(prefix="assay-build-")  # gone when the build has ended
            page = Path(self.scratch.name) / "assay.1"
            said = render_man_page(read_panels(Path(self.root) / PROGRAM), self.metadata.version)
            page.write_text(said, "utf-8")
            build_data["shared_data"][str(page)] = MAN_PAGE


def read_panels(program: Path) -> dict[str, dict[str, str]]:
    """The commands and what each says of itself, by panel: read off the source, for nothing is installed yet."""
    for node in ast.parse(program.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PANELS":
            found: dict[str, dict[str, str]] = ast.literal_eval(node.value)
            return found
    raise ValueError(f"{program}: PANELS is not there")


def render_man_page(panels: dict[str, dict[str, str]], version: str) -> str:
    """The page `assay(1)`."""
    body = ""
    for panel, commands in panels.items():
        body += f".SS {escape(panel)}\n"
        body += "".join(f".TP\n.B {escape(name)}\n{escape(says)}\n" for name, says in commands.items())
    return HEAD.format(version=version) + body + TAIL


def escape(text: str) -> str:
    """A line that troff prints as it is."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return plain if plain[:1] not in (".", "'") else f"\\&{plain}"
