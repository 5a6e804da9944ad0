//! The exact sum of doubles: nothing is rounded until the sum is read.
//!
//! A fixed-point number wide enough for every double (Kulisch): two's complement limbs of 64 bits over the unit 2⁻¹⁰⁷⁴.
//! Only the limbs in use are kept, three or four for values of similar magnitude. So a removed value leaves no trace,
//! and the order of values does not matter. Cost per value: one multiplication, and a carry over the limbs in use.

use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::model::list_bytes;

/// Weight of bit 0 as a power of two.
const UNIT_EXPONENT: i32 = -1074;
/// An upper bound for the exponents of doubles and the carries of 2⁶³ of them.
const LIMBS_MAX: usize = 64;
const FRACTION_BITS: u32 = 52;
const FLOAT_LOWEST_BIT: usize = 1074 - 149;

#[derive(Clone, Debug, Default)]
pub(super) struct ExactSum {
    /// Index of the limb that `limbs[0]` is.
    first: usize,
    /// Little-endian; the top limb is sign extension only. Empty when the finite part is zero.
    limbs: Vec<u64>,
    nan: i64,
    positive_infinite: i64,
    negative_infinite: i64,
}

impl ExactSum {
    /// Adds `weight` copies of the value; a negative weight removes them.
    pub(super) fn add(&mut self, value: f64, weight: i64) {
        if value.is_nan() {
            self.nan += weight;
        } else if value == f64::INFINITY {
            self.positive_infinite += weight;
        } else if value == f64::NEG_INFINITY {
            self.negative_infinite += weight;
        } else {
            self.add_finite(value, weight);
        }
    }

    /// Adds or subtracts another sum.
    pub(super) fn add_sum(&mut self, other: &Self, negative: bool) {
        let sign = if negative { -1 } else { 1 };
        self.nan += sign * other.nan;
        self.positive_infinite += sign * other.positive_infinite;
        self.negative_infinite += sign * other.negative_infinite;
        if other.limbs.is_empty() {
            return;
        }
        let theirs = if negative { negated(&other.limbs) } else { other.limbs.clone() };
        // One limb more than either has, so that the sum of two signed numbers cannot overflow.
        self.cover(other.first, other.first + theirs.len() + 1);
        self.add_words(other.first, &theirs);
    }

    /// The sum as a list of numbers: the index of the first limb, the number of limbs, the limbs, and the counts of
    /// infinities and NaN.
    pub(super) fn to_words(&self) -> Vec<i128> {
        let mut words = vec![self.first as i128, self.limbs.len() as i128];
        words.extend(self.limbs.iter().map(|limb| i128::from(*limb)));
        words.extend([self.nan, self.positive_infinite, self.negative_infinite].map(i128::from));
        words
    }

    /// Trailing zeros may have been left out.
    pub(super) fn from_words(words: &[i128]) -> Option<Self> {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let (first, n_limbs) = (usize::try_from(word(0)).ok()?, usize::try_from(word(1)).ok()?);
        if first > LIMBS_MAX || n_limbs > LIMBS_MAX {
            return None;
        }
        let limbs = (0..n_limbs).map(|at| u64::try_from(word(2 + at)).ok()).collect::<Option<_>>()?;
        let count = |at: usize| i64::try_from(word(2 + n_limbs + at)).ok();
        Some(Self { first, limbs, nan: count(0)?, positive_infinite: count(1)?, negative_infinite: count(2)? })
    }

    /// Whether the sum is empty: every added value has been removed.
    pub(super) fn is_empty(&self) -> bool {
        self.limbs.is_empty() && self.nan == 0 && self.positive_infinite == 0 && self.negative_infinite == 0
    }

    pub(super) fn limbs_in_use(&self) -> usize {
        self.limbs.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        list_bytes(&self.limbs)
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.count(self.first);
        to.list(self.limbs.iter(), |to, limb| to.u64(*limb));
        [self.nan, self.positive_infinite, self.negative_infinite].into_iter().for_each(|n| to.i64(n));
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let (first, limbs): (_, Vec<u64>) = (from.number()?, from.list(8, Reader::u64)?);
        ensure(first <= LIMBS_MAX && limbs.len() <= LIMBS_MAX, "a sum is wider than its numbers")?;
        Ok(Self { first, limbs, nan: from.i64()?, positive_infinite: from.i64()?, negative_infinite: from.i64()? })
    }

