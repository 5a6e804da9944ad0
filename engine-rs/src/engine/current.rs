//! The current result of a query: either its stored rows, or the rows that its join finds on request.
//!
//! A query whose joins retract stores its result row by row if asked to (`keep_answer`). If nothing retracts, as in a
//! plain ISTREAM, storing the result would cost more than the query itself. In that case the leaves hold the current
//! mappings and no operator above the join keeps state, so the result is their join, enumerated anew on each request.

use super::query::{RunningQuery, Surroundings, text_seed};
use crate::expr::{EvalContext, Scratch, compare_rows};
use crate::flow::Flow;
use crate::limits::{Breach, within};
use crate::model::{Batch, Row, RowMap, Weight, count_row};
use crate::plan::NodeKind;
use crate::r2s::RelationToStream;
use crate::sink::Rows;
use crate::time::Timestamp;
use crate::topk::RowOrder;

/// How the rows of a full result are presented.
#[derive(Debug)]
pub(super) struct ShownRows {
    pub order: RowOrder,
    /// Only the first of rows whose visible columns are equal.
    pub once: bool,
}

impl ShownRows {
    /// In the order of ORDER BY if there is one, otherwise sorted by terms, so that neither ids nor hash tables affect
    /// the output.
    pub fn in_order(&self, rows: &RowMap<Weight>, r2s: &RelationToStream, eval: &mut EvalContext<'_>) -> Rows {
        let mut shown: Vec<(Row, Weight)> = if self.order.comparators.is_empty() {
            let mut shown: Vec<_> = rows.iter().map(|(row, weight)| (r2s.shown(row), *weight)).collect();
            shown.sort_unstable_by(|a, b| compare_rows(&a.0, &b.0, eval.dictionary));
            shown
        } else {
            let ranked = rows.iter().map(|(row, weight)| (self.order.rank(row, eval), row, weight));
            let mut ranked: Vec<_> = ranked.collect();
            ranked.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            ranked.into_iter().map(|(_, row, weight)| (r2s.shown(row), *weight)).collect()
        };
        if self.once {
            let mut seen = std::collections::BTreeSet::new();
            shown.retain_mut(|(row, weight)| {
                *weight = 1;
                seen.insert(row.clone())
            });
        }
        let mut answer = Rows::new(r2s.width());
        for (row, weight) in shown.drain(..) {
            (0..weight).for_each(|_| answer.push(row.iter().copied()));
        }
        answer
    }
}

impl RunningQuery {
    /// The full result, joined anew from the leaves. The work has a separate budget under the query's limits: a request
    /// that is too costly must not fail the query.
    pub(super) fn enumerated_answer(&mut self, around: &mut Surroundings<'_>) -> Result<Rows, Breach> {
        let seed = text_seed(&self.definition.text);
        let mut scratch = Scratch::new(seed).within(self.scratch.budget.limits());
        within(|| {
            let mut flow = around.flow(&mut scratch);
            let rows = self.enumerated_rows(&mut flow);
            flow.eval.now = Timestamp::EPOCH;
            self.shown_rows.in_order(&rows, &self.r2s, &mut flow.eval)
        })
    }

    /// Only filters and computed columns are above the only join, and they keep no state.
    fn enumerated_rows(&mut self, flow: &mut Flow<'_>) -> RowMap<Weight> {
        let mut found: Option<Batch> = None;
        for node in &mut self.nodes {
            let mut out = Batch::new(node.schema.width());
            match (&mut node.kind, &found) {
                (NodeKind::Join(join), _) => join.enumerate(&mut out, flow),
                (NodeKind::Operator(operator), Some(rows)) => {
                    flow.eval.scratch.budget.spend_rows(rows.len(), node.schema.width());
                    operator.absorb(0, rows, &mut out, flow);
                }
                // Static relations precede the join, which has their rows.
                (NodeKind::Operator(_), None) => continue,
            }
            found = Some(out);
        }
        let mut counted = RowMap::default();
        for (row, weight) in found.iter().flat_map(Batch::iter) {
            count_row(&mut counted, row, weight);
        }
        counted
    }
}
