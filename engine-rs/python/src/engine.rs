//! The class behind `whorl.Engine`.
//!
//! Methods check their arguments under the GIL and do everything else through [`enter`]. Long input goes in parts, with
//! a look at the signals between them, so Ctrl-C works; what has gone in by then stays in.

use std::sync::Mutex;

use oxrdf::{GraphName, Triple};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;
use whorl_engine::{
    EngineError, EngineOptions, IngestReport, ParseOptions, Probing, QueryId, Span, StreamOptions, Timestamp,
    UpdateReport,
};

use crate::arrow::{ArrowEvent, read_batch, write_batch};
use crate::enter::enter;
use crate::error::{Failure, raise};
use crate::result::Drained;
use crate::terms::{Factory, named_node, read_triple};
use crate::{options, stats};

/// Events of an Arrow table go in by so many, then signals are looked at.
const EVENTS_PER_PART: usize = 4096;
/// So many Python triples are read, then signals are looked at.
const TRIPLES_PER_PART: usize = 16_384;

/// `(accepted, late)`
type Ingested = (u64, u64);
/// `(inserted, deleted)`
type Updated = (usize, usize);

#[pyclass(frozen, module = "whorl._engine")]
pub struct Engine {
    inner: Mutex<whorl_engine::Engine>,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (*, hash_seed=None, probing_order=None, retraction=None, sharing=true, result_rows_max=None, limits=None))]
    fn new(
        hash_seed: Option<u64>,
        probing_order: Option<u64>,
        retraction: Option<&str>,
        sharing: bool,
        result_rows_max: Option<usize>,
        limits: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let defaults = EngineOptions::default();
        let chosen = EngineOptions {
            hash_seed: hash_seed.unwrap_or(defaults.hash_seed),
            probing: probing_order.map_or(Probing::Adaptive, Probing::Fixed),
            retraction: retraction.map(options::retraction).transpose()?.unwrap_or(defaults.retraction),
            sharing,
            result_rows_max: result_rows_max.unwrap_or(defaults.result_rows_max),
            limits: limits.map(options::limits).transpose()?.unwrap_or_default(),
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

    #[pyo3(signature = (text, *, dialect=None, report=None, tick=None, t0=None, bounds=None, partial=None, semantics=None, r2s=None, base_iri=None, default_graph=None, allow_cartesian=false))]
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
        allow_cartesian: bool,
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
            allow_cartesian,
        };
        enter(py, &self.inner, |engine| engine.register(text, &chosen)).map(|id| id.0)
    }

    fn unregister(&self, py: Python<'_>, query: u64) -> PyResult<()> {
        enter(py, &self.inner, |engine| engine.unregister(QueryId(query)))
    }

    /// One body of RDF text. It is parsed and evaluated without the GIL.
    fn push(&self, py: Python<'_>, stream: &str, at: Option<i64>, rdf: &[u8], format: &str) -> PyResult<Ingested> {
        let format = options::format(format)?;
        let at = at.map(Timestamp::from_millis);
        enter(py, &self.inner, |engine| engine.push(stream, at, rdf, format)).map(ingested)
    }

    /// One event of Python triples.
    fn push_triples(&self, py: Python<'_>, stream: &str, at: i64, triples: &Bound<'_, PyList>) -> PyResult<Ingested> {
        let mut read: Vec<Triple> = Vec::with_capacity(triples.len());
        for (index, triple) in triples.iter().enumerate() {
            if index % TRIPLES_PER_PART == 0 {
                py.check_signals()?;
            }
            read.push(read_triple(&triple)?);
        }
        let at = Timestamp::from_millis(at);
        enter(py, &self.inner, |engine| engine.push_triples(stream, at, &read)).map(ingested)
    }

    /// Events of Arrow data: one when `at` is given, else as its column `t` says.
    fn push_arrow(&self, py: Python<'_>, stream: &str, at: Option<i64>, data: AnyRecordBatch) -> PyResult<Ingested> {
        let mut total = (0, 0);
        let mut whole = Vec::new();
        for batch in data.into_reader()? {
            let batch = batch.map_err(|error| raise(py, Failure::Arrow(error.to_string())))?;
            let events = py.detach(|| read_batch(&batch)).map_err(|refusal| raise(py, Failure::Arrow(refusal)))?;
            match at {
                Some(_) => whole.extend(events.into_iter().flat_map(|event| event.triples)),
                None => self.push_events(py, stream, &events, &mut total)?,
            }
        }
        if let Some(at) = at {
            self.push_events(py, stream, &[ArrowEvent { at: Some(at), triples: whole }], &mut total)?;
        }
        Ok(total)
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

impl Engine {
    fn push_events(&self, py: Python<'_>, stream: &str, events: &[ArrowEvent], total: &mut Ingested) -> PyResult<()> {
        for part in events.chunks(EVENTS_PER_PART) {
            py.check_signals()?;
            let reports = enter(py, &self.inner, |engine| push_part(engine, stream, part))?;
            for (accepted, late) in reports {
                *total = (total.0 + accepted, total.1 + late);
            }
        }
        Ok(())
    }
}

fn push_part(engine: &mut whorl_engine::Engine, stream: &str, events: &[ArrowEvent]) -> Result<Vec<Ingested>, Failure> {
    let push = |event: &ArrowEvent| {
        let at = event
            .at
            .ok_or_else(|| Failure::Arrow(String::from("Arrow data needs a column 't', or a time for the whole")))?;
        Ok(ingested(engine.push_triples(stream, Timestamp::from_millis(at), &event.triples)?))
    };
    events.iter().map(push).collect()
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

fn ingested(report: IngestReport) -> Ingested {
    (report.accepted, report.late)
}
