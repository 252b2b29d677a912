"""Calls that were made, and the records that later say how they ended."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct, field

from assay.sources.codex.keys import key
from assay.sources.codex.outputs import Outcome, Piece, outcome, pieces, status_of
from assay.sources.codex.patches import in_changes, same_file
from assay.sources.codex.records import decoded, table, texts, whole, word
from assay.sources.codex.tools import Draft, label, says_exit, shell_text
from assay.types import Call, CallStatus, Edit, Event, Mark, Result

TAIL = 8000
"""Characters kept of what a running command has said so far."""

_PR = re.compile(r"(?P<url>https://[^\s\"'<>()\\]+/(?:pull|merge_requests)/\d+)")
_PR_LINE = re.compile(rf"^\s*{_PR.pattern}\s*$", re.MULTILINE)
_PR_TOOL = re.compile(r"create_(?:pull_request|pr|merge_request)$")


class Scene(NamedTuple):
    """When, in which turn and by whom something is done."""

    at: str
    of: int
    by: str
    emit: Callable[[Event], None]


class Part(Struct, array_like=True):
    """One emitted call."""

    id: str
    kind: str
    is_edit: bool = False
    makes_pr: bool = False
    paths: list[str] = []
    mark: int = 0
    """Hash of its command, to know it again."""
    session: str = ""
    is_told: bool = False
    """An end event has said how it ended; the output can only repeat it, cut."""


class Pending(Struct, array_like=True):
    """One call of the rollout: usually one part, for a script as many as were dug out."""

    name: str
    parts: list[Part]
    is_script: bool = False
    says_exit: bool = False
    is_over: bool = False


class Running(Struct, array_like=True):
    """A command that went on in the background."""

    id: str
    makes_pr: bool
    heard: str


class Ledger(Struct):
    """State of all calls of one rollout."""

    pending: dict[str, Pending] = field(default_factory=dict)
    sessions: dict[str, Running] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    prs: list[str] = field(default_factory=list)

    def forget(self) -> None:
        """A new turn: no record will refer to calls that are over."""
        self.pending = {call: one for call, one in self.pending.items() if not one.is_over}

    def open(self, scene: Scene, call_id: str, drafts: list[Draft], script: str | None = None) -> None:
        """Emit a call, or the calls dug out of a script."""
        parts: list[Part] = []
        for number, one in enumerate(drafts, 1):
            part = Part(
                id=call_id if number == 1 else f"{call_id}#{number}",
                kind=one.kind,
                is_edit=bool(one.edits) or one.kind == "edit",
                makes_pr=one.makes_pr,
                paths=[edit.path for edit in one.edits],
                mark=key(one.command) if one.command else 0,
                session=one.session,
            )
            parts.append(part)
            scene.emit(_call(scene, part.id, one))
        name = drafts[0].name if script is None else "exec"
        says = script is not None and says_exit(script)
        self.pending[call_id] = Pending(name, parts, script is not None, says)

    def output(self, scene: Scene, call_id: str, output: Any) -> None:
        """The record that answers a call."""
        pending = self.pending.get(call_id)
        if pending is None:
            return
        said = outcome(output)
        pending.is_over = not said.cell
        if pending.is_script:
            self.end_script(scene, call_id, pending, said)
            return
        part = pending.parts[0]
        if pending.name == "wait":
            self.end_wait(scene, part, said)
        elif part.session:
            self.end_input(scene, part, Piece(said.text, said.exit_code, said.session), said.status)
        else:
            if said.session:
                self.sessions[said.session] = Running(part.id, part.makes_pr, said.text[-TAIL:])
            self.end(scene, part, said, _agent(said.text) if part.kind == "agent" else "")

    def end(self, scene: Scene, part: Part, said: Outcome, agent: str = "") -> None:
        """Emit how a call ended, unless an end event has done so."""
        if part.is_told:
            return
        edits = () if part.is_edit and said.status != "ok" else None
        code = said.exit_code
        scene.emit(
            Result(
                id=part.id, at=scene.at, status=said.status, output=said.text, exit_code=code, edits=edits, agent=agent
            )
        )
        if part.makes_pr and said.status == "ok":
            self.find_pr(scene, said.text)

    def end_input(self, scene: Scene, part: Part, piece: Piece, status: CallStatus = "ok") -> None:
        """The answer to `write_stdin`: perhaps the end of the command it was sent to."""
        owner = self.sessions.get(part.session)
        if owner is None:
            self.end(scene, part, Outcome(status=status, text=piece.text, exit_code=piece.exit_code))
            return
        if not part.is_told:
            calm: CallStatus = "ok" if piece.exit_code is not None else status
            scene.emit(Result(id=part.id, at=scene.at, status=calm, output=piece.text))
        if piece.exit_code is None and (status != "ok" or not piece.text):
            return
        owner.heard = (owner.heard + piece.text)[-TAIL:]
        if piece.exit_code is not None:
            self.sessions.pop(part.session, None)
        # Scripts seldom print the exit code, so what a command says last may be all that tells how it went.
        said = Outcome(status=status_of(piece.exit_code), text=owner.heard, exit_code=piece.exit_code)
        self.end(scene, Part(id=owner.id, kind="shell", makes_pr=owner.makes_pr), said)

    def end_wait(self, scene: Scene, part: Part, said: Outcome) -> None:
        """`wait` brings the output of a script that was left running."""
        scene.emit(Result(id=part.id, at=scene.at, status="ok" if said.blocks else said.status, output=said.text))
        owner = self.cells.get(part.session, "")
        pending = self.pending.get(owner)
        if pending is None or said.cell:
            return
        self.cells.pop(part.session, None)
        pending.is_over = True
        self.end_script(scene, owner, pending, said)

    def end_script(self, scene: Scene, call_id: str, pending: Pending, said: Outcome) -> None:
        """A script's output belongs to all its commands, or is shared out where it can be told."""
        if said.cell:
            self.cells[said.cell] = call_id
        commands = [part for part in pending.parts if part.kind == "shell" or part.session]
        printed = pieces(said.blocks) if pending.says_exit or '"chunk_id"' in said.text else []
        is_shared = bool(commands) and len(printed) == len(commands) and said.status == "ok" and not said.cell
        if not is_shared and len(commands) == 1:
            printed = [_only_piece(said)]
            is_shared = said.status == "ok"
        for part in pending.parts:
            if part in commands and is_shared:
                self.end_command(scene, part, printed[commands.index(part)])
            else:
                self.end(scene, part, Outcome(status=said.status, text=said.text))

    def end_command(self, scene: Scene, part: Part, piece: Piece) -> None:
        """One command of a script, with what was printed of it."""
        if part.session:
            self.end_input(scene, part, piece)
            return
        if piece.session and piece.exit_code is None:
            self.sessions[piece.session] = Running(part.id, part.makes_pr, piece.text[-TAIL:])
        said = Outcome(status=status_of(piece.exit_code), text=piece.text, exit_code=piece.exit_code)
        self.end(scene, part, said)

    def end_patch(self, scene: Scene, call_id: str, changes: Any, status: CallStatus, text: str) -> None:
        """The client's own report of a patch; it knows the lines better than the patch's text."""
        if not call_id:
            return
        edits = in_changes(changes)
        part = self.edit_part(call_id, edits)
        if part is None:
            part = Part(id=call_id, kind="edit", is_edit=True)
            target = edits[0].path if edits else ""
            scene.emit(_call(scene, call_id, Draft("apply_patch", "edit", target=target, edits=edits)))
            self.pending[call_id] = Pending("apply_patch", [part], is_over=True)
        # A patch through the shell still has its exit code to come.
        part.is_told = part.kind == "edit"
        done = edits if status == "ok" else ()
        scene.emit(Result(id=part.id, at=scene.at, status=status, output=text, edits=done))

    def edit_part(self, call_id: str, edits: tuple[Edit, ...]) -> Part | None:
        """The call a patch report belongs to; patches inside a script have ids of their own."""
        if pending := self.pending.get(call_id):
            return pending.parts[0]
        open_edits = [part for part in self.script_parts() if part.is_edit]
        for part in open_edits:
            if any(same_file(edit.path, path) for edit in edits for path in part.paths):
                return part
        return open_edits[0] if len(open_edits) == 1 else None

    def script_parts(self) -> list[Part]:
        """Parts of running scripts of which no end event has spoken, those of the latest script first."""
        return [
            part
            for pending in reversed(self.pending.values())
            if pending.is_script and not pending.is_over
            for part in pending.parts
            if not part.is_told
        ]

    def end_shell(self, scene: Scene, call_id: str, ended: dict[str, Any]) -> None:
        """The client's own report of a command, with its exit code and whole output."""
        if not call_id:
            return
        command, dialect = shell_text(ended.get("command"))
        pending = self.pending.get(call_id)
        part = pending.parts[0] if pending is not None else self.shell_part(command)
        if part is None:
            if word(ended.get("source")).lower().replace("_", "") == "usershell":
                return
            made = Draft("exec_command", "shell", command=command, dialect=dialect)
            self.open(scene, call_id, [made])
            self.pending[call_id].is_over = True
            part = self.pending[call_id].parts[0]
        code = whole(ended.get("exit_code"))
        text = word(ended.get("aggregated_output")) or word(ended.get("stdout")) + word(ended.get("stderr"))
        status = _REPORTED.get(word(ended.get("status")), "ok") if code is None else status_of(code)
        self.end(scene, part, Outcome(status=status, text=text, exit_code=code))
        part.is_told = True
        self.sessions = {name: one for name, one in self.sessions.items() if one.id != part.id}

    def shell_part(self, command: str) -> Part | None:
        """The command of a running script that an end event with an id of its own speaks of."""
        shells = [part for part in self.script_parts() if part.kind == "shell"]
        mark = key(command)
        return next((part for part in shells if part.mark == mark), shells[0] if len(shells) == 1 else None)

    def end_mcp(self, scene: Scene, call_id: str, invocation: dict[str, Any], result: Any) -> None:
        """An MCP tool's end; called inside a script it has no call record."""
        if not call_id:
            return
        server, tool = word(invocation.get("server")), word(invocation.get("tool"))
        pending = self.pending.get(call_id)
        if pending is None:
            self.open(scene, call_id, [Draft(f"mcp__{server}__{tool}", "mcp", target=tool)])
            pending = self.pending[call_id]
        pending.is_over = True
        part = pending.parts[0]
        given = table(result)
        good = table(given.get("Ok") or given.get("ok"))
        is_bad = not good or good.get("isError") is True
        text = "\n".join(texts(good.get("content"))) or word(given.get("Err"))
        structured = good.get("structuredContent")
        self.end(scene, part, Outcome(status="error" if is_bad else "ok", text=text))
        part.is_told = True
        if not is_bad and _PR_TOOL.search(tool):
            self.find_pr(scene, f"{word(table(structured).get('url'))} {text}")

    def end_spawn(self, scene: Scene, call_id: str, thread: str) -> None:
        """The id of the thread that `spawn_agent` started."""
        pending = self.pending.get(call_id)
        if pending is not None and thread:
            part = next((one for one in pending.parts if one.kind == "agent"), pending.parts[0])
            scene.emit(Result(id=part.id, at=scene.at, status="ok", agent=thread))

    def find_pr(self, scene: Scene, text: str) -> None:
        """Tell of a pull request that was opened."""
        found = _PR_LINE.search(text) or _PR.search(text)
        if found is None or found["url"] in self.prs or "already exists" in text[: found.start()][-200:]:
            return
        self.prs.append(found["url"])
        scene.emit(Mark(kind="pr", at=scene.at, detail=found["url"]))


