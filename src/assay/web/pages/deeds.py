"""What a person may say of a session: forms, each of which posts to the server."""

from assay.types import Session
from assay.web.html import Element, Node, h
from assay.web.marks import render_note

MARKS = (("landed", "It landed"), ("not", "It did not"), ("exclude", "Leave it out"))


def render_deeds(one: Session, before: str) -> Element:
    """Mark, rename, merge, and take back."""
    address = f"/sessions/{one.id}"
    why = h.input(name="why", aria_label="Why, in your words", placeholder="why (if you like)", maxlength="500")
    marks = [h.button(name="verdict", value=value)[words] for value, words in MARKS]
    return h.div(".actions")[
        h.form(method="post", action=f"{address}/mark")[marks, why],
        render_form(f"{address}/unmark", "Take your word back") if one.marked else None,
        h.details[
            h.summary["Rename, merge"],
            h.form(method="post", action=f"{address}/rename")[
                h.input(name="title", aria_label="New title", value=one.title[:60], maxlength="60", required=True),
                h.button["Rename"],
                h.button(formaction=f"{address}/unname", formnovalidate=True)["Its own title again"],
            ],
            h.form(method="post", action=f"{address}/merge")[
                h.input(
                    name="other",
                    aria_label="Id of the session to merge",
                    placeholder="id of another session",
                    required=True,
                ),
                h.button["Merge it into this one"],
            ],
            list_undoings(one, before),
            render_note("Your word wins over every later run; only what changed is judged again."),
        ],
    ]


def list_undoings(one: Session, before: str) -> list[Node]:
    """What a person did to the ledger here, to be taken back."""
    found: list[Node] = [
        render_form(f"/sessions/{one.id}/split", f"Split off {join.id[:12]} again", turn=join.id)
        for join in one.merged_from
    ]
    if before and one.boundary.signal == "person":
        found.append(render_form(f"/sessions/{before}/merge", f"Undo the split from {before[:12]}", other=one.id))
    return found


def render_split(id: str, turn: int) -> Element:
    """Let a new session begin with a turn."""
    return render_form(f"/sessions/{id}/split", "Split here", turn=str(turn))


def render_form(action: str, words: str, **values: str) -> Element:
    """A button that does one thing."""
    hidden = [h.input(type="hidden", name=name, value=value) for name, value in values.items()]
    return h.form(method="post", action=action)[hidden, h.button[words]]
