//! `GRAPH ?g { … }` as the standard defines it: the pattern in each graph separately, joined with the graph's name.
//!
//! The evaluator inserts the variable into the triple patterns instead. This is equivalent for triples and their joins,
//! but not for OPTIONAL, groups, filters on the variable, or patterns that match nothing.

use super::expressions::mentioned;
use crate::algebra::{children_mut, exists, exists_mut, expressions_mut};
use oxrdf::{NamedNode, Variable};
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern};

/// Evaluates graph by graph wherever it makes a difference.
pub(super) fn graph_by_graph(pattern: &mut GraphPattern, names: &[NamedNode]) {
    let in_exists = expressions_mut(pattern).into_iter().flat_map(exists_mut);
    in_exists.for_each(|inner| graph_by_graph(inner, names));
    children_mut(pattern).into_iter().for_each(|inner| graph_by_graph(inner, names));
    let GraphPattern::Graph { name: NamedNodePattern::Variable(variable), inner } = pattern else { return };
    if is_plain(inner) {
        return;
    }
    let (variable, inner) = (variable.clone(), std::mem::take(&mut **inner));
    *pattern = match inner {
        // A filter that does not mention the name can stand outside.
        GraphPattern::Filter { expr, inner } if !may_mention(&expr, &variable) => {
            let mut inner = GraphPattern::Graph { name: variable.into(), inner };
            graph_by_graph(&mut inner, names);
            GraphPattern::Filter { expr, inner: inner.into() }
        }
        inner => any_of(names, &variable, &inner),
    };
}

/// A balanced union, so that many graphs do not make a deep pattern.
fn any_of(names: &[NamedNode], variable: &Variable, inner: &GraphPattern) -> GraphPattern {
    match names {
        [] => GraphPattern::Values { variables: vec![variable.clone()], bindings: vec![] },
        [name] => {
            let named = vec![Some(GroundTerm::NamedNode(name.clone()))];
            let named = GraphPattern::Values { variables: vec![variable.clone()], bindings: vec![named] };
            let inner = GraphPattern::Graph { name: name.clone().into(), inner: inner.clone().into() };
            GraphPattern::Join { left: named.into(), right: inner.into() }
        }
        names => {
            let (left, right) = names.split_at(names.len() / 2);
            let side = |names| any_of(names, variable, inner).into();
            GraphPattern::Union { left: side(left), right: side(right) }
        }
    }
}

fn is_plain(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => !patterns.is_empty(),
        GraphPattern::Path { .. } => true,
        GraphPattern::Join { left, right } | GraphPattern::Union { left, right } => is_plain(left) && is_plain(right),
        _ => false,
    }
}

fn may_mention(expression: &Expression, variable: &Variable) -> bool {
    mentioned(expression).contains(variable) || !exists(expression).is_empty()
}
