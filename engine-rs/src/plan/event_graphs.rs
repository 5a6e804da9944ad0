//! GRAPH with a variable inside a window: the graphs that events arrived in.
//!
//! SPARQL 1.1 §18.6 evaluates the pattern in each graph separately and joins its solutions with the graph's name. The
//! planner evaluates all graphs at once instead: each row carries the name of its graph in a column, and joins on that
//! column keep the graphs apart.

use super::logical::{Dataset, LeafPlan, Place, Plan};
use super::paths::is_nullable;
use super::scope;
use super::translate::{Planned, Translator, project};
use crate::algebra::children;
use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern};

impl Translator<'_> {
    /// Plans a pattern for each graph of a window; rows carry the graph's name in a column. If the pattern itself uses
    /// the variable, that column needs a variable of its own, because inside GRAPH the variable is not yet the graph's
    /// name. Patterns that only join triples can use the variable directly.
    pub(super) fn each_event_graph(&mut self, window: usize, graph: &Variable, inner: &GraphPattern) -> Planned {
        let knows_it = scope::mentioned_in(inner).contains(graph) && !is_joined(inner);
        let column = if knows_it { self.fresh.standing_for("graph", graph.to_string()) } else { graph.clone() };
        let inside = Dataset::EventGraph(window, Place::Variable(column.clone()));
        let plan = self.plan(inner, &inside)?;
        let plan = self.carrying(plan, inner, &inside);
        if !knows_it {
            return Ok(plan);
        }
        let mut shown = scope::in_scope(inner);
        let is_bound_inside = !shown.insert(graph.clone());
        let named = |inner: Plan, column: Variable| Plan::Extend {
            inner: inner.into(),
            variable: graph.clone(),
            expression: Expression::Variable(column),
        };
        let plan = match is_bound_inside {
            true => Plan::join([plan, named(self.event_graphs(window, column.clone()), column)]),
            false => named(plan, column),
        };
        Ok(project(plan, shown))
    }

    /// The plan, joined with the names of the graphs in its window if its rows do not carry one: a pattern that reads
    /// no triples holds in every graph.
    pub(super) fn carrying(&mut self, plan: Plan, pattern: &GraphPattern, dataset: &Dataset) -> Plan {
        match dataset {
            Dataset::EventGraph(window, Place::Variable(graph)) if !self.reads_graphs(pattern, dataset) => {
                Plan::join([plan, self.event_graphs(*window, graph.clone())])
            }
            _ => plan,
        }
    }

    /// Whether every row of the plan of the pattern carries the name of its graph. What is static is evaluated once
    /// for all graphs, so it does not.
    fn reads_graphs(&self, pattern: &GraphPattern, dataset: &Dataset) -> bool {
        if self.is_static(pattern, dataset) {
            return false;
        }
        match pattern {
            GraphPattern::Bgp { patterns } => !patterns.is_empty(),
            GraphPattern::Path { .. } | GraphPattern::Graph { .. } | GraphPattern::Group { .. } => true,
            GraphPattern::Join { left, right } => self.reads_graphs(left, dataset) || self.reads_graphs(right, dataset),
            // These are planned `carrying`.
            GraphPattern::LeftJoin { .. } | GraphPattern::Minus { .. } | GraphPattern::Project { .. } => true,
            GraphPattern::Slice { .. } => true,
            GraphPattern::Values { .. } | GraphPattern::Service { .. } => false,
            _ => children(pattern).into_iter().all(|inner| self.reads_graphs(inner, dataset)),
        }
    }

    /// The plan of a pattern that is not joined before its rows must carry the name of their graph.
    pub(super) fn plan_carrying(&mut self, pattern: &GraphPattern, dataset: &Dataset) -> Planned {
        let plan = self.plan(pattern, dataset)?;
        Ok(self.carrying(plan, pattern, dataset))
    }

    /// The names of the graphs in a window, without duplicates.
    pub(super) fn event_graphs(&mut self, window: usize, graph: Variable) -> Plan {
        self.graphs_shown(window, Place::Variable(graph.clone()), vec![graph])
    }

    /// One row without columns while the window shows a triple of this graph: a graph without triples is not there.
    pub(super) fn event_graph(&mut self, dataset: &Dataset) -> Plan {
        match dataset {
            Dataset::EventGraph(window, name) => self.graphs_shown(*window, name.clone(), vec![]),
            _ => Plan::join([]),
        }
    }

    fn graphs_shown(&mut self, window: usize, graph: Place, variables: Vec<Variable>) -> Plan {
        let places = std::array::from_fn(|_| Place::Variable(self.fresh.next("any")));
        let leaf = Plan::Leaf(LeafPlan { window, places, graph: Some(graph), time: None });
        let names = Plan::Project { inner: leaf.into(), variables };
        Plan::Distinct { inner: names.into() }
    }
}

/// Whether the pattern may have a solution in a graph without triples.
pub(super) fn may_hold_without_triples(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => patterns.is_empty(),
        GraphPattern::Join { left, right } => may_hold_without_triples(left) && may_hold_without_triples(right),
        GraphPattern::Union { left, right } => may_hold_without_triples(left) || may_hold_without_triples(right),
        GraphPattern::LeftJoin { left, .. } | GraphPattern::Minus { left, .. } => may_hold_without_triples(left),
        // A path of length zero is found at any term.
        GraphPattern::Path { path, .. } => is_nullable(path),
        GraphPattern::Values { .. } | GraphPattern::Service { .. } => true,
        GraphPattern::Group { variables, .. } if variables.is_empty() => true,
        _ => children(pattern).into_iter().all(may_hold_without_triples),
    }
}

/// Whether the pattern consists of joined triple patterns only.
fn is_joined(pattern: &GraphPattern) -> bool {
    let own = matches!(pattern, GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Join { .. });
    own && children(pattern).into_iter().all(is_joined)
}

/// Whether MINUS removes nothing because its sides have no variable in common.
pub(super) fn shares_nothing(left: &GraphPattern, right: &GraphPattern) -> bool {
    scope::in_scope(left).is_disjoint(&scope::in_scope(right))
}
