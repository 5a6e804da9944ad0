"""`whorl explain`: how a query is, or would be, evaluated."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from whorl.cli.faults import UsageError, fault_of
from whorl.cli.options import DEFAULT_URL, Token
from whorl.cli.run import Static, load_static
from whorl.cli.texts import QueryText, query_text

QueryArgument = Annotated[
    str, typer.Argument(metavar="QUERY", help="A file, the text itself, - for stdin, or the name of a running query.")
]
ServerUrl = Annotated[
    str | None,
    typer.Option("--url", envvar="WHORL_URL", metavar="URL", help="The server that runs the query."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")]


def command(
    query: QueryArgument,
    static: Static = None,
    url: ServerUrl = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show how a query is evaluated.

    The plan shows windows and operators, and the state of each. A file or a text is planned by the engine in this
    process. A name refers to a query that runs on a server; its plan has current counters: the state of each operator,
    and how often each probing order was used.

    Examples:
      whorl explain hot.rspql
      whorl explain join.rspql --static http://ex/rooms=rooms.ttl --json
      whorl explain average-temperature

    """
    text = query_text(query)
    if text is not None:
        typer.echo(_planned(text, static or [], as_json=as_json), nl=as_json)
        return
    if static:
        raise UsageError("--static is for plans without a server", hint=f"there is no file {query!r}")
    _show_live(query, url, token, as_json=as_json)


def _planned(text: QueryText, static: list[str], *, as_json: bool) -> str:
    from whorl import Engine, WhorlError

    engine = Engine()
    for document in static:
        load_static(engine, document)
    try:
        query = engine.register(text.text)
    except WhorlError as error:
        raise fault_of(error, text.source, text.text) from None
    return json.dumps(query.explain("json"), indent=2, ensure_ascii=False) if as_json else query.explain()


def _show_live(name: str, url: str | None, token: str | None, *, as_json: bool) -> None:
    import sys

    from whorl.cli.plans import plan_tree
    from whorl.cli.remote import connected
    from whorl.cli.terminal import console

    with connected(url or DEFAULT_URL, token) as client:
        plan = client.queries.explain(name).document
    if as_json:
        typer.echo(json.dumps(plan, indent=2, ensure_ascii=False))
    else:
        console(sys.stdout).print(plan_tree(name, plan))
