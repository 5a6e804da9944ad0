//! The multiway join operator: one mapping in at a time, joined rows out.
//!
//! Leaves and inputs change one mapping at a time, and each change is joined with the current state of all other
//! buffers. This gives every combination exactly once, namely at the change of its last mapping. A leaf that plays
//! several roles in one join is processed role by role: earlier roles already see the change, later roles do not.

use super::orders::{OrderCounts, Probing};
use super::probe::{Found, Search, SearchState};
use super::program::{Program, Start};
use super::shape::{Buffer, BufferSource, BufferSpec, JoinShape, VarSet, bit};
use super::trees::Trees;
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::expr::{EvalContext, Expr};
use crate::flow::{Flow, HeldTerms, Operator};
use crate::index::{IndexId, Moved, RingStore, SlotId};
use crate::leaf::{Leaf, UsableValues};
use crate::model::{Batch, TermId, Weight};
use crate::thresholds::Thresholds;
use smallvec::SmallVec;

/// How results are retracted when one of their mappings goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RetractionMode {
    /// Nothing downstream needs retractions, except at instants that request them.
    Unneeded,
    /// Results are stored under their mappings.
    Tree,
    /// The departing mapping is joined again, with the opposite sign.
    Probe,
}

/// What the planner decides about a join.
pub(crate) struct JoinPlan<'a> {
    pub specs: &'a [BufferSpec],
    pub n_vars: usize,
    pub filters: Vec<JoinFilter>,
    pub retraction: RetractionMode,
    pub probing: Probing,
}

/// A mapping that arrives in a buffer (+1), or is about to leave it (−1).
#[derive(Clone, Copy)]
struct Change {
    role: usize,
    slot: SlotId,
    weight: Weight,
}

/// A filter over the joined mapping.
#[derive(Debug)]
pub(crate) struct JoinFilter {
    /// The variables it needs; `None` if it must see the complete mapping.
    pub needs: Option<VarSet>,
    pub condition: Expr,
    /// For `?a < ?b` and its variants: the smaller and the greater variable.
    pub range: Option<(u8, u8)>,
}

#[derive(Debug)]
pub(crate) struct JoinNode {
    shape: JoinShape,
    inputs: Vec<RingStore>,
    /// For each input, an index on all columns that finds a mapping by value for its removal.
    by_value: Vec<IndexId>,
    /// For each input, whether it is static; only other inputs count as state.
    is_static: Vec<bool>,
    /// Static inputs with more rows do not tell which mappings of a leaf are usable.
    routed_rows_max: usize,
    filters: Vec<JoinFilter>,
    retraction: RetractionMode,
    trees: Option<Box<Trees>>,
    probing: Probing,
    orders: OrderCounts,
    /// How often a mapping arrived while another buffer was empty, so that nothing was probed.
    early_stops: u64,
    program: Program,
    slots: Vec<SlotId>,
}

impl JoinNode {
    pub(crate) fn new(plan: JoinPlan<'_>, thresholds: Thresholds, leaves: &mut [Leaf]) -> Self {
        let JoinPlan { specs, n_vars, filters, retraction, probing } = plan;
        let input_specs = || specs.iter().filter(|s| matches!(s.source, BufferSource::Input(_)));
        let is_static = input_specs().map(|s| s.is_static).collect();
        let mut inputs: Vec<_> = input_specs().map(|s| RingStore::new(s.columns.len(), thresholds)).collect();
        let by_value = inputs.iter_mut().map(index_on_all).collect();
        let ranges: Vec<_> = filters.iter().filter_map(|filter| filter.range).collect();
        let shape = JoinShape::new(specs, n_vars, &ranges, leaves, &mut inputs, thresholds);
        let trees = (retraction == RetractionMode::Tree).then(|| Box::new(Trees::new(specs.len(), thresholds)));
        Self {
            slots: vec![SlotId(0); specs.len()],
            program: Program::new(&shape),
            shape,
            inputs,
            by_value,
            is_static,
            routed_rows_max: thresholds.routed_rows_max,
            filters,
            retraction,
            trees,
            probing,
            orders: OrderCounts::default(),
            early_stops: 0,
        }
    }

    pub(crate) fn retraction(&self) -> RetractionMode {
        self.retraction
    }

    /// Probing orders as roles of buffers, most frequent first.
    pub(crate) fn orders(&self) -> Vec<(Vec<usize>, u64)> {
        self.orders.by_frequency()
    }

