"""Parts of a page, as Markdown."""

from collections.abc import Iterable, Sequence


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing where there is no row."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines, ""]) if lines else ""


def show_code(text: str) -> str:
    """Something as it is typed, wherever it stands: in a table, a bar would end the cell."""
    return f"<code>{escape(text)}</code>" if text else ""


def escape(text: str) -> str:
    """Text as HTML that no Markdown is read from."""
    signs = {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "|": "&#124;",
        "*": "&#42;",
        "_": "&#95;",
        "[": "&#91;",
        "`": "&#96;",
    }
    return "".join(signs.get(sign, sign) for sign in text)


def fit_cell(text: str) -> str:
    """A sentence of ours, Markdown in it and all, for the cell of a table."""
    parts = " ".join(text.split()).split("`")
    return "".join(show_code(part) if n % 2 else keep_signs(part) for n, part in enumerate(parts))


def keep_signs(text: str) -> str:
    """Prose in which angle brackets and bars mean themselves."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("|", "&#124;")
        .replace("*", "&#42;")
    )
