//! Terms in, `TermId`s out, and back to the exact lexical form.
//!
//! Small values live in the id itself (`inline.rs`); the rest sit in the dictionary
//! (`dictionary.rs`), which lets go of terms that no window can reach any more.
//! Cost: one hash of the term's text for what is not inlined, nothing but bit work for the rest.

mod arena;
mod canonical;
mod datetime;
mod dictionary;
mod entry;
mod inline;
mod language;
mod placement;
mod raw;

pub(crate) use canonical::{canonical_decimal, canonical_double, canonical_float};
pub(crate) use datetime::WallTime;
pub use dictionary::Dictionary;
pub(crate) use inline::{Inline, IntegerType, ShortString};
pub(crate) use language::{recased, with_tags_in_form};
pub(crate) use placement::SCHEME as PLACEMENT_SCHEME;
pub(crate) use raw::{RawTerm, TermKind};
