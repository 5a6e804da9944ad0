//! Doubles and floats as XSD writes them: one digit before the point, at least one after it, and an exponent.

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
