"""Errors of a query on Spark, and their extraction from Spark's stack traces.

    WhorlError
    └── ScaleError
        └── CheckpointError      the checkpoint is another query's, damaged, or in use

Each has a `code`, and possibly a hint.
"""

from __future__ import annotations

import re

from whorl.errors import WhorlError
from whorl.spark.errors import WhorlSparkError

# The last line of a Python traceback inside a longer message: `package.module.NameError: what is wrong`.
_RAISED = re.compile(r"^\s*(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_OTHER_PYTHON = (
    "Spark's workers run a Python without it; set PYSPARK_PYTHON to one that has whorl[spark] before the session starts"
)
_HINT = re.compile(r"^\s*hint: (.+)$", re.MULTILINE)


class ScaleError(WhorlError):
    """A query cannot start or continue on Spark."""


class CheckpointError(ScaleError):
    """A checkpoint cannot be used."""


def cause_of(error: BaseException) -> WhorlError:
    """The cause of an error of Spark: the exception that a task or the driver raised, in its own words."""
    if isinstance(error, WhorlError):
        return error
    if isinstance(error, WhorlSparkError):
        return ScaleError(error.message, code="spark.failed", hint=error.hint)
    text = str(error)
    raised = [found for found in _RAISED.finditer(text) if found[1] not in _WRAPPERS]
    if not raised:
        said = text.strip().partition("\n")[0] or type(error).__name__
        return ScaleError(f"Spark stopped the query: {said}", code="spark.failed")
    # The first one is the innermost, because Spark wraps errors.
    hint = _HINT.search(text, raised[0].end())
    said_hint = _OTHER_PYTHON if raised[0][1] == "ModuleNotFoundError" else None if hint is None else hint[1].strip()
    return ScaleError(raised[0][2].strip(), code="spark.failed", hint=said_hint)


_WRAPPERS = {"PythonException", "SparkException", "StreamingQueryException", "Py4JJavaError", "Py4JException"}
