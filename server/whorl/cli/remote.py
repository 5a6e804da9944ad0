"""The connection of commands to a server, and the messages for its refusals.

This is the only module of the command line that uses whorl_client.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from whorl.cli.faults import NO_CONNECTION, CommandError, UsageError, fault_of

if TYPE_CHECKING:
    from whorl_client import Ack, Client, Format

    from whorl.cli.events import Batch
    from whorl.cli.texts import QueryText

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# The default data directory of `whorl serve`.
_DATA_DIR = "whorl-data"


@contextmanager
def connected(url: str, token: str | None, text: QueryText | None = None) -> Iterator[Client]:
    """A client whose exceptions become errors of the command; positions in them refer to `text`."""
    import whorl_client as wc

    try:
        with wc.Client(url, token or local_token(url)) as client:
            yield client
    except ValueError as error:
        raise UsageError(str(error)) from None
    except wc.AuthenticationError as error:
        hint = (
            "give --token or WHORL_TOKEN; for a local server, set WHORL_DATA_DIR or WHORL_CONFIG as the server has it"
        )
        raise CommandError(error.message, hint=hint) from None
    except wc.ProblemError as error:
        known = (None, None) if text is None else (text.source, text.text)
        raise fault_of(error, *known) from None
    except wc.CertificateError as error:
        hint = "set SSL_CERT_FILE to the certificate (PEM) of the authority that has signed it"
        raise CommandError(str(error), hint=hint, exit_code=NO_CONNECTION) from None
    except wc.ConnectionFailedError as error:
        hint = "is the server running? start it with `whorl serve`"
        raise CommandError(str(error), hint=hint, exit_code=NO_CONNECTION) from None
    except wc.WhorlError as error:
        raise CommandError(str(error)) from None


def local_token(url: str) -> str | None:
    """The token from the file that WHORL_TOKEN_FILE names, or from the data directory of a server on this machine."""
    parts = urlsplit(url)
    named = os.environ.get("WHORL_TOKEN_FILE")
    if parts.fragment or (named is None and parts.hostname not in _LOOPBACK):
        return None
    try:
        return token_file().read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def token_file() -> Path:
    """Where a server with the settings of the environment, or of the file that WHORL_CONFIG names, has its token."""
    said = _config()
    named = os.environ.get("WHORL_TOKEN_FILE") or said.get("token_file")
    return Path(named) if named else Path(os.environ.get("WHORL_DATA_DIR") or said.get("data_dir", _DATA_DIR)) / "token"


def _config() -> dict[str, Any]:
    if not os.environ.get("WHORL_CONFIG"):
        return {}
    from whorl.server.config import ConfigError, config_path, read_config

    path = config_path()
    try:
        return {} if path is None else read_config(path)
    except ConfigError as error:
        raise UsageError(str(error)) from None


class Sender:
    """Sends each batch exactly once: if the response is lost, it sends the batch again under the same number."""

    def __init__(self, client: Client, stream: str) -> None:
        self._client = client
        self._stream = stream
        self._producer = f"whorl-push-{secrets.token_hex(8)}"
        self._epoch = time.time_ns() // 1_000_000
        self._seq = 0

    def send(self, batch: Batch) -> Ack:
        """Send one batch; when this returns, it is durable."""
        place = f"{self._producer};{self._epoch};{self._seq}"
        form = cast("Format", batch.format)
        ack = self._client.stream(self._stream).send(batch.body, batch.at, format=form, producer=place)
        self._seq += 1
        return ack


def ensure_stream(client: Client, iri: str, lateness_ms: int | None) -> None:
    """Declare the stream unless it exists; requested settings must match those it has."""
    from whorl_client import UnknownStreamError

    if lateness_ms is not None:
        client.streams.create(iri, lateness=lateness_ms)
        return
    try:
        client.streams.get(iri)
    except UnknownStreamError:
        client.streams.create(iri)
