"""A suite to begin with: one task that works, and two configurations that differ in their instructions."""

from collections.abc import Iterator
from pathlib import Path

from assay.errors import BadInput
from assay.evals.tasks.config import Agent
from assay.files import write_atomically

TASK = """\
prompt = "Add the field `closes` with the number 18 to hours.json. Keep what is there, and change no other file."
timeout_s = 300
network = "none"

[[checks]]
kind = "json_value"
name = "it closes at 18"
path = "hours.json"
pointer = "/closes"
equals = 18

[[checks]]
kind = "json_value"
name = "it still opens at 9"
path = "hours.json"
pointer = "/opens"
equals = 9

[[checks]]
kind = "diff_within"
name = "no other file"
paths = ["hours.json"]
"""
HOURS, SOLVED = '{"opens": 9}\n', '{"opens": 9, "closes": 18}\n'
INSTRUCTIONS = {
    "baseline": "Answer briefly.\n",
    "candidate": "Answer briefly. Edit hours.json with care, and read every file back after you changed it.\n",
}
VARIABLES = {"claude-code": '["ANTHROPIC_API_KEY"]', "codex": '["OPENAI_API_KEY"]'}
CONFIG = """\
agent = "{agent}"
env = {variables}   # names of variables that are passed on; no other is
"""
STAND_IN = """\
agent = "command"
command = ["./agent.sh"]
"""
SCRIPT = """\
#!/bin/sh
# Stands in for an agent until you name yours in config.toml: it can do what its AGENTS.md speaks of.
cat > /dev/null
if grep -q hours.json AGENTS.md; then echo '{"opens": 9, "closes": 18}' > hours.json; fi
echo '{"tokens": 1000, "tool_calls": 2, "steps": 2, "usd": 0.0}' > "$ASSAY_RESULT_DIR/cost.json"
"""
RUNNABLE = 0o755


def list_starter_files(agent: Agent) -> Iterator[tuple[str, str]]:
    """Paths and texts of the suite."""
    yield "tasks/hours/task.toml", TASK
    yield "tasks/hours/workspace/hours.json", HOURS
    yield "tasks/hours/solution/hours.json", SOLVED
    for name, text in INSTRUCTIONS.items():
        folder = f"configs/{name}"
        if agent == "command":
            yield f"{folder}/config.toml", STAND_IN
            yield f"{folder}/agent.sh", SCRIPT
        else:
            yield f"{folder}/config.toml", CONFIG.format(agent=agent, variables=VARIABLES[agent])
        yield f"{folder}/files/{'CLAUDE.md' if agent == 'claude-code' else 'AGENTS.md'}", text


def write_starter(folder: Path, agent: Agent) -> list[Path]:
    """Write the suite into a folder; nothing that is there is touched."""
    wanted = {folder / path: text for path, text in list_starter_files(agent)}
    if there := [path for path in wanted if path.exists() or path.is_symlink()]:
        raise BadInput(f"{there[0]}: is there already, and nothing was written; give another folder with --out")
    try:
        for path, text in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode(), RUNNABLE if path.suffix == ".sh" else 0o666)
    except OSError as error:
        raise BadInput(f"{folder}: can't be written: {error.strerror or error}") from None
    return [*wanted]
