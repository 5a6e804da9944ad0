//! The laws of the contract on generated streams: what must hold for any result.
//!
//! No second engine is needed: each law compares the engine with itself on a changed input, or with arithmetic.
//! Detects: results that depend on batches, order, neighbours, names or engine options, and state that is left behind.
//! Does not detect: a result that is wrong in the same way on both sides; the oracle and the cases do.
//! `WHORL_LAW_CASES` sets the number of cases per law, `WHORL_SEED` the first seed.

#[path = "../oracle/random.rs"]
mod random;
#[path = "../oracle/scenario.rs"]
mod scenario;

mod answers;
mod coverage;
mod delivery;
mod graphs;
mod naming;
mod neighbours;
mod restart;
mod run;
mod shifts;
mod signs;
mod state;
mod statics;
