"""The server on the other side: how commands reach it, and what its refusals look like on a command line.

All of whorl_client that commands use is used here.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from whorl.cli.faults import NO_CONNECTION, CommandError, UsageError, fault_of

if TYPE_CHECKING:
    from whorl_client import Ack, Client, Format

    from whorl.cli.events import Batch
    from whorl.cli.texts import QueryText

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Of whorl serve, where no other data directory is named.
_DATA_DIR = "whorl-data"


@contextmanager
def connected(url: str, token: str | None, text: QueryText | None = None) -> Iterator[Client]:
    """A client, whose exceptions are errors of the command; `text` is what positions in them point into."""
    import whorl_client as wc

    try:
        with wc.Client(url, token or local_token(url)) as client:
            yield client
    except ValueError as error:
        raise UsageError(str(error)) from None
    except wc.AuthenticationError as error:
        hint = "give --token or WHORL_TOKEN; the token of a local server is in its data directory (WHORL_DATA_DIR)"
        raise CommandError(error.message, hint=hint) from None
    except wc.ProblemError as error:
        known = (None, None) if text is None else (text.source, text.text)
        raise fault_of(error, *known) from None
    except wc.ConnectionFailedError as error:
        hint = "is the server running? start it with `whorl serve`"
        raise CommandError(str(error), hint=hint, exit_code=NO_CONNECTION) from None
    except wc.WhorlError as error:
        raise CommandError(str(error)) from None


def local_token(url: str) -> str | None:
    """The token in the file that WHORL_TOKEN_FILE names, or in the data directory of a server on this machine."""
    parts = urlsplit(url)
    named = os.environ.get("WHORL_TOKEN_FILE")
    if parts.fragment or (named is None and parts.hostname not in _LOOPBACK):
        return None
    path = Path(named or Path(os.environ.get("WHORL_DATA_DIR", _DATA_DIR)) / "token")
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


class Sender:
    """Sends batches, each once: a batch whose answer was lost is sent again under its number, and taken once."""

    def __init__(self, client: Client, stream: str) -> None:
        self._client = client
        self._stream = stream
        self._producer = f"whorl-push-{secrets.token_hex(8)}"
        self._epoch = time.time_ns() // 1_000_000
        self._seq = 0

    def send(self, batch: Batch) -> Ack:
        """One batch; when this returns, it is safe."""
        place = f"{self._producer};{self._epoch};{self._seq}"
        form = cast("Format", batch.format)
        ack = self._client.stream(self._stream).send(batch.body, batch.at, format=form, producer=place)
        self._seq += 1
        return ack


def ensure_stream(client: Client, iri: str, lateness_ms: int | None) -> None:
    """Declare the stream unless it is there; settings that are asked for must be the ones it has."""
    from whorl_client import UnknownStreamError

    if lateness_ms is not None:
        client.streams.create(iri, lateness=lateness_ms)
        return
    try:
        client.streams.get(iri)
    except UnknownStreamError:
        client.streams.create(iri)
