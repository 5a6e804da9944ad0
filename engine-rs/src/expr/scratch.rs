//! What evaluation needs besides terms: numbers that look random, and compiled patterns.
//!
//! The engine draws no random numbers. `RAND`, `UUID`, `STRUUID` and `BNODE()` take the next
//! number of a sequence fixed by its seed, so a replay of the same input gives the same terms.

use super::hashes::hex;
use super::regexes::RegexCache;

/// One per query: its sequence of numbers and its compiled dynamic patterns.
#[derive(Debug, Default)]
pub struct Scratch {
    seed: u64,
    drawn: u64,
    pub(super) regexes: RegexCache,
}

impl Scratch {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// SplitMix64 over seed and position: no state but the count.
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        let mut z = self.seed.wrapping_add(self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn next_u128(&mut self) -> u128 {
        (u128::from(self.next()) << 64) | u128::from(self.next())
    }

    /// At least 0, less than 1.
    pub(super) fn next_fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The text of a version 4 UUID.
    pub(super) fn next_uuid(&mut self) -> String {
        let mut bytes = self.next_u128().to_be_bytes();
        bytes[6] = (bytes[6] & 0x0F) | 0x40;
        bytes[8] = (bytes[8] & 0x3F) | 0x80;
        let digits = hex(&bytes);
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
    }
}
