//! Errors that the engine returns to its caller. Each has a stable code, a message, and often a hint.
//!
//! `Display` prints the message alone; `hint` and `position` are separate, so that no caller has to parse a message.

use std::borrow::Cow;

use crate::codec::Damaged;
use crate::limits::Breach;
use crate::parse::{ParseError, Position, RdfError};
use crate::plan::PlanError;
use crate::time::{Span, Timestamp};

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Rdf(#[from] RdfError),
    #[error("stream <{stream}> does not exist")]
    UnknownStream { stream: String, hint: String },
    #[error("stream <{stream}> already exists with different settings")]
    StreamExistsDifferently { stream: String },
    #[error("stream <{stream}> is written by a query and accepts no other events")]
    StreamIsOutput { stream: String },
    #[error("stream <{stream}> is read by a query")]
    StreamInUse { stream: String },
    #[error("another query already writes the stream <{stream}>")]
    OutputTaken { stream: String },
    #[error("stream <{stream}> is declared, so no query may write it")]
    OutputDeclared { stream: String },
    #[error("the query would read its own output <{stream}>")]
    Cycle { stream: String },
    #[error("<{iri}> is not an absolute IRI")]
    BadIri { iri: String },
    #[error("query {query} does not exist")]
    UnknownQuery { query: u64 },
    /// The code distinguishes a fault from an exceeded limit.
    #[error("query {query} has failed: {reason}")]
    QueryFailed { query: u64, code: &'static str, reason: String },
    /// As above, of a query that was refused because it failed before its first event.
    #[error("the first evaluation of the query failed: {reason}")]
    FailedAtStart { code: &'static str, reason: String },
    #[error("{what} is {reason}")]
    TooCostly { what: String, reason: String },
    #[error("the event has no time")]
    TimestampMissing,
    #[error(
        "the value {value} of the timestamp predicate is not a dateTime with a zone nor an integer in milliseconds"
    )]
    BadTimestamp { value: String },
    #[error("the value {value} of {name} is not a time")]
    BadTime { name: String, value: String, position: Option<Position> },
    #[error("the watermark of stream <{stream}> is {watermark} and cannot go back to {at}")]
    WatermarkRegression { stream: String, watermark: Timestamp, at: Timestamp },
    #[error(
        "this event is {ahead} after the last one; closing every empty window in between would emit {windows} results"
    )]
    TooFarAhead { ahead: Span, windows: u64 },
    #[error("column {column} of the mapping is not in the data")]
    UnknownColumn { column: String, hint: String },
    #[error("the columns cannot be read: {reason}")]
    BadColumns { reason: String },
    #[error("row {row}: {reason}")]
    BadRow { row: u64, reason: String },
    #[error("row {row}: the mapping produces too many triples or too much text")]
    RowTooLarge { row: u64 },
    /// Any other variant, with the event of the body that it concerns.
    #[error("{error}")]
    InBody { error: Box<EngineError>, index: Option<u64>, position: Option<Position> },
    #[error("graph {graph} does not exist")]
    UnknownGraph { graph: String },
    #[error("graph {graph} exists already")]
    GraphExists { graph: String },
    #[error("the document contains named graphs")]
    DocumentOfGraphs,
    #[error("the update could not be evaluated: {reason}")]
    UpdateFailed { reason: String },
    #[error("the snapshot is damaged: {reason}")]
    SnapshotDamaged { reason: &'static str },
    #[error("the snapshot was made by another release: {reason}")]
    SnapshotVersion { reason: String },
    #[error("the snapshot was made by another query: {reason}")]
    SnapshotQuery { reason: String },
    #[error("the query cannot be partitioned: {reason}")]
    NotScalable { reason: String, hint: String },
    #[error("the blank node {node} would be needed in two partitions")]
    BlankNodeSplit { node: String },
    #[error("a routed body may contain only events")]
    ControlLineRouted,
    #[error("the chunk is damaged: {reason}")]
    ChunkDamaged { reason: &'static str },
    #[error("the chunk belongs to another {what}")]
    ChunkOfOther { what: &'static str },
    #[error("the partial result cannot be read: {reason}")]
    PartialUnreadable { reason: String },
    #[error("the query could not be evaluated: {reason}")]
    AskFailed { reason: String },
    #[error("query {query} does not keep its result")]
    AnswerNotKept { query: u64 },
    #[error("the content of the window <{window}> is not kept")]
    WindowNotKept { window: String },
    #[error("{answer} cannot be written as {format}")]
    FormatMismatch { answer: &'static str, format: &'static str, formats: &'static str },
    #[error("the result cannot be written as {format}: {reason}")]
    Unwritable { format: &'static str, reason: String },
}

impl From<Damaged> for EngineError {
    fn from(damaged: Damaged) -> Self {
        Self::SnapshotDamaged { reason: damaged.what }
    }
}

impl EngineError {
    pub(crate) fn question_too_costly(breach: &Breach) -> Self {
        Self::TooCostly { what: "the query".to_owned(), reason: breach.to_string() }
    }

    /// Adds the position of the construct that a planner error is about. `refusal` returns the error of a shortened
    /// text, without its position.
    pub(crate) fn located(self, text: &str, refusal: impl Fn(&str) -> Option<Self>) -> Self {
        let is_refused = |shorter: &str, original: &PlanError| match refusal(shorter) {
            Some(Self::Plan(error)) => Some(error.is_like(original)),
            Some(Self::Parse(_)) => None,
            Some(_) | None => Some(false),
        };
        match self {
            Self::Plan(error) => Self::Plan(error.located(text, is_refused)),
            other => other,
        }
    }

    /// Adds the number of the event in its body, and its position.
    pub(crate) fn in_body(self, index: Option<u64>, position: Option<Position>) -> Self {
        Self::InBody { error: Box::new(self), index, position }
    }

    /// The number of the event in its body, counted from zero, if the error concerns one event.
    #[must_use]
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::InBody { index, .. } => *index,
            _ => None,
        }
    }

    /// The error without its place in a body.
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
            Self::OutputDeclared { .. } => "query.output_declared",
            Self::Cycle { .. } => "query.cycle",
            Self::BadIri { .. } => "iri.invalid",
            Self::UnknownQuery { .. } => "query.unknown",
            Self::QueryFailed { code, .. } | Self::FailedAtStart { code, .. } => code,
            Self::TooCostly { .. } => "query.too_costly",
            Self::TimestampMissing => "timestamp.missing",
            Self::BadTimestamp { .. } | Self::BadTime { .. } => "timestamp.invalid",
            Self::UnknownColumn { .. } => "mapping.unknown_column",
            Self::BadColumns { .. } => "arrow.unreadable",
            Self::BadRow { .. } | Self::RowTooLarge { .. } => "arrow.row",
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
            Self::BlankNodeSplit { .. } => "scale.blank_node",
            Self::ControlLineRouted => "scale.control_line",
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

    /// The position of the error in its text, if it concerns a text.
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

    /// The message alone, without position and hint.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Parse(error) => error.message().to_owned(),
            Self::Plan(error) => error.message(),
            Self::Rdf(error) => error.message(),
            Self::InBody { error, .. } => error.message(),
            other => other.to_string(),
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Parse(error) => error.hint().map(Cow::Borrowed),
            Self::Plan(error) => Some(Cow::Borrowed(error.hint())),
            Self::Rdf(error) => error.hint().map(Cow::Borrowed),
            Self::UnknownStream { hint, .. } | Self::UnknownColumn { hint, .. } | Self::NotScalable { hint, .. } => {
                Some(Cow::Borrowed(hint))
            }
            Self::FormatMismatch { formats, .. } => Some(Cow::Owned(format!("choose one of {formats}"))),
            Self::InBody { error, .. } => error.hint(),
            other => other.fixed_hint().map(Cow::Borrowed),
        }
    }

    /// The hint of an error whose variant alone determines it.
    fn fixed_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::StreamIsOutput { .. } => "push to the streams the query reads",
            Self::StreamInUse { .. } => "unregister the queries that read it first",
            Self::OutputTaken { .. } | Self::OutputDeclared { .. } => "register this query under another name",
            Self::Cycle { .. } => "queries that feed each other must not form a cycle",
            Self::TimestampMissing => "give a time with the push, or set the stream's timestamp predicate",
            Self::BadTime { .. } | Self::BadTimestamp { .. } => {
                "write integer milliseconds, or a dateTime with a zone such as 2024-05-01T12:00:00Z"
            }
            Self::TooFarAhead { .. } => "use REPORT NONEMPTY, or check the event's time",
            Self::DocumentOfGraphs => "name the graph to replace, or load the document",
            Self::SnapshotDamaged { .. } => "restore an older one",
            Self::SnapshotVersion { .. } => "restore it with the release that made it",
            Self::SnapshotQuery { .. } => "start without it, or restore the query that made it",
            Self::BlankNodeSplit { .. } => "give it an IRI, or run the query on one partition",
            Self::ControlLineRouted => "watermarks follow from the events of a batch",
            Self::ChunkDamaged { .. } => "route the events again with the same release",
            Self::ChunkOfOther { .. } => "route and absorb with the same query and options",
            Self::PartialUnreadable { .. } => "merge only results drained from partitions of the same query",
            Self::AnswerNotKept { .. } => "register it with keep_answer, or as RSTREAM",
            Self::WindowNotKept { .. } => "register its query with keep_windows",
            Self::Unwritable { .. } => "choose another format",
            Self::QueryFailed { code: "query.too_costly", .. }
            | Self::FailedAtStart { code: "query.too_costly", .. } => {
                "narrow the windows, join by more variables or filter earlier"
            }
            Self::RowTooLarge { .. } => "reduce repetition in the mapping, or send shorter values",
            _ => return None,
        })
    }
}
