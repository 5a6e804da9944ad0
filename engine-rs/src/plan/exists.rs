//! EXISTS as a match on shared variables.
//!
//! SPARQL substitutes the outer mapping into the pattern. For most patterns that is the same as
//! matching on the shared variables, where filters at the top of the pattern may mention outer
//! variables; `is_joinable` says for which. Other patterns are left to re-evaluation.

use super::scope::{Vars, certain, children, contains_exists, free, in_scope};
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::TermPattern;

/// The pattern of an EXISTS and the condition a match must satisfy together with the outer mapping.
pub(super) struct Correlated {
    pub pattern: GraphPattern,
    pub condition: Option<Expression>,
}

/// Takes an EXISTS pattern apart; `None` when matching on shared variables would not be the same.
pub(super) fn correlate(pattern: &GraphPattern, outer: &Vars) -> Option<Correlated> {
    let (inner, conditions) = strip_filters(pattern);
    if !is_joinable(inner, outer) || !free(inner).is_disjoint(outer) {
        return None;
    }
    let condition = conditions.into_iter().reduce(|a, b| Expression::And(a.into(), b.into()));
    Some(Correlated { pattern: inner.clone(), condition })
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
