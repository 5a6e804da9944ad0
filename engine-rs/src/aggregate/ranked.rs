//! Where a term stands in the total order, in two words.
//!
//! Most comparisons are decided by the prefix. Only different terms that share one are compared in full, through the
//! dictionary: texts with a common beginning, and numbers that agree in their first 48 bits.

use crate::encode::Dictionary;
use crate::expr::{compare_terms, order_prefix};
use crate::model::TermId;
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    prefix: u64,
    pub id: TermId,
}

impl Ranked {
    pub(super) fn of(id: TermId, dictionary: &Dictionary) -> Self {
        Self { prefix: order_prefix(id, dictionary), id }
    }

    /// The order of `compare_terms`.
    #[inline]
    pub(super) fn order(&self, other: &Self, dictionary: &Dictionary) -> Ordering {
        match self.prefix.cmp(&other.prefix) {
            Ordering::Equal => compare_terms(self.id, other.id, dictionary),
            decided => decided,
        }
    }
}
