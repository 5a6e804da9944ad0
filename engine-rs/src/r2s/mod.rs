//! From relation to stream: what an evaluation reports of the root's deltas.
//!
//! RSTREAM stores the result and reports all of it; ISTREAM and DSTREAM report the additions and removals since the
//! last report, as bag differences; `changes` reports both. Deltas of unreported instants add up until the next report.
//! If the current result must be readable at any time, the other three store it, too. Rows are compared by their
//! visible columns.

use crate::codec::{Decoded, Reader, Writer};
use crate::model::{Batch, Row, RowMap, TermId, Weight, count_row};
use crate::parse::R2s;

#[derive(Debug)]
pub(crate) struct RelationToStream {
    operator: R2s,
    visible: Vec<Option<usize>>,
    /// Whether rows are shown unchanged.
    shows_whole: bool,
    keeps_answer: bool,
    /// The current result, if it is stored, with the hidden columns that its order needs.
    answer: RowMap<Weight>,
    /// For the others: the changes since the last report.
    pending: Batch,
    compared_max: usize,
}

impl RelationToStream {
    pub(crate) fn new(operator: R2s, visible: Vec<Option<usize>>, keeps_answer: bool, compared_max: usize) -> Self {
        let pending = Batch::new(visible.len());
        let keeps_answer = keeps_answer || operator == R2s::Rstream;
        let shows_whole = visible.iter().enumerate().all(|(at, column)| *column == Some(at));
        Self { operator, visible, shows_whole, keeps_answer, answer: RowMap::default(), pending, compared_max }
    }

    /// Consumes the deltas of an instant; the batch is not read afterwards.
    pub(crate) fn absorb(&mut self, deltas: &mut Batch) {
        if self.keeps_answer {
            for (row, weight) in deltas.iter() {
                count_row(&mut self.answer, row, weight);
            }
        }
        if self.operator == R2s::Rstream {
            return;
        }
        if self.shows_whole && self.pending.is_empty() && deltas.width() == self.visible.len() {
            return std::mem::swap(&mut self.pending, deltas);
        }
        for (row, weight) in deltas.iter() {
            let shown = self.visible.iter().map(|column| column.map_or(TermId::UNBOUND, |c| row[c]));
            self.pending.push_with(weight, shown);
        }
    }

    /// Whether new rows of this width are reported unchanged and nothing is stored.
    pub(crate) fn passes_on(&self, width: usize) -> bool {
        self.operator == R2s::Istream && !self.keeps_answer && self.shows_whole && width == self.visible.len()
    }

    pub(crate) fn keeps_answer(&self) -> bool {
        self.keeps_answer
    }

    /// The current result with hidden columns, which RSTREAM reports. Empty if it is not stored.
    pub(crate) fn answer(&self) -> &RowMap<Weight> {
        &self.answer
    }

    /// Consolidates the additions and removals since the last report; returns the number of rows that a report would
    /// have now.
    pub(crate) fn consolidate(&mut self) -> u64 {
        if self.operator == R2s::Rstream {
            return self.answer.values().map(|weight| weight.unsigned_abs()).sum();
        }
        self.pending.consolidate(self.compared_max);
        self.pending.iter().map(|(_, weight)| weight.unsigned_abs()).sum()
    }

    /// Called when nothing will be reported any more.
    pub(crate) fn forget(&mut self) {
        self.answer = RowMap::default();
        self.pending = Batch::new(self.visible.len());
    }

    pub(crate) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// The visible columns of a row.
    pub(crate) fn shown(&self, row: &[TermId]) -> Row {
        self.visible.iter().map(|column| column.map_or(TermId::UNBOUND, |c| row[c])).collect()
    }

    /// The number of visible columns.
    pub(crate) fn width(&self) -> usize {
        self.visible.len()
    }

    pub(crate) fn operator(&self) -> R2s {
        self.operator
    }

    /// Rows that wait for a report: their terms must not be freed.
    pub(crate) fn pending(&self) -> &Batch {
        &self.pending
    }

    /// Panics if the result contains a row that has left.
    pub(crate) fn check(&self) {
        assert!(self.answer.values().all(|weight| *weight > 0), "answer: a row that has gone, or goes twice");
        assert!(self.keeps_answer || self.answer.is_empty(), "answer: it is kept although nothing reads it");
        assert!(self.operator != R2s::Rstream || self.pending.is_empty(), "answer: changes that are never reported");
    }

    pub(crate) fn state_size(&self) -> usize {
        self.answer.len() + self.pending.len()
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        to.by_row(self.answer.iter(), |to, weight| to.i64(*weight));
        to.list(
            (0..self.pending.len()).map(|at| (self.pending.row(at), self.pending.weight(at))),
            |to, (row, weight)| {
                to.row(row);
                to.i64(weight);
            },
        );
    }

    pub(crate) fn restore(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        self.answer = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        self.pending.clear();
        for _ in 0..from.count(16)? {
            let (row, weight) = (from.row_of(self.visible.len())?, from.i64()?);
            self.pending.push(&row, weight);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_and_what_is_kept_are_state_until_they_are_forgotten() {
        for (operator, keeps, size) in
            [(R2s::Istream, false, 1), (R2s::Istream, true, 2), (R2s::Rstream, false, 1), (R2s::Rstream, true, 1)]
        {
            let mut reported = RelationToStream::new(operator, vec![Some(0)], keeps, 16);
            assert_eq!(reported.keeps_answer(), keeps || operator == R2s::Rstream);
            let mut deltas = Batch::new(1);
            deltas.push(&[TermId::UNBOUND], 1);
            reported.absorb(&mut deltas);
            assert_eq!(reported.state_size(), size, "{operator:?}");
            reported.forget();
            assert_eq!((reported.state_size(), reported.consolidate()), (0, 0));
        }
    }
}
