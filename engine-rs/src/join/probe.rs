//! Probing propagation: extends one new mapping through the other buffers (Algorithm 5).
//!
//! Each step takes the buffer with the fewest live mappings for the key; a count of zero ends the search at once. A
//! buffer whose variables are all bound has the smallest count and is therefore checked before anything is extended:
//! cyclic patterns extend by the smallest candidate set and check the rest, which keeps them within the
//! worst-case-optimal bound. Counts are looked up again only for buffers whose key has changed.

use super::orders::{OrderCounts, Probing, extend_order};
use super::shape::{Buffer, BufferSet, BufferSource, Copies, JoinShape, Key, VarSet, bit};
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
    pub start: SlotId,
    /// The role it plays.
    pub role: usize,
    /// Whether it is leaving.
    pub leaving: bool,
    /// The roles that must not see the starting mapping: those on the other side of its change.
    pub blind: BufferSet,
}

/// The state at one depth of the search.
#[derive(Clone, Copy)]
struct Step {
    done: BufferSet,
    bound: VarSet,
    order: u64,
}

/// The mappings of one buffer, and the row they are merged into.
struct Extension<'a> {
    at: usize,
    buffer: &'a Buffer,
    store: &'a RingStore,
    /// The columns to copy; `None` if some must be compared instead.
    copies: Option<&'a Copies>,
    before: VarSet,
    after: Step,
    /// The mapping that this buffer must not see.
    hidden: Option<SlotId>,
}

/// A probe of a buffer, and the set of bound variables it was made for (none: not valid).
type Probed = (VarSet, Probe);

/// Reused memory. A variable that is certainly bound keeps its position in the row until a sibling overwrites it, so
/// that one row serves all depths; variables that may be unbound are restored on the way back (`undo`).
#[derive(Debug, Default)]
pub(super) struct Scratch {
    row: Vec<TermId>,
    probes: Vec<Probed>,
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
    pub(super) fn store(&self, buffer: &Buffer) -> &RingStore {
        match buffer.source {
            BufferSource::Leaf(leaf) => &self.leaves[leaf].store,
            BufferSource::Input(input) => &self.inputs[input],
        }
    }

    /// Finds every combination that contains the starting mapping in this role.
    pub(super) fn find_all(&self, scratch: &mut Scratch, orders: &mut OrderCounts, found: &mut impl Found) {
        scratch.begin(self.shape);
        let at = self.role;
        let buffer = &self.shape.buffers[at];
        let after = Step { done: 1 << at, bound: buffer.certain, order: extend_order(0, at) };
        let (store, copies) = (self.store(buffer), buffer.copies.as_ref());
        let extension = Extension { at, buffer, store, copies, before: 0, after, hidden: None };
        self.take(&extension, self.start, scratch, orders, found);
    }

    fn extend(&self, step: Step, scratch: &mut Scratch, orders: &mut OrderCounts, found: &mut impl Found) {
        let Some((at, key)) = self.choose(step, scratch) else { return };
        let buffer = &self.shape.buffers[at];
        let store = self.store(buffer);
        let after = Step {
            done: step.done | (1 << at),
            bound: step.bound | buffer.certain,
            order: extend_order(step.order, at),
        };
        let extension = Extension {
            at,
            buffer,
            store,
            copies: buffer.copies_with(key, step.bound),
            before: step.bound,
            after,
            hidden: (self.blind & (1 << at) != 0).then_some(self.start),
        };
        if let Some(key) = key {
            let probe = scratch.probes[at].1;
            let dead = store.walk(key.index, probe, |slot| self.visit(&extension, slot, scratch, orders, found));
            return found.pass(dead);
        }
        let range = buffer.range(step.bound, &scratch.row);
        let visit = |slot| self.visit(&extension, slot, scratch, orders, found);
        match range {
            Some(range) => store.walk_range(range, visit),
            None => store.slots().for_each(visit),
        }
    }

    #[inline]
    fn visit(
        &self,
        extension: &Extension<'_>,
        slot: SlotId,
        scratch: &mut Scratch,
        orders: &mut OrderCounts,
        found: &mut impl Found,
    ) {
        if Some(slot) != extension.hidden {
            found.visit();
            self.take(extension, slot, scratch, orders, found);
        }
    }

