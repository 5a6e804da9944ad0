//! When structures grow, shrink and tidy up.
//!
//! No result depends on these numbers, but for the two that say how long nothing is reported one by one. They are parameters so that tests can make common what is rare: with the
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
    /// How many readings at which nothing has changed report one by one in one step of the watermark; one report stands
    /// for the rest.
    pub quiet_reports_max: u64,
    /// How many of them report where each says something new although nothing has come.
    pub repeated_reports_max: u64,
    /// Values in one piece of an ordered bag; at least 2.
    pub bag_chunk_max: usize,
    /// Computed patterns of REGEX and REPLACE that stay compiled.
    pub regexes_cached_max: usize,
    /// A join with at most this many static rows is not visited for mappings that agree with none of them.
    pub routed_rows_max: usize,
    /// How many places of an outgrown table of keys are examined with each change; at least 1.
    pub keys_moved: usize,
    /// Tables of keys of up to this many places do not shrink.
    pub keys_shrink_min: usize,
    /// Bytes of texts in one chunk of the dictionary; at most 65,536.
    pub text_chunk_max: usize,
    /// A triple is compared with up to this many leaves one by one.
    pub leaves_compared_max: usize,
    /// Copies in events of fewer triples than this are found by comparing each with each.
    pub triples_compared_max: usize,
    /// Predicates of a batch whose ids are remembered.
    pub predicates_kept_max: usize,
    /// Changes of static data that are remembered for queries that have not seen them.
    pub changes_kept_max: usize,
    /// Slots of rows that an empty table keeps for the rows to come.
    pub row_slots_kept: usize,
    /// Joins of up to this many buffers have the indexes that some order of probing needs; larger ones have them for
    /// subsets of the shared variables.
    pub buffers_ordered_max: usize,
    /// There, a buffer that shares more variables than this has an index for each of them and for all, not for each
    /// subset.
    pub subsets_indexed_max: u32,
    /// Timelines of a stream with more readers than this may sleep.
    pub timelines_awake_max: usize,
    /// A timeline that began later is compared with an older one after this many events at the earliest.
    pub join_events_min: u64,
    /// Events that must wait for the close of a window before they are folded ahead of it.
    pub folded_min: usize,
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
            arrivals_compared_max: 16,
            rows_compared_max: 16,
            new_terms_min: 4096,
            terms_shrink_min: 1024,
            removed_triples_min: 1024,
            quiet_reports_max: 10_000,
            repeated_reports_max: 100_000,
            bag_chunk_max: 64,
            regexes_cached_max: 16,
            routed_rows_max: 64,
            keys_moved: 8,
            keys_shrink_min: 64,
            text_chunk_max: 1 << 16,
            leaves_compared_max: 4,
            triples_compared_max: 32,
            predicates_kept_max: 16,
            changes_kept_max: 4096,
            row_slots_kept: 1024,
            buffers_ordered_max: 10,
            subsets_indexed_max: 6,
            timelines_awake_max: 4,
            join_events_min: 64,
            folded_min: 64,
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
            arrivals_compared_max: 1,
            rows_compared_max: 0,
            new_terms_min: 1,
            terms_shrink_min: 1,
            removed_triples_min: 1,
            // Results depend on these two.
            quiet_reports_max: 10_000,
            repeated_reports_max: 100_000,
            bag_chunk_max: 2,
            regexes_cached_max: 1,
            routed_rows_max: 2,
            keys_moved: 1,
            keys_shrink_min: 4,
            text_chunk_max: 64,
            leaves_compared_max: 0,
            triples_compared_max: 1,
            predicates_kept_max: 1,
            changes_kept_max: 1,
            row_slots_kept: 0,
            buffers_ordered_max: 2,
            subsets_indexed_max: 1,
            timelines_awake_max: 0,
            join_events_min: 1,
            folded_min: 1,
            checks: true,
        }
    }
}
