//! When structures grow, shrink and tidy up.
//!
//! No result depends on these numbers. They are parameters so that tests can make common what is rare: with the
//! defaults, a short stream crosses none of them.

/// Where the engine's structures change their ways; hidden from users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thresholds {
    /// Slots of the smallest ring of mappings. Rounded up to a power of two.
    pub ring_slots_min: usize,
    /// Rings of up to this many slots do not shrink.
    pub ring_shrink_min: usize,
    /// Dead slots that a ring without expiry may have, beyond twice its live ones, before mappings move.
    pub ring_gaps_max: usize,
    /// The position of the first mapping of a ring; positions wrap at 2³².
    pub first_position: u32,
    /// How many keys without mappings an index collects, at least, before it removes them.
    pub zero_keys_min: usize,
    /// A leaf compares a mapping that expires with up to this many that arrive.
    pub arrivals_compared_max: usize,
    /// Batches of up to this many rows are consolidated by comparing each with each.
    pub rows_compared_max: usize,
    /// How many stream terms must be new, at least, for a sweep of the dictionary.
    pub new_terms_min: usize,
    /// The dictionary's table does not shrink below this many terms.
    pub terms_shrink_min: usize,
    /// How many static triples must have been removed, at least, before unused static terms are looked for.
    pub removed_triples_min: usize,
    /// Recounts every structure after each instant, and panics where one disagrees with what it stands for.
    pub checks: bool,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            ring_slots_min: 16,
            ring_shrink_min: 1024,
            ring_gaps_max: 16,
            first_position: 0,
            zero_keys_min: 64,
            arrivals_compared_max: 16,
            rows_compared_max: 16,
            new_terms_min: 4096,
            terms_shrink_min: 1024,
            removed_triples_min: 1024,
            checks: false,
        }
    }
}

impl Thresholds {
    /// Everything happens as often as it can, positions wrap soon, and every instant is checked.
    #[must_use]
    pub fn tiny() -> Self {
        Self {
            ring_slots_min: 1,
            ring_shrink_min: 1,
            ring_gaps_max: 0,
            first_position: u32::MAX - 8,
            zero_keys_min: 1,
            arrivals_compared_max: 1,
            rows_compared_max: 0,
            new_terms_min: 1,
            terms_shrink_min: 1,
            removed_triples_min: 1,
            checks: true,
        }
    }
}
