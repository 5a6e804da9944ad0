"""`whorl demo`: play the demo into a running server."""

from __future__ import annotations

import typer

from whorl.cli.faults import ended_by_signals
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import connected


def command(url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Play the demo into a server: a building, taxis, and a gallery of queries.

    It declares its streams, registers its queries and sends events until Ctrl-C; the streams and queries stay.
    `whorl serve --demo` does the same inside the server.

    Examples:
      whorl demo
      whorl demo --url http://whorl:8080

    """
    from whorl.demo.pace import Pace
    from whorl.demo.player import play

    with ended_by_signals(), connected(url, token) as client:
        typer.echo(f"playing the demo at {client.url}; Ctrl-C ends it", err=True)
        play(client, Pace())
