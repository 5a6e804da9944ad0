//! Numbers of the four XSD kinds, their promotion and their arithmetic.
//!
//! Integers are 64 bits, decimals have 18 fractional digits in 128 bits; an overflow is "no value".

use crate::encode::{
    DECIMAL_TEXT_MAX, Dictionary, RawTerm, TermKind, canonical_decimal, canonical_double, canonical_float, decimal_text,
};
use crate::model::TermId;
use oxrdf::Literal;
use oxrdf::vocab::xsd;
use oxsdatatypes::{Boolean, Decimal, Double, Float, Integer};
use std::cmp::Ordering;

const TEN_TO_18: i128 = 1_000_000_000_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Integer(Integer),
    Decimal(Decimal),
    Float(Float),
    Double(Double),
}

/// Two numbers, promoted to their common kind.
enum Pair {
    Integers(Integer, Integer),
    Decimals(Decimal, Decimal),
    Floats(Float, Float),
    Doubles(Double, Double),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// The cost of multiplying or dividing decimals, which have 128 bits.
const DECIMAL_UNITS: u64 = 16;

impl Number {
    /// The units of work of an operation. Integers are divided as decimals.
    pub(crate) fn units(self, operator: Operator, other: Self) -> u64 {
        let is_inexact = |number| matches!(number, Self::Float(_) | Self::Double(_));
        let is_decimal = matches!(self, Self::Decimal(_)) || matches!(other, Self::Decimal(_));
        match operator {
            _ if is_inexact(self) || is_inexact(other) => 1,
            Operator::Divide => DECIMAL_UNITS,
            Operator::Multiply if is_decimal => DECIMAL_UNITS,
            _ => 1,
        }
    }

    pub(crate) fn to_decimal(self) -> Option<Decimal> {
        match self {
            Self::Integer(value) => Some(value.into()),
            Self::Decimal(value) => Some(value),
            Self::Float(value) => value.try_into().ok(),
            Self::Double(value) => value.try_into().ok(),
        }
    }

    pub(crate) fn to_float(self) -> Float {
        match self {
            Self::Integer(value) => value.into(),
            Self::Decimal(value) => value.into(),
            Self::Float(value) => value,
            Self::Double(value) => value.into(),
        }
    }

    pub(crate) fn to_double(self) -> Double {
        match self {
            Self::Integer(value) => value.into(),
            Self::Decimal(value) => value.into(),
            Self::Float(value) => value.into(),
            Self::Double(value) => value,
        }
    }

    pub(crate) fn to_integer(self) -> Option<Integer> {
        match self {
            Self::Integer(value) => Some(value),
            Self::Decimal(value) => value.try_into().ok(),
            Self::Float(value) => value.try_into().ok(),
            Self::Double(value) => value.try_into().ok(),
        }
    }

    /// Whether the number is neither zero nor NaN.
    pub(crate) fn is_truthy(self) -> bool {
        match self {
            Self::Integer(value) => Boolean::from(value).into(),
            Self::Decimal(value) => Boolean::from(value).into(),
            Self::Float(value) => Boolean::from(value).into(),
            Self::Double(value) => Boolean::from(value).into(),
        }
    }

    pub(crate) fn is_identical(self, other: Self) -> bool {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Decimal(a), Self::Decimal(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.is_identical_with(b),
            (Self::Double(a), Self::Double(b)) => a.is_identical_with(b),
            _ => false,
        }
    }

    /// The id, if the number fits into one. All NaNs have one id, whatever bits arithmetic produced.
    pub(crate) fn inline_id(self) -> Option<TermId> {
        match self {
            Self::Integer(value) => TermId::integer(value.into()),
            Self::Decimal(value) => TermId::decimal(value),
            Self::Float(value) if value.is_nan() => Some(TermId::float(f32::NAN)),
            Self::Float(value) => Some(TermId::float(value.into())),
            Self::Double(value) if value.is_nan() => TermId::double(f64::NAN),
            Self::Double(value) => TermId::double(value.into()),
        }
    }

    pub(crate) fn intern(self, dictionary: &mut Dictionary) -> TermId {
        self.inline_id().unwrap_or_else(|| match self {
            Self::Decimal(value) => {
                let mut buffer = [0; DECIMAL_TEXT_MAX];
                dictionary.intern_long_number(RawTerm::new(TermKind::DECIMAL, decimal_text(value, &mut buffer)))
            }
            other => dictionary.intern(other.to_literal().as_ref().into()),
        })
    }

