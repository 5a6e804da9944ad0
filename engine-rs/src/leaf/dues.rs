//! A heap of the leaves of a window that have mappings to expire, so that no read visits the others.
//!
//! A leaf with mappings has one valid entry, with a key no later than its first expiry. Any other entry of the leaf is
//! stale and is dropped when it surfaces. Cost: a pop and a push for each leaf with something to expire.

use super::{Leaf, LeafId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Default)]
pub(crate) struct Dues {
    heap: BinaryHeap<Reverse<(i64, LeafId)>>,
}

impl Dues {
    /// Records that the leaf has a mapping with this expiry key.
    #[inline]
    pub(crate) fn note(&mut self, id: LeafId, leaf: &mut Leaf, expiry_key: i64) {
        // A later key needs no entry: the leaf is visited at its earlier one, and then records what is left. So the
        // heap grows by one entry per leaf and not by one per mapping.
        if leaf.due.is_none_or(|due| expiry_key < due) {
            leaf.due = Some(expiry_key);
            self.heap.push(Reverse((expiry_key, id)));
        }
    }

    /// Like [`Dues::note`], for the first mapping to expire, if there is one.
    pub(crate) fn note_first(&mut self, id: LeafId, leaf: &mut Leaf) {
        if let Some(first) = leaf.store.first_key() {
            self.note(id, leaf, first);
        }
    }

    /// The least key of an entry. There was a mapping with this key, whether or not the entry is still valid.
    #[inline]
    pub(crate) fn first(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((expiry_key, _))| *expiry_key)
    }

    /// A leaf that may have mappings below the bound; the caller expires them and records what is left.
    #[inline]
    pub(crate) fn next_below(&mut self, bound: i64, leaves: &mut [Leaf]) -> Option<LeafId> {
        while let Some(Reverse((expiry_key, id))) = self.heap.peek().copied().filter(|next| next.0.0 < bound) {
            self.heap.pop();
            let due = &mut leaves[id.at()].due;
            // An entry with another key was overtaken by an earlier one, whose visit recorded the leaf again.
            if *due == Some(expiry_key) {
                *due = None;
                return Some(id);
            }
        }
        None
    }
}