_REPORTED: dict[str, CallStatus] = {"failed": "error", "declined": "rejected", "interrupted": "interrupted"}


def reported_status(value: Any, otherwise: CallStatus = "ok") -> CallStatus:
    """A status in the client's own words."""
    return _REPORTED.get(word(value), otherwise)


def _call(scene: Scene, id: str, one: Draft) -> Call:
    return Call(
        id=id,
        at=scene.at,
        name=one.name,
        of=scene.of,
        kind=one.kind,
        target=label(one.target) if one.kind != "edit" else one.target,
        command=one.command,
        dialect=one.dialect,
        edits=one.edits,
        by=scene.by,
    )


def _only_piece(said: Outcome) -> Piece:
    """What the single command of a script gave, though more than one thing was printed."""
    printed = pieces(said.blocks)
    codes = {piece.exit_code for piece in printed if piece.exit_code is not None}
    sessions = [piece.session for piece in printed if piece.session]
    code = codes.pop() if len(codes) == 1 and not sessions else None
    if not sessions:
        return Piece(text=said.text, exit_code=code)
    # The line that names the session is the script's own; what the command says next goes on behind its last words.
    return Piece(text="\n".join(piece.text for piece in printed), session=sessions[-1])


def _agent(text: str) -> str:
    """The thread id in the output of `spawn_agent`."""
    given = table(decoded(text))
    return word(given.get("agent_id")) or word(given.get("new_thread_id")) or word(given.get("thread_id"))
