"""When an answer is the expected one.

Bags of solutions are compared up to the names of blank nodes, as sequences where the query orders them. Terms are
compared as terms. Numbers count by their values when the query computes them, and when the suite spells them as the
data does not. Nothing of the engine is used here.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, Literal, Triple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from whorl_w3c.answers import Answer, Row
    from whorl_w3c.graph import Term

XSD = "http://www.w3.org/2001/XMLSchema#"
FLOATING = {XSD + "double", XSD + "float"}
EXACT = {XSD + "integer", XSD + "decimal"}
# Rows of each side to show if a comparison fails.
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Rules:
    """How a test wants its answer to be compared."""

    # Variables whose values the query computes.
    computed: AbstractSet[str] = frozenset()
    # Terms of the data: an expected number that is among them was copied.
    data: AbstractSet[Term] = frozenset()
    ordered: bool = False
    # REDUCED: any number of copies up to the expected one.
    lax: bool = False


def why_not_same(expected: Answer, found: Answer, rules: Rules) -> str | None:
    """What differs, in words; None when the answers are the same."""
    if (expected.kind, expected.boolean) != (found.kind, found.boolean):
        return f"{_head(expected)} expected, {_head(found)} found"
    if expected.variables != found.variables:
        return f"variables {expected.variables} expected, {found.variables} found"
    match = _Match([name in rules.computed for name in expected.variables], rules.data, plain=expected.plain)
    if rules.lax:
        same = match.within(expected.rows, found.rows)
    elif rules.ordered and expected.in_order:
        same = match.in_sequence(expected.rows, found.rows)
    else:
        same = match.as_bags(expected.rows, found.rows)
    return None if same else _told(expected.rows, found.rows)


class _Match:
    """A one-to-one relation between the blank nodes of two answers, found by trying."""

    def __init__(self, computed: Sequence[bool], data: AbstractSet[Term], *, plain: bool) -> None:
        self._computed = computed
        self._data = data
        self._plain = plain
        self._names: dict[BlankNode, BlankNode] = {}
        self._taken: set[BlankNode] = set()

    def in_sequence(self, expected: Sequence[Row], found: Sequence[Row]) -> bool:
        """Row by row."""
        if len(expected) != len(found):
            return False
        return all(self._rows(one, other) is not None for one, other in zip(expected, found, strict=True))

    def within(self, expected: Sequence[Row], found: Sequence[Row]) -> bool:
        """REDUCED: each row of the full answer at least once, and at most as often as there."""
        full, reduced = Counter(expected), Counter(found)
        return full.keys() == reduced.keys() and all(reduced[row] <= full[row] for row in full)

    def as_bags(self, expected: Sequence[Row], found: Sequence[Row]) -> bool:
        """In some order."""
        if len(expected) != len(found):
            return False
        ours, theirs = _signed(expected), _signed(found)
        if Counter(signature for signature, _ in ours) != Counter(signature for signature, _ in theirs):
            return False
        return self._assign(sorted(ours, key=lambda signed: _blanks(signed[1])), theirs)

    def _assign(self, expected: list[tuple[str, Row]], found: list[tuple[str, Row]]) -> bool:
        if not expected:
            return True
        (signature, row), *rest = expected
        tried: list[Row] = []
        for place, (other_signature, other) in enumerate(found):
            if other_signature != signature or other in tried:
                continue
            tried.append(other)
            named = self._rows(row, other)
            if named is None:
                continue
            if self._assign(rest, found[:place] + found[place + 1 :]):
                return True
            self._forget(named)
        return False

    def _rows(self, expected: Row, found: Row) -> list[BlankNode] | None:
        """The blank nodes that got a counterpart; None when the rows do not match."""
        named: list[BlankNode] = []
        for place, (one, other) in enumerate(zip(expected, found, strict=True)):
            copied = one in self._data and not (self._computed and self._computed[place])
            if not self._terms(one, other, named, by_value=not copied):
                self._forget(named)
                return None
        return named

    def _terms(self, expected: Term | None, found: Term | None, named: list[BlankNode], *, by_value: bool) -> bool:
        if isinstance(expected, BlankNode) and isinstance(found, BlankNode):
            return self._nodes(expected, found, named)
        if isinstance(expected, Literal) and self._plain:
            return found is not None and _same_text(expected.value, _text(found))
        if isinstance(expected, Literal) and isinstance(found, Literal) and by_value:
            return expected == found or _same_number(expected, found)
        return expected == found

    def _nodes(self, expected: BlankNode, found: BlankNode, named: list[BlankNode]) -> bool:
        if expected in self._names:
            return self._names[expected] == found
        if found in self._taken:
            return False
        self._names[expected] = found
        self._taken.add(found)
        named.append(expected)
        return True

    def _forget(self, named: list[BlankNode]) -> None:
        for node in named:
            self._taken.remove(self._names.pop(node))


def _same_number(expected: Literal, found: Literal) -> bool:
    """Equal values of one datatype; floating-point numbers may differ in the last digits."""
    datatype = expected.datatype.value
    if datatype != found.datatype.value:
        return False
    if datatype in FLOATING:
        one, other = _float(expected.value), _float(found.value)
        return one is not None and other is not None and _close(one, other)
    if datatype not in EXACT:
        return False
    try:
        return Decimal(expected.value) == Decimal(found.value)
    except InvalidOperation:
        return False


def _same_text(expected: str, found: str) -> bool:
    one, other = _float(expected), _float(found)
    return expected == found or (one is not None and other is not None and _close(one, other))


def _close(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-12)


def _float(lexical: str) -> float | None:
    try:
        return float(lexical)
    except ValueError:
        return None


def _text(term: Term) -> str:
    return str(term) if isinstance(term, Triple) else term.value


def _colours(rows: Sequence[Row]) -> dict[BlankNode, str]:
    """Blank nodes by what stands around them: nodes of different colours are not counterparts."""
    nodes = {term for row in rows for term in row if isinstance(term, BlankNode)}
    colours = dict.fromkeys(nodes, "")
    for _ in range(3):
        around: dict[BlankNode, list[str]] = {node: [] for node in nodes}
        for row in rows:
            signature = _signature(row, colours)
            for place, term in enumerate(row):
                if isinstance(term, BlankNode):
                    around[term].append(f"{place} in {signature}")
        colours = {node: str(hash(tuple(sorted(places)))) for node, places in around.items()}
    return colours


def _signed(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    colours = _colours(rows)
    return [(_signature(row, colours), row) for row in rows]


def _signature(row: Row, colours: dict[BlankNode, str]) -> str:
    """What two rows must share to be counterparts, and a little less than what makes them so."""
    return " ".join(_coarse(term, colours) for term in row)


def _coarse(term: Term | None, colours: dict[BlankNode, str]) -> str:
    if term is None:
        return "-"
    if isinstance(term, BlankNode):
        return f"_:{colours[term]}"
    number = _float(_text(term))
    return _text(term) if number is None else f"{number:.6g}"


def _blanks(row: Row) -> int:
    return sum(isinstance(term, BlankNode) for term in row)


def _head(answer: Answer) -> str:
    return answer.kind if answer.boolean is None else str(answer.boolean).lower()


def _told(expected: Sequence[Row], found: Sequence[Row]) -> str:
    """The rows that only one side has; all of them when the difference lies elsewhere."""
    ours, theirs = Counter(map(_shown, expected)), Counter(map(_shown, found))
    missing, extra = ((ours - theirs), (theirs - ours)) if ours != theirs else (ours, theirs)
    lines = [f"- {row}" for row in sorted(missing.elements())[:SHOWN]]
    lines += [f"+ {row}" for row in sorted(extra.elements())[:SHOWN]]
    return "\n    ".join([f"{len(expected)} rows expected, {len(found)} found", *lines])


def _shown(row: Row) -> str:
    return "  ".join("(unbound)" if term is None else str(term).replace(XSD, "xsd:") for term in row)
