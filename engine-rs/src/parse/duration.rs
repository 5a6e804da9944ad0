//! Durations in all accepted spellings → [`Span`].
//!
//! Input: `PT10M`, `P1D`, `1m30s`, `500ms`, `30 minutes`, `1500` (milliseconds). Output: a positive whole number of
//! milliseconds, at most a thousand years, so that later arithmetic on instants cannot overflow.

use super::error::{ParseError, suggestion};
use crate::time::Span;

const NANOS_PER_MILLI: i128 = 1_000_000;
const SECOND: i128 = 1_000 * NANOS_PER_MILLI;
const MINUTE: i128 = 60 * SECOND;
const HOUR: i128 = 60 * MINUTE;
const DAY: i128 = 24 * HOUR;
const WEEK: i128 = 7 * DAY;
const LONGEST: i128 = 1_000 * 366 * DAY;

/// In lower case. C-SPARQL papers write `MIN`, SPARQLstream a capital `S`.
const UNITS: [(&[&str], i128); 8] = [
    (&["ns", "nanosecond", "nanoseconds"], 1),
    (&["us", "µs", "microsecond", "microseconds"], 1_000),
    (&["ms", "msec", "millisecond", "milliseconds"], NANOS_PER_MILLI),
    (&["s", "sec", "secs", "second", "seconds"], SECOND),
    (&["m", "min", "mins", "minute", "minutes"], MINUTE),
    (&["h", "hr", "hrs", "hour", "hours"], HOUR),
    (&["d", "day", "days"], DAY),
    (&["w", "week", "weeks"], WEEK),
];

/// Reads one duration: `PT10M`, `1m30s`, `500ms`, `30 minutes`, or a number of milliseconds.
///
/// # Errors
/// When it is none. The error has no position.
pub fn parse_duration(text: &str) -> Result<Span, ParseError> {
    let lower = text.trim().to_lowercase();
    let nanos = match lower.strip_prefix('p') {
        Some(designators) => iso_nanos(text, designators)?,
        None => short_nanos(text, &lower)?,
    };
    whole_millis(text, nanos)
}

pub(super) fn is_unit(word: &str) -> bool {
    unit_nanos(&word.to_lowercase()).is_some()
}

fn unit_nanos(lower: &str) -> Option<i128> {
    UNITS.iter().find(|(names, _)| names.contains(&lower)).map(|(_, nanos)| *nanos)
}

/// `10s`, `1m30s`, `1 hour 30 minutes`, or a bare integer in milliseconds.
fn short_nanos(text: &str, lower: &str) -> Result<i128, ParseError> {
    if !lower.is_empty() && lower.bytes().all(|b| b.is_ascii_digit()) {
        return amount(text, lower, NANOS_PER_MILLI);
    }
    let mut rest = lower;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (number, tail) = split_number(rest);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        if number.is_empty() {
            return Err(malformed(text));
        }
        let nanos = unit_nanos(&tail[..letters]).ok_or_else(|| unknown_unit(text, &tail[..letters]))?;
        total = total.saturating_add(amount(text, number, nanos)?);
        rest = tail[letters..].trim_start();
    }
    if lower.is_empty() { Err(malformed(text)) } else { Ok(total) }
}

/// After the `P`: weeks and days, then `T` and hours, minutes, seconds, each at most once and in this order.
fn iso_nanos(text: &str, designators: &str) -> Result<i128, ParseError> {
    let (date, time) = designators.split_once('t').map_or((designators, None), |(d, t)| (d, Some(t)));
    if time == Some("") || designators.is_empty() {
        return Err(malformed(text));
    }
    let date = iso_part(text, date, &[('y', 0), ('m', 0), ('w', WEEK), ('d', DAY)])?;
    let time = iso_part(text, time.unwrap_or(""), &[('h', HOUR), ('m', MINUTE), ('s', SECOND)])?;
    Ok(date.saturating_add(time))
}

fn iso_part(text: &str, part: &str, units: &[(char, i128)]) -> Result<i128, ParseError> {
    let (mut rest, mut units, mut total) = (part, units, 0_i128);
    while !rest.is_empty() {
        let (number, tail) = split_number(rest);
        let designator = tail.chars().next().ok_or_else(|| malformed(text))?;
        let at = units.iter().position(|(c, _)| *c == designator).ok_or_else(|| malformed(text))?;
        let nanos = units[at].1;
        if number.is_empty() {
            return Err(malformed(text));
        }
        if nanos == 0 {
            return Err(calendar(text));
        }
        total = total.saturating_add(amount(text, number, nanos)?);
        units = &units[at + 1..];
        rest = &tail[designator.len_utf8()..];
    }
    Ok(total)
}