    /// Adds a mapping to the combination, if it is compatible, and continues from there.
    #[inline]
    fn take(
        &self,
        extension: &Extension<'_>,
        slot: SlotId,
        scratch: &mut Scratch,
        orders: &mut OrderCounts,
        found: &mut impl Found,
    ) {
        let Extension { at, before, after, .. } = *extension;
        let mark = scratch.undo.len();
        if self.merge(extension, slot, scratch) && found.passes(&scratch.row, before, after.bound) {
            scratch.slots[at] = slot;
            if after.done != self.shape.all {
                scratch.forget_probes(extension.buffer.certain & !before);
                self.extend(after, scratch, orders, found);
            } else {
                if scratch.slots.len() > 2 {
                    orders.note(after.order);
                }
                found.found(&scratch.row, &scratch.slots);
            }
        }
        scratch.rewind(mark);
    }

    /// The remaining buffers, in the order that finds an empty one soonest. The mappings of one event arrive, and later
    /// leave, in the order of the roles: while a star arrives, later roles are still empty for its subject; while it
    /// leaves, earlier roles are already empty. A star of k patterns in one event therefore costs 2k probes instead of
    /// k².
    #[inline]
    fn emptiest_first(&self, done: BufferSet) -> [BufferSet; 2] {
        let left = self.shape.all & !done;
        let before = left & ((1 << self.role) - 1);
        let after = left & !before;
        if self.leaving { [before, after] } else { [after, before] }
    }

    /// The buffer to probe next; `None` if some buffer has no candidate.
    #[inline]
    fn choose(&self, step: Step, scratch: &mut Scratch) -> Option<(usize, Option<&Key>)> {
        let mut best: Option<(usize, Option<&Key>)> = None;
        let mut least = (true, u64::MAX);
        for mut left in self.emptiest_first(step.done) {
            while left != 0 {
                let at = left.trailing_zeros() as usize;
                left &= left - 1;
                let buffer = &self.shape.buffers[at];
                let wanted = buffer.certain & step.bound;
                let key = buffer.key(wanted);
                let count = self.count(at, buffer, key, wanted, scratch);
                if count == 0 {
                    return None;
                }
                let cost = match self.probing {
                    Probing::Adaptive => count,
                    Probing::Fixed(seed) => Probing::rank(seed, at),
                };
                // A buffer that shares no bound variable means a cross product; take it only if nothing else is left.
                let price = (wanted == 0, cost);
                if best.is_none() || price < least {
                    (best, least) = (Some((at, key)), price);
                }
            }
        }
        best
    }

    /// The number of mappings of a buffer with this key, or of all if there is no key.
    #[inline]
    fn count(&self, at: usize, buffer: &Buffer, key: Option<&Key>, wanted: VarSet, scratch: &mut Scratch) -> u64 {
        let store = self.store(buffer);
        let Some(key) = key else { return store.live() as u64 };
        let Scratch { row, probes, .. } = scratch;
        let (made_for, probe) = &mut probes[at];
        if *made_for != wanted {
            *made_for = wanted;
            *probe = store.probe(key.index, |i| row[key.vars[i] as usize]);
        }
        probe.count.into()
    }

    /// Merges a mapping into the row; false if it is incompatible with what is already bound.
    #[inline]
    fn merge(&self, extension: &Extension<'_>, slot: SlotId, scratch: &mut Scratch) -> bool {
        let Some(copies) = extension.copies else { return self.merge_compared(extension, slot, scratch) };
        let bits = extension.store.bits(slot);
        for (column, var) in copies {
            scratch.row[*var as usize] = TermId::from_bits(bits[*column as usize]);
        }
        true
    }

    /// The slow path, for columns that may be unbound or whose variables are bound but not part of the key.
    fn merge_compared(&self, extension: &Extension<'_>, slot: SlotId, scratch: &mut Scratch) -> bool {
        let Extension { buffer, store, before, .. } = *extension;
        let settled = buffer.certain & !before & !self.shape.uncertain;
        let Scratch { row, undo, .. } = scratch;
        for (var, term) in buffer.vars.iter().zip(store.row(slot)) {
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
    /// Resets the state: nothing is bound and nothing has been probed.
    #[inline]
    fn begin(&mut self, shape: &JoinShape) {
        if self.slots.len() != shape.buffers.len() {
            self.row.resize(shape.n_vars, TermId::UNBOUND);
            self.probes.resize(shape.buffers.len(), (0, Probe::NOTHING));
            self.slots.resize(shape.buffers.len(), SlotId(0));
        }
        self.undo.clear();
        self.forget_probes(VarSet::MAX);
    }

    /// Invalidates the probes that depend on these variables.
    #[inline]
    fn forget_probes(&mut self, changed: VarSet) {
        for (made_for, _) in &mut self.probes {
            if *made_for & changed != 0 {
                *made_for = 0;
            }
        }
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
