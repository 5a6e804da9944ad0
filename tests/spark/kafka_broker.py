"""A real Kafka broker for tests: one node that is its own controller (KRaft), on loopback.

Its jars, and those of Spark's connector, come from Maven Central by plain `mvn`, once, into a directory outside of the
checkout: `$WHORL_KAFKA_JARS`, or `whorl-tests/kafka` in the user's cache.
"""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import time
import uuid
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

KAFKA = "4.1.0"
# The newest of each that is published; all of them run with Spark 4.3.
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
_START_SECONDS = 120
_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>whorl.tests</groupId><artifactId>{name}</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>
"""
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
_SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={logs}
num.partitions=2
log.retention.ms=-1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class JarsMissingError(RuntimeError):
    """The jars cannot be had."""


def broker_jars() -> Path:
    """The broker and all it needs."""
    return _fetched("broker", [f"org.apache.kafka:kafka_2.13:{KAFKA}"], alone=False)


def connector_jars() -> list[Path]:
    """What Spark needs to read from Kafka."""
    return sorted(_fetched("connector", CONNECTOR, alone=True).glob("*.jar"))


@dataclass
class Broker:
    """A broker that runs until it is stopped."""

    directory: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        """How clients find it."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> Broker:
        """Format its storage, start it, and wait until it takes connections."""
        self.port, controller = _free_port(), _free_port()
        settings = self.directory / "server.properties"
        settings.write_text(_SETTINGS.format(port=self.port, controller=controller, logs=self.directory / "logs"))
        java = ["java", "-Xmx384m", "-cp", f"{broker_jars()}/*"]
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        formatting = [*java, "kafka.tools.StorageTool", "format", "--standalone", "-t", cluster, "-c", str(settings)]
        subprocess.run(formatting, check=True, capture_output=True, timeout=_START_SECONDS)
        with (self.directory / "broker.log").open("wb") as log:
            self.process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        self._wait()
        return self

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                break
            with closing(socket.socket()) as connection:
                if connection.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        self.stop()
        raise RuntimeError("the broker did not start:\n" + (self.directory / "broker.log").read_text()[-2000:])


def _free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("WHORL_KAFKA_JARS") or Path(home) / "whorl-tests" / "kafka")


def _fetched(name: str, artifacts: list[str] | tuple[str, ...], *, alone: bool) -> Path:
    """Jars by their names in Maven, with all they need or alone. A directory is there as a whole or not at all."""
    wanted = "\n".join(artifacts)
    target = _cache() / name
    if (target / "artifacts").exists() and (target / "artifacts").read_text() == wanted:
        return target
    if shutil.which("mvn") is None:
        raise JarsMissingError("the jars of Kafka come by `mvn`, and there is none")
    coming = _cache() / f"{name}.{os.getpid()}"
    coming.mkdir(parents=True)
    (coming / "pom.xml").write_text(_PROJECT.format(name=name, dependencies=_dependencies(artifacts, alone=alone)))
    copy = ["mvn", "-q", "-B", "-f", str(coming / "pom.xml"), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*copy, f"-DoutputDirectory={coming}"], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        shutil.rmtree(coming)
        told = next((line for line in done.stdout.splitlines() if "ERROR" in line), "")
        raise JarsMissingError(f"mvn cannot fetch the jars of Kafka: {told}")
    (coming / "artifacts").write_text(wanted)
    shutil.rmtree(target, ignore_errors=True)
    coming.rename(target)
    return target


def _dependencies(artifacts: list[str] | tuple[str, ...], *, alone: bool) -> str:
    found = ""
    for artifact in artifacts:
        group, name, version = artifact.split(":")
        parts = f"<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        found += f"<dependency>{parts}{_ALONE if alone else ''}</dependency>"
    return found
