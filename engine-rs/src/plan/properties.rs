//! What can be said of a plan before it runs: whether results only come and go with their mappings,
//! whether rows can be there without any window.

use super::blanks::{is_hidden, places};
use super::logical::{Place, Plan};
use super::scope;
use oxrdf::Variable;
use spargebra::algebra::GraphPattern;

/// Whether the plan only adds rows when mappings arrive and only loses rows when they go.
pub(super) fn is_plain(plan: &Plan) -> bool {
    match plan {
        Plan::Filter { inner, .. } | Plan::Extend { inner, .. } => is_plain(inner),
        Plan::Join { inputs, .. } => inputs.iter().all(|input| matches!(input, Plan::Leaf(_) | Plan::Static { .. })),
        Plan::Leaf(_) => true,
        _ => false,
    }
}

/// Whether equal answers come from equal mappings: every variable of the leaves is shown.
pub(super) fn hides_nothing(plan: &Plan, shown: &[Variable]) -> bool {
    match plan {
        Plan::Filter { inner, .. } | Plan::Extend { inner, .. } => hides_nothing(inner, shown),
        Plan::Join { inputs, .. } => inputs.iter().all(|input| hides_nothing(input, shown)),
        Plan::Leaf(leaf) => leaf.variables().all(|variable| shown.contains(variable)),
        Plan::Static { pattern, each_graph } => {
            each_graph.is_none() && scope::in_scope(pattern).iter().all(|v| shown.contains(v)) && is_set(pattern)
        }
        _ => false,
    }
}

/// Whether a static pattern gives each of its mappings once.
fn is_set(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => {
            !patterns.iter().flat_map(places).any(|place| matches!(place, Place::Variable(v) if is_hidden(&v)))
        }
        GraphPattern::Graph { inner, .. } => is_set(inner),
        _ => false,
    }
}
