//! The data of the engine: term identifiers, schemas, and batches of signed mappings.

mod batch;
mod bytes;
mod row_slots;
mod rows;
mod schema;
mod term_id;

pub use batch::{Batch, Weight};
pub(crate) use bytes::{list_bytes, queue_bytes, row_map_bytes, table_bytes, tree_bytes};
pub(crate) use row_slots::RowSlots;
pub(crate) use rows::{Row, RowMap, count_row};
pub use schema::{Schema, VarId, VarTable};
pub use term_id::TermId;

/// One encoded triple of an event.
pub type EncodedTriple = [TermId; 3];
