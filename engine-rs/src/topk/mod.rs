//! ORDER BY with LIMIT and OFFSET, kept incrementally.
//!
//! All rows are kept in order; after an instant, the visible prefix is compared with the previous one. Ties are broken
//! by the visible terms, so the result does not depend on the order of arrival. Cost per delta: one search in a tree;
//! per instant: offset + limit rows.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::order::{SortKey, sort_key};
use crate::expr::{EvalContext, Expr, TermKey};
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, Row, TermId, Weight, list_bytes, tree_bytes};
use std::cmp::Ordering;
use std::collections::BTreeMap;

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
    pub order: RowOrder,
    pub offset: usize,
    pub limit: Option<usize>,
    ranked: BTreeMap<Rank, Weight>,
    shown: Vec<(Row, Weight)>,
    compared_max: usize,
}

impl TopK {
    pub(crate) fn new(order: RowOrder, offset: usize, limit: Option<usize>, compared_max: usize) -> Self {
        Self { order, offset, limit, ranked: BTreeMap::new(), shown: Vec::new(), compared_max }
    }

    /// The rows from `offset` on, at most `limit` of them, counting repetitions.
    fn in_view(&self) -> Vec<(Row, Weight)> {
        let mut skip = self.offset as Weight;
        let mut left = self.limit.map_or(Weight::MAX, |limit| limit as Weight);
        let mut view = Vec::new();
        for (rank, weight) in &self.ranked {
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
}

impl Operator for TopK {
    fn absorb(&mut self, _port: usize, deltas: &Batch, _out: &mut Batch, flow: &mut Flow<'_>) {
        // Each row gets a key for every ordering column, and a position among all rows.
        let keys = 2 + self.order.comparators.len() + self.order.shown.len();
        flow.eval.scratch.budget.spend_rows(deltas.len(), keys);
        for (row, weight) in deltas.iter() {
            let rank = self.order.rank(row, &mut flow.eval);
            let count = self.ranked.entry(rank.clone()).or_insert(0);
            *count += weight;
            if *count == 0 {
                self.ranked.remove(&rank);
            }
        }
    }

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        let view = self.in_view();
        flow.eval.scratch.budget.spend(view.len() as u64);
        if view != self.shown {
            let start = out.len();
            self.shown.iter().for_each(|(row, weight)| out.push(row, -weight));
            view.iter().for_each(|(row, weight)| out.push(row, *weight));
            debug_assert_eq!(start, 0, "only finish emits");
            // Most of the visible rows usually stay; they cancel here, and only rows that enter or leave are passed on.
            out.consolidate(self.compared_max);
            self.shown = view;
        }
    }

    fn check(&self) {
        assert!(self.ranked.values().all(|weight| *weight > 0), "ranked rows: a row that has gone is kept");
        assert!(self.shown == self.in_view(), "ranked rows: what is shown is not the first of them");
    }

    fn save(&self, to: &mut Writer) {
        let counted = |to: &mut Writer, (row, weight): (&Row, &Weight)| {
            to.row(row);
            to.i64(*weight);
        };
        to.list(self.ranked.iter().map(|(rank, weight)| (&rank.row, weight)), counted);
        to.list(self.shown.iter().map(|(row, weight)| (row, weight)), counted);
    }

    /// The position of a row follows from the row.
    fn restore(&mut self, from: &mut Reader<'_>, eval: &mut EvalContext<'_>) -> Decoded<()> {
        let ranked: Vec<(Row, Weight)> = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        self.ranked = ranked.iter().map(|(row, weight)| (self.order.rank(row, eval), *weight)).collect();
        self.shown = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        Ok(())
    }

    fn state_size(&self) -> usize {
        self.ranked.len()
    }

    fn bytes(&self) -> usize {
        let shown: usize = self.shown.iter().map(|(row, _)| size_of_val(&**row)).sum();
        let ranked: usize = self.ranked.keys().map(Rank::heap_bytes).sum();
        tree_bytes::<(Rank, Weight)>(self.ranked.len()) + ranked + list_bytes(&self.shown) + shown
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        let in_view = self.shown.iter().map(|(row, _)| row);
        terms_of(self.ranked.keys().map(|rank| &rank.row).chain(in_view))
    }
}
