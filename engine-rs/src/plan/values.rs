//! Joins VALUES early: with the patterns that bind its variables instead of with the OPTIONAL, MINUS or BIND above
//! them, so that the given rows restrict the search from the start.
//!
//! `(L OPTIONAL R) ⋈ V = (L ⋈ V) OPTIONAL R` holds if every row of L binds every variable of V, because V then decides
//! about rows of L alone; an UNDEF restricts nothing. The same holds for MINUS, FILTER and BIND.

use super::scope::{self, Vars};
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;

/// The join of both patterns, with VALUES moved as deep into the other one as possible; `None` if it cannot move.
pub(super) fn values_first(left: &GraphPattern, right: &GraphPattern) -> Option<GraphPattern> {
    match (left, right) {
        (pattern, values @ GraphPattern::Values { .. }) | (values @ GraphPattern::Values { .. }, pattern) => {
            lowered(pattern, values)
        }
        _ => None,
    }
}

/// The pattern with the rows joined inside it.
fn lowered(pattern: &GraphPattern, values: &GraphPattern) -> Option<GraphPattern> {
    let deeper = |inner: &GraphPattern| lowered(inner, values);
    let joined = |inner: &GraphPattern| {
        let join = || GraphPattern::Join { left: inner.clone().into(), right: values.clone().into() };
        deeper(inner).unwrap_or_else(join)
    };
    match pattern {
        GraphPattern::Join { left, right } => {
            let parts = deeper(left).map(|left| (left, (**right).clone()));
            let (left, right) = parts.or_else(|| deeper(right).map(|right| ((**left).clone(), right)))?;
            Some(GraphPattern::Join { left: left.into(), right: right.into() })
        }
        GraphPattern::LeftJoin { left, right, expression } if is_bound_by(values, left) => {
            let (left, right) = (joined(left).into(), right.clone());
            Some(GraphPattern::LeftJoin { left, right, expression: expression.clone() })
        }
        GraphPattern::Minus { left, right } if is_bound_by(values, left) => {
            Some(GraphPattern::Minus { left: joined(left).into(), right: right.clone() })
        }
        GraphPattern::Extend { inner, variable, expression }
            if is_bound_by(values, inner) && !scope::is_volatile(expression) =>
        {
            let (inner, variable) = (joined(inner).into(), variable.clone());
            Some(GraphPattern::Extend { inner, variable, expression: expression.clone() })
        }
        GraphPattern::Filter { expr, inner } if is_bound_by(values, inner) && !scope::is_volatile(expr) => {
            Some(GraphPattern::Filter { expr: expr.clone(), inner: joined(inner).into() })
        }
        GraphPattern::Graph { name: name @ NamedNodePattern::NamedNode(_), inner } => {
            Some(GraphPattern::Graph { name: name.clone(), inner: deeper(inner)?.into() })
        }
        _ => None,
    }
}

/// Whether every row of the pattern binds every variable of VALUES.
fn is_bound_by(values: &GraphPattern, pattern: &GraphPattern) -> bool {
    let given: Vars = scope::in_scope(values);
    given.is_subset(&scope::certain(pattern))
}
