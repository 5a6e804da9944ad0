//! Errors of the engine as exceptions of `whorl.errors`: one match says which is which.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use whorl_engine::{EngineError, Position};

/// Everything that can come back from a call into the engine.
pub enum Failure {
    Engine(EngineError),
    /// Arrow data that holds no triples.
    Arrow(String),
    Panic(String),
}

/// What an exception is made of.
struct Report {
    class: &'static str,
    message: String,
    code: &'static str,
    hint: Option<String>,
    position: Option<Position>,
    index: Option<u64>,
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// The exception for a failure.
pub fn raise(py: Python<'_>, failure: Failure) -> PyErr {
    build(py, report(failure)).unwrap_or_else(|error| error)
}

fn report(failure: Failure) -> Report {
    match failure {
        Failure::Engine(error) => engine_report(error),
        Failure::Arrow(message) => plain("IngestError", "arrow.unreadable", message),
        Failure::Panic(message) => plain("EnginePanicError", "engine.panic", format!("the engine failed: {message}")),
    }
}

fn engine_report(error: EngineError) -> Report {
    let class = match error.kind() {
        EngineError::Parse(_) => "QuerySyntaxError",
        EngineError::Plan(_) => "UnsupportedQueryError",
        EngineError::Rdf(_) => "RdfSyntaxError",
        EngineError::UnknownStream { .. } => "UnknownStreamError",
        EngineError::StreamExistsDifferently { .. } | EngineError::StreamInUse { .. } => "StreamExistsError",
        EngineError::UnknownQuery { .. } => "UnknownQueryError",
        EngineError::QueryFailed { .. } => "QueryFailedError",
        EngineError::TimestampMissing
        | EngineError::BadTimestamp { .. }
        | EngineError::BadTime { .. }
        | EngineError::WatermarkRegression { .. }
        | EngineError::TooFarAhead { .. } => "TimestampError",
        EngineError::WindowNotKept { .. }
        | EngineError::UnknownGraph { .. }
        | EngineError::GraphExists { .. }
        | EngineError::DocumentOfGraphs => "GraphError",
        EngineError::UnknownColumn { .. } | EngineError::BadColumns { .. } | EngineError::BadRow { .. } => {
            "IngestError"
        }
        _ => "WhorlError",
    };
    let (code, position, index) = (error.code(), error.position(), error.index());
    let (message, hint) = split(&error.to_string(), position);
    Report { class, message, code, hint, position, index }
}

/// Messages end in a position and a hint, which the exception carries on their own.
pub fn split(text: &str, position: Option<Position>) -> (String, Option<String>) {
    let (message, hint) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (hint: ")) {
        Some((message, hint)) => (message, Some(hint.to_owned())),
        None => (text, None),
    };
    let place = position.map(|position| format!(" at {position}")).unwrap_or_default();
    (message.strip_suffix(&place).unwrap_or(message).to_owned(), hint)
}

fn plain(class: &'static str, code: &'static str, message: String) -> Report {
    Report { class, message, code, hint: None, position: None, index: None }
}

fn build(py: Python<'_>, report: Report) -> PyResult<PyErr> {
    let details = PyDict::new(py);
    details.set_item("code", report.code)?;
    details.set_item("hint", report.hint)?;
    details.set_item("line", report.position.map(|position| position.line))?;
    details.set_item("column", report.position.map(|position| position.column))?;
    if report.index.is_some() {
        details.set_item("index", report.index)?;
    }
    let class = py.import("whorl.errors")?.getattr(report.class)?;
    Ok(PyErr::from_value(class.call((report.message,), Some(&details))?))
}
