//! The one way into the engine.
//!
//! Releases the GIL, waits for the engine's lock, runs, and turns both errors and panics into exceptions. The lock is
//! taken after the GIL has been given up, so a thread that waits never stops another one.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::Python;
use pyo3::prelude::*;
use whorl_engine::Engine;

use crate::error::{Failure, raise};

/// Runs `work` on the engine without the GIL.
pub fn enter<T, E>(
    py: Python<'_>,
    engine: &Mutex<Engine>,
    work: impl FnOnce(&mut Engine) -> Result<T, E> + Send,
) -> PyResult<T>
where
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

/// A panic was reported when it happened; it does not lock the others out.
fn lock(engine: &Mutex<Engine>) -> MutexGuard<'_, Engine> {
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
