//! The Python module `whorl._engine`: a thin layer over the engine, and the only code that knows Python.
//!
//! `engine.rs` has the engine's class, `scale.rs` those of partitioned queries, whose results `partial.rs` reads and
//! writes; they check arguments and call through `enter.rs`, which releases the GIL and catches panics. `error.rs`
//! turns errors into the exceptions of `whorl.errors`; `terms.rs` converts values, `arrow.rs` and `columns.rs` columns,
//! `events.rs` and `ipc.rs` bodies of columns. Users see the Python class in `whorl/engine.py`.

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
