//! What a running query reports of an evaluation, and whether it has anything to report.
//!
//! Invariant: a report covers all changes since the previous one, whether or not the evaluations in between reported.

use super::chain::OutputEvent;
use super::query::{RunningQuery, follows_clock};
use crate::encode::Dictionary;
use crate::expr::{EvalContext, compare_rows};
use crate::model::Weight;
use crate::parse::R2s;
use crate::plan::Answer;
use crate::r2s::RelationToStream;
use crate::sink::{AnswerKind, Draft, Rows, Skipped};
use crate::time::Timestamp;
use smallvec::SmallVec;

impl RunningQuery {
    /// Reports the evaluation at this instant. `cover` writes the extents of these windows of the timeline, if there is
    /// something to report.
    pub(crate) fn report(
        &mut self,
        at: Timestamp,
        cover: impl FnOnce(&[usize], &mut Draft<'_>),
        skipped: Option<Skipped>,
        dictionary: &mut Dictionary,
    ) {
        self.evaluations += 1;
        let operator = self.r2s.operator();
        let may_be_empty = operator == R2s::Rstream || self.reports_always;
        if !may_be_empty && self.r2s.pending().is_empty() {
            return;
        }
        let keys = 1 + self.shown_rows.order.comparators.len() + self.r2s.width();
        self.scratch.budget.spend_rows(self.r2s.state_size(), keys);
        let due = self.r2s.consolidate();
        self.scratch.budget.admit_result(due);
        let whole = (operator == R2s::Rstream).then(|| self.whole_answer(dictionary));
        let mut draft = self.results.draft(self.r2s.width());
        match &whole {
            Some(rows) => rows.iter().for_each(|row| draft.insert(row)),
            None => write_changes(&mut draft, &self.r2s, dictionary),
        }
        self.r2s.forget_pending();
        let kind = match &self.answer {
            Answer::Boolean => {
                let value = draft.n_inserted() > 0;
                draft.discard();
                if self.last_boolean.replace(value) == Some(value) {
                    return;
                }
                AnswerKind::Boolean(value)
            }
            _ if !may_be_empty && draft.is_empty() => return,
            Answer::Bindings(_) => AnswerKind::Bindings,
            Answer::Graph(_) => AnswerKind::Graph,
        };
        if let (Some(output), AnswerKind::Graph) = (&mut self.output, kind) {
            // DSTREAM writes removals; otherwise a stream consists of additions.
            let rows = draft.rows(operator != R2s::Dstream);
            output.extend(OutputEvent::each_graph(at, rows));
        }
        // A query that reports only changes has nothing to report for readings without changes, unless it depends on
        // the clock.
        let skipped = skipped.filter(|_| operator == R2s::Rstream || follows_clock(&self.nodes));
        cover(&self.windows, &mut draft);
        draft.add(kind, at, skipped);
    }

    /// Whether it emits something at every report, even if nothing has changed.
    pub(super) fn reports_unchanged(&self) -> bool {
        let emits_full_result = self.r2s.operator() == R2s::Rstream && !matches!(self.answer, Answer::Boolean);
        emits_full_result || self.reports_always
    }

    /// Whether it emits nothing until the content of some window changes.
    pub(super) fn is_silent(&self) -> bool {
        self.failed.is_some() || (!self.reports_unchanged() && !self.follows_clock() && self.has_reported_all())
    }

    /// Whether readings without a change still differ for this query, or for the readers of the stream that it writes.
    pub(super) fn is_restless(&self) -> bool {
        let repeats_itself = self.r2s.operator() == R2s::Rstream && !self.r2s.answer().is_empty();
        self.failed.is_none() && (self.follows_clock() || (self.writes_stream() && repeats_itself))
    }

    pub(super) fn follows_clock(&self) -> bool {
        follows_clock(&self.nodes)
    }

    pub(super) fn writes_stream(&self) -> bool {
        self.output.is_some()
    }

    /// Whether the last report covers everything: a reading may have changed the result without reporting it.
    pub(super) fn has_reported_all(&self) -> bool {
        match self.answer {
            Answer::Boolean => self.last_boolean == Some(!self.r2s.answer().is_empty()),
            _ => !self.has_unreported_rows(),
        }
    }

    /// Whether every reading must be reported, because the reports of other partitions are combined with it.
    pub(super) fn reports_always(&self) -> bool {
        self.reports_always
    }

    /// From now on, reports are also events of a stream.
    pub(super) fn writes(&mut self) {
        self.output = Some(Vec::new());
    }

    pub(super) fn take_output(&mut self) -> Vec<OutputEvent> {
        self.output.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The stored full result, as it is shown.
    pub(super) fn whole_answer(&mut self, dictionary: &mut Dictionary) -> Rows {
        let eval = &mut EvalContext { dictionary, now: Timestamp::EPOCH, scratch: &mut self.scratch };
        self.shown_rows.in_order(self.r2s.answer(), &self.r2s, eval)
    }

    /// Whether the full result is stored row by row.
    pub(super) fn keeps_answer(&self) -> bool {
        self.r2s.keeps_answer()
    }

    /// Whether the full result can be enumerated from the leaves.
    pub(super) fn enumerates_answer(&self) -> bool {
        self.enumerates_answer
    }
}

/// Writes the additions and removals since the last report, consolidated, as far as the operator reports them.
#[inline]
fn write_changes(draft: &mut Draft<'_>, r2s: &RelationToStream, dictionary: &Dictionary) {
    let (operator, pending) = (r2s.operator(), r2s.pending());
    if pending.len() == 1 {
        let (row, weight) = (pending.row(0), pending.weight(0));
        if operator != R2s::Dstream {
            (0..weight).for_each(|_| draft.insert(row));
        }
        if operator != R2s::Istream {
            (weight..0).for_each(|_| draft.delete(row));
        }
        return;
    }
    let in_order = |sign: Weight| {
        let numbers = 0..pending.len() as u32;
        let mut numbers: SmallVec<[u32; 8]> = numbers.filter(|i| pending.weight(*i as usize) * sign > 0).collect();
        if numbers.len() > 1 {
            numbers
                .sort_unstable_by(|a, b| compare_rows(pending.row(*a as usize), pending.row(*b as usize), dictionary));
        }
        let row = |number: u32| (pending.row(number as usize), pending.weight(number as usize).unsigned_abs());
        numbers.into_iter().map(row)
    };
    if operator != R2s::Dstream {
        in_order(1).for_each(|(row, times)| (0..times).for_each(|_| draft.insert(row)));
    }
    if operator != R2s::Istream {
        in_order(-1).for_each(|(row, times)| (0..times).for_each(|_| draft.delete(row)));
    }
}
