//! Results leave here: a bounded queue per query, and the standard formats.

mod json;
mod plan_json;
mod queue;

pub use json::{bindings_json, envelope_json, graph_ntriples};
pub(crate) use plan_json::plan_json;
pub(crate) use queue::ResultQueue;
pub use queue::{Answered, QueryResult, Rows};
