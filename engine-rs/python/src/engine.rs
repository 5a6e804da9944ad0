//! The class behind `whorl.Engine`.
//!
//! Methods check their arguments under the GIL and do everything else through [`enter`]. Long input is ingested
//! in parts, with a check for signals between them, so Ctrl-C works; the parts before it stay ingested.

use std::collections::BTreeMap;
use std::sync::Mutex;

use arrow_array::RecordBatch;
use oxrdf::{GraphName, NamedNode, Triple};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;
use whorl_engine::{
    BodyFormat, EngineError, EventBatch, IngestReport, PushOptions, QueryDataset, QueryForm, QueryId, Span,
    StreamOptions, Timestamp, UpdateReport, query_form,
};

use crate::arrow::write_batch;
use crate::clock::now_ns;
use crate::copied::Copied;
use crate::enter::enter;
use crate::error::{Failure, raise};
use crate::events::{RowReader, TripleReader, has_triples};
use crate::options::Body;
use crate::report::ingested;
use crate::result::Drained;
use crate::terms::{Factory, named_node, read_triple};
use crate::zone::AssumedZone;
use crate::{ipc, options, stats};

/// Events of an Arrow table per part; signals are checked between parts.
const EVENTS_PER_PART: usize = 4096;
/// Python triples per part; signals are checked between parts.
const TRIPLES_PER_PART: usize = 16_384;

/// `(inserted, deleted)`
type Updated = (usize, usize);

