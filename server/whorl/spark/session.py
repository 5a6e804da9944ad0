"""The Spark session of a command: created here, or prepared by `spark-submit`."""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.spark.errors import WhorlSparkError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[2]"
_LOGGING = Path(__file__).with_name("log4j2.properties")
# Set by spark-submit, which then provides the master, the name and the packages.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"


@contextmanager
def opened_session(
    name: str, master: str | None, packages: Sequence[str] = (), jars: Sequence[str] = ()
) -> Iterator[SparkSession]:
    """A session on a master, with the Maven packages or the jars that a producer needs; stopped if it was made here."""
    require_java()
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    session = _open(name, master, packages, jars) if there is None else there
    try:
        yield session
    finally:
        if there is None:
            session.stop()


def _open(name: str, master: str | None, packages: Sequence[str], jars: Sequence[str]) -> SparkSession:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    # No code here uses pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    builder = SparkSession.builder
    if _SUBMITTED not in os.environ:
        chosen = master or DEFAULT_MASTER
        builder = builder.appName(name).master(chosen).config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}")
        if chosen.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            builder = builder.config("spark.driver.host", "127.0.0.1")
        if packages:
            builder = builder.config("spark.jars.packages", ",".join(versioned(package) for package in packages))
        if jars:
            builder = builder.config("spark.jars", ",".join(jars))
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        # Times without a zone are in UTC, wherever the job runs.
        builder = builder.config("spark.sql.session.timeZone", "UTC")
        # A restarted job with nothing left to do ends at once.
        builder = builder.config("spark.sql.streaming.noDataProgressEventInterval", "1000")
    elif master is not None or jars:
        raise WhorlSparkError("options --master and --jars are given to spark-submit itself, before the file")
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        wanted = ", ".join(versioned(package) for package in packages)
        hint = f"could Maven find {wanted}? name another version with --packages, or files with --jars"
        raise WhorlSparkError(
            f"Spark did not start: {error.getCondition() or error}", hint if wanted else None
        ) from None


def versioned(package: str) -> str:
    """A Maven package of Spark, by default in the version of the running Spark."""
    return package if package.count(":") > 1 else f"{package}:{version('pyspark')}"


def require_java() -> None:
    """Report missing requirements before Spark fails with a message of its own."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise WhorlSparkError("Spark needs Java, and there is none", "install Java 17, or set JAVA_HOME")
