"""Errors of a job as one paragraph, instead of the stack traces of three processes.

A Python worker raises `WhorlSparkError`. Spark carries it to the driver as text, inside traces of Python and the JVM.
`plain_errors` extracts the paragraph and raises it again, alone.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.query import StreamingQuery
    from whorl_client import ProblemError

# From the name of the exception to the first line that Spark has added.
_OURS = re.compile(r"WhorlSparkError: (.+?)(?=\n\s*\n|\n\s+at |\n ?SQLSTATE|\n===|\nDriver stacktrace|\Z)", re.DOTALL)

_HINT = "\nhint: "


class WhorlSparkError(Exception):
    """A job cannot continue; the message says why, and what to do about it.

    `is_final`: a retry elsewhere cannot help.
    """

    def __init__(self, message: str, hint: str | None = None, *, is_final: bool = True) -> None:
        # An empty line would end the paragraph.
        self.message = "\n".join(line for line in message.splitlines() if line.strip())
        self.hint = hint
        self.is_final = is_final
        super().__init__(self.message if hint is None else f"{self.message}{_HINT}{hint}")

    @classmethod
    def of_paragraph(cls, paragraph: str) -> Self:
        """The error with this text: Spark passes only text from a worker to the driver."""
        message, _, hint = paragraph.partition(_HINT)
        return cls(message, hint or None)


def refused(doing: str, problem: ProblemError) -> WhorlSparkError:
    """The server's refusal, by its title, detail and hint."""
    title = problem.document.get("title") or problem.slug or f"status {problem.status}"
    return WhorlSparkError(f"{doing}: {title}: {problem}", is_final=problem.status not in {429, 503})


def whorl_error_in(error: BaseException) -> WhorlSparkError | None:
    """The paragraph inside an exception of Spark, if one of ours is its cause."""
    found = _OURS.findall(str(error))
    return WhorlSparkError.of_paragraph(found[-1].strip()) if found else None


# Spark's messages for faults that a user can fix, with the remedy.
_ADVICE = {
    "PATH_NOT_FOUND": "name a directory, a file or a pattern that is there; a path without a scheme is on this machine",
    "UNABLE_TO_INFER_SCHEMA": "is the directory empty, or are its files of another format?",
    "CONCURRENT_QUERY": "stop the other query, or give each its own checkpoint",
}


def spark_message(error: Exception) -> tuple[str, str | None]:
    """One line of Spark's message, without ids, plans and traces, and the remedy, if known."""
    lines = str(getattr(error, "java_exception", None) or error).strip().splitlines()
    said = next((line for line in lines if line.strip()), type(error).__name__)
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return f"Spark failed: {said.rpartition('terminated with exception: ')[2]}", _ADVICE.get(condition or "")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn failures caused by Whorl inside the block into a `WhorlSparkError` with one paragraph."""
    try:
        yield
    except PySparkException as error:
        found = whorl_error_in(error)
        if found is None:
            raise
        raise found from None


def await_termination(query: StreamingQuery, timeout_s: float | None = None) -> bool:
    """`query.awaitTermination`, with plain errors; False if it times out."""
    with plain_errors():
        if timeout_s is None:
            query.awaitTermination()
            return True
        return bool(query.awaitTermination(timeout_s))  # type: ignore[arg-type]  # Spark's stubs say int, a float works
