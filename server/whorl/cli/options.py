"""Options that several commands have, spelled once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from whorl.cli.faults import UsageError
from whorl.cli.results import Format

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
OutputFormat: TypeAlias = Annotated[Format, typer.Option("--format", "-f", help="How answers are written.")]
InputFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="FORMAT",
        help="turtle, ntriples, nquads, trig, jsonld, ndjson, arrow, csv or json; default: by the name of the file.",
    ),
]
Mapping: TypeAlias = Annotated[
    str | None, typer.Option("--mapping", metavar="FILE.rq", help="CONSTRUCT that makes triples of rows.")
]
TimeColumn: TypeAlias = Annotated[
    str, typer.Option("--time", metavar="COLUMN", help="The column with the time of rows.")
]
EventTime: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--t", metavar="TIME", help="Time of events that carry none: milliseconds, 2026-01-01T12:00:00Z, now."
    ),
]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after N answers.")]
Until: TypeAlias = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Stop when event time has passed TIME.")
]


def named_values(options: list[str] | None) -> dict[str, str]:
    """Options NAME=VALUE that are meant for others."""
    pairs = [option.partition("=") for option in options or []]
    wrong = next((name for name, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise UsageError(f"option {wrong!r} has no value", hint="write --option NAME=VALUE")
    return {name: value for name, _, value in pairs}
