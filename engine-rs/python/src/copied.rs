//! A copy of the data for a document, which is rendered without the engine and its lock.

use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::clock::now_ns;
use crate::enter::enter;

#[pyclass(frozen, module = "whorl._engine")]
pub struct Copied {
    inner: Mutex<Option<whorl_engine::Copied>>,
}

impl Copied {
    pub fn of(copied: whorl_engine::Copied) -> Self {
        Self { inner: Mutex::new(Some(copied)) }
    }
}

#[pymethods]
impl Copied {
    /// Renders the document, at most once. An ad-hoc query has a time limit in milliseconds.
    fn document<'py>(&self, py: Python<'py>, milliseconds: u64) -> PyResult<Bound<'py, PyBytes>> {
        let document = enter(py, &self.inner, |copied| {
            copied.take().map(|copied| copied.document_within(milliseconds, now_ns)).transpose()
        })?;
        let document = document.ok_or_else(|| PyValueError::new_err("the document has already been rendered"))?;
        Ok(PyBytes::new(py, &document))
    }
}
