//! Rows from outside: results of partitions are put into this node before the instant is settled.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::EvalContext;
use crate::flow::{Flow, Operator};
use crate::model::Batch;

/// Passes its input on and keeps no state.
#[derive(Debug)]
pub(crate) struct Given;

impl Operator for Given {
    fn absorb(&mut self, _port: usize, _deltas: &Batch, _out: &mut Batch, _flow: &mut Flow<'_>) {}

    fn save(&self, _to: &mut Writer) {}

    fn restore(&mut self, _from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        Ok(())
    }

    /// Rows from other engines are not bounded by a window.
    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn state_size(&self) -> usize {
        0
    }
}
