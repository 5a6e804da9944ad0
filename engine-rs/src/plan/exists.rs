//! EXISTS as a flag: each one in an expression becomes a column that says whether a match is there.
//!
//! SPARQL substitutes the outer mapping into the pattern. For patterns of triples, joins, unions
//! and filters that is the same as matching on the shared variables, where filters at the top of
//! the pattern may mention outer variables. Other patterns are left to re-evaluation.

use super::scope::{Vars, children, free, in_scope};
use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern};

/// The pattern of an EXISTS and the condition a match must satisfy together with the outer mapping.
pub(super) struct Correlated {
    pub pattern: GraphPattern,
    pub condition: Option<Expression>,
}

/// Takes an EXISTS pattern apart; `None` when matching on shared variables would not be the same.
pub(super) fn correlate(pattern: &GraphPattern, outer: &Vars) -> Option<Correlated> {
    let (inner, conditions) = strip_filters(pattern);
    let plain = is_plain(inner) && free(inner).is_disjoint(outer);
    if !plain || conditions.iter().any(super::scope::contains_exists) {
        return None;
    }
    let condition = conditions.into_iter().reduce(|a, b| Expression::And(a.into(), b.into()));
    Some(Correlated { pattern: inner.clone(), condition })
}

fn strip_filters(pattern: &GraphPattern) -> (&GraphPattern, Vec<Expression>) {
    let mut conditions = Vec::new();
    let mut inner = pattern;
    while let GraphPattern::Filter { expr, inner: next } = inner {
        conditions.push(expr.clone());
        inner = next;
    }
    (inner, conditions)
}

fn is_plain(pattern: &GraphPattern) -> bool {
    let own = match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => true,
        GraphPattern::Join { .. } | GraphPattern::Union { .. } | GraphPattern::Graph { .. } => true,
        GraphPattern::Filter { expr, .. } => !super::scope::contains_exists(expr),
        _ => false,
    };
    own && children(pattern).into_iter().all(is_plain)
}

/// Replaces each EXISTS by a variable; gives the patterns in order.
pub(super) fn replace(
    expression: &Expression,
    name: &mut impl FnMut() -> Variable,
    found: &mut Vec<(Variable, GraphPattern)>,
) -> Expression {
    use Expression as E;
    let mut again = |e: &Expression| replace(e, name, found);
    match expression {
        E::Exists(pattern) => {
            let flag = name();
            found.push((flag.clone(), pattern.as_ref().clone()));
            E::Variable(flag)
        }
        E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) => expression.clone(),
        E::Or(a, b) => E::Or(again(a).into(), again(b).into()),
        E::And(a, b) => E::And(again(a).into(), again(b).into()),
        E::Equal(a, b) => E::Equal(again(a).into(), again(b).into()),
        E::SameTerm(a, b) => E::SameTerm(again(a).into(), again(b).into()),
        E::Greater(a, b) => E::Greater(again(a).into(), again(b).into()),
        E::GreaterOrEqual(a, b) => E::GreaterOrEqual(again(a).into(), again(b).into()),
        E::Less(a, b) => E::Less(again(a).into(), again(b).into()),
        E::LessOrEqual(a, b) => E::LessOrEqual(again(a).into(), again(b).into()),
        E::Add(a, b) => E::Add(again(a).into(), again(b).into()),
        E::Subtract(a, b) => E::Subtract(again(a).into(), again(b).into()),
        E::Multiply(a, b) => E::Multiply(again(a).into(), again(b).into()),
        E::Divide(a, b) => E::Divide(again(a).into(), again(b).into()),
        E::UnaryPlus(a) => E::UnaryPlus(again(a).into()),
        E::UnaryMinus(a) => E::UnaryMinus(again(a).into()),
        E::Not(a) => E::Not(again(a).into()),
        E::If(a, b, c) => E::If(again(a).into(), again(b).into(), again(c).into()),
        E::In(a, list) => E::In(again(a).into(), list.iter().map(again).collect()),
        E::Coalesce(list) => E::Coalesce(list.iter().map(again).collect()),
        E::FunctionCall(function, list) => E::FunctionCall(function.clone(), list.iter().map(again).collect()),
    }
}

/// The variables a pattern offers to an EXISTS beside it.
pub(super) fn outer_variables(pattern: &GraphPattern) -> Vars {
    in_scope(pattern)
}
