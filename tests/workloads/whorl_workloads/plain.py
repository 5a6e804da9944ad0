"""From a continuous query to SPARQL over a snapshot of its windows.

A translation of its own, by tokens: nothing of the engine's parser is used. With set semantics each window is a named
graph (C-SPARQL: part of the default graph). With bag semantics each element of a window is a named graph, and every
triple pattern looks through the elements on its own, so that it finds each occurrence; which element belongs to which
window is said in the graph `ELEMENTS`.

It understands the queries in `examples/`, not all that the dialects allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from whorl_oracle.model import (
    AllSoFar,
    Dialect,
    Elements,
    Kind,
    Now,
    Past,
    R2s,
    Sliding,
    Step,
    Triples,
    Window,
)

Form = Literal["SELECT", "CONSTRUCT", "ASK"]

ELEMENTS = "urn:whorl:elements"
ELEMENT_OF = "urn:whorl:element-of"
MEDIAN = "urn:whorl:median"

TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<iri><[^<>"{}|^`\\\s]*>)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<variable>\?\w+)
      | (?P<number>\d+\.\d+)
      | (?P<name>[A-Za-z][\w-]*:[\w-]*|:[\w-]*)
      | (?P<word>\w+)
      | (?P<sign>\^\^|&&|\|\||!=|<=|>=|[^\s\w])""",
    re.VERBOSE,
)
UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# What may stand between the triple patterns of a block.
BETWEEN = {"{", "}", "OPTIONAL", "UNION", "MINUS"}


@dataclass(frozen=True)
class Plain:
    """A query for one snapshot, with what the oracle has to know of the continuous one."""

    text: str
    form: Form
    dialect: Dialect
    windows: tuple[Window, ...]
    r2s: R2s
    # Graphs named by FROM and by FROM NAMED; None when neither stands in the query.
    default_graphs: tuple[str, ...] | None
    named_graphs: tuple[str, ...] | None
    is_ordered: bool

    def static_graphs(self, known: Iterable[str | None]) -> list[str | None]:
        """Those of the known graphs that the query can read."""
        if self.default_graphs is None or self.named_graphs is None:
            return list(known)
        return [graph for graph in known if graph in self.default_graphs or graph in self.named_graphs]


def translate(text: str, dialect: Dialect, *, bag: bool) -> Plain:
    """The query in plain SPARQL."""
    reader = _Reader(tokens(text), dialect, bag=bag)
    reader.read()
    has_dataset = bool(reader.default_graphs or reader.named_graphs)
    return Plain(
        text=" ".join(reader.out),
        form=reader.form,
        dialect=dialect,
        windows=tuple(reader.windows),
        r2s=reader.r2s,
        default_graphs=tuple(reader.default_graphs) if has_dataset else None,
        named_graphs=tuple(reader.named_graphs) if has_dataset else None,
        is_ordered="ORDER" in reader.out[reader.last_brace() :],
    )


def tokens(text: str) -> list[str]:
    """The words of a query without its comments."""
    return [match[0] for match in TOKEN.finditer(text) if match.lastgroup != "comment"]


def duration_ms(text: str) -> int:
    """`PT1H30M`, `P1D`, `15m`, `1m30s` in milliseconds."""
    lowered = text.lower()
    if lowered.startswith("p"):
        date, _, clock = lowered[1:].partition("t")
        parts = re.findall(r"(\d+)(d)", date) + re.findall(r"(\d+)(h|m|s)", clock)
    else:
        parts = re.findall(r"(\d+)(ms|s|m|h|d)", lowered)
    assert parts, text
    return sum(int(number) * UNITS_MS[unit] for number, unit in parts)


def window_kind(words: list[str], dialect: Dialect) -> Kind:
    """What stands between the brackets."""
    match [word.upper() for word in words]:
        case ["NOW"]:
            return Now()
        case ["ALL"]:
            return AllSoFar()
        case ["TRIPLES", size] | ["RANGE", "TRIPLES", size]:
            return Triples(int(size))
        case ["ELEMENTS", size]:
            return Elements(int(size))
        case ["RANGE", width, "STEP" | "SLIDE", slide]:
            return Step(duration_ms(width), duration_ms(slide))
        case ["RANGE", width, "TUMBLING"]:
            return Step(duration_ms(width), duration_ms(width))
        case ["RANGE", width]:
            milliseconds = duration_ms(width)
            return Sliding(milliseconds) if dialect is Dialect.CQELS else Step(milliseconds, milliseconds)
        case ["FROM", "NOW", "-", since, "TO", "NOW", "-", until, "STEP", slide]:
            return Past(duration_ms(since), duration_ms(until), duration_ms(slide))
        case ["FROM", "NOW", "-", since, "TO", "NOW", "STEP", slide]:
            return Past(duration_ms(since), 0, duration_ms(slide))
    raise AssertionError(words)


