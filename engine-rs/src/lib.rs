//! Whorl's engine: continuous SPARQL over RDF streams, evaluated incrementally.
//!
//! Data moves one way: parse → encode → window → leaf → join → group | witness | top-k → r2s → sink.
//! The engine reads no clock (except one that the host injects to report evaluation time), opens no file or socket,
//! starts no thread and draws no random number: the same input gives the same output in every run. `ARCHITECTURE.md`
//! has the order in which modules may import each other.

mod aggregate;
mod algebra;
mod codec;
mod encode;
mod engine;
mod error;
mod expr;
mod flow;
mod group;
mod index;
mod intake;
mod join;
mod leaf;
mod limits;
mod model;
mod negate;
mod parse;
mod plan;
mod r2s;
mod rare;
mod reevaluate;
mod scale;
mod shape;
mod sink;
mod store;
mod thresholds;
mod time;
mod topk;
mod window;

pub use encode::Dictionary;
pub use engine::{
    AskOptions, Copied, Engine, EngineOptions, EngineStats, Envelope, IngestReport, ListedQuery, QueryForm, QueryId,
    QueryStats, StreamCounts, StreamId, StreamOptions, StreamStats, UpdateReport, query_form,
};
pub use error::EngineError;
pub use intake::{AssumedZone, BodyFormat, EventBatch, PushOptions, Refused, RowMapper, RowMapping, read_time};
pub use join::Probing;
pub use limits::Limits;
pub use model::TermId;
pub use parse::{
    Bounds, ContentSemantics, ContinuousQuery, DefaultGraph, Dialect, OptionError, OptionValue, ParseError,
    ParseOptions, Position, R2s, RdfError, RdfFormat, Report, StreamName, TextSpan, Tick, WindowClause, WindowKind,
    parse_duration, parse_query, parse_rdf,
};
pub use plan::{Costly, Evaluation, PlanError, Reevaluation, Retraction, Unmappable, Unsupported};
#[doc(hidden)]
pub use rare::Rare;
pub use scale::{Absorbed, MergeEngine, PartitionEngine, Reported, ReportedRow, ScaledQuery, read_windows_json};
pub use sink::{
    AnswerFormat, Answered, QueryResult, Rows, Sender, Skipped, bindings_json, envelope_json, graph_ntriples,
    windows_json,
};
pub use spargebra::algebra::QueryDataset;
#[doc(hidden)]
pub use thresholds::Thresholds;
pub use time::{Span, Timestamp};
pub use window::WindowBounds;

/// The RDF terms of the engine's interface.
pub mod rdf {
    pub use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple, Variable};
}
