//! NOW(): the only mapping that changes at every instant.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::{EvalContext, instant};
use crate::flow::{Flow, HeldTerms, Operator};
use crate::model::{Batch, TermId};

/// One mapping with the instant of the evaluation. Results computed with the previous one are retracted.
#[derive(Debug, Default)]
pub(crate) struct Now {
    shown: Option<TermId>,
}

impl Operator for Now {
    fn absorb(&mut self, _port: usize, _deltas: &Batch, _out: &mut Batch, _flow: &mut Flow<'_>) {}

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        let now = instant(&mut flow.eval);
        let before = self.shown.replace(now);
        if before == Some(now) {
            return;
        }
        out.push(&[now], 1);
        if let Some(before) = before {
            out.push(&[before], -1);
        }
    }

    fn follows_clock(&self) -> bool {
        true
    }

    fn save(&self, to: &mut Writer) {
        to.option(self.shown, Writer::id);
    }

    fn restore(&mut self, from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        self.shown = from.option(Reader::id)?;
        Ok(())
    }

    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        Box::new(self.shown.into_iter())
    }

    /// The clock does not count as state of a stream.
    fn state_size(&self) -> usize {
        0
    }
}
