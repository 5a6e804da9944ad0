//! Parses continuous queries in three dialects, and RDF. The output is a typed value or an error with its position.
//!
//! A query passes five flat steps before the one recursive parser sees it:
//!
//! ```text
//! token → limits → names (prologue) → clause, block, window, duration → rewrite → spargebra
//! ```
//!
//! An update takes the same path without windows: it is split into operations, checked against the same limits, and
//! parsed by spargebra.
//!
//! If spargebra refuses a text, column names are replaced by their expressions (`aliases`) and it gets a second chance.
//! If that fails too, `diagnose` finds out where (`meaning`, `calls`) and what to do (`advice`).
//!
//! Invariants: no input overflows the stack or runs for long; every position in an error refers to the original text;
//! two parses of one text are equal up to the variables and blank nodes that spargebra invents.

mod advice;
mod aliases;
mod block;
mod calls;
mod clause;
mod culprit;
mod cursor;
mod diagnose;
mod duration;
mod error;
mod expansion;
mod extension;
mod graph_template;
mod json_ld;
mod json_ld_size;
mod limits;
mod locate;
mod mapping;
mod meaning;
mod mentions;
mod names;
mod options;
mod plain;
mod query;
mod rdf;
mod reading;
mod rewrite;
mod short_construct;
mod token;
mod unfolding;
mod update;
mod verdict;
mod window;

#[cfg(test)]
mod tests;

pub(crate) use culprit::culprit;
pub use duration::parse_duration;
pub(crate) use error::suggestion;
pub use error::{ParseError, Position, TextSpan};
pub use extension::AGGREGATE_PREFIX;
pub(crate) use graph_template::{TemplateQuad, names_graphs, quads as template_quads};
pub(crate) use locate::{Construct, locate};
pub(crate) use mapping::parse_mapping;
pub(crate) use mentions::{BareLength, bare_lengths, position_of_call, position_of_variable};
pub(crate) use names::{BARE_NAMES, declared_prefixes};
pub use options::{OptionError, OptionValue, ParseOptions};
pub(crate) use plain::{PlainQuery, parse_plain};
pub use query::{
    Bounds, ContentSemantics, ContinuousQuery, DefaultGraph, Dialect, R2s, Report, StreamName, Tick, WindowClause,
    WindowKind, parse_query,
};
pub use rdf::{RdfError, RdfFormat, parse_rdf};
pub(crate) use rdf::{each_quad, parse_rdf_within};
pub(crate) use unfolding::{Room, room_for};
pub(crate) use update::{Source, UpdateOperation, parse_update};
