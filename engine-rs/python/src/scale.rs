//! A partitioned query: the classes `ScaledQuery`, `PartitionEngine` and `MergeEngine`.
//!
//! Arguments are checked under the GIL, everything else runs without it. Chunks and snapshots are passed as bytes,
//! results as Arrow IPC streams, which `partial.rs` writes and reads.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use pyo3_arrow::input::AnyRecordBatch;
use whorl_engine::{EngineError, EventBatch, RdfFormat, Span, StreamOptions, Timestamp};

use crate::engine::batches_of;
use crate::enter::enter;
use crate::error::{Failure, raise};
use crate::events::{RowReader, TripleReader, has_triples};
use crate::options::Body;
use crate::partial::{Columns, read_answers, write_answers};
use crate::terms::named_node;
use crate::{ipc, options};

/// A chunk and the partition it is for.
type Chunk<'py> = (u32, Bound<'py, PyBytes>);

#[pyclass(frozen, module = "whorl._engine")]
pub struct ScaledQuery {
    inner: Arc<whorl_engine::ScaledQuery>,
}

#[pymethods]
impl ScaledQuery {
    #[new]
    #[pyo3(signature = (text, *, partitions, streams=None, **options))]
    fn new(
        py: Python<'_>,
        text: &str,
        partitions: u32,
        streams: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let chosen = options::query(options)?;
        let streams = streams.map(stream_settings).transpose()?.unwrap_or_default();
        let planned = whorl_engine::ScaledQuery::new(text, chosen, partitions, &streams);
        Ok(Self { inner: Arc::new(planned.map_err(|error| fail(py, error))?) })
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.inner.fingerprint()
    }

    #[getter]
    fn partitions(&self) -> u32 {
        self.inner.partitions()
    }

    #[getter]
    fn streams(&self) -> Vec<String> {
        self.inner.streams().map(str::to_owned).collect()
    }

    #[getter]
    fn variables(&self) -> Vec<String> {
        self.inner.variables().to_vec()
    }

    fn explain(&self) -> String {
        self.inner.explain()
    }

    /// Distributes Arrow data over the partitions: triples, or rows of a mapping.
    #[pyo3(signature = (stream, data, *, at=None, mapping=None, time_column="t", order=0))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn route<'py>(
        &self,
        py: Python<'py>,
        stream: &str,
        data: AnyRecordBatch,
        at: Option<i64>,
        mapping: Option<&str>,
        time_column: &str,
        order: u64,
    ) -> PyResult<Vec<Chunk<'py>>> {
        let batches = batches_of(py, data)?;
        let at = at.map(Timestamp::from_millis);
        self.routed(py, || {
            let mut reader = Reader::new(mapping, time_column, at, order)?;
            batches.iter().try_for_each(|batch| reader.add(batch))?;
            self.inner.route(stream, &reader.finish(), order)
        })
    }

    /// Distributes the events of a body over the partitions.
    #[pyo3(signature = (stream, at, body, format, *, order=0))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn route_rdf<'py>(
        &self,
        py: Python<'py>,
        stream: &str,
        at: Option<i64>,
        body: &[u8],
        format: &str,
        order: u64,
    ) -> PyResult<Vec<Chunk<'py>>> {
        let (at, format) = (at.map(Timestamp::from_millis), options::body(format)?);
        self.routed(py, || {
            let batch = match format {
                Body::Text(format) => self.inner.read_body(body, format, at)?,
                Body::Arrow => {
                    let mut reader = Reader::new(None, "t", at, order)?;
                    ipc::each_batch(body, |batch| reader.add(batch))?;
                    reader.finish()
                }
            };
            self.inner.route(stream, &batch, order)
        })
    }
}