    /// Whether only leaves change in the course of time.
    pub(crate) fn has_static_inputs(&self) -> bool {
        self.is_static.iter().all(|is_static| *is_static)
    }

    /// The stored mappings of an input.
    pub(crate) fn input(&self, port: usize) -> &RingStore {
        &self.inputs[port]
    }

    /// The results that are kept as trees, if they are: how many, and in how many bytes.
    pub(crate) fn trees(&self) -> Option<(usize, usize)> {
        self.trees.as_ref().map(|trees| (trees.live(), trees.bytes()))
    }

    pub(crate) fn early_stops(&self) -> u64 {
        self.early_stops
    }

    pub(crate) fn shape(&self) -> &JoinShape {
        &self.shape
    }

    /// The mappings of the leaf with this role that can have results: those that agree with a static input of few
    /// rows, namely the input with the fewest. `None` if there is no such input, or if the join must see every mapping
    /// because it keeps results under them, or because the leaf has other roles whose turns depend on this one.
    pub(crate) fn usable_values(&self, role: usize) -> Option<UsableValues> {
        let leaf = &self.shape.buffers[role];
        if self.trees.is_some() || (leaf.earlier | leaf.later) != 0 {
            return None;
        }
        let few = self.shape.buffers.iter().filter_map(|buffer| {
            let BufferSource::Input(input) = buffer.source else { return None };
            let rows = self.inputs[input].live();
            let shared = leaf.vars.iter().find(|var| buffer.certain & leaf.certain & bit(**var) != 0)?;
            (self.is_static[input] && rows <= self.routed_rows_max).then_some((rows, input, buffer, *shared))
        });
        let (_, input, buffer, shared) = few.min_by_key(|(rows, input, ..)| (*rows, *input))?;
        let column_in = |vars: &[u8]| vars.iter().position(|var| *var == shared);
        let (own, theirs) = (column_in(&leaf.vars)?, column_in(&buffer.vars)?);
        let rows = self.inputs[input].slots();
        let mut values: SmallVec<[TermId; 2]> =
            rows.filter_map(|slot| self.inputs[input].row(slot).nth(theirs)).collect();
        values.sort_unstable();
        values.dedup();
        Some(UsableValues { column: own as u8, values })
    }

    /// Handles a mapping that has arrived in the leaf with this role.
    #[inline]
    pub(crate) fn arrive(&mut self, role: usize, slot: SlotId, out: &mut Batch, flow: &mut Flow<'_>) {
        flow.eval.scratch.budget.spend(1);
        self.open_slot(role, slot, flow.leaves);
        self.join(Change { role, slot, weight: 1 }, out, flow);
    }

    /// Handles a mapping that is about to leave the leaf with this role: retracts its results.
    pub(crate) fn expire(&mut self, role: usize, slot: SlotId, out: &mut Batch, flow: &mut Flow<'_>) {
        match self.retraction {
            RetractionMode::Tree => self.retract_results(role, slot, out, flow),
            _ => self.join(Change { role, slot, weight: -1 }, out, flow),
        }
    }

    /// Emits every result of the mappings that are there now, each combination once. Nothing is stored, and counters of
    /// probing orders do not change.
    pub(crate) fn enumerate(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        let Flow { eval, leaves, search: scratch, .. } = flow;
        let live = |role: usize| self.store(role, leaves).live();
        let Some(role) = (0..self.shape.buffers.len()).min_by_key(|role| live(*role)) else { return };
        let starts: Vec<SlotId> = self.store(role, leaves).slots().collect();
        let Self { program, shape, inputs, probing, filters, .. } = self;
        let mut orders = OrderCounts::default();
        let start = Start { role, leaving: false };
        for slot in starts {
            let search = Search { program, shape, leaves, inputs, probing: *probing, slot, start, blind: 0 };
            let mut found = Emit { filters, trees: None, weight: 1, out, eval };
            found.visit();
            search.find_all(&mut SearchState { scratch, orders: &mut orders, found });
        }
    }

    /// A leaf is about to lose all its mappings, which ends all results; the caller informs the readers.
    pub(crate) fn forget_results(&mut self) {
        self.trees.iter_mut().for_each(|trees| trees.clear());
    }

