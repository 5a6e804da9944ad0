"""Queries as an argument: a file, the text itself, or the name of a registered query."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from whorl.cli.faults import CommandError, UsageError

_NAME = re.compile(r"[A-Za-z0-9_.:/#~-]+")
_EXTENSIONS = (".rspql", ".rq", ".sparql", ".csparql", ".cqels", ".txt")


@dataclass(frozen=True, slots=True)
class QueryText:
    """A text, and its name in messages."""

    text: str
    source: str


def query_text(argument: str) -> QueryText | None:
    """The text that an argument is or names; None if it can only be a query name."""
    if argument == "-":
        return QueryText(sys.stdin.read(), "<stdin>")
    if any(character.isspace() for character in argument):
        return QueryText(argument, "<query>")
    path = Path(argument)
    if path.is_file():
        return QueryText(read_text(path), argument)
    if argument.endswith(_EXTENSIONS) or not _NAME.fullmatch(argument):
        raise CommandError(f"there is no file {argument!r}")
    return None


def needed_text(argument: str) -> QueryText:
    """The text; a query name is refused."""
    found = query_text(argument)
    if found is None:
        raise UsageError(f"there is no file {argument!r}", hint="give a file, the text of a query, or - for stdin")
    return found


def read_text(path: Path) -> str:
    """A whole file as text."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{str(path)!r} is not UTF-8 text") from None
