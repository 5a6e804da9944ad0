//! Which variables a pattern binds, and which its expressions mention.

use oxrdf::Variable;
use spargebra::algebra::{AggregateExpression, Expression, Function, GraphPattern, OrderExpression};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeSet;

pub(super) type Vars = BTreeSet<Variable>;

/// The variables in scope after the pattern; blank nodes of the query are not among them.
pub(super) fn in_scope(pattern: &GraphPattern) -> Vars {
    let mut vars = Vars::new();
    pattern.on_in_scope_variable(|variable| {
        vars.insert(variable.clone());
    });
    vars
}

/// Every variable an expression mentions, inside EXISTS too.
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

/// Every variable a pattern mentions anywhere.
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

/// Variables that expressions in the pattern mention although nothing there binds them.
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

/// The patterns directly inside a pattern, by reference or to be changed: one list for both.
macro_rules! inner_patterns {
    ($pattern:expr) => {
        match $pattern {
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => vec![],
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => vec![left, right],
            GraphPattern::Filter { inner, .. }
            | GraphPattern::Graph { inner, .. }
            | GraphPattern::Extend { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. }
            | GraphPattern::Group { inner, .. }
            | GraphPattern::Service { inner, .. } => vec![inner],
        }
    };
}

pub(super) fn children(pattern: &GraphPattern) -> Vec<&GraphPattern> {
    inner_patterns!(pattern)
}

pub(super) fn children_mut(pattern: &mut GraphPattern) -> Vec<&mut GraphPattern> {
    inner_patterns!(pattern)
}

/// The children of a pattern, and the patterns of EXISTS in its own expressions.
pub(super) fn children_and_exists(pattern: &GraphPattern) -> Vec<&GraphPattern> {
    let mut patterns = children(pattern);
    for expression in expressions(pattern) {
        visit_expression(expression, &mut |e| {
            if let Expression::Exists(pattern) = e {
                patterns.push(pattern);
            }
        });
    }
    patterns
}

/// The expressions of this node alone.
pub(super) fn expressions(pattern: &GraphPattern) -> Vec<&Expression> {
    match pattern {
        GraphPattern::Filter { expr, .. } => vec![expr],
        GraphPattern::LeftJoin { expression, .. } => expression.iter().collect(),
        GraphPattern::Extend { expression, .. } => vec![expression],
        GraphPattern::OrderBy { expression, .. } => expression.iter().map(of_order).collect(),
        GraphPattern::Group { aggregates, .. } => aggregates.iter().filter_map(|(_, a)| of_aggregate(a)).collect(),
        _ => vec![],
    }
}

/// The expressions of this node alone, to be changed.
pub(super) fn expressions_mut(pattern: &mut GraphPattern) -> Vec<&mut Expression> {
    match pattern {
        GraphPattern::Filter { expr, .. } => vec![expr],
        GraphPattern::LeftJoin { expression, .. } => expression.iter_mut().collect(),
        GraphPattern::Extend { expression, .. } => vec![expression],
        GraphPattern::OrderBy { expression, .. } => {
            let of = expression.iter_mut().map(|order| match order {
                OrderExpression::Asc(expression) | OrderExpression::Desc(expression) => expression,
            });
            of.collect()
        }
        GraphPattern::Group { aggregates, .. } => {
            let of = aggregates.iter_mut().filter_map(|(_, aggregate)| match aggregate {
                AggregateExpression::CountSolutions { .. } => None,
                AggregateExpression::FunctionCall { expr, .. } => Some(expr),
            });
            of.collect()
        }
        _ => vec![],
    }
}

/// Visits the patterns of EXISTS in an expression, to change them.
pub(super) fn visit_exists_mut(expression: &mut Expression, visit: &mut dyn FnMut(&mut GraphPattern)) {
    *expression = rewrite(expression, &mut |e| match e {
        Expression::Exists(pattern) => {
            let mut pattern = pattern.clone();
            visit(&mut pattern);
            Some(Expression::Exists(pattern))
        }
        _ => None,
    });
}

pub(super) fn of_order(order: &OrderExpression) -> &Expression {
    match order {
        OrderExpression::Asc(expression) | OrderExpression::Desc(expression) => expression,
    }
}

pub(super) fn of_aggregate(aggregate: &AggregateExpression) -> Option<&Expression> {
    match aggregate {
        AggregateExpression::CountSolutions { .. } => None,
        AggregateExpression::FunctionCall { expr, .. } => Some(expr),
    }
}

/// Visits an expression and its parts; not the patterns inside EXISTS.
pub(super) fn visit_expression<'a>(expression: &'a Expression, visit: &mut impl FnMut(&'a Expression)) {
    visit(expression);
    for part in parts(expression) {
        visit_expression(part, visit);
    }
}

pub(super) fn parts(expression: &Expression) -> Vec<&Expression> {
    use Expression as E;
    match expression {
        E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Exists(_) | E::Bound(_) => vec![],
        E::Or(a, b)
        | E::And(a, b)
        | E::Equal(a, b)
        | E::SameTerm(a, b)
        | E::Greater(a, b)
        | E::GreaterOrEqual(a, b)
        | E::Less(a, b)
        | E::LessOrEqual(a, b)
        | E::Add(a, b)
        | E::Subtract(a, b)
        | E::Multiply(a, b)
        | E::Divide(a, b) => vec![a, b],
        E::UnaryPlus(a) | E::UnaryMinus(a) | E::Not(a) => vec![a],
        E::If(a, b, c) => vec![a, b, c],
        E::In(a, list) => std::iter::once(a.as_ref()).chain(list).collect(),
        E::Coalesce(list) | E::FunctionCall(_, list) => list.iter().collect(),
    }
}

pub(super) fn contains_exists(expression: &Expression) -> bool {
    let mut found = false;
    visit_expression(expression, &mut |e| found |= matches!(e, Expression::Exists(_)));
    found
}

/// Whether the pattern has a triple term with variables inside, which leaves cannot match.
pub(super) fn has_nested_pattern(pattern: &TriplePattern) -> bool {
    [&pattern.subject, &pattern.object].into_iter().any(|term| matches!(term, TermPattern::Triple(_)))
}

/// Whether the answer is the same however often a triple is there: what a closure path reaches, and what is asked for
/// once, as long as nothing inside is counted or cut off.
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

/// Variables that are bound in every solution.
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

/// Whether the value is not a function of the mapping alone.
pub(super) fn is_volatile(expression: &Expression) -> bool {
    calls(expression, &|function| draws(function) || asks(function))
}

/// Whether the expression asks for the instant of the evaluation or the time of an event.
pub(super) fn asks_time(expression: &Expression) -> bool {
    calls(expression, &asks)
}

fn asks(function: &Function) -> bool {
    matches!(function, Function::Now) || is_timestamp(function)
}

/// Functions that give something new for each solution.
fn draws(function: &Function) -> bool {
    matches!(function, Function::Rand | Function::Uuid | Function::StrUuid | Function::BNode)
}

/// Whether a function that gives something new for each solution is called anywhere in the pattern.
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

/// A function in the pattern whose value re-evaluation does not know, or could not hold steady.
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

/// The expression with some of its parts replaced; where `change` gives nothing, the parts inside are tried.
/// Patterns inside EXISTS stay as they are.
pub(super) fn rewrite(
    expression: &Expression,
    change: &mut dyn FnMut(&Expression) -> Option<Expression>,
) -> Expression {
    use Expression as E;
    if let Some(changed) = change(expression) {
        return changed;
    }
    let mut again = |e: &Expression| rewrite(e, change);
    match expression {
        E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) | E::Exists(_) => expression.clone(),
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
