//! GROUP BY: groups and their accumulators; one row per group, replaced when its values change.
//!
//! Values are added and removed as mappings arrive and leave (Algorithm 6 of the papers); rows are emitted once per
//! instant, after all deltas. Without GROUP BY there is one group, which exists even if it is empty. Cost per delta:
//! one hash, and one update per aggregate; an existing group is updated and emitted without an allocation.

use crate::aggregate::Accumulator;
use crate::codec::{Damaged, Decoded, Reader, Writer, ensure};
use crate::encode::Dictionary;
use crate::expr::{EvalContext, Expr};
use crate::flow::{Emptying, Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, Row, RowMap, RowSlots, TermId, Weight, count_row, list_bytes, row_map_bytes};

/// One aggregate of a SELECT.
#[derive(Debug)]
pub(crate) enum Aggregate {
    /// `COUNT(*)`
    Rows,
    /// `COUNT(DISTINCT *)`
    DistinctRows,
    /// An aggregate of an expression, with the accumulator of an empty group.
    Of(Expr, Box<Accumulator>),
}

#[derive(Debug)]
enum State {
    DistinctRows(RowMap<Weight>),
    Of(Accumulator),
    /// `COUNT(*)` is the group's own count.
    Rows,
}

#[derive(Debug)]
struct Members {
    count: Weight,
    states: Box<[State]>,
    /// The shown values, if there is a row.
    shown: Option<Row>,
    is_dirty: bool,
}

#[derive(Debug)]
pub(crate) struct Group {
    key_columns: Vec<usize>,
    /// Whether there is a GROUP BY: then an empty group has no row.
    grouped: bool,
    aggregates: Vec<Aggregate>,
    groups: RowSlots<Members>,
    /// Groups that have changed at this instant.
    dirty: Vec<u32>,
    /// A buffer for the key or the values under comparison.
    terms: Vec<TermId>,
}

impl Group {
    pub(crate) fn new(key_columns: Vec<usize>, aggregates: Vec<Aggregate>, grouped: bool, slots_kept: usize) -> Self {
        let groups = RowSlots::new(key_columns.len(), slots_kept);
        let mut group = Self { key_columns, grouped, aggregates, groups, dirty: Vec::new(), terms: Vec::new() };
        if !grouped {
            group.touch(&[]);
        }
        group
    }

    /// The members of the group of a row; marks the group as changed at this instant.
    fn touch(&mut self, row: &[TermId]) -> (&mut Members, &[Aggregate]) {
        let Self { key_columns, aggregates, groups, dirty, terms, .. } = self;
        terms.clear();
        terms.extend(key_columns.iter().map(|column| row[*column]));
        let (slot, _) = groups.slot_of(terms, || Members::new(aggregates));
        let members = groups.value_mut(slot);
        // Listed once per instant, however many of its members change.
        if !std::mem::replace(&mut members.is_dirty, true) {
            dirty.push(slot);
        }
        (members, aggregates)
    }

