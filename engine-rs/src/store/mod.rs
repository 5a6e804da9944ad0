//! Sets of encoded triples, and the static graphs made of them.

mod graphs;
mod triple_set;

pub(crate) use graphs::StaticGraphs;
pub(crate) use triple_set::TripleSet;
