"""The results of one micro-batch, and the interface of outputs."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The columns that are not variables of the query.
FIXED = ("seq", "at", "open", "close", "windows", "sign")


@dataclass(frozen=True)
class Answers:
    """The results of a micro-batch.

    `table` has the columns `seq` (the number of the result), `at` (its instant), `open` and `close` (of the first
    window), `windows` (all of them, as JSON), `sign` (1: added, -1: removed, 0: a result without rows), then one column
    per variable with terms in N-Triples syntax. An unbound variable is null.
    """

    query_id: str
    batch: int
    data: bytes
    closed: bool = False

    @functools.cached_property
    def table(self) -> pa.Table:
        """All results, including those without rows."""
        if not self.data:
            return pa.table({name: pa.array([], pa.null()) for name in FIXED})
        table = pa.ipc.open_stream(self.data).read_all()
        return table.select([*FIXED, *(name for name in table.column_names if name not in FIXED)])

    @property
    def variables(self) -> list[str]:
        """The names of the variables."""
        return [name for name in self.table.column_names if name not in FIXED]

    @functools.cached_property
    def rows(self) -> pa.Table:
        """The rows, without results that have none."""
        if self.table.num_rows == 0:
            return self.table
        return self.table.filter(pc.not_equal(self.table["sign"], 0))

    @property
    def n_reports(self) -> int:
        """The number of results."""
        return 0 if self.table.num_rows == 0 else int(pc.count_distinct(self.table["seq"]).as_py())

    def tagged(self, table: pa.Table) -> pa.Table:
        """A table with the columns `query` and `batch` in front."""
        tags = {"query": pa.repeat(self.query_id, table.num_rows), "batch": pa.repeat(self.batch, table.num_rows)}
        return pa.table({**tags, **{name: table[name] for name in table.column_names}})

    def frame(self, spark: SparkSession) -> DataFrame:
        """All results as a DataFrame, with the columns `query` and `batch`."""
        return spark.createDataFrame(self.tagged(self.table))


class Output(Protocol):
    """Receives the results of one batch after the other."""

    def write(self, answers: Answers, spark: Any) -> None:  # noqa: ANN401 - a SparkSession, classic or Connect
        """Write the results of a batch before returning. The same batch may be passed again."""
