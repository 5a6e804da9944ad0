//! The only way into the engine.
//!
//! Releases the GIL, waits for the engine's lock, runs, and turns both errors and panics into exceptions. The lock is
//! acquired after the GIL is released, so a waiting thread never blocks another one.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::Python;
use pyo3::prelude::*;

use crate::error::{Failure, raise};

/// Runs `work` on an engine, or on one of the parts of a query, without the GIL.
pub fn enter<N, T, E>(
    py: Python<'_>,
    engine: &Mutex<N>,
    work: impl FnOnce(&mut N) -> Result<T, E> + Send,
) -> PyResult<T>
where
    N: Send,
    T: Send,
    E: Into<Failure> + Send,
{
    let outcome = py.detach(|| {
        let mut engine = lock(engine);
        catch_unwind(AssertUnwindSafe(|| work(&mut engine)))
    });
    match outcome {
        Ok(result) => result.map_err(|error| raise(py, error.into())),
        Err(payload) => Err(raise(py, Failure::Panic(message(payload.as_ref())))),
    }
}

/// The panic was reported when it happened; it must not lock out other threads.
fn lock<N>(engine: &Mutex<N>) -> MutexGuard<'_, N> {
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
