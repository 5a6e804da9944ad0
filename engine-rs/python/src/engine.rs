//! The class behind `whorl.Engine`.
//!
//! Methods check their arguments under the GIL and do everything else through [`enter`]. Long input goes in parts, with
//! a look at the signals between them, so Ctrl-C works; what has gone in by then stays in.

use std::sync::Mutex;

use arrow_array::RecordBatch;
use oxrdf::{GraphName, Triple};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;
use whorl_engine::{
    EngineError, EngineOptions, EventBatch, IngestReport, ParseOptions, Probing, PushOptions, QueryId, Span,
    StreamOptions, Timestamp, UpdateReport,
};

use crate::arrow::write_batch;
use crate::enter::enter;
use crate::error::{Failure, raise};
use crate::events::{RowReader, TripleReader, has_triples};
use crate::options::Body;
use crate::report::ingested;
use crate::result::Drained;
use crate::terms::{Factory, named_node, read_triple};
use crate::{ipc, options, stats};

/// Events of an Arrow table go in by so many, then signals are looked at.
const EVENTS_PER_PART: usize = 4096;
/// So many Python triples are read, then signals are looked at.
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
    #[pyo3(signature = (*, hash_seed=None, probing_order=None, retraction=None, sharing=true, result_rows_max=None))]
    fn new(
        hash_seed: Option<u64>,
        probing_order: Option<u64>,
        retraction: Option<&str>,
        sharing: bool,
        result_rows_max: Option<usize>,
    ) -> PyResult<Self> {
        let defaults = EngineOptions::default();
        let chosen = EngineOptions {
            hash_seed: hash_seed.unwrap_or(defaults.hash_seed),
            probing: probing_order.map_or(Probing::Adaptive, Probing::Fixed),
            retraction: retraction.map(options::retraction).transpose()?.unwrap_or(defaults.retraction),
            sharing,
            result_rows_max: result_rows_max.unwrap_or(defaults.result_rows_max),
        };
        Ok(Self { inner: Mutex::new(whorl_engine::Engine::new(chosen)) })
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

    #[pyo3(signature = (text, *, dialect=None, report=None, tick=None, t0=None, bounds=None, partial=None, semantics=None, r2s=None, base_iri=None, default_graph=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of the Python method")]
    fn register(
        &self,
        py: Python<'_>,
        text: &str,
        dialect: Option<&str>,
        report: Option<Vec<String>>,
        tick: Option<&str>,
        t0: Option<i64>,
        bounds: Option<&str>,
        partial: Option<bool>,
        semantics: Option<&str>,
        r2s: Option<&str>,
        base_iri: Option<String>,
        default_graph: Option<String>,
    ) -> PyResult<u64> {
        let chosen = ParseOptions {
            dialect: dialect.map(options::dialect).transpose()?,
            report: report.as_deref().map(options::report).transpose()?,
            tick: tick.map(options::tick).transpose()?,
            t0: t0.map(Timestamp::from_millis),
            bounds: bounds.map(options::bounds).transpose()?,
            partial,
            semantics: semantics.map(options::semantics).transpose()?,
            r2s: r2s.map(options::r2s).transpose()?,
            base_iri,
            default_graph,
        };
        enter(py, &self.inner, |engine| engine.register(text, &chosen)).map(|id| id.0)
    }

    fn unregister(&self, py: Python<'_>, query: u64) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.unregister(QueryId(query)))
    }

    /// One body of events. It is parsed and evaluated without the GIL.
    #[pyo3(signature = (stream, at, body, format, *, latest=None, atomic=true))]
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
    ) -> PyResult<Bound<'py, PyDict>> {
        let (at, chosen) = (at.map(Timestamp::from_millis), push_options(latest, atomic));
        let report = match options::body(format)? {
            Body::Text(format) => enter(py, &self.inner, |engine| engine.push_body(stream, at, body, format, &chosen))?,
            Body::Arrow => enter(py, &self.inner, |engine| {
                let batch = read_arrow(engine, stream, at, |take| ipc::each_batch(body, take))?;
                engine.push_batch(stream, &batch, 0..batch.len(), &chosen)
            })?,
        };
        ingested(py, &report)
    }

    /// One event of Python triples.
    #[pyo3(signature = (stream, at, triples, *, latest=None, atomic=true))]
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
        let (at, chosen) = (Timestamp::from_millis(at), push_options(latest, atomic));
        let report = enter(py, &self.inner, |engine| engine.push_event(stream, at, read, &chosen))?;
        ingested(py, &report)
    }

    /// Events of Arrow data. All of it is read and checked before the first event goes in.
    #[pyo3(signature = (stream, at, data, *, latest=None, atomic=true))]
    fn push_arrow<'py>(
        &self,
        py: Python<'py>,
        stream: &str,
        at: Option<i64>,
        data: AnyRecordBatch,
        latest: Option<i64>,
        atomic: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (at, chosen) = (at.map(Timestamp::from_millis), push_options(latest, atomic));
        let batches = batches_of(py, data)?;
        let batch = enter(py, &self.inner, |engine| {
            let batch = read_arrow(engine, stream, at, |take| batches.iter().try_for_each(take))?;
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

    /// How rows of a stream become triples; None takes the mapping away.
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

    #[pyo3(signature = (text, base_iri=None))]
    fn update(&self, py: Python<'_>, text: &str, base_iri: Option<&str>) -> PyResult<Updated> {
        enter(py, &self.inner, |engine| engine.update(text, base_iri)).map(updated)
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

    /// The waiting answers as JSON envelopes.
    #[pyo3(signature = (query, name=None))]
    fn drain_json<'py>(&self, py: Python<'py>, query: u64, name: Option<&str>) -> PyResult<Bound<'py, PyList>> {
        let name = name.map_or_else(|| query.to_string(), str::to_owned);
        let envelopes = enter(py, &self.inner, |engine| engine.drain_json(QueryId(query), &name))?;
        PyList::new(py, envelopes.iter().map(|envelope| PyBytes::new(py, envelope)))
    }

    /// The waiting answers as tuples of Python terms.
    fn drain<'py>(&self, py: Python<'py>, query: u64, terms: &str) -> PyResult<Bound<'py, PyList>> {
        // An unknown word must not cost the answers.
        Factory::new(py, terms)?;
        let drained = enter(py, &self.inner, |engine| Drained::from(engine, QueryId(query)))?;
        drained.to_python(py, terms)
    }

    /// The waiting answers as one Arrow table.
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

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.stats()))?;
        stats::to_python(py, &found)
    }

    fn state_size(&self, py: Python<'_>) -> PyResult<usize> {
        enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.state_size()))
    }
}

