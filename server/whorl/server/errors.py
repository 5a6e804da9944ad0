"""Domain errors: one class for each kind of refusal.

Nothing in this module knows about HTTP or WebSocket. The table in `problems` maps each class to its status and `type`.
A refusal means that nothing has changed.
"""

from __future__ import annotations

import contextlib
import difflib
from typing import TYPE_CHECKING, Any

from whorl.errors import WhorlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Queries that belong to a connection have names that begin like this.
UNNAMED_PREFIX = "ws-"
# A hint lists at most so many names.
_NAMES_MAX = 10
# IRIs of one site are alike without being meant.
_LIKENESS_MIN = 0.85
# How many names are compared, how long, and with which difference in length.
_COMPARED_MAX, _COMPARED_CHARS_MAX, _COMPARED_DIFFERENCE_MAX = 50, 100, 5


class DomainError(Exception):
    """A refusal: a message for people, a hint how to fix it, and members for programs.

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
    """A refusal by the engine, with the reason from its exception; its position refers to `text`."""

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
    """A query reads a stream that is not declared and that no query writes."""


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
    """Only a query writes the stream."""


class StreamClosedError(DomainError):
    """The stream is closed."""


class QueryExistsError(DomainError):
    """The name belongs to a query with another text or other options."""


class QueryNotRunningError(DomainError):
    """The query is paused or has failed."""


class OutputDeclaredError(DomainError):
    """Producers write the stream that the query would write."""


class OutputInUseError(DomainError):
    """Other queries read what the query writes."""


# ---- ingest ----


class ProducerFencedError(DomainError):
    """A newer instance of the producer has taken over."""


class ProducerGapError(DomainError):
    """The producer skipped a sequence number."""


class UnknownStageError(DomainError):
    """No staged body of the stream has this token."""


# ---- limits ----


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
    """The command queue is full; the same request may succeed later."""


class BodyTooLargeError(DomainError):
    """The body is larger than the limit."""


# ---- validity ----


class InvalidNameError(DomainError):
    """The text is not a valid query name."""


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
    """Some results after the token are no longer kept."""


class NoQueryNamedError(DomainError):
    """A subscription has neither `query` nor `rspql`."""


class QueryElsewhereError(DomainError):
    """The connection is for another query."""


# ---- callers ----


class UnauthenticatedError(DomainError):
    """The request carries no token, or an unknown one."""


class ForbiddenError(DomainError):
    """The caller may not do this."""


class UnknownTokenError(DomainError):
    """No access token has this id."""


class NoDemoError(DomainError):
    """The server plays no demo."""


# ---- the server itself ----


class NotReadyError(DomainError):
    """The server is starting, stopping, or has failed."""


class WriteFailedError(DomainError):
    """The log could not be written; nothing was applied."""


class UnknownOutcomeError(DomainError):
    """The disk failed; whether the request was applied is known only after a restart."""


class StageDamagedError(DomainError):
    """A staged body cannot be read; nothing was applied."""


class BackupFailedError(DomainError):
    """The backup could not be made."""


class ServerFaultError(DomainError):
    """A bug in the server."""


# ---- requests ----


class HostNotAllowedError(DomainError):
    """The `Host` header names a host that is not allowed."""


class OriginNotAllowedError(DomainError):
    """The `Origin` header names an origin that is not allowed."""


class MediaTypeError(DomainError):
    """The media type of the body is not supported here."""


class CharsetError(DomainError):
    """The body declares a charset other than UTF-8."""


class EncodingError(DomainError):
    """The content encoding of the body is not supported."""


class NotAcceptableError(DomainError):
    """None of the requested media types is available."""


class BodyTooSlowError(DomainError):
    """The body was not complete in time."""


class InflatesTooMuchError(DomainError):
    """The compression ratio of the body is too high to inflate it safely."""


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


def unknown_query(name: str, known: Iterable[str]) -> UnknownQueryError:
    """The refusal of a name, with the one that was meant or with those that exist."""
    named = [one for one in known if not one.startswith(UNNAMED_PREFIX)]
    return UnknownQueryError(f"query '{name}' does not exist", hint=_meant("queries", name, named, "'{}'"))


def known_streams(iri: str, known: Iterable[str]) -> str:
    """A hint about a stream that does not exist."""
    return _meant("streams", iri, known, "<{}>")


def _nearest(wanted: str, names: list[str]) -> str | None:
    # A producer may be refused at each push, and comparing takes the cube of the length.
    if len(wanted) > _COMPARED_CHARS_MAX:
        return None
    alike = [name for name in names if abs(len(name) - len(wanted)) <= _COMPARED_DIFFERENCE_MAX]
    return next(iter(difflib.get_close_matches(wanted, alike[:_COMPARED_MAX], 1, _LIKENESS_MIN)), None)


def _meant(kind: str, wanted: str, known: Iterable[str], quoted: str) -> str:
    names = sorted(known)
    if not names:
        return f"there are no {kind}"
    near = _nearest(wanted, names)
    if near is not None:
        return f"did you mean {quoted.format(near)}?"
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    return f"known {kind}: {', '.join(quoted.format(name) for name in names[:_NAMES_MAX])}{more}"
