"""Names that callers give: IRIs of streams and graphs, names of queries."""

from __future__ import annotations

import re

from whorl.server import errors

# Characters that an IRI cannot contain (RFC 3987), and the scheme of an absolute one.
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f-\x9f\ud800-\udfff]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_IRI_CHARS_MAX = 2048
NAME = "[A-Za-z0-9_-]{1,64}"
# Paths below /queries that are operations.
_RESERVED = frozenset({"validate"})


def checked_iri(text: str, what: str = "stream") -> str:
    """An absolute IRI, or the problem with it."""
    if len(text) > _IRI_CHARS_MAX or _NOT_IN_IRI.search(text) or not _SCHEME.match(text):
        hint = "write it as it is or percent-encoded, with a scheme such as http: or urn:"
        raise errors.InvalidIriError(f"the {what} name is not an absolute IRI", hint=hint)
    return text


def checked_name(name: str) -> str:
    """A name of a query, or the problem with it."""
    if not re.fullmatch(NAME, name):
        raise errors.InvalidNameError("a name has 1 to 64 letters, digits, '_' and '-'", hint="choose another one")
    return name


def free_name(name: str) -> str:
    """A name under which a query can be registered."""
    if name in _RESERVED:
        raise errors.InvalidNameError(f"'{name}' is reserved for an operation", hint="choose another name")
    return checked_name(name)
