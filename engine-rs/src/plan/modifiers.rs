//! Solution modifiers at the top of a query: what is shown, in which order.

use super::scope::{in_scope, mentioned, of_order};
use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::{GraphPattern, OrderExpression};
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

pub(super) fn take_apart(query: &Query) -> Option<Top> {
    match query {
        Query::Select { pattern, .. } => Some(select(pattern)),
        Query::Ask { pattern, .. } => Some(Top { pattern: pattern.clone(), order: vec![], answer: Answer::Boolean }),
        Query::Construct { pattern, template, .. } => {
            Some(Top { pattern: pattern.clone(), order: vec![], answer: Answer::Graph(template.clone()) })
        }
        Query::Describe { .. } => None,
    }
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
        GraphPattern::OrderBy { inner, expression } => Some((inner.as_ref().clone(), expression.clone())),
        GraphPattern::Project { inner, .. } => match inner.as_ref() {
            GraphPattern::OrderBy { inner, expression } => Some((inner.as_ref().clone(), expression.clone())),
            _ => Some((pattern.clone(), vec![])),
        },
        GraphPattern::Distinct { inner } => {
            let (rows, order) = projected_order(inner)?;
            Some((GraphPattern::Distinct { inner: rows.into() }, order))
        }
        GraphPattern::Reduced { inner } => projected_order(inner),
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
