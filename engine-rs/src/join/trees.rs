//! Results stored as nodes that refer to the mappings they consist of; each mapping has a list of its nodes.
//!
//! When a mapping expires, its nodes are exactly the results to retract: nothing is joined again, and no row was
//! copied, because the other mappings of a node are still there to be read (the papers call this invalidation). A node
//! leaves all its lists at once, so a long-lived mapping does not accumulate remains of short-lived partners.
//!
//! ```text
//!   buffer 0   slot 7 ──► node 2 ◄─► node 0        The lists are doubly linked, so a node that is
//!   buffer 1   slot 3 ──► node 2                   reached from one buffer leaves the lists of all
//!              slot 4 ──► node 0                   other buffers without a search.
//! ```
//!
//! Invariants: a node is in the list of exactly one slot of each buffer; every slot that has nodes is live in its
//! store, or has just moved and is about to be relocated ([`super::heads`]).

use super::heads::Heads;
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::index::SlotId;
use crate::rare::Rare;
use crate::thresholds::Thresholds;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Trees {
    n_buffers: usize,
    heads: Vec<Heads>,
    /// Three words per node and buffer: the slot, the next and the previous node in its list.
    words: Vec<u32>,
    free: Vec<u32>,
    live: usize,
}

impl Trees {
    pub(super) fn new(n_buffers: usize, thresholds: Thresholds) -> Self {
        let heads = (0..n_buffers).map(|_| Heads::new(thresholds.ring_shrink_min)).collect();
        Self { n_buffers, heads, words: Vec::new(), free: Vec::new(), live: 0 }
    }

    pub(super) fn n_buffers(&self) -> usize {
        self.n_buffers
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.words.len() / (3 * self.n_buffers)
    }

    pub(super) fn free_nodes(&self) -> &[u32] {
        &self.free
    }

    pub(super) fn heads_of(&self, buffer: usize) -> &Heads {
        &self.heads[buffer]
    }

