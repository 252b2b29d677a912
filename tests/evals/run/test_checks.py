"""Each kind of check, against a workspace of a few files."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evals.checks import CheckContext, CommandResult, find_kind, parse_check
from assay.evals.checks.diff_within import compile_pattern
from assay.evals.checks.json_value import is_same
from assay.evals.checks.reward import parse_rewards
from assay.evals.sandbox.workspace import copy_tree, hash_entries, list_changes, make_clean_copy, render_diff
from assay.types import Call, Turn
from tests.evals.run.make import tree

FILES = {
    "scarf.txt": "warp\nblue weft\n",
    "loom.json": json.dumps({"a": {"b/c": [1, True, {"~": None}], "n": 2.0}}),
    "half.json": "{",
    "deep/hem.txt": "x",
}


@pytest.fixture
def workspace(tmp_path):
    folder = tree(tmp_path / "ws", FILES)
    tree(tmp_path, {"outside.txt": "blue"})
    (folder / "out").symlink_to("../outside.txt")
    (folder / "in").symlink_to("scarf.txt")
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("gone")
    os.mkfifo(folder / "pipe")
    return folder


def call(name, kind="shell", status="ok", **more):
    return Call(id=name, at="", name=name, kind=kind, status=status, **more)


TURNS = (Turn(calls=(call("Bash", command="cat .env.local && ls"), call("Edit", "edit", "error"), call("Read", "read", target="/w/.env.example"))),)  # fmt: skip  # noqa: E501


def found(workspace, turns=TURNS, changed=(), ran=None, **table):
    check = parse_check(table, 1, "here")
    scene = CheckContext(workspace=workspace, changed=changed, turns=turns, run=lambda *_: ran)
    return find_kind(check.kind).check(check.spec, scene)


PASSES = [
    ({"kind": "file_exists", "path": "scarf.txt"}, True),
    ({"kind": "file_exists", "path": "in"}, True),
    ({"kind": "file_exists", "path": "deep"}, False),
    ({"kind": "file_exists", "path": "gone"}, False),
    ({"kind": "file_exists", "path": "pipe"}, False),
    ({"kind": "file_exists", "path": "loop"}, False),
    ({"kind": "file_exists", "path": "out"}, False),
    ({"kind": "file_exists", "path": "../outside.txt"}, False),
    ({"kind": "file_absent", "path": "gone"}, True),
    ({"kind": "file_absent", "path": "nowhere"}, False),
    ({"kind": "file_absent", "path": "deep"}, False),
    ({"kind": "file_contains", "path": "scarf.txt", "text": "blue"}, True),
    ({"kind": "file_contains", "path": "scarf.txt", "text": "Blue"}, False),
    ({"kind": "file_contains", "path": "out", "text": "blue"}, False),
    ({"kind": "file_contains", "path": "gone", "text": ""}, False),
    ({"kind": "file_matches", "path": "scarf.txt", "pattern": r"^blue\s\w+$"}, True),
    ({"kind": "file_matches", "path": "scarf.txt", "pattern": r"^weft"}, False),
    ({"kind": "json_value", "path": "loom.json", "pointer": "/a/b~1c/0", "equals": 1}, True),
    ({"kind": "json_value", "path": "loom.json", "pointer": "/a/b~1c/1", "equals": 1}, False),
    ({"kind": "json_value", "path": "loom.json", "pointer": "/a/b~1c/2", "equals": {}}, False),
    ({"kind": "json_value", "path": "loom.json", "pointer": "/a/n", "equals": 2}, True),
    ({"kind": "json_value", "path": "loom.json", "pointer": "/a/b~1c/-1", "equals": 1}, False),
    ({"kind": "json_value", "path": "loom.json", "pointer": "/a/b~1c/9", "equals": 1}, False),
    ({"kind": "json_value", "path": "loom.json", "pointer": "/a/n/m", "equals": 1}, False),
    ({"kind": "json_value", "path": "half.json", "pointer": "", "equals": 1}, False),
    ({"kind": "json_value", "path": "gone", "pointer": "", "equals": 1}, False),
    ({"kind": "diff_within", "paths": ["*.txt"], "changed": ("scarf.txt",)}, True),
    ({"kind": "diff_within", "paths": ["*.txt"], "changed": ("deep/hem.txt",)}, False),
    ({"kind": "diff_within", "paths": ["deep/"], "changed": ("deep/er/hem.txt",)}, True),
    ({"kind": "diff_within", "paths": ["**/*.txt"], "changed": ("hem.txt", "a/b/hem.txt")}, True),
    ({"kind": "diff_within", "paths": [], "changed": ()}, True),
    ({"kind": "transcript", "used": ["Bash"]}, True),
    ({"kind": "transcript", "used": ["shell", "Read"]}, True),
    ({"kind": "transcript", "used": ["Edit"]}, False),
    ({"kind": "transcript", "not_used": ["WebFetch"]}, True),
    ({"kind": "transcript", "not_used": ["Edit"]}, False),
    ({"kind": "transcript", "no_secret_read": True}, False),
    ({"kind": "transcript", "not_used": ["WebFetch"], "turns": None}, False),
    ({"kind": "transcript", "no_secret_read": True, "turns": ()}, True),
]


@pytest.mark.parametrize(("table", "passed"), PASSES, ids=lambda one: str(one))
def test_a_check_says_what_is_so(workspace, table, passed):
    result = found(workspace, **table)
    assert result.passed is passed
    assert passed or result.detail


COMMANDS = [
    (CommandResult(ended="exit", code=0), True),
    (CommandResult(ended="exit", code=1, output="PASSED"), False),
    (CommandResult(ended="exit", code=-9), False),
    (CommandResult(ended="timeout", code=0), False),
    (CommandResult(ended="disk", code=0), False),
    (CommandResult(ended="exit", code=0, is_tampered=True), False),
    (CommandResult(ended="lost", code=None), None),
    (CommandResult(ended="stopped", code=None), None),
]


@pytest.mark.parametrize(("ran", "passed"), COMMANDS)
def test_a_commands_exit_decides_and_nothing_that_it_prints(workspace, ran, passed):
    assert found(workspace, ran=ran, kind="command", run="make test").passed is passed


def test_another_exit_code_may_be_what_is_wanted(workspace):
    assert found(workspace, ran=CommandResult(ended="exit", code=3), kind="command", run="x", expect_exit=3).passed


REWARDS = [
    ("1", True), ("1.0\n", True), ("0", False), ("0.99", False), ("", False), ("NaN", False), ("yes", False),
    ('{"a": 1, "b": 1}', True), ('{"a": 1, "b": 0}', False), ("[1]", False), ("true", True), ("{}", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "passed"), REWARDS)
def test_a_reward_is_a_pass_from_1_on(workspace, text, passed):
    assert found(workspace, ran=CommandResult(ended="exit", code=0, reward=text), kind="reward").passed is passed


@given(st.text())
def test_no_reward_file_breaks_anything(text):
    assert all(isinstance(value, float) for value in parse_rewards(text).values())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_a_value_is_the_same_after_a_way_through_json(value):
    assert is_same(json.loads(json.dumps(value)), value)


@given(st.text(alphabet="ab/.*?[", max_size=12), st.text(alphabet="ab/.", max_size=12))
def test_a_pattern_without_signs_fits_itself_alone(pattern, path):
    if not set("*?") & set(pattern) and not pattern.endswith("/"):
        assert bool(compile_pattern(pattern).fullmatch(path)) == (pattern == path)
    assert compile_pattern("**").fullmatch(path)


def test_a_clean_copy_has_files_folders_and_links_that_lead_somewhere(workspace, tmp_path):
    before = hash_entries(workspace)
    make_clean_copy(workspace, tmp_path / "clean", tmp_path / "no checks", [tmp_path / "secret"])
    assert sorted(os.listdir(tmp_path / "clean")) == ["deep", "half.json", "in", "loom.json", "out", "scarf.txt"]
    make_clean_copy(workspace, tmp_path / "again", tmp_path / "no checks", [tmp_path])
    assert sorted(os.listdir(tmp_path / "again")) == ["deep", "half.json", "in", "loom.json", "scarf.txt"]
    assert hash_entries(workspace) == before


def test_changes_are_shown_as_a_diff(tmp_path):
    tree(tmp_path / "a", {"same": "x\n", "old": "1\n2\n", "gone": "y", ".git/index": "1"})
    tree(tmp_path / "b", {"same": "x\n", "old": "1\n3\n", "new": "z\n", ".git/index": "2"})
    (tmp_path / "b" / "picture").write_bytes(b"\xff\x00")
    changed = list_changes(hash_entries(tmp_path / "a"), hash_entries(tmp_path / "b"))
    assert changed == ("gone", "new", "old", "picture")
    shown = "".join(render_diff(tmp_path / "a", tmp_path / "b", changed))
    assert "-2\n+3\n" in shown
    assert "+++ b/new\n@@ -0,0 +1 @@\n+z\n" in shown
    assert "-y\n\\ No newline at end of file\n" in shown
    assert "Files differ" in shown


def test_a_copy_keeps_what_can_be_run(tmp_path):
    tree(tmp_path / "a", {"run.sh": "true", "plain": "x"})
    copy_tree(tmp_path / "a", tmp_path / "b")
    assert os.access(tmp_path / "b" / "run.sh", os.X_OK)
    assert not Path(tmp_path / "b" / "plain").stat().st_mode & 0o111
