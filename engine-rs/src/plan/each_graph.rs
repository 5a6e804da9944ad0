//! GRAPH with a variable: the pattern in each graph separately.
//!
//! All graphs are evaluated at once, with the name of the graph in a column of every row: see the invariant of
//! `translate.rs`. `event_graphs.rs` has what is particular to the graphs of events.

use super::logical::{Dataset, Plan, Stage};
use super::scope::{self, contains_exists};
use super::translate::{Planned, Translator, inside, project};
use oxrdf::{Literal, Variable};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, GraphPattern};

impl Translator<'_> {
    /// A pattern that also reads windows, evaluated for each static graph. Rows carry the name of their graph in a
    /// separate column, which keeps the graphs apart in joins; only the result exposes it under the variable.
    pub(super) fn streaming_graphs(&mut self, variable: &Variable, inner: &GraphPattern) -> Planned {
        let graph = self.fresh.standing_for("graph", variable.to_string());
        let plan = self.plan(inner, &Dataset::EachGraph(graph.clone()))?;
        let named = Plan::Extend {
            inner: graph_names(&graph).into(),
            variable: variable.clone(),
            expression: Expression::Variable(graph),
        };
        let mut shown = scope::in_scope(inner);
        shown.insert(variable.clone());
        Ok(project(Plan::join([plan, named]), shown))
    }

    /// A pattern in each static graph. A filter that does not mention the graph variable can move outside, where the
    /// engine's own expressions evaluate it.
    pub(super) fn each_graph(&mut self, variable: Variable, pattern: &GraphPattern, dataset: &Dataset) -> Planned {
        if let GraphPattern::Filter { expr, inner } = pattern
            && !contains_exists(expr)
            && !scope::mentioned(expr).contains(&variable)
        {
            let outside = GraphPattern::Graph { name: variable.into(), inner: inner.clone() };
            return self.plan(&GraphPattern::Filter { expr: expr.clone(), inner: outside.into() }, dataset);
        }
        Ok(Plan::Static { pattern: pattern.clone(), each_graph: Some(variable) })
    }

    /// Aggregates without GROUP BY inside GRAPH ?g: one row for each graph, also for those in which nothing matches.
    /// ```text
    ///   names of the graphs  OPTIONAL  groups by graph, with the number of their rows  ─►  IF(BOUND(number), value, 0)
    /// ```
    pub(super) fn total_of_each(
        &mut self,
        graph: &Variable,
        inner: Plan,
        aggregates: &[(Variable, AggregateExpression)],
        dataset: &Dataset,
    ) -> Plan {
        let matched = self.fresh.next("rows");
        let mut counted = vec![(matched.clone(), AggregateExpression::CountSolutions { distinct: false })];
        let mut totals = Vec::new();
        for (variable, aggregate) in aggregates {
            let value = self.fresh.next("value");
            counted.push((value.clone(), aggregate.clone()));
            totals.push((variable.clone(), total(aggregate, value, &matched)));
        }
        let keys = vec![graph.clone()];
        let groups = Plan::Group { inner: inner.into(), keys: keys.clone(), aggregates: counted, stage: Stage::Whole };
        let names = match dataset {
            Dataset::EventGraph(window, _) => self.event_graphs(*window, graph.clone()),
            _ => graph_names(graph),
        };
        let all = Plan::Optional { left: names.into(), right: groups.into(), condition: None };
        let shown = keys.into_iter().chain(totals.iter().map(|(variable, _)| variable.clone())).collect();
        let extended = totals.into_iter().fold(all, |inner, (variable, expression)| Plan::Extend {
            inner: inner.into(),
            variable,
            expression,
        });
        project(extended, shown)
    }
}

/// The names of the static graphs, bound to this variable.
pub(super) fn graph_names(variable: &Variable) -> Plan {
    let nothing = GraphPattern::Bgp { patterns: vec![] };
    Plan::of_static(inside(&nothing, &Dataset::EachGraph(variable.clone())))
}

/// An aggregate without GROUP BY: its value if some row has matched, otherwise its value over no rows.
fn total(aggregate: &AggregateExpression, found: Variable, matched: &Variable) -> Expression {
    let found = Expression::Variable(found);
    match over_nothing(aggregate) {
        Some(nothing) => {
            let is_matched = Expression::Bound(matched.clone());
            Expression::If(is_matched.into(), found.into(), Expression::Literal(nothing).into())
        }
        None => found,
    }
}

/// `None` is unbound.
fn over_nothing(aggregate: &AggregateExpression) -> Option<Literal> {
    let zero = Some(Literal::from(0));
    match aggregate {
        AggregateExpression::CountSolutions { .. } => zero,
        AggregateExpression::FunctionCall { name, .. } => match name {
            AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg => zero,
            AggregateFunction::GroupConcat { .. } => Some(Literal::from("")),
            _ => None,
        },
    }
}