    /// The sum, rounded once to the nearest double.
    pub(super) fn to_f64(&self) -> f64 {
        self.special().unwrap_or_else(|| self.rounded(53, 0))
    }

    /// The sum, rounded once to the nearest float.
    pub(super) fn to_f32(&self) -> f32 {
        self.special().unwrap_or_else(|| self.rounded(24, FLOAT_LOWEST_BIT)) as f32
    }

    fn special(&self) -> Option<f64> {
        match (self.nan != 0, self.positive_infinite != 0, self.negative_infinite != 0) {
            (true, _, _) | (_, true, true) => Some(f64::NAN),
            (_, true, _) => Some(f64::INFINITY),
            (_, _, true) => Some(f64::NEG_INFINITY),
            _ => None,
        }
    }

    fn add_finite(&mut self, value: f64, weight: i64) {
        if value == 0.0 || weight == 0 {
            return;
        }
        let (mantissa, bit) = decompose(value);
        let product = i128::from(mantissa) * i128::from(weight);
        let first = bit / 64;
        self.cover(first, first + 4);
        self.add_words(first, &shifted(product, (bit % 64) as u32));
    }

    /// Adds a number in two's complement whose lowest limb is `first`; there is space for it.
    fn add_words(&mut self, first: usize, words: &[u64]) {
        let sign = if words.last().is_some_and(|top| *top >> 63 == 1) { u64::MAX } else { 0 };
        let offset = first - self.first;
        let mut carry = false;
        for (i, limb) in self.limbs[offset..].iter_mut().enumerate() {
            let (sum, over) = limb.overflowing_add(words.get(i).copied().unwrap_or(sign));
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            (*limb, carry) = (sum, over || over_again);
        }
        self.restore_headroom();
    }

    /// Ensures that the limbs `from..to` exist.
    fn cover(&mut self, from: usize, to: usize) {
        if self.limbs.is_empty() {
            self.first = from;
        }
        if from < self.first {
            let missing = self.first - from;
            self.limbs.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = from;
        }
        let sign = self.sign_limb();
        let wanted = (to - self.first).max(self.limbs.len());
        self.limbs.resize(wanted, sign);
    }

    /// Keeps one limb of pure sign on top, so that the next addition cannot overflow; drops the rest.
    fn restore_headroom(&mut self) {
        let sign = self.sign_limb();
        if self.limbs.last().is_some_and(|top| *top != sign) {
            self.limbs.push(sign);
        }
        if self.limbs.iter().all(|limb| *limb == 0) {
            self.limbs = Vec::new();
        }
    }

    fn is_negative(&self) -> bool {
        self.limbs.last().is_some_and(|top| *top >> 63 == 1)
    }

    fn sign_limb(&self) -> u64 {
        if self.is_negative() { u64::MAX } else { 0 }
    }

    /// Rounds to `precision` bits, none of them below `lowest_bit`; ties go to even.
    fn rounded(&self, precision: usize, lowest_bit: usize) -> f64 {
        let negative = self.is_negative();
        let magnitude =
            Magnitude { first: self.first, limbs: if negative { negated(&self.limbs) } else { self.limbs.clone() } };
        let Some(top) = magnitude.highest_bit() else { return 0.0 };
        let low = (top + 1).saturating_sub(precision).max(lowest_bit);
        let mut mantissa = magnitude.bits_from(low);
        let half = low > 0 && magnitude.bit(low - 1);
        if half && (mantissa & 1 == 1 || magnitude.any_below(low - 1)) {
            mantissa += 1;
        }
        let value = scale(mantissa, low);
        if negative { -value } else { value }
    }
}

/// The absolute value of a sum.
struct Magnitude {
    first: usize,
    limbs: Vec<u64>,
}

impl Magnitude {
    fn highest_bit(&self) -> Option<usize> {
        let i = self.limbs.iter().rposition(|limb| *limb != 0)?;
        Some((self.first + i) * 64 + 63 - self.limbs[i].leading_zeros() as usize)
    }

    fn limb(&self, index: usize) -> u64 {
        index.checked_sub(self.first).and_then(|i| self.limbs.get(i)).copied().unwrap_or(0)
    }

    fn bit(&self, bit: usize) -> bool {
        self.limb(bit / 64) >> (bit % 64) & 1 == 1
    }