impl ScaledQuery {
    fn routed<'py>(
        &self,
        py: Python<'py>,
        route: impl FnOnce() -> Result<Vec<Vec<u8>>, EngineError> + Send,
    ) -> PyResult<Vec<Chunk<'py>>> {
        let chunks = py.detach(route).map_err(|error| fail(py, error))?;
        let chunks = chunks.iter().zip(0..).map(|(chunk, partition)| (partition, PyBytes::new(py, chunk)));
        Ok(chunks.collect())
    }
}

/// Reads Arrow data: rows for the mapping if there is one, otherwise triples.
#[expect(clippy::large_enum_variant, reason = "there is one for each body")]
enum Reader {
    Rows(RowReader),
    Triples(TripleReader),
}

impl Reader {
    fn new(mapping: Option<&str>, time_column: &str, at: Option<Timestamp>, order: u64) -> Result<Self, EngineError> {
        let Some(text) = mapping else { return Ok(Self::Triples(TripleReader::new(at, None))) };
        let (mapping, mapper) = whorl_engine::ScaledQuery::row_mapper(text, order)?;
        Ok(Self::Rows(RowReader::new(mapping, mapper, time_column.to_owned(), at)))
    }

    fn add(&mut self, data: &arrow_array::RecordBatch) -> Result<(), EngineError> {
        match self {
            Self::Rows(reader) => reader.add(data),
            Self::Triples(reader) if has_triples(data.schema_ref()) => reader.add(data),
            Self::Triples(_) => {
                let reason = "they are not triples in columns s, p and o, and there is no mapping".to_owned();
                Err(EngineError::BadColumns { reason })
            }
        }
    }

    fn finish(self) -> EventBatch {
        match self {
            Self::Rows(reader) => reader.finish(),
            Self::Triples(reader) => reader.finish(),
        }
    }
}

#[pyclass(frozen, module = "whorl._engine")]
pub struct PartitionEngine {
    inner: Mutex<whorl_engine::PartitionEngine>,
    query: Arc<whorl_engine::ScaledQuery>,
}

#[pymethods]
impl PartitionEngine {
    #[new]
    #[pyo3(signature = (query, partition, graphs=None))]
    fn new(
        py: Python<'_>,
        query: &ScaledQuery,
        partition: u32,
        graphs: Option<Vec<(Option<String>, PyBackedBytes, String)>>,
    ) -> PyResult<Self> {
        let graphs = graphs.unwrap_or_default();
        let formats =
            graphs.iter().map(|(_, _, format)| options::format(format)).collect::<PyResult<Vec<RdfFormat>>>()?;
        let documents: Vec<(Option<&str>, &[u8], RdfFormat)> = graphs
            .iter()
            .zip(formats)
            .map(|((name, document, _), format)| (name.as_deref(), document.as_ref(), format))
            .collect();
        let query = query.inner.clone();
        let made = py.detach(|| whorl_engine::PartitionEngine::new(query.clone(), partition, &documents));
        Ok(Self { inner: Mutex::new(made.map_err(|error| fail(py, error))?), query })
    }

    /// Restores a partition from its snapshot.
    #[staticmethod]
    fn restore(py: Python<'_>, query: &ScaledQuery, partition: u32, snapshot: &[u8]) -> PyResult<Self> {
        let query = query.inner.clone();
        let restored = py.detach(|| whorl_engine::PartitionEngine::restore(query.clone(), partition, snapshot));
        Ok(Self { inner: Mutex::new(restored.map_err(|error| fail(py, error))?), query })
    }

