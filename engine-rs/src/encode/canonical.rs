//! Numbers as XSD writes them. Doubles and floats have one digit before the point, at least one after it, and an
//! exponent; decimals have no zeros that say nothing.

use oxsdatatypes::Decimal;

const TEN_TO_18: u128 = 1_000_000_000_000_000_000;

/// The canonical text of an `xsd:decimal`: what its `Display` writes, with divisions of 64 bits.
pub(crate) fn canonical_decimal(value: Decimal) -> String {
    let raw = i128::from_be_bytes(value.to_be_bytes());
    let magnitude = raw.unsigned_abs();
    let (whole, fraction) = (magnitude / TEN_TO_18, (magnitude % TEN_TO_18) as u64);
    let sign = if raw < 0 { "-" } else { "" };
    let mut text = match u64::try_from(whole) {
        Ok(whole) => format!("{sign}{whole}"),
        Err(_) => format!("{sign}{whole}"),
    };
    if fraction != 0 {
        text += &format!(".{fraction:018}");
        text.truncate(text.trim_end_matches('0').len());
    }
    text
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
