"""The source: results of a query as rows, with sequence numbers as offsets.

An offset is the position after a result: the incarnation of the query and the number of the result. A batch is the
range between two offsets, so reading it again returns the same rows, as long as the server keeps the results (in its
ring, `WHORL_RING_BYTES_MAX`). Results that were dropped before they were read are a gap: an error that names them or,
with `allowGaps`, skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from whorl_client import ExpiredError

from whorl.spark.errors import WhorlSparkError
from whorl.spark.http import client_of, connected, job_errors
from whorl.spark.rows import STATEMENT, TRUTH, RowWriter, default_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType
    from whorl_client import Answer, Client, Query, Result

    from whorl.spark.options import SourceOptions

# How long a request for new results waits for them: an idle query asks twice a second, not a hundred times.
_NEWS_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Place:
    """The position just after a result."""

    incarnation: str
    seq: int

    @classmethod
    def of_token(cls, token: str) -> Self:
        """The position that a token denotes."""
        incarnation, _, seq = token.rpartition(":")
        if not (incarnation and seq.isdecimal()):
            raise WhorlSparkError(
                f"option 'startingFrom' is '{token}'", "write earliest, latest, or the token of a result"
            )
        return cls(incarnation, int(seq))

    @classmethod
    def of_offset(cls, offset: dict[str, Any]) -> Self:
        """The position that an offset of Spark's checkpoint denotes."""
        return cls(str(offset["incarnation"]), int(offset["seq"]))

    @property
    def token(self) -> str:
        """The server's form."""
        return f"{self.incarnation}:{self.seq}"

    def offset(self) -> dict[str, Any]:
        """Spark's form."""
        return {"incarnation": self.incarnation, "seq": self.seq}


class ResultRange(InputPartition):
    """The results after a position, up to a number."""

    def __init__(self, after: Place, to_seq: int) -> None:
        super().__init__((after, to_seq))
        self.after = after
        self.to_seq = to_seq


