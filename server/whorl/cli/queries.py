"""`whorl queries`: the queries of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from whorl.cli.listing import AsJson, instant, show_json, show_table
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import connected

if TYPE_CHECKING:
    from whorl_client import QueryInfo

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these.", show_default=False)]
Delete = Annotated[bool, typer.Option("--delete", help="Delete the named queries.")]
Pause = Annotated[bool, typer.Option("--pause", help="Pause the named queries.")]
Restart = Annotated[bool, typer.Option("--restart", help="Restart the named queries, with empty windows.")]
ShowText = Annotated[bool, typer.Option("--text", help="Show the query texts.")]


def command(  # noqa: PLR0913 - each option is a parameter
    names: Names = None,
    delete: Delete = False,
    pause: Pause = False,
    restart: Restart = False,
    text: ShowText = False,
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """List the queries of a server, or delete, pause or restart some.

    Examples:
      whorl queries
      whorl queries fire-alert --text
      whorl queries old-query --delete
      whorl queries --json

    """
    if sum((delete, pause, restart)) > 1 or ((delete or pause or restart) and not names):
        raise typer.BadParameter("give one of --delete, --pause and --restart, and the names of the queries")
    with connected(url, token) as client:
        for name in names or []:
            if delete:
                client.queries.delete(name)
            elif pause:
                client.queries.pause(name)
            elif restart:
                client.queries.restart(name)
        if delete:
            return
        found = [client.queries.get(name) for name in names] if names else client.queries.list()
    _show(found, text=text, as_json=as_json)


def _show(found: list[QueryInfo], *, text: bool, as_json: bool) -> None:
    if as_json:
        show_json([query.document for query in found])
    elif text:
        for query in found:
            typer.echo(query.text.rstrip("\n"))
    else:
        columns = ("name", "status", "dialect", "results", "subscribers", "watermark", "streams")
        show_table(columns, map(_row, found), empty="no query is registered")


def _row(query: QueryInfo) -> tuple[object, ...]:
    document = query.document
    return (
        query.name,
        query.status,
        query.dialect,
        query.last_seq,
        document.get("subscribers"),
        instant(query.watermark),
        ", ".join(query.streams),
    )
