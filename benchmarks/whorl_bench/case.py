"""The input of the contestants: events, static data and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from whorl_oracle.model import Dialect
from whorl_workloads.data import Event, Static

Feed: TypeAlias = Literal["ntriples", "nquads", "arrow"]


@dataclass(frozen=True)
class QueryText:
    """A query and its language."""

    text: str
    dialect: Dialect


@dataclass(frozen=True)
class Case:
    """Events in order, static graphs, and the queries that run together.

    The first `warm` events fill the windows and are not measured. `feed` is the form in which the engine gets events,
    `batch` the number of events per push, `take` the number of events between drains. `options` are those of a
    registration. `minus` are queries whose cost is subtracted: the figure is the additional cost of the queries.
    """

    events: Sequence[Event]
    static: Static
    queries: Sequence[QueryText]
    warm: int = 0
    feed: Feed = "ntriples"
    batch: int = 1
    take: int = 64
    options: Mapping[str, Any] = field(default_factory=dict)
    minus: Sequence[QueryText] = ()

    @property
    def warming(self) -> Sequence[Event]:
        """Events before the measured ones."""
        return self.events[: self.warm]

    @property
    def measured(self) -> Sequence[Event]:
        """Events that count."""
        return self.events[self.warm :]


class AbsentError(RuntimeError):
    """A contestant or data is missing on this machine; the message says what, and how to get it."""
