"""How the API answers: documents with an entity tag that is the tenant's own, and errors that say what to do."""

from typing import Any, cast

from litestar import Request, Response
from litestar.datastructures import ResponseHeader
from litestar.openapi.datastructures import ResponseSpec

from assay.reports.json import encode_json
from assay.server.access import Visitor
from assay.server.guard import VISITOR
from assay.server.replies import JSON, ErrorView
from assay.server.seals import build_tag, matches_tag
from assay.stores import Store
from assay.types import Document

AnyRequest = Request[Any, Any, Any]
WHYS = {
    400: "It can't be understood.",
    401: "It takes a key.",
    403: "This key may not do that.",
    404: "There is no such thing.",
    413: "It is too large.",
    414: "The address is too long.",
    429: "Too many requests; see Retry-After.",
    503: "The store does not answer; see Retry-After.",
}
ERRORS = {status: ResponseSpec(ErrorView, description=why) for status, why in WHYS.items()}
READS = ERRORS | {304: ResponseSpec(None, description="It is what `If-None-Match` names.")}
TAGGED = [ResponseHeader(name="etag", value="", description="Changes with the answer.", documentation_only=True)]


def answer(request: AnyRequest, store: Store, document: Document) -> Response[Any]:
    """A document, unless whoever asks has the same already."""
    body = encode_json(document)
    tag = build_tag(store.keys.load_secret(), body)
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if matches_tag(request.headers.get("if-none-match", ""), tag):
        return Response(b"", status_code=304, headers=headers)
    return Response(body, media_type=JSON, headers=headers)


def answer_change(document: Document, status: int = 200) -> Response[Any]:
    """What became of a change."""
    return Response(encode_json(document), status_code=status, media_type=JSON)


def find_visitor(request: AnyRequest) -> Visitor:
    """Who sent a request, as the guard found out."""
    return cast(Visitor, request.scope[VISITOR])  # type: ignore[literal-required]
