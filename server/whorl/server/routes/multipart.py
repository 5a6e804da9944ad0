"""The parts of a multipart body, by one search for its boundary.

Mail parsers do more than is needed here (nested parts, comments and continuations in headers), and take time quadratic
in the length of a header: 200 kB could block the event loop for minutes.
"""

from __future__ import annotations

from typing import NamedTuple

from whorl.server import errors, media

PARTS_MAX = 100
_HEAD_BYTES_MAX = 4096
_BOUNDARY_CHARS_MAX = 70
# White space may follow a boundary on its line.
_PADDING_MAX = 80
_PLAIN = frozenset({"", "7bit", "8bit", "binary"})


class Part(NamedTuple):
    """A part: its content type and its content."""

    content_type: str | None
    body: bytes


def parts_of(content_type: str, body: bytes) -> list[Part]:
    """The parts, in their order; the body must end with the closing boundary."""
    boundary = media.media_type_of(content_type)[1].get("boundary", "")
    if not 0 < len(boundary) <= _BOUNDARY_CHARS_MAX:
        raise _broken("its boundary is missing or too long")
    try:
        delimiter = b"--" + boundary.encode("ascii")
    except UnicodeEncodeError:
        raise _broken("its boundary is not ASCII") from None
    found: list[Part] = []
    start = None
    for begin, end, is_last in _delimiters(body, delimiter):
        if start is not None:
            if len(found) == PARTS_MAX:
                raise _broken(f"it has more than {PARTS_MAX} parts")
            found.append(_part(body[start:begin]))
        if is_last:
            if not found:
                break
            return found
        start = end
    raise _broken("it has no parts, or no closing boundary")


def _delimiters(body: bytes, delimiter: bytes) -> list[tuple[int, int, bool]]:
    """The start (including the preceding line break) and end of each boundary line, and whether it is the last."""
    found: list[tuple[int, int, bool]] = []
    at = body.find(delimiter)
    while at >= 0 and len(found) <= PARTS_MAX + 1:
        after = at + len(delimiter)
        is_last = body.startswith(b"--", after)
        line_end = body.find(b"\n", after, after + _PADDING_MAX)
        padding = body[after + 2 * is_last : after + _PADDING_MAX if line_end < 0 else line_end]
        is_line = at == 0 or body[at - 1 : at] == b"\n"
        if is_line and not padding.strip() and (is_last or line_end >= 0):
            begin = at - 2 if body[max(at - 2, 0) : at] == b"\r\n" else max(at - 1, 0)
            found.append((begin, line_end + 1, is_last))
            if is_last:
                break
        at = body.find(delimiter, after)
    return found


def _part(part: bytes) -> Part:
    """A part has a head, an empty line and a body; the head may be empty."""
    head, body = _split(part)
    fields = {}
    for line in head.decode("latin-1").splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            raise _broken("a part has an invalid header line")
        fields[name.strip().lower()] = value.strip()
    encoding = fields.get("content-transfer-encoding", "").lower()
    if encoding not in _PLAIN:
        raise _broken(f"the transfer encoding '{encoding[:40]}' is not supported")
    return Part(fields.get("content-type"), body)


def _split(part: bytes) -> tuple[bytes, bytes]:
    for line_end in (b"\r\n", b"\n"):
        if part.startswith(line_end):
            return b"", part[len(line_end) :]
    ends = [(at, len(gap)) for gap in (b"\r\n\r\n", b"\n\n") if (at := part.find(gap, 0, _HEAD_BYTES_MAX)) >= 0]
    if not ends:
        raise _broken("the headers of a part are unterminated or too long")
    at, length = min(ends)
    return part[:at], part[at + length :]


def _broken(why: str) -> errors.DomainError:
    return errors.BrokenMultipartError(f"the multipart body cannot be read: {why}")
