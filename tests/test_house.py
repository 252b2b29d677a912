"""The house is tidy: format, lint and types hold, and the README's test command is the gate's."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("ruff format --check", "ruff check", "mypy")


def test_the_gate_lints_and_checks_types_before_it_tests():
    gate, check = (ROOT / ".ci" / "run").read_text(), (ROOT / "scripts" / "check").read_text()
    assert gate.index("scripts/check --no-tests") < gate.index("-m pytest")
    assert not [tool for tool in TOOLS if tool not in check]


def quick_start() -> list[str]:
    section = (ROOT / "README.md").read_text().split("## Quick start")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def test_the_quick_start_is_two_blocks():
    assert [block.strip().splitlines()[-1].split()[0] for block in quick_start()] == [
        ".venv/bin/assay",
        ".venv/bin/python",
    ]


def test_the_gate_runs_the_test_command_of_the_readme():
    assert (ROOT / ".ci" / "run").read_text().endswith(quick_start()[1])


def test_every_fact_is_documented():
    from assay import facts

    page = (ROOT / "docs/reference/json.md").read_text()
    fields = [field for _, module in facts.load_facts() for field in module.fact(()).__struct_fields__]
    assert not [field for field in fields if f"`{field}`" not in page]


def test_no_two_facts_have_a_field_of_the_same_name():
    from assay import facts

    fields = [field for _, module in facts.load_facts() for field in module.fact(()).__struct_fields__]
    assert len(fields) == len(set(fields))
