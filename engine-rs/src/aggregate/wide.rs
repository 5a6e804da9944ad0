//! A signed sum of 192 bits, for decimals: no order of arrivals can overflow it on the way.

use crate::codec::{Decoded, Reader, Writer};

/// `high · 2⁶⁴ + low`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Wide {
    high: i128,
    low: u64,
}

impl Wide {
    /// Adds `value · weight`.
    pub(super) fn add(&mut self, value: i128, weight: i64) {
        let weight = i128::from(weight);
        let low = weight * i128::from(value as u64) + i128::from(self.low);
        self.high = self.high.wrapping_add(weight.wrapping_mul(value >> 64)).wrapping_add(low >> 64);
        self.low = low as u64;
    }

    /// Adds or subtracts another sum.
    pub(super) fn add_wide(&mut self, other: Self, negative: bool) {
        let (low, carry) = match negative {
            false => self.low.overflowing_add(other.low),
            true => self.low.overflowing_sub(other.low),
        };
        let high = if negative { other.high.wrapping_neg() } else { other.high };
        let carry = if negative { -i128::from(carry) } else { i128::from(carry) };
        self.high = self.high.wrapping_add(high).wrapping_add(carry);
        self.low = low;
    }

    pub(super) fn parts(self) -> (i128, u64) {
        (self.high, self.low)
    }

    pub(super) fn of_parts(high: i128, low: u64) -> Self {
        Self { high, low }
    }

    pub(super) fn save(self, to: &mut Writer) {
        to.i128(self.high);
        to.u64(self.low);
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self { high: from.i128()?, low: from.u64()? })
    }

    pub(super) fn to_i128(self) -> Option<i128> {
        let high = i64::try_from(self.high).ok()?;
        Some((i128::from(high) << 64) | i128::from(self.low))
    }

    pub(super) fn to_f64(self) -> f64 {
        self.high as f64 * 18_446_744_073_709_551_616.0 + self.low as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_beyond_128_bits_come_back_in_range() {
        let mut sum = Wide::default();
        sum.add(i128::MAX, 5);
        sum.add(-7, 3);
        assert_eq!(sum.to_i128(), None);
        assert_eq!(sum.to_f64(), i128::MAX as f64 * 5.0);
        sum.add(i128::MAX, -5);
        assert_eq!(sum.to_i128(), Some(-21));
        sum.add(i128::MIN, 1);
        assert_eq!(sum.to_i128(), None);
        sum.add(21, 1);
        assert_eq!(sum.to_i128(), Some(i128::MIN));
    }
}
