"""Results as files: one per micro-batch."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from whorl.spark.scale.files import files_at

if TYPE_CHECKING:
    import os

    from whorl.spark.scale.outputs.answers import Answers

_ENDINGS = {"parquet": "parquet", "ndjson": "ndjson"}


@dataclass(frozen=True, slots=True)
class FilesOutput:
    """One file per batch with results: `batch-000000000012.parquet`, or `.ndjson`.

    A file appears atomically; a repeated batch replaces its file by the same bytes.
    """

    directory: str | os.PathLike[str]
    format: Literal["parquet", "ndjson"] = "parquet"

    def __post_init__(self) -> None:
        """Check the format before anything runs."""
        if self.format not in _ENDINGS:
            raise ValueError(f"files are 'parquet' or 'ndjson', not {self.format!r}")

    def write(self, answers: Answers, spark: Any) -> None:  # noqa: ANN401, ARG002 - no Spark is needed here
        """One batch."""
        if answers.table.num_rows == 0:
            return
        data = _parquet(answers) if self.format == "parquet" else ndjson(answers)
        folder, _, last = str(self.directory).rstrip("/").rpartition("/")
        name = f"{last}/batch-{answers.batch:012d}.{_ENDINGS[self.format]}"
        files_at(folder or ("/" if str(self.directory).startswith("/") else ".")).write(name, data)


def ndjson(answers: Answers) -> bytes:
    """One line per row: the columns of the result, and under `row` the terms by variable."""
    lines = []
    variables = answers.variables
    for row in answers.tagged(answers.table).to_pylist():
        terms = {name: row.pop(name) for name in variables}
        row["windows"] = json.loads(row["windows"] or "[]")
        row["row"] = {name: term for name, term in terms.items() if term is not None} if row["sign"] else None
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    return "".join(line + "\n" for line in lines).encode()


def _parquet(answers: Answers) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(answers.tagged(answers.table), out)
    return out.getvalue()
