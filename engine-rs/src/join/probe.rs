//! Probing propagation: extends one new mapping through the other buffers (Algorithm 5).
//!
//! Each step takes the buffer with the fewest live mappings for the key; a count of zero ends the search at once. A
//! buffer whose variables are all bound has the smallest count and is therefore checked before anything is extended:
//! cyclic patterns extend by the smallest candidate set and check the rest, which keeps them within the
//! worst-case-optimal bound. Counts are looked up again only for buffers whose key has changed; `program.rs` knows which
//! these are.

use super::orders::{OrderCounts, Probing};
use super::program::{Candidate, Choice, Next, Program, Start};
use super::shape::{BufferSet, BufferSource, JoinShape, VarSet, bit};
use crate::index::{Probe, RingStore, SlotId};
use crate::leaf::Leaf;
use crate::model::TermId;

/// One search: what to probe, and which mapping to hide from which buffers.
pub(super) struct Search<'a> {
    pub shape: &'a JoinShape,
    pub leaves: &'a [Leaf],
    pub inputs: &'a [RingStore],
    pub probing: Probing,
    /// The mapping that starts the search. The same leaf may also play other roles.
    pub slot: SlotId,
    pub start: Start,
    /// The roles that must not see the starting mapping: those on the other side of its change.
    pub blind: BufferSet,
}

/// Reused memory. A variable that is certainly bound keeps its position in the row until a sibling overwrites it, so
/// that one row serves all depths; variables that may be unbound are restored on the way back (`undo`).
#[derive(Debug, Default)]
pub(super) struct Scratch {
    program: Program,
    row: Vec<TermId>,
    probes: Vec<Probe>,
    slots: Vec<SlotId>,
    undo: Vec<(u8, TermId)>,
}

/// A complete combination: the joined row and the slot taken from each buffer.
pub(super) trait Found {
    /// Counts a visited mapping as one unit of work.
    fn visit(&mut self);
    /// Counts dead mappings that a walk skipped. They are work too; without them a budget could not stop a long walk.
    fn pass(&mut self, dead: u64);
    /// Checks the filters that became decidable when the bound variables grew from `before` to `after`.
    fn passes(&mut self, row: &[TermId], before: VarSet, after: VarSet) -> bool;
    fn found(&mut self, row: &[TermId], slots: &[SlotId]);
}

