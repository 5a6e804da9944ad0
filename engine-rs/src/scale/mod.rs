//! One query over many engines: streams are distributed over partitions, results are merged.
//!
//! ```text
//!   events ─► route ─► chunks ─► partition 0 ─► partial results ─┐
//!                           └──► partition 1 ─► partial results ─┴─► merge ─► results
//! ```
//!
//! [`ScaledQuery`] is the plan of all stages, computed from the same arguments wherever it is needed: in the tasks that
//! route, in those that run partitions, and where results are merged. A chunk contains the events of one call of
//! `route` for one partition, and a header with the range of times that the call has seen, so that every partition
//! determines the same first window and the same watermark without communication.
//!
//! Invariant: the merged results are byte for byte those of one engine that receives each batch sorted by time,
//! whatever the number of partitions and the division of a batch into calls of `route`.

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
