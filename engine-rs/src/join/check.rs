//! Verifies the results that a join keeps: nodes, lists and heads against the mappings they refer to.

use super::heads::Heads;
use super::trees::{NONE, Trees};
use crate::index::{RingStore, SlotId};
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
