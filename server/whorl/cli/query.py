"""`whorl query`: ask a server, once or for as long as it lasts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.faults import UsageError, ended_by_signals
from whorl.cli.follow import LiveTable
from whorl.cli.names import Names
from whorl.cli.options import DEFAULT_URL, Limit, OutputFormat, Token, Until, Url
from whorl.cli.remote import connected
from whorl.cli.results import Format, Writer, write_document, writer_of
from whorl.cli.terminal import is_terminal
from whorl.cli.texts import QueryText, query_text
from whorl.cli.times import time_ms

if TYPE_CHECKING:
    from whorl_client import Client

QueryArgument = Annotated[
    str,
    typer.Argument(metavar="QUERY", help="A file, the text itself, - for stdin, or the name of a registered query."),
]
Name = Annotated[str | None, typer.Option("--name", "-n", help="Register the query under this name; it stays.")]
Follow = Annotated[bool, typer.Option("--follow", "-F", help="Show answers as they come.")]
From = Annotated[
    str,
    typer.Option(
        "--from", metavar="latest|earliest|TOKEN", help="Where to begin: the token of an answer goes on after it."
    ),
]


def command(
    query: QueryArgument,
    name: Name = None,
    follow: Follow = False,
    output: OutputFormat = Format.TABLE,
    limit: Limit = None,
    until: Until = None,
    from_: From = "latest",
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Ask a server, or follow a continuous query.

    With --follow, a text is registered and its answers are shown as they come; without a --name it is removed at the
    end. Without --follow: a text with a --name is registered and left running, a text without one is asked once over
    static graphs and current windows (SPARQL), and a name gives the current answer of that query.

    Examples:
      whorl query hot.rspql --follow
      whorl query average-temperature --follow --format csv --limit 10 > answers.csv
      whorl query hot.rspql --name hot
      whorl query hot
      whorl query 'SELECT * { GRAPH ?g { ?room a <http://whorl.example/Room> } }' --format json

    """
    text = query_text(query)
    if text is None and name is not None:
        raise UsageError("--name is for a text that is to be registered", hint=f"{query!r} is taken as a name already")
    with ended_by_signals(), connected(url, token, text) as client:
        if not follow:
            _once(client, query, text, name, output)
            return
        with _registered(client, query, text, name) as known:
            _follow(client, known, output, limit, None if until is None else time_ms(until), from_)


def _once(client: Client, query: str, text: QueryText | None, name: str | None, output: Format) -> None:
    if text is None:
        _write_answer(client.query(query).answer(raw=True), Names(client.queries.get(query).text), output)
    elif name is not None:
        client.register(text.text, name)
        typer.echo(name)
        typer.echo(f"registered; follow it with: whorl query {name} --follow", err=True)
    else:
        _write_answer(client.sparql(text.text, raw=True), Names(text.text), output)


def _write_answer(answer: Any, names: Names, output: Format) -> None:  # noqa: ANN401 - whorl_client is imported late
    """An answer that has no time: as it would be in an envelope, without one."""
    write_document(_document(answer), names, output, sys.stdout)


def _document(answer: Any) -> dict[str, Any] | str:  # noqa: ANN401 - as above
    if answer.kind == "graph":
        text: str = answer.text
        return text
    if answer.kind == "boolean":
        return {"head": {}, "boolean": answer.boolean}
    return {"head": {"vars": list(answer.variables)}, "results": {"bindings": answer.bindings()}}


@contextmanager
def _registered(client: Client, query: str, text: QueryText | None, name: str | None) -> Iterator[str]:
    """The name of the query to follow. One that was made for this command goes with it."""
    if text is None:
        yield query
        return
    registered = client.register(text.text, name)
    try:
        yield registered.name
    finally:
        if name is None:
            client.queries.delete(registered.name)


def _follow(client: Client, name: str, output: Format, limit: int | None, until: int | None, from_: str) -> None:
    names = Names(client.queries.get(name).text)
    writer: Writer
    live = None
    if output is Format.TABLE and is_terminal(sys.stdout):
        writer = live = LiveTable(name, names, sys.stdout)
    else:
        writer = writer_of(output, names)
    seen = None if live is None else live.progress
    try:
        with client.subscribe(
            name, from_, limit=limit, until=until, on_gap=_tell_gap, on_progress=seen, raw=True
        ) as answers:
            for answer in answers:
                writer.write(answer.envelope)
    finally:
        writer.close()


def _tell_gap(gap: Any) -> None:  # noqa: ANN401 - whorl_client is imported late
    first, last = gap.from_seq or "?", gap.to_seq or "?"
    typer.echo(f"warning: answers {first} to {last} are lost to this command: {gap.reason}", err=True)
