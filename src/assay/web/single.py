"""Many pages in one file: style and script inside, links between its places, nothing from anywhere else."""

from base64 import b64encode
from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from assay.web.assets import build_file_policy, load_icon, load_script, load_style
from assay.web.context import PageContext
from assay.web.frame import FILE_KEYS, Page, render_head, render_keys, render_side
from assay.web.html import encode_html, h


class Place(Struct, frozen=True, kw_only=True):
    """A page and where in the file it stands."""

    id: str
    page: Page


def render_file(title: str, places: Sequence[Place], context: PageContext) -> bytes:
    """All places, one below the other; `context.links` should lead to them (`FileLinks`)."""
    icon = b64encode(load_icon().body).decode()
    head = h.head[
        h.meta(charset="utf-8"),
        h.meta({"http-equiv": "Content-Security-Policy", "content": build_file_policy()}),
        h.meta(name="viewport", content="width=device-width, initial-scale=1"),
        h.meta(name="color-scheme", content="light dark"),
        h.title[f"{title} · Assay"],
        h.link(rel="icon", href=f"data:image/svg+xml;base64,{icon}"),
        h.style[Markup(load_style().body.decode())],  # noqa: S704  our own files: nothing of a transcript
        h.script[Markup(load_script().body.decode())],  # noqa: S704
    ]
    body = h.body[
        h.a(".skip", href="#main")["Skip to content"],
        render_side("", context),
        h.main("#main", tabindex="-1")[
            [h.section(".leaf", id=one.id)[render_head(one.page), one.page.body] for one in places]
        ],
        render_keys(FILE_KEYS),
    ]
    return encode_html(h.html(lang="en")[head, body])