fn split_number(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len()))
}

/// `number` × unit, exactly: a fraction must be a whole number of nanoseconds.
fn amount(text: &str, number: &str, unit: i128) -> Result<i128, ParseError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(malformed(text));
    }
    if fraction.len() > 9 {
        return Err(imprecise(text));
    }
    let whole: i128 = whole.parse().map_err(|_| too_long(text))?;
    let scale = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or(9));
    let parts: i128 = fraction.parse().map_err(|_| malformed(text))?;
    if parts * unit % scale != 0 {
        return Err(imprecise(text));
    }
    Ok(whole.saturating_mul(unit).saturating_add(parts * unit / scale))
}

fn whole_millis(text: &str, nanos: i128) -> Result<Span, ParseError> {
    if nanos > LONGEST {
        return Err(too_long(text));
    }
    if nanos % NANOS_PER_MILLI != 0 {
        return Err(imprecise(text));
    }
    i64::try_from(nanos / NANOS_PER_MILLI).map(Span::from_millis).map_err(|_| too_long(text))
}

fn malformed(text: &str) -> ParseError {
    let error = ParseError::new("duration.syntax", format!("'{text}' is not a duration"));
    if text.trim_start().starts_with(['p', 'P']) {
        return error.with_hint("write days after P, then T, then hours, minutes and seconds: P1DT12H, PT10M, PT0.5S");
    }
    error.with_hint("write PT10M, 10m, 1m30s, 500ms, 30 minutes, or a number of milliseconds")
}

fn unknown_unit(text: &str, unit: &str) -> ParseError {
    let names = UNITS.iter().flat_map(|(names, _)| names.iter().copied()).filter(|name| name.len() > 3);
    let hint = suggestion(unit, names).filter(|_| unit.len() > 3);
    ParseError::new("duration.unit", format!("unknown unit '{unit}' in the duration '{text}'"))
        .with_hint(hint.unwrap_or_else(|| "units are ms, s, m, h, d and w, or words such as minutes".to_owned()))
}

fn calendar(text: &str) -> ParseError {
    ParseError::new("duration.calendar", format!("'{text}' uses years or months, which have no fixed length"))
        .with_hint("write days instead, for example P365D or P30D; minutes come after a T, as in PT5M")
}

fn imprecise(text: &str) -> ParseError {
    ParseError::new("duration.precision", format!("'{text}' is not a whole number of milliseconds"))
        .with_hint("the shortest unit is a millisecond")
}

fn too_long(text: &str) -> ParseError {
    ParseError::new("duration.overflow", format!("'{text}' is longer than 1,000 years"))
        .with_hint("use [ALL] for a window without end")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> i64 {
        parse_duration(text).unwrap_or_else(|e| panic!("{text}: {e}")).as_millis()
    }

    fn code(text: &str) -> &'static str {
        parse_duration(text).expect_err(text).code()
    }

    #[test]
    fn iso_durations() {
        for (text, expected) in [
            ("PT10M", 600_000),
            ("P1D", 86_400_000),
            ("PT1M30S", 90_000),
            ("PT0.5S", 500),
            ("P1DT12H", 129_600_000),
            ("P2W", 1_209_600_000),
            ("PT1h", 3_600_000),
            ("PT0S", 0),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }

    #[test]
    fn short_durations_and_words() {
        for (text, expected) in [
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("10h", 36_000_000),
            ("30 minutes", 1_800_000),
            ("1 hour", 3_600_000),
            ("1 hour 30 minutes", 5_400_000),
            ("1m 30s", 90_000),
            ("10 S", 10_000),
            ("0.5s", 500),
            ("1500", 1_500),
            ("2000000ns", 2),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }

    #[test]
    fn refused_durations_say_why() {
        for (text, expected) in [
            ("P1Y", "duration.calendar"),
            ("P1M", "duration.calendar"),
            ("1ns", "duration.precision"),
            ("PT0.0001S", "duration.precision"),
            ("99999999999999999999d", "duration.overflow"),
            ("9999999999999999999999999999999999999999999", "duration.overflow"),
            ("1001000d", "duration.overflow"),
            ("5 parsecs", "duration.unit"),
            ("P", "duration.syntax"),
            ("PT", "duration.syntax"),
            ("PT5", "duration.syntax"),
            ("PT1S1M", "duration.syntax"),
            ("abc", "duration.syntax"),
            ("", "duration.syntax"),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }
}
