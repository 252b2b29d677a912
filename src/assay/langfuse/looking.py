"""Small looks at a session: whether Langfuse knows it, and which traces a pulled one has."""

from pathlib import Path

from assay.http import decode_answer
from assay.langfuse.client import GENERAL, LEGACY, Client
from assay.langfuse.pulling import before
from assay.langfuse.reading import TRACES, V2, Page, either


def is_known(client: Client, session: str) -> bool:
    """Whether anything of a session is in Langfuse, in one request."""

    def modern(one: Client) -> bool:
        return bool(
            decode_answer(one.http.get(V2, {"sessionId": session, "fields": "core", "limit": 1}, GENERAL), Page).data
        )

    def legacy(one: Client) -> bool:
        asked: dict[str, str | int] = {"sessionId": session, "fields": "core", "page": 1, "limit": 1}
        return bool(decode_answer(one.http.get(TRACES, asked, LEGACY), Page).data)

    return either(client, modern, legacy)


def trace_at(path: Path, moment: str) -> str:
    """The trace of a pulled session in which something began at this moment, else the next one; empty without any."""
    rows = [(one.at, one.trace) for one in before(path) if one.trace]
    exact = (trace for at, trace in rows if at == moment)
    later = (trace for at, trace in rows if at >= moment)
    return next(exact, "") or next(later, "") or (rows[0][1] if rows else "")
