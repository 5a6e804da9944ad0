//! The contract between operators: absorb deltas, emit deltas, nothing else.
//!
//! The sum of all deltas that an operator has emitted is its current result. Every row that it retracts must therefore
//! be equal, term by term, to one that it emitted before: operators whose values can change (groups, top-k) store the
//! rows they have shown instead of computing them again.

use crate::codec::{Decoded, Reader, Writer};
use crate::expr::EvalContext;
use crate::index::{Probe, SlotId};
use crate::leaf::Leaf;
use crate::model::{Batch, Row, TermId};
use crate::store::StaticGraphs;
use crate::window::Window;

/// What an operator may read: the context of expressions, leaves to probe, and, only for re-evaluation, the contents of
/// windows and static graphs.
pub(crate) struct Flow<'a> {
    pub eval: EvalContext<'a>,
    pub leaves: &'a [Leaf],
    pub windows: &'a [Window],
    pub graphs: &'a StaticGraphs,
    pub search: &'a mut SearchScratch,
}

/// Working memory that all joins share, one search after another. A variable that is certainly bound keeps its position
/// in the row until a sibling overwrites it, so that one row serves all depths; variables that may be unbound are
/// restored on the way back (`undo`).
#[derive(Debug, Default)]
pub(crate) struct SearchScratch {
    pub row: Vec<TermId>,
    pub probes: Vec<Probe>,
    pub slots: Vec<SlotId>,
    pub undo: Vec<(u8, TermId)>,
}

impl SearchScratch {
    /// Unbinds all variables, even if the previous search was interrupted.
    #[inline]
    pub(crate) fn begin(&mut self, n_vars: usize, n_buffers: usize) {
        self.row.clear();
        self.row.resize(n_vars, TermId::UNBOUND);
        self.slots.resize(n_buffers, SlotId(0));
        if self.probes.len() < n_buffers * n_buffers {
            self.probes.resize(n_buffers * n_buffers, Probe::NOTHING);
        }
        self.undo.clear();
    }

    /// Restores the variables that were bound since the mark.
    #[inline]
    pub(crate) fn rewind(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((var, term)) = self.undo.pop() {
                self.row[var as usize] = term;
            }
        }
    }
}

/// Collects the terms that an operator keeps.
pub(crate) type HeldTerms<'a> = Box<dyn Iterator<Item = TermId> + 'a>;

/// The terms of rows.
pub(crate) fn terms_of<'a>(rows: impl Iterator<Item = &'a Row> + 'a) -> HeldTerms<'a> {
    Box::new(rows.flat_map(|row| row.iter().copied()))
}

/// What an operator can do if all rows of its input leave at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emptying {
    /// It must see each retraction.
    RowByRow,
    /// It keeps no state: all rows it has emitted leave too.
    HandsOn,
    /// It can drop all its state.
    Forgets,
}

/// An operator of a query. Deltas of one instant come in any order and any number of calls;
/// `finish` is called once per instant, after the last of them.
pub(crate) trait Operator: Send + std::fmt::Debug {
    /// Processes deltas from the input with this number.
    fn absorb(&mut self, port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>);

    /// Ends the instant: emits the rows that had to wait for all of its deltas.
    fn finish(&mut self, _out: &mut Batch, _flow: &mut Flow<'_>) {}

    fn emptying(&self) -> Emptying {
        Emptying::RowByRow
    }

    /// Whether it may emit at an instant at which no input has changed. Such a query is evaluated at every instant that
    /// reports; all others are skipped while nothing arrives or expires.
    fn follows_clock(&self) -> bool {
        false
    }

    /// Whether it reads the static graphs, so that a change of them concerns it.
    fn reads_graphs(&self) -> bool {
        false
    }

    /// All rows of its only input have left, as if each had been retracted. Only for operators that can drop their
    /// state.
    fn forget_input(&mut self) {}

    /// The number of mappings (and groups, keys …) that the operator keeps.
    fn state_size(&self) -> usize;

    /// The bytes that it has allocated for them. A join tells those of each buffer, index and tree instead.
    fn bytes(&self) -> usize {
        0
    }

    /// Panics, naming the structure, if the state disagrees with a recount. Called between instants.
    fn check(&self) {}

    /// Saves the state of the operator, between instants.
    fn save(&self, to: &mut Writer);

    /// Restores the state that an operator of the same plan saved.
    fn restore(&mut self, from: &mut Reader<'_>, eval: &mut EvalContext<'_>) -> Decoded<()>;

    /// Whether it creates rows that no window bounds, or terms that no event uses again while a row is renewed: their
    /// terms must be held as long as the rows exist.
    fn makes_lasting_rows(&self) -> bool {
        false
    }

    /// Every term in its state, except those in leaves.
    fn held_terms(&self) -> HeldTerms<'_> {
        Box::new(std::iter::empty())
    }
}
