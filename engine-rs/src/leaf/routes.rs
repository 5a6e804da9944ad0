//! Which leaves of a window an arriving triple may match, by its predicate.

use super::LeafId;
use crate::model::TermId;
use hashbrown::HashTable;

#[derive(Debug, Default)]
pub(crate) struct Routes {
    by_predicate: HashTable<(TermId, Vec<LeafId>)>,
    any_predicate: Vec<LeafId>,
}

impl Routes {
    pub(crate) fn add(&mut self, predicate: Option<TermId>, leaf: LeafId) {
        let Some(predicate) = predicate else {
            self.any_predicate.push(leaf);
            return;
        };
        let entry = self.by_predicate.entry(hash(predicate), |(p, _)| *p == predicate, |(p, _)| hash(*p));
        entry.or_insert_with(|| (predicate, Vec::new())).into_mut().1.push(leaf);
    }

    pub(crate) fn remove(&mut self, leaf: LeafId) {
        self.any_predicate.retain(|l| *l != leaf);
        for (_, leaves) in self.by_predicate.iter_mut() {
            leaves.retain(|l| *l != leaf);
        }
        self.by_predicate.retain(|(_, leaves)| !leaves.is_empty());
    }

    #[inline]
    pub(crate) fn leaves(&self, predicate: TermId) -> impl Iterator<Item = LeafId> + '_ {
        let fixed = self.by_predicate.find(hash(predicate), |(p, _)| *p == predicate);
        fixed.map(|(_, leaves)| leaves.as_slice()).unwrap_or_default().iter().chain(&self.any_predicate).copied()
    }
}

fn hash(term: TermId) -> u64 {
    term.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
