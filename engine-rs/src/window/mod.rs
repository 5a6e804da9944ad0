//! Windows: which elements of a stream are in view at an instant.
//!
//! Input: accepted events. Output of each read: the elements that arrive, and the bound below which elements expire.
//! `bounds.rs` has all interval arithmetic. A window read at instant `r` holds every element with time ≤ `r` that it
//! covers; reading `[o, c)` at its close therefore means reading at `c − 1`.

mod bounds;
mod content;
mod element;
mod in_view;
mod progression;
mod rule;
mod view;

pub use bounds::WindowBounds;
pub(crate) use element::{Element, EventTriples};
pub(crate) use in_view::InView;
pub(crate) use progression::{Progression, count_union};
pub(crate) use rule::{Reading, Rule};
pub(crate) use view::{Accepted, Ahead, Phase, Taken, Window};
