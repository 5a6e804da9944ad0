"""TriG: converted to N-Quads by a parser.

The parser is pyoxigraph if it is installed. Otherwise the document is one piece: it is sent unchanged, and its events
cannot be separated for a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from whorl.cli.events import nquads
from whorl.cli.events.piece import Piece, whole
from whorl.cli.faults import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterator


def read(name: str, file: BinaryIO, at: int | None) -> Iterator[Piece]:
    """The events of TriG, in the order of the file."""
    try:
        import pyoxigraph
    except ImportError:
        yield whole(file.read(), "trig", at, name)
        return
    try:
        quads = pyoxigraph.parse(file, format=pyoxigraph.RdfFormat.TRIG)
        yield from nquads.read(name, (f"{quad} .\n".encode() for quad in quads), at, is_own=False)
    except SyntaxError as error:
        raise CommandError(f"{name}: {error}") from None