class Results:
    """Reads results of one query, and handles gaps."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self.doing = f"query '{options.query}'"

    def first(self, query: Query) -> Place:
        """The position at which a new reader starts."""
        wanted = self.options.starting_from
        if wanted not in {"earliest", "latest"}:
            return Place.of_token(wanted)
        start: Literal["earliest", "latest"] = "earliest" if wanted == "earliest" else "latest"
        found, token = query.poll(from_=start, limit=1, raw=True)
        return Place(found[0].incarnation, found[0].seq - 1) if found else Place.of_token(token)

    def newest(self, query: Query) -> Place:
        """The position after the newest result."""
        return Place.of_token(query.poll(from_="latest", limit=1)[1])

    def next_after(self, query: Query, place: Place, wait_s: float) -> Place | None:
        """A position, moved past a gap if gaps are allowed; None if there are no results after it."""
        try:
            found, _ = query.poll(place.token, wait_s=wait_s, limit=1, raw=True)
        except ExpiredError as error:
            return self.over_gap(error)
        return place if found else None

    def over_gap(self, error: ExpiredError) -> Place:
        """The position after a gap; unless gaps are allowed, an error that names the lost results."""
        gap = error.document
        earliest = Place.of_token(str(gap.get("earliest")))
        if self.options.allows_gaps:
            return earliest
        if gap.get("reason") == "restart":
            lost = f"it was restarted: results after {(error.from_seq or 1) - 1} of its former run may be lost"
        else:
            lost = f"results {gap.get('fromSeq')} to {gap.get('toSeq')} are lost: the server no longer has them"
        raise WhorlSparkError(
            f"{self.doing}: {lost}",
            f"set option 'allowGaps' to true to continue at {earliest.seq + 1}; "
            "a larger WHORL_RING_BYTES_MAX of the server keeps more",
        )

    def between(self, query: Query, wanted: ResultRange) -> Iterator[Result]:
        """The results of a range."""
        place = wanted.after
        while place.seq < wanted.to_seq:
            try:
                found, token = query.poll(place.token, raw=True)
            except ExpiredError as error:
                place = self.over_gap(error)
                if place.incarnation != wanted.after.incarnation:
                    return
                continue
            if not found:
                raise WhorlSparkError(f"{self.doing}: results up to {wanted.to_seq} are missing")
            yield from (result for result in found if result.seq <= wanted.to_seq)
            place = Place.of_token(token)


class StreamSource(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows a query. Created on the driver, and sent to the workers for `read`."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._results = Results(options)
        self._schema = schema
        self._client: Client | None = None
        self._target: Place | None = None
        with connected(options.connection, self._results.doing) as client:
            self._variables = _variables(client.query(options.query))
        RowWriter(schema, self._variables)

    def __getstate__(self) -> dict[str, Any]:
        """The state to send: connections stay in their process."""
        return {**self.__dict__, "_client": None}

    def initialOffset(self) -> dict[str, Any]:
        """The position at which a query without a checkpoint starts."""
        with self._told():
            return self._results.first(self._query()).offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit per batch, which Spark counts in rows and this source in results."""
        most = self._results.options.results_max
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:
        """Read up to the current end, then stop."""
        with self._told():
            self._target = self._results.newest(self._query())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the next batch; the start itself if there is nothing new."""
        with self._told():
            wait_s = _NEWS_WAIT_S if self._target is None else 0.0
            after = self._results.next_after(self._query(), Place.of_offset(start), wait_s)
            if after is None:
                return start
            newest = self._target or self._results.newest(self._query())
            return self._end(after, newest, limit).offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The range of a batch, divided into the requested number of partitions."""
        after, to = Place.of_offset(start), Place.of_offset(end)
        if after.incarnation != to.incarnation:
            # Gaps are allowed, or `latestOffset` would have raised an error. The new incarnation is read from its
            # oldest result on.
            after = Place(to.incarnation, 0)
        return list(_cut(after, to.seq, self._results.options.n_partitions))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On a worker: the rows of one range."""
        return _read(self._results, self._schema, self._variables, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """The server keeps results by size, not by reader."""

    def stop(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _end(self, after: Place, newest: Place, limit: ReadLimit) -> Place:
        if newest.incarnation != after.incarnation:
            # The query has just been restarted; the next request finds the gap.
            return after
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else newest.seq
        return Place(after.incarnation, max(after.seq, min(newest.seq, after.seq + most)))

    def _query(self) -> Query:
        if self._client is None:
            self._client = client_of(self._results.options.connection)
        return self._client.query(self._results.options.query)

    def _told(self) -> Any:  # noqa: ANN401 - a context manager
        return job_errors(self._results.options.connection, self._results.doing)


class BatchSource(DataSourceReader):
    """Reads a query once: its current result, or the kept results."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._results = Results(options)
        self._schema = schema
        with connected(options.connection, self._results.doing) as client:
            query = client.query(options.query)
            self._variables = _variables(query)
            self._range = (self._results.first(query), self._results.newest(query).seq)
        RowWriter(schema, self._variables)

    def partitions(self) -> list[InputPartition]:
        """One partition for the current result; for kept results, the requested number."""
        if self._results.options.reading == "answer":
            return [InputPartition(None)]
        return list(_cut(*self._range, self._results.options.n_partitions)) or [ResultRange(self._range[0], 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On a worker: the rows."""
        return _read(self._results, self._schema, self._variables, partition)


def schema_of(options: SourceOptions) -> StructType:
    """The default columns."""
    with connected(options.connection, f"query '{options.query}'") as client:
        return default_schema(_variables(client.query(options.query)))


def _read(
    results: Results, schema: StructType, variables: tuple[str, ...], partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    options = results.options
    with connected(options.connection, results.doing) as client:
        query = client.query(options.query)
        answers: Iterator[Answer] = (
            results.between(query, partition) if isinstance(partition, ResultRange) else iter([query.answer(raw=True)])
        )
        yield from RowWriter(schema, variables).batches(answers)


def _variables(query: Query) -> tuple[str, ...]:
    """The variables of a SELECT; other forms have fixed columns."""
    info = query.info()
    match str(info.document.get("form", "")).lower():
        case "ask":
            return TRUTH
        case "construct" | "describe":
            return STATEMENT
    return info.variables


def _cut(after: Place, to_seq: int, n_parts: int) -> Iterator[ResultRange]:
    count = to_seq - after.seq
    edges = [after.seq + count * part // n_parts for part in range(n_parts + 1)]
    for begin, end in pairwise(edges):
        if begin < end:
            yield ResultRange(Place(after.incarnation, begin), end)
