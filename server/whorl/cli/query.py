"""`whorl query`: run a query on a server, once or continuously."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.faults import UsageError, ended_by_signals, fault_of, show_warnings
from whorl.cli.follow import LiveTable
from whorl.cli.names import Names
from whorl.cli.options import DEFAULT_URL, Limit, OutputFormat, Semantics, Token, Until, Url, word_of
from whorl.cli.remote import connected
from whorl.cli.results import Format, Writer, rows, write_document, writer_of
from whorl.cli.terminal import is_terminal
from whorl.cli.texts import QueryText, query_text
from whorl.cli.times import time_ms
from whorl.cli.waiting import Waiting, tell_reason

if TYPE_CHECKING:
    from whorl_client import Client

    from whorl.cli.options import ContentSemantics as Kind

QueryArgument = Annotated[
    str,
    typer.Argument(metavar="QUERY", help="A file, the text itself, - for stdin, or the name of a registered query."),
]
Name = Annotated[str | None, typer.Option("--name", "-n", help="Register the query under this name; it keeps running.")]
Replace = Annotated[bool, typer.Option("--replace", help="With --name: replace another query of this name.")]
Declare = Annotated[bool, typer.Option("--declare", help="Declare streams of the query that do not exist.")]
Follow = Annotated[bool, typer.Option("--follow", "-F", help="Show results as they arrive.")]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="latest|earliest|TOKEN",
        help="Where to start: earliest, latest, or after the result with this token.",
    ),
]


def command(  # noqa: PLR0913 - each option is a parameter
    query: QueryArgument,
    name: Name = None,
    follow: Follow = False,
    output: OutputFormat = Format.TABLE,
    limit: Limit = None,
    until: Until = None,
    from_: From = "latest",
    semantics: Semantics = None,
    replace: Replace = False,
    declare: Declare = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Run a query on a server, or follow a continuous one.

    With --follow, a text is registered and its results are shown as they arrive; without --name it belongs to this
    command and ends with it in any case. Without --follow, a text with --name is registered and keeps running, a text
    without one runs once over static graphs and current windows (SPARQL), and a name shows the current result of that
    query.

    Examples:
      whorl query hot.rspql --follow
      whorl query average-temperature --follow --format csv --limit 10 > results.csv
      whorl query hot.rspql --name hot --declare
      whorl query hot.rspql --name hot --replace
      whorl query hot
      whorl query 'SELECT * { GRAPH ?g { ?room a <http://whorl.example/Room> } }' --format json

    """
    text = query_text(query)
    if text is None and name is not None:
        raise UsageError("--name is for a text that is to be registered", hint=f"{query!r} is already a query name")
    if replace and name is None:
        raise UsageError("--replace is for a query that is registered under a --name")
    with ended_by_signals(), connected(url, token, text) as client:
        if declare and text is not None:
            _declare_streams(client, text)
        if not follow and text is not None and name is not None:
            _register(client, text, name, semantics, replace=replace)
            typer.echo(name)
            typer.echo(f"registered; follow it with: whorl query {name} --follow", err=True)
            return
        if not follow:
            _once(client, query, text, output)
            return
        wanted = _FollowOptions(output, limit, None if until is None else time_ms(until), from_)
        if text is None or name is not None:
            known = query if text is None else _register(client, text, name, semantics, replace=replace)
            _follow(client, known, wanted)
        else:
            _follow_text(client, text, wanted, semantics)


def _once(client: Client, query: str, text: QueryText | None, output: Format) -> None:
    """Show the current result of a registered query, or evaluate a text once."""
    if text is None:
        names = Names(client.queries.get(query).text)
        n_rows = write_document(_document(client.query(query).answer(raw=True)), names, output, sys.stdout)
        why = f"the current result is empty; `whorl why {query}` shows why"
    else:
        n_rows = write_document(_document(_evaluated(client, text)), Names(text.text), output, sys.stdout)
        why = "the result is empty"
    if n_rows == 0:
        typer.echo(why, err=True)


