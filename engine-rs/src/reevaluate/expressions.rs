//! Expressions, aggregates and orders under spareval: rewrites a query so that the evaluator only matches and joins.
//!
//! On its own, the evaluator loses lexical forms, has no limits, and lets the order of arrival decide ties. Each
//! expression therefore becomes a call of one of our functions on the variables it mentions, each aggregate is replaced
//! by ours, and rows that LIMIT cuts are first sorted by our order of terms. The evaluator keeps EXISTS and everything
//! that is not a function of a row (NOW, RAND, …); their values are passed as arguments.

use super::computed::{Aggregated, Computed, tie};
use super::exact::{no_value, sealed};
use super::meter::Tally;
use crate::aggregate::AggregateSpec;
use crate::algebra::{children_mut, expressions_mut, parts, parts_mut, visit_expression};
use crate::expr::CompileError;
use crate::limits::Limits;
use oxiri::Iri;
use oxrdf::{NamedNode, Term, Variable};
use spareval::QueryEvaluator;
use spargebra::Query;
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression};
use spargebra::term::GroundTerm;
use std::collections::BTreeSet;

const PREFIX: &str = "urn:whorl:computed:";

/// Which rows a LIMIT without ORDER BY keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unordered {
    /// The first ones in the order of terms, so that the order of arrival does not matter.
    First,
    /// Any, so that the evaluator may stop early.
    Any,
}

/// The rewritten query, an evaluator that knows our functions, and their common budget.
pub(super) fn with_our_expressions(
    query: &Query,
    limits: &Limits,
    unordered: Unordered,
) -> Result<(Query, QueryEvaluator, Tally), CompileError> {
    let mut query = query.clone();
    let (Query::Select { pattern, base_iri, .. }
    | Query::Construct { pattern, base_iri, .. }
    | Query::Describe { pattern, base_iri, .. }
    | Query::Ask { pattern, base_iri, .. }) = &mut query;
    let mut changes = Changes {
        evaluator: QueryEvaluator::new(),
        base: base_iri.clone(),
        limits: *limits,
        unordered,
        made: 0,
        solution: vec![],
        spent: Tally::default(),
    };
    changes.ordered(pattern)?;
    let Changes { evaluator, spent, .. } = changes;
    Ok((query, evaluator, spent))
}

struct Changes {
    evaluator: QueryEvaluator,
    base: Option<Iri<String>>,
    limits: Limits,
    unordered: Unordered,
    made: usize,
    /// The variables that identify a solution: those bound before anything was computed.
    solution: Vec<Variable>,
    spent: Tally,
}

type Done = Result<(), CompileError>;
type Called = fn(&Computed, &[Term]) -> Option<Term>;

impl Changes {
    fn pattern(&mut self, pattern: &mut GraphPattern) -> Done {
        match pattern {
            GraphPattern::Values { bindings, .. } => {
                bindings.iter_mut().flatten().flatten().for_each(seal_inside);
                Ok(())
            }
            GraphPattern::LeftJoin { .. } => {
                self.children(pattern)?;
                expressions_mut(pattern).into_iter().try_for_each(|condition| self.condition(condition))
            }
            GraphPattern::Filter { .. } => self.filter(pattern),
            GraphPattern::Extend { inner, expression, .. } => {
                let solution = solution_of(inner);
                self.pattern(inner)?;
                self.solution = solution;
                self.value(expression)
            }
            GraphPattern::OrderBy { .. } => self.order(pattern, &[]),
            GraphPattern::Group { inner, aggregates, .. } => {
                self.pattern(inner)?;
                aggregates.iter_mut().try_for_each(|(_, aggregate)| self.aggregate(aggregate))
            }
            GraphPattern::Slice { inner, .. } => self.sliced(inner),
            other => self.children(other),
        }
    }

    fn children(&mut self, pattern: &mut GraphPattern) -> Done {
        children_mut(pattern).into_iter().try_for_each(|child| self.pattern(child))
    }

    /// Splits conjunctions into separate filters, which the evaluator can apply as early as possible.
    fn filter(&mut self, pattern: &mut GraphPattern) -> Done {
        let GraphPattern::Filter { expr, inner } = std::mem::take(pattern) else { return Ok(()) };
        let (mut inner, mut parts) = (*inner, Vec::new());
        self.pattern(&mut inner)?;
        split_and(expr, &mut parts);
        for mut expr in parts {
            self.condition(&mut expr)?;
            inner = GraphPattern::Filter { expr, inner: inner.into() };
        }
        *pattern = inner;
        Ok(())
    }

