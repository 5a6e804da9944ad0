"""Files are divided into events, and combined into batches at the speed of a replay."""

from __future__ import annotations

import gzip
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from whorl.cli.events import Piece, Reading, batches, paced, read_pieces, with_pauses
from whorl.cli.events.batches import BATCH_EVENTS
from whorl.cli.faults import CommandError, UsageError
from whorl.cli.times import duration_ms, show_time, speed_factor, time_ms

STAMP = (
    '<http://ex/{g}> <http://www.w3.org/ns/prov#generatedAtTime> "{t}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
)
QUAD = '<http://ex/{s}> <http://ex/p> "a . <b> \\" c" <http://ex/{g}> .\n'


def stamp(g: str, second: int) -> str:
    return STAMP.format(g=g, t=f"1970-01-01T00:00:{second:02}Z")


def quad(g: str, s: str = "s") -> str:
    return QUAD.format(g=g, s=s)


def pieces(path: Path, **reading: object) -> list[Piece]:
    return list(read_pieces(str(path), Reading(**reading)))  # type: ignore[arg-type]  # keywords of Reading


@pytest.mark.parametrize(
    "text",
    [
        stamp("g1", 1) + quad("g1") + quad("g1", "z") + stamp("g2", 2) + quad("g2"),
        quad("g1") + stamp("g1", 1) + quad("g1", "z") + quad("g2") + stamp("g2", 2),
        stamp("g1", 1) + stamp("g2", 2) + quad("g1") + quad("g1", "z") + quad("g2"),
        quad("g1") + quad("g2") + quad("g1", "z") + stamp("g1", 1) + stamp("g2", 2),
        "# a comment\n\n" + stamp("g1", 1) + quad("g1") + quad("g1", "z") + stamp("g2", 2) + quad("g2").rstrip("\n"),
    ],
    ids=["time first", "time after", "times at the top", "times at the end", "comments"],
)
@pytest.mark.parametrize("suffix", [".nq", ".nq.gz"])
def test_a_named_graph_is_an_event_wherever_its_time_stands(tmp_path: Path, text: str, suffix: str) -> None:
    path = tmp_path / f"events{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    found = pieces(path)
    assert [(piece.t, piece.body.count(b"\n"), piece.at) for piece in found] == [(1_000, 3, None), (2_000, 2, None)]


def test_a_graph_that_goes_on_after_it_was_sent_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.nq"
    path.write_text(stamp("g1", 1) + quad("g1") + stamp("g2", 2) + quad("g2") + quad("g1"))
    with pytest.raises(CommandError, match="continues after its event was sent") as caught:
        pieces(path)
    assert caught.value.place is not None
    assert caught.value.place.line == 5


def test_what_is_no_quad_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "events.nq"
    path.write_text(quad("g") + "<http://ex/a> nonsense\n")
    with pytest.raises(CommandError, match="not a quad") as caught:
        pieces(path)
    assert caught.value.place is not None
    assert caught.value.place.line == 2


def test_trig_gives_the_events_of_its_quads(tmp_path: Path) -> None:
    path = tmp_path / "events.trig"
    path.write_text(
        "PREFIX : <http://ex/> PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
        ':g1 prov:generatedAtTime "1970-01-01T00:00:01Z"^^xsd:dateTime . :g1 { :a :p 1, 2 }\n'
        ':g2 prov:generatedAtTime "1970-01-01T00:00:02Z"^^xsd:dateTime . :g2 { :a :p 3 }\n'
    )
    assert [(piece.t, piece.format) for piece in pieces(path)] == [(1_000, "nquads"), (2_000, "nquads")]


def test_turtle_is_one_event_at_the_time_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "event.ttl"
    path.write_text("<http://ex/a> <http://ex/p> 1 .")
    assert [(piece.format, piece.at, piece.t) for piece in pieces(path, at=7)] == [("turtle", 7, 7)]


