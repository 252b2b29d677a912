"""A key is set in a text and taken out again, and every other byte stays as its owner wrote it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.agents.edits import SettingEdit, apply_edits, undo_edits
from assay.agents.json_text import add_item, read_value, remove_value, set_value

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
SETTINGS = st.dictionaries(st.sampled_from(["env", "hooks", "a", "enabledPlugins", "ä"]) | st.text(max_size=4), VALUES)
STYLES = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@settings(deadline=None)
@given(SETTINGS, STYLES, st.booleans(), st.sampled_from(["", "\n", " \r\n\t"]))
def test_what_was_set_is_taken_out_so_that_the_text_is_as_before(
    told: dict[str, Any], indent: Any, is_crlf: bool, around: str
):
    text = around + json.dumps(told, indent=indent, ensure_ascii=False) + around
    text = text.replace("\n", "\r\n") if is_crlf else text
    changed = set_value(text, ("our-own-key",), {"x": [1, {"y": "z"}]})
    assert json.loads(changed) == told | {"our-own-key": {"x": [1, {"y": "z"}]}}
    back = remove_value(changed, ("our-own-key",))
    assert json.loads(back) == told
    if told:
        assert back == text


@settings(deadline=None)
@given(SETTINGS, STYLES)
def test_edits_add_nothing_but_themselves_and_leave_nothing_behind(told: dict[str, Any], indent: Any):
    told = {name: value for name, value in told.items() if name not in ("env", "hooks")}
    told |= {"env": {"A": "1"}, "hooks": {"Stop": [{"hooks": []}]}}
    text = json.dumps(told, indent=indent)
    edits = [
        SettingEdit(path=("env", "B"), value="2"),
        SettingEdit(path=("hooks", "Stop"), value={"ours": True}, is_item=True),
        SettingEdit(path=("hooks", "Start"), value={"ours": True}, is_item=True),
        SettingEdit(path=("env", "A"), value="3"),
        SettingEdit(path=("deep", "down", "here"), value=[]),
    ]
    changed, made = apply_edits("x", text, edits)
    assert json.loads(changed)["hooks"] == {"Stop": [{"hooks": []}, {"ours": True}], "Start": [{"ours": True}]}
    assert json.loads(changed)["env"] == {"A": "3", "B": "2"}
    assert apply_edits("x", changed, edits) == (changed, [])
    assert undo_edits(changed, text, made) == (text, [])


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("{}", '{\n  "k": 1\n}'),
        ('{"a": 1}', '{"a": 1, "k": 1}'),
        ('{"a":1}', '{"a":1,"k": 1}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": 1\n}\n'),
        ('{"k": 2, "k": 3}', '{"k": 2, "k": 1}'),
        ('\n{ "a" : {"k": 7} }', '\n{ "a" : {"k": 7}, "k": 1 }'),
    ],
)
def test_a_key_is_set_as_the_others_are(text: str, changed: str):
    assert set_value(text, ("k",), 1) == changed


def test_a_key_somebody_set_otherwise_since_is_theirs():
    edits = [SettingEdit(path=("env", "A"), value="1"), SettingEdit(path=("b",), value=2)]
    changed, made = apply_edits("x", "{}", edits)
    theirs = set_value(changed, ("env", "A"), "theirs")
    back, others = undo_edits(theirs, "{}", made)
    assert (json.loads(back), others) == ({"env": {"A": "theirs"}}, ["env.A"])


def test_what_is_no_object_is_not_written_over():
    with pytest.raises(ValueError, match="env is no object"):
        set_value('{"env": 3}', ("env", "A"), "1")
    with pytest.raises(ValueError, match="no list"):
        add_item('{"hooks": {"Stop": {}}}', ("hooks", "Stop"), {})
    assert read_value('{"env": 3}', ("env", "A")) is None
