"""Random expressions of SPARQL 1.1, over variables that may be unbound or of any type.

Errors are as welcome as values. EXISTS and times of events are written by the spelling: while an expression grows they
are marks in its text; `finished` puts them in.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, replace

from whorl_oracle.model import Dialect
from whorl_oracle.query import Exists, Group, Parts, Pattern, Text, Timestamp
from whorl_oracle.streams import Streams
from whorl_oracle.vocabulary import NODES

MARK = re.compile("\0(\\d+)\0")
COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")
EQUALITIES = ("=", "!=")
NUMBERS = ("0", "1", "2", "3", "-1", "1.5", "2.25", "1.25e0", '"2"^^xsd:float')
TEXTS = ('"x"', '"abc"', '""', '"x"@en', '"y"@de', '"2"', '"b"')
DATATYPES = (
    "xsd:integer",
    "xsd:decimal",
    "xsd:double",
    "xsd:string",
    "xsd:boolean",
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>",
)
REGEXES = ('"b"', '"^a.c$"', '"X", "i"', '"^$"')
REPLACEMENTS = ('"b", "-"', '"[a-c]", "$0$0"', '"B", "z", "i"')
RANGES = ('"en"', '"fr"', '"*"')
MOMENTS = ("NOW()", '"2020-01-02T03:04:05Z"^^xsd:dateTime', '"1970-01-01T00:00:00.01Z"^^xsd:dateTime')


@dataclass(frozen=True)
class Around:
    """Where a group stands."""

    # Inside a window or a graph: patterns read it.
    inside: bool = False
    window: str | None = None
    # Nothing but patterns, OPTIONAL and UNION.
    plain: bool = False
    in_exists: bool = False
    in_optional: bool = False
    depth: int = 2

    def deeper(self) -> Around:
        return replace(self, depth=self.depth - 1)


class Expressions(Streams):
    """Draws expressions."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.specials: list[Exists | Timestamp] = []
        self.around = Around()
        self.bag = False
        # The kind of value of a variable, if it is known: node, number, word.
        self.kinds: dict[str, str] = {}
        # Patterns of the group that is being drawn, for the times of their triples.
        self.patterns: list[Pattern] = []

    @abstractmethod
    def exists_group(self, names: list[str]) -> Group:
        """The pattern of an EXISTS that may share variables."""

    def finished(self, text: str) -> Text:
        pieces = MARK.split(text)
        if len(pieces) == 1:
            return text
        parts = [self.specials[int(piece)] if index % 2 else piece for index, piece in enumerate(pieces)]
        return Parts(tuple(part for part in parts if part != ""))

    def mark(self, special: Exists | Timestamp) -> str:
        self.specials.append(special)
        return f"\0{len(self.specials) - 1}\0"

    def one_of(self, names: list[str], kind: str | None = None) -> str:
        """A variable, if possible of this kind."""
        fitting = [name for name in names if kind is None or self.kinds.get(name) == kind]
        if fitting and self.chance(0.85):
            return self.rng.choice(fitting)
        return self.rng.choice(names) if names else "?nowhere"

    # Expressions by type. `d` is how deep they may still be.

    def boolean(self, names: list[str], d: int = 2) -> str:
        rng = self.rng
        if d > 0 and self.chance(0.35):
            left = self.boolean(names, d - 1)
            return rng.choice(
                [
                    f"({left} && {self.boolean(names, d - 1)})",
                    f"({left} || {self.boolean(names, d - 1)})",
                    f"(!{self.wrapped(left)})",
                    f"IF({left}, {self.boolean(names, d - 1)}, {self.boolean(names, d - 1)})",
                    f"COALESCE({left}, {rng.choice(['true', 'false'])})",
                    f"({left} = {self.boolean(names, d - 1)})",
                ]
            )
        if d > 0 and self.around.depth > 0 and self.chance(0.12):
            before = self.around
            self.around = replace(before.deeper(), in_exists=True)
            group = self.exists_group(names)
            self.around = before
            return f"({self.mark(Exists(group, negated=self.chance(0.4)))})"
        return self.test(names, d)

    def wrapped(self, text: str) -> str:
        return text if text.startswith("(") else f"({text})"

    def test(self, names: list[str], d: int) -> str:
        rng, x, y = self.rng, self.one_of(names), self.one_of(names)
        # What is no number is an error before it is compared: pyoxigraph gives equal terms an order (exclusions.py).
        number = f"({self.number(names, d - 1)} + 0 {rng.choice(COMPARISONS)} {self.number(names, d - 1)})"
        text = self.string(names, d - 1)
        node = f":{rng.choice(NODES)}"
        choices = [
            *[number] * 5,
            f"({x} {rng.choice(EQUALITIES)} {y})",
            f"({x} {rng.choice(['=', '!='])} {node})",
            f"({x} {rng.choice(['IN', 'NOT IN'])} ({node}, {self.anything(names, d - 1)}, 2))",
            f"sameTerm({x}, {self.anything(names, d - 1)})",
            f"BOUND({x})",
            f"{rng.choice(['isIRI', 'isLiteral', 'isBlank', 'isNumeric'])}({self.anything(names, d - 1)})",
            f"{rng.choice(['CONTAINS', 'STRSTARTS', 'STRENDS'])}({text}, {rng.choice(TEXTS)})",
            f"REGEX({text}, {rng.choice(REGEXES)})",
            f"LANGMATCHES(LANG({self.one_of(names, 'word')}), {rng.choice(RANGES)})",
            f"({text} {rng.choice(EQUALITIES)} {self.string(names, d - 1)})",
            f"(STR({x}) {rng.choice(COMPARISONS)} {rng.choice(TEXTS[:3])})",
            f"xsd:boolean({self.anything(names, d - 1)})",
            f"({self.moment(names)} {rng.choice(COMPARISONS)} {rng.choice(MOMENTS)})",
            f"({x})",
        ]
        return rng.choice(choices)

    def number(self, names: list[str], d: int = 1) -> str:
        rng = self.rng
        if d <= 0 or self.chance(0.5):
            return rng.choice(NUMBERS) if self.chance(0.35) else self.one_of(names, "number")
        n, m = self.number(names, d - 1), self.number(names, d - 1)
        # See `exclusions`: zero divided by a decimal.
        divisor = "2" if m in ("1.5", "2.25") else m
        return rng.choice(
            [
                f"({n} + {m})",
                f"({n} - {m})",
                f"({n} * {m})",
                f"({n} / {divisor})",
                f"(-{self.wrapped(n)})",
                f"{rng.choice(['ABS', 'CEIL', 'FLOOR', 'ROUND'])}({n})",
                f"STRLEN({self.string(names, d - 1)})",
                f"IF({self.boolean(names, d - 1)}, {n}, {m})",
                f"COALESCE({n}, {m})",
                f"xsd:{rng.choice(['integer', 'decimal', 'double', 'float'])}({self.anything(names, d - 1)})",
                f"{rng.choice(['YEAR', 'MONTH', 'DAY', 'HOURS', 'MINUTES', 'SECONDS'])}({self.moment(names)})",
                self.time_of_triple() or n,
            ]
        )

    def time_of_event(self, names: list[str]) -> str | None:
        """The time of an event's graph, or of a triple."""
        graphs = [name for name in names if self.kinds.get(name) == "graph of an event"]
        if graphs and self.around.window is not None:
            return self.mark(Timestamp((self.rng.choice(graphs),)))
        return self.time_of_triple()

    def time_of_triple(self) -> str | None:
        """The time of a triple that a pattern around finds, where a window says which copies count."""
        known = self.around.window is not None or self.dialect is Dialect.CSPARQL
        plain = [one for one in self.patterns if not set("".join(one)) & set("/|^*+!()[]")]
        if not known or not plain or self.around.in_exists:
            return None
        return self.mark(Timestamp(self.rng.choice(plain)))

    def string(self, names: list[str], d: int = 1) -> str:
        rng = self.rng
        if d <= 0 or self.chance(0.4):
            x = self.one_of(names, "word")
            return rng.choice([x, f"STR({self.one_of(names)})", f"STR({x})", f"LANG({x})", rng.choice(TEXTS)])
        s, t = self.string(names, d - 1), self.string(names, d - 1)
        return rng.choice(
            [
                f"CONCAT({s}, {t})",
                f"{rng.choice(['UCASE', 'LCASE', 'ENCODE_FOR_URI'])}({s})",
                f"SUBSTR({s}, {rng.choice(['1', '2', '2, 1', '0, 2'])})",
                f"{rng.choice(['STRBEFORE', 'STRAFTER'])}({s}, {rng.choice(TEXTS)})",
                f"REPLACE({s}, {rng.choice(REPLACEMENTS)})",
                f"{rng.choice(['MD5', 'SHA1', 'SHA256', 'SHA384', 'SHA512'])}({s})",
                f"STRLANG({s}, {rng.choice(RANGES[:2])})",
                f"STRDT({s}, :datatype)",
                f"xsd:string({self.anything(names, d - 1)})",
                f"IF({self.boolean(names, d - 1)}, {s}, {t})",
                f"COALESCE({s}, {t})",
                f"TZ({self.moment(names)})",
            ]
        )

    def moment(self, names: list[str]) -> str:
        return self.rng.choice([*MOMENTS, self.one_of(names, "word"), f"xsd:dateTime({self.one_of(names, 'word')})"])

    def anything(self, names: list[str], d: int = 1) -> str:
        rng = self.rng
        if d <= 0 or self.chance(0.4):
            return self.one_of(names)
        return rng.choice(
            [
                self.number(names, d),
                self.string(names, d),
                self.boolean(names, d),
                f'IRI(CONCAT("http://ex/", {rng.choice(TEXTS)}))',
                f"IRI(STR({self.one_of(names, 'node')}))",
                f"DATATYPE({self.one_of(names)})",
                rng.choice(DATATYPES),
                f"STR(TIMEZONE({self.moment(names)}))",
                self.moment(names),
                "isIRI(UUID())",
                "(RAND() < 2)",
                "STRLEN(STRUUID())",
            ]
        )
