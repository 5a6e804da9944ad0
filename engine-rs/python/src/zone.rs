//! The zone of dateTimes without one, as a table that Python makes from its time zone database.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pyclass(frozen, module = "whorl._engine")]
pub struct AssumedZone {
    pub inner: whorl_engine::AssumedZone,
}

#[pymethods]
impl AssumedZone {
    /// Pairs of a local time and the offset from UTC that holds from then on, both in milliseconds.
    #[new]
    fn new(offsets: Vec<(i64, i64)>) -> PyResult<Self> {
        let inner = whorl_engine::AssumedZone::new(offsets);
        inner.map(|inner| Self { inner }).ok_or_else(|| PyValueError::new_err("a zone has at least one offset"))
    }
}
