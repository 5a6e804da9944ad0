"""Options of sink and source as Spark passes them: strings with case-insensitive names."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from whorl._engine import parse_duration
from whorl.errors import DurationError
from whorl.spark.errors import WhorlSparkError

if TYPE_CHECKING:
    from collections.abc import Mapping

Compression = Literal["zstd", "lz4", "none"]
Reading = Literal["answer", "results"]

MIB = 1024 * 1024
# Half of the server's default limit, which leaves space for the envelope of the data.
BODY_BYTES = 4 * MIB
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

_SHARED = ("url", "token", "timeout", "patience")
SINK_NAMES = (
    *_SHARED, "stream", "mapping", "replaceMapping", "timeColumn", "producer", "batch", "createStream", "lateness",
    "watermarkDelay", "compression", "maxBodyBytes",
)  # fmt: skip
SOURCE_NAMES = (*_SHARED, "query", "startingFrom", "maxResultsPerBatch", "numPartitions", "allowGaps", "read")


@dataclass(frozen=True, slots=True)
class Connection:
    """The server's URL and token, and how long to retry."""

    url: str
    token: str | None
    timeout_s: float
    patience_s: float

    def __repr__(self) -> str:
        """Without the token: it must not reach a log."""
        return f"Connection({self.url!r})"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options of a sink."""

    connection: Connection
    stream: str
    mapping: str | None
    replace_mapping: bool
    time_column: str | None
    producer: str | None
    batch: int | None
    create_stream: bool
    lateness_ms: int | None
    watermark_delay_ms: int | None
    compression: Compression
    body_bytes_max: int

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Read the options, or raise an error that says what is wrong."""
        options = _Reader(given, SINK_NAMES)
        return cls(
            connection=options.connection(),
            stream=options.needed("stream", "the IRI of the stream to write"),
            mapping=_mapping_text(options.text("mapping")),
            replace_mapping=options.flag("replaceMapping"),
            time_column=options.text("timeColumn"),
            producer=options.text("producer"),
            batch=options.number("batch", None, least=0),
            create_stream=options.flag("createStream"),
            lateness_ms=options.milliseconds("lateness"),
            watermark_delay_ms=options.milliseconds("watermarkDelay"),
            compression=options.choice("compression", Compression, "zstd"),
            body_bytes_max=options.number("maxBodyBytes", BODY_BYTES, least=1024) or BODY_BYTES,
        )


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a source."""

    connection: Connection
    query: str
    starting_from: str
    results_max: int | None
    n_partitions: int
    allows_gaps: bool
    reading: Reading

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Read the options, or raise an error that says what is wrong."""
        options = _Reader(given, SOURCE_NAMES)
        return cls(
            connection=options.connection(),
            query=options.needed("query", "the name of a registered query"),
            starting_from=options.text("startingFrom") or "earliest",
            results_max=options.number("maxResultsPerBatch", None, least=1),
            n_partitions=options.number("numPartitions", 1, least=1) or 1,
            allows_gaps=options.flag("allowGaps"),
            reading=options.choice("read", Reading, "answer"),
        )


class _Reader:
    """Reads option values, and refuses names that look like typing errors."""

    def __init__(self, given: Mapping[str, str], names: tuple[str, ...]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        known = {name.lower(): name for name in names}
        # Spark adds options of its own, so only what is close to one of ours is refused.
        for name in self._given.keys() - known.keys():
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
            if close:
                raise WhorlSparkError(f"option '{name}' does not exist", f"did you mean '{known[close[0]]}'?")

    def text(self, name: str) -> str | None:
        return self._given.get(name.lower()) or None

    def needed(self, name: str, meaning: str) -> str:
        value = self.text(name)
        if value is None:
            raise WhorlSparkError(f"option '{name}' is missing", f"set it to {meaning}")
        return value

    def flag(self, name: str) -> bool:
        value = (self.text(name) or "false").lower()
        if value not in {"true", "false"}:
            raise WhorlSparkError(f"option '{name}' is '{value}'", "write true or false")
        return value == "true"

    def number(self, name: str, default: int | None, *, least: int) -> int | None:
        value = self.text(name)
        if value is None:
            return default
        if not value.isdecimal() or int(value) < least:
            raise WhorlSparkError(f"option '{name}' is '{value}'", f"write a whole number, at least {least}")
        return int(value)

    def seconds(self, name: str, default: float | None) -> float | None:
        value = self.text(name)
        if value is None:
            return default
        if _NUMBER.fullmatch(value.strip()):
            return float(value)
        try:
            return parse_duration(value) / 1000
        except DurationError as error:
            raise WhorlSparkError(f"option '{name}' is '{value}'", f"{error.hint}; a bare number is seconds") from error

    def milliseconds(self, name: str) -> int | None:
        seconds = self.seconds(name, None)
        return None if seconds is None else round(seconds * 1000)

    def choice(self, name: str, kind: object, default: str) -> Any:  # noqa: ANN401 - one of the words of `kind`
        value = (self.text(name) or default).lower()
        if value not in get_args(kind):
            raise WhorlSparkError(f"option '{name}' is '{value}'", f"choose one of {', '.join(get_args(kind))}")
        return value

    def connection(self) -> Connection:
        # Read on the driver: workers need not have it in their environment.
        token = self.text("token") or os.environ.get("WHORL_TOKEN") or None
        return Connection(
            self.needed("url", "the address of the server, such as 'http://localhost:8080'"),
            token,
            self.seconds("timeout", 60.0) or 60.0,
            self.seconds("patience", 60.0) or 0.0,
        )


def _mapping_text(value: str | None) -> str | None:
    """The CONSTRUCT itself, or of `@file` what is in the file."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise WhorlSparkError(f"option 'mapping' names the file '{value[1:]}', which cannot be read: {error}") from None
