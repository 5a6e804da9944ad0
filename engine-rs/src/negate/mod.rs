//! OPTIONAL, MINUS, EXISTS and NOT EXISTS: left rows with the number of right rows that match them.
//!
//! `pairing.rs` decides whether two rows match and what is emitted for them; `keyed_rows.rs` stores the rows of a side
//! by key; `witness.rs` is the operator.

mod keyed_rows;
mod pairing;
mod witness;

pub(crate) use pairing::{WitnessKind, pair_schema};
pub(crate) use witness::Witness;
