//! DISTINCT: each row once, as long as it occurs at all (Algorithm 7 of the papers).

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::EvalContext;
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, RowMap, Weight, count_row, row_map_bytes};

#[derive(Debug, Default)]
pub(crate) struct Distinct {
    counts: RowMap<Weight>,
}

impl Operator for Distinct {
    fn absorb(&mut self, _port: usize, deltas: &Batch, out: &mut Batch, _flow: &mut Flow<'_>) {
        for (row, weight) in deltas.iter() {
            let (before, after) = count_row(&mut self.counts, row, weight);
            match (before > 0, after > 0) {
                (false, true) => out.push(row, 1),
                (true, false) => out.push(row, -1),
                _ => {}
            }
        }
    }

    fn save(&self, to: &mut Writer) {
        to.by_row(self.counts.iter(), |to, count| to.i64(*count));
    }

    fn restore(&mut self, from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        self.counts = from.list(16, |from| Ok((from.row()?, from.i64()?)))?;
        Ok(())
    }

    fn state_size(&self) -> usize {
        self.counts.len()
    }

    fn bytes(&self) -> usize {
        row_map_bytes(&self.counts)
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        terms_of(self.counts.keys())
    }
}
