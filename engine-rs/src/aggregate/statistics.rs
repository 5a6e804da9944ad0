//! Quantiles and variances of numbers, from their order and their counts.
//!
//! A quantile interpolates between the two closest ranks in SPARQL arithmetic, so integers and decimals stay exact. A
//! variance takes two passes over the distinct values present, with an exact sum in each; nothing is carried over
//! between instants, so no error accumulates.

use super::exact_sum::ExactSum;
use crate::expr::{Number, Operator};
use oxsdatatypes::Decimal;
use std::str::FromStr;

const TEN_TO_18: i128 = 1_000_000_000_000_000_000;

/// A number between 0 and 1, in units of 10⁻¹⁸.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fraction(i128);

impl Fraction {
    pub(super) const HALF: Self = Self(TEN_TO_18 / 2);

    /// The fraction as written, so that 0.95 of 21 values is an exact rank and not slightly less; its first 18 digits.
    #[must_use]
    pub fn new(fraction: f64) -> Option<Self> {
        let text = fraction.to_string();
        let written = Decimal::from_str(text.get(.."0.".len() + 18).unwrap_or(&text)).ok()?;
        (0.0..=1.0).contains(&fraction).then(|| Self(i128::from_be_bytes(written.to_be_bytes())))
    }
}

#[cfg(test)]
impl std::fmt::Display for Fraction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", Decimal::from_be_bytes(self.0.to_be_bytes()))
    }
}

/// The value at a fraction of `n` sorted numbers, read by rank.
pub(super) fn quantile(fraction: Fraction, n: i64, nth: impl Fn(i64) -> Option<Number>) -> Option<Number> {
    if n <= 0 {
        return None;
    }
    let position = fraction.0.checked_mul(i128::from(n - 1))?;
    let (rank, rest) = ((position / TEN_TO_18) as i64, position % TEN_TO_18);
    let below = nth(rank)?;
    if rest == 0 {
        return Some(below);
    }
    let above = nth(rank + 1)?;
    if rest * 2 == TEN_TO_18 {
        return below.apply(Operator::Add, above)?.divided_by(2);
    }
    let step = part_of(above.apply(Operator::Subtract, below)?, rest)?;
    below.apply(Operator::Add, step)
}

/// A number, as a multiple of 10⁻¹⁸.
fn part_of(number: Number, share: i128) -> Option<Number> {
    let decimal = |raw: i128| Number::Decimal(Decimal::from_be_bytes(raw.to_be_bytes()));
    match number {
        Number::Integer(value) => i128::from(i64::from(value)).checked_mul(share).map(decimal),
        other => other.apply(Operator::Multiply, decimal(share)),
    }
}

/// The variance of counted values: of the population, or estimated from a sample.
pub(super) fn variance(values: &[(f64, i64)], sample: bool) -> Option<f64> {
    let mut sum = ExactSum::default();
    let mut n = 0;
    for &(value, count) in values {
        sum.add(value, count);
        n += count;
    }
    let degrees = if sample { n - 1 } else { n };
    if n <= 0 || degrees <= 0 {
        return None;
    }
    let mean = sum.to_f64() / n as f64;
    let mut squares = ExactSum::default();
    for &(value, count) in values {
        let distance = value - mean;
        squares.add(distance * distance, count);
    }
    Some(squares.to_f64() / degrees as f64)
}
