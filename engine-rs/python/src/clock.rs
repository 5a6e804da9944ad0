//! The clock that is injected into engines to measure evaluation time.

use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds since the first call; enough for five centuries.
pub fn now_ns() -> u64 {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    BEGINNING.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
