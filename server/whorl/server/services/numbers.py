"""Prometheus metrics of the server, read from counters that exist elsewhere.

The time of a query is that of its evaluations; reading events and writing results count only towards the total
(`whorl_apply_…`).
"""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from whorl import __version__
from whorl.documents import shown_instant
from whorl.server.runtime.runtime import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.documents import EngineStats
    from whorl.server.durations import Durations
    from whorl.server.runtime.core import Core
    from whorl.server.runtime.runtime import Runtime
    from whorl.server.services.ingest import Ingest
    from whorl.server.services.rings import Rings
    from whorl.server.services.traffic import Traffic

_STREAM_COUNTERS: dict[Literal["events", "triples", "late"], str] = {
    "events": "events taken",
    "triples": "triples taken",
    "late": "late events",
}
_LATENCY = "seconds until the response to a request; without feeds, whose responses last as long as the subscription"


@dataclass(frozen=True, slots=True)
class Reading:
    """The engine's counters, and the names of its queries."""

    stats: EngineStats
    seconds: dict[int, float]
    names: dict[int, str]

    @classmethod
    def of(cls, core: Core) -> Reading:
        """Read them on the engine's thread."""
        names = {entry.number: entry.name for entry in core.queries.values() if entry.number is not None}
        return cls(core.engine.stats(), core.engine.evaluation_seconds(), names)


