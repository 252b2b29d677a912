"""Tool calls of a rollout, and the later records that say how they ended."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct, field

from assay.sources.codex.outputs import CommandOutput, ToolOutput, parse_output, split_results, to_status
from assay.sources.codex.records import hash_parts, list_texts, parse_json, to_integer
from assay.sources.codex.tools import (
    CallDraft,
    has_exit_codes,
    is_same_file,
    parse_changes,
    parse_shell_command,
)
from assay.types import Call, CallStatus, Edit, Event, Mark, Result
from assay.types.tools import clip_label
from assay.types.value import to_table, to_text

TAIL = 8000
"""Characters kept of what a running command has said so far."""

_PR = re.compile(r"(?P<url>https://[^\s\"'<>()\\]+/(?:pull|merge_requests)/\d+)")
_PR_LINE = re.compile(rf"^\s*{_PR.pattern}\s*$", re.MULTILINE)
_PR_TOOL = re.compile(r"create_(?:pull_request|pr|merge_request)$")


class EventContext(NamedTuple):
    """When, in which turn and by whom something is done, and where its events go."""

    at: str
    of: int
    by: str
    emit: Callable[[Event], None]


class EmittedCall(Struct, array_like=True):
    """A call that was emitted, as far as later records refer to it."""

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


class PendingCall(Struct, array_like=True):
    """One call of the rollout: usually one emitted call, for a script as many as were found in it."""

    name: str
    parts: list[EmittedCall]
    is_script: bool = False
    says_exit: bool = False
    is_over: bool = False


class RunningCommand(Struct, array_like=True):
    """A shell command that went on in the background."""

    id: str
    makes_pr: bool
    heard: str


class CallLedger(Struct):
    """All calls of one rollout that later records may speak of."""

    pending: dict[str, PendingCall] = field(default_factory=dict)
    sessions: dict[str, RunningCommand] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    prs: list[str] = field(default_factory=list)

    def forget_ended(self) -> None:
        """Drop calls that are over: in a new turn no record refers to them."""
        self.pending = {call: one for call, one in self.pending.items() if not one.is_over}

    def open_call(
        self, context: EventContext, call_id: str, drafts: list[CallDraft], script: str | None = None
    ) -> None:
        """Emit a call, or the calls found in a script."""
        parts: list[EmittedCall] = []
        for number, one in enumerate(drafts, 1):
            part = EmittedCall(
                id=call_id if number == 1 else f"{call_id}#{number}",
                kind=one.kind,
                is_edit=bool(one.edits) or one.kind == "edit",
                makes_pr=one.makes_pr,
                paths=[edit.path for edit in one.edits],
                mark=hash_parts(one.command) if one.command else 0,
                session=one.session,
            )
            parts.append(part)
            context.emit(_build_call(context, part.id, one))
        name = drafts[0].name if script is None else "exec"
        says = script is not None and has_exit_codes(script)
        self.pending[call_id] = PendingCall(name, parts, script is not None, says)

    def read_output(self, context: EventContext, call_id: str, output: Any) -> None:
        """Emit what the record that answers a call says."""
        pending = self.pending.get(call_id)
        if pending is None:
            return
        said = parse_output(output)
        pending.is_over = not said.cell
        if pending.is_script:
            self.end_script(context, call_id, pending, said)
            return
        part = pending.parts[0]
        if pending.name == "wait":
            self.end_wait(context, part, said)
        elif part.session:
            self.end_input(context, part, CommandOutput(said.text, said.exit_code, said.session), said.status)
        else:
            if said.session:
                self.sessions[said.session] = RunningCommand(part.id, part.makes_pr, said.text[-TAIL:])
            self.end_call(context, part, said, _find_agent(said.text) if part.kind == "agent" else "")

    def end_call(self, context: EventContext, part: EmittedCall, said: ToolOutput, agent: str = "") -> None:
        """Emit how a call ended, unless an end event has done so."""
        if part.is_told:
            return
        edits = () if part.is_edit and said.status != "ok" else None
        code = said.exit_code
        context.emit(
            Result(
                id=part.id,
                at=context.at,
                status=said.status,
                output=said.text,
                exit_code=code,
                edits=edits,
                agent=agent,
            )
        )
        if part.makes_pr and said.status == "ok":
            self.mark_pr(context, said.text)

    def end_input(
        self, context: EventContext, part: EmittedCall, piece: CommandOutput, status: CallStatus = "ok"
    ) -> None:
        """The answer to `write_stdin`, perhaps with the end of the command it was sent to."""
        owner = self.sessions.get(part.session)
        if owner is None:
            self.end_call(context, part, ToolOutput(status=status, text=piece.text, exit_code=piece.exit_code))
            return
        if not part.is_told:
            calm: CallStatus = "ok" if piece.exit_code is not None else status
            context.emit(Result(id=part.id, at=context.at, status=calm, output=piece.text))
        if piece.exit_code is None and (status != "ok" or not piece.text):
            return
        owner.heard = (owner.heard + piece.text)[-TAIL:]
        if piece.exit_code is not None:
            self.sessions.pop(part.session, None)
        # Scripts seldom print the exit code, so what a command says last may be all that tells how it went.
        said = ToolOutput(status=to_status(piece.exit_code), text=owner.heard, exit_code=piece.exit_code)
        self.end_call(context, EmittedCall(id=owner.id, kind="shell", makes_pr=owner.makes_pr), said)

    def end_wait(self, context: EventContext, part: EmittedCall, said: ToolOutput) -> None:
        """`wait` brings the output of a script that was left running."""
        context.emit(Result(id=part.id, at=context.at, status="ok" if said.blocks else said.status, output=said.text))
        owner = self.cells.get(part.session, "")
        pending = self.pending.get(owner)
        if pending is None or said.cell:
            return
        self.cells.pop(part.session, None)
        pending.is_over = True
        self.end_script(context, owner, pending, said)

    def end_script(self, context: EventContext, call_id: str, pending: PendingCall, said: ToolOutput) -> None:
        """A script's output: shared out among its commands where that can be told, else given to each."""
        if said.cell:
            self.cells[said.cell] = call_id
        commands = [part for part in pending.parts if part.kind == "shell" or part.session]
        printed = split_results(said.blocks) if pending.says_exit or '"chunk_id"' in said.text else []
        is_shared = bool(commands) and len(printed) == len(commands) and said.status == "ok" and not said.cell
        if not is_shared and len(commands) == 1:
            printed = [_merge_outputs(said)]
            is_shared = said.status == "ok"
        for part in pending.parts:
            if part in commands and is_shared:
                self.end_command(context, part, printed[commands.index(part)])
            else:
                self.end_call(context, part, ToolOutput(status=said.status, text=said.text))

    def end_command(self, context: EventContext, part: EmittedCall, piece: CommandOutput) -> None:
        """The end of one command of a script, with what was printed of it."""
        if part.session:
            self.end_input(context, part, piece)
            return
        if piece.session and piece.exit_code is None:
            self.sessions[piece.session] = RunningCommand(part.id, part.makes_pr, piece.text[-TAIL:])
        said = ToolOutput(status=to_status(piece.exit_code), text=piece.text, exit_code=piece.exit_code)
        self.end_call(context, part, said)

    def end_patch(self, context: EventContext, call_id: str, changes: Any, status: CallStatus, text: str) -> None:
        """The client's own report of a patch; it knows the lines better than the patch's text."""
        if not call_id:
            return
        edits = parse_changes(changes)
        part = self.find_edit(call_id, edits)
        if part is None:
            part = EmittedCall(id=call_id, kind="edit", is_edit=True)
            target = edits[0].path if edits else ""
            context.emit(_build_call(context, call_id, CallDraft("apply_patch", "edit", target=target, edits=edits)))
            self.pending[call_id] = PendingCall("apply_patch", [part], is_over=True)
        # A patch through the shell still has its exit code to come.
        part.is_told = part.kind == "edit"
        done = edits if status == "ok" else ()
        context.emit(Result(id=part.id, at=context.at, status=status, output=text, edits=done))

    def find_edit(self, call_id: str, edits: tuple[Edit, ...]) -> EmittedCall | None:
        """The call that a patch report belongs to; patches inside a script have ids of their own."""
        if pending := self.pending.get(call_id):
            return pending.parts[0]
        open_edits = [part for part in self.list_script_calls() if part.is_edit]
        for part in open_edits:
            if any(is_same_file(edit.path, path) for edit in edits for path in part.paths):
                return part
        return open_edits[0] if len(open_edits) == 1 else None

    def list_script_calls(self) -> list[EmittedCall]:
        """Calls of running scripts of which no end event has spoken, those of the latest script first."""
        return [
            part
            for pending in reversed(self.pending.values())
            if pending.is_script and not pending.is_over
            for part in pending.parts
            if not part.is_told
        ]

    def end_shell(self, context: EventContext, call_id: str, ended: dict[str, Any]) -> None:
        """The client's own report of a command, with its exit code and whole output."""
        if not call_id:
            return
        command, dialect = parse_shell_command(ended.get("command"))
        pending = self.pending.get(call_id)
        part = pending.parts[0] if pending is not None else self.find_command(command)
        if part is None:
            if to_text(ended.get("source")).lower().replace("_", "") == "usershell":
                return
            made = CallDraft("exec_command", "shell", command=command, dialect=dialect)
            self.open_call(context, call_id, [made])
            self.pending[call_id].is_over = True
            part = self.pending[call_id].parts[0]
        code = to_integer(ended.get("exit_code"))
        text = to_text(ended.get("aggregated_output")) or to_text(ended.get("stdout")) + to_text(ended.get("stderr"))
        status = _REPORTED.get(to_text(ended.get("status")), "ok") if code is None else to_status(code)
        self.end_call(context, part, ToolOutput(status=status, text=text, exit_code=code))
        part.is_told = True
        self.sessions = {name: one for name, one in self.sessions.items() if one.id != part.id}

    def find_command(self, command: str) -> EmittedCall | None:
        """The command of a running script that an end event with an id of its own speaks of."""
        shells = [part for part in self.list_script_calls() if part.kind == "shell"]
        mark = hash_parts(command)
        return next((part for part in shells if part.mark == mark), shells[0] if len(shells) == 1 else None)

    def end_mcp(self, context: EventContext, call_id: str, invocation: dict[str, Any], result: Any) -> None:
        """The end of an MCP tool; called inside a script it has no call record."""
        if not call_id:
            return
        server, tool = to_text(invocation.get("server")), to_text(invocation.get("tool"))
        pending = self.pending.get(call_id)
        if pending is None:
            self.open_call(context, call_id, [CallDraft(f"mcp__{server}__{tool}", "mcp", target=tool)])
            pending = self.pending[call_id]
        pending.is_over = True
        part = pending.parts[0]
        given = to_table(result)
        good = to_table(given.get("Ok") or given.get("ok"))
        is_bad = not good or good.get("isError") is True
        text = "\n".join(list_texts(good.get("content"))) or to_text(given.get("Err"))
        structured = good.get("structuredContent")
        self.end_call(context, part, ToolOutput(status="error" if is_bad else "ok", text=text))
        part.is_told = True
        if not is_bad and _PR_TOOL.search(tool):
            self.mark_pr(context, f"{to_text(to_table(structured).get('url'))} {text}")

    def end_spawn(self, context: EventContext, call_id: str, thread: str) -> None:
        """The thread that `spawn_agent` started."""
        pending = self.pending.get(call_id)
        if pending is not None and thread:
            part = next((one for one in pending.parts if one.kind == "agent"), pending.parts[0])
            context.emit(Result(id=part.id, at=context.at, status="ok", agent=thread))

    def mark_pr(self, context: EventContext, text: str) -> None:
        """Emit a mark for a pull request that was opened, once."""
        found = _PR_LINE.search(text) or _PR.search(text)
        if found is None or found["url"] in self.prs or "already exists" in text[: found.start()][-200:]:
            return
        self.prs.append(found["url"])
        context.emit(Mark(kind="pr", at=context.at, detail=found["url"]))


