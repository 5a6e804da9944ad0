"""`whorl streams`: the streams of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from whorl.cli.listing import AsJson, instant, show_json, show_table
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import connected

if TYPE_CHECKING:
    from whorl_client import StreamInfo

Iris = Annotated[list[str] | None, typer.Argument(metavar="[IRI]...", help="Only these.", show_default=False)]
Declare = Annotated[bool, typer.Option("--declare", help="Declare the named streams.")]
Delete = Annotated[bool, typer.Option("--delete", help="Delete the named streams.")]
Reopen = Annotated[bool, typer.Option("--reopen", help="Reopen the named closed streams.")]
Cascade = Annotated[bool, typer.Option("--cascade", help="With --delete: also delete the queries that read them.")]
Lateness = Annotated[
    str | None, typer.Option("--lateness", metavar="DURATION", help="With --declare: allowed lateness.")
]
TimestampPredicate = Annotated[
    str | None,
    typer.Option(
        "--timestamp-predicate",
        metavar="IRI",
        help="With --declare: predicate whose object is the time of an event.",
    ),
]
AssumeZone = Annotated[
    str | None,
    typer.Option(
        "--assume-zone", metavar="ZONE", help="With --declare: zone of times that have none: Z, +02:00, Europe/Paris."
    ),
]
Arrival = Annotated[bool, typer.Option("--arrival-time", help="With --declare: use the arrival time of events.")]


def command(  # noqa: PLR0913 - each option is a parameter
    iris: Iris = None,
    declare: Declare = False,
    delete: Delete = False,
    reopen: Reopen = False,
    cascade: Cascade = False,
    lateness: Lateness = None,
    timestamp_predicate: TimestampPredicate = None,
    assume_zone: AssumeZone = None,
    arrival_time: Arrival = False,
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """List the streams of a server, or declare, delete and reopen some.

    Examples:
      whorl streams
      whorl streams http://ex/sensors --declare --lateness 10s
      whorl streams http://ex/sensors --declare --timestamp-predicate http://ex/at --assume-zone Europe/Paris
      whorl streams http://ex/sensors --delete --cascade
      whorl streams http://ex/sensors --reopen

    """
    if declare + delete + reopen > 1 or ((declare or delete or reopen) and not iris):
        raise typer.BadParameter("one of --declare, --delete and --reopen, and the streams it is for")
    with connected(url, token) as client:
        for iri in iris or []:
            if declare:
                client.streams.create(
                    iri,
                    lateness=lateness,
                    timestamp_predicate=timestamp_predicate,
                    assume_zone=assume_zone,
                    time="arrival" if arrival_time else None,
                )
            elif delete:
                client.streams.delete(iri, cascade=cascade)
            elif reopen:
                client.stream(iri).reopen()
        if delete:
            return
        found = [client.streams.get(iri) for iri in iris] if iris else client.streams.list()
    if as_json:
        show_json([stream.document for stream in found])
    else:
        columns = ("stream", "status", "events", "triples", "late", "events/s", "watermark", "queries")
        show_table(columns, map(_row, found), empty="no stream is declared")


def _row(stream: StreamInfo) -> tuple[object, ...]:
    document = stream.document
    counts = (document.get(name) for name in ("events", "triples", "late", "rate"))
    return (stream.iri, stream.status, *counts, instant(stream.watermark), ", ".join(stream.queries))
