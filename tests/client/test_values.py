"""Terms, rows, tables and bodies: the server's data as Python values, and Python values for the server."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Self

import pyarrow as pa
import pyoxigraph
import pytest
import rdflib
import whorl_client
from client_model import envelope
from hypothesis import given
from hypothesis import strategies as st
from whorl_client import (
    Answer,
    BlankNode,
    Event,
    Gap,
    Iri,
    LangString,
    Literal,
    Plan,
    ProtocolError,
    Quad,
    Result,
    Row,
    Triple,
    Window,
)
from whorl_client._json import JsonObject
from whorl_client._live import LiveView
from whorl_client._models import QueryInfo, time_ms
from whorl_client._payload import body_of
from whorl_client._terms import XSD, literal_of, ntriples_of, statements_of, term_of


def select(**columns: list[dict[str, str] | None]) -> dict[str, Any]:
    rows = [
        {name: cell for name, cell in zip(columns, cells, strict=True) if cell is not None}
        for cells in zip(*columns.values(), strict=True)
    ]
    return {"head": {"vars": list(columns)}, "results": {"bindings": rows}}


def literal(value: str, kind: str = "string") -> dict[str, str]:
    return {"type": "literal", "value": value, "datatype": XSD + kind}


def uri(value: str) -> dict[str, str]:
    return {"type": "uri", "value": value}


# --- the package ------------------------------------------------------------------------------------------------------


def test_the_public_list_is_complete_and_sorted() -> None:
    assert [name for name in whorl_client.__all__ if not hasattr(whorl_client, name)] == []
    public = {
        name for name, value in vars(whorl_client).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public | {"__version__"} == set(whorl_client.__all__)


@pytest.mark.parametrize("module", ["_json", "_keywords", "_models", "_payload", "_protocol", "_terms"])
def test_the_examples_in_docstrings_run(module: str) -> None:
    tried = doctest.testmod(importlib.import_module(f"whorl_client.{module}"))
    assert (tried.failed, tried.attempted > 0) == (0, True)


def methods(kind: type) -> dict[str, str]:
    plain = {"aenter": "enter", "aexit": "exit", "aiter": "iter", "anext": "next"}
    found = {}
    for name, member in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") and not name.startswith("__"):
            continue
        bare = name.strip("_")
        signature = inspect.signature(member)
        found[plain.get(bare, bare)] = ", ".join(str(one).replace("Async", "") for one in signature.parameters.values())
    return found


@pytest.mark.parametrize(
    "name", ["Client", "Streams", "Stream", "Publisher", "Queries", "Query", "Graphs", "Subscription"]
)
def test_both_clients_have_the_same_methods_with_the_same_parameters(name: str) -> None:
    waiting, asynchronous = methods(getattr(whorl_client, name)), methods(getattr(whorl_client, "Async" + name))
    assert waiting == asynchronous


# --- terms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (uri("http://a"), Iri("http://a")),
        ({"type": "bnode", "value": "b0"}, BlankNode("b0")),
        ({"type": "literal", "value": "so"}, "so"),
        ({"type": "literal", "value": "Haus", "xml:lang": "de"}, LangString("Haus", "de")),
        (literal("12", "integer"), 12),
        (literal("-3", "byte"), -3),
        (literal("20.50", "decimal"), Decimal("20.50")),
        (literal("1e3", "double"), 1000.0),
        (literal("-INF", "float"), float("-inf")),
        (literal("1", "boolean"), True),
        (literal("false", "boolean"), False),
        (literal("2026-01-31T12:00:00.5Z", "dateTime"), datetime(2026, 1, 31, 12, 0, 0, 500_000, UTC)),
        (literal("2026-01-31", "date"), date(2026, 1, 31)),
        (literal("1_000", "integer"), Literal("1_000", XSD + "integer")),
        (literal(" 1", "decimal"), Literal(" 1", XSD + "decimal")),
        (literal("2026-02-30T00:00:00Z", "dateTime"), Literal("2026-02-30T00:00:00Z", XSD + "dateTime")),
        (literal("P1D", "duration"), Literal("P1D", XSD + "duration")),
    ],
)
def test_a_term_is_the_python_value_it_means(member: JsonObject, value: object) -> None:
    found = term_of(member)
    assert (found, type(found)) == (value, type(value))


def test_what_is_no_term_is_a_fault_of_the_protocol() -> None:
    with pytest.raises(ProtocolError):
        term_of({"type": "colour", "value": "red"})


TERMS = st.one_of(
    st.sampled_from([Iri("http://example.org/a"), BlankNode("b1"), LangString('a "b"\n', "en-GB")]),
    st.text(),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9),
    st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis wants it bare
)


@given(TERMS)
def test_a_value_written_and_read_is_the_same_value(value: Any) -> None:
    # The server writes one statement of N-Quads per line, and escapes line ends in text.
    line = f"<a:s> <a:p> {ntriples_of(value)} ."
    [statement] = statements_of(line)
    assert (statement.object, type(statement.object)) == (value, type(value))
    # Others can read it as well.
    assert len(list(pyoxigraph.parse(line, pyoxigraph.RdfFormat.N_TRIPLES))) == 1


def test_an_iri_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not an IRI"):
        ntriples_of(Iri("http://a b"))


def test_a_thing_that_is_no_term_is_refused_with_a_hint() -> None:
    with pytest.raises(TypeError, match="Iri"):
        ntriples_of(object())


def test_literals_keep_their_type_when_they_have_no_python_value() -> None:
    assert literal_of("x", "http://my/type") == Literal("x", "http://my/type")


# --- answers ----------------------------------------------------------------------------------------------------------


def test_rows_are_dicts_without_what_is_not_bound() -> None:
    answer = Answer(select(a=[uri("http://a"), None], b=[literal("1", "integer"), literal("2", "integer")]))
    assert answer.rows == [{"a": "http://a", "b": 1}, {"b": 2}]
    assert (answer.variables, len(answer), list(answer)) == (("a", "b"), 2, answer.rows)


def test_columns_stand_in_the_order_that_the_server_gives() -> None:
    # Of `SELECT *` that is the order of appearance; no order of names, nor of what is bound first.
    document = select(zeta=[None, uri("http://z")], alpha=[literal("1", "integer"), None], mid=[None, None])
    document["results"]["bindings"][1] = dict(reversed(document["results"]["bindings"][1].items()))
    answer = Answer(document)
    assert answer.variables == ("zeta", "alpha", "mid")
    assert answer.to_arrow().column_names == list(answer.to_pandas().columns) == ["zeta", "alpha", "mid"]
    assert answer.to_polars().columns == ["zeta", "alpha", "mid"]
    assert answer._repr_html_().index("zeta") < answer._repr_html_().index("alpha")


def test_a_row_is_read_as_the_type_one_expects() -> None:
    row = Row(room=Iri("http://a"), whole=21, exact=Decimal("20.5"), on=True)
    assert (row.value("room", Iri), row.value("whole", int), row.value("exact", Decimal)) == (
        "http://a",
        21,
        Decimal("20.5"),
    )
    assert (row.value("whole", float), row.value("exact", float)) == (21.0, 20.5)
    assert type(row.value("whole", float)) is float
    with pytest.raises(KeyError):
        row.value("window", str)
    for name, kind in (("room", int), ("on", int), ("on", float), ("whole", str)):
        with pytest.raises(TypeError, match=rf"^\?{name} is .* and not an? {kind.__name__}$"):
            row.value(name, kind)


def test_raw_rows_are_sparql_json() -> None:
    document = select(a=[literal("1", "integer")])
    assert Answer(document, raw=True).rows == document["results"]["bindings"]


def test_an_ask_is_true_or_false() -> None:
    assert (bool(Answer({"head": {}, "boolean": False})), Answer({"head": {}, "boolean": True}).boolean) == (
        False,
        True,
    )


def test_changes_tell_what_came_and_what_went() -> None:
    came, went = select(n=[literal("1", "integer")]), select(n=[literal("2", "integer"), literal("3", "integer")])
    changed = {**envelope(1), "type": "changes", "insert": came, "delete": went}
    del changed["results"]
    result = Result(changed)
    assert (result.inserted, result.deleted, result.rows) == ([{"n": 1}], [{"n": 2}, {"n": 3}], [{"n": 1}])
    assert result.to_arrow().to_pylist() == [{"_sign": 1, "n": 1}, {"_sign": -1, "n": 2}, {"_sign": -1, "n": 3}]


def test_a_dstream_tells_what_went() -> None:
    result = Result({**envelope(4), "r2s": "DSTREAM"})
    assert (result.inserted, result.deleted, result.rows) == ([], [{"n": 4}], [{"n": 4}])


def test_a_result_says_which_ones_it_stands_for() -> None:
    passed: JsonObject = {"from": 2000, "to": 4000, "windows": 3}
    assert Result({**envelope(4), "skipped": passed}).skipped == whorl_client.Skipped(2000, 4000, 3)
    assert Result(envelope(4)).skipped is None


def test_a_result_knows_its_place() -> None:
    result = Result({**envelope(4), "windows": [{"name": "http://w", "open": 0, "close": 4000}]})
    assert (result.seq, result.t, result.token) == (4, 4000, "a1:4")
    assert result.time == datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC)
    assert result.windows == (("http://w", 0, 4000),)
    [window] = result.windows
    assert (window.open_time, window.close_time) == (datetime(1970, 1, 1, tzinfo=UTC), result.time)
    assert (Window("w", None, None).open_time, Window("w", None, None).close_time) == (None, None)
    assert repr(result) == "<Result 'q' seq=4 t=4000 +1 -0>"


GRAPH = (
    '<http://a> <http://p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '_:b <http://p> "x\\"\\u00e9"@en <http://g> .\n'
)


def test_a_construct_is_triples_and_quads() -> None:
    rows: list[Any] = Answer(GRAPH).rows
    assert rows == [
        Triple(Iri("http://a"), Iri("http://p"), 1),
        Quad(BlankNode("b"), Iri("http://p"), LangString('x"é', "en"), Iri("http://g")),
    ]
    assert Answer(GRAPH).triples() == rows == Answer(GRAPH).inserted
    assert (Answer(None, GRAPH).triples(), Answer(None, GRAPH).triples(gone=True)) == ([], Answer(GRAPH).triples())
    with pytest.raises(TypeError, match="read rows or boolean"):
        Answer(select(a=[])).triples()


def test_a_construct_is_a_graph_of_rdflib_and_quads_of_pyoxigraph() -> None:
    triples = GRAPH.splitlines(keepends=True)[0]
    assert set(Answer(triples).to_rdflib()) == {
        (rdflib.URIRef("http://a"), rdflib.URIRef("http://p"), rdflib.Literal(1))
    }
    assert len(Answer(GRAPH).to_pyoxigraph()) == 2
    # For a DSTREAM, the deleted rows.
    assert len(Answer(None, GRAPH).to_pyoxigraph()) == len(Answer(None, triples).to_rdflib()) + 1 == 2


def test_rows_are_terms_of_rdflib_and_pyoxigraph() -> None:
    answer = Answer(select(a=[uri("http://a")], b=[{"type": "literal", "value": "x", "xml:lang": "en"}]))
    assert answer.to_rdflib() == [{"a": rdflib.URIRef("http://a"), "b": rdflib.Literal("x", lang="en")}]
    assert answer.to_pyoxigraph() == [
        {"a": pyoxigraph.NamedNode("http://a"), "b": pyoxigraph.Literal("x", language="en")}
    ]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([literal("1", "integer"), None], pa.int64()),
        ([literal(str(2**70), "integer")], pa.float64()),
        ([literal("1", "integer"), literal("2.5", "double")], pa.float64()),
        ([literal("1.5", "decimal"), literal("22.25", "decimal")], pa.decimal128(4, 2)),
        ([literal("true", "boolean")], pa.bool_()),
        ([literal("2026-01-31T12:00:00+01:00", "dateTime")], pa.timestamp("us", tz="UTC")),
        ([literal("2026-01-31", "date")], pa.date32()),
        ([uri("http://a"), literal("1", "integer")], pa.string()),
        ([None], pa.string()),
        ([], pa.string()),
    ],
)
def test_a_column_has_the_type_of_its_values(cells: list[dict[str, str] | None], kind: pa.DataType) -> None:
    assert Answer(select(a=cells)).to_arrow().schema.field("a").type == kind


def test_tables_say_where_rows_come_from_when_asked() -> None:
    at = datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC)
    [row] = Result(envelope(3)).to_pandas(meta=True).to_dict("records")
    assert row == {"_seq": 3, "_t": at, "_sign": 1, "n": 3}


def test_any_library_that_speaks_arrow_takes_a_result() -> None:
    assert pa.table(Result(envelope(3))).to_pylist() == [{"n": 3}]


def test_a_frame_of_polars() -> None:
    assert Result(envelope(3)).to_polars().to_dicts() == [{"n": 3}]
    at = datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC)
    assert Result(envelope(3)).to_polars(meta=True).to_dicts() == [{"_seq": 3, "_t": at, "_sign": 1, "n": 3}]


def test_a_library_that_is_not_there_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match=r"whorl-client\[polars\]"):
        Result(envelope(3)).to_polars()


def test_a_notebook_shows_rows_and_escapes_them() -> None:
    html = Answer(select(a=[literal("<b>")]))._repr_html_()
    assert "<td>&lt;b&gt;</td>" in html
    assert "50 more" in Answer(select(a=[literal("x")] * 100))._repr_html_()
    assert "true" in Answer({"head": {}, "boolean": True})._repr_html_()
    assert "seq 3" in Result(envelope(3))._repr_html_()
    assert "<td>http://a</td>" in Answer(GRAPH)._repr_html_()


class Cell:
    """An output of a notebook, as IPython hands it out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drawn: list[str] = []
        modules = __import__("sys").modules
        notebook = SimpleNamespace(get_ipython=object)
        monkeypatch.setitem(modules, "IPython", notebook)
        monkeypatch.setitem(modules, "IPython.display", SimpleNamespace(HTML=str, display=self._display))

    def _display(self, html: str, *, display_id: bool) -> Self:
        assert display_id
        self.drawn.append(html)
        return self

    def update(self, html: str) -> None:
        self.drawn[-1] = html


