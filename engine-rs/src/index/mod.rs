//! Mappings in arrival order, and the indexes over them.
//!
//! `ring.rs` keeps mappings in a circular array of segments (`array.rs`). `keyed.rs` finds and exactly counts those
//! with a given key, in an open table (`table.rs`); `ordered.rs` finds those with a value in a given range.

mod array;
mod check;
mod keyed;
mod ordered;
mod ring;
mod table;

pub(crate) use keyed::{IndexId, Probe};
pub(crate) use ordered::ValueRange;
pub(crate) use ring::{IndexFacts, Moved, RingStore, SlotId};
