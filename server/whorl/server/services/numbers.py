"""The server in numbers, as Prometheus reads them. Nothing is counted here: all numbers exist already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from whorl.server.runtime.core import shown_instant
from whorl.server.runtime.runtime import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.server.runtime.runtime import Runtime
    from whorl.server.services.rings import Rings

_STREAM_COUNTERS = {"events": "events taken", "triples": "triples taken", "late": "events that came too late"}


class Numbers(Collector):
    """One reading of all numbers."""

    def __init__(self, runtime: Runtime, rings: Rings, stats: dict[str, Any]) -> None:
        self._runtime = runtime
        self._rings = rings
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """All families."""
        yield from self._of_runtime()
        yield from self._of_streams()
        yield from self._of_queries()

    def _of_runtime(self) -> Iterator[Metric]:
        counted = self._runtime.metrics
        yield _counter("whorl_commands", "commands carried out or refused", counted.commands)
        yield _counter("whorl_commands_refused", "commands refused", counted.refused)
        yield _counter("whorl_batches", "batches of commands", counted.batches)
        yield _counter("whorl_commits", "commits of the log", counted.commits)
        yield _counter("whorl_commit_seconds", "seconds spent in commits", counted.commit_seconds)
        yield _counter("whorl_apply_seconds", "seconds spent in the engine", counted.apply_seconds)
        yield _counter("whorl_results", "results of all queries", counted.envelopes)
        yield _counter("whorl_snapshots", "snapshots taken", counted.snapshots)
        yield _gauge("whorl_recovery_seconds", "seconds of the last recovery", counted.recovery_seconds)
        yield _gauge("whorl_queue_bytes", "bytes of commands that wait or are under way", self._runtime.queue_bytes)
        yield _gauge("whorl_ready", "1 when commands are taken", float(self._runtime.state == "ready"))
        yield _gauge("whorl_engine_state_size", "mappings and terms that the engine keeps", self._stats["state_size"])
        yield _gauge("whorl_subscribers", "readers that are connected", self._rings.connected)

    def _of_streams(self) -> Iterator[Metric]:
        streams = self._stats["streams"]
        for name, meaning in _STREAM_COUNTERS.items():
            yield _family(
                CounterMetricFamily(f"whorl_stream_{name}", meaning, labels=["stream"]),
                ((row["stream"], row.get(name, 0)) for row in streams),
            )
        now = now_ms()
        yield _family(
            GaugeMetricFamily("whorl_stream_watermark_lag_seconds", "clock minus watermark", labels=["stream"]),
            (
                (row["stream"], (now - at) / 1000)
                for row in streams
                if (at := shown_instant(row["watermark"])) is not None
            ),
        )

    def _of_queries(self) -> Iterator[Metric]:
        rings = list(self._rings)
        yield _family(
            GaugeMetricFamily("whorl_query_last_seq", "number of the newest result", labels=["query"]),
            ((ring.query, ring.next_seq - 1) for ring in rings),
        )
        yield _family(
            GaugeMetricFamily("whorl_query_subscribers", "readers of the query", labels=["query"]),
            ((ring.query, len(ring.readers)) for ring in rings),
        )
        yield _family(
            GaugeMetricFamily("whorl_query_ring_bytes", "bytes of results kept for readers", labels=["query"]),
            ((ring.query, ring.bytes) for ring in rings),
        )
        evaluations = sum(int(row.get("evaluations", 0)) for row in self._stats["queries"])
        yield _counter("whorl_evaluations", "evaluations of the queries that run", evaluations)


def _counter(name: str, meaning: str, value: float) -> Metric:
    return CounterMetricFamily(name, meaning, value=value)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _family(
    family: CounterMetricFamily | GaugeMetricFamily, samples: Iterable[tuple[str, float]]
) -> CounterMetricFamily | GaugeMetricFamily:
    for label, value in samples:
        family.add_metric([label], value)
    return family
