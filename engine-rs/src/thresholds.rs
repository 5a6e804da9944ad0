//! When structures grow, shrink and clean up.
//!
//! Only two of these numbers affect results: those that bound how long a quiet stretch is reported result by result.
//! They are parameters, so that tests can make rare paths common: with the defaults, a short stream crosses none of
//! them.

/// Sizes at which the engine's structures change their behaviour; hidden from users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thresholds {
    /// Slots of the smallest ring of mappings. Rounded up to a power of two.
    pub ring_slots_min: usize,
    /// Rings of up to this many slots do not shrink.
    pub ring_shrink_min: usize,
    /// Dead slots, beyond twice the live ones, that a ring without expiry may have before its mappings move.
    pub ring_gaps_max: usize,
    /// The position of the first mapping of a ring; positions wrap at 2³².
    pub first_position: u32,
    /// A leaf compares an expiring mapping with up to this many arriving ones.
    pub arrivals_compared_max: usize,
    /// Batches of up to this many rows are consolidated by pairwise comparison.
    pub rows_compared_max: usize,
    /// The minimum number of new stream terms before the dictionary is swept.
    pub new_terms_min: usize,
    /// The dictionary's table does not shrink below this number of terms.
    pub terms_shrink_min: usize,
    /// The minimum number of removed static triples before the engine frees unused static terms.
    pub removed_triples_min: usize,
    /// How many unchanged reports a query emits one by one in one step of the watermark; one result represents the
    /// rest.
    pub quiet_reports_max: u64,
    /// How many of them a query may emit if each has new content although no event arrived.
    pub repeated_reports_max: u64,
    /// Values in one chunk of an ordered bag; at least 2.
    pub bag_chunk_max: usize,
    /// Computed patterns of REGEX and REPLACE that stay compiled.
    pub regexes_cached_max: usize,
    /// A join with at most this many static rows is visited even for mappings that match none of them.
    pub routed_rows_max: usize,
    /// Positions of an outgrown key table that each change migrates; at least 1.
    pub keys_moved: usize,
    /// Key tables of up to this many positions do not shrink.
    pub keys_shrink_min: usize,
    /// Bytes of text in one chunk of the dictionary; at most 65,536.
    pub text_chunk_max: usize,
    /// Up to this many leaves are compared with a triple one by one.
    pub leaves_compared_max: usize,
    /// Duplicates in events of fewer triples than this are found by pairwise comparison.
    pub triples_compared_max: usize,
    /// Predicates of a batch whose ids are cached.
    pub predicates_kept_max: usize,
    /// Changes of static data that are kept for queries that have not processed them yet.
    pub changes_kept_max: usize,
    /// Row slots that an empty table keeps allocated.
    pub row_slots_kept: usize,
    /// Joins of up to this many buffers have the indexes that some probing order needs; larger ones have indexes for
    /// subsets of the shared variables.
    pub buffers_ordered_max: usize,
    /// In such a join, a buffer that shares more variables than this has an index per variable and one for all of them,
    /// instead of one per subset.
    pub subsets_indexed_max: u32,
    /// Timelines of a stream with more readers than this may sleep.
    pub timelines_awake_max: usize,
    /// A younger timeline is compared with an older one after at least this many events.
    pub join_events_min: u64,
    /// The number of events waiting for the close of a window at which they are folded ahead of it.
    pub folded_min: usize,
    /// Recounts every structure after each instant, and panics if one is inconsistent.
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
    /// Values at which every rare path is taken as often as possible, positions wrap soon, and every instant is
    /// checked.
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
