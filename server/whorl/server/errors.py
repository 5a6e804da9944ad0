"""What the server refuses, in its own words: one class for each kind of refusal.

Nothing in here knows HTTP or WebSocket. `problems` has the one table that says which status and which `type` each class
has there. A refusal means that nothing has changed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from whorl.errors import WhorlError

if TYPE_CHECKING:
    from collections.abc import Iterator


class DomainError(Exception):
    """A refusal: a sentence for people, a hint what to do instead, and members for programs.

    `retry_after_s` says when the same request may succeed. Members are JSON values or other refusals.
    """

    def __init__(
        self,
        detail: str,
        *,
        hint: str | None = None,
        retry_after_s: int | None = None,
        **members: Any,  # noqa: ANN401 - JSON of any kind
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.retry_after_s = retry_after_s
        self.members = members


class EngineRefusal(DomainError):  # noqa: N818 - the engine has the error; this is what the server makes of it
    """The engine refused, and its exception says why; `text` is what its position points into."""

    def __init__(self, error: WhorlError, text: str | None = None) -> None:
        super().__init__(
            error.message,
            hint=error.hint,
            code=error.code or None,
            line=error.line,
            column=error.column,
            index=error.index,
            snippet=None if text is None or error.line is None else _line(text, error.line),
        )
        self.error = error


@contextlib.contextmanager
def engine_refusals(text: str | None = None) -> Iterator[None]:
    """Turn exceptions of the engine into refusals of the server."""
    try:
        yield
    except WhorlError as error:
        raise EngineRefusal(error, text) from error


def _line(text: str, number: int) -> str | None:
    lines = text.splitlines()
    return lines[number - 1][:200] if 0 < number <= len(lines) else None


# ---- the catalogue ----


class UnknownStreamError(DomainError):
    """No stream has this IRI."""


class UndeclaredStreamError(DomainError):
    """A query reads a stream that nobody has declared and no query writes."""


class UnknownQueryError(DomainError):
    """No query has this name."""


class UnknownGraphError(DomainError):
    """No static graph has this IRI."""


class UnknownMappingError(DomainError):
    """The stream has no row mapping."""


class StreamExistsError(DomainError):
    """The stream is declared with other settings."""


class StreamInUseError(DomainError):
    """Queries read the stream."""


class StreamIsOutputError(DomainError):
    """A query writes the stream; nobody else may."""


class StreamClosedError(DomainError):
    """The stream has ended."""


class QueryExistsError(DomainError):
    """The name belongs to a query with another text or other options."""


class QueryNotRunningError(DomainError):
    """The query is paused or has failed."""


class OutputInUseError(DomainError):
    """Other queries read what the query writes."""


# ---- ingest ----


class ProducerFencedError(DomainError):
    """A newer instance of the producer has taken over."""


class ProducerGapError(DomainError):
    """The producer skipped a sequence number."""


class UnknownStageError(DomainError):
    """No staged body of the stream has this token."""


# ---- room ----


class TooManyStreamsError(DomainError):
    """`streams_max` is reached."""


class TooManyQueriesError(DomainError):
    """`queries_max` is reached."""


class TooManyRegistrationsError(DomainError):
    """The caller registers more often than `registrations_per_minute`."""


class TooManySubscribersError(DomainError):
    """`subscribers_max` is reached."""


class TooManySubscriptionsError(DomainError):
    """`subscriptions_per_socket_max` is reached."""


class TooManyTokensError(DomainError):
    """The server keeps no further token."""


class TooManyTicketsError(DomainError):
    """Too many tickets are unused."""


class OverloadedError(DomainError):
    """More is waiting than the server takes; the same request may succeed later."""


class BodyTooLargeError(DomainError):
    """The body is larger than any that is taken."""


# ---- validity ----


class InvalidNameError(DomainError):
    """No query can have this name."""


class InvalidIriError(DomainError):
    """The text is not an absolute IRI."""


class InvalidInstantError(DomainError):
    """The text is not an instant."""


class InvalidDurationError(DomainError):
    """The text is not a duration."""


class InvalidMembersError(DomainError):
    """Members of a document or parameters of a request are wrong; `errors` lists them."""


class UnknownOptionError(DomainError):
    """Queries have no such option."""


class EmptyQueryError(DomainError):
    """The query text is empty."""


class InvalidResultTokenError(DomainError):
    """The text is not the token of a result of the query."""


class ExpiredResultTokenError(DomainError):
    """Not all results after the token are kept."""


class NoQueryNamedError(DomainError):
    """A subscription says neither `query` nor `rspql`."""


class QueryElsewhereError(DomainError):
    """The connection is for another query."""


# ---- callers ----


class UnauthenticatedError(DomainError):
    """The request carries no token, or one that is not known."""


class ForbiddenError(DomainError):
    """The caller may not do this."""


class UnknownTokenError(DomainError):
    """No access token has this id."""


# ---- the server itself ----


class NotReadyError(DomainError):
    """The server starts, stops, or has failed."""


class WriteFailedError(DomainError):
    """The log could not be written; nothing was applied."""


class UnknownOutcomeError(DomainError):
    """The disk failed; whether the request was applied is known only after a restart."""


class StageDamagedError(DomainError):
    """A staged body cannot be read; nothing was applied."""


class BackupFailedError(DomainError):
    """The backup could not be made."""


class ServerFaultError(DomainError):
    """A fault of the server."""


# ---- requests ----


class HostNotAllowedError(DomainError):
    """The server does not answer to this name."""


class OriginNotAllowedError(DomainError):
    """Pages of this origin may not use the server."""


class MediaTypeError(DomainError):
    """Bodies of this media type are not read here."""


class CharsetError(DomainError):
    """The body says that it is in another charset than UTF-8."""


class EncodingError(DomainError):
    """Bodies in this content encoding are not read."""


class NotAcceptableError(DomainError):
    """None of the media types asked for is offered."""


class BodyTooSlowError(DomainError):
    """The body was not complete in time."""


class InflatesTooMuchError(DomainError):
    """The body is compressed too much to be inflated safely."""


class BrokenGzipError(DomainError):
    """The body is not one complete gzip member."""


class NotUtf8Error(DomainError):
    """The bytes are not UTF-8."""


class JsonSyntaxError(DomainError):
    """The body is not JSON."""


class BrokenFormError(DomainError):
    """The form cannot be read."""


class BrokenMultipartError(DomainError):
    """The body has no parts."""


class OperationCountError(DomainError):
    """A SPARQL request holds no operation, or several."""


class GraphNotNamedError(DomainError):
    """The request does not name exactly one graph."""


class InvalidProducerError(DomainError):
    """The header `RSP-Producer` cannot be read."""
