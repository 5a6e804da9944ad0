//! Solution modifiers at the top of a query: which columns are shown, and in which order.

use super::scope::{Vars, contains_exists, in_scope, is_volatile, mentioned, of_order};
use super::translate::single_value;
use crate::parse::{ContinuousQuery, R2s, TemplateQuad, template_quads};
use oxrdf::{NamedNode, Variable};
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern, OrderExpression};
use spargebra::term::{GroundTerm, TermPattern, TriplePattern};

/// The form of a query's result.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Bindings(Vec<Variable>),
    Boolean,
    Graph(Vec<TemplateQuad>),
}

/// A query split into the pattern to compute, the order to show it in, and the form of the result.
#[derive(Clone)]
pub(super) struct Top {
    pub pattern: GraphPattern,
    pub order: Vec<OrderExpression>,
    /// Show only the first of rows with equal visible columns: DISTINCT under an ORDER BY on hidden columns.
    pub shows_once: bool,
    /// Whether the pattern begins with the projection of the outermost SELECT.
    pub is_projected: bool,
    pub answer: Answer,
}

impl Top {
    /// The variables that the result and its order are made of.
    pub(super) fn needed(&self) -> Vars {
        let mut needed: Vars = match &self.answer {
            Answer::Bindings(variables) => variables.iter().cloned().collect(),
            Answer::Boolean => Vars::new(),
            Answer::Graph(quads) => quads.iter().flat_map(variables_of).collect(),
        };
        needed.extend(self.order.iter().flat_map(|order| mentioned(of_order(order))));
        needed
    }
}

fn variables_of((triple, graph): &TemplateQuad) -> Vars {
    let mut variables = in_scope(&GraphPattern::Bgp { patterns: vec![triple.clone()] });
    if let Some(TermPattern::Variable(name)) = graph {
        variables.insert(name.clone());
    }
    variables
}

pub(super) fn take_apart(query: &ContinuousQuery) -> Top {
    match &query.query {
        Query::Select { pattern, .. } => select(pattern, query.r2s),
        Query::Ask { pattern, .. } => {
            let (pattern, order) = (pattern.clone(), vec![]);
            Top { pattern, order, shows_once: false, is_projected: false, answer: Answer::Boolean }
        }
        Query::Construct { pattern, template, .. } => Top {
            pattern: pattern.clone(),
            order: vec![],
            shows_once: false,
            is_projected: false,
            answer: Answer::Graph(template_quads(template)),
        },
        Query::Describe { pattern, .. } => describe(pattern, query),
    }
}

/// DESCRIBE yields the triples whose subject is a described resource, from the default graph and every window.
fn describe(pattern: &GraphPattern, query: &ContinuousQuery) -> Top {
    let [resource, predicate, object] =
        ["resource", "predicate", "object"].map(|part| Variable::new_unchecked(format!("_whorl_described_{part}")));
    // A resource named by its IRI is described even if there are no solutions.
    let found = projected(pattern).into_iter().map(|variable| match constant_of(&variable, pattern) {
        Some(node) => single_value(&resource, GroundTerm::NamedNode(node.clone())),
        None => {
            let bound = GraphPattern::Extend {
                inner: pattern.clone().into(),
                variable: resource.clone(),
                expression: Expression::Variable(variable),
            };
            let bound = GraphPattern::Filter { expr: Expression::Bound(resource.clone()), inner: bound.into() };
            GraphPattern::Project { inner: bound.into(), variables: vec![resource.clone()] }
        }
    });
    let either =
        |left: GraphPattern, right: GraphPattern| GraphPattern::Union { left: left.into(), right: right.into() };
    let nothing = GraphPattern::Values { variables: vec![resource.clone()], bindings: vec![] };
    let resources = GraphPattern::Distinct { inner: found.reduce(either).unwrap_or(nothing).into() };
    let triple = TriplePattern { subject: resource.into(), predicate: predicate.into(), object: object.into() };
    let triples = GraphPattern::Bgp { patterns: vec![triple.clone()] };
    let in_windows = query.windows.iter().enumerate().filter(|(at, _)| !query.default_graph.windows.contains(at));
    let in_windows = in_windows
        .map(|(_, window)| GraphPattern::Graph { name: window.name.clone().into(), inner: triples.clone().into() });
    let triples = in_windows.fold(triples.clone(), either);
    let pattern = GraphPattern::Join { left: resources.into(), right: triples.into() };
    let answer = Answer::Graph(vec![(triple, None)]);
    Top { pattern, order: vec![], shows_once: false, is_projected: false, answer }
}