    fn condition(&mut self, condition: &mut Expression) -> Done {
        match condition {
            Expression::Exists(pattern) => self.pattern(pattern),
            Expression::Bound(_) => Ok(()),
            Expression::Not(inner) if matches!(**inner, Expression::Exists(_) | Expression::Bound(_)) => {
                self.condition(inner)
            }
            _ => self.call(condition, |computed, terms| Some(computed.holds(terms))),
        }
    }

    fn value(&mut self, expression: &mut Expression) -> Done {
        match expression {
            // These are already terms.
            Expression::Variable(_) | Expression::NamedNode(_) | Expression::Literal(_) => Ok(()),
            Expression::Exists(pattern) => self.pattern(pattern),
            _ => self.call(expression, Computed::value),
        }
    }

    /// Replaces an expression by a call of our function.
    fn call(&mut self, expression: &mut Expression, called: Called) -> Done {
        let mut given = Vec::new();
        self.take_out(expression, &mut given)?;
        let variables = mentioned(expression);
        let taken = |variable: &Variable| given.iter().any(|(known, _)| known == variable);
        let solution = if names_blanks(expression) { std::mem::take(&mut self.solution) } else { vec![] };
        let identity = solution.len();
        let rest = variables.into_iter().filter(|variable| !taken(variable) && !solution.contains(variable));
        let own = solution.iter().cloned().chain(rest.collect::<Vec<_>>());
        let own: Vec<_> = own.map(|variable| (variable.clone(), Expression::Variable(variable))).collect();
        let (names, arguments): (Vec<_>, Vec<_>) = own.into_iter().chain(given).unzip();
        let computed =
            Computed::new(expression, &names, identity, self.base.as_ref(), &self.limits, self.spent.clone())?;
        let name = self.name();
        self.teach(|evaluator| evaluator.with_custom_function(name.clone(), move |terms| called(&computed, terms)));
        *expression =
            Expression::FunctionCall(Function::Custom(name), arguments.into_iter().map(or_no_value).collect());
        Ok(())
    }

    /// Extracts what only the evaluator can compute, leaving a variable in its place.
    fn take_out(&mut self, expression: &mut Expression, taken: &mut Vec<(Variable, Expression)>) -> Done {
        match expression {
            Expression::Exists(pattern) => self.pattern(pattern)?,
            Expression::FunctionCall(function, arguments) if arguments.is_empty() && is_beyond_the_row(function) => {}
            other => return parts_mut(other).into_iter().try_for_each(|part| self.take_out(part, taken)),
        }
        let variable = self.fresh();
        taken.push((variable.clone(), std::mem::replace(expression, Expression::Variable(variable))));
        Ok(())
    }

    fn aggregate(&mut self, aggregate: &mut AggregateExpression) -> Done {
        let AggregateExpression::FunctionCall { name: function, expr, .. } = aggregate else { return Ok(()) };
        let Some(spec) = AggregateSpec::of(function) else { return Ok(()) };
        if !matches!(expr, Expression::Variable(_)) {
            self.call(expr, Computed::value)?;
        }
        // Our aggregates decide which errors they can skip.
        *expr = or_no_value(std::mem::replace(expr, Expression::NamedNode(no_value())));
        let (name, limits) = (self.name(), self.limits);
        *function = AggregateFunction::Custom(name.clone());
        self.teach(|evaluator| {
            evaluator.with_custom_aggregate_function(name, move || Box::new(Aggregated::new(&spec, &limits)))
        });
        Ok(())
    }

    /// Sorts the rows that a LIMIT cuts by a total order.
    fn sliced(&mut self, pattern: &mut GraphPattern) -> Done {
        let mut shown = Vec::new();
        pattern.on_in_scope_variable(|variable| shown.push(variable.clone()));
        shown.sort_unstable();
        self.sliced_by(pattern, &shown)
    }

    fn sliced_by(&mut self, pattern: &mut GraphPattern, shown: &[Variable]) -> Done {
        match pattern {
            GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => self.sliced_by(inner, shown),
            GraphPattern::Project { inner, variables } => self.sliced_by(inner, variables),
            GraphPattern::OrderBy { .. } => self.order(pattern, shown),
            other if self.unordered == Unordered::Any => self.pattern(other),
            other => {
                let inner = std::mem::take(other);
                *other = GraphPattern::OrderBy { inner: inner.into(), expression: vec![] };
                self.order(other, shown)
            }
        }
    }

