//! Terms in, `TermId`s out, and back to the exact lexical form.
//!
//! Small values are stored in the id itself (`inline.rs`); the dictionary (`dictionary.rs`) has the rest, and frees
//! terms that no window can reach any more.
//! Cost: one hash of the text for a term that is not inlined, bit operations for one that is.

mod arena;
mod canonical;
mod datetime;
mod dictionary;
mod entry;
mod inline;
mod language;
mod placement;
mod raw;

pub(crate) use canonical::{DECIMAL_TEXT_MAX, canonical_decimal, canonical_double, canonical_float, decimal_text};
pub(crate) use datetime::WallTime;
pub use dictionary::Dictionary;
pub(crate) use inline::{Inline, ShortString, inlined_term};
pub(crate) use language::{recased, with_tags_in_form};
pub(crate) use placement::SCHEME as PLACEMENT_SCHEME;
pub(crate) use raw::{RawTerm, TermKind};
