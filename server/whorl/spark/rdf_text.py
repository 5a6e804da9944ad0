"""RDF as text → rows of triples, which a stream takes without a mapping.

Runs in Spark's workers, by `mapInArrow`. A graph is an event: its triples are adjacent and have the same name in the
column `event`. A graph's time is its `prov:generatedAtTime` in the default graph, otherwise the time of the text.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from whorl.spark.errors import WhorlSparkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyoxigraph as ox

FORMATS = {"nquads": "N_QUADS", "trig": "TRIG", "turtle": "TURTLE", "ntriples": "N_TRIPLES", "jsonld": "JSON_LD"}
GENERATED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
# The columns of the input texts, and of the output triples.
TEXT_COLUMNS = "t bigint, text string, source string"
TRIPLE_SCHEMA = "t bigint, s string, p string, o string, event string"
_ARROW = pa.schema([("t", pa.int64()), *[(name, pa.string()) for name in ("s", "p", "o", "event")]])


class Triple(NamedTuple):
    """A triple of an event, its terms in N-Triples syntax."""

    t: int
    s: str
    p: str
    o: str
    event: str


def triples_of(form: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow`: texts with their times and sources → triples."""

    def convert(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: list[Triple] = []
            for row in batch.to_pylist():
                rows += parse(row["text"], form, row["t"], row["source"])
            columns = zip(*rows, strict=True) if rows else ([] for _ in _ARROW)
            arrays = [pa.array(list(column), kind.type) for column, kind in zip(columns, _ARROW, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)

    return convert


def parse(text: str, form: str, t: int | None, source: str) -> list[Triple]:
    """The triples of one text, event by event; `source` is its origin, from which events get their names."""
    try:
        import pyoxigraph as ox
    except ImportError:
        raise WhorlSparkError("reading RDF as text needs pyoxigraph", "pip install 'whorl[pyoxigraph]'") from None
    kind = getattr(ox.RdfFormat, FORMATS[form])
    try:
        quads = list(ox.parse(text, kind))
    except (SyntaxError, ValueError) as error:
        raise WhorlSparkError(f"the text of {source} is not {form}: {error}") from None
    graphs: dict[str, list[ox.Quad]] = {}
    for quad in quads:
        graphs.setdefault(str(quad.graph_name), []).append(quad)
    default = graphs.pop(str(ox.DefaultGraph()), [])
    times = {str(quad.subject): quad for quad in default if quad.predicate.value == GENERATED_AT}
    timed = {name: _millis(times[name]) if name in times else t for name in graphs}
    plain = [quad for quad in default if str(quad.subject) not in timed]
    events = [*graphs.items(), *([("", plain)] if plain else [])]
    label = _Labels(source)
    found = []
    for name, members in events:
        at = timed.get(name, t)
        if at is None:
            raise WhorlSparkError(f"an event of {source} has no time", f"give its graph a <{GENERATED_AT}>")
        event = f"{source} {name}".strip()
        found += [Triple(at, label(q.subject), str(q.predicate), label(q.object), event) for q in members]
    return found


class _Labels:
    """Terms as text. Blank nodes of different texts are different; a text that is read again yields the same names."""

    def __init__(self, source: str) -> None:
        self._prefix = hashlib.sha256(source.encode()).hexdigest()[:16]
        self._seen: dict[str, str] = {}

    def __call__(self, term: object) -> str:
        text = str(term)
        if not text.startswith("_:"):
            return text
        return self._seen.setdefault(text, f"_:b{self._prefix}x{len(self._seen)}")


def _millis(quad: ox.Quad) -> int:
    text = quad.object.value  # type: ignore[union-attr]  # a time is a literal
    if text.lstrip("-").isdecimal():
        return int(text)
    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