def test_a_notebook_draws_a_result_in_the_place_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, view = Cell(monkeypatch), LiveView()
    view.show(Result(envelope(3)))
    assert "seq 3" in cell.drawn[0]
    assert "style" not in cell.drawn[0], "nothing is new in the first result"
    view.show(Result(envelope(4)))
    assert len(cell.drawn) == 1
    assert "seq 4" in cell.drawn[0]
    assert "<tr style" in cell.drawn[0]
    view.show(Gap(5, 7, "overflow"))
    assert cell.drawn == ["<p>3 results missing (overflow)</p>"]


def test_a_terminal_gets_a_line_for_each_result(capsys: pytest.CaptureFixture[str]) -> None:
    for item in (Result(envelope(3)), Gap(None, None, "replaced")):
        LiveView().show(item)
    assert capsys.readouterr().out == "1970-01-01 00:00:03 [{'n': 3}]\nresults are missing (replaced)\n"


def test_a_plan_reads_as_a_tree() -> None:
    leaf: JsonObject = {"operator": "leaf", "detail": "?s :p ?o in :w", "mode": "incremental", "keeps": 3, "inputs": []}
    plan = Plan(
        {
            "query": {"dialect": "RSP-QL", "form": "SELECT", "variables": ["?s"], "r2s": "RSTREAM"},
            "windows": [{"name": "http://w", "short": ":w", "stream": "http://s", "text": "[RANGE 10s]"}],
            "root": {"operator": "group", "detail": "by ?s", "inputs": [leaf]},
        }
    )
    assert str(plan).splitlines() == [
        "RSP-QL SELECT ?s · RSTREAM",
        "window :w on <http://s> [RANGE 10s]",
        "group by ?s",
        "  leaf ?s :p ?o in :w · incremental · keeps 3",
    ]
    assert "<pre>" in plan._repr_html_()
    assert "q1" in QueryInfo("q1", "SELECT", "RSP-QL", "running", None, 4, {})._repr_html_()


