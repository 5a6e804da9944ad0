//! Filter, extend, and the reordering of columns for projection and union. Stateless.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::{EvalContext, Expr};
use crate::flow::{Emptying, Flow, Operator};
use crate::model::{Batch, TermId};

/// Keeps the mappings for which the expression is true.
#[derive(Debug)]
pub(crate) struct Filter {
    pub condition: Expr,
}

impl Operator for Filter {
    fn absorb(&mut self, _port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>) {
        for (row, weight) in deltas.iter() {
            if self.condition.holds(row, &mut flow.eval) {
                out.push(row, weight);
            }
        }
    }

    fn emptying(&self) -> Emptying {
        Emptying::HandsOn
    }

    fn save(&self, _to: &mut Writer) {}

    fn restore(&mut self, _from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        Ok(())
    }

    fn state_size(&self) -> usize {
        0
    }
}

/// Adds a column, which stays unbound if the expression fails.
#[derive(Debug)]
pub(crate) struct Extend {
    pub expression: Expr,
}

impl Operator for Extend {
    fn absorb(&mut self, _port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>) {
        for (row, weight) in deltas.iter() {
            let value = self.expression.evaluate(row, &mut flow.eval).unwrap_or(TermId::UNBOUND);
            out.push_with(weight, row.iter().copied().chain([value]));
        }
    }

    /// A renewed row keeps the value that was computed on its first arrival.
    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn emptying(&self) -> Emptying {
        Emptying::HandsOn
    }

    fn save(&self, _to: &mut Writer) {}

    fn restore(&mut self, _from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        Ok(())
    }

    fn state_size(&self) -> usize {
        0
    }
}

/// Takes columns from each input in the order of the output: projection, and union of several inputs.
#[derive(Debug)]
pub(crate) struct Rearrange {
    /// For each input, the column behind each output column; `None` where the input has none.
    pub columns: Vec<Vec<Option<usize>>>,
}

impl Operator for Rearrange {
    fn absorb(&mut self, port: usize, deltas: &Batch, out: &mut Batch, _flow: &mut Flow<'_>) {
        let columns = &self.columns[port];
        for (row, weight) in deltas.iter() {
            out.push_with(weight, columns.iter().map(|column| column.map_or(TermId::UNBOUND, |c| row[c])));
        }
    }

    fn emptying(&self) -> Emptying {
        Emptying::HandsOn
    }

    fn save(&self, _to: &mut Writer) {}

    fn restore(&mut self, _from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        Ok(())
    }

    fn state_size(&self) -> usize {
        0
    }
}