    /// A node's slot in a buffer, and the next and the previous node in its list.
    pub(super) fn links(&self, node: u32, buffer: usize) -> [u32; 3] {
        let at = (node as usize * self.n_buffers + buffer) * 3;
        [self.words[at], self.words[at + 1], self.words[at + 2]]
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// The bytes of all nodes and lists.
    pub(super) fn bytes(&self) -> usize {
        let heads: usize = self.heads.iter().map(Heads::bytes).sum();
        heads + (self.words.capacity() + self.free.capacity()) * size_of::<u32>()
    }

    /// Opens a slot that was appended and has no nodes yet. `oldest` is the oldest slot that may have some.
    pub(super) fn open_slot(&mut self, buffer: usize, slot: SlotId, oldest: SlotId) {
        self.heads[buffer].open(slot, oldest);
    }

    fn head(&mut self, buffer: usize, slot: SlotId) -> &mut u32 {
        self.heads[buffer].of(slot)
    }

    fn word(&mut self, node: u32, buffer: usize, which: usize) -> &mut u32 {
        &mut self.words[(node as usize * self.n_buffers + buffer) * 3 + which]
    }

    pub(super) fn add(&mut self, slots: &[SlotId]) {
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

    /// Removes one node from the list of a slot; writes the slots that it refers to. False if the list is empty.
    pub(super) fn remove_first(&mut self, buffer: usize, slot: SlotId, slots: &mut [SlotId]) -> bool {
        let node = *self.head(buffer, slot);
        if node == NONE {
            return false;
        }
        for (at, place) in slots.iter_mut().enumerate() {
            *place = SlotId(*self.word(node, at, 0));
            self.unlink(node, at, *place);
        }
        self.free.push(node);
        self.live -= 1;
        if self.live == 0 {
            self.words = Vec::new();
            self.free = Vec::new();
        }
        true
    }

    fn unlink(&mut self, node: u32, buffer: usize, slot: SlotId) {
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

    /// Removes all results.
    pub(super) fn clear(&mut self) {
        self.heads.iter_mut().for_each(Heads::clear);
        (self.words, self.free, self.live) = (Vec::new(), Vec::new(), 0);
    }

    /// Moves the nodes of a mapping to its new slot, which is open.
    pub(super) fn relocate(&mut self, buffer: usize, from: SlotId, to: SlotId) {
        let first = std::mem::replace(self.head(buffer, from), NONE);
        let mut node = first;
        while node != NONE {
            Rare::ResultsTransplanted.note();
            *self.word(node, buffer, 0) = to.0;
            node = *self.word(node, buffer, 1);
        }
        *self.head(buffer, to) = first;
    }

    /// Nodes keep their numbers, so that lists keep their order after a restore, and results their order of retraction.
    pub(super) fn save(&self, to: &mut Writer) {
        to.count(self.live);
        self.heads.iter().for_each(|heads| heads.save(to));
        to.list(self.words.iter(), |to, word| to.u32(*word));
        to.list(self.free.iter(), |to, node| to.u32(*node));
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        self.live = from.number()?;
        self.heads.iter_mut().try_for_each(|heads| heads.restore(from))?;
        self.words = from.long_list(4, Reader::u32)?;
        self.free = from.list(4, Reader::u32)?;
        let width = 3 * self.n_buffers;
        let n_nodes = self.words.len() / width;
        ensure(self.words.len().is_multiple_of(width), "a tree has another shape")?;
        let is_node = |node: &u32| *node == NONE || (*node as usize) < n_nodes;
        let links = self.words.chunks_exact(3).all(|link| is_node(&link[1]) && is_node(&link[2]));
        let roots = self.heads.iter().all(|heads| heads.nodes().all(is_node));
        ensure(links && roots && self.free.iter().all(is_node), "a result tree refers to a node that does not exist")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two buffers with three open slots each, and two results.
    fn trees() -> Trees {
        let mut trees = Trees::new(2, Thresholds::default());
        for (buffer, slot) in (0..2).flat_map(|buffer| (0..3).map(move |slot| (buffer, slot))) {
            trees.open_slot(buffer, SlotId(slot), SlotId(0));
        }
        trees.add(&[SlotId(0), SlotId(1)]);
        trees.add(&[SlotId(2), SlotId(1)]);
        trees
    }

    fn restored(saved: &Trees, n_buffers: usize) -> Decoded<Trees> {
        let mut bytes = Writer::default();
        saved.save(&mut bytes);
        let mut trees = Trees::new(n_buffers, Thresholds::default());
        trees.restore(&mut Reader::new(&bytes.into_bytes())).map(|()| trees)
    }

    #[test]
    fn only_nodes_that_are_there_are_restored() {
        let whole = restored(&trees(), 2).expect("nothing is wrong");
        assert_eq!((whole.live(), whole.n_nodes(), whole.words.len()), (2, 2, 12));
        let damages: [fn(&mut Trees); 5] = [
            |trees| trees.words[1] = 2,
            |trees| trees.words[5] = 2,
            |trees| trees.free.push(2),
            |trees| *trees.head(1, SlotId(1)) = 2,
            |trees| trees.words.truncate(9),
        ];
        for (number, damage) in damages.into_iter().enumerate() {
            let mut damaged = trees();
            damage(&mut damaged);
            assert!(restored(&damaged, 2).is_err(), "damage {number}");
        }
    }

    #[test]
    fn a_slot_is_open_until_the_one_behind_the_last() {
        let mut heads = Heads::new(1);
        for slot in [u32::MAX - 1, u32::MAX, 0, 1] {
            heads.open(SlotId(slot), SlotId(u32::MAX - 1));
        }
        let is_open = |slot: u32| heads.is_open(SlotId(slot));
        assert_eq!([u32::MAX - 2, u32::MAX - 1, u32::MAX, 1, 2].map(is_open), [false, true, true, true, false]);
    }
}
