"""How a query is partitioned, and why, for people."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl._engine import ScaledQuery

_MERGES = {
    "none": "none: the only partition emits the results",
    "union": "union: the results of the partitions together",
    "netting": "netting: an insertion in one partition and a deletion in another cancel out",
    "groups": "groups: partial aggregates of the partitions become final ones",
    "distinct": "distinct: rows that several partitions have count once",
    "top-k": "top-k: the best of each partition's best",
}


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The content of `ScaledQuery.explain`."""

    document: dict[str, Any]

    @property
    def partitions(self) -> int:
        """The number of virtual partitions in use."""
        return int(self.document["partitions"])

    @property
    def variable(self) -> str | None:
        """The variable whose term determines the partition of a triple; None on one partition."""
        found: str | None = self.document.get("variable")
        return found

    def text(self) -> str:
        """Several lines, without a trailing line break."""
        document = self.document
        by = "" if self.variable is None else f" by ?{self.variable}"
        lines = [f"partitions  {self.partitions}{by}", f"why         {document['why']}"]
        lines.append(f"merge       {_MERGES.get(document['merge'], document['merge'])}")
        lines += [f"pattern     {_pattern(pattern)}" for pattern in document.get("patterns", [])]
        lines += [f"warning     {warning}" for warning in document.get("warnings", [])]
        for title, member in (("partial", "partial"), ("merged", "mergeText")):
            lines += _block(title, document.get(member))
        return "\n".join(lines)


def partitioning_of(query: ScaledQuery) -> Partitioning:
    """The partitioning of a compiled query."""
    return Partitioning(json.loads(query.explain()))


def _pattern(pattern: dict[str, Any]) -> str:
    return f"{pattern['pattern']}  in {pattern['window']} on <{pattern['stream']}>, by its {pattern['place']}"


def _block(title: str, text: str | None) -> list[str]:
    return [] if not text else [title, *("  " + line for line in text.strip().splitlines())]
