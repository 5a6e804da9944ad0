"""Results as events of a stream of a Whorl server, each exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from whorl.spark.scale.outputs.events import VOCABULARY, bodies

if TYPE_CHECKING:
    from whorl.spark.scale.outputs.answers import Answers

# Half of the server's default limit.
_BODY_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class WhorlStreamOutput:
    """Stages the results of a batch and commits them under (query id, batch), so that a repeated batch is ignored.

    A result is one event at its instant. The triples of a CONSTRUCT query are those of the event. A row of a SELECT
    query is a node with one property per variable, named by `vocabulary` and the variable; `mapping`, a SPARQL
    CONSTRUCT over the variables, creates other triples instead. After a batch, the watermark of the stream is the
    instant of its last result.
    """

    url: str
    stream: str
    token: str | None = None
    mapping: str | None = None
    vocabulary: str = VOCABULARY

    def __repr__(self) -> str:
        """Without the token: it must not reach a log."""
        return f"WhorlStreamOutput({self.url!r}, {self.stream!r})"

    def write(self, answers: Answers, spark: Any) -> None:  # noqa: ANN401, ARG002 - the driver sends
        """One batch."""
        if answers.table.num_rows == 0:
            return
        from whorl.spark.http import connected
        from whorl.spark.options import Connection

        reached = pc.max(answers.table["at"]).as_py()
        connection = Connection(self.url, self.token, 60.0, 60.0)
        with connected(connection, f"cannot write batch {answers.batch} to <{self.stream}>") as client:
            sent = bodies(answers, self.vocabulary, self.mapping, _BODY_BYTES)
            stream = client.stream(self.stream)
            tokens = [stream.stage(body, format="nquads") for body in sent]
            stream.commit(answers.query_id, answers.batch, tokens, watermark=reached)
