"""A stream may say in which zone times are that have none: in every format, after a restart, in summer and winter."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import pyarrow as pa
import pytest
from server_process import ServerProcess
from whorl.cli.app import app
from whorl.zones import UnknownZoneError, offsets_of, zone_of
from whorl_client import Client

AT = "http://ex.org/at"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
TYPED = "^^<http://www.w3.org/2001/XMLSchema#dateTime>"
LOCAL = "2014-08-01T12:00:00"
UTC_MS = 1_406_887_200_000  # 10:00:00Z: summer time in Copenhagen.
SETTINGS = {"timestampPredicate": AT, "assumeZone": "Europe/Copenhagen"}


def arrow(column: pa.Array) -> bytes:
    table = pa.table({"t": column, "s": ["http://ex.org/a"], "p": ["http://ex.org/p"], "o": ["http://ex.org/o"]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


TURTLE = f'<http://ex.org/a> <{AT}> "{LOCAL}"{TYPED} .'
BODIES: dict[str, tuple[str, str | bytes]] = {
    "turtle": ("text/turtle", TURTLE),
    "n-quads": (
        "application/n-quads",
        f'<urn:g> <{PROV}> "{LOCAL}"{TYPED} .\n<urn:a> <urn:p> <urn:o> <urn:g> .\n',
    ),
    "lines": ("application/x-ndjson", f'{{"t": "{LOCAL}", "data": "<http://ex.org/a> <http://ex.org/p> 1 ."}}\n'),
    "texts": ("application/vnd.apache.arrow.stream", arrow(pa.array([LOCAL]))),
    "timestamps": (
        "application/vnd.apache.arrow.stream",
        arrow(pa.array([datetime.fromisoformat(LOCAL)], pa.timestamp("us"))),
    ),
}


@pytest.mark.parametrize("form", BODIES)
def test_a_time_without_a_zone_is_read_in_that_of_the_stream(form: str, client: httpx.Client) -> None:
    path = f"/streams/http://ex.org/zoned-{form}"
    assert client.put(path, json=SETTINGS).status_code == 201
    media, body = BODIES[form]
    pushed = client.post(path, content=body, headers={"content-type": media})
    assert (pushed.status_code, pushed.json()["watermark"]) == (202, UTC_MS)


def test_a_time_with_a_zone_keeps_it_and_without_a_setting_none_is_assumed(client: httpx.Client) -> None:
    path = "/streams/http://ex.org/zoned-itself"
    client.put(path, json=SETTINGS)
    zoned = TURTLE.replace(LOCAL, LOCAL + "-05:00")
    pushed = client.post(path, content=zoned, headers={"content-type": "text/turtle"})
    assert pushed.json()["watermark"] == UTC_MS + 7 * 3_600_000
    client.put("/streams/http://ex.org/zoneless", json={"timestampPredicate": AT})
    refused = client.post("/streams/http://ex.org/zoneless", content=TURTLE, headers={"content-type": "text/turtle"})
    assert refused.status_code == 422
    assert "dateTime with a zone" in refused.json()["hint"]


def test_the_setting_is_checked_shown_and_compared(client: httpx.Client) -> None:
    path = "/streams/http://ex.org/zone-shown"
    wrong = client.put(path, json={"assumeZone": "Europe/Pariss"})
    assert wrong.status_code == 422
    assert "'Europe/Pariss' is not a time zone" in wrong.text
    assert "Europe/Paris" in wrong.text
    assert client.put(path, json={"assumeZone": "+02:00"}).status_code == 201
    assert client.put(path, json={"assumeZone": "+02:00"}).status_code == 200
    differs = client.put(path, json={"assumeZone": "Z"})
    assert differs.status_code == 409
    assert "zone_offsets" not in differs.text
    assert client.get(path).json()["settings"]["assumeZone"] == "+02:00"


def test_the_zone_survives_a_kill_and_a_stop(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    with Client(server.url, token=server.token) as user:
        user.streams.create("http://ex.org/s", timestamp_predicate=AT, assume_zone="Europe/Copenhagen")
    for at, end in enumerate((server.kill, server.stop)):
        end()
        server.start()
        body = TURTLE.replace("12:00:00", f"12:0{at}:00")
        with Client(server.url, token=server.token) as user:
            assert user.stream("http://ex.org/s").send(body, format="turtle").watermark == UTC_MS + at * 60_000


def test_the_command_line_declares_it(start_server: Callable[..., ServerProcess], tmp_path: Path) -> None:
    from typer.testing import CliRunner

    server = start_server()
    at = ["--url", server.url, "--token", server.token]
    stream = "http://ex.org/s"
    words = ["streams", stream, "--declare", "--timestamp-predicate", AT, "--assume-zone", "Europe/Copenhagen", *at]
    assert CliRunner().invoke(app, words).exit_code == 0
    for suffix, form in ((".nq", "n-quads"), (".ndjson", "lines")):
        (tmp_path / f"events{suffix}").write_text(str(BODIES[form][1]))
        pushed = CliRunner().invoke(app, ["push", str(tmp_path / f"events{suffix}"), "--stream", stream, *at])
        assert pushed.exit_code == 0, pushed.output
    with server.client() as client:
        shown = client.get("/streams/http%3A%2F%2Fex.org%2Fs").json()
        assert (shown["events"], shown["watermark"]) == (2, UTC_MS)


@pytest.mark.parametrize("name", ["Europe/Copenhagen", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
def test_the_table_of_offsets_is_that_of_the_database(name: str) -> None:
    """Around every change, and at noon of each day of two years."""
    table, zone, epoch = offsets_of(name), ZoneInfo(name), datetime.fromisoformat("1970-01-01")
    changes = [epoch + timedelta(milliseconds=local) for local, _ in table[1:]]
    edges = [change + delta for change in changes for delta in (-timedelta(seconds=1), timedelta(0))]
    days = [datetime.fromisoformat("2023-01-01T12:00") + timedelta(days=day) for day in range(730)]
    for local in [edge for edge in edges if edge.year > 1970] + days:
        ms = (local - epoch) // timedelta(milliseconds=1)
        offset = [offset for start, offset in table if start <= ms][-1]
        assert timedelta(milliseconds=offset) == zone.utcoffset(local), local


@pytest.mark.parametrize("text", ["", "Paris", "+25:00", "+2:60", "../../etc/passwd", "/etc/localtime", "+٠٢:00"])
def test_what_is_no_zone_is_refused(text: str) -> None:
    with pytest.raises(UnknownZoneError):
        zone_of(text)