    fn update(&mut self, row: &[TermId], weight: Weight, flow: &mut Flow<'_>) {
        let (members, aggregates) = self.touch(row);
        members.count += weight;
        for (aggregate, state) in aggregates.iter().zip(&mut members.states) {
            match (aggregate, state) {
                (Aggregate::Of(expression, _), State::Of(accumulator)) => {
                    let value = expression.evaluate(row, &mut flow.eval);
                    accumulator.update(value, weight, flow.eval.dictionary);
                }
                (_, State::DistinctRows(rows)) => {
                    count_row(rows, row, weight);
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, slot: u32, out: &mut Batch, flow: &mut Flow<'_>) {
        let is_there = self.groups.value(slot).count > 0 || !self.grouped;
        self.terms.clear();
        if is_there {
            let members = self.groups.value(slot);
            self.terms.extend(members.states.iter().map(|state| state.value(members.count, flow)));
        }
        // The previous row is retracted from memory and not computed from the accumulators, which have changed.
        let now = is_there.then_some(self.terms.as_slice());
        let before = self.groups.value(slot).shown.as_deref();
        if now != before {
            let key = self.groups.row(slot);
            for (values, weight) in [(before, -1), (now, 1)] {
                values.into_iter().for_each(|values| out.push_with(weight, key.iter().chain(values).copied()));
            }
        }
        self.groups.value_mut(slot).note_shown(now);
        // Only after the retraction, which needs the key. Without GROUP BY the single group is never removed.
        if self.grouped && self.groups.value(slot).count == 0 {
            self.groups.release(slot);
        }
    }
}

impl Members {
    fn new(aggregates: &[Aggregate]) -> Self {
        Self { count: 0, states: aggregates.iter().map(State::new).collect(), shown: None, is_dirty: false }
    }

    fn heap_bytes(&self) -> usize {
        let states = size_of_val(&*self.states) + self.states.iter().map(State::heap_bytes).sum::<usize>();
        states + self.shown.as_ref().map_or(0, |shown| size_of_val(&**shown))
    }

    fn note_shown(&mut self, values: Option<&[TermId]>) {
        self.is_dirty = false;
        match (&mut self.shown, values) {
            (Some(shown), Some(values)) => shown.copy_from_slice(values),
            (shown, values) => *shown = values.map(Into::into),
        }
    }

    fn save(&self, to: &mut Writer) {
        to.i64(self.count);
        self.states.iter().for_each(|state| state.save(to));
        to.option(self.shown.as_ref(), |to, values| to.row(values));
    }

    fn restored(aggregates: &[Aggregate], from: &mut Reader<'_>, dictionary: &Dictionary) -> Decoded<Self> {
        let count = from.i64()?;
        let states = aggregates.iter().map(|aggregate| State::restored(aggregate, from, dictionary));
        let states = states.collect::<Decoded<_>>()?;
        let shown = from.option(|from| from.row_of(aggregates.len()))?;
        Ok(Self { count, states, shown, is_dirty: false })
    }
}

impl State {
    fn new(aggregate: &Aggregate) -> Self {
        match aggregate {
            Aggregate::Rows => Self::Rows,
            Aggregate::DistinctRows => Self::DistinctRows(RowMap::default()),
            Aggregate::Of(_, empty) => Self::Of(Accumulator::clone(empty)),
        }
    }

    /// Panics if its counters disagree with the members of its group.
    fn check(&self, count: Weight) {
        match self {
            Self::Rows => {}
            Self::DistinctRows(rows) => {
                assert_eq!(rows.values().sum::<Weight>(), count, "groups: the different rows of a group");
                assert!(rows.values().all(|weight| *weight > 0), "groups: a row that has gone");
            }
            Self::Of(accumulator) => accumulator.check(),
        }
    }

    /// The value of a group, given its number of members.
    fn value(&self, count: Weight, flow: &mut Flow<'_>) -> TermId {
        let value = match self {
            Self::Rows => TermId::integer(count),
            Self::DistinctRows(rows) => TermId::integer(rows.len() as i64),
            Self::Of(accumulator) => accumulator.value(flow.eval.dictionary, &mut flow.eval.scratch.budget),
        };
        value.unwrap_or(TermId::UNBOUND)
    }

    fn save(&self, to: &mut Writer) {
        match self {
            Self::Rows => {}
            Self::DistinctRows(rows) => to.by_row(rows.iter(), |to, count| to.i64(*count)),
            Self::Of(accumulator) => accumulator.save(to),
        }
    }

    fn restored(aggregate: &Aggregate, from: &mut Reader<'_>, dictionary: &Dictionary) -> Decoded<Self> {
        let mut state = Self::new(aggregate);
        match &mut state {
            Self::Rows => {}
            Self::DistinctRows(rows) => *rows = from.list(16, |from| Ok((from.row()?, from.i64()?)))?,
            Self::Of(accumulator) => accumulator.restore(from, dictionary)?,
        }
        Ok(state)
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        match self {
            Self::Rows => terms_of(std::iter::empty()),
            Self::DistinctRows(rows) => terms_of(rows.keys()),
            Self::Of(accumulator) => Box::new(accumulator.terms()),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Rows => 0,
            Self::DistinctRows(rows) => rows.len(),
            Self::Of(accumulator) => accumulator.state_size(),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Rows => 0,
            Self::DistinctRows(rows) => row_map_bytes(rows),
            Self::Of(accumulator) => accumulator.heap_bytes(),
        }
    }
}

impl Operator for Group {
    fn absorb(&mut self, _port: usize, deltas: &Batch, _out: &mut Batch, flow: &mut Flow<'_>) {
        for (row, weight) in deltas.iter() {
            self.update(row, weight, flow);
        }
    }

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.drain(..).for_each(|slot| self.show(slot, out, flow));
        self.dirty = dirty;
    }

    fn emptying(&self) -> Emptying {
        Emptying::Forgets
    }

    /// Groups are processed in the order of their keys, because the order is visible in the numbers of blank nodes.
    fn forget_input(&mut self) {
        for slot in self.groups.sorted_slots() {
            let members = self.groups.value_mut(slot);
            members.count = 0;
            members.states.iter_mut().zip(&self.aggregates).for_each(|(state, of)| *state = State::new(of));
            if !std::mem::replace(&mut members.is_dirty, true) {
                self.dirty.push(slot);
            }
        }
    }

    fn check(&self) {
        self.groups.check();
        assert!(self.dirty.is_empty(), "groups: a group waits to be shown");
        for (_, members) in self.groups.iter() {
            let is_there = members.count > 0 || (!self.grouped && members.count == 0);
            assert!(is_there && !members.is_dirty, "groups: a group is kept that is not there");
            assert_eq!(members.shown.is_some(), members.count > 0 || !self.grouped, "groups: a group that is shown");
            members.states.iter().for_each(|state| state.check(members.count));
        }
    }

    fn save(&self, to: &mut Writer) {
        to.list(self.groups.sorted_slots().into_iter(), |to, slot| {
            to.row(self.groups.row(slot));
            self.groups.value(slot).save(to);
        });
        // Deltas are pending between two instants only if they came ahead of the close that shows them.
        to.list(self.dirty.iter(), |to, slot| to.row(self.groups.row(*slot)));
    }

    fn restore(&mut self, from: &mut Reader<'_>, eval: &mut EvalContext<'_>) -> Decoded<()> {
        self.groups = self.groups.emptied();
        self.dirty.clear();
        for _ in 0..from.count(17)? {
            let key = from.row_of(self.key_columns.len())?;
            let members = Members::restored(&self.aggregates, from, eval.dictionary)?;
            let (_, is_new) = self.groups.slot_of(&key, || members);
            ensure(is_new, "a group is there twice")?;
        }
        for _ in 0..from.count(8)? {
            let key = from.row_of(self.key_columns.len())?;
            let slot = self.groups.find(&key).ok_or(Damaged { what: "a changed group does not exist" })?;
            ensure(!std::mem::replace(&mut self.groups.value_mut(slot).is_dirty, true), "a group has changed twice")?;
            self.dirty.push(slot);
        }
        Ok(())
    }

    /// The permanent group does not count as state while it is empty.
    fn state_size(&self) -> usize {
        let filled = self.groups.iter().filter(|(_, members)| members.count != 0);
        filled.map(|(_, members)| 1 + members.states.iter().map(State::size).sum::<usize>()).sum()
    }

    fn bytes(&self) -> usize {
        self.groups.bytes(Members::heap_bytes) + list_bytes(&self.dirty)
    }

    /// Aggregates and their results are computed once, although rows may be renewed without end; the group without keys
    /// always exists.
    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        let members = || self.groups.iter().map(|(_, members)| members);
        let shown = terms_of(members().filter_map(|members| members.shown.as_ref()));
        let states = members().flat_map(|members| members.states.iter()).flat_map(State::held_terms);
        Box::new(self.groups.terms().chain(shown).chain(states))
    }
}
