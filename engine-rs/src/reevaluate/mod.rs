//! Re-evaluation: patterns without an incremental operator are recomputed by spareval at each instant, over the content
//! of windows and the static graphs, and the difference is emitted. Updates use the same path. The evaluator matches
//! and joins; expressions, aggregates and orders are ours (`expressions.rs`).

mod ask;
mod by_graph;
mod computed;
mod dataset;
mod delta;
mod exact;
mod expressions;
mod meter;
mod operator;

pub(crate) use ask::{Found, Kept, ReadableWindow, Solutions, Where, ask_once, ask_static};
pub(crate) use meter::text_bytes;
pub(crate) use operator::{Question, Reevaluated, Source, Sources};
