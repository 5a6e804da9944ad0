//! Probing propagation: extends one new mapping through the other buffers (Algorithm 5).
//!
//! Each step takes the buffer with the fewest live mappings for the key; a count of zero ends the search at once. A
//! buffer whose variables are all bound has the smallest count and is therefore checked before anything is extended:
//! cyclic patterns extend by the smallest candidate set and check the rest, which keeps them within the
//! worst-case-optimal bound. Counts are looked up again only for buffers whose key has changed; `program.rs` knows which
//! these are.

use super::orders::{OrderCounts, Probing};
use super::program::{Candidate, Program, Start, node_after};
use super::shape::{Buffer, BufferSet, BufferSource, Copies, JoinShape, VarSet, bit};
use crate::flow::SearchScratch;
use crate::index::{RingStore, SlotId};
use crate::leaf::Leaf;
use crate::model::TermId;

/// The assumed fraction of an ordered buffer that lies in a range: counting it would cost too much.
const RANGED_PART: u64 = 4;

/// One search: what to probe, and which mapping to hide from which buffers.
pub(super) struct Search<'a> {
    pub program: &'a Program,
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

/// A chosen buffer, and the buffers it was chosen from.
#[derive(Clone, Copy)]
struct Choice<'a> {
    candidates: &'a [Candidate],
    taken: &'a Candidate,
}

/// The mutable state of a search.
pub(super) struct SearchState<'a, F> {
    pub scratch: &'a mut SearchScratch,
    pub orders: &'a mut OrderCounts,
    pub found: F,
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
    pub(super) fn find_all(&self, state: &mut SearchState<'_, impl Found>) {
        state.scratch.begin(self.shape.n_vars, self.shape.buffers.len());
        if let [Buffer { source, copies: Some(copies), certain, .. }] = &self.shape.buffers[..] {
            return self.find_itself(*source, copies, *certain, state);
        }
        let start = self.program.start(self.shape, self.start);
        let candidate = &**start.as_ref();
        let bits = self.store(candidate.source).bits(self.slot);
        let choice = Choice { candidates: &[], taken: candidate };
        self.take(choice, (self.slot, bits), state);
    }

    /// In a join of one buffer, each mapping is a result by itself.
    #[inline]
    fn find_itself(
        &self,
        source: BufferSource,
        copies: &Copies,
        certain: VarSet,
        state: &mut SearchState<'_, impl Found>,
    ) {
        let row = &mut state.scratch.row;
        copy(self.store(source).bits(self.slot), copies, row);
        if state.found.passes(row, 0, certain) {
            state.found.found(row, &[self.slot]);
        }
    }

    /// Takes the cheapest of the buffers left. This is the only call of the recursion; everything else is inlined into it.
    #[inline(never)]
    fn extend(&self, candidates: &[Candidate], state: &mut SearchState<'_, impl Found>) {
        let Some(candidate) = self.choose(candidates, state.scratch) else { return };
        let choice = Choice { candidates, taken: candidate };
        let store = self.store(candidate.source);
        let hidden = (self.blind & (1 << candidate.at) != 0).then_some(self.slot);
        if let Some(key) = &candidate.key {
            let dead = store.walk(key.index, state.scratch.probes[key.probe], |slot, bits| {
                if Some(slot) != hidden {
                    state.found.visit();
                    self.take(choice, (slot, bits), state);
                }
            });
            return state.found.pass(dead);
        }
        let row = &state.scratch.row;
        let range = candidate.is_ranged.then(|| self.shape.buffers[candidate.at].range(candidate.before, row));
        let visit = |slot| {
            if Some(slot) != hidden {
                state.found.visit();
                self.take(choice, (slot, store.bits(slot)), state);
            }
        };
        match range {
            Some(range) => store.walk_range(range, visit),
            None => store.slots().for_each(visit),
        }
    }

    /// Adds a mapping, its slot and its terms, to the combination, if it is compatible, and continues from there.
    #[inline(always)]
    fn take(&self, choice: Choice<'_>, (slot, bits): (SlotId, &[u64]), state: &mut SearchState<'_, impl Found>) {
        let Some(copies) = &choice.taken.copies else {
            return self.take_compared(choice, (slot, bits), state);
        };
        copy(bits, copies, &mut state.scratch.row);
        self.go_on(choice, slot, state);
    }

    /// The general case, for columns that may be unbound or whose variables are bound but not part of the key.
    fn take_compared(
        &self,
        choice: Choice<'_>,
        (slot, bits): (SlotId, &[u64]),
        state: &mut SearchState<'_, impl Found>,
    ) {
        let SearchScratch { row, undo, .. } = &mut *state.scratch;
        let mark = undo.len();
        if self.merge_compared(choice.taken, bits, row, undo) {
            self.go_on(choice, slot, state);
        }
        state.scratch.rewind(mark);
    }

    /// Continues with a mapping that has been merged.
    #[inline(always)]
    fn go_on(&self, choice: Choice<'_>, slot: SlotId, state: &mut SearchState<'_, impl Found>) {
        let Choice { candidates, taken: candidate } = choice;
        let SearchScratch { row, slots, .. } = &mut *state.scratch;
        if !state.found.passes(row, candidate.before, candidate.after) {
            return;
        }
        slots[candidate.at] = slot;
        if candidate.is_last {
            if slots.len() > 2 {
                state.orders.note(candidate.order, &candidate.counted_at);
            }
            return state.found.found(row, slots);
        }
        let make = |candidates: &[Candidate], taken: &Candidate| {
            node_after(self.shape, self.start, candidates, taken, self.probing)
        };
        let next = self.program.after(candidates, candidate, make);
        self.extend(next.as_ref(), state);
    }

    /// The buffer to probe next; `None` if some buffer has no candidate.
    #[inline]
    fn choose<'c>(&self, candidates: &'c [Candidate], scratch: &mut SearchScratch) -> Option<&'c Candidate> {
        let SearchScratch { row, probes, .. } = scratch;
        let (mut best, mut least) = (None, u64::MAX);
        for candidate in candidates {
            let store = self.store(candidate.source);
            let count = match &candidate.key {
                None if candidate.is_ranged => (store.live() as u64).div_ceil(RANGED_PART),
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
            if best.is_none() || cost < least {
                (best, least) = (Some(candidate), cost);
            }
        }
        best
    }

    /// Merges a mapping into the row; false if it is incompatible with what is already bound.
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

/// Copies columns of a mapping to their variables.
#[inline]
fn copy(bits: &[u64], copies: &Copies, row: &mut [TermId]) {
    for (column, var) in copies {
        row[*var as usize] = TermId::from_bits(bits[*column as usize]);
    }
}
