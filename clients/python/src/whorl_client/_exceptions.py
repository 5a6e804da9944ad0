"""What can go wrong, as exceptions.

    WhorlError
    ├── ConnectionFailedError      the server does not answer, or stopped answering
    │   └── AnswerTimeoutError     it did not answer in time
    ├── ProtocolError              the server said something this client does not understand
    ├── GapError                   results were lost to this subscriber; it says which
    └── ProblemError               the server refused, and says why: `slug`, `status`, `message`, `hint`
        ├── QueryError             the query cannot be registered: `line`, `column`
        │   ├── QuerySyntaxError
        │   └── UnsupportedQueryError
        ├── QueryFailedError       it was stopped by a fault while it ran
        ├── IngestError            events were refused, nothing has changed: `index`, `line`, `column`
        │   ├── RdfSyntaxError
        │   ├── TimestampError
        │   └── ProducerError      the sequence of a producer has a gap, or another took its place
        ├── UpdateError            SPARQL Update was refused
        ├── NotFoundError          `unknown-…`
        │   ├── UnknownStreamError
        │   ├── UnknownQueryError
        │   └── UnknownGraphError
        ├── ConflictError          what is there says otherwise
        │   └── StreamExistsError
        ├── ExpiredError           the token points before what the server still has
        ├── OverloadedError        try again after `retry_after_s`
        ├── AuthenticationError    no token, or a wrong one
        └── ForbiddenError         the token does not allow this

A problem document becomes one of them by its slug and, where the slug is new to this client, by its status.
"""

from __future__ import annotations

from ._json import JsonObject, member

TYPE_BASE = "urn:whorl:problem:"


class WhorlError(Exception):
    """The root of all exceptions of this package."""


class ConnectionFailedError(WhorlError):
    """The server does not answer, or stopped answering."""


class AnswerTimeoutError(ConnectionFailedError):
    """The server did not answer in time."""


class ProtocolError(WhorlError):
    """The server said something this client does not understand."""


class GapError(WhorlError):
    """Results were lost to this subscriber: those from `from_seq` to `to_seq`; None is an open end.

    `token` is the place to go on from: `subscribe(query, from_=error.token)`; None begins with what the server has.
    """

    def __init__(self, from_seq: int | None, to_seq: int | None, reason: str, token: str | None) -> None:
        first = "?" if from_seq is None else str(from_seq)
        last = "?" if to_seq is None else str(to_seq)
        super().__init__(f"results {first} to {last} are lost to this subscriber: {reason}")
        self.from_seq = from_seq
        self.to_seq = to_seq
        self.reason = reason
        self.token = token


class ProblemError(WhorlError):
    """The server refused. `slug` names the problem for programs, `hint` says what to do, where that is known.

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
        """The message, where, the line itself, and what to do about it."""
        place = "" if self.line is None else f" at line {self.line}, column {self.column}"
        event = "" if self.index is None else f" (event {self.index})"
        pointer = "" if self.snippet is None else f"\n  {self.snippet}{_caret(self.column)}"
        hint = "" if self.hint is None else f"\nhint: {self.hint}"
        return f"{self.message}{place}{event}{pointer}{hint}"


class QueryError(ProblemError):
    """The query cannot be registered."""


class QuerySyntaxError(QueryError):
    """The text of the query is wrong: `line` and `column` say where."""


class UnsupportedQueryError(QueryError):
    """The query is well formed, and asks for something the server does not do."""


class QueryFailedError(ProblemError):
    """The query was stopped by a fault while it ran; others go on."""


class IngestError(ProblemError):
    """Events were refused; the stream is as it was before."""


class RdfSyntaxError(IngestError):
    """The RDF of an event or of a graph is wrong: `line` and `column` say where."""


class TimestampError(IngestError):
    """An event has no time, or one that makes no sense."""


class ProducerError(IngestError):
    """The sequence of a producer has a gap, or a newer producer of the same name took its place."""


class UpdateError(ProblemError):
    """A SPARQL Update was refused; nothing has changed."""


class NotFoundError(ProblemError):
    """There is nothing of this name."""


class UnknownStreamError(NotFoundError):
    """There is no such stream."""


class UnknownQueryError(NotFoundError):
    """There is no such query."""


class UnknownGraphError(NotFoundError):
    """There is no such static graph."""


class ConflictError(ProblemError):
    """What is there says otherwise."""


class StreamExistsError(ConflictError):
    """The stream is declared already, with other settings."""


class ExpiredError(ProblemError):
    """The token points before what the server still has: results after `earliest` are there."""

    @property
    def earliest(self) -> str | None:
        """The token to go on with: `subscribe(query, from_=error.earliest)` begins with the oldest result."""
        return member(self.document, "earliest", str)

    @property
    def from_seq(self) -> int | None:
        """The first result that is lost."""
        return member(self.document, "fromSeq", int)


class OverloadedError(ProblemError):
    """The server has too much to do; `retry_after_s` says when to try again."""


class AuthenticationError(ProblemError):
    """No token, or one the server does not know: pass `token=` or set `WHORL_TOKEN`."""


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
    "timestamp-too-far-ahead": TimestampError,
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
    """The exception that a problem document is."""
    slug = str(document.get("type", "")).removeprefix(TYPE_BASE)
    told = member(document, "status", int)
    number = status if status is not None else (told or 0)
    kind = _BY_SLUG.get(slug) or _BY_STATUS.get(number) or ProblemError
    message = str(document.get("detail") or document.get("title") or f"the server answered {number}")
    return kind(slug, number, message, document=document, retry_after_s=retry_after_s)


def _caret(column: int | None) -> str:
    return "" if column is None or column < 1 else "\n  " + " " * (column - 1) + "^"
