//! Solution modifiers at the top of a query: what is shown, in which order.

use super::scope::{contains_exists, in_scope, is_volatile, mentioned, of_order};
use crate::parse::ContinuousQuery;
use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern, OrderExpression};
use spargebra::term::TriplePattern;

/// What a query gives at each evaluation.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Bindings(Vec<Variable>),
    Boolean,
    Graph(Vec<TriplePattern>),
}

/// A query taken apart: the pattern to compute, the order to show it in, and the form of the answer.
pub(super) struct Top {
    pub pattern: GraphPattern,
    pub order: Vec<OrderExpression>,
    pub answer: Answer,
}

pub(super) fn take_apart(query: &ContinuousQuery) -> Top {
    match &query.query {
        Query::Select { pattern, .. } => select(pattern),
        Query::Ask { pattern, .. } => Top { pattern: pattern.clone(), order: vec![], answer: Answer::Boolean },
        Query::Construct { pattern, template, .. } => {
            Top { pattern: pattern.clone(), order: vec![], answer: Answer::Graph(template.clone()) }
        }
        Query::Describe { pattern, .. } => describe(pattern, query),
    }
}

/// DESCRIBE is the triples that begin with the resources found, from the default graph and every window.
fn describe(pattern: &GraphPattern, query: &ContinuousQuery) -> Top {
    let [resource, predicate, object] =
        ["resource", "predicate", "object"].map(|part| Variable::new_unchecked(format!("_whorl_described_{part}")));
    let renamed = projected(pattern).into_iter().map(|variable| GraphPattern::Project {
        inner: Box::new(GraphPattern::Extend {
            inner: pattern.clone().into(),
            variable: resource.clone(),
            expression: Expression::Variable(variable),
        }),
        variables: vec![resource.clone()],
    });
    let either =
        |left: GraphPattern, right: GraphPattern| GraphPattern::Union { left: left.into(), right: right.into() };
    let nothing = GraphPattern::Values { variables: vec![resource.clone()], bindings: vec![] };
    let resources = GraphPattern::Distinct { inner: renamed.reduce(either).unwrap_or(nothing).into() };
    let triple = TriplePattern { subject: resource.into(), predicate: predicate.into(), object: object.into() };
    let triples = GraphPattern::Bgp { patterns: vec![triple.clone()] };
    let in_windows = query.windows.iter().enumerate().filter(|(at, _)| !query.default_graph.windows.contains(at));
    let in_windows = in_windows
        .map(|(_, window)| GraphPattern::Graph { name: window.name.clone().into(), inner: triples.clone().into() });
    let triples = in_windows.fold(triples.clone(), either);
    let pattern = GraphPattern::Join { left: resources.into(), right: triples.into() };
    Top { pattern, order: vec![], answer: Answer::Graph(vec![triple]) }
}

fn select(pattern: &GraphPattern) -> Top {
    let variables = projected(pattern);
    let answer = Answer::Bindings(variables);
    let sliced = matches!(pattern, GraphPattern::Slice { .. });
    let ordered = if let GraphPattern::Slice { inner, .. } = pattern { inner } else { pattern };
    match lift_order(ordered) {
        // The order of a sliced answer is that of its TopK; the pattern stays as it is.
        Some((_, order)) if sliced => Top { pattern: pattern.clone(), order, answer },
        Some((pattern, order)) => Top { pattern, order, answer },
        None => Top { pattern: pattern.clone(), order: vec![], answer },
    }
}

fn projected(pattern: &GraphPattern) -> Vec<Variable> {
    match pattern {
        GraphPattern::Project { variables, .. } => variables.clone(),
        GraphPattern::Slice { inner, .. } | GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => {
            projected(inner)
        }
        other => in_scope(other).into_iter().collect(),
    }
}

/// Moves ORDER BY from below projection and DISTINCT to the top: gives the pattern without it, and
/// the comparators. `None` when DISTINCT drops variables the order needs. The projection itself is
/// left out, so that the comparators can still see what it hides: callers project afterwards.
pub(super) fn lift_order(pattern: &GraphPattern) -> Option<(GraphPattern, Vec<OrderExpression>)> {
    match pattern {
        GraphPattern::OrderBy { inner, expression } => Some(with_columns(inner, expression)),
        GraphPattern::Project { inner, .. } => match inner.as_ref() {
            GraphPattern::OrderBy { inner, expression } => Some(with_columns(inner, expression)),
            _ => Some((pattern.clone(), vec![])),
        },
        GraphPattern::Distinct { inner } => {
            let (rows, order) = projected_order(inner)?;
            Some(with_columns(&GraphPattern::Distinct { inner: rows.into() }, &order))
        }
        GraphPattern::Reduced { inner } => {
            let (rows, order) = projected_order(inner)?;
            Some(with_columns(&rows, &order))
        }
        other => Some((other.clone(), vec![])),
    }
}

fn projected_order(pattern: &GraphPattern) -> Option<(GraphPattern, Vec<OrderExpression>)> {
    let GraphPattern::Project { inner, variables } = pattern else { return Some((pattern.clone(), vec![])) };
    let GraphPattern::OrderBy { inner, expression } = inner.as_ref() else { return Some((pattern.clone(), vec![])) };
    let visible = expression.iter().flat_map(|order| mentioned(of_order(order))).all(|v| variables.contains(&v));
    let project = GraphPattern::Project { inner: inner.clone(), variables: variables.clone() };
    visible.then(|| (project, expression.clone()))
}

/// Binds what comparators cannot compute from a row alone, or would compute anew each time.
fn with_columns(pattern: &GraphPattern, order: &[OrderExpression]) -> (GraphPattern, Vec<OrderExpression>) {
    let (mut pattern, mut order) = (pattern.clone(), order.to_vec());
    for (number, part) in order.iter_mut().enumerate() {
        let (OrderExpression::Asc(expression) | OrderExpression::Desc(expression)) = part;
        if contains_exists(expression) || is_volatile(expression) {
            // The name depends on the place alone: the order of a slice is asked for twice.
            let variable = Variable::new_unchecked(format!("_whorl_order_{number}"));
            let expression = std::mem::replace(expression, Expression::Variable(variable.clone()));
            pattern = GraphPattern::Extend { inner: pattern.into(), variable, expression };
        }
    }
    (pattern, order)
}
