"""Warnings about a query keep their positions on the way to the client."""

from __future__ import annotations

from collections.abc import Callable

from server_process import ServerProcess
from whorl_client import Client, QueryWarning

TEXT = """PREFIX : <http://ex/>
SELECT ?room (AVG(?t) AS ?mean)
FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?room :temperature ?t } } GROUP BY ?room
"""


def test_a_warning_has_its_line_its_column_and_its_hint(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    with Client(server.url, server.token) as client:
        client.streams.create("http://ex/s")
        (registered,) = client.register(TEXT, "mean").info().warnings
        (validated,) = client.queries.validate(TEXT).warnings
    assert isinstance(registered, QueryWarning)
    assert (registered.code, registered.line, registered.column) == ("aggregate.merges", 2, 15)
    assert registered.hint is not None
    assert str(registered).startswith("2:15: AVG(?t) counts equal readings once")
    assert validated == registered
