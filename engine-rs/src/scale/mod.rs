//! One query over many engines: streams are distributed over partitions, results are merged.
//!
//! ```text
//!   events ─► route ─► chunks ─► partition 0 ─► partial answers ─┐
//!                           └──► partition 1 ─► partial answers ─┴─► merge ─► answers
//! ```
//!
//! [`ScaledQuery`] is the plan of all that, computed from the same arguments wherever it is needed: in the tasks that
//! route, in those that hold partitions, and where answers are merged. A chunk has the events of one call of `route`
//! for one partition, and a head that says which times the call has seen, so that every partition finds the same first
//! window and the same watermark without asking the others.
//!
//! What stays true: the merged answers are those of one engine that is given each batch sorted by time, byte for byte;
//! whatever the number of partitions, and however a batch was cut into calls of `route`.

mod chunk;
mod explain;
mod merge;
mod obstacle;
mod partition;
mod query;
mod reported;
mod route;
mod seal;

pub use merge::MergeEngine;
pub use partition::{Absorbed, PartitionEngine};
pub use query::ScaledQuery;
pub use reported::{Reported, ReportedRow, read_windows_json};
