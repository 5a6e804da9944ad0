"""What a user is told when a job fails: one paragraph, not the traces of three processes.

A fault is found in a Python worker and raised there as `WhorlSparkError`. Spark carries it to the driver as text, with
traces of Python and the JVM around it. `plain_errors` finds the paragraph in there and raises it again, alone.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.query import StreamingQuery
    from whorl_client import ProblemError

# From the name of the exception to the first line that is no part of the message but Spark's.
_TOLD = re.compile(r"WhorlSparkError: (.+?)(?=\n\s*\n|\n\s+at |\n ?SQLSTATE|\n===|\nDriver stacktrace|\Z)", re.DOTALL)


class WhorlSparkError(Exception):
    """A job cannot go on; the message says why, and what to do about it.

    `is_final`: doing the same again elsewhere cannot help.
    """

    def __init__(self, message: str, hint: str | None = None, *, is_final: bool = True) -> None:
        # An empty line would end the paragraph.
        lines = [line for line in message.splitlines() if line.strip()]
        super().__init__("\n".join(lines if hint is None else [*lines, f"hint: {hint}"]))
        self.is_final = is_final


def refused(doing: str, problem: ProblemError) -> WhorlSparkError:
    """What the server said, by its title, detail and hint."""
    title = problem.document.get("title") or problem.slug or f"status {problem.status}"
    return WhorlSparkError(f"{doing}: {title}: {problem}", is_final=problem.status not in {429, 503})


def told_in(error: BaseException) -> WhorlSparkError | None:
    """The paragraph in an exception of Spark, if one of ours is its cause."""
    found = _TOLD.findall(str(error))
    return WhorlSparkError(found[-1].strip()) if found else None


@contextmanager
def plain_errors() -> Iterator[None]:
    """Inside, what fails because of Whorl raises `WhorlSparkError` with one paragraph."""
    try:
        yield
    except PySparkException as error:
        told = told_in(error)
        if told is None:
            raise
        raise told from None


def await_termination(query: StreamingQuery, timeout_s: float | None = None) -> bool:
    """`query.awaitTermination`, with plain errors; False when the time is over first."""
    with plain_errors():
        if timeout_s is None:
            query.awaitTermination()
            return True
        return bool(query.awaitTermination(timeout_s))  # type: ignore[arg-type]
