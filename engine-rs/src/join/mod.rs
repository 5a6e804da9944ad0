//! The n-ary join over leaves, static relations and results of sub-queries.
//!
//! `shape.rs` decides which buffer binds which variables and which indexes probing needs; `probe.rs` extends one new
//! mapping through the other buffers, in the orders that `program.rs` prepares; `trees.rs` stores results under the
//! mappings they consist of; `multiway.rs` is the operator.

mod check;
mod heads;
mod multiway;
mod orders;
mod probe;
mod program;
mod shape;
mod trees;

pub(crate) use multiway::{JoinFilter, JoinNode, JoinPlan, RetractionMode};
pub use orders::Probing;
pub(crate) use shape::{BufferSource, BufferSpec, INDEXED_VARS};
