"""The producers, by name. Each is a module with a constant `JOB`, and also a script for `spark-submit`."""

from __future__ import annotations

import importlib

from whorl.spark.errors import WhorlSparkError
from whorl.spark.jobs.job import Job, JobOptions, Output

__all__ = ["NAMES", "Job", "JobOptions", "Output", "find"]

# In the order of `whorl spark list`.
_MODULES = {
    "taxi": "taxi",
    "taxi-trips": "taxi_trips",
    "weather": "weather",
    "conference": "conference",
    "social": "social",
    "city": "city",
    "files": "files",
    "kafka": "kafka",
}
NAMES = tuple(_MODULES)


def find(name: str) -> Job:
    """The producer of that name."""
    if name not in _MODULES:
        raise WhorlSparkError(f"there is no producer '{name}'", f"one of {', '.join(NAMES)}")
    found: Job = importlib.import_module(f"whorl.spark.jobs.{_MODULES[name]}").JOB
    return found
