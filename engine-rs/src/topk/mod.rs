//! ORDER BY with LIMIT and OFFSET, kept incrementally.
//!
//! All rows stay in order; after an instant the prefix that is in view is compared with the one
//! before. Ties in the order are broken by the terms themselves, so the answer does not depend on
//! the order of arrival. Cost per delta: one search in a tree; per instant: offset + limit rows.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::order::{SortKey, sort_key};
use crate::expr::{EvalContext, Expr};
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, Row, TermId, Weight};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// One comparator of ORDER BY.
#[derive(Debug)]
pub(crate) struct Comparator {
    pub expression: Expr,
    pub descending: bool,
}

/// Where a row stands: the values of the comparators, then the row's own terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rank {
    keys: Vec<(SortKey, bool)>,
    ties: Vec<(SortKey, Option<Box<str>>)>,
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
        // Ties are compared by value and text, never by id first: ids depend on the order of arrival, and the cut of a
        // LIMIT must not. The ids only keep rows apart whose terms are written alike.
        self.ties.cmp(&other.ties).then_with(|| self.row.cmp(&other.row))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(crate) fn rank(row: &[TermId], comparators: &[Comparator], eval: &mut EvalContext<'_>) -> Rank {
    let mut keys = Vec::with_capacity(comparators.len());
    for comparator in comparators {
        let value = comparator.expression.evaluate(row, eval).unwrap_or(TermId::UNBOUND);
        keys.push((sort_key(value, eval.dictionary), comparator.descending));
    }
    let dictionary = &*eval.dictionary;
    let ties = row.iter().map(|term| (sort_key(*term, dictionary), dictionary.text_beyond_value(*term))).collect();
    Rank { keys, ties, row: row.into() }
}

#[derive(Debug)]
pub(crate) struct TopK {
    pub comparators: Vec<Comparator>,
    pub offset: usize,
    pub limit: Option<usize>,
    ranked: BTreeMap<Rank, Weight>,
    shown: Vec<(Row, Weight)>,
    compared_max: usize,
}

impl TopK {
    pub(crate) fn new(comparators: Vec<Comparator>, offset: usize, limit: Option<usize>, compared_max: usize) -> Self {
        Self { comparators, offset, limit, ranked: BTreeMap::new(), shown: Vec::new(), compared_max }
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
        for (row, weight) in deltas.iter() {
            let rank = rank(row, &self.comparators, &mut flow.eval);
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
            // Most of the view usually stays; its rows cancel here, and only what enters and leaves goes on.
            out.consolidate(self.compared_max);
            self.shown = view;
        }
    }

    fn save(&self, to: &mut Writer) {
        let counted = |to: &mut Writer, (row, weight): (&Row, &Weight)| {
            to.row(row);
            to.i64(*weight);
        };
        to.list(self.ranked.iter().map(|(rank, weight)| (&rank.row, weight)), counted);
        to.list(self.shown.iter().map(|(row, weight)| (row, weight)), counted);
    }

    /// Where a row stands follows from the row.
    fn restore(&mut self, from: &mut Reader<'_>, eval: &mut EvalContext<'_>) -> Decoded<()> {
        let ranked: Vec<(Row, Weight)> = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        let comparators = &self.comparators;
        self.ranked = ranked.iter().map(|(row, weight)| (rank(row, comparators, eval), *weight)).collect();
        self.shown = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        Ok(())
    }

    fn state_size(&self) -> usize {
        self.ranked.len()
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        let in_view = self.shown.iter().map(|(row, _)| row);
        terms_of(self.ranked.keys().map(|rank| &rank.row).chain(in_view))
    }
}
