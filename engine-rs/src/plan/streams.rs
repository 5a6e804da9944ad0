//! `STREAM ?s`: the streams to which static data binds the variable.
//!
//! They are looked up at registration, and each becomes a window of its own. Later changes of static data decide which
//! of these windows contribute, but add no stream.

use super::scope::in_scope;
use crate::algebra::children;
use oxrdf::{NamedNode, Variable};
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;
use std::collections::BTreeSet;

type Streams = BTreeSet<NamedNode>;

/// The values that static data allows for a variable; `None` if static data does not restrict it. `ask` evaluates a
/// pattern over static data and returns the values of the variable.
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