    pub(crate) fn to_literal(self) -> Literal {
        match self {
            Self::Integer(value) => value.into(),
            Self::Decimal(value) => Literal::new_typed_literal(canonical_decimal(value), xsd::DECIMAL),
            Self::Float(value) => Literal::new_typed_literal(canonical_float(value.into()), xsd::FLOAT),
            Self::Double(value) => Literal::new_typed_literal(canonical_double(value.into()), xsd::DOUBLE),
        }
    }

    pub(crate) fn equals(self, other: Self) -> bool {
        match promote(self, other) {
            Pair::Integers(a, b) => a == b,
            Pair::Decimals(a, b) => a == b,
            Pair::Floats(a, b) => a == b,
            Pair::Doubles(a, b) => a == b,
        }
    }

    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        match promote(self, other) {
            Pair::Integers(a, b) => a.partial_cmp(&b),
            Pair::Decimals(a, b) => a.partial_cmp(&b),
            Pair::Floats(a, b) => a.partial_cmp(&b),
            Pair::Doubles(a, b) => a.partial_cmp(&b),
        }
    }

    pub(crate) fn apply(self, operator: Operator, other: Self) -> Option<Self> {
        match promote(self, other) {
            Pair::Integers(a, b) => integers(operator, a, b),
            Pair::Decimals(a, b) => decimals(operator, a, b).map(Self::Decimal),
            Pair::Floats(a, b) => Some(Self::Float(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
            })),
            Pair::Doubles(a, b) => Some(Self::Double(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
            })),
        }
    }

    /// The quotient by a count, equal to [`Number::apply`]: `op:numeric-divide` truncates decimals after 18 digits. One
    /// word division replaces about a hundred of the general algorithm.
    pub(crate) fn divided_by(self, count: i64) -> Option<Self> {
        let raw = match self {
            Self::Integer(value) => i128::from(i64::from(value)) * TEN_TO_18,
            Self::Decimal(value) => i128::from_be_bytes(value.to_be_bytes()),
            _ => 0,
        };
        // Below one, the general division may fail to scale a small dividend, and then has no result.
        if raw.unsigned_abs() < TEN_TO_18.unsigned_abs() || count == 0 {
            return self.apply(Operator::Divide, Self::Integer(count.into()));
        }
        Some(Self::Decimal(Decimal::from_be_bytes((raw / i128::from(count)).to_be_bytes())))
    }

    pub(crate) fn negate(self) -> Option<Self> {
        Some(match self {
            Self::Integer(value) => Self::Integer(value.checked_neg()?),
            Self::Decimal(value) => Self::Decimal(value.checked_neg()?),
            Self::Float(value) => Self::Float(-value),
            Self::Double(value) => Self::Double(-value),
        })
    }

    pub(crate) fn abs(self) -> Option<Self> {
        Some(match self {
            Self::Integer(value) => Self::Integer(value.checked_abs()?),
            Self::Decimal(value) => Self::Decimal(value.checked_abs()?),
            Self::Float(value) => Self::Float(value.abs()),
            Self::Double(value) => Self::Double(value.abs()),
        })
    }

    pub(crate) fn ceil(self) -> Option<Self> {
        Some(match self {
            Self::Integer(value) => Self::Integer(value),
            Self::Decimal(value) => Self::Decimal(value.checked_ceil()?),
            Self::Float(value) => Self::Float(value.ceil()),
            Self::Double(value) => Self::Double(value.ceil()),
        })
    }

    pub(crate) fn floor(self) -> Option<Self> {
        Some(match self {
            Self::Integer(value) => Self::Integer(value),
            Self::Decimal(value) => Self::Decimal(value.checked_floor()?),
            Self::Float(value) => Self::Float(value.floor()),
            Self::Double(value) => Self::Double(value.floor()),
        })
    }

    pub(crate) fn round(self) -> Option<Self> {
        Some(match self {
            Self::Integer(value) => Self::Integer(value),
            Self::Decimal(value) => Self::Decimal(value.checked_round()?),
            Self::Float(value) => Self::Float(value.round()),
            Self::Double(value) => Self::Double(value.round()),
        })
    }
}

fn promote(a: Number, b: Number) -> Pair {
    use Number as N;
    match (a, b) {
        (N::Integer(a), N::Integer(b)) => Pair::Integers(a, b),
        (N::Integer(a), N::Decimal(b)) => Pair::Decimals(a.into(), b),
        (N::Decimal(a), N::Integer(b)) => Pair::Decimals(a, b.into()),
        (N::Decimal(a), N::Decimal(b)) => Pair::Decimals(a, b),
        (N::Double(_), _) | (_, N::Double(_)) => Pair::Doubles(a.to_double(), b.to_double()),
        (N::Float(_), _) | (_, N::Float(_)) => Pair::Floats(a.to_float(), b.to_float()),
    }
}

