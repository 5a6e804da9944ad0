"""The options of a query: the only list of them in Python.

`Engine.register`, `Engine.validate` and the JSON of the server accept the options listed here. The engine defines the
values and their meaning (`engine-rs/src/parse/options.rs`).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal, TypeAlias, TypedDict

Time: TypeAlias = int | datetime


class QueryOptions(TypedDict, total=False):
    """How a query is parsed and when it reports; a missing option is taken from the text and its dialect."""

    dialect: Annotated[Literal["rspql", "csparql", "cqels"] | None, "the language of the text"]
    report: Annotated[
        str | Iterable[str] | None, "when a window reports: close, change, nonempty, periodic(10s); all must hold"
    ]
    tick: Annotated[Literal["time", "tuple"] | None, "whether the events of one instant are processed together"]
    t0: Annotated[Time | None, "an instant at which a window starts"]
    bounds: Annotated[Literal["[)", "(]"] | None, "which end of a time window belongs to it"]
    partial: Annotated[bool | None, "whether windows that began before the first event report"]
    semantics: Annotated[Literal["set", "bag"] | None, "whether a triple that arrived twice counts twice in a window"]
    r2s: Annotated[Literal["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"] | None, "which part of each result is emitted"]
    base_iri: Annotated[str | None, "base for relative IRIs if the text has no BASE"]
    default_graph: Annotated[
        str | None, "a stream and a window that patterns outside WINDOW and GRAPH read: <http://ex.org/s> [RANGE 10s]"
    ]
    keep_answer: Annotated[bool | None, "keep the full result, so that it can be read at any time"]
    keep_windows: Annotated[bool | None, "keep the triples in the windows, so that ad-hoc queries can read them"]
    allow_cartesian: Annotated[bool | None, "accept a cross product of parts that share no variable"]


class AskOptions(TypedDict, total=False):
    """The base IRI and the dataset of an ad-hoc query, as the compiled engine takes them."""

    base_iri: str | None
    default_graphs: list[str] | None
    named_graphs: list[str] | None


def json_name(name: str) -> str:
    """The name of an option in JSON.

    >>> json_name("base_iri"), json_name("r2s")
    ('baseIri', 'r2s')
    """
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


NAMES_BY_JSON = {json_name(name): name for name in QueryOptions.__annotations__}
"""The names of the options in JSON, in the order of the list, and what the engine calls them."""
