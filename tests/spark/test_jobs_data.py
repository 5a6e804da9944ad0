"""Recorded data of the benchmarks through Spark: the same events as the loaders of tests/workloads give.

The data is read where it is and never kept: small slices of it, in directories of the tests.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyoxigraph as ox
import pytest
import whorl
from reference_data import reference_path
from whorl.spark.feeds import StoredFeed
from whorl.spark.jobs import find
from whorl.spark.produce import stored
from whorl_workloads import citybench, conference, lsbench, srbench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Triples = set[tuple[str, str, str]]
Read = Callable[[str, str, Path], list[tuple[int, Triples]]]


@pytest.fixture
def read(spark: SparkSession, tmp_path: Path) -> Read:
    """The events of an output, read from a directory, brought in order and mapped."""

    def events(job: str, name: str, data: Path) -> list[tuple[int, Triples]]:
        output = find(job).output(name)
        assert output.load is not None
        feed = StoredFeed(stored(output.load(spark, str(data)), str(tmp_path / "rows" / job / name)))
        table = pa.Table.from_batches(feed.read(-(1 << 60), 1 << 60), feed.schema)
        if "s" in feed.schema.names:
            return _grouped(table.to_pylist())
        assert output.generator is not None
        assert feed.schema.names == output.generator.schema.names
        assert output.mapping is not None
        return _parsed(whorl.map_rows(output.mapping, table))

    return events


def data_of(*parts: str) -> Path:
    path = reference_path("data", *parts)
    if path is None:
        pytest.skip(f"data/{'/'.join(parts)} is absent: WHORL_TEST_DATA says where data and queries are")
    return path


def head(source: Path, target: Path, lines: int) -> None:
    with gzip.open(source, "rt", encoding="utf-8") as text:
        target.write_text("".join(islice(text, lines)), encoding="utf-8")


def head_of_events(name: str, directory: Path, lines: int) -> None:
    """The first events of a file of LSBench; the one that would be cut off is left out."""
    with gzip.open(data_of("lsbench", f"{name}-1000.ttl.gz"), "rt", encoding="utf-8") as text:
        taken = list(islice(text, lines))
    last = max(number for number, line in enumerate(taken) if lsbench.BEGINNING.match(line))
    (directory / f"{name}-1000.ttl").write_text("".join(taken[:last]), encoding="utf-8")


def test_detections_are_those_of_the_file(read: Read, tmp_path: Path) -> None:
    head(data_of("cqels-conference", "rfid_1-7000.stream.gz"), tmp_path / "rfid.stream", 300)
    expected = [set(event.triples) for event in conference.events(300)]
    found = read("conference", "rfid", tmp_path / "rfid.stream")
    assert [triples for _, triples in found] == expected
    assert {later - earlier for (earlier, _), (later, _) in pairwise(found)} == {200}


def test_observations_of_stations_are_those_of_the_benchmark(read: Read, tmp_path: Path) -> None:
    with gzip.open(data_of("srbench", "observations-2004-08-08.csv.gz"), "rt") as text:
        rows = [line for line in text if line[:16] < "2004-08-08 06:30"]
    (tmp_path / "observations-2004-08-08.csv").write_text("".join(rows))
    (tmp_path / "station.csv.gz").write_bytes(data_of("srbench", "station.csv.gz").read_bytes())
    expected = srbench.events_2004(100_000, until="2004-08-08T06:30:00")
    found = read("weather", "observations", tmp_path)
    # Values are numbers here and keep their spelling there.
    assert _names(found) == _names((event.t, set(event.triples)) for event in expected)


def test_posts_photos_and_positions_are_those_of_the_generator(read: Read, tmp_path: Path) -> None:
    for name in ("rdfPostStream", "rdfPhotoStream", "gpsStream"):
        head_of_events(name, tmp_path, 700)
    until = "2010-02-01T12:00:00"
    rule = lsbench.Likes(until)
    expected = {
        "posts": [event for event in lsbench.posts("2010-02-01", until, rule) if event.stream == lsbench.POSTS],
        "photos": [event for event in lsbench.photos("2010-02-01", until, rule) if event.stream == lsbench.PHOTOS],
        "positions": lsbench.positions("2010-02-01", until),
    }
    for name, events in expected.items():
        found = read("social", name, tmp_path)
        last = min(found[-1][0], events[-1].t)
        wanted = [(event.t, set(event.triples)) for event in events if event.t < last]
        assert len(wanted) > 5
        assert _sorted(event for event in found if event[0] < last) == _sorted(wanted)


def test_likes_follow_what_is_liked_and_come_once(read: Read, tmp_path: Path) -> None:
    head_of_events("rdfPostStream", tmp_path, 700)
    head(data_of("lsbench", "rdfPostLikeStream-1000.ttl.gz"), tmp_path / "rdfPostLikeStream-1000.ttl", 3000)
    found = read("social", "post-likes", tmp_path)
    posts = {
        subject: t for t, triples in read("social", "posts", tmp_path) for subject, p, _ in triples if "created" in p
    }
    rule = lsbench.Likes("2030-01-01", copies=1)
    expected = [
        event for event in lsbench.posts("2010-02-01", "2010-02-03", rule) if event.stream == lsbench.POST_LIKES
    ]
    wanted = {(event.t, triple) for event in expected for triple in event.triples if triple[2] in posts}
    likes = {(t, triple) for t, triples in found for triple in triples}
    assert len(likes) == len(found) > 20
    assert {like for like in likes if like[0] < max(t for t, _ in wanted)} <= wanted


SENSORS = [
    ("traffic", "AarhusTrafficData158505"),
    ("parking", "AarhusParkingDataBRUUNS"),
    ("pollution", "AarhusPollutionData158505"),
    ("weather", "AarhusWeatherData0"),
]


@pytest.mark.parametrize(("name", "sensor"), SENSORS)
def test_sensors_tell_the_values_of_the_benchmark(read: Read, tmp_path: Path, name: str, sensor: str) -> None:
    data = tmp_path / "city"
    data.mkdir()
    with tarfile.open(data_of("citybench", "streams-queries.tar.gz")) as archive:
        content = archive.extractfile(f"streams-queries/{sensor}.stream")
        assert content is not None
        (data / f"{sensor}.stream").write_bytes(b"".join(islice(content, 50)))
    with tarfile.open(data_of("citybench", "static.tar.gz")) as archive:
        content = archive.extractfile("static/metadata/trafficMetaData.csv")
        assert content is not None
        (data / "trafficMetaData.csv").write_bytes(content.read())
    found = read("city", name, data)
    until = datetime.fromtimestamp(found[-1][0] / 1000, UTC).isoformat()
    expected = citybench.events([sensor], "2014-01-01", until)
    assert len(expected) == len(found) - 1 == 48
    assert [t for t, _ in found[:-1]] == [event.t for event in expected]
    assert [_values(triples) for _, triples in found[:-1]] == [_values(set(event.triples)) for event in expected]


def test_the_way_of_a_user_is_the_file(read: Read, tmp_path: Path) -> None:
    with tarfile.open(data_of("citybench", "streams-queries.tar.gz")) as archive:
        content = archive.extractfile("streams-queries/UserLocationService.stream")
        assert content is not None
        (tmp_path / "UserLocationService.stream").write_bytes(content.read())
    found = read("city", "users", tmp_path)
    expected = citybench.user_events("2014-08-01", 10_000, 1_000)
    assert [(t, _numbers(triples)) for t, triples in found] == [(e.t, _numbers(set(e.triples))) for e in expected]


def _parsed(nquads: bytes) -> list[tuple[int, Triples]]:
    times: dict[str, int] = {}
    graphs: dict[str, Triples] = {}
    for quad in ox.parse(nquads, ox.RdfFormat.N_QUADS):
        if quad.graph_name == ox.DefaultGraph():
            times[str(quad.subject)] = int(quad.object.value)
        else:
            graphs.setdefault(str(quad.graph_name), set()).add(
                (str(quad.subject), str(quad.predicate), str(quad.object))
            )
    return [(times[name], triples) for name, triples in graphs.items()]


def _grouped(rows: list[dict[str, Any]]) -> list[tuple[int, Triples]]:
    events: dict[tuple[int, str], Triples] = {}
    for row in rows:
        events.setdefault((row["t"], row["event"]), set()).add((row["s"], row["p"], row["o"]))
    return [(t, triples) for (t, _), triples in events.items()]


def _sorted(events: Any) -> list[tuple[int, list[tuple[str, str, str]]]]:
    return sorted((t, sorted(triples)) for t, triples in events)


def _names(events: Any) -> list[tuple[int, list[tuple[str, str, str]]]]:
    """Events without the spelling of their numbers."""
    return sorted((t, sorted((s, p, "" if "floatValue" in p else o) for s, p, o in triples)) for t, triples in events)


def _values(triples: Triples) -> list[float]:
    """The observed values; those that are not defined are -1 there and nothing here."""
    values = [float(o.split('"')[1]) for _, p, o in triples if p.endswith("hasValue>")]
    return sorted(value for value in values if value != -1)


def _numbers(triples: Triples) -> list[float]:
    return sorted(float(o.split('"')[1]) for _, _, o in triples if o.startswith('"'))