_REPORTED: dict[str, CallStatus] = {"failed": "error", "declined": "rejected", "interrupted": "interrupted"}


def parse_status(value: Any, otherwise: CallStatus = "ok") -> CallStatus:
    """The status of a call in the client's own words."""
    return _REPORTED.get(to_text(value), otherwise)


def _build_call(context: EventContext, id: str, one: CallDraft) -> Call:
    return Call(
        id=id,
        at=context.at,
        name=one.name,
        of=context.of,
        kind=one.kind,
        target=clip_label(one.target) if one.kind != "edit" else one.target,
        command=one.command,
        dialect=one.dialect,
        edits=one.edits,
        by=context.by,
    )


def _merge_outputs(said: ToolOutput) -> CommandOutput:
    """The output of a script's single command, though the script printed more than once."""
    printed = split_results(said.blocks)
    codes = {piece.exit_code for piece in printed if piece.exit_code is not None}
    sessions = [piece.session for piece in printed if piece.session]
    code = codes.pop() if len(codes) == 1 and not sessions else None
    if not sessions:
        return CommandOutput(text=said.text, exit_code=code)
    # The line that names the session is the script's own; what the command says next goes on behind its last words.
    return CommandOutput(text="\n".join(piece.text for piece in printed), session=sessions[-1])


def _find_agent(text: str) -> str:
    """The thread id in the output of `spawn_agent`."""
    given = to_table(parse_json(text))
    return to_text(given.get("agent_id")) or to_text(given.get("new_thread_id")) or to_text(given.get("thread_id"))
