//! The leaves of a window, and how triples and time find the few that they concern.

use crate::leaf::{Dues, Leaf, LeafId, Routes};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct WindowPlace {
    /// Sorted by rank, that is, in the order in which queries requested them. Results depend on this order, so
    /// snapshots keep it.
    leaves: BTreeMap<u32, LeafId>,
    pub routes: Routes,
    pub dues: Dues,
    /// The leaves to which triples of the current instant were offered.
    pub offered: Vec<LeafId>,
    /// The leaves with expiring mappings at the current instant.
    expiring: Vec<LeafId>,
}

impl WindowPlace {
    /// Up to this many leaves are compared with a triple one by one.
    pub(super) fn new(compared_max: usize) -> Self {
        Self { routes: Routes::new(compared_max), ..Self::default() }
    }

    /// Panics if triples would not find these leaves.
    pub(super) fn check(&self, leaves: &[Leaf]) {
        self.routes.check(self.leaves().map(|id| (leaves[id.at()].pattern.constants(), id)));
        assert!(self.offered.is_empty(), "window: a leaf still waits for what was offered");
    }

    /// The leaves in the order in which they process arrivals and expiries of one instant.
    pub(super) fn leaves(&self) -> impl ExactSizeIterator<Item = LeafId> + '_ {
        self.leaves.values().copied()
    }

    /// Appends a leaf, unless it is listed already.
    pub(super) fn add(&mut self, id: LeafId, leaf: &mut Leaf) {
        if leaf.rank.is_some() {
            return;
        }
        let rank = self.leaves.last_key_value().map_or(0, |(last, _)| last + 1);
        leaf.rank = Some(rank);
        self.leaves.insert(rank, id);
        self.routes.add(leaf.pattern.constants(), id);
        self.dues.note_first(id, leaf);
    }

    pub(super) fn remove(&mut self, id: LeafId, leaf: &mut Leaf) {
        if let Some(rank) = leaf.rank.take() {
            self.leaves.remove(&rank);
            self.routes.remove(leaf.pattern.constants(), id);
        }
    }

    /// The leaves with mappings below the bound, in order; the first of them are known.
    pub(super) fn take_expiring(&mut self, first: [LeafId; 2], bound: i64, leaves: &mut [Leaf]) -> Vec<LeafId> {
        let mut expiring = std::mem::take(&mut self.expiring);
        expiring.clear();
        expiring.extend(first);
        while let Some(leaf) = self.dues.next_below(bound, leaves) {
            expiring.push(leaf);
        }
        in_order(&mut expiring, leaves);
        expiring
    }

    /// Returns the memory of a list for reuse.
    pub(super) fn reuse_expiring(&mut self, list: Vec<LeafId>) {
        self.expiring = list;
    }

    /// The leaves that may have arriving mappings, in order.
    pub(super) fn take_offered(&mut self, leaves: &[Leaf]) -> Vec<LeafId> {
        in_order(&mut self.offered, leaves);
        std::mem::take(&mut self.offered)
    }

    /// Returns the memory of a list for reuse.
    pub(super) fn reuse_offered(&mut self, mut list: Vec<LeafId>) {
        list.clear();
        self.offered = list;
    }
}

fn in_order(list: &mut [LeafId], leaves: &[Leaf]) {
    if list.len() > 1 {
        list.sort_unstable_by_key(|leaf| leaves[leaf.at()].rank);
    }
}
