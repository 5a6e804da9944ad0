//! Mappings in arrival order, and the indexes over them.
//!
//! `ring.rs` keeps mappings in a circular array of segments (`array.rs`); `keyed.rs` finds those with a given key, in an
//! open table (`table.rs`), and counts them exactly; `ordered.rs` finds those whose value lies in a range.

mod array;
mod check;
mod keyed;
mod ordered;
mod ring;
mod table;

pub(crate) use keyed::{IndexId, Probe};
pub(crate) use ordered::RangeBound;
pub(crate) use ring::{Moved, RingStore, SlotId};