#[pyclass(frozen, module = "whorl._engine")]
pub struct Engine {
    inner: Mutex<whorl_engine::Engine>,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let chosen = options::engine(options)?;
        let mut engine = whorl_engine::Engine::new(chosen);
        engine.lend_clock(now_ns);
        Ok(Self { inner: Mutex::new(engine) })
    }

    /// The whole engine as bytes.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.snapshot()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Restores an engine from a snapshot.
    #[staticmethod]
    #[pyo3(signature = (data, **options))]
    fn restore(py: Python<'_>, data: &[u8], options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let chosen = options::engine(options)?;
        let inner = Mutex::new(whorl_engine::Engine::new(chosen));
        enter(py, &inner, |engine| {
            *engine = whorl_engine::Engine::restore(data, chosen)?;
            engine.lend_clock(now_ns);
            Ok::<_, EngineError>(())
        })?;
        Ok(Self { inner })
    }

    /// Numbers, names and texts of the registered queries, in the order of their registration.
    fn queries(&self, py: Python<'_>) -> PyResult<Vec<(u64, Option<String>, String)>> {
        let listed = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.listed_queries()))?;
        Ok(listed.into_iter().map(|query| (query.id.0, query.name, query.text)).collect())
    }

    fn name_query(&self, py: Python<'_>, query: u64, name: String) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.name_query(QueryId(query), name))
    }

    #[pyo3(signature = (iri, *, lateness_ms=0, idle_timeout_ms=None, timestamp_predicate=None))]
    fn declare_stream(
        &self,
        py: Python<'_>,
        iri: &str,
        lateness_ms: i64,
        idle_timeout_ms: Option<i64>,
        timestamp_predicate: Option<&str>,
    ) -> PyResult<()> {
        if lateness_ms < 0 || idle_timeout_ms.is_some_and(|ms| ms <= 0) {
            return Err(PyValueError::new_err("lateness and idle timeout are not negative"));
        }
        let chosen = StreamOptions {
            lateness: (lateness_ms > 0).then(|| Span::from_millis(lateness_ms)),
            idle_timeout: idle_timeout_ms.map(Span::from_millis),
            timestamp_predicate: timestamp_predicate.map(named_node).transpose()?,
        };
        enter(py, &self.inner, |engine| engine.declare_stream(iri, chosen))
    }

    /// With `known_streams`, the query may read only these; otherwise the streams that it names are declared. The query
    /// that it `replaces` ends if this one is accepted.
    #[pyo3(signature = (text, *, known_streams=None, replaces=None, **options))]
    fn register(
        &self,
        py: Python<'_>,
        text: &str,
        known_streams: Option<Vec<String>>,
        replaces: Option<u64>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let chosen = options::query(options)?;
        let known: Option<Vec<&str>> = known_streams.as_ref().map(|known| known.iter().map(String::as_str).collect());
        let register = |engine: &mut whorl_engine::Engine| match replaces {
            Some(old) => engine.replace(QueryId(old), text, &chosen, known.as_deref()),
            None => engine.register_reading(text, &chosen, known.as_deref()),
        };
        enter(py, &self.inner, register).map(|id| id.0)
    }

    /// The description of the query as JSON, without registering it.
    #[pyo3(signature = (text, **options))]
    fn validate(&self, py: Python<'_>, text: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        let chosen = options::query(options)?;
        enter(py, &self.inner, |engine| engine.validate(text, &chosen))
    }

    fn unregister(&self, py: Python<'_>, query: u64) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.unregister(QueryId(query)))
    }

    /// One body of events. It is parsed and evaluated without the GIL.
    #[pyo3(signature = (stream, at, body, format, *, latest=None, atomic=true, zone=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn push<'py>(
        &self,
        py: Python<'py>,
        stream: &str,
        at: Option<i64>,
        body: &[u8],
        format: &str,
        latest: Option<i64>,
        atomic: bool,
        zone: Option<&AssumedZone>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (at, chosen) = (at.map(Timestamp::from_millis), push_options(latest, atomic, zone));
        let report = match options::body(format)? {
            Body::Text(format) => enter(py, &self.inner, |engine| engine.push_body(stream, at, body, format, &chosen))?,
            Body::Arrow => enter(py, &self.inner, |engine| {
                let mut reader = ArrowReader::new(engine, stream, at, chosen.zone.clone())?;
                reader.add_body(body)?;
                let batch = reader.finish();
                engine.push_batch(stream, &batch, 0..batch.len(), &chosen)
            })?,
        };
        ingested(py, &report)
    }

    /// Several bodies as one, in the order of their times; either all are Arrow, or none is.
    #[pyo3(signature = (stream, bodies, *, latest=None, zone=None))]
    fn push_bodies<'py>(
        &self,
        py: Python<'py>,
        stream: &str,
        bodies: Vec<(PyBackedBytes, String)>,
        latest: Option<i64>,
        zone: Option<&AssumedZone>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let chosen = push_options(latest, true, zone);
        let mut texts: Vec<(&[u8], BodyFormat)> = Vec::new();
        let mut arrows: Vec<&[u8]> = Vec::new();
        for (body, format) in &bodies {
            match options::body(format)? {
                Body::Text(format) => texts.push((body, format)),
                Body::Arrow => arrows.push(body),
            }
        }
        if !texts.is_empty() && !arrows.is_empty() {
            return Err(PyValueError::new_err("a commit cannot mix Arrow bodies with other formats"));
        }
        let report = enter(py, &self.inner, |engine| match arrows.is_empty() {
            true => engine.push_bodies(stream, &texts, &chosen),
            false => {
                let mut reader = ArrowReader::new(engine, stream, None, chosen.zone.clone())?;
                arrows.iter().try_for_each(|body| reader.add_body(body))?;
                let mut batch = reader.finish();
                batch.sort_by_time();
                engine.push_batch(stream, &batch, 0..batch.len(), &chosen)
            }
        })?;
        ingested(py, &report)
    }

    /// One event of Python triples.
    #[pyo3(signature = (stream, at, triples, *, latest=None, atomic=true))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn push_triples<'py>(
        &self,
        py: Python<'py>,
        stream: &str,
        at: i64,
        triples: &Bound<'_, PyList>,
        latest: Option<i64>,
        atomic: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut read: Vec<Triple> = Vec::with_capacity(triples.len());
        for (index, triple) in triples.iter().enumerate() {
            if index % TRIPLES_PER_PART == 0 {
                py.check_signals()?;
            }
            read.push(read_triple(&triple)?);
        }
        let (at, chosen) = (Timestamp::from_millis(at), push_options(latest, atomic, None));
        let report = enter(py, &self.inner, |engine| engine.push_event(stream, at, &read, &chosen))?;
        ingested(py, &report)
    }

    /// Events of Arrow data. All of it is read and checked before the first event is applied.
    #[pyo3(signature = (stream, at, data, *, latest=None, atomic=true))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn push_arrow<'py>(
        &self,
        py: Python<'py>,
        stream: &str,
        at: Option<i64>,
        data: AnyRecordBatch,
        latest: Option<i64>,
        atomic: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (at, chosen) = (at.map(Timestamp::from_millis), push_options(latest, atomic, None));
        let batches = batches_of(py, data)?;
        let batch = enter(py, &self.inner, |engine| {
            let mut reader = ArrowReader::new(engine, stream, at, None)?;
            batches.iter().try_for_each(|data| reader.add(data))?;
            let batch = reader.finish();
            engine.check_batch(stream, &batch, &chosen)?;
            Ok::<_, EngineError>(batch)
        })?;
        let mut report = IngestReport::default();
        let mut start = 0;
        loop {
            let end = (start + EVENTS_PER_PART).min(batch.len());
            let part = enter(py, &self.inner, |engine| engine.push_batch(stream, &batch, start..end, &chosen))?;
            add(&mut report, part);
            start = end;
            if start >= batch.len() {
                return ingested(py, &report);
            }
            py.check_signals()?;
        }
    }

    /// Sets how rows of a stream become triples; None removes the mapping.
    #[pyo3(signature = (stream, construct, *, time_column="t"))]
    fn set_mapping(&self, py: Python<'_>, stream: &str, construct: Option<&str>, time_column: &str) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.set_mapping(stream, construct, time_column))
    }

    fn mapping(&self, py: Python<'_>, stream: &str) -> PyResult<Option<String>> {
        enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.mapping(stream)?.map(|(text, _)| text.to_owned())))
    }

    #[pyo3(signature = (at, stream=None))]
    fn advance_to(&self, py: Python<'_>, at: i64, stream: Option<&str>) -> PyResult<()> {
        let at = Timestamp::from_millis(at);
        enter(py, &self.inner, |engine| match stream {
            Some(stream) => engine.advance_stream(stream, at),
            None => engine.advance_to(at),
        })
    }

    fn mark_idle(&self, py: Python<'_>, stream: &str) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.mark_idle(stream))
    }

    fn close_stream(&self, py: Python<'_>, stream: &str) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.close_stream(stream))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, &self.inner, |engine| {
            engine.close();
            Ok::<_, EngineError>(())
        })
    }

    #[pyo3(signature = (graph, rdf, format))]
    fn load(&self, py: Python<'_>, graph: Option<&str>, rdf: &[u8], format: &str) -> PyResult<usize> {
        let format = options::format(format)?;
        enter(py, &self.inner, |engine| engine.load(graph, rdf, format))
    }

    #[pyo3(signature = (graph, rdf, format))]
    fn replace_graph(&self, py: Python<'_>, graph: Option<&str>, rdf: &[u8], format: &str) -> PyResult<Updated> {
        let format = options::format(format)?;
        enter(py, &self.inner, |engine| engine.replace_graph(graph, rdf, format)).map(updated)
    }

    fn drop_graph(&self, py: Python<'_>, graph: Option<&str>) -> PyResult<Updated> {
        enter(py, &self.inner, |engine| engine.drop_graph(graph)).map(updated)
    }

    /// The graphs are the dataset of every WHERE, as in the SPARQL protocol.
    #[pyo3(signature = (text, base_iri=None, *, default_graphs=None, named_graphs=None))]
    fn update(
        &self,
        py: Python<'_>,
        text: &str,
        base_iri: Option<&str>,
        default_graphs: Option<Vec<String>>,
        named_graphs: Option<Vec<String>>,
    ) -> PyResult<Updated> {
        let nodes = |graphs: Option<Vec<String>>| -> PyResult<Vec<NamedNode>> {
            graphs.unwrap_or_default().iter().map(|graph| named_node(graph)).collect()
        };
        let (default, named) = (nodes(default_graphs)?, nodes(named_graphs)?);
        let is_given = !default.is_empty() || !named.is_empty();
        let using = is_given.then_some(QueryDataset { default, named: Some(named) });
        enter(py, &self.inner, |engine| engine.update_using(text, base_iri, using.as_ref())).map(updated)
    }

    /// The watermark of a stream; None before its first event.
    fn watermark(&self, py: Python<'_>, stream: &str) -> PyResult<Option<i64>> {
        Ok(enter(py, &self.inner, |engine| engine.watermark(stream))?.map(Timestamp::as_millis))
    }

    /// The queries with results to drain, and those that have failed.
    fn waiting(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let waiting = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.waiting()))?;
        Ok(waiting.into_iter().map(|query| query.0).collect())
    }

    fn drop_stream(&self, py: Python<'_>, stream: &str) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.drop_stream(stream))
    }

    /// The graphs with their sizes; the default graph is None and comes first.
    fn graphs(&self, py: Python<'_>) -> PyResult<Vec<(Option<String>, usize)>> {
        let graphs = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.graph_names()))?;
        Ok(graphs.into_iter().map(|(name, triples)| (graph_name(name), triples)).collect())
    }

    /// The triples of a graph as tuples of Python terms.
    fn graph<'py>(&self, py: Python<'py>, graph: Option<&str>, terms: &str) -> PyResult<Bound<'py, PyList>> {
        let factory = Factory::new(py, terms)?;
        let triples = enter(py, &self.inner, |engine| engine.graph_triples(graph))?;
        let list = PyList::empty(py);
        for triple in triples {
            let parts = [triple.subject.into(), triple.predicate.into(), triple.object];
            let parts = parts.iter().map(|term| factory.term(term)).collect::<PyResult<Vec<_>>>()?;
            list.append(PyTuple::new(py, parts)?)?;
        }
        Ok(list)
    }

    /// The triples of a graph as a document.
    #[pyo3(signature = (graph, format))]
    fn graph_text<'py>(&self, py: Python<'py>, graph: Option<&str>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format = options::format(format)?;
        let document = enter(py, &self.inner, |engine| engine.graph_text(graph, format))?;
        Ok(PyBytes::new(py, &document))
    }

    /// Drains the results as JSON envelopes.
    #[pyo3(signature = (query, name=None))]
    fn drain_json<'py>(&self, py: Python<'py>, query: u64, name: Option<&str>) -> PyResult<Bound<'py, PyList>> {
        let name = name.map_or_else(|| query.to_string(), str::to_owned);
        let envelopes = enter(py, &self.inner, |engine| engine.drain_json(QueryId(query), &name))?;
        PyList::new(py, envelopes.iter().map(|envelope| PyBytes::new(py, envelope)))
    }

    /// Drains the results as `(seq, at, envelope)`.
    fn drain_envelopes<'py>(
        &self,
        py: Python<'py>,
        query: u64,
        name: &str,
        incarnation: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let envelopes = enter(py, &self.inner, |engine| engine.drain_envelopes(QueryId(query), name, incarnation))?;
        let rows = envelopes.iter().map(|e| (e.seq, e.at.as_millis(), PyBytes::new(py, &e.json)));
        PyList::new(py, rows.collect::<Vec<_>>())
    }

    /// The current result; the queue stays as it is.
    fn answer<'py>(&self, py: Python<'py>, query: u64, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format = options::answer_format(format)?;
        let document = enter(py, &self.inner, |engine| engine.answer(QueryId(query), format))?;
        Ok(PyBytes::new(py, &document))
    }

    /// An ad-hoc query over the static graphs and the kept windows.
    #[pyo3(signature = (text, format, **options))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        format: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (format, chosen) = (options::answer_format(format)?, options::ask(options)?);
        let document = enter(py, &self.inner, |engine| engine.ask(text, format, &chosen))?;
        Ok(PyBytes::new(py, &document))
    }

    /// Like `ask`, but stops after this many milliseconds and returns None.
    #[pyo3(signature = (text, format, milliseconds, **options))]
    fn ask_for<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        format: &str,
        milliseconds: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (format, chosen) = (options::answer_format(format)?, options::ask(options)?);
        let document = enter(py, &self.inner, |engine| engine.ask_for(text, format, &chosen, milliseconds))?;
        Ok(document.map(|document| PyBytes::new(py, &document)))
    }

    /// A copy of the data that a query can read, made within this many milliseconds.
    #[pyo3(signature = (text, format, milliseconds, **options))]
    fn copy_for_question(
        &self,
        py: Python<'_>,
        text: &str,
        format: &str,
        milliseconds: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Copied> {
        let (format, chosen) = (options::answer_format(format)?, options::ask(options)?);
        enter(py, &self.inner, |engine| engine.copy_for_question(text, format, &chosen, milliseconds)).map(Copied::of)
    }

    /// A copy of the current result, to be rendered as a document later.
    fn copy_answer(&self, py: Python<'_>, query: u64, format: &str) -> PyResult<Copied> {
        let format = options::answer_format(format)?;
        enter(py, &self.inner, |engine| engine.copy_answer(QueryId(query), format)).map(Copied::of)
    }

    /// A copy of the triples of a graph, to be rendered as a document later.
    #[pyo3(signature = (graph, format))]
    fn copy_graph(&self, py: Python<'_>, graph: Option<&str>, format: &str) -> PyResult<Copied> {
        let format = options::format(format)?;
        enter(py, &self.inner, |engine| engine.copy_graph(graph, format)).map(Copied::of)
    }

    /// `select`, `ask`, `construct` or `describe`.
    #[staticmethod]
    #[pyo3(signature = (text, base_iri=None))]
    fn query_form(py: Python<'_>, text: &str, base_iri: Option<&str>) -> PyResult<&'static str> {
        let form = py.detach(|| query_form(text, base_iri));
        form.map(QueryForm::name).map_err(|error| raise(py, error.into()))
    }

    /// Drains the results as tuples of Python terms.
    fn drain<'py>(&self, py: Python<'py>, query: u64, terms: &str) -> PyResult<Bound<'py, PyList>> {
        // Checked before the results leave the queue, so that an unknown word does not lose them.
        Factory::new(py, terms)?;
        let drained = enter(py, &self.inner, |engine| Drained::from(engine, QueryId(query)))?;
        drained.to_python(py, terms)
    }

    /// Drains the results as one Arrow table.
    fn drain_arrow(&self, py: Python<'_>, query: u64, typed: bool) -> PyResult<PyTable> {
        let batch = enter(py, &self.inner, |engine| {
            let drained = Drained::from(engine, QueryId(query))?;
            write_batch(&drained.variables, &drained.rows(), typed).map_err(Failure::Arrow)
        })?;
        let schema = batch.schema();
        PyTable::try_new(vec![batch], schema)
    }

    fn explain(&self, py: Python<'_>, query: u64) -> PyResult<String> {
        enter(py, &self.inner, |engine| engine.explain(QueryId(query)))
    }

    fn explain_json(&self, py: Python<'_>, query: u64) -> PyResult<String> {
        enter(py, &self.inner, |engine| engine.explain_json(QueryId(query)))
    }

    /// The description of the query, as JSON.
    fn describe(&self, py: Python<'_>, query: u64) -> PyResult<String> {
        enter(py, &self.inner, |engine| engine.describe(QueryId(query)))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.stats()))?;
        stats::to_python(py, &found)
    }

    /// Counted work, for tests and benchmarks: leaves and queries that events and time have led to.
    fn n_visits(&self, py: Python<'_>) -> PyResult<u64> {
        enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.n_visits()))
    }

    /// Evaluation seconds by the number of the query.
    fn evaluation_seconds(&self, py: Python<'_>) -> PyResult<BTreeMap<u64, f64>> {
        enter(py, &self.inner, |engine| {
            let times = engine.evaluation_times().map(|(id, time)| (id.0, time.as_secs_f64()));
            Ok::<_, EngineError>(times.collect())
        })
    }

    fn state_size(&self, py: Python<'_>) -> PyResult<usize> {
        enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.state_size()))
    }
}

