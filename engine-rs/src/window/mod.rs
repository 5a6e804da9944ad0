//! Windows: which elements of a stream are in view at an instant.
//!
//! In: accepted events. Out, at each read: the elements that arrive and the bound below which
//! elements expire. All interval arithmetic is in `bounds.rs`. A window is read at an instant `r`
//! and then holds every element with time ≤ `r` that it covers: reading `[o, c)` at its close
//! means reading at `c − 1`.

mod bounds;
mod content;
mod element;
mod progression;
mod rule;
mod view;

pub use bounds::WindowBounds;
pub(crate) use element::{Element, EventTriples};
pub(crate) use progression::{Progression, count_union};
pub(crate) use rule::{Reading, Rule};
pub(crate) use view::{Accepted, Phase, Taken, Window};
