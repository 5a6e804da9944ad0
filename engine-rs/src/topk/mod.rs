//! ORDER BY with LIMIT and OFFSET, kept incrementally.
//!
//! All rows are kept in order; after an instant, the visible prefix is compared with the previous one. Inside `GRAPH ?g`
//! each graph has a prefix of its own. Ties are broken by the visible terms, so the result does not depend on the order of
//! arrival. Cost per delta: one search in a tree; per instant: offset + limit rows, for each graph that has changed.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::order::{SortKey, sort_key};
use crate::expr::{EvalContext, Expr, TermKey};
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, Row, TermId, Weight, list_bytes, tree_bytes};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// One comparator of ORDER BY.
#[derive(Debug)]
pub(crate) struct Comparator {
    pub expression: Expr,
    pub descending: bool,
}

/// The order of the rows of a query: ORDER BY, then the terms of the columns it shows, in the order of SELECT. Hidden
/// columns decide nothing: their order is the planner's own.
#[derive(Debug)]
pub(crate) struct RowOrder {
    pub comparators: Vec<Comparator>,
    /// Columns; `None` is a column that is never bound.
    pub shown: Vec<Option<usize>>,
}

/// The position of a row: the values of the comparators, then the visible terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rank {
    keys: Vec<(SortKey, bool)>,
    ties: Vec<TermKey>,
    row: Row,
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        for ((ours, descending), (theirs, _)) in self.keys.iter().zip(&other.keys) {
            let order = ours.cmp(theirs);
            let order = if *descending { order.reverse() } else { order };
            if order != Ordering::Equal {
                return order;
            }
        }
        // Ties are compared by value and form, never by id first: ids depend on the order of arrival, and the cut of a
        // LIMIT must not. Ids only distinguish rows that look alike.
        self.ties.cmp(&other.ties).then_with(|| self.row.cmp(&other.row))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Rank {
    fn heap_bytes(&self) -> usize {
        let keys = list_bytes(&self.keys) + self.keys.iter().map(|(key, _)| key.heap_bytes()).sum::<usize>();
        let ties = list_bytes(&self.ties) + self.ties.iter().map(TermKey::heap_bytes).sum::<usize>();
        keys + ties + size_of_val(&*self.row)
    }
}

impl RowOrder {
    pub(crate) fn rank(&self, row: &[TermId], eval: &mut EvalContext<'_>) -> Rank {
        let mut keys = Vec::with_capacity(self.comparators.len());
        for comparator in &self.comparators {
            let value = comparator.expression.evaluate(row, eval).unwrap_or(TermId::UNBOUND);
            keys.push((sort_key(value, eval.dictionary), comparator.descending));
        }
        let ties = self.shown.iter().flatten().map(|column| TermKey::of(row[*column], eval.dictionary)).collect();
        Rank { keys, ties, row: row.into() }
    }
}

#[derive(Debug)]
pub(crate) struct TopK {
    order: RowOrder,
    /// The column with the name of the graph, if the first rows of each graph are wanted.
    each: Option<usize>,
    offset: usize,
    limit: Option<usize>,
    /// By the name of the graph; without graphs there is one at most.
    parts: BTreeMap<TermId, Ranked>,
    /// Those in which something has changed at this instant.
    changed: BTreeSet<TermId>,
    compared_max: usize,
}

/// The rows of which the first are in view.
#[derive(Debug, Default)]
struct Ranked {
    rows: BTreeMap<Rank, Weight>,
    shown: Vec<(Row, Weight)>,
}

impl Ranked {
    /// The rows from `offset` on, at most `limit` of them, counting repetitions.
    fn in_view(&self, offset: usize, limit: Option<usize>) -> Vec<(Row, Weight)> {
        let mut skip = offset as Weight;
        let mut left = limit.map_or(Weight::MAX, |limit| limit as Weight);
        let mut view = Vec::new();
        for (rank, weight) in &self.rows {
            let skipped = skip.min(*weight);
            skip -= skipped;
            let shown = (weight - skipped).min(left);
            left -= shown;
            if shown > 0 {
                view.push((rank.row.clone(), shown));
            }
            if left == 0 {
                break;
            }
        }
        view
    }