fn push_options(latest: Option<i64>, atomic: bool) -> PushOptions {
    PushOptions { latest: latest.map(Timestamp::from_millis), atomic }
}

/// All batches of some Arrow data, with a look at the signals after each.
pub fn batches_of(py: Python<'_>, data: AnyRecordBatch) -> PyResult<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for batch in data.into_reader()? {
        batches.push(batch.map_err(|error| raise(py, Failure::Arrow(error.to_string())))?);
        py.check_signals()?;
    }
    Ok(batches)
}

type Take<'a> = &'a mut dyn FnMut(&RecordBatch) -> Result<(), EngineError>;

/// The events of Arrow data: triples where its columns are `s`, `p` and `o`, else rows of the stream's mapping.
fn read_arrow(
    engine: &whorl_engine::Engine,
    stream: &str,
    at: Option<Timestamp>,
    each: impl FnOnce(Take<'_>) -> Result<(), EngineError>,
) -> Result<EventBatch, EngineError> {
    let time_column = engine.mapping(stream)?.map(|(_, column)| column.to_owned()).unwrap_or_default();
    let mapper = engine.row_mapper(stream)?;
    let mut rows = mapper.map(|(mapping, mapper)| RowReader::new(mapping, mapper, time_column, at));
    let mut triples = TripleReader::new(at);
    let mut as_triples = false;
    each(&mut |data| match &mut rows {
        Some(rows) if !has_triples(data.schema_ref()) => rows.add(data),
        _ => {
            as_triples = true;
            triples.add(data)
        }
    })?;
    Ok(match rows {
        Some(rows) if !as_triples => rows.finish(),
        _ => triples.finish(),
    })
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
