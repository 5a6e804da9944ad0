//! What producers send: bodies in, events and control lines out, checked for form but not yet for time.
//!
//! A body is RDF text (`body.rs`; `line_reader.rs` for N-Triples and N-Quads, `turtle_reader.rs` for Turtle and TriG),
//! lines of JSON (`lines.rs`), or a batch of encoded events that a reader of columns has filled (`batch.rs`), perhaps by
//! a mapping of rows to triples (`mapping.rs`). Nothing here depends on the engine: errors are found before the first
//! event is applied.

mod batch;
mod body;
mod document;
mod encoder;
mod event;
mod line_reader;
#[cfg(test)]
mod line_reader_tests;
mod lines;
mod mapping;
mod rows;
mod turtle_reader;
#[cfg(test)]
mod turtle_reader_tests;

pub(crate) use batch::EncodedEvent;
pub use batch::EventBatch;
pub use body::{BodyFormat, PushOptions, Refused};
pub(crate) use body::{Buffers, Content, Intake, Item, Reading};
pub(crate) use document::{Token, TokenTerm};
pub(crate) use encoder::{Blanks, Encoder, drop_copies};
pub use event::{AssumedZone, read_time};
pub(crate) use event::{RawEvent, time_of};
pub use mapping::RowMapping;
pub use rows::RowMapper;
