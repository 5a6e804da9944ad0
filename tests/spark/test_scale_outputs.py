"""Answers on their way out, without Spark."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from whorl.spark.scale.outputs import Answers, FilesOutput
from whorl.spark.scale.outputs.directory import ndjson
from whorl.spark.scale.outputs.events import VOCABULARY, bodies, lexical

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def answers(variables: dict[str, list[str | None]], sign: int = 1) -> Answers:
    """Two rows at 1000, and a report without rows at 2000."""
    table = pa.table(
        {
            "at": [1000, 1000, 2000],
            "open": [0, 0, 1000],
            "close": [1000, 1000, 2000],
            "windows": ['[{"name":"w","open":0,"close":1000}]'] * 3,
            "sign": pa.array([sign, sign, 0], pa.int8()),
            "seq": [7, 7, 8],
            **{name: pa.array([*terms, None], pa.string()) for name, terms in variables.items()},
        }
    )
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return Answers("hot", 3, out.getvalue())


ROWS = answers({"x": ["<http://ex/a>", "<http://ex/b>"], "n": [f'"5"^^<{INTEGER}>', None]})


class TestAnswers:
    def test_rows_are_those_with_a_sign(self) -> None:
        assert (ROWS.rows.num_rows, ROWS.table.num_rows, ROWS.n_reports) == (2, 3, 2)
        assert ROWS.variables == ["x", "n"]

    def test_a_batch_without_reports_has_no_rows(self) -> None:
        nothing = Answers("hot", 0, b"")
        assert (nothing.rows.num_rows, nothing.n_reports, nothing.variables) == (0, 0, [])


class TestFiles:
    @pytest.mark.parametrize("given", ["text", "path"])
    def test_a_batch_that_comes_again_is_one_file(self, tmp_path: Path, given: str) -> None:
        directory = tmp_path / "out"
        output = FilesOutput(str(directory) if given == "text" else directory)
        output.write(ROWS, None)
        first = (directory / "batch-000000000003.parquet").read_bytes()
        output.write(ROWS, None)
        assert [path.name for path in directory.iterdir()] == ["batch-000000000003.parquet"]
        assert (directory / "batch-000000000003.parquet").read_bytes() == first
        table = pq.read_table(directory)
        assert table["batch"].to_pylist() == [3, 3, 3]

    def test_a_batch_without_reports_is_no_file(self, tmp_path: Path) -> None:
        FilesOutput(tmp_path / "out").write(Answers("hot", 0, b""), None)
        assert not (tmp_path / "out").exists()

    def test_lines_name_what_is_bound(self) -> None:
        lines = [json.loads(line) for line in ndjson(ROWS).splitlines()]
        assert [line["row"] for line in lines] == [
            {"x": "<http://ex/a>", "n": f'"5"^^<{INTEGER}>'},
            {"x": "<http://ex/b>"},
            None,
        ]
        assert lines[0]["windows"] == [{"name": "w", "open": 0, "close": 1000}]

    def test_a_wrong_format_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="'parquet' or 'ndjson'"):
            FilesOutput("out", "xml")  # type: ignore[arg-type]  # the error itself


class TestEvents:
    def test_a_row_is_a_node_with_a_property_per_variable(self) -> None:
        (body,) = bodies(ROWS, VOCABULARY, None, 1 << 20)
        graph = "<urn:whorl:hot:7>"
        assert body.decode().splitlines() == [
            f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "1000"^^<{INTEGER}> .',
            f"<urn:whorl:hot:7#0> <urn:whorl:variable:x> <http://ex/a> {graph} .",
            f'<urn:whorl:hot:7#0> <urn:whorl:variable:n> "5"^^<{INTEGER}> {graph} .',
            f"<urn:whorl:hot:7#1> <urn:whorl:variable:x> <http://ex/b> {graph} .",
        ]

    def test_rows_that_went_are_marked(self) -> None:
        (body,) = bodies(answers({"x": ["<http://ex/a>", "<http://ex/b>"]}, sign=-1), VOCABULARY, None, 1 << 20)
        assert body.decode().count(f'<urn:whorl:sign> "-1"^^<{INTEGER}>') == 2

    def test_triples_of_a_construct_are_triples(self) -> None:
        graph = answers({"subject": ["<a:a>", "_:b"], "predicate": ["<a:p>", "<a:p>"], "object": ['"x"', "<a:o>"]})
        (body,) = bodies(graph, VOCABULARY, None, 1 << 20)
        assert '<a:a> <a:p> "x" <urn:whorl:hot:7> .' in body.decode()
        assert "_:b <a:p> <a:o> <urn:whorl:hot:7> ." in body.decode()

    def test_a_mapping_sees_lexical_forms(self) -> None:
        mapping = "CONSTRUCT { ?i <a:n> ?n } WHERE { BIND(IRI(?x) AS ?i) }"
        (body,) = bodies(ROWS, VOCABULARY, mapping, 1 << 20)
        assert b'<http://ex/a> <a:n> "5"' in body

    def test_bodies_are_cut_between_events(self) -> None:
        table = pa.concat_tables([ROWS.table, ROWS.table.set_column(0, "seq", pa.array([9, 9, 10]))])
        out = io.BytesIO()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        cut = list(bodies(Answers("hot", 0, out.getvalue()), VOCABULARY, None, 1))
        assert [body.count(b"generatedAtTime") for body in cut] == [1, 1]

    @pytest.mark.parametrize(
        ("term", "text"),
        [
            ("<http://ex/a>", "http://ex/a"),
            ('"a"', "a"),
            ('"a\\n\\"b\\\\"@en', 'a\n"b\\'),
            ('"\\u00e9\\U0001F600"', "é😀"),
            (f'"5"^^<{INTEGER}>', "5"),
            ("_:b0", "_:b0"),
            (None, None),
        ],
    )
    def test_lexical_forms(self, term: str | None, text: str | None) -> None:
        assert lexical(term) == text
