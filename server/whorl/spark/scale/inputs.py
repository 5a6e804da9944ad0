"""The streams of a query on Spark: for each a DataFrame or files, and how rows become events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whorl.spark.scale.faults import ScaleError
from whorl.spark.scale.parquet import ParquetFiles
from whorl.spark.scale.route import ROUTED, RouteStage
from whorl.times import Duration, duration_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from whorl.spark.scale.spec import QuerySpec


@dataclass(frozen=True, slots=True)
class StreamInput:
    """A streaming DataFrame, or the files of a directory, as a stream of RDF.

    Without a mapping its rows are triples, in the columns `t`, `s`, `p`, `o` and, if there are, `datatype`, `lang`,
    `event`. With a SPARQL CONSTRUCT over the names of its columns, each row is an event. Times are in `time_column`:
    timestamps, or integers in milliseconds since the Unix epoch. If a stream lags behind the others by more than
    `idle_timeout` in event time after a micro-batch, it does not hold their windows back until its next event.
    Durations are milliseconds, timedeltas, or text such as `"10s"`.
    """

    frame: DataFrame | ParquetFiles
    mapping: str | None = None
    time_column: str = "t"
    lateness: Duration = 0
    timestamp_predicate: str | None = None
    idle_timeout: Duration | None = None

    @property
    def listing(self) -> DataFrame:
        """The frame that Spark reads: rows, or the names of files."""
        return self.frame.frame if isinstance(self.frame, ParquetFiles) else self.frame

    @property
    def columns(self) -> list[str]:
        """The columns that rows have."""
        return list(self.frame.rows.schema.names if isinstance(self.frame, ParquetFiles) else self.frame.columns)

    def stage(self, spec: QuerySpec, iri: str, idx: int) -> RouteStage:
        """Stage 1 for this stream."""
        files = self.frame.rows if isinstance(self.frame, ParquetFiles) else None
        return RouteStage(spec, iri, idx, self.mapping, self.time_column, files)

    def settings(self) -> dict[str, Any]:
        """The settings of the stream for the engine."""
        given = {
            "lateness_ms": duration_ms(self.lateness),
            "timestamp_predicate": self.timestamp_predicate,
            "idle_timeout_ms": None if self.idle_timeout is None else duration_ms(self.idle_timeout),
        }
        return {name: value for name, value in given.items() if value is not None}


def inputs_of(streams: Mapping[str, DataFrame | ParquetFiles | StreamInput]) -> dict[str, StreamInput]:
    """Plain frames become streams with default settings."""
    if not streams:
        raise ScaleError("a query needs a stream", code="spark.streams", hint="give streams={iri: DataFrame}")
    inputs = {iri: one if isinstance(one, StreamInput) else StreamInput(one) for iri, one in streams.items()}
    for iri, one in inputs.items():
        _check_frame(iri, one)
    return inputs


def check_streams(inputs: Mapping[str, StreamInput], wanted: list[str]) -> None:
    """Check that each stream of the query has a frame. Compiling the query has checked the converse."""
    for iri in wanted:
        if iri not in inputs:
            raise ScaleError(f"the query reads <{iri}>, which is not among the streams", code="spark.streams")


def routed(inputs: Mapping[str, StreamInput], spec: QuerySpec) -> DataFrame:
    """All streams after stage 1, as one DataFrame of chunks."""
    union: DataFrame | None = None
    for idx, (iri, one) in enumerate(sorted(inputs.items())):
        stage = one.stage(spec, iri, idx)
        # Spark requires a function and does not accept a callable object.
        chunks = one.listing.mapInArrow(lambda batches, stage=stage: stage(batches), ROUTED)  # type: ignore[misc]  # mypy cannot infer it
        union = chunks if union is None else union.union(chunks)
    assert union is not None, "inputs_of refuses an empty mapping"  # noqa: S101 - for mypy
    return union


def _check_frame(iri: str, one: StreamInput) -> None:
    if not one.listing.isStreaming:
        raise ScaleError(
            f"the DataFrame for <{iri}> is not a streaming DataFrame",
            code="spark.streams",
            hint="read it with spark.readStream, and run with trigger='available-now' to stop at its end",
        )
    wanted = [one.time_column] if one.mapping is not None else [one.time_column, "s", "p", "o"]
    missing = [name for name in wanted if name not in one.columns]
    if missing:
        raise ScaleError(
            f"the frame of <{iri}> has no column {missing[0]!r}",
            code="spark.columns",
            hint=f"its columns are {', '.join(one.columns)}; rows of other columns need a mapping",
        )
