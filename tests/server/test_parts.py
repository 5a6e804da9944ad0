"""The parts that need no server: media types, times, lines, paths, buckets, tallies."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whorl.errors import DurationError
from whorl.server import media
from whorl.server.errors import (
    BodyTooLargeError,
    InvalidInstantError,
    NotAcceptableError,
    TooManyRegistrationsError,
)
from whorl.server.middleware.paths import stream_path
from whorl.server.middleware.trace import printable
from whorl.server.services.buckets import Buckets
from whorl.server.services.lines import BATCH_BYTES_MAX, LineCutter
from whorl.server.services.times import parse_duration, parse_instant

OFFERS = ("application/sparql-results+json", "application/sparql-results+xml", "text/csv", "text/turtle")


@pytest.mark.parametrize(
    ("accept", "best"),
    [
        (None, OFFERS[0]),
        ("", OFFERS[0]),
        ("*/*", OFFERS[0]),
        ("text/*", "text/csv"),
        ("text/csv;q=0.5, application/sparql-results+xml;q=0.9", OFFERS[1]),
        ("text/csv, */*;q=0.1", "text/csv"),
        ("application/sparql-results+json;q=0, */*", OFFERS[1]),
        ("TEXT/Turtle; charset=utf-8", "text/turtle"),
        ("text/csv;q=nonsense, text/turtle;q=0.1", "text/turtle"),
    ],
)
def test_the_best_offer_is_chosen(accept: str | None, best: str) -> None:
    assert media.negotiate(accept, OFFERS) == best


@pytest.mark.parametrize("accept", ["image/png", "text/csv;q=0", "*/*;q=0", "text/csv;q=nan"])
def test_nothing_acceptable_is_a_problem(accept: str) -> None:
    with pytest.raises(NotAcceptableError):
        media.negotiate(accept, ("text/csv",))


@given(st.text(max_size=60))
def test_no_accept_header_breaks_negotiation(accept: str) -> None:
    with contextlib.suppress(NotAcceptableError):
        assert media.negotiate(accept, OFFERS) in OFFERS


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0", 0),
        ("-5", -5),
        ("1500", 1500),
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00 01:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_instants(text: str, ms: int) -> None:
    assert parse_instant(text) == ms


@pytest.mark.parametrize(
    "text", ["", "soon", "1.5", "1e3", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "9" * 30, "٣"]
)
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(InvalidInstantError):
        parse_instant(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        (7, 7),
        ("7", 7),
        ("10s", 10_000),
        ("500ms", 500),
        ("1.5s", 1500),
        ("2h", 7_200_000),
        ("PT1M30S", 90_000),
        ("P1D", 86_400_000),
        ("1m30s", 90_000),
        ("30 minutes", 1_800_000),
    ],
)
def test_durations(text: str | int, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "s", "-1s", "1 fortnight", "P1M", "9" * 100 + "s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert caught.value.code.startswith("duration.")
    assert len(caught.value.message) < 200


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"") + b"\n")), st.data())
def test_lines_survive_any_cut(lines: list[bytes], data: st.DataObject) -> None:
    body = b"".join(lines) + data.draw(st.sampled_from([b"", b"last"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    cutter = LineCutter(1000)
    batches: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
        batches.extend(cutter.feed(body[start:end]))
    assert all(batch.endswith(b"\n") for batch in batches)
    assert b"".join(batches) + cutter.rest() == body


def test_batches_are_bounded_and_long_lines_pass() -> None:
    cutter = LineCutter(2 * BATCH_BYTES_MAX)
    batches = list(cutter.feed((b"x" * 1000 + b"\n") * 600 + b"y" * (BATCH_BYTES_MAX + 5) + b"\n"))
    assert [len(batch) <= BATCH_BYTES_MAX for batch in batches] == [True, True, True, False]
    with pytest.raises(BodyTooLargeError):
        list(cutter.feed(b"z" * (2 * BATCH_BYTES_MAX + 1)))


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("http://ex/s", "http%3A%2F%2Fex%2Fs"),
        ("http%3A%2F%2Fex%2Fs", "http%3A%2F%2Fex%2Fs"),
        ("http%3A//ex/s", "http%3A%2F%2Fex%2Fs"),
        ("http://ex/s/watermark", "http%3A%2F%2Fex%2Fs/watermark"),
        ("http%3A%2F%2Fex%2Fs/close", "http%3A%2F%2Fex%2Fs/close"),
        ("http%3A%2F%2Fex%2Fclose", "http%3A%2F%2Fex%2Fclose"),
        ("http://ex/a%20b", "http%3A%2F%2Fex%2Fa%2520b"),
        ("http://ex/%C3%A9", "http%3A%2F%2Fex%2F%C3%A9"),
        ("http://ex/%FF", "http%3A%2F%2Fex%2F%25FF"),
        ("watermark", "watermark"),
    ],
)
def test_a_stream_in_a_path_is_one_segment(raw: str, path: str) -> None:
    assert stream_path(raw) == path


def test_a_bucket_refills() -> None:
    buckets = Buckets(2)
    buckets.take("a", now=0.0)
    buckets.take("a", now=0.0)
    with pytest.raises(TooManyRegistrationsError) as raised:
        buckets.take("a", now=1.0)
    assert raised.value.retry_after_s in {29, 30}
    buckets.take("b", now=1.0)
    buckets.take("a", now=31.0)


def test_logs_cannot_be_steered() -> None:
    assert printable("a\r\nb\x1b[2J\u202ec\x85") == "a\\u000d\\u000ab\\u001b[2J\\u202ec\\u0085"
