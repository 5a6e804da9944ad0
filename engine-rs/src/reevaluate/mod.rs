//! Re-evaluation: what has no incremental operator is computed anew at each instant, by spareval,
//! over the window's content and the static graphs, and the difference is handed on. Updates ask the same
//! way. The evaluator matches and joins; expressions, aggregates and orders are our own (`expressions.rs`).

mod ask;
mod by_graph;
mod computed;
mod dataset;
mod delta;
mod exact;
mod expressions;
mod meter;
mod operator;

pub(crate) use ask::{Found, ReadableWindow, Solution, Where, ask_once, ask_static};
pub(crate) use meter::text_bytes;
pub(crate) use operator::{Question, Reevaluated, Source, Sources};
