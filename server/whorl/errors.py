"""What can go wrong, as exceptions.

    WhorlError
    ├── QueryError               the query cannot be registered
    │   ├── QuerySyntaxError     its text is wrong: line and column say where
    │   └── UnsupportedQueryError
    ├── UnknownQueryError        it was unregistered, or never registered
    ├── QueryFailedError         it was stopped by a fault
    ├── UnknownStreamError
    ├── StreamExistsError        it is declared with other settings
    ├── IngestError              an event was refused, the engine is as before
    │   ├── RdfSyntaxError       its RDF is wrong: line and column say where
    │   └── TimestampError       it has no time, or one that makes no sense
    ├── GraphError               a static graph that should exist does not, or the other way round
    └── EnginePanicError         a fault of the engine; please report it

Every exception carries a stable `code` such as `window.zero_width`.
"""

from __future__ import annotations


class WhorlError(Exception):
    """The root of all exceptions of this package.

    `code` names the kind of fault for programs; `hint` says what could be done instead, where that is known;
    `line` and `column` start at 1 and are None where a position makes no sense. `index` is the number of the event in
    a body of many, from 0, where one of them is wrong.
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
        """The message, where, and what to do about it."""
        place = "" if self.line is None else f" at line {self.line}, column {self.column}"
        hint = "" if self.hint is None else f"\nhint: {self.hint}"
        return f"{self.message}{place}{hint}"


class QueryError(WhorlError):
    """The query cannot be registered."""


class QuerySyntaxError(QueryError):
    """The text of the query is wrong."""


class UnsupportedQueryError(QueryError):
    """The query is well formed, and asks for something this engine does not do."""


class UnknownQueryError(WhorlError):
    """The query was unregistered, or never registered."""


class QueryFailedError(WhorlError):
    """The query was stopped by a fault while it ran; others go on."""


class StreamExistsError(WhorlError):
    """The stream is declared already, with other settings."""


class UnknownStreamError(WhorlError):
    """No query reads this stream and nobody declared it."""


class IngestError(WhorlError):
    """An event was refused; the engine is as it was before."""


class RdfSyntaxError(IngestError):
    """The RDF of an event or of static data is wrong."""


class TimestampError(IngestError):
    """An event has no time, or one that makes no sense."""


class GraphError(WhorlError):
    """A static graph does not exist, exists already, or is not the one the document is about; nothing has changed."""


class EnginePanicError(WhorlError):
    """A fault of the engine itself. The process and the other queries go on."""
