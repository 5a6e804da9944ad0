//! Results leave here: a bounded queue per query, and the standard formats.

mod document;
mod facts_json;
mod flat;
mod json;
mod json_text;
mod plan_json;
mod queue;
mod term_json;

pub use document::AnswerFormat;
pub(crate) use document::{write_boolean, write_graph, write_solutions};
pub(crate) use facts_json::{facts_json, validation_json};
pub use json::{Sender, bindings_json, envelope_json, graph_ntriples, windows_json};
pub(crate) use plan_json::plan_json;
pub(crate) use queue::{AnswerKind, Draft, ResultQueue};
pub use queue::{Answered, QueryResult, Rows, Skipped};
