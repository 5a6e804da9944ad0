//! The Python module `whorl._engine`: a thin skin over the engine, and the only code that knows Python.
//!
//! `engine.rs` holds the one class; it checks arguments and calls through `enter.rs`, which gives up the GIL and
//! catches panics. `error.rs` turns errors into the exceptions of `whorl.errors`; `terms.rs` and `arrow.rs` carry
//! values across. What users see is the Python class in `whorl/engine.py`.

mod arrow;
mod engine;
mod enter;
mod error;
mod options;
mod result;
mod stats;
mod terms;

use pyo3::pymodule;

#[pymodule]
mod _engine {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::engine::Engine;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
