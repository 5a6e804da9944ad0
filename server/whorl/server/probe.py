"""`python -m whorl.server.probe`: 0 if the server of this environment is ready, 1 if not. For health checks.

It reads the same environment variables as the server and connects to it on a loopback address. It needs only the
standard library, so that a check every few seconds costs little.
"""

from __future__ import annotations

import http.client
import ipaddress
import os
import ssl
import sys

_SECONDS = 4


def main() -> int:
    """Ask `/readyz`."""
    try:
        connection = _connection()
        connection.request("GET", "/readyz")
        status = connection.getresponse().status
    except (OSError, ValueError, http.client.HTTPException) as error:
        sys.stderr.write(f"cannot reach the server: {error}\n")
        return 1
    if status != http.HTTPStatus.OK:
        sys.stderr.write(f"not ready: {status}\n")
        return 1
    return 0


def _connection() -> http.client.HTTPConnection:
    host, port = _reachable(os.environ.get("WHORL_HOST", "127.0.0.1")), int(os.environ.get("WHORL_PORT", "8080"))
    if not os.environ.get("WHORL_TLS_CERT"):
        return http.client.HTTPConnection(host, port, timeout=_SECONDS)
    # The certificate is for the name that clients use; nothing secret is sent or received here.
    unverified = ssl._create_unverified_context()  # noqa: S323 - see above
    return http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=unverified)


def _reachable(host: str) -> str:
    """An address to connect to: a wildcard address can be listened on, but not connected to."""
    plain = host.strip("[]")
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return plain
    if not address.is_unspecified:
        return plain
    return "127.0.0.1" if address.version == 4 else "::1"


if __name__ == "__main__":
    sys.exit(main())