class Numbers(Collector):
    """A collector for one reading of all metrics."""

    def __init__(self, runtime: Runtime, rings: Rings, ingest: Ingest, traffic: Traffic, reading: Reading) -> None:
        self._runtime = runtime
        self._rings = rings
        self._ingest = ingest
        self._traffic = traffic
        self._stats = reading.stats
        self._seconds = reading.seconds
        self._names = reading.names

    def collect(self) -> Iterator[Metric]:
        """All families."""
        yield from self._of_runtime()
        yield from self._of_engine()
        yield from self._of_requests()
        yield from self._of_streams()
        yield from self._of_queries()
        yield from self._of_readers()

    def _of_runtime(self) -> Iterator[Metric]:
        runtime, counted = self._runtime, self._runtime.metrics
        version = GaugeMetricFamily("whorl_build_info", "1; versions are labels", labels=["version", "python"])
        yield _family(version, [((__version__, platform.python_version()), 1)])
        yield _gauge("whorl_ready", "1 when the server accepts commands", float(runtime.state == "ready"))
        yield _counter("whorl_commands", "commands applied or refused", counted.commands)
        yield _counter("whorl_commands_refused", "commands refused", counted.refused)
        yield _counter("whorl_batches", "batches of commands", counted.batches)
        yield _counter("whorl_commits", "commits of the log", counted.commits)
        yield _counter("whorl_commit_seconds", "seconds spent in commits", counted.commit_seconds)
        yield _histogram("whorl_commit_duration_seconds", "seconds of one commit", counted.commit_durations)
        yield _counter("whorl_snapshots", "snapshots taken", counted.snapshots)
        yield _gauge("whorl_recovery_seconds", "seconds of the last recovery", counted.recovery_seconds)
        yield _gauge("whorl_log_bytes", "bytes of the log since the last snapshot", runtime.log_bytes)
        yield _gauge("whorl_store_bytes", "bytes of the store on the disk", runtime.store_bytes)
        yield _counter("whorl_store_failures", "batches that the store could not write", counted.store_failures)
        yield from self._of_disk()
        yield _gauge("whorl_queue_bytes", "bytes of commands that wait or are under way", runtime.queue_bytes)
        limit = runtime.settings.queue_bytes_max
        yield _gauge(
            "whorl_queue_bytes_max", "limit of the command queue in bytes; commands beyond it are refused", limit
        )

    def _of_disk(self) -> Iterator[Metric]:
        usage = shutil.disk_usage(self._runtime.settings.data_dir)
        yield _gauge("whorl_disk_bytes", "bytes of the disk that the data directory is on", usage.total)
        yield _gauge("whorl_disk_free_bytes", "bytes of it that are free", usage.free)

    def _of_engine(self) -> Iterator[Metric]:
        counted, stats = self._runtime.metrics, self._stats
        yield _counter("whorl_apply_seconds", "seconds spent in the engine", counted.apply_seconds)
        yield _histogram("whorl_apply_duration_seconds", "seconds of one batch in the engine", counted.apply_durations)
        yield _counter("whorl_results", "results of all queries", counted.envelopes)
        yield _gauge("whorl_engine_state_size", "mappings and terms in the engine's state", stats["state_size"])
        yield _gauge("whorl_engine_stream_terms", "stream terms in the engine's state", stats["stream_terms"])
        yield _gauge("whorl_engine_static_triples", "triples in static graphs", stats["static_triples"])
        evaluations = sum(int(row.get("evaluations", 0)) for row in stats["queries"])
        yield _counter("whorl_evaluations", "evaluations of running queries", evaluations)

    def _of_requests(self) -> Iterator[Metric]:
        answered = self._traffic.answered.items()
        yield _family(
            CounterMetricFamily("whorl_requests", "requests with a response", labels=["method", "part", "code"]),
            (((method, part, str(code)), count) for (method, part, code), count in answered),
        )
        latency = HistogramMetricFamily("whorl_request_duration_seconds", _LATENCY, labels=["method", "part"])
        for kind, durations in self._traffic.durations.items():
            latency.add_metric(list(kind), durations.buckets(), durations.total_s)
        yield latency

    def _of_streams(self) -> Iterator[Metric]:
        streams = self._stats["streams"]
        for name, meaning in _STREAM_COUNTERS.items():
            yield _family(
                CounterMetricFamily(f"whorl_stream_{name}", meaning, labels=["stream"]),
                (((row["stream"],), row[name]) for row in streams),
            )
        refusals = {row["stream"]: self._ingest.refusals(row["stream"]) for row in streams}
        yield _family(
            CounterMetricFamily("whorl_stream_refused", "bodies and single events refused", labels=["stream"]),
            (((iri,), one.refused) for iri, one in refusals.items()),
        )
        yield _family(
            CounterMetricFamily("whorl_stream_ahead", "events set aside as too far ahead", labels=["stream"]),
            (((iri,), one.ahead) for iri, one in refusals.items()),
        )
        marks = {row["stream"]: at for row in streams if (at := shown_instant(row["watermark"])) is not None}
        yield from _marks("stream", marks)

    def _of_queries(self) -> Iterator[Metric]:
        rows = [(self._names[row["query"]], row) for row in self._stats["queries"] if row["query"] in self._names]
        yield _family(
            CounterMetricFamily("whorl_query_evaluations", "evaluations of the query", labels=["query"]),
            (((name,), row["evaluations"]) for name, row in rows),
        )
        yield _family(
            CounterMetricFamily("whorl_query_evaluation_seconds", "seconds spent on the query", labels=["query"]),
            (((name,), self._seconds[row["query"]]) for name, row in rows),
        )
        yield _family(
            GaugeMetricFamily("whorl_query_state_size", "mappings, rows and groups of the query", labels=["query"]),
            (((name,), row["state_size"]) for name, row in rows),
        )
        yield _family(
            CounterMetricFamily(
                "whorl_query_dropped_results", "results dropped before they were read", labels=["query"]
            ),
            (((name,), row["dropped_results"]) for name, row in rows),
        )
        marks = {ring.query: at for ring in self._rings if (at := shown_instant(ring.watermark)) is not None}
        yield from _marks("query", marks)

    def _of_readers(self) -> Iterator[Metric]:
        rings = list(self._rings)
        yield _gauge("whorl_subscribers", "connected readers", self._rings.connected)
        yield _gauge("whorl_rings_bytes", "bytes of results in the rings", sum(ring.bytes for ring in rings))
        yield _family(
            GaugeMetricFamily("whorl_query_last_seq", "sequence number of the newest result", labels=["query"]),
            (((ring.query,), ring.next_seq - 1) for ring in rings),
        )
        yield _family(
            GaugeMetricFamily("whorl_query_failed", "1 when the query has failed", labels=["query"]),
            (((ring.query,), float(ring.state == "failed")) for ring in rings),
        )
        yield _family(
            GaugeMetricFamily("whorl_query_subscribers", "readers of the query", labels=["query"]),
            (((ring.query,), len(ring.readers)) for ring in rings),
        )
        yield _family(
            GaugeMetricFamily("whorl_query_ring_bytes", "bytes of results in the rings", labels=["query"]),
            (((ring.query,), ring.bytes) for ring in rings),
        )


def _marks(what: str, marks: dict[str, int]) -> Iterator[Metric]:
    """Watermarks as times, and their distance from the clock."""
    now = now_ms()
    yield _family(
        GaugeMetricFamily(f"whorl_{what}_watermark_seconds", "watermark, in seconds since 1970", labels=[what]),
        (((name,), at / 1000) for name, at in marks.items()),
    )
    yield _family(
        GaugeMetricFamily(f"whorl_{what}_watermark_lag_seconds", "clock minus watermark", labels=[what]),
        (((name,), (now - at) / 1000) for name, at in marks.items()),
    )


def _counter(name: str, meaning: str, value: float) -> Metric:
    return CounterMetricFamily(name, meaning, value=value)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _histogram(name: str, meaning: str, durations: Durations) -> Metric:
    return HistogramMetricFamily(name, meaning, buckets=durations.buckets(), sum_value=durations.total_s)


def _family(
    family: CounterMetricFamily | GaugeMetricFamily, samples: Iterable[tuple[tuple[str, ...], float]]
) -> CounterMetricFamily | GaugeMetricFamily:
    for labels, value in samples:
        family.add_metric(list(labels), value)
    return family
