"""The exceptions of this package.

    WhorlError
    ├── QueryError               the query cannot be registered
    │   ├── QuerySyntaxError     its text is invalid: line and column say where
    │   └── UnsupportedQueryError
    ├── UnknownQueryError        it was unregistered, or never registered
    ├── QueryFailedError         an error stopped it
    ├── UnknownStreamError
    ├── StreamExistsError        it is declared with other settings
    ├── IngestError              an event was refused, the engine is as before
    │   ├── RdfSyntaxError       its RDF is invalid: line and column say where
    │   └── TimestampError       it has no time, or an invalid one
    ├── DurationError            a text is not a duration; also a ValueError
    ├── GraphError               a static graph does not exist, or exists already
    └── EnginePanicError         a bug in the engine; please report it

Every exception carries a stable `code` such as `window.zero_width`.
"""

from __future__ import annotations

from typing import TypedDict, Unpack


class ErrorDetails(TypedDict, total=False):
    """The keywords of `WhorlError`, for subclasses that add one."""

    code: str
    hint: str | None
    line: int | None
    column: int | None
    index: int | None


class WhorlError(Exception):
    """The root of all exceptions of this package.

    `code` identifies the error for programs; `hint` suggests a fix, if there is one; `line` and `column` start at 1 and
    are None if there is no position. `index` is the number of the invalid event in a body of many, from 0.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        hint: str | None = None,
        line: int | None = None,
        column: int | None = None,
        index: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint
        self.line = line
        self.column = column
        self.index = index

    def __str__(self) -> str:
        """The message, the position and the hint."""
        place = "" if self.line is None else f" at line {self.line}, column {self.column}"
        hint = "" if self.hint is None else f"\nhint: {self.hint}"
        return f"{self.message}{place}{hint}"


class QueryError(WhorlError):
    """The query cannot be registered."""


class QuerySyntaxError(QueryError):
    """The text of the query is invalid."""


class UnsupportedQueryError(QueryError):
    """The query is well formed, but uses a feature that this engine does not support."""


class UnknownQueryError(WhorlError):
    """The query was unregistered, or never registered."""


class QueryFailedError(WhorlError):
    """An error stopped the query while it ran; other queries continue."""


class StreamExistsError(WhorlError):
    """The stream is declared already, with other settings."""


class UnknownStreamError(WhorlError):
    """The stream is not declared, and no query reads it; `stream` is its IRI."""

    def __init__(self, message: str, *, stream: str | None = None, **details: Unpack[ErrorDetails]) -> None:
        super().__init__(message, **details)
        self.stream = stream


class IngestError(WhorlError):
    """An event was refused; the engine has not changed."""


class RdfSyntaxError(IngestError):
    """The RDF of an event or of static data is invalid."""


class TimestampError(IngestError):
    """An event has no time, or an invalid one."""


class DurationError(WhorlError, ValueError):
    """The text is not a duration."""


class GraphError(WhorlError):
    """A static graph does not exist, exists already, or is not the one in the document; nothing has changed."""


class EnginePanicError(WhorlError):
    """A bug in the engine. The process and the other queries continue."""
