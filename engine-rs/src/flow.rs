//! The contract between operators: absorb deltas, emit deltas, nothing else.
//!
//! The sum of all deltas that an operator has emitted is its current result. Every row that it retracts must therefore be
//! equal, term by term, to one that it emitted before: operators whose values can change (groups, top-k) remember what
//! they have shown instead of computing it again.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::EvalContext;
use crate::leaf::Leaf;
use crate::model::{Batch, Row, TermId};
use crate::store::StaticGraphs;
use crate::window::Window;

/// What an operator may look at while it works: expressions' context, leaves to probe, and, for
/// re-evaluation alone, the contents of windows and static graphs.
pub(crate) struct Flow<'a> {
    pub eval: EvalContext<'a>,
    pub leaves: &'a [Leaf],
    pub windows: &'a [Window],
    pub graphs: &'a StaticGraphs,
}

/// Terms an operator keeps.
pub(crate) type HeldTerms<'a> = Box<dyn Iterator<Item = TermId> + 'a>;

/// The terms of rows.
pub(crate) fn terms_of<'a>(rows: impl Iterator<Item = &'a Row> + 'a) -> HeldTerms<'a> {
    Box::new(rows.flat_map(|row| row.iter().copied()))
}

/// What an operator can do when all rows of its input go at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emptying {
    /// It must see each of them go.
    RowByRow,
    /// It keeps nothing: all rows it has made go too.
    HandsOn,
    /// It forgets all that it keeps.
    Forgets,
}

/// An operator of a query. Deltas of one instant come in any order and any number of calls;
/// `finish` is called once per instant, after the last of them.
pub(crate) trait Operator: Send + std::fmt::Debug {
    /// Takes deltas from the input with this number.
    fn absorb(&mut self, port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>);

    /// The instant is complete: emit what had to wait for all of its deltas.
    fn finish(&mut self, _out: &mut Batch, _flow: &mut Flow<'_>) {}

    fn emptying(&self) -> Emptying {
        Emptying::RowByRow
    }

    /// Whether it may emit at an instant at which no input has changed. Such a query is evaluated at every instant that
    /// reports; all others are skipped while nothing arrives or expires.
    fn follows_clock(&self) -> bool {
        false
    }

    /// All rows of its only input have gone, as if each had been taken back. For those that say that they forget.
    fn forget_input(&mut self) {}

    /// Mappings (and groups, keys …) the operator keeps.
    fn state_size(&self) -> usize;

    /// Writes what the operator keeps, between two instants.
    fn save(&self, to: &mut Writer);

    /// Takes back what was saved of an operator of the same plan.
    fn restore(&mut self, from: &mut Reader<'_>, eval: &mut EvalContext<'_>) -> Decoded<()>;

    /// Whether it makes rows that no window bounds, or terms that no event uses again while a row is renewed: what
    /// is kept of them must be held while it is there.
    fn makes_lasting_rows(&self) -> bool {
        false
    }

    /// Every term in what it keeps, other than in leaves.
    fn held_terms(&self) -> HeldTerms<'_> {
        Box::new(std::iter::empty())
    }
}