def test_lines_of_ndjson_carry_their_times(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text('{"t": 5, "data": ""}\n\n{"t": "1970-01-01T00:00:01Z", "data": ""}\n{"watermark": 9}\n{"@id": "x"}')
    found = pieces(path)
    assert [piece.t for piece in found] == [5, 1_000, 9, None]
    assert [piece.n_events for piece in found] == [1, 1, 0, 1]
    assert all(piece.body.endswith(b"\n") for piece in found)


def test_a_line_that_is_not_json_is_refused_with_its_column(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text('{"t": 5}\n{"t": }')
    with pytest.raises(CommandError, match="not JSON") as caught:
        pieces(path)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 7)


def rows(piece: Piece) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pa.ipc.open_stream(piece.body).read_all().to_pylist()
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "when,room,temp\n1000,kitchen,21\n1000,cellar,12\n2000,kitchen,22\n"),
        (
            "rows.json",
            json.dumps(
                [
                    {"when": 1000, "room": "kitchen", "temp": 21},
                    {"when": 1000, "room": "cellar", "temp": 12},
                    {"when": 2000, "room": "kitchen", "temp": 22},
                ]
            ),
        ),
        (
            "rows.ndjson",
            '{"when":1000,"room":"kitchen","temp":21}\n{"when":1000,"room":"cellar","temp":12}\n'
            '{"when":2000,"room":"kitchen","temp":22}\n',
        ),
    ],
)
def test_rows_become_arrow_whole_or_by_instant(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    (whole,) = pieces(path, has_mapping=True, time_column="when")
    assert [row["temp"] for row in rows(whole)] == [21, 12, 22]
    assert whole.n_events == 3
    in_order = pieces(path, has_mapping=True, time_column="when", rows_cut="order")
    assert [piece.n_events for piece in in_order] == [3]
    by_instant = pieces(path, has_mapping=True, time_column="when", rows_cut="instant")
    assert [(piece.t, piece.n_events) for piece in by_instant] == [(1_000, 2), (2_000, 1)]


def test_times_of_rows_are_read_as_dates_too(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("t,room\n1970-01-01T00:00:05Z,kitchen\n")
    assert [piece.t for piece in pieces(path, has_mapping=True)] == [5_000]


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_both_forms_of_arrow_are_read(tmp_path: Path, kind: str) -> None:
    table = pa.table({"t": [1, 2], "s": ["a", "b"], "p": ["p", "p"], "o": ["x", "y"]})
    path = tmp_path / "events.arrow"
    writer = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with writer(str(path), table.schema) as out:
        out.write_table(table)
    (piece,) = pieces(path)
    assert rows(piece) == table.to_pylist()


def test_rows_without_a_mapping_and_names_without_a_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="need a mapping"):
        pieces(tmp_path / "rows.csv")
    with pytest.raises(UsageError, match="cannot tell the format"):
        pieces(tmp_path / "rows.unknown")
    with pytest.raises(UsageError, match="unknown format"):
        pieces(tmp_path / "rows.csv", format="rdfxml")
    with pytest.raises(CommandError, match="cannot read"):
        pieces(tmp_path / "missing.nq")


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.nq.gz"
    path.write_bytes(gzip.compress(quad("g").encode() * 100)[:-10])
    with pytest.raises(CommandError, match="cannot read"):
        pieces(path)


def line(t: int | None) -> Piece:
    return Piece(b"x\n", "ndjson", t=t)


def test_batches_are_bounded_and_lose_nothing() -> None:
    found = list(batches(line(n) for n in range(2 * BATCH_EVENTS + 1)))
    assert [batch.n_events for batch in found] == [BATCH_EVENTS, BATCH_EVENTS, 1]
    assert b"".join(batch.body for batch in found) == b"x\n" * (2 * BATCH_EVENTS + 1)


def test_in_order_a_batch_ends_where_time_goes_back(tmp_path: Path) -> None:
    times = [1, 1, 3, 2, 4]
    assert [batch.n_events for batch in batches(map(line, times))] == [5]
    assert [batch.n_events for batch in batches(map(line, times), in_order=True)] == [3, 2]
    path = tmp_path / "rows.csv"
    path.write_text("t\n" + "".join(f"{t}\n" for t in times))
    assert [piece.n_events for piece in pieces(path, has_mapping=True, rows_cut="order")] == [3, 2]


def test_bodies_with_a_time_of_their_own_are_sent_alone() -> None:
    single = Piece(b"y", "turtle", t=1, at=1)
    assert [batch.n_events for batch in batches([line(1), single, single, line(2), line(3)])] == [1, 1, 1, 2]


class Clock:
    """Time passes only by waiting."""

    def __init__(self) -> None:
        self.now = 100.0

    def wait(self, seconds: float) -> None:
        self.now += seconds


def replay(times: list[int], speed: float) -> list[tuple[float, int]]:
    clock = Clock()
    sent = paced([line(t) for t in times], speed, lambda: clock.now, clock.wait)
    return [(round(clock.now - 100, 6), batch.n_events) for batch in sent]


def test_a_replay_keeps_the_distances_of_the_events() -> None:
    assert replay([5_000, 5_000, 6_000, 9_000], 1) == [(0, 2), (1, 1), (4, 1)]
    assert replay([5_000, 5_000, 6_000, 9_000], 10) == [(0, 2), (0.1, 1), (0.4, 1)]


def test_what_was_late_is_replayed_at_its_place() -> None:
    assert replay([1_000, 3_000, 2_000, 4_000], 1) == [(0, 1), (2, 2), (3, 1)]


def test_a_batch_is_sent_when_it_is_due_and_not_when_the_next_is() -> None:
    # The pieces of one instant must be out before the wait for the next begins.
    clock = Clock()
    sent = paced([line(0), line(10_000)], 1, lambda: clock.now, clock.wait)
    assert [clock.now - 100 for _ in sent] == [0, 10]


def test_events_without_a_time_cannot_be_replayed() -> None:
    with pytest.raises(CommandError, match="cannot replay: an event in ndjson has no time"):
        list(paced([line(None)], 1, lambda: 0.0, lambda _: None))


def test_times_durations_and_speeds() -> None:
    assert [time_ms("1000"), time_ms("1970-01-01T00:00:01Z"), time_ms("1970-01-01T01:00:01+01:00")] == [1_000] * 3
    assert [duration_ms(text) for text in ("250", "250ms", "2s", "1m30s", "PT10S", "3m", "1h", "1d")] == [
        250,
        250,
        2_000,
        90_000,
        10_000,
        180_000,
        3_600_000,
        86_400_000,
    ]
    assert [speed_factor(text) for text in ("real", "x10", "×2", "0.5x", "3")] == [1, 10, 2, 0.5, 3]
    assert speed_factor("max") == float("inf")
    assert [show_time(1_000), show_time(1_001)] == ["1970-01-01T00:00:01Z", "1970-01-01T00:00:01.001Z"]
    for wrong in (
        lambda: time_ms("1970-01-01T00:00:01"),
        lambda: duration_ms("1 fortnight"),
        lambda: speed_factor("x0"),
    ):
        with pytest.raises(UsageError):
            wrong()


def test_standard_input_is_read_when_its_format_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    source = io.TextIOWrapper(io.BytesIO((stamp("g", 1) + quad("g")).encode()))
    monkeypatch.setattr("sys.stdin", source)
    assert [piece.t for piece in read_pieces("-", Reading(format="nquads"))] == [1_000]
    with pytest.raises(UsageError, match="standard input"):
        list(read_pieces("-", Reading()))


def test_what_a_pipe_has_given_does_not_wait_for_what_comes_next() -> None:
    go_on = threading.Event()

    def source() -> Iterator[Piece]:
        yield from (line(1), line(2))
        assert go_on.wait(60)
        yield line(3)

    found = batches(with_pauses(source()))
    n_first = next(found).n_events
    # The first two may come as two batches; the third is not there yet, and they are not kept for it.
    if n_first == 1:
        assert next(found).n_events == 1
    go_on.set()
    assert [batch.n_events for batch in found] == [1]


def test_a_fault_of_the_source_is_told_to_the_one_who_reads() -> None:
    def source() -> Iterator[Piece]:
        yield line(1)
        raise CommandError("this is not a quad")

    with pytest.raises(CommandError, match="not a quad"):
        list(with_pauses(source()))