# --- bodies -----------------------------------------------------------------------------------------------------------


def test_triples_are_ntriples_and_quads_nquads() -> None:
    triple = (Iri("http://a"), Iri("http://p"), 1)
    body = body_of([triple])
    assert body.media_type == "application/n-triples"
    assert body.content == b'<http://a> <http://p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    assert body_of([(*triple, Iri("http://g"))]).media_type == "application/n-quads"


def test_terms_and_graphs_of_other_libraries_are_taken() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("http://a"), rdflib.URIRef("http://p"), rdflib.Literal("x")))
    expected = b'<http://a> <http://p> "x" .\n'
    assert body_of(graph).content.strip() == expected.strip()
    assert body_of(list(graph)).content == expected
    node = pyoxigraph.NamedNode
    assert body_of([pyoxigraph.Triple(node("http://a"), node("http://p"), pyoxigraph.Literal("x"))]).content == expected
    quad = pyoxigraph.Quad(node("http://a"), node("http://p"), pyoxigraph.Literal("x"), node("http://g"))
    assert body_of([quad]).content == b'<http://a> <http://p> "x" <http://g> .\n'


def test_frames_are_arrow() -> None:
    import pandas as pd

    body = body_of(pd.DataFrame({"t": [1], "celsius": [20.5]}))
    assert body.media_type == "application/vnd.apache.arrow.stream"
    assert pa.ipc.open_stream(body.content).read_all().to_pylist() == [{"t": 1, "celsius": 20.5}]


