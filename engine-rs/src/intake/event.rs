//! Events as they come, and the times they carry.

use super::document::Token;
use crate::encode::WallTime;
use crate::error::EngineError;
use crate::time::Timestamp;
use oxrdf::vocab::xsd;
use oxrdf::{LiteralRef, TermRef};
use std::ops::Range;

pub(super) const GENERATED_AT: &str = "http://www.w3.org/ns/prov#generatedAtTime";

/// One event as it came: where its triples are, and its time if it has one.
#[derive(Clone, Debug)]
pub(crate) struct RawEvent {
    pub at: Option<Timestamp>,
    /// The name of its graph, if it came as a named one.
    pub graph: Option<Token>,
    pub triples: Range<usize>,
}

/// A time in data: a dateTime with a zone, or an integer of milliseconds.
pub(crate) fn time_of(value: TermRef<'_>) -> Result<Timestamp, EngineError> {
    let bad = || EngineError::BadTimestamp { value: value.to_string() };
    let TermRef::Literal(literal) = value else { return Err(bad()) };
    if let Ok(ms) = literal.value().parse::<i64>() {
        return Ok(Timestamp::from_millis(ms));
    }
    if literal.datatype() == xsd::DATE_TIME {
        if let Some(ms) = WallTime::parse(literal.value()).and_then(WallTime::epoch_ms) {
            return Ok(Timestamp::from_millis(ms));
        }
        let parsed: Option<oxsdatatypes::DateTime> = literal.value().parse().ok();
        if let Some(instant) = parsed.filter(|dt| dt.timezone_offset().is_some()) {
            let epoch: oxsdatatypes::DateTime = "1970-01-01T00:00:00Z".parse().map_err(|_| bad())?;
            let since = instant.checked_sub(epoch).ok_or_else(bad)?;
            let seconds = since.as_seconds().checked_mul(oxsdatatypes::Decimal::from(1000)).ok_or_else(bad)?;
            let ms = i128::from_be_bytes(seconds.to_be_bytes()).div_euclid(1_000_000_000_000_000_000);
            return i64::try_from(ms).map(Timestamp::from_millis).map_err(|_| bad());
        }
    }
    Err(bad())
}

/// A time written as text: integer milliseconds, or a dateTime with a zone.
#[must_use]
pub fn read_time(text: &str) -> Option<Timestamp> {
    time_of(LiteralRef::new_typed_literal(text, xsd::DATE_TIME).into()).ok()
}
