//! Sets of encoded triples, and the static graphs made of them.

mod changes;
mod graphs;
mod transaction;
mod triple_set;

pub(crate) use changes::Change;
pub(crate) use graphs::{GraphId, StaticGraphs};
pub(crate) use transaction::{Changes, Transaction};
pub(crate) use triple_set::TripleSet;
