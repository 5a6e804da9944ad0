"""Groups of solutions, and what aggregates make of them (SPARQL 1.1 §18.5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self

from whorl_oracle import formula
from whorl_oracle.bags import Solution
from whorl_oracle.formula import Compiled, Node
from whorl_oracle.values import ExpressionError, Number, as_number, calculate, order, parts, string, write


class Members:
    """The solutions of a group."""

    def __init__(self) -> None:
        self.rows: list[tuple[Solution, int]] = []


class GroupSolution(tuple[str | None, ...]):  # noqa: SLOT001 - a tuple has no slots of its own
    """A solution with the members of its group."""

    members: Members

    def __new__(cls, row: Iterable[str | None], members: Members) -> Self:
        made = super().__new__(cls, row)
        made.members = members
        return made


def value_or_none(expression: Compiled, solution: Solution) -> str | None:
    try:
        return expression(solution)
    except ExpressionError:
        return None


def extended_by(solution: Solution, place: int, value: str | None, width: int) -> Solution:
    row = list(solution) + [None] * (width - len(solution))
    row[place] = value
    return GroupSolution(row, solution.members) if isinstance(solution, GroupSolution) else tuple(row)


def aggregate(node: Node, variable: Callable[[str], Compiled], special: Callable[[Node], Compiled]) -> Compiled:
    name, _, distinct = node.text.partition(" ")
    separator = node.below[-1].text
    inner = formula.compiled(node.below[0], variable, special) if len(node.below) > 1 else None

    def evaluate(solution: Solution) -> str:
        assert isinstance(solution, GroupSolution)
        values = list(members_of(solution.members, inner))
        if distinct:
            values = [(value, 1) for value in dict.fromkeys(value for value, _ in values)]
        return AGGREGATES[name](values, separator)

    return evaluate


Weighted = list[tuple[str | None, int]]


def members_of(members: Members, inner: Compiled | None) -> Iterator[tuple[str | None, int]]:
    """The values of the members, None for an error; `*` takes whole solutions."""
    for row, count in members.rows:
        yield ("" if inner is None else value_or_none(inner, row)), count


def count_of(values: Weighted, _: str) -> str:
    return write(Number("integer", sum(count for value, count in values if value is not None)))


def sum_of(values: Weighted, _: str) -> str:
    return write(total(values))


def total(values: Weighted) -> Number:
    """The type follows the values; an error among them is an error of the sum."""
    found = Number("integer", 0)
    for value, count in values:
        if value is None:
            raise ExpressionError("an error among the values")
        found = calculate("+", found, calculate("*", as_number(value), Number("integer", count)))
    return found


def average_of(values: Weighted, _: str) -> str:
    count = sum(more for _, more in values)
    if count == 0:
        return write(Number("integer", 0))
    return write(calculate("/", total(values), Number("integer", count)))


def least(values: Weighted, _: str) -> str:
    return extreme(values, 1)


def greatest(values: Weighted, _: str) -> str:
    return extreme(values, -1)


def extreme(values: Weighted, sign: int) -> str:
    known = [value for value, _ in values if value is not None]
    if not known or len(known) < len(values):
        raise ExpressionError("nothing to choose from, or an error among the values")
    best = known[0]
    for value in known[1:]:
        if order(value, best) * sign < 0:
            best = value
    return best


def sample(values: Weighted, _: str) -> str:
    known = sorted(value for value, _ in values if value is not None)
    if not known:
        raise ExpressionError("nothing to choose from")
    return known[0]


def concatenated(values: Weighted, separator: str) -> str:
    if any(value is None for value, _ in values):
        raise ExpressionError("an error among the values")
    return string(separator.join(parts(str(value))[0] for value, count in values for _ in range(count)))


AGGREGATES: dict[str, Callable[[Weighted, str], str]] = {
    "COUNT": count_of,
    "SUM": sum_of,
    "AVG": average_of,
    "MIN": least,
    "MAX": greatest,
    "SAMPLE": sample,
    "GROUP_CONCAT": concatenated,
}
