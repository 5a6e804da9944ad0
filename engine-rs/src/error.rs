//! What can go wrong at the engine's border. Each error has a stable code and says what to do.

use crate::codec::Damaged;
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
    #[error("stream <{stream}> is read by a query (hint: unregister the queries that read it first)")]
    StreamInUse { stream: String },
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
    #[error(
        "the value {value} of {name} is not a time (hint: write integer milliseconds, or a dateTime with a zone such as 2024-05-01T12:00:00Z)"
    )]
    BadTime { name: String, value: String, position: Option<Position> },
    #[error("the watermark of stream <{stream}> is {watermark} and cannot go back to {at}")]
    WatermarkRegression { stream: String, watermark: Timestamp, at: Timestamp },
    #[error(
        "the event at {at} would close {windows} windows that report although empty (hint: report nonempty, or check the time)"
    )]
    TooFarAhead { at: Timestamp, windows: u64 },
    #[error("column {column} of the mapping is not in the data (hint: {hint})")]
    UnknownColumn { column: String, hint: String },
    #[error("the columns cannot be read: {reason}")]
    BadColumns { reason: String },
    #[error("row {row}: {reason}")]
    BadRow { row: u64, reason: String },
    /// Any of the others, with the event of a body it is about.
    #[error("{error}")]
    InBody { error: Box<EngineError>, index: Option<u64>, position: Option<Position> },
    #[error("graph {graph} does not exist")]
    UnknownGraph { graph: String },
    #[error("graph {graph} exists already")]
    GraphExists { graph: String },
    #[error("the document names graphs of its own (hint: name the graph to replace, or load the document)")]
    DocumentOfGraphs,
    #[error("the update could not be evaluated: {reason}")]
    UpdateFailed { reason: String },
    #[error("the snapshot is damaged: {reason} (hint: restore an older one)")]
    SnapshotDamaged { reason: &'static str },
    #[error("the snapshot is not of this release: {reason} (hint: restore it with the release that made it)")]
    SnapshotVersion { reason: String },
    #[error("the snapshot is not of this query: {reason} (hint: start without it, or go back to what made it)")]
    SnapshotQuery { reason: String },
    #[error("the query cannot be run in partitions: {reason}")]
    NotScalable { reason: String },
    #[error(
        "the blank node {node} would have to be known in two partitions (hint: give it an IRI, or run the query on one partition)"
    )]
    BlankNodeDealt { node: String },
    #[error("a body to be routed has events alone (hint: watermarks follow from the events of a batch)")]
    ControlLineDealt,
    #[error("the chunk is damaged: {reason} (hint: route the events again, by the same release)")]
    ChunkDamaged { reason: &'static str },
    #[error("the chunk is of another {what} (hint: route and absorb with the same query and options)")]
    ChunkOfOther { what: &'static str },
    #[error("the partial answer cannot be read: {reason} (hint: merge what partitions of the same query drained)")]
    PartialUnreadable { reason: String },
    #[error("the query could not be evaluated: {reason}")]
    AskFailed { reason: String },
    #[error("query {query} does not keep its answer (hint: register it with keep_answer, or as RSTREAM)")]
    AnswerNotKept { query: u64 },
    #[error("the content of the window <{window}> is not kept (hint: register its query with keep_windows)")]
    WindowNotKept { window: String },
    #[error("{answer} cannot be written as {format} (hint: choose one of {formats})")]
    FormatMismatch { answer: &'static str, format: &'static str, formats: &'static str },
    #[error("the answer cannot be written as {format}: {reason} (hint: choose another format)")]
    Unwritable { format: &'static str, reason: String },
}

impl From<Damaged> for EngineError {
    fn from(damaged: Damaged) -> Self {
        Self::SnapshotDamaged { reason: damaged.what }
    }
}

impl EngineError {
    /// An error of the planner gets the place of what it names in the text of the query.
    pub(crate) fn located(self, text: &str) -> Self {
        match self {
            Self::Plan(error) => Self::Plan(error.located(text)),
            other => other,
        }
    }

    /// Says which event of a body is meant, and where it stands.
    pub(crate) fn in_body(self, index: Option<u64>, position: Option<Position>) -> Self {
        Self::InBody { error: Box::new(self), index, position }
    }

    /// Which event of a body, counted from zero, where that makes sense.
    #[must_use]
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::InBody { index, .. } => *index,
            _ => None,
        }
    }

    /// The error itself, without the place in a body.
    #[must_use]
    pub fn kind(&self) -> &Self {
        match self {
            Self::InBody { error, .. } => error.kind(),
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
            Self::StreamInUse { .. } => "stream.in_use",
            Self::OutputTaken { .. } => "query.output_taken",
            Self::Cycle { .. } => "query.cycle",
            Self::BadIri { .. } => "iri.invalid",
            Self::UnknownQuery { .. } => "query.unknown",
            Self::QueryFailed { code, .. } => code,
            Self::TooCostly { .. } => "query.too_costly",
            Self::TimestampMissing => "timestamp.missing",
            Self::BadTimestamp { .. } | Self::BadTime { .. } => "timestamp.invalid",
            Self::UnknownColumn { .. } => "mapping.unknown_column",
            Self::BadColumns { .. } => "arrow.unreadable",
            Self::BadRow { .. } => "arrow.row",
            Self::InBody { error, .. } => error.code(),
            Self::WatermarkRegression { .. } => "watermark.regression",
            Self::TooFarAhead { .. } => "timestamp.too_far_ahead",
            Self::UnknownGraph { .. } => "graph.unknown",
            Self::GraphExists { .. } => "graph.exists",
            Self::DocumentOfGraphs => "graph.many",
            Self::UpdateFailed { .. } => "update.failed",
            Self::SnapshotDamaged { .. } => "snapshot.damaged",
            Self::SnapshotVersion { .. } => "snapshot.version",
            Self::SnapshotQuery { .. } => "snapshot.query",
            Self::NotScalable { .. } => "scale.unsupported",
            Self::BlankNodeDealt { .. } => "scale.blank_node",
            Self::ControlLineDealt => "scale.control_line",
            Self::ChunkDamaged { .. } => "chunk.damaged",
            Self::ChunkOfOther { .. } => "chunk.other",
            Self::PartialUnreadable { .. } => "partial.unreadable",
            Self::AskFailed { .. } => "ask.failed",
            Self::AnswerNotKept { .. } => "query.answer_not_kept",
            Self::WindowNotKept { .. } => "window.not_kept",
            Self::FormatMismatch { .. } => "format.mismatch",
            Self::Unwritable { .. } => "format.unwritable",
        }
    }

    /// Where in the text the error is, if it is in a text.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Parse(error) => error.position(),
            Self::Plan(error) => error.position(),
            Self::Rdf(error) => error.position(),
            Self::BadTime { position, .. } => *position,
            Self::InBody { error, position, .. } => error.position().or(*position),
            _ => None,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Parse(error) => error.hint(),
            Self::Plan(error) => Some(error.hint()),
            Self::UnknownStream { hint, .. } | Self::UnknownColumn { hint, .. } => Some(hint),
            Self::InBody { error, .. } => error.hint(),
            _ => None,
        }
    }
}
