//! The budget as spareval spends it.
//!
//! The evaluator knows no budgets, but it can do nothing without the dataset: it reads quads, it turns terms into its
//! own and back, and every row it joins, keeps or hands on is made of copies of terms. Each of these is a unit of work
//! (copies of terms count themselves, see `dataset.rs`), so products and closures stop in the middle.

use crate::limits::Budget;
use oxrdf::{Literal, Term};
use std::cell::RefCell;

pub(crate) struct Meter(RefCell<Budget>);

impl Meter {
    /// Lets `work` spend the budget through a meter.
    pub(crate) fn of<T>(budget: &mut Budget, work: impl FnOnce(&Self) -> T) -> T {
        let meter = Self(RefCell::new(budget.clone()));
        let done = work(&meter);
        *budget = meter.0.into_inner();
        done
    }

    #[inline]
    pub(super) fn spend(&self, units: u64) {
        self.0.borrow_mut().spend(units);
    }

    /// A term crosses the border: text costs by its length.
    pub(super) fn pass(&self, term: &Term) {
        let mut budget = self.0.borrow_mut();
        budget.spend(1);
        budget.make_text(text_bytes(term));
    }

    /// A term that an expression may have made.
    pub(super) fn admit(&self, term: &Term) {
        self.pass(term);
        // Without a limit, what the evaluator makes is taken as it is.
        self.0.borrow().admits_literal(text_bytes(term));
    }
}

fn text_bytes(term: &Term) -> usize {
    match term {
        Term::Literal(literal) => Literal::value(literal).len(),
        Term::NamedNode(node) => node.as_str().len(),
        _ => 0,
    }
}
