//! Quantiles and variances of numbers, from their order and their counts.
//!
//! A quantile interpolates between the two closest ranks in SPARQL arithmetic, so integers and
//! decimals stay exact. A variance takes two passes over the distinct values present, with an exact
//! sum in each: nothing is carried from one instant to the next, so nothing drifts.

use super::exact_sum::ExactSum;
use crate::expr::{Number, Operator};
use oxsdatatypes::Decimal;
use std::str::FromStr;

const TEN_TO_18: i128 = 1_000_000_000_000_000_000;

/// The value at a fraction (0 ≤ fraction ≤ 1) of `n` sorted numbers, read by rank.
pub(super) fn quantile(fraction: f64, n: i64, nth: impl Fn(i64) -> Option<Number>) -> Option<Number> {
    if n <= 0 || !(0.0..=1.0).contains(&fraction) {
        return None;
    }
    // The fraction as it was written, so that 0.95 of 21 values is a rank and not almost one.
    let fraction = i128::from_be_bytes(Decimal::from_str(&fraction.to_string()).ok()?.to_be_bytes());
    let position = fraction.checked_mul(i128::from(n - 1))?;
    let (rank, rest) = ((position / TEN_TO_18) as i64, position % TEN_TO_18);
    let below = nth(rank)?;
    if rest == 0 {
        return Some(below);
    }
    let above = nth(rank + 1)?;
    if rest * 2 == TEN_TO_18 {
        return below.apply(Operator::Add, above)?.apply(Operator::Divide, Number::Integer(2.into()));
    }
    let share = Number::Decimal(Decimal::from_be_bytes(rest.to_be_bytes()));
    let step = above.apply(Operator::Subtract, below)?.apply(Operator::Multiply, share)?;
    below.apply(Operator::Add, step)
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
