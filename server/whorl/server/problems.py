"""Problem documents (RFC 9457) with a stable `type` slug, for HTTP and WebSocket.

The tables below are the only place that knows a status or a slug. To add a problem: a class in `errors`, a row here.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from whorl import errors as engine
from whorl.options import NAMES_BY_JSON
from whorl.server import errors
from whorl.server.errors import DomainError, EngineRefusal

TYPE_BASE = "urn:whorl:problem:"
MEDIA_TYPE = "application/problem+json"


class ProblemType(NamedTuple):
    """The last part of `type`, which is stable, and the status."""

    slug: str
    status: int

    @property
    def title(self) -> str:
        """The slug in words."""
        return self.slug.replace("-", " ")


TABLE: dict[type[DomainError], ProblemType] = {
    kind: ProblemType(slug, status)
    for kind, slug, status in (
        (errors.UnknownStreamError, "unknown-stream", 404),
        (errors.UndeclaredStreamError, "unknown-stream", 422),
        (errors.UnknownQueryError, "unknown-query", 404),
        (errors.UnknownGraphError, "unknown-graph", 404),
        (errors.UnknownMappingError, "unknown-mapping", 404),
        (errors.StreamExistsError, "stream-exists-differently", 409),
        (errors.StreamInUseError, "stream-in-use", 409),
        (errors.StreamIsOutputError, "stream-is-output", 409),
        (errors.StreamClosedError, "stream-closed", 409),
        (errors.QueryExistsError, "query-exists-differently", 409),
        (errors.QueryNotRunningError, "query-not-running", 409),
        (errors.OutputDeclaredError, "output-declared", 409),
        (errors.OutputInUseError, "output-in-use", 409),
        (errors.ProducerFencedError, "producer-fenced", 409),
        (errors.ProducerGapError, "producer-gap", 409),
        (errors.UnknownStageError, "unknown-stage", 404),
        (errors.TooManyStreamsError, "too-many-streams", 429),
        (errors.TooManyQueriesError, "too-many-queries", 429),
        (errors.TooManyRegistrationsError, "too-many-registrations", 429),
        (errors.TooManySubscribersError, "too-many-subscribers", 429),
        (errors.TooManySubscriptionsError, "too-many-subscriptions", 429),
        (errors.TooManyTokensError, "too-many-tokens", 429),
        (errors.TooManyTicketsError, "too-many-tickets", 429),
        (errors.OverloadedError, "overloaded", 429),
        (errors.BodyTooLargeError, "body-too-large", 413),
        (errors.InvalidNameError, "name-invalid", 400),
        (errors.InvalidIriError, "iri-invalid", 400),
        (errors.InvalidInstantError, "timestamp-invalid", 422),
        (errors.InvalidDurationError, "duration-invalid", 400),
        (errors.InvalidMembersError, "request-invalid", 422),
        (errors.UnknownOptionError, "option-unknown", 400),
        (errors.EmptyQueryError, "query-syntax", 400),
        (errors.InvalidResultTokenError, "token-invalid", 400),
        (errors.ExpiredResultTokenError, "token-expired", 410),
        (errors.NoQueryNamedError, "query-missing", 400),
        (errors.QueryElsewhereError, "query-elsewhere", 400),
        (errors.UnauthenticatedError, "unauthenticated", 401),
        (errors.ForbiddenError, "forbidden", 403),
        (errors.UnknownTokenError, "unknown-token", 404),
        (errors.NoDemoError, "no-demo", 404),
        (errors.NotReadyError, "not-ready", 503),
        (errors.WriteFailedError, "store-failed", 503),
        (errors.UnknownOutcomeError, "outcome-unknown", 503),
        (errors.StageDamagedError, "stage-damaged", 503),
        (errors.BackupFailedError, "backup-failed", 503),
        (errors.ServerFaultError, "server-fault", 500),
        (errors.HostNotAllowedError, "host-not-allowed", 421),
        (errors.OriginNotAllowedError, "origin-not-allowed", 403),
        (errors.MediaTypeError, "media-type-not-supported", 415),
        (errors.CharsetError, "charset-not-supported", 415),
        (errors.EncodingError, "encoding-not-supported", 415),
        (errors.NotAcceptableError, "not-acceptable", 406),
        (errors.BodyTooSlowError, "body-too-slow", 408),
        (errors.InflatesTooMuchError, "inflates-too-much", 413),
        (errors.BrokenGzipError, "gzip-broken", 400),
        (errors.NotUtf8Error, "not-utf-8", 400),
        (errors.JsonSyntaxError, "json-syntax", 400),
        (errors.BrokenFormError, "form-broken", 400),
        (errors.BrokenMultipartError, "multipart-broken", 400),
        (errors.OperationCountError, "operation-not-one", 400),
        (errors.GraphNotNamedError, "graph-not-named", 400),
        (errors.InvalidProducerError, "producer-invalid", 400),
    )
}

# Refusals by the engine: by code if one class of exceptions has several meanings, otherwise by class.
_BY_CODE: dict[str, ProblemType] = {
    "query.too_costly": ProblemType("query-too-costly", 422),
    "query.output_taken": ProblemType("output-taken", 409),
    "query.output_declared": ProblemType("output-declared", 409),
    "query.cycle": ProblemType("query-cycle", 422),
    "stream.output": ProblemType("stream-is-output", 409),
    "timestamp.missing": ProblemType("timestamp-missing", 422),
    "timestamp.invalid": ProblemType("timestamp-invalid", 422),
    "watermark.regression": ProblemType("watermark-regression", 409),
    "graph.unknown": ProblemType("unknown-graph", 404),
    "graph.exists": ProblemType("graph-exists", 409),
    "graph.many": ProblemType("graph-of-graphs", 400),
    "iri.invalid": ProblemType("iri-invalid", 400),
    "arrow.unreadable": ProblemType("arrow-unreadable", 400),
    "update.failed": ProblemType("update-failed", 422),
    "query.answer_not_kept": ProblemType("answer-not-kept", 409),
    "window.not_kept": ProblemType("window-not-kept", 409),
}
_UNSUPPORTED = ProblemType("unsupported-feature", 422)
_BY_CLASS: tuple[tuple[type[engine.WhorlError], ProblemType], ...] = (
    (engine.QuerySyntaxError, ProblemType("query-syntax", 400)),
    (engine.UnsupportedQueryError, _UNSUPPORTED),
    (engine.UnknownQueryError, ProblemType("unknown-query", 404)),
    (engine.QueryFailedError, ProblemType("query-failed", 409)),
    (engine.UnknownStreamError, ProblemType("unknown-stream", 404)),
    (engine.StreamExistsError, ProblemType("stream-exists-differently", 409)),
    (engine.RdfSyntaxError, ProblemType("rdf-syntax", 400)),
    (engine.IngestError, ProblemType("event-refused", 422)),
    (engine.GraphError, ProblemType("graph-refused", 409)),
    (engine.EnginePanicError, ProblemType("engine-fault", 500)),
    (engine.WhorlError, ProblemType("refused", 422)),
)
# Refusals by the framework before a route is found.
_BY_STATUS = {
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    413: "body-too-large",
    415: "not-read",
}
# Options whose names in the engine's messages differ from those in JSON; none of them is an English word.
_NAMES_IN_JSON = {name: in_json for in_json, name in NAMES_BY_JSON.items() if name != in_json}
_ENGINE_OPTION = re.compile(rf"\b(?:{'|'.join(_NAMES_IN_JSON)})\b")


def all_types() -> set[ProblemType]:
    """Every type that a document can have, for the reference."""
    of_engine = {*_BY_CODE.values(), *(kind for _, kind in _BY_CLASS)}
    return {*TABLE.values(), *of_engine, *(of_status(status) for status in _BY_STATUS)}


def problem_type(error: DomainError) -> ProblemType:
    """The type and the status of a refusal."""
    return _of_engine(error.error) if isinstance(error, EngineRefusal) else TABLE[type(error)]


def of_status(status: int) -> ProblemType:
    """The type of a refusal with a known status and nothing else."""
    return ProblemType(_BY_STATUS.get(status, "refused"), status)


def document(error: DomainError) -> dict[str, Any]:
    """The problem document of a refusal."""
    said = _as_json_names if isinstance(error, EngineRefusal) else str
    hint = {} if error.hint is None else {"hint": said(error.hint)}
    members = {name: _json(value) for name, value in error.members.items() if value is not None}
    return {**head(problem_type(error)), "detail": said(error.detail), **hint, **members}


def head(kind: ProblemType) -> dict[str, Any]:
    """The members that every document of one type shares."""
    return {"type": TYPE_BASE + kind.slug, "title": kind.title, "status": kind.status}


def _of_engine(error: engine.WhorlError) -> ProblemType:
    if (found := _BY_CODE.get(error.code)) is not None:
        return found
    # The engine finds some of these while it parses, but they are not syntax errors.
    if error.code.startswith("unsupported."):
        return _UNSUPPORTED
    return next(kind for known, kind in _BY_CLASS if isinstance(error, known))


def _json(value: Any) -> Any:  # noqa: ANN401 - JSON of any kind
    return document(value) if isinstance(value, DomainError) else value


def _as_json_names(text: str) -> str:
    """A message with options as requests spell them."""
    return _ENGINE_OPTION.sub(lambda found: _NAMES_IN_JSON[found[0]], text)