fn integers(operator: Operator, a: Integer, b: Integer) -> Option<Number> {
    Some(Number::Integer(match operator {
        Operator::Add => a.checked_add(b)?,
        Operator::Subtract => a.checked_sub(b)?,
        Operator::Multiply => a.checked_mul(b)?,
        Operator::Divide => return quotient(a.into(), b.into()).map(Number::Decimal),
    }))
}

fn decimals(operator: Operator, a: Decimal, b: Decimal) -> Option<Decimal> {
    match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => product(a, b),
        Operator::Divide => quotient(a, b),
    }
}

/// `checked_mul` removes factors from both numbers until the product is in units. If the product fits as it is, one
/// division remains.
fn product(a: Decimal, b: Decimal) -> Option<Decimal> {
    let Some(raw) = units_of(a).checked_mul(units_of(b)) else { return a.checked_mul(b) };
    let product = raw / TEN_TO_18;
    (product * TEN_TO_18 == raw).then(|| Decimal::from_be_bytes(product.to_be_bytes()))
}

/// In units of 10⁻¹⁸.
fn units_of(value: Decimal) -> i128 {
    i128::from_be_bytes(value.to_be_bytes())
}

/// `checked_div` scales the dividend as far as possible, removes the zeros of the divisor, and truncates twice. If the
/// dividend fits with 18 more digits, one division gives the same result, except if that result is zero: then the
/// general division may have too many digits to remove, and it finds no quotient of zero by a number with a fraction.
fn quotient(a: Decimal, b: Decimal) -> Option<Decimal> {
    let quick = units_of(a).checked_mul(TEN_TO_18).and_then(|dividend| dividend.checked_div(units_of(b)));
    if let Some(units) = quick.filter(|units| *units != 0) {
        return Some(Decimal::from_be_bytes(units.to_be_bytes()));
    }
    let zero = Decimal::default();
    if a == zero && b != zero { Some(zero) } else { a.checked_div(b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_divided_by_a_fraction_is_zero() {
        let number = |text: &str| Number::Decimal(text.parse().expect("a decimal"));
        for (a, b, expected) in [("0", "0.5", Some("0")), ("0", "-0.004491556", Some("0")), ("0", "0", None)] {
            let found = number(a).apply(Operator::Divide, number(b)).map(|found| found.to_literal().value().to_owned());
            assert_eq!(found.as_deref(), expected, "{a} / {b}");
        }
    }

    #[test]
    fn products_and_quotients_of_decimals_are_those_of_their_own_type() {
        let raws = [1, 2, 5, 7, 10, 4_491_556_000_000_000, 5_986_000_000_000_000, 757_961_000_000_000_000];
        let large = [TEN_TO_18, 3 * TEN_TO_18, 41_474_937 * 10_i128.pow(12), 170 * TEN_TO_18, 171 * TEN_TO_18];
        let huge = [10_i128.pow(24), 10_i128.pow(37), i128::MAX / 2, i128::MAX];
        let units = || raws.into_iter().chain(large).chain(huge).flat_map(|raw| [raw, -raw]);
        let decimal = |raw: i128| Decimal::from_be_bytes(raw.to_be_bytes());
        for (a, b) in units().flat_map(|a| units().map(move |b| (decimal(a), decimal(b)))) {
            assert_eq!(product(a, b), a.checked_mul(b), "{a} * {b}");
            assert_eq!(quotient(a, b), a.checked_div(b), "{a} / {b}");
        }
        assert_eq!(quotient(decimal(1), decimal(0)), None);
    }

    #[test]
    fn a_quotient_by_a_count_is_that_of_the_division() {
        let decimal = |raw: i128| Number::Decimal(Decimal::from_be_bytes(raw.to_be_bytes()));
        let raws = [0, 1, 7, 999_999_999_999_999_999, TEN_TO_18, 20_500_000_000_000_000_001, i128::MAX, i128::MIN + 1];
        let integers = [0, 1, -1, 7, 1_000_003, i64::MAX, i64::MIN].map(|value| Number::Integer(value.into()));
        let numbers = raws.into_iter().flat_map(|raw| [decimal(raw), decimal(-raw)]).chain(integers);
        for number in numbers.chain([Number::Double(2.5.into()), Number::Float(2.5.into())]) {
            for count in [1, 2, 3, 7, 10, 1_000, 999_983, 1_000_000_000_000, i64::MAX] {
                let (quick, slow) =
                    (number.divided_by(count), number.apply(Operator::Divide, Number::Integer(count.into())));
                let text = |number: Option<Number>| number.map(|number| number.to_literal().to_string());
                assert_eq!(text(quick), text(slow), "{number:?} / {count}");
            }
        }
    }
}
