//! Properties of a plan that hold for any data: whether results only come and go with their mappings, and whether rows
//! can exist without any window.

use super::blanks::{is_hidden, places};
use super::logical::{Place, Plan};
use super::scope;
use oxrdf::Variable;
use spargebra::algebra::GraphPattern;

/// Whether arrivals only add rows and expiries only remove rows.
pub(super) fn is_plain(plan: &Plan) -> bool {
    match plan {
        Plan::Filter { inner, .. } | Plan::Extend { inner, .. } => is_plain(inner),
        Plan::Join { inputs, .. } => inputs.iter().all(|input| matches!(input, Plan::Leaf(_) | Plan::Static { .. })),
        Plan::Leaf(_) => true,
        _ => false,
    }
}

/// Whether equal results come from equal mappings, because every variable of the leaves is shown.
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

/// Whether a static pattern yields each mapping once.
fn is_set(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => {
            !patterns.iter().flat_map(places).any(|place| matches!(place, Place::Variable(v) if is_hidden(&v)))
        }
        GraphPattern::Graph { inner, .. } => is_set(inner),
        _ => false,
    }
}
