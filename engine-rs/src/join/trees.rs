//! Results kept as trees: each node links the mappings it was made of, and hangs under each of them.
//!
//! When a mapping expires, the nodes under it are the results that must go: nothing is joined
//! again and no row was copied, because the other mappings of the node are still there to be read
//! (the papers' invalidation). A node leaves all its lists at once, so a long-lived mapping does
//! not collect the remains of its short-lived partners.

use crate::index::{RingStore, SlotId};

const NONE: u32 = u32::MAX;

/// Per buffer, the first node under each slot, by position in the slot's ring.
#[derive(Debug, Default)]
struct Heads {
    mask: u32,
    first: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Trees {
    n_buffers: usize,
    heads: Vec<Heads>,
    /// Per node and buffer three words: the slot, the next and the previous node under it.
    words: Vec<u32>,
    free: Vec<u32>,
    live: usize,
}

impl Trees {
    pub(super) fn new(n_buffers: usize) -> Self {
        let heads = (0..n_buffers).map(|_| Heads { mask: 0, first: vec![NONE] }).collect();
        Self { n_buffers, heads, words: Vec::new(), free: Vec::new(), live: 0 }
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// A slot was appended: it has no nodes yet. Follows the ring's capacity.
    pub(super) fn open_slot(&mut self, buffer: usize, slot: SlotId, store: &RingStore) {
        let heads = &mut self.heads[buffer];
        let mask = store.slot_mask();
        if heads.mask != mask {
            let mut first = vec![NONE; mask as usize + 1];
            for other in store.slots().filter(|other| *other != slot) {
                first[(other.0 & mask) as usize] = heads.first[(other.0 & heads.mask) as usize];
            }
            *heads = Heads { mask, first };
        }
        heads.first[(slot.0 & mask) as usize] = NONE;
    }

    fn head(&mut self, buffer: usize, slot: SlotId) -> &mut u32 {
        let heads = &mut self.heads[buffer];
        &mut heads.first[(slot.0 & heads.mask) as usize]
    }

    fn word(&mut self, node: u32, buffer: usize, which: usize) -> &mut u32 {
        &mut self.words[(node as usize * self.n_buffers + buffer) * 3 + which]
    }

    pub(super) fn plant(&mut self, slots: &[SlotId]) {
        let node = self.free.pop().unwrap_or_else(|| {
            let node = (self.words.len() / (3 * self.n_buffers)) as u32;
            self.words.resize(self.words.len() + 3 * self.n_buffers, 0);
            node
        });
        for (buffer, slot) in slots.iter().enumerate() {
            let next = std::mem::replace(self.head(buffer, *slot), node);
            *self.word(node, buffer, 0) = slot.0;
            *self.word(node, buffer, 1) = next;
            *self.word(node, buffer, 2) = NONE;
            if next != NONE {
                *self.word(next, buffer, 2) = node;
            }
        }
        self.live += 1;
    }

    /// Takes one node from under a slot; writes the slots it links.
    pub(super) fn fell(&mut self, buffer: usize, slot: SlotId, slots: &mut [SlotId]) -> bool {
        let node = *self.head(buffer, slot);
        if node == NONE {
            return false;
        }
        for (at, place) in slots.iter_mut().enumerate() {
            *place = SlotId(*self.word(node, at, 0));
            self.unhook(node, at, *place);
        }
        self.free.push(node);
        self.live -= 1;
        if self.live == 0 {
            self.words = Vec::new();
            self.free = Vec::new();
        }
        true
    }

    fn unhook(&mut self, node: u32, buffer: usize, slot: SlotId) {
        let (next, previous) = (*self.word(node, buffer, 1), *self.word(node, buffer, 2));
        if previous == NONE {
            *self.head(buffer, slot) = next;
        } else {
            *self.word(previous, buffer, 1) = next;
        }
        if next != NONE {
            *self.word(next, buffer, 2) = previous;
        }
    }

    /// A mapping moved to another slot: its nodes move with it.
    pub(super) fn transplant(&mut self, buffer: usize, from: SlotId, to: SlotId) {
        let first = std::mem::replace(self.head(buffer, from), NONE);
        let mut node = first;
        while node != NONE {
            *self.word(node, buffer, 0) = to.0;
            node = *self.word(node, buffer, 1);
        }
        *self.head(buffer, to) = first;
    }
}