    fn bytes(&self) -> usize {
        let shown: usize = self.shown.iter().map(|(row, _)| size_of_val(&**row)).sum();
        let rows: usize = self.rows.keys().map(Rank::heap_bytes).sum();
        tree_bytes::<(Rank, Weight)>(self.rows.len()) + rows + list_bytes(&self.shown) + shown
    }
}

impl TopK {
    pub(crate) fn new(
        order: RowOrder,
        each: Option<usize>,
        (offset, limit): (usize, Option<usize>),
        compared_max: usize,
    ) -> Self {
        Self { order, each, offset, limit, parts: BTreeMap::new(), changed: BTreeSet::new(), compared_max }
    }

    fn part_of(&self, row: &[TermId]) -> TermId {
        self.each.map_or(TermId::UNBOUND, |column| row[column])
    }
}

impl Operator for TopK {
    fn absorb(&mut self, _port: usize, deltas: &Batch, _out: &mut Batch, flow: &mut Flow<'_>) {
        // Each row gets a key for every ordering column, and a position among all rows.
        let keys = 2 + self.order.comparators.len() + self.order.shown.len();
        flow.eval.scratch.budget.spend_rows(deltas.len(), keys);
        for (row, weight) in deltas.iter() {
            let rank = self.order.rank(row, &mut flow.eval);
            let name = self.part_of(row);
            self.changed.insert(name);
            let rows = &mut self.parts.entry(name).or_default().rows;
            let count = rows.entry(rank.clone()).or_insert(0);
            *count += weight;
            if *count == 0 {
                rows.remove(&rank);
            }
        }
    }

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        debug_assert_eq!(out.len(), 0, "only finish emits");
        for name in std::mem::take(&mut self.changed) {
            let Some(part) = self.parts.get_mut(&name) else { continue };
            let view = part.in_view(self.offset, self.limit);
            flow.eval.scratch.budget.spend(view.len() as u64);
            if view != part.shown {
                part.shown.iter().for_each(|(row, weight)| out.push(row, -weight));
                view.iter().for_each(|(row, weight)| out.push(row, *weight));
                part.shown = view;
            }
            if part.rows.is_empty() {
                self.parts.remove(&name);
            }
        }
        // Most of the visible rows usually stay; they cancel here, and only rows that enter or leave are passed on.
        out.consolidate(self.compared_max);
    }

    fn check(&self) {
        for part in self.parts.values() {
            assert!(part.rows.values().all(|weight| *weight > 0), "ranked rows: a row that has gone is kept");
            let view = part.in_view(self.offset, self.limit);
            assert!(part.shown == view, "ranked rows: what is shown is not the first of them");
        }
    }

    fn save(&self, to: &mut Writer) {
        let counted = |to: &mut Writer, (row, weight): (&Row, &Weight)| {
            to.row(row);
            to.i64(*weight);
        };
        let parts = || self.parts.values();
        let ranked: Vec<_> = parts().flat_map(|part| &part.rows).map(|(rank, weight)| (&rank.row, weight)).collect();
        to.list(ranked.into_iter(), counted);
        let shown: Vec<_> = parts().flat_map(|part| &part.shown).map(|(row, weight)| (row, weight)).collect();
        to.list(shown.into_iter(), counted);
    }

    /// The position of a row follows from the row.
    fn restore(&mut self, from: &mut Reader<'_>, eval: &mut EvalContext<'_>) -> Decoded<()> {
        let ranked: Vec<(Row, Weight)> = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        let shown: Vec<(Row, Weight)> = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        for (row, weight) in ranked {
            let (name, rank) = (self.part_of(&row), self.order.rank(&row, eval));
            self.parts.entry(name).or_default().rows.insert(rank, weight);
        }
        for (row, weight) in shown {
            let name = self.part_of(&row);
            self.parts.entry(name).or_default().shown.push((row, weight));
        }
        Ok(())
    }

    fn state_size(&self) -> usize {
        self.parts.values().map(|part| part.rows.len()).sum()
    }

    fn bytes(&self) -> usize {
        tree_bytes::<(TermId, Ranked)>(self.parts.len()) + self.parts.values().map(Ranked::bytes).sum::<usize>()
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        let ranked = self.parts.values().flat_map(|part| part.rows.keys().map(|rank| &rank.row));
        let in_view = self.parts.values().flat_map(|part| part.shown.iter().map(|(row, _)| row));
        terms_of(ranked.chain(in_view))
    }
}
