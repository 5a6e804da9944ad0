"""Problems as the server tells them: RFC 9457 documents with a stable `type` slug.

Services and routes raise `Problem`; exceptions of the engine become one by `problem_of`, in one table.
"""

from __future__ import annotations

from typing import Any

from pydantic.alias_generators import to_camel

from whorl import errors

TYPE_BASE = "urn:whorl:problem:"
MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """An answer that says what is wrong: a slug for programs, a sentence for people, and what to do."""

    def __init__(
        self,
        slug: str,
        status: int,
        detail: str,
        *,
        hint: str | None = None,
        retry_after_s: int | None = None,
        **members: Any,  # noqa: ANN401 - further members of the document are JSON of any kind
    ) -> None:
        super().__init__(detail)
        self.slug = slug
        self.status = status
        self.detail = detail
        self.hint = hint
        self.retry_after_s = retry_after_s
        self.members = members

    def document(self) -> dict[str, Any]:
        """The problem document."""
        fixed = {"type": TYPE_BASE + self.slug, "title": self.slug.replace("-", " "), "status": self.status}
        hint = {} if self.hint is None else {"hint": self.hint}
        further = {key: value for key, value in self.members.items() if value is not None}
        return {**fixed, "detail": self.detail, **hint, **further}


# By code of the engine where one class of exceptions has several meanings for HTTP.
_BY_CODE: dict[str, tuple[str, int]] = {
    "query.too_costly": ("query-too-costly", 422),
    "query.output_taken": ("output-taken", 409),
    "query.cycle": ("query-cycle", 422),
    "stream.output": ("stream-is-output", 409),
    "timestamp.missing": ("timestamp-missing", 422),
    "timestamp.invalid": ("timestamp-invalid", 422),
    "timestamp.too_far_ahead": ("timestamp-too-far-ahead", 422),
    "watermark.regression": ("watermark-regression", 409),
    "graph.unknown": ("unknown-graph", 404),
    "graph.exists": ("graph-exists", 409),
    "graph.many": ("graph-of-graphs", 400),
    "iri.invalid": ("iri-invalid", 400),
    "arrow.unreadable": ("arrow-unreadable", 400),
    "update.failed": ("update-failed", 422),
    "query.answer_not_kept": ("answer-not-kept", 409),
    "window.not_kept": ("window-not-kept", 409),
}

_BY_CLASS: tuple[tuple[type[errors.WhorlError], str, int], ...] = (
    (errors.QuerySyntaxError, "query-syntax", 400),
    (errors.UnsupportedQueryError, "unsupported-feature", 422),
    (errors.UnknownQueryError, "unknown-query", 404),
    (errors.QueryFailedError, "query-failed", 409),
    (errors.UnknownStreamError, "unknown-stream", 404),
    (errors.StreamExistsError, "stream-exists-differently", 409),
    (errors.RdfSyntaxError, "rdf-syntax", 400),
    (errors.IngestError, "event-refused", 422),
    (errors.GraphError, "graph-refused", 409),
    (errors.EnginePanicError, "engine-fault", 500),
    (errors.WhorlError, "refused", 422),
)


def problem_of(error: errors.WhorlError, text: str | None = None) -> Problem:
    """The problem that an exception of the engine is; `text` gives the snippet its position points into."""
    slug, status = _BY_CODE.get(error.code) or _by_family(error.code) or _by_class(error)
    return Problem(
        slug,
        status,
        _as_json_names(error.message),
        hint=None if error.hint is None else _as_json_names(error.hint),
        code=error.code or None,
        line=error.line,
        column=error.column,
        index=getattr(error, "index", None),
        snippet=None if text is None or error.line is None else _line(text, error.line),
    )


def _as_json_names(text: str) -> str:
    """Options as requests spell them; the engine speaks of its own."""
    for name in ("keep_answer", "keep_windows", "allow_cartesian"):
        text = text.replace(name, to_camel(name))
    return text


def _by_family(code: str) -> tuple[str, int] | None:
    # The engine finds some of these while it reads the text; they are no mistakes in it.
    return ("unsupported-feature", 422) if code.startswith("unsupported.") else None


def _by_class(error: errors.WhorlError) -> tuple[str, int]:
    return next((slug, status) for kind, slug, status in _BY_CLASS if isinstance(error, kind))


def _line(text: str, number: int) -> str | None:
    lines = text.splitlines()
    return lines[number - 1][:200] if 0 < number <= len(lines) else None
