//! Errors of the engine as exceptions of `whorl.errors`: one match maps all of them.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use whorl_engine::{EngineError, ParseError, Position};

/// Every error that a call into the engine can return.
pub enum Failure {
    Engine(EngineError),
    /// Arrow data without triples.
    Arrow(String),
    Panic(String),
}

/// The parts of an exception.
struct Report {
    class: &'static str,
    message: String,
    code: &'static str,
    hint: Option<String>,
    position: Option<Position>,
    index: Option<u64>,
    /// The stream that does not exist.
    stream: Option<String>,
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

/// The exception for a text that is not a duration.
pub fn raise_duration(py: Python<'_>, error: &ParseError) -> PyErr {
    let hint = error.hint().map(str::to_owned);
    let report = Report { hint, ..plain("DurationError", error.code(), error.message().to_owned()) };
    build(py, report).unwrap_or_else(|error| error)
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
        EngineError::QueryFailed { .. } | EngineError::FailedAtStart { .. } => "QueryFailedError",
        EngineError::TimestampMissing
        | EngineError::BadTimestamp { .. }
        | EngineError::BadTime { .. }
        | EngineError::WatermarkRegression { .. }
        | EngineError::TooFarAhead { .. } => "TimestampError",
        EngineError::WindowNotKept { .. }
        | EngineError::UnknownGraph { .. }
        | EngineError::GraphExists { .. }
        | EngineError::DocumentOfGraphs => "GraphError",
        EngineError::UnknownColumn { .. }
        | EngineError::BadColumns { .. }
        | EngineError::BadRow { .. }
        | EngineError::RowTooLarge { .. } => "IngestError",
        _ => "WhorlError",
    };
    let (code, position, index) = (error.code(), error.position(), error.index());
    let (message, hint) = (error.message(), error.hint().map(Cow::into_owned));
    let stream = match error.kind() {
        EngineError::UnknownStream { stream, .. } => Some(stream.clone()),
        _ => None,
    };
    Report { class, message, code, hint, position, index, stream }
}

fn plain(class: &'static str, code: &'static str, message: String) -> Report {
    Report { class, message, code, hint: None, position: None, index: None, stream: None }
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
    if report.stream.is_some() {
        details.set_item("stream", report.stream)?;
    }
    let class = py.import("whorl.errors")?.getattr(report.class)?;
    Ok(PyErr::from_value(class.call((report.message,), Some(&details))?))
}