fn push_options(latest: Option<i64>, atomic: bool, zone: Option<&AssumedZone>) -> PushOptions {
    PushOptions { latest: latest.map(Timestamp::from_millis), atomic, zone: zone.map(|zone| zone.inner.clone()) }
}

/// All batches of some Arrow data, with a check for signals after each.
pub fn batches_of(py: Python<'_>, data: AnyRecordBatch) -> PyResult<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for batch in data.into_reader()? {
        batches.push(batch.map_err(|error| raise(py, Failure::Arrow(error.to_string())))?);
        py.check_signals()?;
    }
    Ok(batches)
}

/// Reads Arrow data: triples if its columns are `s`, `p` and `o`, otherwise rows for the stream's mapping.
struct ArrowReader {
    rows: Option<RowReader>,
    triples: TripleReader,
    as_triples: bool,
}

impl ArrowReader {
    fn new(
        engine: &whorl_engine::Engine,
        stream: &str,
        at: Option<Timestamp>,
        zone: Option<whorl_engine::AssumedZone>,
    ) -> Result<Self, EngineError> {
        let time_column = engine.mapping(stream)?.map(|(_, column)| column.to_owned()).unwrap_or_default();
        let mapper = engine.row_mapper(stream)?;
        let rows = mapper.map(|(mapping, mapper)| RowReader::new(mapping, mapper, time_column, at));
        let rows = rows.map(|rows| rows.in_zone(zone.clone()));
        Ok(Self { rows, triples: TripleReader::new(at, zone), as_triples: false })
    }

