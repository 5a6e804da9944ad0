"""Whorl: continuous SPARQL over RDF streams.

>>> from whorl import Engine
>>> engine = Engine()
>>> query = engine.register('''
...     PREFIX : <http://example.org/>
...     SELECT ?room (MAX(?t) AS ?max)
...     FROM NAMED WINDOW :w ON :sensors [RANGE 10s STEP 10s]
...     WHERE { WINDOW :w { ?room :temperature ?t } }
...     GROUP BY ?room''')
>>> room, temperature = "http://example.org/kitchen", "http://example.org/temperature"
>>> _ = engine.push("http://example.org/sensors", 2_000, [(room, temperature, 21)])
>>> _ = engine.push("http://example.org/sensors", 7_000, [(room, temperature, 23)])
>>> engine.close()
>>> [(row["room"], row["max"]) for row in query.rows()]
[(Iri('http://example.org/kitchen'), 23)]
"""

from whorl._engine import __version__
from whorl.engine import GUARDED_LIMITS, Engine, Limits, Query, map_rows
from whorl.errors import (
    DurationError,
    EnginePanicError,
    GraphError,
    IngestError,
    QueryError,
    QueryFailedError,
    QuerySyntaxError,
    RdfSyntaxError,
    StreamExistsError,
    TimestampError,
    UnknownQueryError,
    UnknownStreamError,
    UnsupportedQueryError,
    WhorlError,
)
from whorl.options import QueryOptions
from whorl.results import Envelope, IngestReport, Refusal, Result, ResultOf, Skipped, UpdateReport, WindowBounds
from whorl.terms import BlankNode, Iri, Literal, Term, Triple, TripleTerm

__all__ = [
    "GUARDED_LIMITS",
    "BlankNode",
    "DurationError",
    "Engine",
    "EnginePanicError",
    "Envelope",
    "GraphError",
    "IngestError",
    "IngestReport",
    "Iri",
    "Limits",
    "Literal",
    "Query",
    "QueryError",
    "QueryFailedError",
    "QueryOptions",
    "QuerySyntaxError",
    "RdfSyntaxError",
    "Refusal",
    "Result",
    "ResultOf",
    "Skipped",
    "StreamExistsError",
    "Term",
    "TimestampError",
    "Triple",
    "TripleTerm",
    "UnknownQueryError",
    "UnknownStreamError",
    "UnsupportedQueryError",
    "UpdateReport",
    "WhorlError",
    "WindowBounds",
    "__version__",
    "map_rows",
]
