//! Probing propagation: one new mapping is extended through the other buffers (Algorithm 5).
//!
//! At every step the buffer with the fewest live mappings for the key is next, and a count of zero
//! ends the search at once. A buffer all of whose variables are bound has the smallest count and
//! so is checked before anything is extended: cyclic patterns extend by the smallest candidate
//! set and check the rest, which keeps them within the worst-case-optimal bound. Counts are
//! looked up again only for buffers whose key has changed.

use super::orders::{OrderCounts, Probing, extend_order};
use super::shape::{BUFFERS_MAX, BufferSet, BufferSource, JoinShape, VarSet};
use crate::index::{Probe, RingStore, SlotId};
use crate::leaf::Leaf;
use crate::model::TermId;

/// One search: what to probe, and what must not be seen.
pub(super) struct Search<'a> {
    pub shape: &'a JoinShape,
    pub leaves: &'a [Leaf],
    pub inputs: &'a [RingStore],
    pub probing: Probing,
    /// The mapping that starts the search, where the same leaf plays other roles.
    pub start: SlotId,
    /// Roles that must not see it: they are before (or after) its change.
    pub blind: BufferSet,
}

/// The state at one depth of the search.
#[derive(Clone, Copy)]
struct Step {
    done: BufferSet,
    bound: VarSet,
    order: u64,
    /// Probes of the buffers not yet done, with the key they were made for.
    probes: [(VarSet, Probe); BUFFERS_MAX],
}

/// Reused memory: rows and chosen slots, one level per buffer.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    rows: Vec<TermId>,
    slots: Vec<SlotId>,
}

/// A complete combination: the joined row and the slot taken from each buffer.
pub(super) trait Found {
    /// Whether the filters hold that became decidable when `before` grew to `after`.
    fn passes(&mut self, row: &[TermId], before: VarSet, after: VarSet) -> bool;
    fn found(&mut self, row: &[TermId], slots: &[SlotId]);
}

impl Search<'_> {
    pub(super) fn store(&self, buffer: usize) -> &RingStore {
        match self.shape.buffers[buffer].source {
            BufferSource::Leaf(leaf) => &self.leaves[leaf].store,
            BufferSource::Input(input) => &self.inputs[input],
        }
    }

    /// Finds every combination that contains the starting mapping in this role.
    pub(super) fn run(&self, role: usize, scratch: &mut Scratch, orders: &mut OrderCounts, found: &mut impl Found) {
        let n_vars = self.shape.n_vars;
        let n_buffers = self.shape.buffers.len();
        scratch.rows.clear();
        scratch.rows.resize(n_vars * (n_buffers + 1), TermId::UNBOUND);
        scratch.slots.resize(n_buffers, SlotId(0));
        let (row, rest) = scratch.rows.split_at_mut(n_vars);
        let bound = self.shape.buffers[role].certain;
        if !self.merge(role, self.start, row) || !found.passes(row, 0, bound) {
            return;
        }
        scratch.slots[role] = self.start;
        let step = Step {
            done: 1 << role,
            bound,
            order: extend_order(0, role),
            probes: [(0, Probe::NOTHING); BUFFERS_MAX],
        };
        self.extend(step, row, rest, &mut scratch.slots, orders, found);
    }

    fn extend(&self, mut step: Step, row: &[TermId], rest: &mut [TermId], slots: &mut [SlotId], orders: &mut OrderCounts, found: &mut impl Found) {
        if step.done == self.shape.all_buffers() {
            if self.shape.buffers.len() > 2 {
                orders.note(step.order);
            }
            found.found(row, slots);
            return;
        }
        let Some(next) = self.choose(&mut step, row) else { return };
        let buffer = &self.shape.buffers[next];
        let store = self.store(next);
        let hidden = (self.blind & (1 << next) != 0).then_some(self.start);
        let deeper = Step {
            done: step.done | (1 << next),
            bound: step.bound | buffer.certain,
            order: extend_order(step.order, next),
            ..step
        };
        let (extended, rest) = rest.split_at_mut(row.len());
        let visit = |slot: SlotId| {
            if Some(slot) == hidden {
                return;
            }
            extended.copy_from_slice(row);
            if self.merge(next, slot, extended) && found.passes(extended, step.bound, deeper.bound) {
                slots[next] = slot;
                self.extend(deeper, extended, rest, slots, orders, found);
            }
        };
        match buffer.key(step.bound) {
            Some(key) => store.walk(key.index, step.probes[next].1, visit),
            None => match buffer.range(step.bound, row) {
                Some(range) => store.walk_range(range, visit),
                None => store.slots().for_each(visit),
            },
        }
    }

    /// The buffer to probe next; `None` when some buffer has nothing to offer.
    fn choose(&self, step: &mut Step, row: &[TermId]) -> Option<usize> {
        let mut best: Option<(usize, (bool, u64))> = None;
        for (at, buffer) in self.shape.buffers.iter().enumerate() {
            if step.done & (1 << at) != 0 {
                continue;
            }
            let wanted = buffer.certain & step.bound;
            let count = match buffer.key(step.bound) {
                Some(key) => {
                    let (made_for, probe) = &mut step.probes[at];
                    if *made_for != wanted {
                        *made_for = wanted;
                        *probe = self.store(at).probe(key.index, |i| row[key.vars[i] as usize]);
                    }
                    probe.count as usize
                }
                None => self.store(at).live(),
            };
            if count == 0 {
                return None;
            }
            let cost = match self.probing {
                Probing::Adaptive => count as u64,
                Probing::Fixed(seed) => Probing::rank(seed, at),
            };
            // A buffer that shares no bound variable is a cross product: only when nothing else is left.
            let price = (wanted == 0, cost);
            if best.is_none_or(|(_, least)| price < least) {
                best = Some((at, price));
            }
        }
        best.map(|(at, _)| at)
    }

    /// Writes a mapping into the row; false when it is not compatible with what is bound already.
    #[inline]
    fn merge(&self, buffer: usize, slot: SlotId, row: &mut [TermId]) -> bool {
        let store = self.store(buffer);
        for (column, var) in self.shape.buffers[buffer].vars.iter().enumerate() {
            let term = store.term(slot, column);
            let place = &mut row[*var as usize];
            if !place.is_bound() {
                *place = term;
            } else if term.is_bound() && *place != term {
                return false;
            }
        }
        true
    }
}