/// The IRI that a variable of DESCRIBE stands for, if the query names one.
fn constant_of<'a>(variable: &Variable, pattern: &'a GraphPattern) -> Option<&'a NamedNode> {
    match pattern {
        GraphPattern::Extend { variable: own, expression: Expression::NamedNode(node), .. } if own == variable => {
            Some(node)
        }
        GraphPattern::Extend { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Slice { inner, .. } => constant_of(variable, inner),
        _ => None,
    }
}

fn select(pattern: &GraphPattern, r2s: R2s) -> Top {
    let answer = Answer::Bindings(projected(pattern));
    let is_projected = match pattern {
        GraphPattern::Slice { inner, .. } => matches!(**inner, GraphPattern::Project { .. }),
        // `lift_order` removes the projection together with the order below it.
        GraphPattern::Project { inner, .. } => !matches!(**inner, GraphPattern::OrderBy { .. }),
        _ => false,
    };
    let top = |pattern, order, shows_once| Top { pattern, order, shows_once, is_projected, answer };
    if let GraphPattern::Slice { inner, .. } = pattern {
        // TopK already orders a sliced result, so the pattern stays as it is.
        let order = lift_order(inner).map(|(_, order)| order).unwrap_or_default();
        return top(pattern.clone(), order, false);
    }
    match (lift_order(pattern), pattern) {
        (Some((pattern, order)), _) => top(pattern, order, false),
        (None, GraphPattern::Distinct { inner }) if r2s == R2s::Rstream => match lift_order(inner) {
            Some((pattern, order)) => top(pattern, order, true),
            None => top(pattern.clone(), vec![], false),
        },
        // Without RSTREAM a result is a set of changes, which has no order.
        (None, _) => top(pattern.clone(), vec![], false),
    }
}

pub(super) fn projected(pattern: &GraphPattern) -> Vec<Variable> {
    match pattern {
        GraphPattern::Project { variables, .. } => variables.clone(),
        GraphPattern::Slice { inner, .. } | GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => {
            projected(inner)
        }
        other => in_scope(other).into_iter().collect(),
    }
}

/// Moves ORDER BY from below projection and DISTINCT to the top: returns the pattern without it, and the comparators.
/// `None` if DISTINCT drops variables that the order needs. The projection is removed too, so that the comparators can
/// see the columns it hides; callers must project afterwards.
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

/// Binds the order expressions that comparators cannot compute from a row alone, or must not compute twice.
fn with_columns(pattern: &GraphPattern, order: &[OrderExpression]) -> (GraphPattern, Vec<OrderExpression>) {
    let (mut pattern, mut order) = (pattern.clone(), order.to_vec());
    for (number, part) in order.iter_mut().enumerate() {
        let (OrderExpression::Asc(expression) | OrderExpression::Desc(expression)) = part;
        if contains_exists(expression) || is_volatile(expression) {
            // The name depends only on the position, because a slice asks for its order twice.
            let variable = Variable::new_unchecked(format!("_whorl_order_{number}"));
            let expression = std::mem::replace(expression, Expression::Variable(variable.clone()));
            pattern = GraphPattern::Extend { inner: pattern.into(), variable, expression };
        }
    }
    (pattern, order)
}
