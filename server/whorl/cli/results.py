"""Results as a table, JSON, NDJSON or CSV.

A result is an envelope as both the engine and the server write it (see docs/how-to/reading-results.md). In all formats
but `table`, standard output carries data only.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO, TypeAlias

from whorl.cli.counts import counted
from whorl.cli.times import show_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.table import Table

    from whorl.cli.names import Names

Envelope: TypeAlias = dict[str, Any]
_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(_XSD + name for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte"))


class Format(StrEnum):
    """Output formats."""

    TABLE = "table"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"


class Writer(Protocol):
    """Writes results one by one."""

    def write(self, envelope: Envelope) -> None:
        """Write one result."""

    def close(self) -> None:
        """Finish the output."""


class Row(NamedTuple):
    """One solution or one triple of a result; `sign` is + for an insertion and - for a deletion."""

    sign: str
    terms: dict[str, Any]


def writer_of(form: Format, names: Names, out: TextIO | None = None) -> Writer:
    """The writer for a format."""
    stream = sys.stdout if out is None else out
    if form is Format.TABLE:
        return TableWriter(names, stream)
    if form is Format.JSON:
        return JsonWriter(stream)
    return CsvWriter(stream) if form is Format.CSV else NdjsonWriter(stream)


class NdjsonWriter:
    """One envelope per line, at once."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, envelope: Envelope) -> None:
        """One line."""
        self._out.write(json.dumps(envelope, ensure_ascii=False, separators=(",", ":")) + "\n")
        self._out.flush()

    def close(self) -> None:
        """Nothing to finish."""


class JsonWriter:
    """One list of envelopes, written as they come."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begun = False

    def write(self, envelope: Envelope) -> None:
        """The next element."""
        self._out.write((",\n" if self._begun else "[\n") + json.dumps(envelope, ensure_ascii=False))
        self._out.flush()
        self._begun = True

    def close(self) -> None:
        """The end of the list."""
        self._out.write("\n]\n" if self._begun else "[]\n")
        self._out.flush()


class CsvWriter:
    """A header with the first result, then a line per row: `t` in milliseconds, `sign`, and the values."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._columns: list[str] | None = None

    def write(self, envelope: Envelope) -> None:
        """The rows of one result."""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        if self._columns is None:
            self._columns = variables(envelope)
            writer.writerow(["t", "sign", *self._columns])
        for row in rows(envelope):
            values = [_plain(row.terms.get(column)) for column in self._columns]
            writer.writerow([envelope["t"], row.sign, *values])
        self._out.write(lines.getvalue())
        self._out.flush()

    def close(self) -> None:
        """Nothing to finish."""


class TableWriter:
    """Each result as a small table under its time."""

    def __init__(self, names: Names, out: TextIO) -> None:
        from whorl.cli.terminal import console

        self._names = names
        self._console = console(out)

    def write(self, envelope: Envelope) -> None:
        """One table."""
        found = list(rows(envelope))
        self._console.print(headline(envelope, len(found)), style="bold")
        if found:
            self._console.print(table(envelope, found, self._names))

    def close(self) -> None:
        """Nothing to finish."""


def write_document(document: dict[str, Any] | str, names: Names, form: Format, out: TextIO) -> int:
    """Write a result without an instant, SPARQL 1.1 Results JSON or triples, and return its number of rows."""
    envelope = {"type": "bindings", "results": document, "t": 0}
    found = list(rows(envelope))
    if form is Format.TABLE:
        from whorl.cli.terminal import console

        console(out).print(table(envelope, found, names))
    elif form is Format.CSV:
        writer = csv.writer(out, lineterminator="\n")
        columns = variables(envelope)
        writer.writerows([columns, *([_plain(row.terms.get(column)) for column in columns] for row in found)])
    elif isinstance(document, str):
        out.write(document)
    else:
        out.write(json.dumps(document, ensure_ascii=False, indent=2 if form is Format.JSON else None) + "\n")
    return len(found)


def headline(envelope: Envelope, n_rows: int) -> str:
    """The instant, the windows and the number of rows."""
    windows = ", ".join(_bounds(window) for window in envelope.get("windows", []))
    skipped = envelope.get("skipped")
    alike = f"  the last of {skipped['windows']:,} equal results since {show_time(skipped['from'])}" if skipped else ""
    return f"{show_time(envelope['t'])}  {windows + '  ' if windows else ''}{counted(n_rows, 'row')}{alike}"


def _bounds(window: dict[str, Any]) -> str:
    opened, closed = window.get("open"), window.get("close")
    # The smallest 64-bit integer stands for a window without a start.
    least = -(2**63)
    start = "…" if opened is None or opened == least else show_time(opened)
    return f"{start}/{'…' if closed is None else show_time(closed)}"


def table(envelope: Envelope, found: Iterable[Row], names: Names) -> Table:
    """The rows as a table; signs are shown if they differ."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    signed = envelope["type"] == "changes"
    columns, found = variables(envelope), list(found)
    if signed:
        shown.add_column("±")
    for column in columns:
        numeric = is_numeric(row.terms.get(column) for row in found)
        shown.add_column(column, overflow="fold", justify="right" if numeric else "left")
    for row in found:
        shown.add_row(*cells(row, columns, names, signed=signed))
    return shown


def is_numeric(terms: Iterable[Mapping[str, Any] | None]) -> bool:
    """Whether all terms of a column are numbers; such columns are aligned on the right."""
    bound = [term for term in terms if term is not None]
    return bool(bound) and all(str(term.get("datatype")) in _NUMBERS for term in bound)


def cells(row: Row, columns: list[str], names: Names, *, signed: bool) -> list[Any]:
    """The cells of one row, without markup."""
    from rich.text import Text

    texts = [names.term(row.terms.get(column)) for column in columns]
    return [Text(text) for text in ([row.sign] if signed else []) + texts]


def variables(envelope: Envelope) -> list[str]:
    """The columns of a result."""
    found = next(iter(_parts(envelope)))[1]
    if isinstance(found, str):
        return ["triple"]
    if "boolean" in found:
        return ["boolean"]
    return [str(name) for name in found["head"].get("vars", [])]


def rows(envelope: Envelope) -> Iterator[Row]:
    """The rows of a result."""
    for sign, found in _parts(envelope):
        if isinstance(found, str):
            yield from (Row(sign, {"triple": _literal(line)}) for line in found.splitlines() if line)
        elif "boolean" in found:
            yield Row(sign, {"boolean": _literal(str(found["boolean"]).lower())})
        else:
            yield from (Row(sign, binding) for binding in found["results"]["bindings"])


def _parts(envelope: Envelope) -> list[tuple[str, Any]]:
    if envelope["type"] == "changes":
        return [("+", envelope["insert"]), ("-", envelope["delete"])]
    return [("-" if envelope.get("r2s") == "DSTREAM" else "+", envelope["results"])]


def _literal(text: str) -> dict[str, str]:
    return {"type": "literal", "value": text}


def _plain(term: dict[str, Any] | None) -> str:
    """As in SPARQL 1.1 Results CSV: the value alone."""
    if term is None:
        return ""
    return f"_:{term['value']}" if term["type"] == "bnode" else str(term["value"])