@dataclass
class _Reader:
    """Walks over the tokens once; streaming clauses are taken out or rewritten, the rest is copied."""

    tokens: list[str]
    dialect: Dialect
    bag: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        self.at = 0
        self.out: list[str] = []
        self.prefixes: dict[str, str] = {}
        self.windows: list[Window] = []
        self.default_graphs: list[str] = []
        self.named_graphs: list[str] = []
        self.form: Form = "SELECT"
        self.r2s = R2s.ISTREAM if self.dialect is Dialect.CQELS else R2s.RSTREAM
        self.fresh = count()

    def last_brace(self) -> int:
        return len(self.out) - 1 - self.out[::-1].index("}")

    def read(self) -> None:
        readers = {
            "PREFIX": self.prefix,
            "REGISTER": self.register,
            "FROM": self.dataset,
            "WINDOW": self.window_block,
            "STREAM": self.stream_block,
        }
        while self.at < len(self.tokens):
            word = self.tokens[self.at].upper()
            if word in readers:
                self.at += 1
                readers[word]()
            else:
                self.copy(word)

    def copy(self, word: str) -> None:
        token = self.next()
        if word in {"SELECT", "CONSTRUCT", "ASK"} and "{" not in self.out:
            self.form = word  # type: ignore[assignment]  # checked by the line above
        if word == "MEDIAN":
            token = f"<{MEDIAN}>"
        self.out.append(token)

    def next(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, *words: str) -> None:
        for word in words:
            assert self.next().upper() == word, (word, self.tokens[self.at - 1])

    def iri(self) -> str:
        token = self.next()
        if token.startswith("<"):
            return token[1:-1]
        prefix, _, local = token.partition(":")
        return self.prefixes[prefix] + local

    def bracketed(self) -> list[str]:
        self.expect("[")
        end = self.tokens.index("]", self.at)
        words, self.at = self.tokens[self.at : end], end + 1
        return words

    # Clauses; the keyword has been read.

    def prefix(self) -> None:
        name, value = self.next(), self.next()
        self.prefixes[name.removesuffix(":")] = value[1:-1]
        self.out += ["PREFIX", name, value]

    def register(self) -> None:
        word = self.next().upper()
        if word in R2s.__members__:
            self.r2s = R2s[word]
        while self.next().upper() != "AS":
            pass

    def dataset(self) -> None:
        if self.tokens[self.at].upper() == "STREAM":
            self.expect("STREAM")
            stream = self.iri()
            self.windows.append(Window(f"urn:w{len(self.windows)}", stream, self.kind()))
        elif self.tokens[self.at].upper() != "NAMED":
            self.default_graphs.append(self.iri())
        elif self.tokens[self.at + 1].upper() == "WINDOW":
            self.expect("NAMED", "WINDOW")
            name = self.iri()
            self.expect("ON")
            self.windows.append(Window(name, self.iri(), self.kind()))
        else:
            self.expect("NAMED")
            self.named_graphs.append(self.iri())

    def kind(self) -> Kind:
        return window_kind(self.bracketed(), self.dialect)

    def window_block(self) -> None:
        self.block(self.iri())

    def stream_block(self) -> None:
        stream, kind = self.iri(), self.kind()
        known = next((one for one in self.windows if (one.stream, one.kind) == (stream, kind)), None)
        if known is None:
            known = Window(f"urn:w{len(self.windows)}", stream, kind)
            self.windows.append(known)
        self.block(known.name)

    def block(self, window: str) -> None:
        """A block that reads a window, from its brace on."""
        if not self.bag:
            self.out += ["GRAPH", f"<{window}>"]
            return
        inside, self.at = self.tokens[self.at : self.closing()], self.closing()
        self.out += _occurrences(inside, window, self.fresh)

    def closing(self) -> int:
        """The place behind the brace that closes the block."""
        depth = 0
        for place in range(self.at, len(self.tokens)):
            depth += {"{": 1, "}": -1}.get(self.tokens[place], 0)
            if depth == 0:
                return place + 1
        raise AssertionError("a block has no end")


def _occurrences(block: list[str], window: str, fresh: Iterable[int]) -> list[str]:
    """A block in which each triple pattern looks for an element of its own."""
    out: list[str] = []
    pending: list[str] = []
    numbers = iter(fresh)
    place = 0

    def flush() -> None:
        for triple in _patterns(pending):
            graph = f"?_occurrence{next(numbers)}"
            out.extend(["GRAPH", graph, "{", *triple, "}"])
            out.extend(["GRAPH", f"<{ELEMENTS}>", "{", graph, f"<{ELEMENT_OF}>", f"<{window}>", "}"])
        pending.clear()

    while place < len(block):
        token = block[place]
        if token.upper() in {"FILTER", "BIND"}:
            flush()
            end = _closing_bracket(block, place + 1)
            out += block[place:end]
            place = end
            continue
        if token.upper() in BETWEEN:
            flush()
            out.append(token)
        else:
            pending.append(token)
        place += 1
    flush()
    return out


def _closing_bracket(block: list[str], place: int) -> int:
    depth = 0
    while True:
        depth += {"(": 1, ")": -1}.get(block[place], 0)
        place += 1
        if depth == 0:
            return place


def _patterns(words: list[str]) -> list[list[str]]:
    """`s p o ; p o , o .` as single patterns; terms are one token each, or a string with its datatype."""
    found: list[list[str]] = []
    pattern: list[str] = []
    for word in [*words, "."]:
        if word not in {".", ";", ","}:
            pattern.append(word)
            continue
        if len(pattern) > 2:
            found.append(pattern)
        keep = {".": 0, ";": 1, ",": 2}[word]
        pattern = (found[-1] if found else [])[:keep]
    return found
