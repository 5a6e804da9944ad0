"""Multipart bodies are read in a time that grows with their size alone, and mean what they say."""

from __future__ import annotations

import httpx
import pytest
from whorl.server.errors import BrokenMultipartError
from whorl.server.routes.multipart import PARTS_MAX, parts_of

FORM = "multipart/form-data; boundary=b0"


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_parts_are_what_is_between_the_boundaries(line_end: bytes) -> None:
    lines = [
        *(b"this comes before", b"--b0", b"Content-Type: text/turtle", b"", b"<urn:a> <urn:p> 1 .", b"--b01", b""),
        *(b"--b0 \t", b"", b"", b"no head, an empty line", b"--b0--", b"this comes after"),
    ]
    first, second = parts_of(FORM, line_end.join(lines))
    assert first == ("text/turtle", line_end.join([b"<urn:a> <urn:p> 1 .", b"--b01", b""]))
    assert second == (None, line_end.join([b"", b"no head, an empty line"]))


def nested(depth: int) -> bytes:
    return b"".join(b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n, n + 1) for n in range(depth))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no boundary",
        b"--b0--",
        b"--b0\r\n\r\nno end",
        b"--b0\r\nno field\r\n\r\nx\r\n--b0--",
        b"--b0\r\nContent-Transfer-Encoding: base64\r\n\r\neA==\r\n--b0--",
        b"--b0\r\n" + b"X: y\r\n" * 100_000 + b"\r\nx\r\n--b0--",
        b"--b0\r\nContent-Type: " + b"a;" * 100_000 + b"\r\n\r\nx\r\n--b0--",
        b"--b0\r\n\r\n" * (PARTS_MAX + 2) + b"--b0--",
        b"--b0" * 500_000,
        b"\n--b0" * 500_000,
        nested(5000),
    ],
    ids=lambda body: f"{len(body)} {body[:12]!r}",
)
def test_what_cannot_be_read_is_refused_at_once(body: bytes) -> None:
    with pytest.raises(BrokenMultipartError):
        parts_of(FORM, body)


@pytest.mark.parametrize("parameter", ["", "; boundary=", f"; boundary={'b' * 71}", "; boundary=ü"])
def test_a_boundary_is_a_short_word(parameter: str) -> None:
    with pytest.raises(BrokenMultipartError):
        parts_of("multipart/form-data" + parameter, b"--b0\r\n\r\nx\r\n--b0--")


def test_a_form_with_parts_in_parts_is_no_fault_of_the_server(client: httpx.Client) -> None:
    """The parser of mail failed on it, and took minutes for a long header."""
    headers = {"Content-Type": FORM}
    for body in (nested(5000), b"--b0\r\nContent-Type: " + b"a;" * 100_000 + b"\r\n\r\nx\r\n--b0--"):
        answer = client.post("/graphs", params={"graph": "urn:g"}, content=body, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (400, "urn:whorl:problem:multipart-broken")
