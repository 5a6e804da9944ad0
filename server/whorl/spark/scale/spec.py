"""A query as sent to the executors: plain data, which every process compiles for itself."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl._engine import ScaledQuery
    from whorl.options import QueryOptions


@dataclass(frozen=True, slots=True)
class StaticDocument:
    """Static data of the query: a graph (None is the default graph), a format, and the file in the checkpoint."""

    graph: str | None
    format: str
    name: str


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """Everything that determines the results, and the checkpoint."""

    text: str
    partitions: int
    streams: str
    options: str
    static: tuple[StaticDocument, ...] = ()
    root: str = ""
    query_id: str = ""

    @classmethod
    def of(
        cls, text: str, partitions: int, streams: dict[str, dict[str, Any]], options: QueryOptions | None = None
    ) -> QuerySpec:
        """Mappings become JSON with sorted names, so that equal specs are equal, and hashable."""
        return cls(text, partitions, json.dumps(streams, sort_keys=True), json.dumps(options or {}, sort_keys=True))

    def query(self) -> ScaledQuery:
        """The compiled query; once per process."""
        return _compiled(self.text, self.partitions, self.streams, self.options)


@functools.lru_cache(maxsize=16)
def _compiled(text: str, partitions: int, streams: str, options: str) -> ScaledQuery:
    from whorl._engine import ScaledQuery

    return ScaledQuery(text, partitions=partitions, streams=json.loads(streams), **json.loads(options))
