"""Paths as the routes expect them: `/v1` is the same as `/`, and a stream's IRI is one segment.

A stream's IRI may stand in the path percent-encoded (`/streams/http%3A%2F%2Fex%2Fs/close`) or as it is
(`/streams/http://ex/s/close`). Only the undecoded path tells a `/` of the IRI from one that ends it, so the IRI is
found there, before the router runs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

VERSION_PREFIX = "/v1"
_STREAMS = "/streams/"
_SUB_RESOURCES = frozenset({"watermark", "close", "reopen", "mapping", "stages", "commits"})
_NON_ASCII = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")


class Paths:
    """Rewrites the path of each connection; the version becomes the root path, as if the app were mounted there."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "lifespan":
            scope = {**scope, **_rewritten(scope)}
        await self.app(scope, receive, send)


def _rewritten(scope: Scope) -> dict[str, str]:
    path: str = scope["path"]
    raw = scope.get("raw_path") or quote(path).encode()
    raw_path = raw.decode("ascii", "replace").partition("?")[0]
    versioned = path == VERSION_PREFIX or path.startswith(VERSION_PREFIX + "/")
    root = VERSION_PREFIX if versioned else ""
    if raw_path.startswith(root + _STREAMS):
        return {"path": root + _STREAMS + stream_path(raw_path[len(root + _STREAMS) :]), "root_path": root}
    return {"path": path + "/" if path == VERSION_PREFIX else path, "root_path": root}


# Most requests concern a few streams.
@lru_cache(maxsize=256)
def stream_path(raw: str) -> str:
    """What follows `/streams/`, undecoded, as `{encoded IRI}` or `{encoded IRI}/{sub-resource}`."""
    before, slash, last = raw.rpartition("/")
    if slash and last in _SUB_RESOURCES and before:
        return f"{_segment(before)}/{last}"
    return _segment(raw)


def _segment(raw: str) -> str:
    return quote(_iri(raw), safe="")


def _iri(raw: str) -> str:
    """The IRI that undecoded text means.

    With a plain colon the text is an IRI as it is; its own percent-encodings stay, but for letters beyond ASCII, which
    clients encode by themselves. Without one, the whole of it was encoded.
    """
    if ":" not in raw:
        return unquote(raw)
    return _NON_ASCII.sub(lambda found: _decoded(found.group()), raw)


def _decoded(encoded: str) -> str:
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        return encoded
