//! Which leaves of a window have mappings that expire: nobody looks at the others.
//!
//! A leaf with mappings has one valid entry, no later than the first of them to expire; what else the heap has of it is
//! stale, and dropped when its turn comes. Cost per leaf with something to expire: a pop and a push.

use super::{Leaf, LeafId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Default)]
pub(crate) struct Dues {
    heap: BinaryHeap<Reverse<(i64, LeafId)>>,
}

impl Dues {
    /// The leaf has a mapping that expires with this key.
    #[inline]
    pub(crate) fn note(&mut self, id: LeafId, leaf: &mut Leaf, expiry_key: i64) {
        if leaf.due.is_none_or(|due| expiry_key < due) {
            leaf.due = Some(expiry_key);
            self.heap.push(Reverse((expiry_key, id)));
        }
    }

    /// As [`Dues::note`], for the first mapping to expire, if there is any.
    pub(crate) fn note_first(&mut self, id: LeafId, leaf: &mut Leaf) {
        if let Some(first) = leaf.store.first_key() {
            self.note(id, leaf, first);
        }
    }

    /// A leaf that may have mappings below the bound; the caller takes them out and notes what is left.
    #[inline]
    pub(crate) fn next_below(&mut self, bound: i64, leaves: &mut [Leaf]) -> Option<LeafId> {
        while let Some(Reverse((expiry_key, id))) = self.heap.peek().copied().filter(|next| next.0.0 < bound) {
            self.heap.pop();
            let due = &mut leaves[id.at()].due;
            if *due == Some(expiry_key) {
                *due = None;
                return Some(id);
            }
        }
        None
    }
}
