"""`whorl open`: the console of a server in a browser, signed in."""

from __future__ import annotations

import secrets
import threading
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated
from urllib.parse import urlsplit

import typer

from whorl.cli.faults import CommandError
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import connected, local_token

PrintLink = Annotated[bool, typer.Option("--print", help="Print the link, with the token, and open nothing.")]
# How long a browser may take to start.
_PATIENCE_S = 30.0


def command(url: Url = DEFAULT_URL, token: Token = None, print_link: PrintLink = False) -> None:
    """Open the console in a browser, signed in.

    The token comes from --token, WHORL_TOKEN, or the data directory of a server on this machine. It reaches the browser
    in the fragment of the address, which browsers do not send to servers, and appears on no command line.

    Examples:
      whorl open
      whorl open --url https://streams.example.org
      whorl open --print

    """
    known = token or local_token(url)
    with connected(url, known) as client:
        client.streams.list()
    link = f"{url.rstrip('/')}/" + ("" if known is None else f"#token={known}")
    if print_link:
        typer.echo(link)
    elif known is None:
        _open(link)
    else:
        _hand_over(link)


def _hand_over(link: str) -> None:
    """Open an address that only this browser knows, and that redirects to the link once.

    Every user of the machine can see the browser's command line, so the link itself must not be part of it.
    """
    with _OneTimePage(link) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        try:
            _open(page.address)
            is_used = page.used.wait(_PATIENCE_S)
        finally:
            page.shutdown()
    if not is_used:
        raise CommandError("no browser came for the link", hint="print it with `whorl open --print`")


def _open(address: str) -> None:
    if not webbrowser.open(address):
        raise CommandError("there is no browser to open", hint="print the link with `whorl open --print`")


class _OneTimePage(ThreadingHTTPServer):
    """One page on loopback, with an unguessable name."""

    def __init__(self, link: str) -> None:
        super().__init__(("127.0.0.1", 0), _Redirect)
        self.link = link
        self.path = f"/{secrets.token_urlsafe(24)}"
        self.used = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.path}"


class _Redirect(BaseHTTPRequestHandler):
    """Redirects to the link; requests for other names learn nothing."""

    server: _OneTimePage

    def do_GET(self) -> None:
        is_right = urlsplit(self.path).path == self.server.path
        self.send_response(HTTPStatus.FOUND if is_right else HTTPStatus.NOT_FOUND)
        if is_right:
            self.send_header("Location", self.server.link)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", "0")
        self.end_headers()
        if is_right:
            self.server.used.set()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the library calls
        """Log nothing, because the name of the page is a secret."""
