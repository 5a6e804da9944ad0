//! What can go wrong at the engine's border. Each error has a stable code and says what to do.

use crate::parse::{ParseError, Position, RdfError};
use crate::plan::PlanError;
use crate::time::Timestamp;

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Rdf(#[from] RdfError),
    #[error("stream <{stream}> is not known (hint: {hint})")]
    UnknownStream { stream: String, hint: String },
    #[error("stream <{stream}> exists with other settings")]
    StreamExistsDifferently { stream: String },
    #[error(
        "stream <{stream}> is written by a query and takes no other events (hint: push to the streams the query reads)"
    )]
    StreamIsOutput { stream: String },
    #[error("another query writes the stream <{stream}> already (hint: register this one under another name)")]
    OutputTaken { stream: String },
    #[error(
        "the query would read its own output <{stream}> (hint: queries that feed each other must not form a cycle)"
    )]
    Cycle { stream: String },
    #[error("<{iri}> is not an absolute IRI")]
    BadIri { iri: String },
    #[error("query {query} is not known")]
    UnknownQuery { query: u64 },
    /// The code says whether it was a fault or a limit.
    #[error("query {query} has failed: {reason}")]
    QueryFailed { query: u64, code: &'static str, reason: String },
    #[error("{what} is {reason}")]
    TooCostly { what: String, reason: String },
    #[error("the event has no time (hint: give a time with the push, or set the stream's timestamp predicate)")]
    TimestampMissing,
    #[error(
        "the value {value} of the timestamp predicate is not a dateTime with a zone nor an integer in milliseconds"
    )]
    BadTimestamp { value: String },
    #[error("the watermark of stream <{stream}> is {watermark} and cannot go back to {at}")]
    WatermarkRegression { stream: String, watermark: Timestamp, at: Timestamp },
    #[error(
        "the event at {at} would close {windows} windows that report although empty (hint: report nonempty, or check the time)"
    )]
    TooFarAhead { at: Timestamp, windows: u64 },
    #[error("graph {graph} does not exist")]
    UnknownGraph { graph: String },
    #[error("graph {graph} exists already")]
    GraphExists { graph: String },
    #[error("the document names graphs of its own (hint: name the graph to replace, or load the document)")]
    DocumentOfGraphs,
    #[error("the update could not be evaluated: {reason}")]
    UpdateFailed { reason: String },
}

impl EngineError {
    /// An error of the planner gets the place of what it names in the text of the query.
    pub(crate) fn located(self, text: &str) -> Self {
        match self {
            Self::Plan(error) => Self::Plan(error.located(text)),
            other => other,
        }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Parse(error) => error.code(),
            Self::Plan(error) => error.code(),
            Self::Rdf(error) => error.code(),
            Self::UnknownStream { .. } => "stream.unknown",
            Self::StreamExistsDifferently { .. } => "stream.exists_differently",
            Self::StreamIsOutput { .. } => "stream.output",
            Self::OutputTaken { .. } => "query.output_taken",
            Self::Cycle { .. } => "query.cycle",
            Self::BadIri { .. } => "iri.invalid",
            Self::UnknownQuery { .. } => "query.unknown",
            Self::QueryFailed { code, .. } => code,
            Self::TooCostly { .. } => "query.too_costly",
            Self::TimestampMissing => "timestamp.missing",
            Self::BadTimestamp { .. } => "timestamp.invalid",
            Self::WatermarkRegression { .. } => "watermark.regression",
            Self::TooFarAhead { .. } => "timestamp.too_far_ahead",
            Self::UnknownGraph { .. } => "graph.unknown",
            Self::GraphExists { .. } => "graph.exists",
            Self::DocumentOfGraphs => "graph.many",
            Self::UpdateFailed { .. } => "update.failed",
        }
    }

    /// Where in the text the error is, if it is in a text.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Parse(error) => error.position(),
            Self::Plan(error) => error.position(),
            Self::Rdf(error) => error.position(),
            _ => None,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Parse(error) => error.hint(),
            Self::Plan(error) => Some(error.hint()),
            Self::UnknownStream { hint, .. } => Some(hint),
            _ => None,
        }
    }
}
