//! One of our expressions as a function that spareval calls with terms.

use super::exact::{argument, sealed};
use super::meter::Tally;
use crate::aggregate::{Accumulator, AggregateSpec};
use crate::encode::Dictionary;
use crate::expr::{CompileError, EvalContext, Expr, Scratch, compile, order_text, tie_text};
use crate::limits::{Budget, Limits};
use crate::model::TermId;
use crate::time::Timestamp;
use oxiri::Iri;
use oxrdf::{Literal, Term, Variable};
use spareval::AggregateFunctionAccumulator;
use spargebra::algebra::Expression;
use std::sync::{Mutex, PoisonError};

/// After this many terms, those of earlier calls are dropped.
const TERMS_MAX: usize = 1024;

/// A compiled expression with a dictionary of its own.
pub(super) struct Computed {
    /// The evaluator requires `Sync`; the lock is never contended.
    state: Mutex<State>,
    limits: Limits,
    spent: Tally,
}

struct State {
    expression: Expr,
    dictionary: Dictionary,
    scratch: Scratch,
    calls: u64,
}

impl Computed {
    /// The expression as a function of these variables, the first `identity` of which identify a solution.
    pub(super) fn new(
        expression: &Expression,
        variables: &[Variable],
        identity: usize,
        base: Option<&Iri<String>>,
        limits: &Limits,
        spent: Tally,
    ) -> Result<Self, CompileError> {
        let mut dictionary = Dictionary::new(0);
        let column_of = |variable: &Variable| variables.iter().position(|v| v == variable);
        let expression = compile(expression, base, &column_of, &mut dictionary)?.at_place(0, identity);
        let state = State { expression, dictionary, scratch: Scratch::default(), calls: 0 };
        Ok(Self { state: Mutex::new(state), limits: *limits, spent })
    }

    /// The value, sealed; `None` is an error.
    pub(super) fn value(&self, arguments: &[Term]) -> Option<Term> {
        self.with(arguments, |expression, row, ctx| {
            let id = expression.evaluate(row, ctx)?;
            Some(sealed(ctx.dictionary.term(id)))
        })
    }

    /// Whether the condition holds; on an error it does not.
    pub(super) fn holds(&self, arguments: &[Term]) -> Term {
        self.with(arguments, |expression, row, ctx| Literal::from(expression.holds(row, ctx)).into())
    }

    /// A text that sorts as the value does.
    pub(super) fn order(&self, arguments: &[Term]) -> Term {
        self.with(arguments, |expression, row, ctx| {
            let id = expression.evaluate(row, ctx).unwrap_or(TermId::UNBOUND);
            Literal::from(order_text(id, ctx.dictionary)).into()
        })
    }

    fn with<T>(&self, arguments: &[Term], ask: impl FnOnce(&Expr, &[TermId], &mut EvalContext<'_>) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { expression, dictionary, scratch, calls } = &mut *state;
        *calls += 1;
        dictionary.set_epoch(*calls);
        if dictionary.stream_terms() > TERMS_MAX {
            dictionary.sweep(*calls, std::iter::empty());
        }
        scratch.budget = Budget::of_evaluation(self.limits, self.spent.evaluation());
        let row: Vec<TermId> = arguments.iter().map(|term| interned(term, dictionary)).collect();
        let answer = ask(expression, &row, &mut EvalContext { dictionary, now: Timestamp::EPOCH, scratch });
        self.spent.add(scratch.budget.spent());
        answer
    }
}

/// A text that distinguishes rows, and orders those with equal sort keys.
pub(super) fn tie(arguments: &[Term]) -> Term {
    let mut dictionary = Dictionary::new(0);
    let ids: Vec<TermId> = arguments.iter().map(|term| interned(term, &mut dictionary)).collect();
    let text: String = ids.into_iter().map(|id| tie_text(id, &dictionary)).collect();
    Literal::from(text).into()
}

/// An aggregate of ours over the terms of one group.
pub(super) struct Aggregated {
    accumulator: Accumulator,
    dictionary: Dictionary,
    budget: Budget,
}

impl Aggregated {
    pub(super) fn new(spec: &AggregateSpec, limits: &Limits) -> Self {
        let budget = Budget::new(Limits { work: None, ..*limits });
        Self { accumulator: Accumulator::new(spec), dictionary: Dictionary::new(0), budget }
    }
}

impl AggregateFunctionAccumulator for Aggregated {
    fn accumulate(&mut self, element: Term) {
        let value = interned(&element, &mut self.dictionary);
        self.accumulator.update(Some(value), 1, &self.dictionary);
    }

    fn finish(&mut self) -> Option<Term> {
        let id = self.accumulator.value(&mut self.dictionary, &mut self.budget)?;
        Some(sealed(self.dictionary.term(id)))
    }
}

fn interned(term: &Term, dictionary: &mut Dictionary) -> TermId {
    argument(term).map_or(TermId::UNBOUND, |term| dictionary.intern(term.as_ref()))
}
