"""Style and script: put together once, named after what they hold, so that browsers keep them for good."""

from base64 import b64encode
from functools import cache
from hashlib import sha256

from msgspec import Struct

from assay.resources import read_resource

SHEETS = ("tokens.css", "frame.css", "parts.css", "conversation.css", "charts.css", "audit.css", "evaluation.css")
PREFIX = "/assets/"
ICON = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57a4"/>'
    b'<path d="M8 24 16 7l8 17M11 18h10" fill="none" stroke="#fff" stroke-width="3" stroke-linejoin="round"/></svg>'
)


class Asset(Struct, frozen=True):
    """A file that pages ask for."""

    body: bytes
    media_type: str
    name: str

    @property
    def address(self) -> str:
        return PREFIX + self.name

    @property
    def digest(self) -> str:
        """As a policy names it."""
        return f"'sha256-{b64encode(sha256(self.body).digest()).decode()}'"


def build_asset(stem: str, ending: str, media_type: str, body: bytes) -> Asset:
    return Asset(body, media_type, f"{stem}-{sha256(body).hexdigest()[:12]}.{ending}")


@cache
def load_style() -> Asset:
    """All style sheets in one."""
    body = b"\n".join(read_resource("assay.web", f"style/{name}") for name in SHEETS)
    return build_asset("style", "css", "text/css; charset=utf-8", body)


@cache
def load_script() -> Asset:
    return build_asset("page", "js", "text/javascript; charset=utf-8", read_resource("assay.web", "page.js"))


@cache
def load_icon() -> Asset:
    return build_asset("icon", "svg", "image/svg+xml", ICON)


@cache
def load_assets() -> dict[str, Asset]:
    """All of them, by name."""
    return {one.name: one for one in (load_style(), load_script(), load_icon())}


def build_file_policy() -> str:
    """What one file allows itself: its own style and script, nothing from anywhere."""
    return (
        f"default-src 'none'; style-src {load_style().digest}; script-src {load_script().digest}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


SERVED_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""What a served page may load: what the server itself has, nothing that stands in the page."""
