"""Property paths taken apart as SPARQL 1.1 defines them (§18.2.2.4): sequences are joins, alternatives are unions.

pyoxigraph gives the pairs of an alternative or of a negated set once each; taken apart they come as often as they
should. What is closed (`*`, `+`, `?`) is a set of pairs and stays as it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Sequence:
    first: Path
    then: Path


@dataclass(frozen=True)
class Alternative:
    branches: tuple[Path, ...]


@dataclass(frozen=True)
class Inverse:
    path: Path


# A string is a predicate, a negated set or something closed: nothing to take apart.
Path = str | Sequence | Alternative | Inverse


def parsed(text: str) -> Path:
    """The path of a text, which is fully bracketed but for `|`."""
    path, rest = _alternative(text)
    assert not rest, text
    return path


def _alternative(text: str) -> tuple[Path, str]:
    path, rest = _sequence(text)
    branches = [path]
    while rest.startswith("|"):
        path, rest = _sequence(rest[1:])
        branches.append(path)
    return (branches[0] if len(branches) == 1 else Alternative(tuple(branches))), rest


def _sequence(text: str) -> tuple[Path, str]:
    path, rest = _step(text)
    while rest.startswith("/"):
        then, rest = _step(rest[1:])
        path = Sequence(path, then)
    return path, rest


def _step(text: str) -> tuple[Path, str]:
    if text.startswith("^"):
        path, rest = _step(text[1:])
        return Inverse(path), rest
    if text.startswith("!("):
        end = text.index(")") + 1
        return _negated(text[2 : end - 1]), text[end:]
    if text.startswith("("):
        path, rest = _alternative(text[1:])
        assert rest.startswith(")"), text
        end = len(text) - len(rest) + 1
        if text[end : end + 1] in ("*", "+", "?"):
            return text[: end + 1], text[end + 1 :]
        return path, text[end:]
    end = 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[:end], text[end:]


def _negated(steps: str) -> Path:
    """A negated set of both directions is a union of one in each."""
    names = steps.split("|")
    forth = [name for name in names if not name.startswith("^")]
    back = [name[1:] for name in names if name.startswith("^")]
    parts: list[Path] = [f"!({'|'.join(forth)})"] if forth else []
    if back:
        parts.append(Inverse(f"!({'|'.join(back)})"))
    return parts[0] if len(parts) == 1 else Alternative(tuple(parts))


def expanded(
    subject: str, path: Path, value: str, fresh: Callable[[], str], write: Callable[[str, str, str], str]
) -> str:
    """The path as patterns; `write` writes a single one."""
    match path:
        case str() if path.startswith("!("):
            predicate = fresh()
            listed = ", ".join(path[2:-1].split("|"))
            return f"{{ {write(subject, predicate, value)} FILTER({predicate} NOT IN ({listed})) }}"
        case str():
            return write(subject, path, value)
        case Inverse(inner):
            return expanded(value, inner, subject, fresh, write)
        case Sequence(first, then):
            between = fresh()
            return expanded(subject, first, between, fresh, write) + " " + expanded(between, then, value, fresh, write)
        case Alternative(branches):
            return " UNION ".join(f"{{ {expanded(subject, one, value, fresh, write)} }}" for one in branches)
