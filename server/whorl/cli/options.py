"""Options that several commands share."""

from __future__ import annotations

import enum
from typing import Annotated, Literal, TypeAlias

import typer

from whorl.cli.events.stamps import Stamps, unit_of, zone_of
from whorl.cli.faults import UsageError
from whorl.cli.results import Format
from whorl.cli.times import duration_ms


class ContentSemantics(enum.StrEnum):
    """How a window counts equal triples."""

    SET = "set"
    BAG = "bag"


class EventPart(enum.Enum):
    """What forms one event in RDF data."""

    SUBJECT = "subject"
    GRAPH = "graph"
    LINE = "line"


# Hint for events without a time.
NO_TIME = "add --timestamp-predicate IRI, --every 1s or --t TIME, or add prov:generatedAtTime to each graph"
DEFAULT_URL = "http://127.0.0.1:8080"

Url: TypeAlias = Annotated[
    str, typer.Option("--url", envvar="WHORL_URL", metavar="URL", help="The server.", show_default=True)
]
Token: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="WHORL_TOKEN",
        metavar="TOKEN",
        help="Default: the token file of a local server.",
        show_envvar=True,
    ),
]
OutputFormat: TypeAlias = Annotated[Format, typer.Option("--format", "-f", help="Output format of results.")]
InputFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="FORMAT",
        help="turtle, ntriples, nquads, trig, jsonld, ndjson, arrow, csv or json; default: by file name.",
    ),
]
Mapping: TypeAlias = Annotated[
    str | None, typer.Option("--mapping", metavar="FILE.rq", help="CONSTRUCT query that maps rows to triples.")
]
TimeColumn: TypeAlias = Annotated[
    str, typer.Option("--time", metavar="COLUMN", help="The column with the time of a row.")
]
EventTime: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--t", metavar="TIME", help="Time of events that have none: milliseconds, 2026-01-01T12:00:00Z, or now."
    ),
]
TimestampPredicate: TypeAlias = Annotated[
    str | None,
    typer.Option("--timestamp-predicate", metavar="IRI", help="The predicate whose object is the time of an event."),
]
AssumeZone: TypeAlias = Annotated[
    str | None,
    typer.Option("--assume-zone", metavar="ZONE", help="Zone of times that have none: Z, +02:00, Europe/Paris."),
]
Per: TypeAlias = Annotated[
    EventPart | None,
    typer.Option(
        "--event-per", help="What forms one event in RDF: a subject, a named graph or a line.", show_default=False
    ),
]
Every: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--every", metavar="DURATION", help="Interval between events that have no time, starting at --t or 0."
    ),
]
Base: TypeAlias = Annotated[str | None, typer.Option("--base", metavar="IRI", help="Base for relative IRIs in RDF.")]
TimeUnit: TypeAlias = Annotated[
    str | None, typer.Option("--time-unit", metavar="s|ms", help="Unit of numeric times; default: ms.")
]
Columns: TypeAlias = Annotated[
    str | None, typer.Option("--columns", metavar="NAME,…", help="Column names of CSV files without a header.")
]
Sort: TypeAlias = Annotated[bool, typer.Option("--sort", help="Read everything first, and sort it by time.")]


def stamps_of(
    predicate: str | None,
    zone: str | None,
    per: EventPart | None,
    every: str | None,
    unit: str | None,
    base: str | None,
) -> Stamps:
    """The options about events and times."""
    return Stamps(
        predicate=predicate,
        zone=None if zone is None else zone_of(zone),
        every_ms=None if every is None else duration_ms(every),
        event_per=None if per is None else per.value,
        unit_ms=None if unit is None else unit_of(unit),
        base=base,
    )


def word_of(semantics: ContentSemantics | None) -> Literal["set", "bag"] | None:
    """Its name in the library and in the protocol."""
    return None if semantics is None else semantics.value


def columns_of(names: str | None) -> tuple[str, ...] | None:
    """The names of columns, separated by commas."""
    return None if names is None else tuple(name.strip() for name in names.split(","))


Semantics: TypeAlias = Annotated[
    ContentSemantics | None,
    typer.Option(
        "--semantics",
        help="Whether equal triples in a window count once (set) or each time (bag); default: by dialect.",
        show_default=False,
    ),
]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after N results.")]
Until: TypeAlias = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Stop when event time passes TIME.")
]


def named_values(options: list[str] | None) -> dict[str, str]:
    """Options NAME=VALUE to pass on."""
    pairs = [option.partition("=") for option in options or []]
    wrong = next((name for name, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise UsageError(f"option {wrong!r} has no value", hint="write --option NAME=VALUE")
    return {name: value for name, _, value in pairs}
