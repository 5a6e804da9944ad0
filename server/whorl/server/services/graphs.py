"""Static graphs: documents that replace or extend them, deletions, and SPARQL updates. Running queries follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whorl.server.runtime import commands as c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.server.runtime.runtime import Runtime


class Changed(NamedTuple):
    """The effect of a call on the static graphs."""

    created: bool
    inserted: int
    deleted: int


class Graphs:
    """The static graphs, for every caller; a graph is named by its IRI, and None is the default graph."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def replace(self, graph: str | None, body: bytes, form: str) -> Changed:
        """Make a graph hold exactly the triples of a document."""
        return await self._changed(c.ReplaceGraph(graph, body, form))

    async def add(self, graph: str | None, documents: Sequence[tuple[bytes, str]]) -> Changed:
        """Add documents, each with its format, to a graph; those before a refused one stay."""
        total = Changed(created=False, inserted=0, deleted=0)
        for body, form in documents:
            one = await self._changed(c.LoadGraph(graph, body, form))
            total = Changed(total.created or one.created, total.inserted + one.inserted, 0)
        return total

    async def drop(self, graph: str | None) -> Changed:
        """Delete a graph; the default graph is emptied."""
        return await self._changed(c.DropGraph(graph))

    async def update(
        self, text: str, base_iri: str, default_graphs: tuple[str, ...], named_graphs: tuple[str, ...]
    ) -> Changed:
        """Apply a SPARQL update; the graphs are its USING and USING NAMED."""
        return await self._changed(c.Update(text, base_iri, default_graphs, named_graphs))

    async def _changed(self, command: c.Command) -> Changed:
        return Changed(**await self._runtime.execute(command))
