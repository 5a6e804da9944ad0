//! A term's place in the total order, in two words.

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
