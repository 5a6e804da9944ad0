//! The graphs that a query names.

use crate::algebra::children_and_exists;
use oxrdf::NamedNode;
use spargebra::Query;
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;

/// Every graph that FROM, FROM NAMED or GRAPH names, in query order, possibly with duplicates.
pub(crate) fn graph_names(query: &Query) -> Vec<&NamedNode> {
    let mut names = Vec::new();
    if let Some(dataset) = query.dataset() {
        names.extend(dataset.default.iter().chain(dataset.named.iter().flatten()));
    }
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    let mut waiting = vec![pattern];
    while let Some(pattern) = waiting.pop() {
        if let GraphPattern::Graph { name: NamedNodePattern::NamedNode(name), .. } = pattern {
            names.push(name);
        }
        waiting.extend(children_and_exists(pattern).into_iter().rev());
    }
    names
}

/// The graphs that GRAPH names in a pattern; `None` if a variable may stand for any graph.
pub(super) fn graphs_read(pattern: &GraphPattern) -> Option<Vec<NamedNode>> {
    let (mut names, mut waiting) = (Vec::new(), vec![pattern]);
    while let Some(pattern) = waiting.pop() {
        if let GraphPattern::Graph { name, .. } = pattern {
            let NamedNodePattern::NamedNode(name) = name else { return None };
            names.push(name.clone());
        }
        waiting.extend(children_and_exists(pattern));
    }
    Some(names)
}
