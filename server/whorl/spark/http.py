"""`whorl_client` for jobs: with retries, and with errors worded for operators of jobs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import whorl_client as wc

from whorl.spark.errors import WhorlSparkError, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.spark.options import Connection


@contextmanager
def connected(connection: Connection, doing: str) -> Iterator[wc.Client]:
    """A client whose exceptions become those of a job; `doing` describes the failed action."""
    with job_errors(connection, doing), client_of(connection) as client:
        yield client


def client_of(connection: Connection) -> wc.Client:
    """A client. Each process of a job creates its own; the server is known to exist, so the first call retries, too."""
    client = wc.Client(
        connection.url, connection.token, timeout_s=connection.timeout_s, patience_s=connection.patience_s
    )
    client._server.first_patience_s = connection.patience_s
    return client


@contextmanager
def job_errors(connection: Connection, doing: str) -> Iterator[None]:
    """Turn exceptions of the client inside the block into those of a job."""
    try:
        yield
    except ValueError as error:
        raise WhorlSparkError(f"{doing}: {error}") from None
    except wc.AuthenticationError as error:
        raise WhorlSparkError(
            f"{doing}: {error.document.get('title', 'unauthenticated')}: {error.message}",
            "set option 'token', or WHORL_TOKEN in the environment of the driver before Spark starts",
        ) from None
    except wc.ProblemError as error:
        raise refused(doing, error) from None
    except wc.ConnectionFailedError as error:
        raise WhorlSparkError(
            f"{doing}: {error} (tried for {connection.patience_s:g} s)",
            "is the server running, and is option 'url' right as seen from the workers?",
            is_final=False,
        ) from None
    except wc.WhorlError as error:
        raise WhorlSparkError(f"{doing}: {error}") from None
