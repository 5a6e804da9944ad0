"""`whorl status`: whether a server is running, and its load."""

from __future__ import annotations

from typing import Any

import typer

from whorl.cli.counts import counted
from whorl.cli.listing import AsJson, instant, show_json
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import connected


def command(as_json: AsJson = False, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Show whether a server is running, and its load.

    The exit code is 3 if the server cannot be reached.

    Examples:
      whorl status
      whorl status --url https://streams.example.org --json

    """
    with connected(url, token) as client:
        service = client.status()
        streams = [stream.document for stream in client.streams.list()]
        queries = [query.document for query in client.queries.list()]
    document = {"url": client.url, "service": service, "streams": streams, "queries": queries}
    if as_json:
        show_json(document)
        return
    for name, value in _facts(document).items():
        typer.echo(f"{name:<10}{value}")


def _facts(document: dict[str, Any]) -> dict[str, str]:
    streams, queries = document["streams"], document["queries"]
    events = sum(stream.get("events") or 0 for stream in streams)
    rate = sum(stream.get("rate") or 0 for stream in streams)
    late = sum(stream.get("late") or 0 for stream in streams)
    failed = [query["id"] for query in queries if query.get("status") == "failed"]
    newest = max((stream["watermark"] for stream in streams if stream.get("watermark") is not None), default=None)
    ended = sum(stream.get("status") == "closed" for stream in streams)
    return {
        "server": document["url"],
        "streams": f"{len(streams)} · {counted(events, 'event')} · {rate:.1f}/s · {late} late"
        + (f" · {ended} ended" if ended else ""),
        "queries": f"{len(queries)}" + (f" · failed: {', '.join(failed)}" if failed else ""),
        "watermark": instant(newest) or ("no events yet" if events == 0 else "none: the streams have ended"),
    }
