//! Results kept as trees: each node links the mappings it was made of, and hangs under each of them.
//!
//! When a mapping expires, the nodes under it are the results that must go: nothing is joined
//! again and no row was copied, because the other mappings of the node are still there to be read
//! (the papers' invalidation). A node leaves all its lists at once, so a long-lived mapping does
//! not collect the remains of its short-lived partners.

use crate::codec::{Decoded, Reader, Writer, ensure};
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

    /// All results go.
    pub(super) fn clear(&mut self) {
        self.heads.iter_mut().for_each(|heads| heads.first.fill(NONE));
        (self.words, self.free, self.live) = (Vec::new(), Vec::new(), 0);
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

    /// Nodes keep their numbers, so that results hang in the order they came in.
    pub(super) fn save(&self, to: &mut Writer) {
        to.count(self.live);
        to.list(self.heads.iter(), |to, heads| to.list(heads.first.iter(), |to, node| to.u32(*node)));
        to.list(self.words.iter(), |to, word| to.u32(*word));
        to.list(self.free.iter(), |to, node| to.u32(*node));
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        self.live = from.number()?;
        let heads: Vec<Heads> = from.list(8, |from| {
            let first = from.long_list(4, Reader::u32)?;
            ensure(first.len().is_power_of_two(), "a tree has no roots")?;
            Ok(Heads { mask: (first.len() - 1) as u32, first })
        })?;
        self.words = from.long_list(4, Reader::u32)?;
        self.free = from.list(4, Reader::u32)?;
        let width = 3 * self.n_buffers;
        let n_nodes = self.words.len() / width;
        ensure(heads.len() == self.n_buffers && self.words.len().is_multiple_of(width), "a tree has another shape")?;
        let is_node = |node: &u32| *node == NONE || (*node as usize) < n_nodes;
        let links = self.words.chunks_exact(3).all(|link| is_node(&link[1]) && is_node(&link[2]));
        let roots = heads.iter().all(|heads| heads.first.iter().all(is_node));
        ensure(links && roots && self.free.iter().all(is_node), "a tree has a node that is not there")?;
        self.heads = heads;
        Ok(())
    }
}
