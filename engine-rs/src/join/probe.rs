//! Probing propagation: one new mapping is extended through the other buffers (Algorithm 5).
//!
//! At every step the buffer with the fewest live mappings for the key is next, and a count of zero
//! ends the search at once. A buffer all of whose variables are bound has the smallest count and
//! so is checked before anything is extended: cyclic patterns extend by the smallest candidate
//! set and check the rest, which keeps them within the worst-case-optimal bound. Counts are
//! looked up again only for buffers whose key has changed.

use super::orders::{OrderCounts, Probing, extend_order};
use super::shape::{BufferSet, BufferSource, INDEXED_VARS, JoinShape, Key, VarSet, bit};
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
    /// The role it plays.
    pub role: usize,
    /// Whether it is leaving.
    pub leaving: bool,
    /// Roles that must not see it: they are before (or after) its change.
    pub blind: BufferSet,
}

/// The state at one depth of the search.
#[derive(Clone, Copy)]
struct Step {
    done: BufferSet,
    bound: VarSet,
    order: u64,
}

/// A probe of a buffer, and the set of bound variables it was made for (none: not valid).
type Probed = (VarSet, Probe);

/// Reused memory. A variable that surely is bound keeps its place in the row until a sibling
/// overwrites it, so one row serves all depths; what may be unbound is undone on the way back.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    row: Vec<TermId>,
    probes: Vec<Probed>,
    slots: Vec<SlotId>,
    undo: Vec<(u8, TermId)>,
}

/// A complete combination: the joined row and the slot taken from each buffer.
pub(super) trait Found {
    /// A mapping is looked at: one unit of work.
    fn visit(&mut self);
    /// So many mappings that have gone were passed over.
    fn pass(&mut self, dead: u64);
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
    pub(super) fn run(&self, scratch: &mut Scratch, orders: &mut OrderCounts, found: &mut impl Found) {
        if self.shape.n_vars > INDEXED_VARS {
            self.run_as::<true>(scratch, orders, found);
        } else {
            self.run_as::<false>(scratch, orders, found);
        }
    }

    /// `WIDE`: some variables have no bit. Asked once per search, so that others pay nothing.
    fn run_as<const WIDE: bool>(&self, scratch: &mut Scratch, orders: &mut OrderCounts, found: &mut impl Found) {
        let role = self.role;
        scratch.row.clear();
        scratch.row.resize(self.shape.n_vars, TermId::UNBOUND);
        scratch.probes.clear();
        scratch.probes.resize(self.shape.buffers.len(), (0, Probe::NOTHING));
        scratch.slots.resize(self.shape.buffers.len(), SlotId(0));
        let bound = self.shape.buffers[role].certain;
        if !self.merge::<WIDE>(role, self.start, 0, scratch) || !found.passes(&scratch.row, 0, bound) {
            scratch.undo.clear();
            return;
        }
        scratch.slots[role] = self.start;
        let step = Step { done: 1 << role, bound, order: extend_order(0, role) };
        self.extend::<WIDE>(step, scratch, orders, found);
        scratch.undo.clear();
    }

    fn extend<const WIDE: bool>(
        &self,
        step: Step,
        scratch: &mut Scratch,
        orders: &mut OrderCounts,
        found: &mut impl Found,
    ) {
        if step.done == self.shape.all_buffers() {
            if self.shape.buffers.len() > 2 {
                orders.note(step.order);
            }
            found.found(&scratch.row, &scratch.slots);
            return;
        }
        let Some((next, key)) = self.choose(step, scratch) else { return };
        let buffer = &self.shape.buffers[next];
        let store = self.store(next);
        let hidden = (self.blind & (1 << next) != 0).then_some(self.start);
        let deeper = Step {
            done: step.done | (1 << next),
            bound: step.bound | buffer.certain,
            order: extend_order(step.order, next),
        };
        let probe = scratch.probes[next].1;
        let range = if buffer.ranges.is_empty() { None } else { buffer.range(step.bound, &scratch.row) };
        let visit = |slot: SlotId| {
            if Some(slot) == hidden {
                return;
            }
            found.visit();
            let mark = scratch.undo.len();
            let fits = self.merge::<WIDE>(next, slot, step.bound, scratch);
            if fits && found.passes(&scratch.row, step.bound, deeper.bound) {
                scratch.slots[next] = slot;
                self.extend::<WIDE>(deeper, scratch, orders, found);
            }
            scratch.rewind(mark);
        };
        match (key, range) {
            (Some(key), _) => {
                let dead = store.walk(key.index, probe, visit);
                found.pass(dead);
            }
            (None, Some(range)) => store.walk_range(range, visit),
            (None, None) => store.slots().for_each(visit),
        }
    }

    /// Buffers in the order that finds an empty one soonest. Mappings of one event graph arrive, and
    /// later leave, in the order of the roles: while a star arrives, the roles after this one are
    /// still empty for its subject; while it leaves, those before are. So a star of k patterns that
    /// comes in one graph costs 2k probes and not k².
    fn emptiest_first(&self) -> impl Iterator<Item = usize> + use<> {
        let (before, after) = (0..self.role, self.role + 1..self.shape.buffers.len());
        let (first, second) = if self.leaving { (before, after) } else { (after, before) };
        first.chain(second)
    }

    /// The buffer to probe next; `None` when some buffer has nothing to offer.
    fn choose(&self, step: Step, scratch: &mut Scratch) -> Option<(usize, Option<&Key>)> {
        let Scratch { row, probes, .. } = scratch;
        let mut best: Option<(usize, Option<&Key>, (bool, u64))> = None;
        for at in self.emptiest_first() {
            if step.done & (1 << at) != 0 {
                continue;
            }
            let buffer = &self.shape.buffers[at];
            let wanted = buffer.certain & step.bound;
            let key = buffer.key(wanted);
            let count = match key {
                Some(key) => {
                    let (made_for, probe) = &mut probes[at];
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
            if best.is_none_or(|(_, _, least)| price < least) {
                best = Some((at, key, price));
            }
        }
        best.map(|(at, key, _)| (at, key))
    }

    /// Writes a mapping into the row, and drops the probes that were made with what it replaces;
    /// false when it is not compatible with what is bound already.
    #[inline]
    fn merge<const WIDE: bool>(&self, buffer: usize, slot: SlotId, bound: VarSet, scratch: &mut Scratch) -> bool {
        let shape = &self.shape.buffers[buffer];
        let new = shape.certain & !bound;
        let Scratch { row, probes, undo, .. } = scratch;
        for (made_for, _) in probes.iter_mut() {
            if *made_for & new != 0 {
                *made_for = 0;
            }
        }
        let settled = new & !self.shape.uncertain;
        for (var, term) in shape.vars.iter().zip(self.store(buffer).row(slot)) {
            let place = &mut row[*var as usize];
            let own = if WIDE { bit(*var) } else { 1 << *var };
            if settled & own != 0 {
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
    /// Gives back what was bound since the mark.
    #[inline]
    fn rewind(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((var, term)) = self.undo.pop() {
                self.row[var as usize] = term;
            }
        }
    }
}
