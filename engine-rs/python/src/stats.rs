//! Counters of the engine as Python dictionaries.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use whorl_engine::{EngineStats, QueryStats, StreamStats, Timestamp};

pub fn to_python<'py>(py: Python<'py>, stats: &EngineStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("events", stats.events)?;
    dict.set_item("stream_terms", stats.stream_terms)?;
    dict.set_item("pinned_terms", stats.pinned_terms)?;
    dict.set_item("static_triples", stats.static_triples)?;
    dict.set_item("state_size", stats.state_size)?;
    let streams = stats.streams.iter().map(|stream| one_stream(py, stream)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("streams", PyList::new(py, streams)?)?;
    let queries = stats.queries.iter().map(|query| one_query(py, query)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("queries", PyList::new(py, queries)?)?;
    Ok(dict)
}

fn one_stream<'py>(py: Python<'py>, stream: &StreamStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("stream", &stream.iri)?;
    dict.set_item("watermark", stream.watermark.map(Timestamp::as_millis))?;
    dict.set_item("events", stream.counts.events)?;
    dict.set_item("triples", stream.counts.triples)?;
    dict.set_item("late", stream.counts.late)?;
    Ok(dict)
}

fn one_query<'py>(py: Python<'py>, query: &QueryStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("query", query.id.0)?;
    dict.set_item("evaluations", query.evaluations)?;
    dict.set_item("state_size", query.state_size)?;
    dict.set_item("dropped_results", query.dropped_results)?;
    let windows = PyDict::new(py);
    for (name, elements) in &query.windows {
        windows.set_item(name, elements)?;
    }
    dict.set_item("windows", windows)?;
    dict.set_item("clock", query.clock.map(Timestamp::as_millis))?;
    dict.set_item("reevaluates", query.reevaluates)?;
    dict.set_item("unreadable_times", query.unreadable_times)?;
    Ok(dict)
}
