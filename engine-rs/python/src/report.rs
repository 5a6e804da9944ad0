//! The outcome of a push, as a Python dictionary.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use whorl_engine::{IngestReport, Refused};

pub fn ingested<'py>(py: Python<'py>, report: &IngestReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("accepted", report.accepted)?;
    dict.set_item("late", report.late)?;
    dict.set_item("ahead", report.ahead)?;
    dict.set_item("events", report.events)?;
    dict.set_item("triples", report.triples)?;
    let refused = report.refused.iter().map(|refused| one_refused(py, refused)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("refused", PyList::new(py, refused)?)?;
    Ok(dict)
}

fn one_refused<'py>(py: Python<'py>, refused: &Refused) -> PyResult<Bound<'py, PyDict>> {
    let position = refused.error.position();
    let dict = PyDict::new(py);
    dict.set_item("index", refused.index)?;
    dict.set_item("code", refused.error.code())?;
    dict.set_item("message", refused.error.message())?;
    dict.set_item("line", position.map(|position| position.line))?;
    dict.set_item("column", position.map(|position| position.column))?;
    Ok(dict)
}
