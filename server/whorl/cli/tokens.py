"""`whorl tokens`: access tokens of a server.

A group of commands (`COMMANDS`, under the help of `group`).
"""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from whorl.cli.listing import AsJson, instant, show_json, show_table
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import connected


class Scope(enum.StrEnum):
    """What a token permits."""

    INGEST = "ingest"
    SUBSCRIBE = "subscribe"
    REGISTER = "register"
    ADMIN = "admin"


Name = Annotated[str, typer.Argument(metavar="NAME", help="What the token is for: letters, digits, spaces, . @ : -.")]
Scopes = Annotated[
    list[Scope], typer.Option("--scope", help="What the token may do; may be given several times.", show_default=False)
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The ids that `whorl tokens list` shows.")]


def group() -> None:
    """Create, list and revoke the tokens of a server; this needs an admin token.

    Examples:
      whorl tokens create gateway --scope ingest
      whorl tokens list
      whorl tokens revoke 3f9c2a71

    """


def create(name: Name, scopes: Scopes, as_json: AsJson = False, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Create a token and print it.

    The server keeps only a hash: store the token where it is needed, because it cannot be shown again.

    Examples:
      whorl tokens create gateway --scope ingest > gateway.token
      whorl tokens create dashboard --scope subscribe --scope register

    """
    with connected(url, token) as client:
        made = client.tokens.create(name, [scope.value for scope in scopes])
    if as_json:
        show_json({**_document(made), "token": made.text})
        return
    typer.echo(made.text)
    typer.echo(f"created token {made.id} for {made.name}: {', '.join(made.scopes)}; it is not shown again", err=True)


def list_(as_json: AsJson = False, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """List the tokens that were created, without their texts.

    Examples:
      whorl tokens list
      whorl tokens list --json

    """
    with connected(url, token) as client:
        found = client.tokens.list()
    if as_json:
        show_json([_document(one) for one in found])
        return
    rows = ((one.id, one.name, ", ".join(one.scopes), instant(one.created_at)) for one in found)
    show_table(("id", "name", "scopes", "created"), rows, empty="there is only the admin token")


def revoke(ids: Ids, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Delete tokens. Connections that use them are closed.

    Example:
      whorl tokens revoke 3f9c2a71

    """
    with connected(url, token) as client:
        for one in ids:
            client.tokens.revoke(one)
            typer.echo(f"revoked {one}", err=True)


def _document(one: object) -> dict[str, object]:
    return {name: getattr(one, name) for name in ("id", "name", "scopes", "created_at")}


COMMANDS = {"list": list_, "create": create, "revoke": revoke}
