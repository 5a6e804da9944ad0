//! The Python module `whorl._engine`: a thin skin over the engine, and the only code that knows Python.
//!
//! `engine.rs` holds the class of the engine, `scale.rs` those of one in partitions, whose answers `partial.rs` carries; it checks arguments and calls through `enter.rs`, which gives up the GIL and
//! catches panics. `error.rs` turns errors into the exceptions of `whorl.errors`; `terms.rs` carries values across,
//! `arrow.rs` and `columns.rs` do so for columns, `events.rs` and `ipc.rs` for bodies of them. What users see is the Python class in `whorl/engine.py`.

mod arrow;
mod clock;
mod columns;
mod copied;
mod engine;
mod enter;
mod error;
mod events;
mod ipc;
mod lz4;
mod options;
mod partial;
mod report;
mod result;
mod rows;
mod scale;
mod stats;
mod terms;
mod zone;

use pyo3::pymodule;

#[pymodule]
mod _engine {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::copied::Copied;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::options::parse_duration;
    #[pymodule_export]
    use crate::rows::map_rows;
    #[pymodule_export]
    use crate::scale::{MergeEngine, PartitionEngine, ScaledQuery};
    #[pymodule_export]
    use crate::zone::AssumedZone;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