def test_events_are_lines_with_their_times() -> None:
    at = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    body = body_of([Event([(Iri("a:s"), Iri("a:p"), "x")], at), Event({"@id": "a:s"}), {"@id": "a:t"}])
    assert body.media_type == "application/x-ndjson"
    assert [json.loads(line) for line in body.content.splitlines()] == [
        {"t": 1000, "data": '<a:s> <a:p> "x" .\n'},
        {"@id": "a:s"},
        {"@id": "a:t"},
    ]


def test_text_is_turtle_unless_named() -> None:
    assert body_of("x").media_type == "text/turtle"
    assert body_of(b"x", "trig").media_type == "application/trig"
    with pytest.raises(ValueError, match="unknown format"):
        body_of("x", "rdfxml")  # type: ignore[arg-type]  # the error itself


@pytest.mark.parametrize("data", [5, [(1, 2)], [5]])
def test_what_cannot_be_sent_is_refused_before_anything_is(data: object) -> None:
    with pytest.raises(TypeError):
        body_of(data)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        time_ms(datetime(2026, 1, 1))  # noqa: DTZ001 - the fault itself
    assert time_ms(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0


def test_a_time_in_seconds_is_refused() -> None:
    with pytest.raises(TypeError, match=r"not 1\.5; write int\(time\.time\(\) \* 1000\) for now"):
        time_ms(1.5)  # type: ignore[arg-type]  # the fault itself
