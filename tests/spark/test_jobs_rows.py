"""Producers without Spark: generators give the same rows again, feeds cut at instants, the clock says what is due."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from whorl.spark.feeds import Feed, StoredFeed
from whorl.spark.generators import Changes
from whorl.spark.jobs import NAMES, JobOptions, Output, find
from whorl.spark.pacing import Pace, ReplayReader, feed_of

GENERATED = [
    (name, output.name)
    for name in NAMES
    if name not in ("files", "kafka")
    for output in find(name).outputs(JobOptions())
]
ROWS = 500


def output_of(job: str, name: str) -> Output:
    return find(job).output(name)


def rows_of(feed: Feed, after: int = -1, until: int = 1 << 60) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.Table.from_batches(feed.read(after, until), feed.schema).to_pylist()
    return rows


@pytest.fixture(params=["generated", "stored"])
def feed(request: pytest.FixtureRequest, tmp_path: Path) -> Feed:
    """The same rows from a generator, and from files with small row groups."""
    generated = output_of("taxi", "dropoff").generated(start_ms=None, rows=ROWS, seed=0)
    if request.param == "generated":
        return generated
    table = pa.Table.from_batches(generated.read(-1, 1 << 60), generated.schema)
    parquet.write_table(table.slice(0, 300), tmp_path / "part-00000.parquet", row_group_size=64)
    parquet.write_table(table.slice(300), tmp_path / "part-00001.parquet", row_group_size=64)
    return StoredFeed(str(tmp_path))


@pytest.mark.parametrize(("job", "name"), GENERATED)
def test_a_generator_gives_the_same_rows_however_they_are_read(job: str, name: str) -> None:
    feed = output_of(job, name).generated(start_ms=None, rows=ROWS, seed=7)
    whole = rows_of(feed)
    assert len(whole) == ROWS
    times = [row["t"] for row in whole]
    assert (times == sorted(times), times[0], times[-1]) == (True, feed.first, feed.last)
    cuts = [-1, times[0], times[ROWS // 3], times[ROWS // 3] + 1, times[-1]]
    assert [row for a, b in itertools.pairwise(cuts) for row in rows_of(feed, a, b)] == whole


@pytest.mark.parametrize(("job", "name"), GENERATED)
def test_a_seed_and_a_start_give_other_rows(job: str, name: str) -> None:
    output = output_of(job, name)
    usual = rows_of(output.generated(start_ms=None, rows=50, seed=0))
    assert rows_of(output.generated(start_ms=None, rows=50, seed=1)) != usual
    later = output.generated(start_ms=1_700_000_000_000, rows=50, seed=0)
    assert later.first is not None
    assert later.first >= 1_700_000_000_000


def test_a_feed_stops_at_instants_and_misses_nothing(feed: Feed) -> None:
    whole = rows_of(feed)
    position, read = -1, []
    while (stop := feed.stop(position, 40)) is not None:
        part = rows_of(feed, position, stop)
        assert 1 <= len(part) <= 40
        assert part[-1]["t"] == stop
        read += part
        position = stop
    assert (read, position) == (whole, feed.last)


def test_an_instant_with_more_rows_than_fit_is_read_whole(tmp_path: Path) -> None:
    times = [1, 2, 2, 2, 2, 3, 3, 4]
    parquet.write_table(pa.table({"t": times}), tmp_path / "part-00000.parquet", row_group_size=3)
    feed = StoredFeed(str(tmp_path))
    stops = list(_stops(feed, 2))
    assert stops == [1, 2, 3, 4]
    assert [len(rows_of(feed, a, b)) for a, b in itertools.pairwise([0, *stops])] == [1, 4, 2, 1]


def test_stored_rows_without_end_of_rows_have_no_stop(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"t": pa.array([], pa.int64())}), tmp_path / "part-00000.parquet")
    feed = StoredFeed(str(tmp_path))
    assert (feed.first, feed.stop(-1, 10), rows_of(feed)) == (None, None, [])


def test_an_endless_feed_goes_on() -> None:
    feed = output_of("weather", "observations").generated(start_ms=0, rows=None, seed=0)
    assert feed.last is None
    far = 10**15
    stop = feed.stop(far, 100)
    assert stop is not None
    assert 1 <= len(rows_of(feed, far, stop)) <= 100


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_what_is_due_follows_the_clock_times_the_speed(feed: Feed) -> None:
    clock = Clock()
    assert feed.first is not None
    origin = feed.first - 30_000
    reader = ReplayReader(feed, Pace(60, clock), origin=origin)
    start = reader.initialOffset()
    assert start == {"t": origin - 1}
    limit = reader.getDefaultReadLimit()
    # Half a minute until the first row is half a second at sixty times the speed.
    assert reader.latestOffset(start, limit) == start
    clock.now_s += 0.4
    assert reader.latestOffset(start, limit) == start
    clock.now_s += 0.6
    latest = reader.latestOffset(start, limit)
    assert latest == {"t": origin - 1 + 60_000}
    due = [row for row in rows_of(feed) if row["t"] <= latest["t"]]
    assert [row for span in reader.partitions(start, latest) for row in _read(reader, span)] == due
    assert due
    clock.now_s += 1e6
    assert reader.latestOffset(latest, limit) == {"t": feed.last}
    assert reader.latestOffset({"t": feed.last or 0}, limit) == {"t": feed.last}


def test_a_restarted_clock_goes_on_from_the_position_it_finds(feed: Feed) -> None:
    assert feed.first is not None
    clock, position = Clock(), {"t": feed.first + 100_000}
    reader = ReplayReader(feed, Pace(2, clock))
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset(position, limit) == position
    clock.now_s += 60
    assert reader.latestOffset(position, limit) == {"t": position["t"] + 120_000}


def test_as_fast_as_possible_is_bound_by_the_size_of_a_batch_alone(feed: Feed) -> None:
    reader = ReplayReader(feed, Pace(math.inf, Clock()), batch_rows=100)
    position, batches = reader.initialOffset(), 0
    while (latest := reader.latestOffset(position, ReadMaxRows(100))) != position:
        position, batches = latest, batches + 1
    assert (position, batches) == ({"t": feed.last}, ROWS // 100)
    assert reader.reportLatestOffset() == position
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable())["t"] < position["t"]


def test_a_large_batch_is_read_by_several_tasks_in_order_of_time() -> None:
    feed = output_of("conference", "rfid").generated(start_ms=0, rows=30_000, seed=0)
    reader = ReplayReader(feed, Pace(math.inf))
    spans = reader.partitions(reader.initialOffset(), {"t": feed.last or 0})
    assert len(spans) == 3
    assert [row["t"] for span in spans for row in _read(reader, span)] == [row["t"] for row in rows_of(feed)]


def test_a_feed_is_found_by_its_description() -> None:
    described = {"job": "taxi", "output": "fare", "start": 0, "rows": 10, "seed": 3}
    assert rows_of(feed_of(described)) == rows_of(output_of("taxi", "fare").generated(start_ms=0, rows=10, seed=3))


def test_trips_of_one_taxi_do_not_overlap_and_begin_at_different_times() -> None:
    trips = rows_of(output_of("taxi", "pickup").generated(start_ms=None, rows=10_000, seed=0))
    ends: dict[str, str] = {}
    for trip in trips:
        assert ends.get(trip["medallion"], "") <= trip["pickup_datetime"]
        ends[trip["medallion"]] = trip["dropoff_datetime"]
    assert len({trip["pickup_datetime"] for trip in trips}) == len(trips)


def _stops(feed: Feed, most: int) -> Iterator[int]:
    position = -1
    while (stop := feed.stop(position, most)) is not None:
        yield stop
        position = stop


def _read(reader: ReplayReader, span: Any) -> list[dict[str, Any]]:
    return [row for batch in reader.read(span) for row in batch.to_pylist()]


# ---- changes ----


@pytest.mark.parametrize(("job", "name"), GENERATED)
@pytest.mark.parametrize("rate", [0.3, 7.0, 1_500.0])
def test_rows_at_another_rate_are_the_same_however_they_are_read(job: str, name: str, rate: float) -> None:
    feed = output_of(job, name).generated(start_ms=None, rows=ROWS, seed=7, changes=Changes(rate=rate, skew=1.0))
    whole = rows_of(feed)
    assert len(whole) == ROWS
    times = [row["t"] for row in whole]
    assert (times == sorted(times), times[0], times[-1]) == (True, feed.first, feed.last)
    cuts = [-1, times[0], times[ROWS // 3], times[ROWS // 3] + 1, times[-1]]
    assert [row for a, b in itertools.pairwise(cuts) for row in rows_of(feed, a, b)] == whole


def test_a_rate_is_rows_in_a_second() -> None:
    feed = output_of("conference", "rfid").generated(start_ms=0, rows=2_001, seed=0, changes=Changes(rate=1_000.0))
    assert (feed.first, feed.last) == (0, 2_000)


def test_skew_draws_some_keys_more_often() -> None:
    def most(skew: float) -> int:
        changes = Changes(skew=skew)
        found = rows_of(output_of("conference", "rfid").generated(start_ms=0, rows=2_000, seed=0, changes=changes))
        return max(Counter(row["person"] for row in found).values())

    assert most(2.0) > 5 * most(0.0)


def cell(trip: dict[str, Any], end: str) -> tuple[int, int]:
    """The square of about a kilometre in which a trip begins or ends."""
    return round(float(trip[f"{end}_latitude"]) / 0.009), round(float(trip[f"{end}_longitude"]) / 0.012)


def taxi_trips(start: str, seed: int, skew: float = 0.0) -> list[dict[str, Any]]:
    start_ms = round(datetime.fromisoformat(start).timestamp() * 1_000)
    feed = output_of("taxi", "pickup").generated(start_ms=start_ms, rows=4_000, seed=seed, changes=Changes(skew=skew))
    return rows_of(feed)


def ranked(trips: list[dict[str, Any]], end: str) -> list[tuple[tuple[int, int], int]]:
    return Counter(cell(trip, end) for trip in trips).most_common()


def test_a_ranking_of_the_places_of_taxis_is_uneven_and_stable() -> None:
    first, second = (ranked(taxi_trips("2013-01-01T12:00:00+00:00", seed), "pickup") for seed in (1, 2))
    assert first[0][1] > 2 * first[19][1], "the first place is no accident"
    best = [{place for place, _ in ranking[:8]} for ranking in (first, second)]
    assert len(best[0] & best[1]) >= 6, "other rows rank the same places first"


def test_the_places_of_taxis_depend_on_the_hour() -> None:
    def share_of_midtown(start: str, end: str) -> float:
        found = taxi_trips(start, 1)
        return sum(float(trip[f"{end}_latitude"]) > 40.74 for trip in found) / len(found)

    noon, morning = (share_of_midtown(f"2013-01-02T{hour}:00:00+00:00", "dropoff") for hour in ("12", "08"))
    assert morning > noon + 0.08
    night, evening = (share_of_midtown(f"2013-01-02T{hour}:00:00+00:00", "pickup") for hour in ("23", "17"))
    assert evening > night + 0.2


def test_skew_acts_on_the_places_of_taxis() -> None:
    even, skewed = (ranked(taxi_trips("2013-01-01T12:00:00+00:00", 1, skew), "pickup") for skew in (0.0, 2.0))
    assert skewed[0][1] > 3 * even[0][1]


def test_disorder_and_bad_rows_are_as_large_as_they_were_asked_for() -> None:
    output, changes = output_of("conference", "rfid"), Changes(disorder_ms=5_000, bad_rows=0.1)
    found = rows_of(output.generated(start_ms=100_000, rows=2_000, seed=0, changes=changes))
    usual = rows_of(output.generated(start_ms=100_000, rows=2_000, seed=0))
    behind = [one["t"] - other["t"] for one, other in zip(usual, found, strict=True)]
    assert 0 <= min(behind) < 100
    assert 4_900 < max(behind) <= 5_000
    bad = sum(row["person"] is None for row in found)
    assert 150 < bad < 250
    assert sum(row == {**other, "t": row["t"]} for row, other in zip(found, usual, strict=True)) == 2_000 - bad
