"""A bag of triples with indexes, and the pairs that a path connects in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property, lru_cache

from whorl_oracle import paths
from whorl_oracle.formula import term
from whorl_oracle.model import Triple

# Triples or pairs with how often they are there.
Found = list[tuple[str, str, str, int]]
Pairs = dict[tuple[str, str], int]

parsed = lru_cache(maxsize=10_000)(paths.parsed)


class Graph:
    """Triples with how often each is there."""

    def __init__(self, triples: Iterable[tuple[Triple, int]]) -> None:
        self.rows: Found = [(*triple, count) for triple, count in triples]

    @cached_property
    def by_predicate(self) -> dict[str, Found]:
        found: dict[str, Found] = defaultdict(list)
        for row in self.rows:
            found[row[1]].append(row)
        return found

    @cached_property
    def by_subject(self) -> dict[tuple[str, str], Found]:
        found: dict[tuple[str, str], Found] = defaultdict(list)
        for row in self.rows:
            found[row[1], row[0]].append(row)
        return found

    @cached_property
    def by_object(self) -> dict[tuple[str, str], Found]:
        found: dict[tuple[str, str], Found] = defaultdict(list)
        for row in self.rows:
            found[row[1], row[2]].append(row)
        return found

    def candidates(self, subject: str | None, predicate: str | None, value: str | None) -> Found:
        """Triples that may match; None matches all."""
        if predicate is None:
            return self.rows
        if subject is not None:
            return self.by_subject.get((predicate, subject), [])
        if value is not None:
            return self.by_object.get((predicate, value), [])
        return self.by_predicate.get(predicate, [])

    def nodes(self) -> set[str]:
        return {end for s, _, o, _ in self.rows for end in (s, o)}

    def pairs(self, path: paths.Path, ends: tuple[str | None, str | None]) -> Pairs:
        """What a path connects; `ends` are the terms it begins and ends with, None for variables."""
        match path:
            case paths.Inverse(inner):
                return {(o, s): count for (s, o), count in self.pairs(inner, ends[::-1]).items()}
            case paths.Sequence(first, then):
                return product(self.pairs(first, (ends[0], None)), self.pairs(then, (None, ends[1])))
            case paths.Alternative(branches):
                return union([self.pairs(branch, ends) for branch in branches])
            case str() if path.startswith("!("):
                listed = {term(name) for name in path[2:-1].split("|")}
                return union([{(s, o): count} for s, p, o, count in self.rows if p not in listed])
            case str() if path.startswith("("):
                return self.closure(parsed(path[1:-2]), path[-1], ends)
        return {(s, o): count for s, _, o, count in self.by_predicate.get(term(path), [])}

    def closure(self, inner: paths.Path, kind: str, ends: tuple[str | None, str | None]) -> Pairs:
        """A set of pairs. A path of length zero connects every node, and a term that the pattern names, with itself."""
        nodes = self.nodes() | {end for end in ends if end is not None}
        steps = {pair for node in {None, *ends} for pair in self.pairs(inner, (node, node))}
        found = {(node, node) for node in nodes} if kind in "*?" else set[tuple[str, str]]()
        if kind == "?":
            return dict.fromkeys(found | steps, 1)
        after: dict[str, set[str]] = defaultdict(set)
        for s, o in steps:
            after[s].add(o)
        found |= {(node, end) for node in nodes for end in reachable(node, after)}
        return dict.fromkeys(found, 1)


def product(left: Pairs, right: Pairs) -> Pairs:
    after: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (s, o), count in right.items():
        after[s].append((o, count))
    found: Pairs = defaultdict(int)
    for (s, between), count in left.items():
        for o, more in after.get(between, ()):
            found[s, o] += count * more
    return found


def union(branches: list[Pairs]) -> Pairs:
    found: Pairs = defaultdict(int)
    for branch in branches:
        for pair, count in branch.items():
            found[pair] += count
    return found


def reachable(start: str, after: dict[str, set[str]]) -> set[str]:
    """By one step or more."""
    found, frontier = set[str](), list(after.get(start, ()))
    while frontier:
        node = frontier.pop()
        if node not in found:
            found.add(node)
            frontier.extend(after.get(node, ()))
    return found
