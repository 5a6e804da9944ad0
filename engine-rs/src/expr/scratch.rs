//! State of evaluation besides terms: pseudo-random bits, compiled patterns, and a budget.
//!
//! The engine draws no random numbers. `RAND`, `UUID`, `STRUUID` and `BNODE` return a digest of the query, of the call
//! site and of the solution. A solution thus keeps its value as long as it exists and can be retracted, and a replay
//! yields the same terms. Solutions that are equal in everything else are equal in this, too.

use super::hashes::hex;
use super::regexes::{Program, RegexCache};
use crate::encode::Dictionary;
use crate::limits::{Budget, Limits};
use crate::model::TermId;
use crate::thresholds::Thresholds;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The scratch space of a query: its seed, its compiled dynamic patterns, and its remaining budget.
#[derive(Debug)]
pub struct Scratch {
    seed: u64,
    /// Created on first use: most queries compute no patterns.
    regexes: Option<Box<RegexCache>>,
    regexes_max: usize,
    pub(crate) budget: Budget,
}

impl Default for Scratch {
    fn default() -> Self {
        let regexes_max = Thresholds::default().regexes_cached_max;
        Self { seed: 0, regexes: None, regexes_max, budget: Budget::default() }
    }
}

/// Identifies one of the calls in a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct CallSite {
    /// The expression.
    pub expression: u32,
    /// The call in the expression.
    pub call: u32,
}

/// Pseudo-random bits for one solution at one call site.
#[derive(Clone, Copy)]
pub(super) struct Drawn(u128);

impl Scratch {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Switches to another row of data.
    pub(crate) fn reseed(&mut self, seed: u64) {
        self.seed = seed;
    }

    pub(crate) fn within(self, limits: Limits) -> Self {
        Self { budget: Budget::new(limits), ..self }
    }

    pub(crate) fn caching(self, regexes_max: usize) -> Self {
        Self { regexes_max, ..self }
    }

    /// The compiled form of a computed pattern; `None` if it is invalid.
    pub(super) fn regex(&mut self, pattern: &str, flags: &str) -> Option<Arc<Program>> {
        let Self { regexes, regexes_max, budget, .. } = self;
        regexes.get_or_insert_with(|| Box::new(RegexCache::new(*regexes_max))).get(pattern, flags, budget)
    }

    /// The bits of a call: equal for equal solutions.
    pub(super) fn draw(&self, site: CallSite, solution: &[TermId], dictionary: &Dictionary) -> Drawn {
        let mut digest = Sha256::new();
        digest.update(self.seed.to_le_bytes());
        digest.update(site.expression.to_le_bytes());
        digest.update(site.call.to_le_bytes());
        self.finish(digest, solution, dictionary)
    }

    /// The bits of a label: equal for one solution wherever the label occurs in the query.
    pub(super) fn draw_label(&self, label: &str, solution: &[TermId], dictionary: &Dictionary) -> Drawn {
        let mut digest = Sha256::new();
        digest.update(self.seed.to_le_bytes());
        digest.update(b"label");
        digest.update(label);
        self.finish(digest, solution, dictionary)
    }

    /// Digests terms and not ids, because ids depend on the other data in the engine.
    fn finish(&self, mut digest: Sha256, solution: &[TermId], dictionary: &Dictionary) -> Drawn {
        for id in solution {
            let term = if id.is_bound() { dictionary.term(*id).to_string() } else { String::new() };
            digest.update((term.len() as u64).to_le_bytes());
            digest.update(term);
        }
        let bytes = digest.finalize();
        Drawn(bytes[..16].iter().fold(0, |bits, byte| (bits << 8) | u128::from(*byte)))
    }
}

impl Drawn {
    pub(super) fn bits(self) -> u128 {
        self.0
    }

    /// At least 0, less than 1.
    pub(super) fn fraction(self) -> f64 {
        ((self.0 as u64) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The text of a version 4 UUID.
    pub(super) fn uuid(self) -> String {
        let mut bytes = self.0.to_be_bytes();
        bytes[6] = (bytes[6] & 0x0F) | 0x40;
        bytes[8] = (bytes[8] & 0x3F) | 0x80;
        let digits = hex(&bytes);
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
    }
}
