//! Which variables a pattern binds, and which its expressions mention.

use crate::algebra::{children, children_and_exists, exists, expressions, visit_expression};
use oxrdf::Variable;
use spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeSet;

pub(super) type Vars = BTreeSet<Variable>;

/// The variables in scope after the pattern, without the blank nodes of the query.
pub(super) fn in_scope(pattern: &GraphPattern) -> Vars {
    let mut vars = Vars::new();
    pattern.on_in_scope_variable(|variable| {
        vars.insert(variable.clone());
    });
    vars
}

/// Every variable that an expression mentions, also inside EXISTS.
pub(super) fn mentioned(expression: &Expression) -> Vars {
    let mut vars = Vars::new();
    visit_expression(expression, &mut |e| match e {
        Expression::Variable(variable) | Expression::Bound(variable) => {
            vars.insert(variable.clone());
        }
        Expression::Exists(pattern) => vars.extend(mentioned_in(pattern)),
        _ => {}
    });
    vars
}

/// Variables that are bound wherever a condition is true: without them, what it needs of them would be an error.
pub(super) fn needed(condition: &Expression) -> Vars {
    match condition {
        Expression::And(a, b) => &needed(a) | &needed(b),
        Expression::Or(a, b) => &needed(a) & &needed(b),
        Expression::Bound(variable) => Vars::from_iter([variable.clone()]),
        other => needed_for_value(other),
    }
}

/// Variables without which an expression has no value; an under-approximation.
fn needed_for_value(expression: &Expression) -> Vars {
    use Expression as E;
    match expression {
        E::Variable(variable) => Vars::from_iter([variable.clone()]),
        E::Equal(a, b)
        | E::Greater(a, b)
        | E::GreaterOrEqual(a, b)
        | E::Less(a, b)
        | E::LessOrEqual(a, b)
        | E::Add(a, b)
        | E::Subtract(a, b)
        | E::Multiply(a, b)
        | E::Divide(a, b) => &needed_for_value(a) | &needed_for_value(b),
        E::Not(inner) | E::UnaryPlus(inner) | E::UnaryMinus(inner) => needed_for_value(inner),
        _ => Vars::new(),
    }
}

/// Every variable that a pattern mentions anywhere.
pub(super) fn mentioned_in(pattern: &GraphPattern) -> Vars {
    let mut vars = in_scope(pattern);
    for expression in expressions(pattern) {
        vars.extend(mentioned(expression));
    }
    for child in children(pattern) {
        vars.extend(mentioned_in(child));
    }
    vars
}

/// The variables that expressions in the pattern mention although the pattern does not bind them.
pub(super) fn free(pattern: &GraphPattern) -> Vars {
    let bound = match pattern {
        GraphPattern::LeftJoin { left, right, .. } => &in_scope(left) | &in_scope(right),
        GraphPattern::Filter { inner, .. } | GraphPattern::Extend { inner, .. } => in_scope(inner),
        GraphPattern::Group { inner, .. } | GraphPattern::OrderBy { inner, .. } => in_scope(inner),
        _ => Vars::new(),
    };
    let mut vars: Vars = expressions(pattern).into_iter().flat_map(mentioned).filter(|v| !bound.contains(v)).collect();
    for child in children(pattern) {
        vars.extend(free(child));
    }
    vars
}

pub(super) fn of_order(order: &OrderExpression) -> &Expression {
    match order {
        OrderExpression::Asc(expression) | OrderExpression::Desc(expression) => expression,
    }
}

pub(super) fn contains_exists(expression: &Expression) -> bool {
    !exists(expression).is_empty()
}

/// Whether the pattern contains a triple term with variables, which leaves cannot match.
pub(super) fn has_nested_pattern(pattern: &TriplePattern) -> bool {
    [&pattern.subject, &pattern.object].into_iter().any(|term| matches!(term, TermPattern::Triple(_)))
}

/// Whether the solutions do not depend on how many copies of a triple there are. This holds for closure paths and for
/// DISTINCT, as long as nothing inside counts or slices.
pub(super) fn ignores_copies(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Path { .. } => true,
        GraphPattern::Distinct { inner } => !counts_rows(inner),
        GraphPattern::Slice { inner, .. } => ignores_copies(inner),
        _ => false,
    }
}

