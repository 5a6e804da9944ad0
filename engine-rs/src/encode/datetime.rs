//! `xsd:dateTime` in canonical form ⇄ milliseconds and zone, without the calendar library.

/// The zone as written: none, `Z`, or an offset in minutes (`+00:00` is not `Z`: terms keep their form).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zone {
    None,
    Utc,
    Offset(i16),
}

/// Local wall-clock milliseconds since 1970-01-01T00:00:00, as if in UTC, and the zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WallTime {
    pub local_ms: i64,
    pub zone: Zone,
}

impl WallTime {
    /// An instant in UTC.
    pub(crate) fn utc(epoch_ms: i64) -> Self {
        Self { local_ms: epoch_ms, zone: Zone::Utc }
    }

    /// Milliseconds since the epoch; `None` without a zone.
    pub(crate) fn epoch_ms(self) -> Option<i64> {
        match self.zone {
            Zone::None => None,
            Zone::Utc => Some(self.local_ms),
            Zone::Offset(minutes) => Some(self.local_ms - i64::from(minutes) * 60_000),
        }
    }

    /// Reads exactly the forms that [`WallTime::render`] writes; anything else is `None`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let has_marks = bytes.len() >= 19 && [4, 7, 10, 13, 16].map(|at| bytes[at]) == *b"--T::";
        if !has_marks {
            return None;
        }
        let (year, month, day) = (number(&bytes[0..4])?, number(&bytes[5..7])?, number(&bytes[8..10])?);
        let (hour, minute, second) = (number(&bytes[11..13])?, number(&bytes[14..16])?, number(&bytes[17..19])?);
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (ms, rest) = fraction(&bytes[19..])?;
        let zone = zone(rest)?;
        let days = days_from_civil(year, month, day);
        let local_ms = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + ms;
        Some(Self { local_ms, zone })
    }

    pub(crate) fn render(self) -> String {
        use std::fmt::Write;
        let days = self.local_ms.div_euclid(86_400_000);
        let in_day = self.local_ms.rem_euclid(86_400_000);
        let (year, month, day) = civil_from_days(days);
        let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
        let (second, mut ms) = (in_day / 1000 % 60, in_day % 1000);
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if ms > 0 {
            let mut digits = 3;
            while ms % 10 == 0 {
                ms /= 10;
                digits -= 1;
            }
            write!(text, ".{ms:0digits$}").expect("writing to a string");
        }
        match self.zone {
            Zone::None => {}
            Zone::Utc => text.push('Z'),
            Zone::Offset(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60).expect("writing to a string");
            }
        }
        text
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
}

fn fraction(bytes: &[u8]) -> Option<(i64, &[u8])> {
    if bytes.first() != Some(&b'.') {
        return Some((0, bytes));
    }
    let digits = bytes[1..].iter().take_while(|b| b.is_ascii_digit()).count();
    // Trailing zeros are not written.
    if digits == 0 || digits > 3 || bytes[digits] == b'0' {
        return None;
    }
    let value = number(&bytes[1..=digits])?;
    Some((value * 10_i64.pow(3 - digits as u32), &bytes[digits + 1..]))
}

fn zone(bytes: &[u8]) -> Option<Zone> {
    match bytes {
        [] => Some(Zone::None),
        [b'Z'] => Some(Zone::Utc),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            let is_written = minutes < 60 && !(*sign == b'-' && hours + minutes == 0);
            let minutes = hours * 60 + minutes;
            if minutes > 14 * 60 || !is_written {
                return None;
            }
            let minutes = minutes as i16;
            Some(Zone::Offset(if *sign == b'-' { -minutes } else { minutes }))
        }
        _ => None,
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar (eras of 400 years from March).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_forms_round_trip() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2013-01-01T15:11:48",
            "2024-02-29T23:59:59.999+14:00",
            "0001-12-31T00:00:00.5-00:30",
            "2000-03-01T12:00:00+00:00",
        ] {
            assert_eq!(WallTime::parse(text).map(WallTime::render).as_deref(), Some(text));
        }
    }

    #[test]
    fn other_forms_are_left_to_the_dictionary() {
        for text in [
            "2013-01-01T24:00:00Z",
            "2013-02-29T00:00:00Z",
            "2013-01-01T00:00:00.50Z",
            "-0001-01-01T00:00:00Z",
            "2013-01-01T00:00:00-00:00",
            "2013-01-01T00:00:00.1234Z",
            "x",
        ] {
            assert_eq!(WallTime::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_read_is_what_would_be_written() {
        let mut seed = 7_u64;
        let mut below = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % n
        };
        let mut read = 0;
        for _ in 0..20_000 {
            let mut text = b"2024-02-29T23:59:59.999+14:00".to_vec();
            text.truncate([19, 20, 21, 23, 29][below(5)]);
            for _ in 0..=below(3) {
                let at = below(text.len());
                text[at] = b"0123456789-+:TZ."[below(16)];
            }
            let text = String::from_utf8(text).expect("ASCII");
            if let Some(wall) = WallTime::parse(&text) {
                assert_eq!(wall.render(), text);
                read += 1;
            }
        }
        assert!(read > 1_000, "{read}");
    }

    #[test]
    fn epoch_is_shifted_by_the_zone() {
        let wall = WallTime::parse("1970-01-01T01:00:00+01:00");
        assert_eq!(wall.and_then(WallTime::epoch_ms), Some(0));
    }
}