    /// Handles a mapping that has moved to another slot of its leaf without changing.
    pub(crate) fn relocate(&mut self, role: usize, moved: Moved, leaves: &[Leaf]) {
        let oldest = moved.oldest(self.store(role, leaves));
        if let Some(trees) = &mut self.trees {
            trees.open_slot(role, moved.to, oldest);
            trees.relocate(role, moved.from, moved.to);
        }
    }

    /// Panics if the stored results disagree with a recount.
    pub(crate) fn check_results(&self, leaves: &[Leaf]) {
        if let Some(trees) = &self.trees {
            trees.check(|role| self.store(role, leaves));
            let stores: Vec<&RingStore> = (0..self.shape.buffers.len()).map(|role| self.store(role, leaves)).collect();
            trees.check_combinations(&self.shape, &stores, self.filters.is_empty());
        }
    }

    pub(crate) fn release(&self, leaves: &mut [Leaf]) {
        self.shape.release(leaves);
    }

    fn open_slot(&mut self, role: usize, slot: SlotId, leaves: &[Leaf]) {
        let oldest = self.store(role, leaves).oldest();
        if let Some(trees) = &mut self.trees {
            trees.open_slot(role, slot, oldest);
        }
    }

    /// The mappings of the buffer that plays this role.
    fn store<'a>(&'a self, role: usize, leaves: &'a [Leaf]) -> &'a RingStore {
        match self.shape.buffers[role].source {
            BufferSource::Leaf(leaf) => &leaves[leaf].store,
            BufferSource::Input(input) => &self.inputs[input],
        }
    }

    fn join(&mut self, change: Change, out: &mut Batch, flow: &mut Flow<'_>) {
        let Change { role, slot, weight } = change;
        let Self { program, shape, inputs, probing, trees, filters, orders, .. } = self;
        let Flow { eval, leaves, search: scratch, .. } = flow;
        let is_empty = |buffer: &Buffer| match buffer.source {
            BufferSource::Leaf(leaf) => leaves[leaf].store.live() == 0,
            BufferSource::Input(input) => inputs[input].live() == 0,
        };
        if shape.buffers.iter().any(is_empty) {
            self.early_stops += 1;
            return;
        }
        // Roles of the same leaf that come after an arrival, or before a departure, must not see the mapping.
        let Buffer { earlier, later, .. } = shape.buffers[role];
        let blind = if weight > 0 { later } else { earlier };
        let start = Start { role, leaving: weight < 0 };
        let search = Search { program, shape, leaves, inputs, probing: *probing, slot, start, blind };
        let found = Emit { filters, trees: trees.as_deref_mut().filter(|_| weight > 0), weight, out, eval };
        search.find_all(&mut SearchState { scratch, orders, found });
    }

    /// Emits −1 for every result under the mapping. Rows are rebuilt from the other mappings, all of which must still
    /// be readable; callers therefore remove the mapping from its store only afterwards.
    fn retract_results(&mut self, role: usize, slot: SlotId, out: &mut Batch, flow: &mut Flow<'_>) {
        let Some(trees) = &mut self.trees else { return };
        // Most mappings that leave have no results: a row of usual width must not cost an allocation.
        let mut row: SmallVec<[TermId; 8]> = SmallVec::from_elem(TermId::UNBOUND, self.shape.n_vars);
        while trees.remove_first(role, slot, &mut self.slots) {
            row.fill(TermId::UNBOUND);
            for (buffer, slot) in self.shape.buffers.iter().zip(&self.slots) {
                let store = match buffer.source {
                    BufferSource::Leaf(leaf) => &flow.leaves[leaf].store,
                    BufferSource::Input(input) => &self.inputs[input],
                };
                for (var, term) in buffer.vars.iter().zip(store.row(*slot)) {
                    if term.is_bound() {
                        row[*var as usize] = term;
                    }
                }
            }
            flow.eval.scratch.budget.spend_rows(1, row.len());
            out.push(&row, -1);
        }
    }

    fn role_of_input(&self, port: usize) -> usize {
        let input = self.shape.buffers.iter().position(|b| b.source == BufferSource::Input(port));
        input.expect("each input is a buffer")
    }

    fn insert(&mut self, port: usize, row: &[TermId], out: &mut Batch, flow: &mut Flow<'_>) {
        let role = self.role_of_input(port);
        flow.eval.scratch.budget.spend_rows(1, row.len());
        // Inputs have no windows, and only retractions remove their mappings. Hence all of them share one expiry key.
        let slot = self.inputs[port].append(row, 0);
        self.open_slot(role, slot, flow.leaves);
        self.join(Change { role, slot, weight: 1 }, out, flow);
    }