impl Search<'_> {
    #[inline]
    fn store(&self, source: BufferSource) -> &RingStore {
        match source {
            BufferSource::Leaf(leaf) => &self.leaves[leaf].store,
            BufferSource::Input(input) => &self.inputs[input],
        }
    }

    /// Finds every combination that contains the starting mapping in this role.
    pub(super) fn find_all(&self, scratch: &mut Scratch, orders: &mut OrderCounts, found: &mut impl Found) {
        scratch.begin(self.shape);
        let choice = scratch.program.start(self.shape, self.start);
        let store = self.store(scratch.program.candidate(choice).source);
        self.take(choice, (self.slot, store.bits(self.slot)), scratch, orders, found);
    }

    fn extend(&self, node: u32, scratch: &mut Scratch, orders: &mut OrderCounts, found: &mut impl Found) {
        let Some(number) = self.choose(node, scratch) else { return };
        let choice = Choice { node, number };
        let Candidate { at, source, key, before, .. } = scratch.program.candidate(choice);
        let store = self.store(*source);
        let hidden = (self.blind & (1 << at) != 0).then_some(self.slot);
        if let Some(key) = key {
            let (index, probe) = (key.index, scratch.probes[key.probe]);
            let dead = store.walk(index, probe, |slot, bits| {
                if Some(slot) != hidden {
                    found.visit();
                    self.take(choice, (slot, bits), scratch, orders, found);
                }
            });
            return found.pass(dead);
        }
        let range = self.shape.buffers[*at].range(*before, &scratch.row);
        let visit = |slot| {
            if Some(slot) != hidden {
                found.visit();
                self.take(choice, (slot, store.bits(slot)), scratch, orders, found);
            }
        };
        match range {
            Some(range) => store.walk_range(range, visit),
            None => store.slots().for_each(visit),
        }
    }

    /// Adds a mapping, its slot and its terms, to the combination, if it is compatible, and continues from there.
    #[inline]
    fn take(
        &self,
        choice: Choice,
        (slot, bits): (SlotId, &[u64]),
        scratch: &mut Scratch,
        orders: &mut OrderCounts,
        found: &mut impl Found,
    ) {
        let Scratch { program, row, slots, undo, .. } = scratch;
        let candidate = program.candidate(choice);
        let mark = undo.len();
        if self.merge(candidate, bits, row, undo) && found.passes(row, candidate.before, candidate.after) {
            slots[candidate.at] = slot;
            match candidate.next {
                Next::Complete => {
                    if slots.len() > 2 {
                        orders.note(candidate.order);
                    }
                    found.found(row, slots);
                }
                Next::Node(node) => self.extend(node, scratch, orders, found),
                Next::Unknown => {
                    let node = program.add_after(self.shape, self.start, choice, self.probing);
                    self.extend(node, scratch, orders, found);
                }
            }
        }
        scratch.rewind(mark);
    }

    /// The buffer to probe next; `None` if some buffer has no candidate.
    #[inline]
    fn choose(&self, node: u32, scratch: &mut Scratch) -> Option<u32> {
        let Scratch { program, row, probes, .. } = scratch;
        let (mut best, mut least) = (0, u64::MAX);
        for (number, candidate) in (0..).zip(program.candidates(node)) {
            let store = self.store(candidate.source);
            let count = match &candidate.key {
                None => store.live() as u64,
                Some(key) => {
                    let probe = &mut probes[key.probe];
                    if key.is_new {
                        *probe = store.probe(key.index, |i| row[key.vars[i] as usize]);
                    }
                    probe.count.into()
                }
            };
            if count == 0 {
                return None;
            }
            let cost = match self.probing {
                Probing::Adaptive => count,
                Probing::Fixed(_) => candidate.rank,
            };
            if number == 0 || cost < least {
                (best, least) = (number, cost);
            }
        }
        Some(best)
    }

    /// Merges a mapping into the row; false if it is incompatible with what is already bound.
    #[inline]
    fn merge(&self, candidate: &Candidate, bits: &[u64], row: &mut [TermId], undo: &mut Vec<(u8, TermId)>) -> bool {
        let Some(copies) = &candidate.copies else { return self.merge_compared(candidate, bits, row, undo) };
        for (column, var) in copies {
            row[*var as usize] = TermId::from_bits(bits[*column as usize]);
        }
        true
    }

    /// The slow path, for columns that may be unbound or whose variables are bound but not part of the key.
    fn merge_compared(
        &self,
        candidate: &Candidate,
        bits: &[u64],
        row: &mut [TermId],
        undo: &mut Vec<(u8, TermId)>,
    ) -> bool {
        let buffer = &self.shape.buffers[candidate.at];
        let settled = buffer.certain & !candidate.before & !self.shape.uncertain;
        for (var, term) in buffer.vars.iter().zip(bits.iter().copied().map(TermId::from_bits)) {
            let place = &mut row[*var as usize];
            if settled & bit(*var) != 0 {
                *place = term;
            } else if !place.is_bound() {
                undo.push((*var, *place));
                *place = term;
            } else if term.is_bound() && *place != term {
                return false;
            }
        }
        true
    }
}

impl Scratch {
    /// Nothing is bound.
    #[inline]
    fn begin(&mut self, shape: &JoinShape) {
        let n_buffers = shape.buffers.len();
        if self.slots.len() != n_buffers {
            self.row.resize(shape.n_vars, TermId::UNBOUND);
            self.probes.resize(n_buffers * n_buffers, Probe::NOTHING);
            self.slots.resize(n_buffers, SlotId(0));
        }
        self.undo.clear();
    }

    /// Restores the variables that were bound since the mark.
    #[inline]
    fn rewind(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((var, term)) = self.undo.pop() {
                self.row[var as usize] = term;
            }
        }
    }
}
