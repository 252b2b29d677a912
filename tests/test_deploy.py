"""What is in `deploy/`: every command and option in it exists, and nobody runs as root."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.cli.program import COMMANDS, load_command
from assay.config.loading import list_keys
from assay.server.guard import OPEN
from assay.server.settings import ServerSettings

TOP = Path(__file__).parents[1]
DEPLOY = TOP / "deploy"
GUIDE = (TOP / "docs/how-to/run-a-server.md").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
CONTAINER = re.sub(r"\\\n\s*", "", (DEPLOY / "Containerfile").read_text("utf-8"))
UNIT = (DEPLOY / "assay.service").read_text("utf-8")
VARIABLES = {f"ASSAY_{name.replace('.', '_').upper()}" for name in list_keys()} | {"ASSAY_CONFIG", "ASSAY_STORE"}


def list_steps(word: str) -> list[str]:
    """What follows a word of a Containerfile, each time it stands there."""
    return re.findall(rf"^{word} (.*)$", CONTAINER, re.MULTILINE)


def list_settings(name: str) -> list[str]:
    """The values of a setting of the unit."""
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def check_words(words: list[str]) -> None:
    """That a command line is one of ours: the command is there, and every option of it."""
    name, *rest = words
    assert name in COMMANDS
    command = load_command(name)
    while rest and hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    assert {word for word in rest if word.startswith("--")} <= known


OURS = [name for name, one in COMPOSE["services"].items() if one.get("image") == "assay"]


@pytest.mark.parametrize("name", OURS)
def test_every_service_runs_a_command_of_ours_with_few_rights(name: str):
    service = COMPOSE["services"][name]
    check_words(service["command"])
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert set(service["environment"]) - {"PGPASSWORD"} <= VARIABLES
    assert all(one.startswith("127.0.0.1:") for one in service.get("ports", ()))
    assert service["depends_on"]["db"]["condition"] == "service_healthy"
    assert int(service["stop_grace_period"].rstrip("s")) > ServerSettings(store="").limits.leave_s


def test_compose_builds_and_mounts_what_is_there():
    assert OURS == ["server", "work"]
    build = COMPOSE["services"]["server"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    mounted = [one.split(":") for one in COMPOSE["services"]["db"]["volumes"]]
    assert [
        (DEPLOY / place).is_file() if place.startswith(".") else place in COMPOSE["volumes"] for place, *_ in mounted
    ] == [True] * len(mounted)
    assert all(":?" in value for value in COMPOSE["services"]["db"]["environment"].values())


def test_the_database_gives_assay_a_role_without_power():
    script = DEPLOY / "make-role.sh"
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    said = script.read_text("utf-8")
    assert "NOSUPERUSER" in said
    assert "NOBYPASSRLS" in said
    assert "://assay@db/assay" in COMPOSE["services"]["server"]["environment"]["ASSAY_STORE"]


def test_the_container_runs_a_command_of_ours_as_nobody_in_particular():
    (entry,), (command,), (user,) = (list_steps(word) for word in ("ENTRYPOINT", "CMD", "USER"))
    assert json.loads(entry) == ["assay"]
    check_words(json.loads(command))
    assert int(user) > 999
    assert list_steps("EXPOSE") == [str(ServerSettings(store="").port)]
    copied = [one for step in list_steps("COPY") if "--from" not in step for one in step.split()[:-1]]
    assert all((TOP / one).exists() for one in copied)
    named = re.findall(r"(ASSAY_\w+)=", " ".join(list_steps("ENV")))
    assert set(named) <= VARIABLES
    extras = re.search(r"'\.\[([\w,]+)\]'", " ".join(list_steps("RUN")))
    assert extras
    assert set(extras[1].split(",")) == {"server", "postgres", "workers"}


def test_health_is_asked_where_the_server_tells_it_to_everybody():
    (step,) = list_steps("HEALTHCHECK")
    words = json.loads(step.partition("CMD ")[2])
    assert words[:2] == ["python", "-c"]
    compile(words[2], "healthcheck", "exec")
    (path,) = re.findall(r"http://127\.0\.0\.1:4318(/\w+)", words[2])
    assert path in OPEN


@pytest.mark.parametrize("setting", ["ExecStart", "ExecStartPre"])
def test_the_unit_starts_a_command_of_ours(setting: str):
    (line,) = list_settings(setting)
    program, *words = shlex.split(line)
    assert program == "/opt/assay/bin/assay"
    check_words(words)
    named = re.findall(r"(ASSAY_\w+)=", " ".join(list_settings("Environment")))
    assert set(named) <= VARIABLES


def test_systemd_understands_the_unit_and_finds_it_held_tightly(tmp_path: Path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not here")
    unit = tmp_path / "assay.service"
    unit.write_text(UNIT.replace("/opt/assay/bin/assay", sys.executable), "utf-8")
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    about = [line for line in said.stderr.splitlines() if "assay.service" in line]
    assert (about, said.returncode) == ([], 0)
    held = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    assert held.returncode == 0, held.stdout[-500:]


def test_the_guide_names_every_file():
    assert not [path.name for path in DEPLOY.iterdir() if path.name not in GUIDE]
