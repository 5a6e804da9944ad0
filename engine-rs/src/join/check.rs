//! Verifies the results that a join keeps: nodes, lists and heads against the mappings they refer to.

use super::heads::Heads;
use super::shape::JoinShape;
use super::trees::{NONE, Trees};
use crate::index::{RingStore, SlotId};
use crate::model::TermId;
use std::collections::BTreeSet;

impl Trees {
    /// Panics if a list is broken, or if a result refers to a mapping that has gone.
    pub(super) fn check<'a>(&self, store_of: impl Fn(usize) -> &'a RingStore) {
        for buffer in 0..self.n_buffers() {
            let store = store_of(buffer);
            let live: BTreeSet<u32> = store.slots().map(|slot| slot.0).collect();
            let mut nodes = BTreeSet::new();
            for (slot, first) in self.heads_of(buffer).entries() {
                assert!(*first == NONE || live.contains(&slot.0), "trees: results hang under a mapping that has gone");
                self.check_list(buffer, slot, *first, &mut nodes);
            }
            assert_eq!(nodes.len(), self.live(), "trees: results that hang under buffer {buffer}");
            let free = self.free_nodes();
            assert!(free.iter().all(|node| !nodes.contains(node)), "trees: a free node is in use");
            assert_eq!(free.len() + nodes.len(), self.n_nodes(), "trees: a node is lost");
        }
    }

    /// Joins the mappings anew, by nested loops, and panics if other results are kept. With filters, some of what is
    /// found is rightly not kept. Only where there are few combinations.
    pub(super) fn check_combinations(&self, shape: &JoinShape, stores: &[&RingStore], keeps_all: bool) {
        const COMBINATIONS_MAX: usize = 2_000;
        let combinations = stores.iter().fold(1_usize, |product, store| product.saturating_mul(store.live()));
        if combinations > COMBINATIONS_MAX {
            return;
        }
        let mut found = BTreeSet::new();
        let mut row = vec![TermId::UNBOUND; shape.n_vars];
        join_rest(shape, stores, &mut row, &mut Vec::new(), &mut found);
        let free: BTreeSet<u32> = self.free_nodes().iter().copied().collect();
        let kept: BTreeSet<Vec<u32>> = (0..self.n_nodes() as u32)
            .filter(|node| !free.contains(node))
            .map(|node| (0..self.n_buffers()).map(|buffer| self.links(node, buffer)[0]).collect())
            .collect();
        assert_eq!(kept.len(), self.live(), "trees: a result is kept twice");
        assert!(kept.is_subset(&found), "trees: a result is kept that the mappings do not give");
        assert!(!keeps_all || kept == found, "trees: a result is missing");
    }

    fn check_list(&self, buffer: usize, slot: SlotId, first: u32, nodes: &mut BTreeSet<u32>) {
        let (mut node, mut previous) = (first, NONE);
        while node != NONE {
            let [of, next, before] = self.links(node, buffer);
            assert_eq!(of, slot.0, "trees: a result hangs under another slot than its own");
            assert_eq!(before, previous, "trees: a list is not linked backwards");
            assert!(nodes.insert(node), "trees: a result hangs twice in buffer {buffer}");
            (previous, node) = (node, next);
        }
    }
}

impl Heads {
    fn entries(&self) -> impl Iterator<Item = (SlotId, &u32)> {
        self.open_positions().map(SlotId).zip(self.nodes())
    }
}

/// Adds the combinations that extend these slots, one for each buffer so far.
fn join_rest(
    shape: &JoinShape,
    stores: &[&RingStore],
    row: &mut Vec<TermId>,
    slots: &mut Vec<u32>,
    found: &mut BTreeSet<Vec<u32>>,
) {
    let Some(buffer) = shape.buffers.get(slots.len()) else {
        found.insert(slots.clone());
        return;
    };
    let store = stores[slots.len()];
    for slot in store.slots() {
        let before = row.clone();
        let is_compatible = buffer.vars.iter().zip(store.row(slot)).all(|(var, term)| {
            let place = &mut row[*var as usize];
            let agrees = !place.is_bound() || !term.is_bound() || *place == term;
            if agrees && term.is_bound() {
                *place = term;
            }
            agrees
        });
        if is_compatible {
            slots.push(slot.0);
            join_rest(shape, stores, row, slots, found);
            slots.pop();
        }
        *row = before;
    }
}
