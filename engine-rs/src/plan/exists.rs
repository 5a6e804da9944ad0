//! EXISTS as a match on shared variables.
//!
//! SPARQL substitutes the outer mapping into the pattern. For most patterns this equals a match on the shared
//! variables, in which filters at the top of the pattern may also mention outer variables. `is_joinable` decides for
//! which patterns the two agree; all others are re-evaluated.

use super::scope::{Vars, certain, contains_exists, free, in_scope, is_volatile};
use crate::algebra::{children, rewrite};
use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::TermPattern;

/// The pattern of an EXISTS, and the condition that a match must satisfy together with the outer mapping.
pub(super) struct Correlated {
    pub pattern: GraphPattern,
    pub condition: Option<Expression>,
}

/// Splits an EXISTS pattern; `None` if matching on shared variables would differ from substitution.
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

/// LIMIT n with n > 0 and no OFFSET does not change whether there is a row.
fn without_limit(pattern: &GraphPattern) -> &GraphPattern {
    match pattern {
        GraphPattern::Slice { inner, start: 0, length } if *length != Some(0) => inner,
        other => other,
    }
}

/// Like [`strip_filters`], but also removes BIND. BIND never changes whether a match exists; an expression over the
/// outer mapping moves into the filters above it.
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

/// Whether the expression yields a new value at each occurrence, so that it must not be duplicated.
fn is_drawn(expression: &Expression) -> bool {
    contains_exists(expression) || is_volatile(expression)
}

fn put_in(condition: &Expression, variable: &Variable, value: &Expression) -> Expression {
    rewrite(condition, &mut |e| match e {
        Expression::Variable(v) if v == variable => Some(value.clone()),
        // The variable is bound iff its expression has a value, and then the value equals itself.
        Expression::Bound(v) if v == variable => {
            let computed = Expression::SameTerm(value.clone().into(), value.clone().into());
            Some(Expression::Coalesce(vec![computed, Expression::Literal(false.into())]))
        }
        _ => None,
    })
}

/// A pattern that binds at least the variables an EXISTS takes from the outer mapping; it omits filters, and BINDs of
/// other variables. `None` if one of these variables is computed or may be unbound.
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

/// Whether the pattern has expressions or aggregates, which may spell their terms differently elsewhere.
fn computes(pattern: &GraphPattern, needed: &Vars) -> bool {
    let own = match pattern {
        GraphPattern::Extend { variable, .. } => needed.contains(variable),
        GraphPattern::Group { aggregates, .. } => aggregates.iter().any(|(variable, _)| needed.contains(variable)),
        _ => false,
    };
    own || children(pattern).into_iter().any(|child| computes(child, needed))
}

/// Removes the filters at the top, except those that contain EXISTS.
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

/// Whether substituting the outer mapping gives the same solutions as joining with it. [`free`] checks the variables of
/// expressions separately.
fn is_joinable(pattern: &GraphPattern, outer: &Vars) -> bool {
    let shared_with = |part: &GraphPattern| -> Vars { &in_scope(part) & outer };
    let own = match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Values { .. } => true,
        // A path of length zero relates a substituted term to itself even if the graph does not contain the term.
        GraphPattern::Path { subject, path, object } => {
            !may_be_empty(path) || ![subject, object].into_iter().any(|end| is_one_of(end, outer))
        }
        GraphPattern::Join { .. } | GraphPattern::Union { .. } | GraphPattern::Graph { .. } => true,
        GraphPattern::Filter { .. } | GraphPattern::Project { .. } => true,
        GraphPattern::Distinct { .. } | GraphPattern::Reduced { .. } | GraphPattern::OrderBy { .. } => true,
        GraphPattern::Extend { variable, .. } => !outer.contains(variable),
        GraphPattern::LeftJoin { left, right, .. } => shared_with(right).is_subset(&certain(left)),
        // Substituted variables no longer count when MINUS tests whether the domains are disjoint.
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
        // Nothing is substituted in the middle of a sequence, so one part that may be empty suffices.
        P::Sequence(a, b) | P::Alternative(a, b) => may_be_empty(a) || may_be_empty(b),
    }
}
