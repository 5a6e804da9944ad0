//! Charges the work of spareval to the budget.
//!
//! The evaluator does not support budgets, but all its work goes through the dataset: it reads quads, converts terms,
//! and builds every row that it joins, stores or returns from clones of terms. Each of these is a unit of work (clones
//! count themselves, see `dataset.rs`), and our expressions charge their own work. Products and closures can therefore
//! be stopped half-way.

use crate::limits::Budget;
use oxrdf::{Literal, Term};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The work of expressions since the meter last looked. The evaluator requires functions that are safe on any thread,
/// so they cannot share the meter itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    spent: AtomicU64,
    evaluation: AtomicU64,
}

impl Tally {
    pub(super) fn add(&self, units: u64) {
        self.0.spent.fetch_add(units, Ordering::Relaxed);
    }

    /// Distinguishes evaluations.
    pub(super) fn evaluation(&self) -> u64 {
        self.0.evaluation.load(Ordering::Relaxed)
    }

    /// Starts an evaluation, discarding the remains of an interrupted one.
    fn begin(&self) {
        self.take();
        self.0.evaluation.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn take(&self) -> u64 {
        let spent = &self.0.spent;
        if spent.load(Ordering::Relaxed) == 0 { 0 } else { spent.swap(0, Ordering::Relaxed) }
    }
}

pub(crate) struct Meter {
    budget: RefCell<Budget>,
    expressions: Tally,
}

impl Meter {
    /// Lets `work` spend the budget through a meter.
    pub(crate) fn of<T>(budget: &mut Budget, expressions: &Tally, work: impl FnOnce(&Self) -> T) -> T {
        expressions.begin();
        let meter = Self { budget: RefCell::new(budget.clone()), expressions: expressions.clone() };
        let done = work(&meter);
        *budget = meter.budget.into_inner();
        done
    }

    #[inline]
    pub(super) fn spend(&self, units: u64) {
        self.budget.borrow_mut().spend(units.saturating_add(self.expressions.take()));
    }

    /// Charges for a term that crosses the boundary; text costs by its length.
    pub(super) fn pass(&self, term: &Term) {
        self.spend(1);
        let mut budget = self.budget.borrow_mut();
        budget.make_text(text_bytes(term));
    }

    /// A term that an expression may have created.
    pub(super) fn admit(&self, term: &Term) {
        self.pass(term);
        // Without a limit, terms that the evaluator creates are accepted as they are.
        self.budget.borrow().admits_literal(text_bytes(term));
    }
}

/// The length of the text of a term.
pub(crate) fn text_bytes(term: &Term) -> usize {
    match term {
        Term::Literal(literal) => Literal::value(literal).len(),
        Term::NamedNode(node) => node.as_str().len(),
        _ => 0,
    }
}
