"""Media types of the engine's formats, and the choice among them by the `Accept` header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.server import errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"
TURTLE = "text/turtle"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
SPARQL_QUERY = "application/sparql-query"
SPARQL_UPDATE = "application/sparql-update"
RSP_QL = "application/rsp-ql"
PLAIN = "text/plain"
HTML = "text/html"

# RDF input formats, by the engine's names.
GRAPH_FORMATS: dict[str, str] = {
    TURTLE: "turtle",
    "application/n-triples": "ntriples",
    "application/n-quads": "nquads",
    "application/trig": "trig",
    "application/ld+json": "jsonld",
}
INGEST_FORMATS: dict[str, str] = {
    **GRAPH_FORMATS,
    NDJSON: "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    ARROW: "arrow",
}
# Bodies whose events carry their own time can be staged for a commit.
STAGE_FORMATS: dict[str, str] = {"application/n-quads": "nquads", ARROW: "arrow", NDJSON: "ndjson"}

# Output formats. The first is the default.
GRAPH_ANSWERS: dict[str, str] = {
    TURTLE: "turtle",
    "application/n-triples": "ntriples",
    "application/ld+json": "jsonld",
    "application/n-quads": "nquads",
    "application/trig": "trig",
    PLAIN: "ntriples",
}
TABLE_ANSWERS: dict[str, str] = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    JSON: "json",
    "application/xml": "xml",
    "text/xml": "xml",
}

_WITH_CHARSET = frozenset({TURTLE, PLAIN, "text/csv", "text/tab-separated-values", "text/xml", HTML})


def content_type(media_type: str) -> str:
    """The value of `Content-Type` for a media type; text types get a charset."""
    return f"{media_type}; charset=utf-8" if media_type in _WITH_CHARSET else media_type


def media_type_of(header: str | None) -> tuple[str, dict[str, str]]:
    """A media type and its parameters, both in lower case; empty text without a header."""
    first, *rest = (header or "").split(";")
    parameters = (part.partition("=") for part in rest)
    return first.strip().lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in parameters}


def text_type_of(header: str | None) -> str:
    """The media type of a text body, which must be UTF-8."""
    media_type, parameters = media_type_of(header)
    charset = parameters.get("charset", "utf-8").lower()
    if charset not in {"utf-8", "utf8", "us-ascii"}:
        raise errors.CharsetError(f"the charset '{charset[:40]}' is not supported", hint="send it as UTF-8")
    return media_type


def format_of(header: str | None, formats: Mapping[str, str]) -> str:
    """The engine's name of the format of a body."""
    media_type = text_type_of(header)
    if media_type in formats:
        return formats[media_type]
    said = f"the media type '{media_type[:80]}' is not supported here" if media_type else "the body has no Content-Type"
    raise errors.MediaTypeError(said, hint="send one of the listed types", supported=list(formats))


def negotiate(accept: str | None, offers: Sequence[str]) -> str:
    """The offer that an `Accept` header prefers; among equals, the first one."""
    ranges = _ranges(accept or "*/*")
    scored = [(_quality(offer, ranges), -place, offer) for place, offer in enumerate(offers)]
    quality, _, best = max(scored)
    if quality <= 0:
        hint = "request one of the listed types"
        raise errors.NotAcceptableError(
            "none of the requested media types is available", hint=hint, offered=list(offers)
        )
    return best


def _ranges(accept: str) -> list[tuple[str, float]]:
    return [_range(part) for part in accept.split(",") if part.strip()] or [("*/*", 1.0)]


def _range(part: str) -> tuple[str, float]:
    media_type, parameters = media_type_of(part)
    try:
        quality = float(parameters.get("q", "1"))
    except ValueError:
        quality = 0.0
    # Written so that NaN fails the comparison, too.
    return media_type, quality if 0 <= quality <= 1 else 0.0


def _quality(offer: str, ranges: list[tuple[str, float]]) -> float:
    """The quality that the most specific matching range gives to the offer."""
    for pattern in (offer, offer.partition("/")[0] + "/*", "*/*"):
        found = [quality for media_range, quality in ranges if media_range == pattern]
        if found:
            return max(found)
    return 0.0
