"""The static graphs and the tokens of a server, for blocking programs.

Generated from `_async_resources` by `clients/python/generate_sync.py`: edit that file and run `make client-sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _protocol as protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._client import Client
    from ._models import MadeToken, TokenInfo
    from ._payload import Format


class Graphs:
    """The static graphs of a server; None is the default graph."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, graph: str | None = None, *, format: Format = "turtle") -> str:
        """Return a graph as text."""
        return self._client._do(protocol.get_graph(graph, format))

    def put(self, data: object, graph: str | None = None, *, format: Format | None = None) -> None:
        """Replace the content of a graph by text, triples or an rdflib graph.

        >>> client.graphs.put("<urn:lab> a <urn:Room> .", "http://example.org/rooms")
        >>> print(client.graphs.get("http://example.org/rooms", format="ntriples"), end="")
        <urn:lab> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Room> .
        """
        self._client._do(protocol.write_graph("PUT", graph, data, format))

    def post(self, data: object, graph: str | None = None, *, format: Format | None = None) -> None:
        """Add text, triples or an rdflib graph to a graph."""
        self._client._do(protocol.write_graph("POST", graph, data, format))

    def delete(self, graph: str | None = None) -> None:
        """Delete a graph."""
        self._client._do(protocol.delete_graph(graph))


class Tokens:
    """The tokens of a server beside the admin's own; all of this needs the scope `admin`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self) -> list[TokenInfo]:
        """List the tokens that were made, without their texts."""
        return self._client._do(protocol.list_tokens())

    def create(self, name: str, scopes: Sequence[str]) -> MadeToken:
        """Make a token that may `ingest`, `subscribe`, `register` or `admin`; only now does the server tell its text.

        >>> made = client.tokens.create("gateway", ["ingest"])
        >>> made.name, made.scopes, len(made.text)
        ('gateway', ('ingest',), 43)
        """
        return self._client._do(protocol.create_token(name, scopes))

    def revoke(self, token_id: str) -> None:
        """Delete a token. Connections that use it are closed."""
        self._client._do(protocol.delete_token(token_id))
