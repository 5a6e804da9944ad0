//! Rows to triples without a stream.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::input::AnyRecordBatch;
use whorl_engine::{EngineError, RowMapper, RowMapping, Timestamp};

use crate::engine::batches_of;
use crate::error::{Failure, raise};
use crate::events::RowReader;
use crate::ipc;

/// Maps the rows of Arrow data, or of an Arrow IPC stream, by a CONSTRUCT: returns the events as N-Quads.
#[pyfunction]
#[pyo3(signature = (construct, data, *, time_column="t", at=None))]
pub fn map_rows<'py>(
    py: Python<'py>,
    construct: &str,
    data: &Bound<'py, PyAny>,
    time_column: &str,
    at: Option<i64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let fail = |error: EngineError| raise(py, Failure::Engine(error));
    let mapping = RowMapping::parse(construct).map_err(fail)?;
    let mapper = RowMapper::new(&mapping).map_err(|error| fail(error.into()))?;
    let at = at.map(Timestamp::from_millis);
    let mut reader = RowReader::new(mapping, mapper, time_column.to_owned(), at);
    if let Ok(body) = data.cast::<PyBytes>() {
        let body = body.as_bytes();
        py.detach(|| ipc::each_batch(body, |batch| reader.add(batch))).map_err(fail)?;
    } else {
        let batches = batches_of(py, data.extract::<AnyRecordBatch>()?)?;
        py.detach(|| batches.iter().try_for_each(|batch| reader.add(batch))).map_err(fail)?;
    }
    let batch = reader.finish();
    match batch.refused().first() {
        Some(refused) => Err(fail(refused.error.clone())),
        None => Ok(PyBytes::new(py, &py.detach(|| batch.to_nquads()))),
    }
}
