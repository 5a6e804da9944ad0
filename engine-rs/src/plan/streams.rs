//! `STREAM ?s`: which streams static data binds the variable to.
//!
//! They are looked up when the query is registered; each becomes a window of its own. Static data
//! that changes later changes which of them count, but adds no stream.

use super::scope::in_scope;
use crate::algebra::children;
use oxrdf::{NamedNode, Variable};
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;
use std::collections::BTreeSet;

type Streams = BTreeSet<NamedNode>;

/// The values a variable can have in a solution, as far as static data says; `None` when it says nothing.
/// `ask` gives the values of the variable in a pattern over static data alone.
pub(crate) fn streams_of(
    variable: &Variable,
    pattern: &GraphPattern,
    windows: &[NamedNode],
    ask: &mut impl FnMut(&GraphPattern) -> Streams,
) -> Option<Streams> {
    let mut again = |part: &GraphPattern| streams_of(variable, part, windows, ask);
    match pattern {
        _ if !reads_window(pattern, windows) => in_scope(pattern).contains(variable).then(|| ask(pattern)),
        GraphPattern::Join { left, right } => match (again(left), again(right)) {
            (Some(a), Some(b)) => Some(&a & &b),
            (one, other) => one.or(other),
        },
        GraphPattern::Union { left, right } => Some(&again(left)? | &again(right)?),
        GraphPattern::LeftJoin { left, .. } | GraphPattern::Minus { left, .. } => again(left),
        GraphPattern::Graph { name: NamedNodePattern::NamedNode(name), .. } if windows.contains(name) => None,
        other => children(other).into_iter().find_map(again),
    }
}

fn reads_window(pattern: &GraphPattern, windows: &[NamedNode]) -> bool {
    let own = matches!(pattern, GraphPattern::Graph { name: NamedNodePattern::NamedNode(name), .. } if windows.contains(name));
    own || children(pattern).into_iter().any(|child| reads_window(child, windows))
}
