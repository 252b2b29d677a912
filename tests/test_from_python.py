"""Every block of the page about Python runs as it stands there."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import environment

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/how-to/from-python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_every_block_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(ROOT / "src/assay/examples/claude-code", tmp_path / ".claude/projects")
    for name, value in environment(HOME=str(tmp_path), ASSAY_STORE=str(tmp_path / "s.db")).items():
        monkeypatch.setenv(name, value)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {}
    told = []
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), known)
        told.append(capsys.readouterr().out)
    assert re.match(r"\d+ of \d+ sessions landed: \d+, \d+ to \d+\noffline \d+\n", told[0])
    assert re.match(r"[1-9]\d* sessions in folders of that name", told[1])
    assert "says '" in told[2]
    assert "USD" in told[2]
    assert "goal_achievement" in told[3]
    assert re.search("not asked: .*OPENAI_API_KEY", told[4])
    assert told[5].startswith("id,project,crushed,turns,net_lines")
    assert (tmp_path / "report.json").read_bytes().startswith(b'{"kind":"report"')
    assert told[6].startswith("improved 0.")
    assert "may go in: True\none trial: 1.0" in told[6]
