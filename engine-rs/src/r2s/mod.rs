//! From relation to stream: what an evaluation reports of the root's deltas.
//!
//! RSTREAM keeps the answer and gives it whole; ISTREAM and DSTREAM give what came and what went
//! since the last report, as bag differences; `changes` gives both. Deltas of instants that are
//! not reported add up until one is. Where the answer is to be read at any time, the others keep it too. Rows are compared by what is shown of them.

use crate::codec::{Decoded, Reader, Writer};
use crate::model::{Batch, Row, RowMap, TermId, Weight, count_row};
use crate::parse::R2s;

#[derive(Debug)]
pub(crate) struct RelationToStream {
    operator: R2s,
    visible: Vec<Option<usize>>,
    /// Whether rows are shown as they are.
    shows_whole: bool,
    keeps_answer: bool,
    /// Where it is kept: the answer as it is now, with the hidden columns its order needs.
    answer: RowMap<Weight>,
    /// The others: what has changed since the last report.
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

    /// Takes the deltas of an instant; what is left of them is not read again.
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

    /// Whether new rows of this width are reported as they are, and nothing is kept.
    pub(crate) fn passes_on(&self, width: usize) -> bool {
        self.operator == R2s::Istream && !self.keeps_answer && self.shows_whole && width == self.visible.len()
    }

    pub(crate) fn keeps_answer(&self) -> bool {
        self.keeps_answer
    }

    /// The answer as it is, with hidden columns: what RSTREAM reports. Empty where it is not kept.
    pub(crate) fn answer(&self) -> &RowMap<Weight> {
        &self.answer
    }

    /// Brings what has come and gone since the last report together, each row once; gives the number of rows a report
    /// would have now.
    pub(crate) fn consolidate(&mut self) -> u64 {
        if self.operator == R2s::Rstream {
            return self.answer.values().map(|weight| weight.unsigned_abs()).sum();
        }
        self.pending.consolidate(self.compared_max);
        self.pending.iter().map(|(_, weight)| weight.unsigned_abs()).sum()
    }

    /// Nothing will be reported any more.
    pub(crate) fn forget(&mut self) {
        self.answer = RowMap::default();
        self.pending = Batch::new(self.visible.len());
    }

    pub(crate) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// The part of a row that is shown.
    pub(crate) fn shown(&self, row: &[TermId]) -> Row {
        self.visible.iter().map(|column| column.map_or(TermId::UNBOUND, |c| row[c])).collect()
    }

    /// How many columns are shown.
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

    /// Panics if the answer has a row that has gone.
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
