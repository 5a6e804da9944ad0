//! The laws of the contract on generated streams: what must hold whatever the answer is.
//!
//! No second engine is needed: each law compares the engine with itself on a changed input, or with arithmetic.
//! Sees: answers that depend on batches, order, neighbours, names or ways of working, and state that stays behind.
//! Does not see: an answer that is wrong in the same way on both sides; the oracle and the cases are for that.
//! `WHORL_LAW_CASES` sets the cases per law, `WHORL_SEED` where to begin.

#[path = "../oracle/random.rs"]
mod random;
#[path = "../oracle/scenario.rs"]
mod scenario;

mod answers;
mod coverage;
mod delivery;
mod naming;
mod neighbours;
mod restart;
mod run;
mod shifts;
mod signs;
mod state;
mod statics;
