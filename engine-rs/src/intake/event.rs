//! Events as received, and the times they carry.

use super::document::Token;
use crate::encode::WallTime;
use crate::error::EngineError;
use crate::time::Timestamp;
use oxrdf::vocab::xsd;
use oxrdf::{LiteralRef, TermRef};
use std::ops::Range;
use std::sync::Arc;

pub(super) const GENERATED_AT: &str = "http://www.w3.org/ns/prov#generatedAtTime";

/// One event as received: the position of its triples, and its time if it has one.
#[derive(Clone, Debug)]
pub(crate) struct RawEvent {
    pub at: Option<Timestamp>,
    /// The name of its graph, if it was a named graph.
    pub graph: Option<Token>,
    pub triples: Range<usize>,
}

/// The zone assumed for dateTimes without one, as a table: the engine has no time zone database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssumedZone(Arc<[(i64, i64)]>);

impl AssumedZone {
    /// From each of these local times on (milliseconds since 1970-01-01T00:00:00 on the wall clock), the offset from
    /// UTC in milliseconds. The first offset also applies before its time; a table without entries is no zone.
    #[must_use]
    pub fn new(mut offsets: Vec<(i64, i64)>) -> Option<Self> {
        offsets.sort_unstable();
        (!offsets.is_empty()).then(|| Self(offsets.into()))
    }

    /// The instant of a local time; `None` outside the range of instants.
    #[must_use]
    pub fn epoch_ms(&self, local_ms: i64) -> Option<i64> {
        let after = self.0.partition_point(|(from, _)| *from <= local_ms);
        local_ms.checked_sub(self.0[after.saturating_sub(1)].1)
    }
}

/// A time in data: a dateTime with a zone or an assumed one, a dateTimeStamp, or an integer of milliseconds.
pub(crate) fn time_of(value: TermRef<'_>, zone: Option<&AssumedZone>) -> Result<Timestamp, EngineError> {
    let bad = || EngineError::BadTimestamp { value: value.to_string() };
    let TermRef::Literal(literal) = value else { return Err(bad()) };
    if let Ok(ms) = literal.value().parse::<i64>() {
        return Ok(Timestamp::from_millis(ms));
    }
    // A dateTimeStamp has a zone, or it is none.
    let is_stamp = literal.datatype() == xsd::DATE_TIME_STAMP;
    let zone = zone.filter(|_| !is_stamp);
    if is_stamp || literal.datatype() == xsd::DATE_TIME {
        if let Some(wall) = WallTime::parse(literal.value())
            && let Some(ms) = wall.epoch_ms().or_else(|| zone?.epoch_ms(wall.local_ms))
        {
            return Ok(Timestamp::from_millis(ms));
        }
        if let Ok(moment) = literal.value().parse::<oxsdatatypes::DateTime>() {
            let has_zone = moment.timezone_offset().is_some();
            // A difference exists between two times with a zone, or two without.
            let epoch = if has_zone { "1970-01-01T00:00:00Z" } else { "1970-01-01T00:00:00" };
            let epoch: oxsdatatypes::DateTime = epoch.parse().map_err(|_| bad())?;
            let since = moment.checked_sub(epoch).ok_or_else(bad)?;
            let seconds = since.as_seconds().checked_mul(oxsdatatypes::Decimal::from(1000)).ok_or_else(bad)?;
            let ms = i128::from_be_bytes(seconds.to_be_bytes()).div_euclid(1_000_000_000_000_000_000);
            let ms = i64::try_from(ms).map_err(|_| bad())?;
            let instant = if has_zone { Some(ms) } else { zone.and_then(|zone| zone.epoch_ms(ms)) };
            return instant.map(Timestamp::from_millis).ok_or_else(bad);
        }
    }
    Err(bad())
}

/// A time written as text: integer milliseconds, or a dateTime with a zone or an assumed one.
#[must_use]
pub fn read_time(text: &str, zone: Option<&AssumedZone>) -> Option<Timestamp> {
    time_of(LiteralRef::new_typed_literal(text, xsd::DATE_TIME).into(), zone).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_time_stamp_is_a_time_if_it_has_a_zone() {
        let time = |text, zone| {
            let literal = LiteralRef::new_typed_literal(text, xsd::DATE_TIME_STAMP);
            time_of(literal.into(), zone).ok().map(Timestamp::as_millis)
        };
        assert_eq!(time("1970-01-01T01:00:01+01:00", None), Some(1_000));
        assert_eq!(time("-0001-01-01T00:00:00Z", None), Some(-62_198_755_200_000));
        assert_eq!(time("1970-01-01T00:00:01", Some(&copenhagen())), None);
    }

    const HOUR: i64 = 3_600_000;

    fn copenhagen() -> AssumedZone {
        // Winter time until 2014-03-30T03:00 on the wall clock, then summer time, and back at 03:00 of 2014-10-26.
        let offsets = vec![(i64::MIN, HOUR), (1_396_148_400_000, 2 * HOUR), (1_414_292_400_000, HOUR)];
        AssumedZone::new(offsets).expect("has offsets")
    }

    fn read(text: &str) -> Option<i64> {
        read_time(text, Some(&copenhagen())).map(Timestamp::as_millis)
    }

    fn utc(text: &str) -> Option<i64> {
        read_time(text, None).map(Timestamp::as_millis)
    }

    #[test]
    fn a_time_without_a_zone_is_read_in_the_assumed_one() {
        assert_eq!(read("2014-01-01T12:00:00"), utc("2014-01-01T11:00:00Z"));
        assert_eq!(read("2014-08-01T12:00:00.25"), utc("2014-08-01T10:00:00.25Z"));
        assert_eq!(read("2014-12-01T12:00:00.123456"), utc("2014-12-01T11:00:00.123456Z"));
    }

    #[test]
    fn a_time_with_a_zone_keeps_it() {
        assert_eq!(read("2014-08-01T12:00:00Z"), utc("2014-08-01T12:00:00Z"));
        assert_eq!(read("2014-08-01T12:00:00-05:00"), utc("2014-08-01T17:00:00Z"));
        assert_eq!(read("1000"), Some(1_000));
    }

    #[test]
    fn without_an_assumed_zone_it_is_refused() {
        assert_eq!(utc("2014-08-01T12:00:00"), None);
        assert_eq!(utc("2014-08-01T12:00:00.123456"), None);
        assert_eq!(AssumedZone::new(Vec::new()), None);
    }
}
