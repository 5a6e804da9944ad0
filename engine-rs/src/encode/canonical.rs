//! Canonical XSD forms of numbers. Doubles and floats have one digit before the point, at least one after it, and an
//! exponent; decimals have no redundant zeros.

use oxsdatatypes::Decimal;

const TEN_TO_18: u64 = 1_000_000_000_000_000_000;

/// The canonical text of an `xsd:decimal`: the same as its `Display`, computed with 64-bit divisions.
pub(crate) fn canonical_decimal(value: Decimal) -> String {
    decimal_text(value, &mut [0; DECIMAL_TEXT_MAX]).to_owned()
}

/// A sign, 21 digits before the point, the point, and 18 digits after it.
pub(crate) const DECIMAL_TEXT_MAX: usize = 41;

/// The same text, written into a buffer: means are decimals of many digits, one for each row of a result.
pub(crate) fn decimal_text(value: Decimal, buffer: &mut [u8; DECIMAL_TEXT_MAX]) -> &str {
    let raw = i128::from_be_bytes(value.to_be_bytes());
    let unit = u128::from(TEN_TO_18);
    let (whole, fraction) = match u64::try_from(raw.unsigned_abs()) {
        // A division of 64 bits takes a fraction of the time of one of 128 bits.
        Ok(magnitude) => (u128::from(magnitude / TEN_TO_18), magnitude % TEN_TO_18),
        Err(_) => (raw.unsigned_abs() / unit, (raw.unsigned_abs() % unit) as u64),
    };
    let mut text = FromTheEnd { start: buffer.len(), buffer };
    if fraction != 0 {
        let (mut digits, mut n_digits) = (fraction, 18);
        while digits % 10 == 0 {
            (digits, n_digits) = (digits / 10, n_digits - 1);
        }
        text.number(digits, n_digits);
        text.put(b'.');
    }
    match u64::try_from(whole) {
        Ok(whole) => text.number(whole, 1),
        Err(_) => {
            text.number((whole % unit) as u64, 18);
            text.number((whole / unit) as u64, 1);
        }
    }
    if raw < 0 {
        text.put(b'-');
    }
    text.finish()
}

/// Text that is written from its end.
struct FromTheEnd<'a> {
    buffer: &'a mut [u8; DECIMAL_TEXT_MAX],
    start: usize,
}

impl<'a> FromTheEnd<'a> {
    fn put(&mut self, byte: u8) {
        self.start -= 1;
        self.buffer[self.start] = byte;
    }

    /// With zeros before it, if it has fewer digits than this.
    fn number(&mut self, number: u64, n_digits: u32) {
        let (mut left, mut missing) = (number, n_digits);
        while left > 0 || missing > 0 {
            self.put(b'0' + (left % 10) as u8);
            (left, missing) = (left / 10, missing.saturating_sub(1));
        }
    }

    fn finish(self) -> &'a str {
        std::str::from_utf8(&self.buffer[self.start..]).expect("digits, a point and a sign")
    }
}

/// The canonical text of an `xsd:double`: `1.0E0`, `-2.5E-3`, `INF`, `NaN`.
pub(crate) fn canonical_double(value: f64) -> String {
    if value.is_finite() { with_point(format!("{value:E}")) } else { beyond_numbers(value) }
}

/// The canonical text of an `xsd:float`.
pub(crate) fn canonical_float(value: f32) -> String {
    if value.is_finite() { with_point(format!("{value:E}")) } else { beyond_numbers(value.into()) }
}

fn with_point(mut text: String) -> String {
    let exponent = text.find('E').unwrap_or(text.len());
    if !text[..exponent].contains('.') {
        text.insert_str(exponent, ".0");
    }
    text
}

fn beyond_numbers(value: f64) -> String {
    match value {
        f64::INFINITY => "INF".to_owned(),
        f64::NEG_INFINITY => "-INF".to_owned(),
        _ => "NaN".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_by_their_own_type() {
        let edges = [0, 1, 10, 5, TEN_TO_18 as i128, 20_500_000_000_000_000_000, i128::MAX, i128::MIN + 1];
        for raw in edges.into_iter().flat_map(|raw| [raw, -raw, raw / 3, raw / 7_000]) {
            let value = Decimal::from_be_bytes(raw.to_be_bytes());
            assert_eq!(canonical_decimal(value), value.to_string());
        }
    }

    #[test]
    fn texts_are_those_of_xsd() {
        let doubles = [(1.0, "1.0E0"), (-0.0025, "-2.5E-3"), (0.0, "0.0E0"), (-0.0, "-0.0E0"), (1e21, "1.0E21")];
        for (value, text) in doubles {
            assert_eq!(canonical_double(value), text);
        }
        assert_eq!(canonical_double(f64::NEG_INFINITY), "-INF");
        assert_eq!(canonical_float(0.1), "1.0E-1");
        assert_eq!(canonical_float(f32::NAN), "NaN");
    }
}
