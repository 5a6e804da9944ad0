//! GROUP BY: groups and their accumulators; one row per group, replaced when its values change.
//!
//! Values are added and taken away as mappings come and go (the papers' Algorithm 6); rows are
//! emitted once per instant, when all deltas are in. Without GROUP BY there is one group that is
//! there even when it is empty. Cost per delta: one hash and one update per aggregate.

use crate::aggregate::{Accumulator, AggregateSpec};
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::encode::Dictionary;
use crate::expr::{EvalContext, Expr};
use crate::flow::{Emptying, Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, Row, RowMap, TermId, Weight, count_row};
use hashbrown::hash_map::EntryRef;
use smallvec::SmallVec;

/// One aggregate of a SELECT.
#[derive(Debug)]
pub(crate) enum Aggregate {
    /// `COUNT(*)`
    Rows,
    /// `COUNT(DISTINCT *)`
    DistinctRows,
    /// An aggregate of an expression.
    Of(Expr, AggregateSpec),
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
    states: Vec<State>,
    shown: Option<Row>,
    is_dirty: bool,
}

#[derive(Debug)]
pub(crate) struct Group {
    key_columns: Vec<usize>,
    /// Whether there is a GROUP BY: then an empty group has no row.
    grouped: bool,
    aggregates: Vec<Aggregate>,
    groups: RowMap<Members>,
    dirty: Vec<Row>,
}

impl Group {
    pub(crate) fn new(key_columns: Vec<usize>, aggregates: Vec<Aggregate>, grouped: bool) -> Self {
        let mut group = Self { key_columns, grouped, aggregates, groups: RowMap::default(), dirty: Vec::new() };
        if !grouped {
            touched(&mut group.groups, &mut group.dirty, &group.aggregates, &[]);
        }
        group
    }

    fn update(&mut self, row: &[TermId], weight: Weight, flow: &mut Flow<'_>) {
        let Self { key_columns, aggregates, groups, dirty, .. } = self;
        let key: SmallVec<[TermId; 4]> = key_columns.iter().map(|column| row[*column]).collect();
        let members = touched(groups, dirty, aggregates, &key);
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

    fn show(&mut self, key: &Row, out: &mut Batch, flow: &mut Flow<'_>) {
        let always_there = !self.grouped;
        let Some(members) = self.groups.get_mut(key) else { return };
        members.is_dirty = false;
        let row = (members.count > 0 || always_there).then(|| members.row(key, flow));
        if row != members.shown {
            if let Some(old) = &members.shown {
                out.push(old, -1);
            }
            if let Some(new) = &row {
                out.push(new, 1);
            }
            members.shown = row;
        }
        if members.count == 0 && !always_there {
            self.groups.remove(key);
        }
    }
}

/// The group of a key, marked as changed at this instant.
fn touched<'a>(
    groups: &'a mut RowMap<Members>,
    dirty: &mut Vec<Row>,
    aggregates: &[Aggregate],
    key: &[TermId],
) -> &'a mut Members {
    let members = match groups.entry_ref(key) {
        EntryRef::Occupied(group) => group.into_mut(),
        EntryRef::Vacant(place) => place.insert_with_key(key.into(), Members::new(aggregates)),
    };
    if !std::mem::replace(&mut members.is_dirty, true) {
        dirty.push(key.into());
    }
    members
}

impl Members {
    fn new(aggregates: &[Aggregate]) -> Self {
        Self { count: 0, states: aggregates.iter().map(State::new).collect(), shown: None, is_dirty: false }
    }

    fn row(&self, key: &Row, flow: &mut Flow<'_>) -> Row {
        let values = self.states.iter().map(|state| match state {
            State::Rows => TermId::integer(self.count),
            State::DistinctRows(rows) => TermId::integer(rows.len() as i64),
            State::Of(accumulator) => accumulator.value(flow.eval.dictionary, &mut flow.eval.scratch.budget),
        });
        key.iter().copied().chain(values.map(|value| value.unwrap_or(TermId::UNBOUND))).collect()
    }
}

impl Members {
    fn save(&self, to: &mut Writer) {
        to.i64(self.count);
        self.states.iter().for_each(|state| state.save(to));
        to.option(self.shown.as_ref(), |to, row| to.row(row));
    }

    fn restored(aggregates: &[Aggregate], from: &mut Reader<'_>, dictionary: &Dictionary) -> Decoded<Self> {
        let count = from.i64()?;
        let states = aggregates.iter().map(|aggregate| State::restored(aggregate, from, dictionary));
        let states = states.collect::<Decoded<_>>()?;
        Ok(Self { count, states, shown: from.option(Reader::row)?, is_dirty: false })
    }
}

impl State {
    fn new(aggregate: &Aggregate) -> Self {
        match aggregate {
            Aggregate::Rows => Self::Rows,
            Aggregate::DistinctRows => Self::DistinctRows(RowMap::default()),
            Aggregate::Of(_, spec) => Self::Of(Accumulator::new(spec)),
        }
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
}

impl Operator for Group {
    fn absorb(&mut self, _port: usize, deltas: &Batch, _out: &mut Batch, flow: &mut Flow<'_>) {
        for (row, weight) in deltas.iter() {
            self.update(row, weight, flow);
        }
    }

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        for key in std::mem::take(&mut self.dirty) {
            self.show(&key, out, flow);
        }
    }

    fn emptying(&self) -> Emptying {
        Emptying::Forgets
    }

    fn forget_input(&mut self) {
        for (key, members) in &mut self.groups {
            members.count = 0;
            let fresh = self.aggregates.iter().map(State::new);
            members.states.iter_mut().zip(fresh).for_each(|(state, fresh)| *state = fresh);
            if !std::mem::replace(&mut members.is_dirty, true) {
                self.dirty.push(key.clone());
            }
        }
    }

    fn save(&self, to: &mut Writer) {
        to.by_row(self.groups.iter(), |to, members| members.save(to));
    }

    fn restore(&mut self, from: &mut Reader<'_>, eval: &mut EvalContext<'_>) -> Decoded<()> {
        let Self { key_columns, aggregates, .. } = self;
        self.groups = from.list(17, |from| {
            Ok((from.row_of(key_columns.len())?, Members::restored(aggregates, from, eval.dictionary)?))
        })?;
        self.dirty.clear();
        let width = self.key_columns.len() + self.aggregates.len();
        let mut shown = self.groups.values().filter_map(|members| members.shown.as_ref());
        ensure(shown.all(|row| row.len() == width), "a group shows another number of columns")
    }

    /// The group that is always there is not counted while it is empty.
    fn state_size(&self) -> usize {
        let filled = self.groups.values().filter(|members| members.count != 0);
        filled.map(|members| 1 + members.states.iter().map(State::size).sum::<usize>()).sum()
    }

    /// What is aggregated and what comes of it is computed once, though rows may be renewed for ever; and the group
    /// without keys is always there.
    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        let shown = self.groups.values().filter_map(|members| members.shown.as_ref());
        let states = self.groups.values().flat_map(|members| members.states.iter());
        Box::new(terms_of(self.groups.keys().chain(shown)).chain(states.flat_map(State::held_terms)))
    }
}
