"""Results as events of a stream: N-Quads, one named graph per event with its time."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.spark.scale.outputs.answers import Answers

VOCABULARY = "urn:whorl:variable:"
_SIGN = "<urn:whorl:sign>"
_GENERATED_AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
_INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
# The variables of a CONSTRUCT in `ScaledQuery.variables`.
_TRIPLE = ["subject", "predicate", "object"]
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def bodies(answers: Answers, vocabulary: str, mapping: str | None, body_bytes: int) -> Iterator[bytes]:
    """The events of a batch in bodies of about that size; an event is never split."""
    if mapping is None:
        yield from _packed(_events(answers, vocabulary), body_bytes)
    elif answers.rows.num_rows:
        from whorl import map_rows

        # A mapping reads text: the IRI, or the lexical form of a literal.
        yield map_rows(mapping, lexical_table(answers), time_column="at")


def lexical_table(answers: Answers) -> pa.Table:
    """The rows, with lexical forms in place of terms."""
    columns: dict[str, Any] = {name: answers.rows[name] for name in ("seq", "at", "open", "close", "sign")}
    for name in answers.variables:
        columns[name] = pa.array([lexical(term) for term in answers.rows[name].to_pylist()], pa.string())
    return pa.table(columns)


def lexical(term: str | None) -> str | None:
    """The text of a term: `<http://ex/a>` is http://ex/a, `"5"^^<…#integer>` is 5."""
    if term is None or term.startswith("_:"):
        return term
    if term.startswith("<"):
        return _unescaped(term[1:-1])
    return _unescaped(term[1 : term.rindex('"')])


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        number = found[1] or found[2]
        return chr(int(number, 16)) if number else _SHORT.get(found[3], found[3])

    return _ESCAPE.sub(character, text) if "\\" in text else text


def _events(answers: Answers, vocabulary: str) -> Iterator[str]:
    """One event per result with rows."""
    is_graph = answers.variables == _TRIPLE
    for (seq, at), rows in groupby(answers.rows.to_pylist(), key=lambda row: (row["seq"], row["at"])):
        graph = f"<urn:whorl:{answers.query_id}:{seq}>"
        lines = [f'{graph} {_GENERATED_AT} "{at}"^^{_INTEGER} .']
        for row_idx, row in enumerate(rows):
            triples = _construct(row) if is_graph else _row(row, answers, f"{graph[:-1]}#{row_idx}>", vocabulary)
            lines += [f"{triple} {graph} ." for triple in triples]
        yield "\n".join(lines) + "\n"


def _construct(row: dict[str, Any]) -> list[str]:
    return [" ".join(row[name] for name in _TRIPLE)]


def _row(row: dict[str, Any], answers: Answers, subject: str, vocabulary: str) -> list[str]:
    triples = [f"{subject} <{vocabulary}{name}> {row[name]}" for name in answers.variables if row[name] is not None]
    if row["sign"] < 0:
        triples.append(f'{subject} {_SIGN} "-1"^^{_INTEGER}')
    return triples


def _packed(events: Iterator[str], body_bytes: int) -> Iterator[bytes]:
    held: list[bytes] = []
    n_bytes = 0
    for event in events:
        encoded = event.encode()
        if held and n_bytes + len(encoded) > body_bytes:
            yield b"".join(held)
            held, n_bytes = [], 0
        held.append(encoded)
        n_bytes += len(encoded)
    if held:
        yield b"".join(held)