    fn remove(&mut self, port: usize, row: &[TermId], out: &mut Batch, flow: &mut Flow<'_>) {
        let role = self.role_of_input(port);
        flow.eval.scratch.budget.spend_rows(1, row.len());
        let store = &self.inputs[port];
        let probe = store.probe(self.by_value[port], |column| row[column]);
        let slot = store.newest(self.by_value[port], probe).expect("what is retracted was emitted before");
        // Its results are read through it, so remove it after them.
        self.expire(role, slot, out, flow);
        self.inputs[port].kill(slot);
        while let Some(moved) = self.inputs[port].move_oldest_if_sparse() {
            flow.eval.scratch.budget.spend_rows(1, row.len());
            self.relocate(role, moved, flow.leaves);
        }
    }
}

impl Operator for JoinNode {
    fn check(&self) {
        self.inputs.iter().for_each(RingStore::check);
    }

    fn absorb(&mut self, port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>) {
        // Additions first: whatever the order of the deltas, a bag never goes below zero.
        for (row, weight) in deltas.iter().filter(|(_, weight)| *weight > 0) {
            for _ in 0..weight {
                self.insert(port, row, out, flow);
            }
        }
        for (row, weight) in deltas.iter().filter(|(_, weight)| *weight < 0) {
            for _ in weight..0 {
                self.remove(port, row, out, flow);
            }
        }
    }

    fn save(&self, to: &mut Writer) {
        self.inputs.iter().for_each(|input| input.save(to));
        to.option(self.trees.as_ref(), |to, trees| trees.save(to));
        self.orders.save(to);
        to.u64(self.early_stops);
    }

    fn restore(&mut self, from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        self.inputs.iter_mut().try_for_each(|input| input.restore(from))?;
        ensure(from.bool()? == self.trees.is_some(), "a join retracts its results in another way")?;
        self.trees.iter_mut().try_for_each(|trees| trees.restore(from))?;
        self.orders = OrderCounts::restored(from)?;
        self.early_stops = from.u64()?;
        Ok(())
    }

    fn state_size(&self) -> usize {
        let moving = self.inputs.iter().zip(&self.is_static).filter(|(_, is_static)| !**is_static);
        moving.map(|(input, _)| input.live()).sum::<usize>() + self.trees.as_ref().map_or(0, |trees| trees.live())
    }

    /// Trees refer to slots of leaves and inputs and hold no terms themselves.
    fn held_terms(&self) -> HeldTerms<'_> {
        Box::new(self.inputs.iter().flat_map(|store| store.slots().flat_map(|slot| store.row(slot))))
    }
}

/// Filters a combination, stores it if results are kept, and emits it.
struct Emit<'a, 'b, 'c> {
    filters: &'a [JoinFilter],
    trees: Option<&'a mut Trees>,
    weight: Weight,
    out: &'b mut Batch,
    eval: &'b mut EvalContext<'c>,
}

impl Found for Emit<'_, '_, '_> {
    #[inline]
    fn visit(&mut self) {
        self.eval.scratch.budget.spend(1);
    }

    #[inline]
    fn pass(&mut self, dead: u64) {
        self.eval.scratch.budget.spend(dead);
    }

    #[inline(always)]
    fn passes(&mut self, row: &[TermId], before: VarSet, after: VarSet) -> bool {
        if self.filters.is_empty() {
            return true;
        }
        let due = |needs: VarSet| needs & !after == 0 && (needs & !before != 0 || before == 0);
        let mut filters = self.filters.iter().filter(|filter| filter.needs.is_some_and(due));
        filters.all(|filter| filter.condition.holds(row, self.eval))
    }

    #[inline]
    fn found(&mut self, row: &[TermId], slots: &[SlotId]) {
        let mut last = self.filters.iter().filter(|filter| filter.needs.is_none());
        if last.all(|filter| filter.condition.holds(row, self.eval)) {
            self.eval.scratch.budget.spend_rows(1, row.len());
            if let Some(trees) = &mut self.trees {
                trees.add(slots);
            }
            self.out.push(row, self.weight);
        }
    }
}

fn index_on_all(store: &mut RingStore) -> IndexId {
    let width = store.width();
    store.acquire_index(&(0..width as u8).collect::<Vec<_>>())
}
