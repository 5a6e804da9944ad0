"""The exceptions of this package.

    WhorlError
    ├── ConnectionFailedError      the server does not respond, or stopped responding
    │   ├── AnswerTimeoutError     it did not respond in time
    │   └── CertificateError       its certificate is not trusted, or it does not speak TLS
    ├── ProtocolError              the server said something this client does not understand
    ├── GapError                   results were lost to this subscriber; it says which
    └── ProblemError               the server refused, and says why: `slug`, `status`, `message`, `hint`
        ├── QueryError             the query cannot be registered: `line`, `column`
        │   ├── QuerySyntaxError
        │   └── UnsupportedQueryError
        ├── QueryFailedError       an error stopped it while it ran
        ├── IngestError            events were refused, nothing has changed: `index`, `line`, `column`
        │   ├── RdfSyntaxError
        │   ├── TimestampError
        │   └── ProducerError      the sequence of a producer has a gap, or a newer producer replaced it
        ├── UpdateError            SPARQL Update was refused
        ├── NotFoundError          `unknown-…`
        │   ├── UnknownStreamError
        │   ├── UnknownQueryError
        │   └── UnknownGraphError
        ├── ConflictError          the request conflicts with the current state
        │   └── StreamExistsError
        ├── ExpiredError           the token points before the oldest result that is kept
        ├── OverloadedError        retry after `retry_after_s`
        ├── AuthenticationError    no token, or an invalid one
        └── ForbiddenError         the token does not allow this

The slug of a problem document selects the exception; if the slug is new to this client, the status does.
"""

from __future__ import annotations

from ._json import JsonObject, member

TYPE_BASE = "urn:whorl:problem:"


class WhorlError(Exception):
    """The root of all exceptions of this package."""


class ConnectionFailedError(WhorlError):
    """The server cannot be reached, or the connection broke."""


class AnswerTimeoutError(ConnectionFailedError):
    """The server did not respond in time."""


class CertificateError(ConnectionFailedError):
    """The certificate of the server is not trusted, or it does not speak TLS; trying again does not help."""


class ProtocolError(WhorlError):
    """The server sent something that this client does not understand."""


class GapError(WhorlError):
    """Results from `from_seq` to `to_seq` were lost; None is an open end.

    `token` is where to resume: `subscribe(query, from_=error.token)`; None starts with what the server has.
    """

    def __init__(self, from_seq: int | None, to_seq: int | None, reason: str, token: str | None) -> None:
        first = "?" if from_seq is None else str(from_seq)
        last = "?" if to_seq is None else str(to_seq)
        super().__init__(f"results {first} to {last} are lost: {reason}")
        self.from_seq = from_seq
        self.to_seq = to_seq
        self.reason = reason
        self.token = token


class ProblemError(WhorlError):
    """The server refused the request. `slug` identifies the problem for programs, `hint` suggests a fix.

    `line` and `column` start at 1 and `index` at 0; all members of the document are in `document`.
    """

    def __init__(
        self,
        slug: str,
        status: int,
        message: str,
        *,
        document: JsonObject | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        members: JsonObject = document or {}
        self.slug = slug
        self.status = status
        self.message = message
        self.document = members
        self.retry_after_s = retry_after_s
        self.hint = member(members, "hint", str)
        self.line = member(members, "line", int)
        self.column = member(members, "column", int)
        self.index = member(members, "index", int)
        self.snippet = member(members, "snippet", str)

    def __str__(self) -> str:
        """The message, the position, the line and the hint."""
        place = "" if self.line is None else f" at line {self.line}, column {self.column}"
        event = "" if self.index is None else f" (event {self.index})"
        pointer = "" if self.snippet is None else f"\n  {self.snippet}{_caret(self.column)}"
        hint = "" if self.hint is None else f"\nhint: {self.hint}"
        return f"{self.message}{place}{event}{pointer}{hint}"


class QueryError(ProblemError):
    """The query cannot be registered."""


class QuerySyntaxError(QueryError):
    """The text of the query is invalid: `line` and `column` say where."""


class UnsupportedQueryError(QueryError):
    """The query is well formed, but uses a feature that the server does not support."""


class QueryFailedError(ProblemError):
    """An error stopped the query while it ran; other queries continue."""


class IngestError(ProblemError):
    """Events were refused; the stream has not changed."""


class RdfSyntaxError(IngestError):
    """The RDF of an event or of a graph is invalid: `line` and `column` say where."""


class TimestampError(IngestError):
    """An event has no time, or an invalid one."""


class ProducerError(IngestError):
    """The sequence of a producer has a gap, or a newer producer of the same name replaced it."""


class UpdateError(ProblemError):
    """A SPARQL Update was refused; nothing has changed."""


class NotFoundError(ProblemError):
    """The named resource does not exist."""


class UnknownStreamError(NotFoundError):
    """The stream does not exist."""


class UnknownQueryError(NotFoundError):
    """The query does not exist."""


class UnknownGraphError(NotFoundError):
    """The static graph does not exist."""


class ConflictError(ProblemError):
    """The request conflicts with the current state."""


class StreamExistsError(ConflictError):
    """The stream is declared already, with other settings."""


class ExpiredError(ProblemError):
    """The token points before the oldest result that the server keeps: results after `earliest` exist."""

    @property
    def earliest(self) -> str | None:
        """The token to resume from: `subscribe(query, from_=error.earliest)` starts with the oldest result."""
        return member(self.document, "earliest", str)

    @property
    def from_seq(self) -> int | None:
        """The first lost result."""
        return member(self.document, "fromSeq", int)


class OverloadedError(ProblemError):
    """The server is overloaded; `retry_after_s` says when to retry."""


class AuthenticationError(ProblemError):
    """No token, or an unknown one: pass `token=` or set `WHORL_TOKEN`."""


class ForbiddenError(ProblemError):
    """The token does not allow this."""


_BY_SLUG: dict[str, type[ProblemError]] = {
    "query-syntax": QuerySyntaxError,
    "unsupported-feature": UnsupportedQueryError,
    "query-too-costly": UnsupportedQueryError,
    "query-cycle": UnsupportedQueryError,
    "query-failed": QueryFailedError,
    "rdf-syntax": RdfSyntaxError,
    "arrow-unreadable": IngestError,
    "event-refused": IngestError,
    "timestamp-missing": TimestampError,
    "timestamp-invalid": TimestampError,
    "producer-gap": ProducerError,
    "producer-fenced": ProducerError,
    "update-failed": UpdateError,
    "unknown-stream": UnknownStreamError,
    "unknown-query": UnknownQueryError,
    "unknown-graph": UnknownGraphError,
    "stream-exists-differently": StreamExistsError,
    "token-expired": ExpiredError,
    "unauthenticated": AuthenticationError,
    "forbidden": ForbiddenError,
}

_BY_STATUS: dict[int, type[ProblemError]] = {
    401: AuthenticationError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    429: OverloadedError,
    503: OverloadedError,
}


def problem_of(document: JsonObject, status: int | None = None, retry_after_s: float | None = None) -> ProblemError:
    """The exception for a problem document."""
    slug = str(document.get("type", "")).removeprefix(TYPE_BASE)
    found = member(document, "status", int)
    number = status if status is not None else (found or 0)
    kind = _BY_SLUG.get(slug) or _BY_STATUS.get(number) or ProblemError
    message = str(document.get("detail") or document.get("title") or f"the server responded {number}")
    return kind(slug, number, message, document=document, retry_after_s=retry_after_s)


def _caret(column: int | None) -> str:
    return "" if column is None or column < 1 else "\n  " + " " * (column - 1) + "^"
