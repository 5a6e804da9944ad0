//! Re-evaluation: what has no incremental operator is computed anew at each instant, by spareval,
//! over the window's content and the static graphs, and the difference is handed on.

mod dataset;
mod operator;

pub(crate) use operator::{Question, Reevaluated, Source, Sources};