    /// A whole query: with an ORDER BY without LIMIT, ties are also sorted by the visible terms.
    fn ordered(&mut self, pattern: &mut GraphPattern) -> Done {
        match pattern {
            GraphPattern::Project { inner, variables } if matches!(**inner, GraphPattern::OrderBy { .. }) => {
                self.order(inner, variables)
            }
            GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => self.ordered(inner),
            other => self.pattern(other),
        }
    }

    /// Keys are computed once per row, as texts that sort like the values.
    fn order(&mut self, pattern: &mut GraphPattern, ties: &[Variable]) -> Done {
        let GraphPattern::OrderBy { inner, expression } = pattern else { return Ok(()) };
        self.pattern(inner)?;
        for order in expression.iter_mut() {
            let (OrderExpression::Asc(key) | OrderExpression::Desc(key)) = order;
            self.call(key, |computed, terms| Some(computed.order(terms)))?;
            self.extend(inner, key);
        }
        if !ties.is_empty() {
            let name = self.name();
            self.teach(|evaluator| evaluator.with_custom_function(name.clone(), |terms| Some(tie(terms))));
            let arguments = ties.iter().map(|variable| or_no_value(Expression::Variable(variable.clone())));
            let mut key = Expression::FunctionCall(Function::Custom(name), arguments.collect());
            self.extend(inner, &mut key);
            expression.push(OrderExpression::Asc(key));
        }
        Ok(())
    }

    /// Binds the expression to a variable below, and uses the variable in its place.
    fn extend(&mut self, below: &mut GraphPattern, expression: &mut Expression) {
        let variable = self.fresh();
        let expression = std::mem::replace(expression, Expression::Variable(variable.clone()));
        let inner = std::mem::take(below);
        *below = GraphPattern::Extend { inner: inner.into(), variable, expression };
    }

    fn name(&mut self) -> NamedNode {
        self.made += 1;
        NamedNode::new_unchecked(format!("{PREFIX}{}", self.made))
    }

    fn fresh(&mut self) -> Variable {
        self.made += 1;
        Variable::new_unchecked(format!("_whorl_computed_{}", self.made))
    }

    fn teach(&mut self, change: impl FnOnce(QueryEvaluator) -> QueryEvaluator) {
        self.evaluator = change(std::mem::take(&mut self.evaluator));
    }
}

/// In VALUES, the evaluator parses only the literals inside triple terms.
fn seal_inside(term: &mut GroundTerm) {
    if let GroundTerm::Triple(_) = term
        && let Ok(inside) = GroundTerm::try_from(sealed(term.clone().into()))
    {
        *term = inside;
    }
}

/// An argument that is present even without a value: a missing argument would fail the whole call.
fn or_no_value(expression: Expression) -> Expression {
    Expression::Coalesce(vec![expression, no_value().into()])
}

/// NOW, and functions that yield a new value for each row.
fn is_beyond_the_row(function: &Function) -> bool {
    matches!(function, Function::Now | Function::Rand | Function::Uuid | Function::StrUuid | Function::BNode)
}

/// Whether BNODE is called with a text: within one solution, equal texts yield the same blank node.
fn names_blanks(expression: &Expression) -> bool {
    let own = matches!(expression, Expression::FunctionCall(Function::BNode, arguments) if !arguments.is_empty());
    own || parts(expression).into_iter().any(names_blanks)
}

fn solution_of(pattern: &GraphPattern) -> Vec<Variable> {
    if let GraphPattern::Extend { inner, .. } = pattern {
        return solution_of(inner);
    }
    let mut variables = BTreeSet::new();
    pattern.on_in_scope_variable(|variable| {
        variables.insert(variable.clone());
    });
    variables.into_iter().collect()
}

fn split_and(condition: Expression, parts: &mut Vec<Expression>) {
    match condition {
        Expression::And(a, b) => {
            split_and(*a, parts);
            split_and(*b, parts);
        }
        other => parts.push(other),
    }
}

/// The variables of an expression, except those inside EXISTS.
pub(super) fn mentioned(expression: &Expression) -> BTreeSet<Variable> {
    let mut found = BTreeSet::new();
    visit_expression(expression, &mut |e| {
        if let Expression::Variable(variable) | Expression::Bound(variable) = e {
            found.insert(variable.clone());
        }
    });
    found
}
