"""Where things are kept and which settings hold: flags, else `ASSAY_*` in the environment, else defaults."""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

from assay.errors import BadInput


def store_url(given: str | None, env: Mapping[str, str]) -> str:
    """The store to use: a path or `sqlite:///` URL given by flag or `ASSAY_STORE`, else the user's own."""
    chosen = given or env.get("ASSAY_STORE") or str(user_data_path("assay") / "assay.db")
    if chosen.startswith("sqlite:///"):
        chosen = chosen.removeprefix("sqlite:///")
    elif "://" in chosen:
        raise BadInput(f"--store {chosen}: only a file path or sqlite:/// is known to this version")
    try:
        path = Path(chosen).expanduser()
    except RuntimeError as error:
        raise BadInput(f"--store {chosen}: {error}") from None
    if path.is_dir():
        raise BadInput(f"--store {chosen}: is a folder; give the path of a file in it, such as {path / 'assay.db'}")
    return f"sqlite:///{os.path.abspath(path)}"