def _evaluated(client: Client, text: QueryText) -> Any:  # noqa: ANN401 - whorl_client is imported late
    """The result of a text over static graphs and current windows."""
    from whorl_client import ProblemError

    try:
        return client.sparql(text.text, raw=True)
    except ProblemError as error:
        fault = fault_of(error, text.source, text.text)
        if error.document.get("code") == "query.continuous":
            fault.hint = "add --follow to follow it, or --name NAME to register it"
        raise fault from None


def _document(answer: Any) -> dict[str, Any] | str:  # noqa: ANN401 - as above
    if answer.kind == "graph":
        text: str = answer.text
        return text
    if answer.kind == "boolean":
        return {"head": {}, "boolean": answer.boolean}
    return {"head": {"vars": list(answer.variables)}, "results": {"bindings": answer.bindings()}}


@dataclass(frozen=True, slots=True)
class _FollowOptions:
    """What to show of a query, and how."""

    output: Format
    limit: int | None
    until: int | None
    from_: str


def _declare_streams(client: Client, text: QueryText) -> None:
    """Declare the streams of the query that do not exist yet."""
    from whorl import Engine, WhorlError

    try:
        streams = Engine().validate(text.text)["streams"]
    except WhorlError as error:
        raise fault_of(error, text.source, text.text) from None
    known = {stream.iri for stream in client.streams.list()}
    for iri in streams:
        if iri not in known:
            client.streams.create(iri)


def _register(client: Client, text: QueryText, name: str | None, semantics: Kind | None, *, replace: bool) -> str:
    registered = client.register(text.text, name, replace=replace, semantics=word_of(semantics))
    show_warnings(_warnings(registered.info().document), text.source, text.text)
    return registered.name


def _follow(client: Client, name: str, wanted: _FollowOptions) -> None:
    names = Names(client.queries.get(name).text)
    with _writer(name, names, wanted.output) as writer:
        answers = client.subscribe(
            name,
            wanted.from_,
            limit=wanted.limit,
            until=wanted.until,
            on_gap=_tell_gap,
            on_progress=_seen(writer),
            raw=True,
        )
        _write_all(client, answers, writer)


def _follow_text(client: Client, text: QueryText, wanted: _FollowOptions, semantics: Kind | None) -> None:
    """Follow a query that belongs to the connection, so that it disappears however this command ends."""
    chosen = word_of(semantics)
    facts = client.queries.validate(text.text, semantics=chosen)
    show_warnings(_warnings(facts.document), text.source, text.text)
    names = Names(text.text)
    with _writer(text.source, names, wanted.output) as writer:
        answers = client.follow(
            text.text,
            {"semantics": chosen},
            limit=wanted.limit,
            until=wanted.until,
            on_gap=_tell_gap,
            on_progress=_seen(writer),
            raw=True,
        )
        _write_all(client, answers, writer)


def _warnings(document: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON of the server
    found: list[dict[str, Any]] = document.get("warnings") or []
    return found


@contextmanager
def _writer(name: str, names: Names, output: Format) -> Iterator[Writer]:
    is_live = output is Format.TABLE and is_terminal(sys.stdout)
    writer: Writer = LiveTable(name, names, sys.stdout) if is_live else writer_of(output, names)
    try:
        yield writer
    finally:
        writer.close()


def _seen(writer: Writer) -> Any:  # noqa: ANN401 - whorl_client is imported late
    return writer.progress if isinstance(writer, LiveTable) else None


def _write_all(client: Client, answers: Any, writer: Writer) -> None:  # noqa: ANN401 - as above
    tell = writer.waits if isinstance(writer, LiveTable) else tell_reason
    waiting = Waiting(lambda: client.queries.why(answers.query).document, tell)
    with answers, waiting:
        for answer in answers:
            writer.write(answer.envelope)
            if next(rows(answer.envelope), None) is not None:
                waiting.end()


def _tell_gap(gap: Any) -> None:  # noqa: ANN401 - whorl_client is imported late
    first, last = gap.from_seq or "?", gap.to_seq or "?"
    typer.echo(f"warning: results {first} to {last} are lost: {gap.reason}", err=True)
