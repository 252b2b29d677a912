"""The skill and its sub-agent are shipped, and put where Claude Code looks for them."""

import re
from pathlib import Path

import pytest

from assay.cli.program import COMMANDS
from assay.cli.skill import PLACES, install_skill
from assay.errors import BadInput


def test_the_skill_is_written_once_and_left_alone(tmp_path: Path):
    first = install_skill(tmp_path)
    assert sorted(Path(one).relative_to(tmp_path).as_posix() for one in first.written) == sorted(PLACES)
    again = install_skill(tmp_path)
    assert (again.written, sorted(again.unchanged)) == ([], sorted(first.written))


def test_a_file_of_ones_own_is_not_replaced_unasked(tmp_path: Path):
    install_skill(tmp_path)
    mine = tmp_path / PLACES[0]
    mine.write_text("my own")
    with pytest.raises(BadInput, match="--force"):
        install_skill(tmp_path)
    assert mine.read_text() == "my own"
    assert install_skill(tmp_path, force=True).written == [str(mine)]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="--into"):
        install_skill(tmp_path / "file")


def test_skill_and_sub_agent_name_each_other_and_only_commands_that_there_are(tmp_path: Path):
    install_skill(tmp_path)
    skill, agent = ((tmp_path / name).read_text() for name in PLACES)
    assert "`session-scorer`" in skill
    assert "name: session-scorer" in agent
    assert "score-session" in agent
    named = set(re.findall(r"`assay (\w+)", skill + agent))
    assert {"quality", "langfuse"} <= named <= set(COMMANDS)
    assert "assay langfuse score" in skill
    assert "assay langfuse score" in agent