    /// The bits from `low` upwards; the caller guarantees that they fit.
    fn bits_from(&self, low: usize) -> u64 {
        let pair = u128::from(self.limb(low / 64)) | (u128::from(self.limb(low / 64 + 1)) << 64);
        (pair >> (low % 64)) as u64
    }

    fn any_below(&self, bit: usize) -> bool {
        let whole = (self.first..bit / 64).any(|index| self.limb(index) != 0);
        whole || self.limb(bit / 64) & ((1 << (bit % 64)) - 1) != 0
    }
}

/// Signed mantissa and the position of its lowest bit.
fn decompose(value: f64) -> (i64, usize) {
    let bits = value.to_bits();
    let fraction = (bits & ((1 << FRACTION_BITS) - 1)) as i64;
    let exponent = (bits >> FRACTION_BITS & 0x7FF) as usize;
    let (mantissa, bit) = if exponent == 0 { (fraction, 0) } else { (fraction | 1 << FRACTION_BITS, exponent - 1) };
    (if value < 0.0 { -mantissa } else { mantissa }, bit)
}

/// The product moved up by less than a limb, sign-extended to four words.
fn shifted(product: i128, by: u32) -> [u64; 4] {
    let sign = (product >> 127) as u64;
    let words = [product as u64, (product >> 64) as u64, sign, sign];
    let mut result = [0; 4];
    for i in 0..4 {
        let below = if i == 0 { 0 } else { words[i - 1] };
        result[i] = if by == 0 { words[i] } else { words[i] << by | below >> (64 - by) };
    }
    result
}

fn negated(limbs: &[u64]) -> Vec<u64> {
    let mut carry = true;
    limbs
        .iter()
        .map(|limb| {
            let (sum, over) = (!limb).overflowing_add(u64::from(carry));
            carry = over;
            sum
        })
        .collect()
}

/// `mantissa · 2^(low − 1074)`; exact, or infinite.
fn scale(mantissa: u64, low: usize) -> f64 {
    let exponent = UNIT_EXPONENT + low as i32;
    let power = match exponent {
        1024.. => f64::INFINITY,
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << FRACTION_BITS),
        _ => f64::from_bits(1 << low),
    };
    mantissa as f64 * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(*value, 1));
        sum
    }

    #[test]
    fn single_values_come_back() {
        for value in
            [0.0, 1.0, -1.5, 0.1, 1e308, -1e-300, 5e-324, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 2.2e-308, 12345.678]
        {
            assert_eq!(sum(&[value]).to_f64(), value);
            assert_eq!(sum(&[value]).to_f32(), value as f32, "{value}");
        }
    }

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(sum(&[1e16, 1.0, -1e16]).to_f64(), 1.0);
        assert_eq!(sum(&[0.1; 10]).to_f64(), 1.0);
        assert_eq!(sum(&[1e308, 1e308, -1e308]).to_f64(), 1e308);
        assert_eq!(sum(&[f64::MAX, f64::MAX]).to_f64(), f64::INFINITY);
        assert_eq!(sum(&[9007199254740992.0, 1.0]).to_f64(), 9007199254740992.0);
        assert_eq!(sum(&[9007199254740992.0, 1.0, 5e-324]).to_f64(), 9007199254740994.0);
        assert_eq!(sum(&[-9007199254740992.0, -1.0, -5e-324]).to_f64(), -9007199254740994.0);
        assert_eq!(sum(&[5e-324, 5e-324]).to_f64(), 1e-323);
    }

    #[test]
    fn what_is_taken_away_leaves_no_trace() {
        let values = [0.1, -7e200, 3.25, f64::NAN, f64::INFINITY, 1e-310, f64::NEG_INFINITY, f64::MAX];
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(*value, 3));
        values.iter().rev().for_each(|value| sum.add(*value, -2));
        assert!(sum.to_f64().is_nan());
        values.iter().for_each(|value| sum.add(*value, -1));
        assert!(sum.is_empty());
        assert_eq!(sum.limbs_in_use(), 0);
    }

    #[test]
    fn large_weights_do_not_overflow() {
        let mut sum = ExactSum::default();
        sum.add(f64::MAX, i64::MAX);
        sum.add(f64::MAX, i64::MAX);
        sum.add(-f64::MAX, i64::MAX);
        sum.add(-f64::MAX, i64::MAX - 1);
        assert_eq!(sum.to_f64(), f64::MAX);
    }
}
