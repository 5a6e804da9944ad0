//! EXISTS as a match on shared variables.
//!
//! SPARQL substitutes the outer mapping into the pattern. For most patterns that is the same as
//! matching on the shared variables, where filters at the top of the pattern may mention outer
//! variables; `is_joinable` says for which. Other patterns are left to re-evaluation.

use super::scope::{Vars, certain, contains_exists, free, in_scope, is_volatile};
use crate::algebra::{children, rewrite};
use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::TermPattern;

/// The pattern of an EXISTS and the condition a match must satisfy together with the outer mapping.
pub(super) struct Correlated {
    pub pattern: GraphPattern,
    pub condition: Option<Expression>,
}

/// Takes an EXISTS pattern apart; `None` when matching on shared variables would not be the same.
pub(super) fn correlate(pattern: &GraphPattern, outer: &Vars) -> Option<Correlated> {
    let pattern = without_limit(pattern);
    let (mut inner, mut conditions) = strip_filters(pattern);
    if !is_independent(inner, outer) {
        (inner, conditions) = strip_bindings(pattern, outer);
    }
    if !is_independent(inner, outer) {
        return None;
    }
    let condition = conditions.into_iter().reduce(|a, b| Expression::And(a.into(), b.into()));
    Some(Correlated { pattern: inner.clone(), condition })
}

fn is_independent(pattern: &GraphPattern, outer: &Vars) -> bool {
    is_joinable(pattern, outer) && free(pattern).is_disjoint(outer)
}

/// The first rows are there when any is.
fn without_limit(pattern: &GraphPattern) -> &GraphPattern {
    match pattern {
        GraphPattern::Slice { inner, start: 0, length } if *length != Some(0) => inner,
        other => other,
    }
}

/// As [`strip_filters`], and BIND too: it changes nothing about whether there is a match, and what it computes from the
/// outer mapping is put into the filters above it.
fn strip_bindings<'p>(pattern: &'p GraphPattern, outer: &Vars) -> (&'p GraphPattern, Vec<Expression>) {
    let mut conditions: Vec<Expression> = Vec::new();
    let mut inner = pattern;
    loop {
        inner = match inner {
            GraphPattern::Filter { expr, inner } if !contains_exists(expr) => {
                conditions.push(expr.clone());
                inner
            }
            GraphPattern::Extend { inner, variable, expression }
                if !outer.contains(variable) && !is_drawn(expression) =>
            {
                conditions.iter_mut().for_each(|condition| *condition = put_in(condition, variable, expression));
                inner
            }
            _ => return (inner, conditions),
        }
    }
}

/// Whether the expression cannot be written in several places.
fn is_drawn(expression: &Expression) -> bool {
    contains_exists(expression) || is_volatile(expression)
}

fn put_in(condition: &Expression, variable: &Variable, value: &Expression) -> Expression {
    rewrite(condition, &mut |e| match e {
        Expression::Variable(v) if v == variable => Some(value.clone()),
        // It is bound when it can be computed: then it is the same as itself.
        Expression::Bound(v) if v == variable => {
            let computed = Expression::SameTerm(value.clone().into(), value.clone().into());
            Some(Expression::Coalesce(vec![computed, Expression::Literal(false.into())]))
        }
        _ => None,
    })
}

/// A pattern that binds at least what the outer mapping gives an EXISTS: filters, and BIND of other variables, are left
/// out. `None` when one of these variables is computed, or may be unbound.
pub(super) fn seeds(outer: &GraphPattern, needed: &Vars) -> Option<GraphPattern> {
    let seeds = generator(outer, needed);
    (!computes(&seeds, needed) && needed.is_subset(&certain(&seeds))).then_some(seeds)
}

fn generator(pattern: &GraphPattern, needed: &Vars) -> GraphPattern {
    match pattern {
        GraphPattern::Filter { inner, .. } => generator(inner, needed),
        GraphPattern::Extend { inner, variable, .. } if !needed.contains(variable) => generator(inner, needed),
        GraphPattern::Join { left, right } => {
            GraphPattern::Join { left: generator(left, needed).into(), right: generator(right, needed).into() }
        }
        other => other.clone(),
    }
}

/// Whether the pattern has expressions or aggregates: their terms may be written differently elsewhere.
fn computes(pattern: &GraphPattern, needed: &Vars) -> bool {
    let own = match pattern {
        GraphPattern::Extend { variable, .. } => needed.contains(variable),
        GraphPattern::Group { aggregates, .. } => aggregates.iter().any(|(variable, _)| needed.contains(variable)),
        _ => false,
    };
    own || children(pattern).into_iter().any(|child| computes(child, needed))
}

/// Filters that contain EXISTS stay where they are.
fn strip_filters(pattern: &GraphPattern) -> (&GraphPattern, Vec<Expression>) {
    let mut conditions = Vec::new();
    let mut inner = pattern;
    while let GraphPattern::Filter { expr, inner: next } = inner
        && !contains_exists(expr)
    {
        conditions.push(expr.clone());
        inner = next;
    }
    (inner, conditions)
}

/// Whether a solution of the pattern with the outer mapping put in is the same as a solution that
/// agrees with it. Variables of expressions are checked by [`free`].
fn is_joinable(pattern: &GraphPattern, outer: &Vars) -> bool {
    let shared_with = |part: &GraphPattern| -> Vars { &in_scope(part) & outer };
    let own = match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Values { .. } => true,
        // A term that is not in the graph has a path of length zero to itself once it is put in.
        GraphPattern::Path { subject, path, object } => {
            !may_be_empty(path) || ![subject, object].into_iter().any(|end| is_one_of(end, outer))
        }
        GraphPattern::Join { .. } | GraphPattern::Union { .. } | GraphPattern::Graph { .. } => true,
        GraphPattern::Filter { .. } | GraphPattern::Project { .. } => true,
        GraphPattern::Distinct { .. } | GraphPattern::Reduced { .. } | GraphPattern::OrderBy { .. } => true,
        GraphPattern::Extend { variable, .. } => !outer.contains(variable),
        GraphPattern::LeftJoin { left, right, .. } => shared_with(right).is_subset(&certain(left)),
        // Variables that are put in no longer count for "the domains are disjoint".
        GraphPattern::Minus { left, right } => {
            let both = &certain(left) & &certain(right);
            shared_with(right).is_subset(&certain(left)) && !both.is_subset(outer)
        }
        GraphPattern::Group { inner, variables, .. } => {
            let certain = certain(inner);
            shared_with(inner).iter().all(|v| variables.contains(v) && certain.contains(v))
        }
        GraphPattern::Slice { inner, .. } => shared_with(inner).is_empty(),
        GraphPattern::Service { .. } => false,
    };
    own && children(pattern).into_iter().all(|child| is_joinable(child, outer))
}

fn is_one_of(term: &TermPattern, vars: &Vars) -> bool {
    matches!(term, TermPattern::Variable(variable) if vars.contains(variable))
}

fn may_be_empty(path: &PropertyPathExpression) -> bool {
    use PropertyPathExpression as P;
    match path {
        P::NamedNode(_) | P::NegatedPropertySet(_) => false,
        P::ZeroOrMore(_) | P::ZeroOrOne(_) => true,
        P::Reverse(inner) | P::OneOrMore(inner) => may_be_empty(inner),
        // The middle of a sequence is not put in, so one empty part is enough to reach its end.
        P::Sequence(a, b) | P::Alternative(a, b) => may_be_empty(a) || may_be_empty(b),
    }
}