    fn absorb<'py>(&self, py: Python<'py>, chunks: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyDict>> {
        let absorbed = enter(py, &self.inner, |engine| engine.absorb(&chunks))?;
        let report = PyDict::new(py);
        report.set_item("events", absorbed.events)?;
        report.set_item("triples", absorbed.triples)?;
        report.set_item("late", absorbed.late)?;
        report.set_item("watermark", self.watermarks(py)?)?;
        Ok(report)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, &self.inner, |engine| {
            engine.close();
            Ok::<_, EngineError>(())
        })
    }

    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter(py, &self.inner, |engine| {
            let reported = engine.drain()?;
            write_answers(&self.query, &reported, Columns::Partial).map_err(Failure::Arrow)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.snapshot()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn watermarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let watermarks = enter(py, &self.inner, |engine| {
            let millis = |at: Option<Timestamp>| at.map(Timestamp::as_millis);
            Ok::<_, EngineError>(engine.watermarks().map(|(iri, at)| (iri.to_owned(), millis(at))).collect::<Vec<_>>())
        })?;
        let found = PyDict::new(py);
        watermarks.into_iter().try_for_each(|(iri, at)| found.set_item(iri, at))?;
        Ok(found)
    }

    fn state_size(&self, py: Python<'_>) -> PyResult<usize> {
        enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.state_size()))
    }
}

#[pyclass(frozen, module = "whorl._engine")]
pub struct MergeEngine {
    inner: Mutex<whorl_engine::MergeEngine>,
    query: Arc<whorl_engine::ScaledQuery>,
}

#[pymethods]
impl MergeEngine {
    #[new]
    fn new(py: Python<'_>, query: &ScaledQuery) -> PyResult<Self> {
        let query = query.inner.clone();
        let made = whorl_engine::MergeEngine::new(query.clone()).map_err(|error| fail(py, error))?;
        Ok(Self { inner: Mutex::new(made), query })
    }

    /// Restores a merge from its snapshot.
    #[staticmethod]
    fn restore(py: Python<'_>, query: &ScaledQuery, snapshot: &[u8]) -> PyResult<Self> {
        let query = query.inner.clone();
        let restored = py.detach(|| whorl_engine::MergeEngine::restore(query.clone(), snapshot));
        Ok(Self { inner: Mutex::new(restored.map_err(|error| fail(py, error))?), query })
    }

    fn merge<'py>(&self, py: Python<'py>, partials: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter(py, &self.inner, |engine| {
            let partials = partials.iter().map(|partial| read_answers(partial, &self.query));
            let answers = engine.merge(partials.collect::<Result<_, EngineError>>()?)?;
            write_answers(&self.query, &answers, Columns::Final).map_err(Failure::Arrow)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.snapshot()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn state_size(&self, py: Python<'_>) -> PyResult<usize> {
        enter(py, &self.inner, |engine| Ok::<_, EngineError>(engine.state_size()))
    }
}

/// `{iri: {"lateness_ms": …, "idle_timeout_ms": …, "timestamp_predicate": …}}`
fn stream_settings(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, StreamOptions)>> {
    let mut streams = Vec::new();
    for item in given.call_method0("items")?.try_iter()? {
        let (iri, settings): (String, Bound<'_, PyAny>) = item?.extract()?;
        let mut chosen = StreamOptions::default();
        for setting in settings.call_method0("items")?.try_iter()? {
            let (name, value): (String, Bound<'_, PyAny>) = setting?.extract()?;
            match name.as_str() {
                "lateness_ms" => chosen.lateness = duration(&value)?.filter(|lateness| lateness.as_millis() > 0),
                "idle_timeout_ms" => chosen.idle_timeout = duration(&value)?,
                "timestamp_predicate" => {
                    let predicate: Option<String> = value.extract()?;
                    chosen.timestamp_predicate = predicate.as_deref().map(named_node).transpose()?;
                }
                other => {
                    let known = "lateness_ms, idle_timeout_ms and timestamp_predicate";
                    return Err(PyValueError::new_err(format!("settings of a stream are {known}, not '{other}'")));
                }
            }
        }
        streams.push((iri, chosen));
    }
    Ok(streams)
}

fn duration(value: &Bound<'_, PyAny>) -> PyResult<Option<Span>> {
    match value.extract::<Option<i64>>()? {
        Some(ms) if ms < 0 => Err(PyValueError::new_err("durations must not be negative")),
        ms => Ok(ms.map(Span::from_millis)),
    }
}

fn fail(py: Python<'_>, error: EngineError) -> PyErr {
    raise(py, Failure::Engine(error))
}
