//! OPTIONAL, MINUS, EXISTS and NOT EXISTS: left rows and how many right rows match them.
//!
//! `pairing.rs` says when two rows match and what is emitted for it; `keyed_rows.rs` keeps the rows of a side by key;
//! `witness.rs` is the operator.

mod keyed_rows;
mod pairing;
mod witness;

pub(crate) use pairing::{WitnessKind, pair_schema};
pub(crate) use witness::Witness;
