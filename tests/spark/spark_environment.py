"""What Spark needs around it: Java, and workers with this interpreter and these sources."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


def require_java() -> None:
    """Skip where Spark cannot start."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        pytest.skip("Spark needs Java 17: there is no `java` on PATH and JAVA_HOME is not set")


def worker_environment() -> dict[str, str]:
    """What Python workers need: this interpreter, and the sources of this checkout."""
    paths = [str(_ROOT / "server"), str(_ROOT / "clients" / "python" / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
