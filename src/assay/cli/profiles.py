"""`assay profiles`: which quality profiles there are, what they ask, and whether one's own is sound."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import AsJson
from assay.cli.output import let_pipe_close, print_json
from assay.cli.terminal import Console
from assay.errors import BadInput
from assay.reports.format import format_count, format_line
from assay.reports.profiles import ListedProfile, render_profile, render_profiles
from assay.scores import profiles
from assay.types import Document, Row
from assay.types.quality import Profile

EXAMPLE = "Example: `assay profiles show enhanced`"

app = typer.Typer(
    help="List, show and check quality profiles: what is asked of a session, and how it is weighed.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Name = Annotated[str, typer.Argument(metavar="PROFILE", help="Name of a profile, or the path of a TOML file.")]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[PROFILE]…", help="Names or paths; without any, all that are found.")
]


class ProfilesView(Document, frozen=True, kw_only=True, tag="profiles"):
    """`assay profiles list --json`."""

    profiles: list[ListedProfile]


class ProfileView(Document, frozen=True, kw_only=True, tag="profile"):
    """`assay profiles show --json`."""

    profile: dict[str, object]


class ProfileCheck(Row, frozen=True):
    """A profile, and what is wrong with it."""

    name: str
    fault: str | None


class ProfileChecks(Document, frozen=True, kw_only=True, tag="profile_checks"):
    """`assay profiles check --json`."""

    profiles: list[ProfileCheck]


def list_folders() -> list[Path]:
    """Where one's own profiles are looked for."""
    return profiles.list_folders(os.environ, Path.cwd())


def build_view(profile: Profile) -> dict[str, object]:
    """A profile with all that was left out, and its version."""
    fields = {name: getattr(profile, name) for name in profile.__struct_fields__}
    return {**fields, "version": profiles.hash_profile(profile)}


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List all profiles: those that are shipped, and your own beside `assay.toml`."""
    found = [build_listed(one) for one in profiles.list_profiles(list_folders())]
    if as_json:
        print_json(ProfilesView(profiles=found))
        return
    let_pipe_close()
    Console().print(render_profiles(found))


def build_listed(one: profiles.ProfileFile) -> ListedProfile:
    """A profile as listed, sound or not."""
    path = str(one.path) if one.path else None
    try:
        profile = profiles.load_profile(one.name, list_folders())
    except BadInput as error:
        return ListedProfile(name=one.name, path=path, about=str(error), version=None)
    return ListedProfile(name=one.name, path=path, about=profile.about, version=profiles.hash_profile(profile))


@app.command("show")
def show(profile: Name, as_json: AsJson = False) -> None:
    """Show what a profile asks for, how it is weighed, and what the offline judge looks at."""
    found = profiles.load_profile(profile, list_folders())
    if as_json:
        print_json(ProfileView(profile=build_view(found)))
        return
    let_pipe_close()
    Console().print(render_profile(found))


@app.command("check")
def check(names: Names = None, as_json: AsJson = False) -> None:
    """Check profiles: exit code 2 and what to mend where one can't be used."""
    found = [check_profile(name) for name in names or [one.name for one in profiles.list_profiles(list_folders())]]
    if as_json:
        print_json(ProfileChecks(profiles=[ProfileCheck(name=name, fault=why or None) for name, _, why in found]))
    else:
        let_pipe_close()
        sys.stdout.write("".join(f"{format_line(name, 200)}: {fine}\n" for name, fine, why in found if not why))
    sys.stdout.flush()
    if broken := [why for _, _, why in found if why]:
        raise BadInput("\n".join(broken))


def check_profile(name: str) -> tuple[str, str, str]:
    """A profile's name, what it has, or what is wrong with it."""
    try:
        found = profiles.load_profile(name, list_folders())
    except BadInput as error:
        return name, "", str(error)
    total = sum(one.weight for one in found.dimensions)
    return name, f"fine, {format_count(len(found.dimensions), 'dimension')}, weights sum to {total:.2f}", ""