    fn add(&mut self, data: &RecordBatch) -> Result<(), EngineError> {
        match &mut self.rows {
            Some(rows) if !has_triples(data.schema_ref()) => rows.add(data),
            _ => {
                self.as_triples = true;
                self.triples.add(data)
            }
        }
    }

    fn add_body(&mut self, body: &[u8]) -> Result<(), EngineError> {
        self.triples.begin_body();
        self.rows.iter_mut().for_each(RowReader::begin_body);
        ipc::each_batch(body, |data| self.add(data))
    }

    fn finish(self) -> EventBatch {
        match self.rows {
            Some(rows) if !self.as_triples => rows.finish(),
            _ => self.triples.finish(),
        }
    }
}

fn add(report: &mut IngestReport, part: IngestReport) {
    report.accepted += part.accepted;
    report.late += part.late;
    report.ahead += part.ahead;
    report.events += part.events;
    report.triples += part.triples;
    report.refused.extend(part.refused);
}

fn updated(report: UpdateReport) -> Updated {
    (report.inserted, report.deleted)
}

/// An IRI, or `_:label`; None for the default graph.
fn graph_name(name: GraphName) -> Option<String> {
    match name {
        GraphName::DefaultGraph => None,
        GraphName::NamedNode(node) => Some(node.into_string()),
        GraphName::BlankNode(node) => Some(node.to_string()),
    }
}
