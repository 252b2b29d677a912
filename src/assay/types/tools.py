"""What a tool call is about, for agents whose tools are like others': by the tool's name and what it was given."""

import re
from typing import Any

from assay.types.edits import PATCH, build_block_edit, build_text_edit, build_whole_edit, parse_patch
from assay.types.events import Call, CallKind, Edit
from assay.types.value import to_list, to_table, to_text

_WORDS: dict[CallKind, str] = {
    "shell": "bash shell run_shell_command execute_command run_command run_commands run_terminal_cmd execute_bash "
    "run_terminal_command run_terminal_command_v2 run_in_terminal terminal powershell local_shell bash_command "
    "write_bash",
    "edit": "write write_file write_to_file create create_file edit edit_file edit_file_v2 replace replace_in_file "
    "apply_diff insert_content search_and_replace search_replace str_replace str_replace_editor multiedit multi_edit "
    "str_replace_based_edit_tool apply_patch editor insert patch delete_file edit_notebook text_editor",
    "read": "read read_file read_file_v2 read_files read_many_files view view_file list_directory list_dir list_dir_v2 "
    "ls list_files read_bash open",
    "search": "grep grep_search glob glob_file_search search_file_content search_files find codebase_search "
    "file_search ripgrep_raw_search rg list_code_definition_names search_file find_file search_dir",
    "agent": "task agent new_task use_subagents subagent",
    "plan": "exit_plan_mode enter_plan_mode plan_mode_respond plan_exit create_plan",
    "todo": "todowrite todoread todo_write update_todo_list write_todos update_plan save_memory update_todo",
    "ask": "ask_followup_question ask_user question ask_user_question ask_question",
    "web": "web_fetch webfetch google_web_search web_search websearch browser_action fetch fetch_web_content",
    "skill": "skill use_skill activate_skill skills",
}
KINDS: dict[str, CallKind] = {word: kind for kind, words in _WORDS.items() for word in words.split()}
PATHS = "file_path filePath absolute_path path target_file targetFile relativeWorkspacePath notebook_path fileName"
OLD = "old_string oldString oldText old_str old_text"
NEW = "new_string newString newText new_str new_text"
WHOLE = "content file_text contents"
TARGETS = "pattern query regex url uri description skill name prompt question task result directory dir_path command"
LONGEST_LABEL = 200
"""Targets are labels; the whole text of an order to a sub-agent is not one."""
LAST_WORD = re.compile(r"[\w+/=.~%:@-]+\Z", re.ASCII)


def find_kind(name: str) -> CallKind:
    """The kind of a tool by its name."""
    if name.startswith("mcp_") or name in ("use_mcp_tool", "access_mcp_resource"):
        return "mcp"
    return KINDS.get(name.lower()) or "other"


def describe_call(name: str, given: Any) -> Call:
    """A call with what its tool was given; who made it and when is for the source to say."""
    kind, told = find_kind(name), to_table(given)
    edits = list_edits(given) if kind == "edit" else ()
    if kind == "edit" and to_text(told.get("command")) == "view":
        kind, edits = "read", ()  # some editors can show, too
    target = pick_text(told, PATHS) or (edits[0].path if edits else "")
    parts = ("offset", "limit", "view_range", "start_line", "end_line", "line_range")
    return Call(
        id="",
        at="",
        name=name,
        kind=kind,
        target="" if kind == "shell" else target or clip_label(pick_text(told, TARGETS)),
        is_partial=kind == "read" and any(told.get(part) is not None for part in parts),
        command=find_command(given) if kind == "shell" else "",
        dialect="powershell" if name.lower() == "powershell" else "bash",
        edits=edits,
    )


def find_command(given: Any) -> str:
    """The text that a shell was given."""
    told = to_table(given)
    found = told.get("command") or told.get("cmd") or told.get("commands") or told.get("keystrokes") or given
    if isinstance(found, list):
        words = [to_text(one) or to_text(to_table(one).get("command")) for one in found]
        return "\n".join(filter(None, words))
    return to_text(found)


def list_edits(given: Any) -> tuple[Edit, ...]:
    """The edits that a call asks for."""
    told = to_table(given)
    patch = to_text(given) or pick_text(told, "input patch patchText patch_text diff")
    if PATCH in patch:
        return parse_patch(patch)
    path = pick_text(told, PATHS)
    if diff := to_text(told.get("diff")):
        return tuple(build_block_edit(path, diff))
    whole, old, new = pick_text(told, WHOLE), pick_text(told, OLD), pick_text(told, NEW)
    pairs = [(pick_text(to_table(one), OLD), pick_text(to_table(one), NEW)) for one in to_list(told.get("edits"))]
    if not pairs and not old and (whole or new):
        return tuple(build_whole_edit(path, whole or new))
    return tuple(build_text_edit(path, pairs or [(old, new)]))


def pick_text(told: dict[str, Any], names: str) -> str:
    """The first of these fields that has words."""
    return next((found for name in names.split() if (found := to_text(told.get(name)))), "")


def clip_label(text: str) -> str:
    """How a text begins, without the word in which it is cut: half a secret is no longer known for one."""
    return text if len(text) <= LONGEST_LABEL else LAST_WORD.sub("", text[:LONGEST_LABEL])
