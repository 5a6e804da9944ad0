"""The console: the page at `/`, its files, and the API browser at `/docs`.

They are built from `server/web` into `web-dist`, which is part of the package but not of the repository. Without them
the server shows a plain page. Nothing here is secret, so it needs no token; the pages request their data with one.
"""

import base64
import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whorl.server import media

router = APIRouter(include_in_schema=False)

_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
# File names contain a hash of the content: changed content has another name.
_FOR_EVER = "public, max-age=31536000, immutable"
_NOTHING_ELSE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# A built page loads everything from this server. Swagger UI embeds its images in its style sheet.
_OWN = "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"
_POLICY = f"default-src 'none'; {_OWN}; {_NOTHING_ELSE}"


@dataclass(frozen=True)
class _File:
    """A file of the console."""

    content: bytes
    media_type: str

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, mtime=0)


def page() -> Response:
    """The page at `/`."""
    index = _files().get("index.html")
    if index is None:
        return _html(_plain_page(), _plain_policy(_plain_page()))
    return _html(index.content.decode(), _POLICY)


@router.get("/assets/{name}")
async def asset(request: Request, name: str) -> Response:
    """A file of the console."""
    found = _files().get(f"assets/{name}")
    if found is None:
        raise HTTPException(404)
    headers = {"Content-Type": found.media_type, "Cache-Control": _FOR_EVER, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.compressed, headers={**headers, "Content-Encoding": "gzip"})
    return Response(found.content, headers=headers)


@router.get("/docs")
async def docs() -> Response:
    """The API browser."""
    found = _files().get("docs.html")
    if found is None:
        raise HTTPException(404)
    return _html(found.content.decode(), _POLICY)


def _html(text: str, policy: str) -> Response:
    headers = {"Content-Security-Policy": policy, "Vary": "Accept"}
    return Response(text, media_type=media.content_type(media.HTML), headers=headers)


@cache
def _files() -> dict[str, _File]:
    """The built files by name, read once; none if the console was not built."""
    built = resources.files("whorl.server").joinpath("web-dist")
    if not built.is_dir():
        return {}
    pages = {name: _read(built.joinpath(name)) for name in ("index.html", "docs.html")}
    return pages | {f"assets/{file.name}": _read(file) for file in built.joinpath("assets").iterdir()}


def _read(file: Traversable) -> _File:
    return _File(file.read_bytes(), _TYPES.get(file.name.rpartition(".")[2], "application/octet-stream"))


@cache
def _plain_page() -> str:
    return resources.files("whorl.server").joinpath("page.html").read_text("utf-8")


@cache
def _plain_policy(text: str) -> str:
    script, style = _hash_of("script", text), _hash_of("style", text)
    return f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; {_NOTHING_ELSE}"


def _hash_of(element: str, text: str) -> str:
    """The hash that allows an inline element in the content security policy."""
    found = re.search(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
    content = found.group(1) if found is not None else ""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