fn counts_rows(pattern: &GraphPattern) -> bool {
    matches!(pattern, GraphPattern::Group { .. } | GraphPattern::Slice { .. })
        || children_and_exists(pattern).into_iter().any(counts_rows)
}

pub(super) fn graph_variable(name: &NamedNodePattern) -> Option<&Variable> {
    match name {
        NamedNodePattern::Variable(variable) => Some(variable),
        NamedNodePattern::NamedNode(_) => None,
    }
}

/// The variables that every solution binds.
///
/// An under-approximation is safe here, an over-approximation is not: joins index these variables and compare them
/// without looking for unbound values.
pub(super) fn certain(pattern: &GraphPattern) -> Vars {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => in_scope(pattern),
        GraphPattern::Join { left, right } => &certain(left) | &certain(right),
        GraphPattern::LeftJoin { left, .. } | GraphPattern::Minus { left, .. } => certain(left),
        GraphPattern::Union { left, right } => &certain(left) & &certain(right),
        GraphPattern::Graph { name, inner } => {
            let mut vars = certain(inner);
            vars.extend(graph_variable(name).cloned());
            vars
        }
        GraphPattern::Values { variables, bindings } => {
            let always = |column: usize| bindings.iter().all(|row| row[column].is_some());
            variables.iter().enumerate().filter(|(column, _)| always(*column)).map(|(_, v)| v.clone()).collect()
        }
        GraphPattern::Project { inner, variables } => {
            certain(inner).into_iter().filter(|v| variables.contains(v)).collect()
        }
        GraphPattern::Group { inner, variables, .. } => {
            certain(inner).into_iter().filter(|v| variables.contains(v)).collect()
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => certain(inner),
        GraphPattern::Service { .. } => Vars::new(),
    }
}

/// The time of an event, by one of its triples or by the name of its graph.
pub(super) const TIMESTAMP_FUNCTIONS: [&str; 2] =
    ["http://larkc.eu/csparql/sparql/jena/ext#timestamp", "urn:whorl:fn:timestamp"];

pub(super) fn is_timestamp(function: &Function) -> bool {
    matches!(function, Function::Custom(iri) if TIMESTAMP_FUNCTIONS.contains(&iri.as_str()))
}

/// Whether the value depends on more than the mapping.
pub(super) fn is_volatile(expression: &Expression) -> bool {
    calls(expression, &|function| draws(function) || asks(function))
}

/// Whether the expression reads the instant of the evaluation or the time of an event.
pub(super) fn asks_time(expression: &Expression) -> bool {
    calls(expression, &asks)
}

fn asks(function: &Function) -> bool {
    matches!(function, Function::Now) || is_timestamp(function)
}

/// Whether the function yields a new value for each solution.
fn draws(function: &Function) -> bool {
    matches!(function, Function::Rand | Function::Uuid | Function::StrUuid | Function::BNode)
}

/// Whether the pattern calls a function that yields a new value for each solution.
pub(super) fn draws_values(pattern: &GraphPattern) -> bool {
    expressions(pattern).into_iter().any(|expression| calls(expression, &draws))
        || children_and_exists(pattern).into_iter().any(draws_values)
}

fn calls(expression: &Expression, wanted: &impl Fn(&Function) -> bool) -> bool {
    let mut found = false;
    visit_expression(expression, &mut |e| {
        found |= matches!(e, Expression::FunctionCall(function, _) if wanted(function));
    });
    found
}

/// A function in the pattern that re-evaluation cannot compute, or for which it could not repeat the same value.
pub(super) fn drawing_function(pattern: &GraphPattern) -> Option<String> {
    let mut found = None;
    for expression in expressions(pattern) {
        visit_expression(expression, &mut |e| match e {
            Expression::FunctionCall(function, _) if draws(function) || asks(function) => {
                found = Some(function.to_string());
            }
            Expression::Exists(inner) => found = found.take().or_else(|| drawing_function(inner)),
            _ => {}
        });
    }
    found.or_else(|| children(pattern).into_iter().find_map(drawing_function))
}
