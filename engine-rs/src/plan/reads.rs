//! What a one-time query can read: which graphs, and which of their triples.

use super::graph_names::graph_names;
use crate::algebra::children_and_exists;
use oxrdf::{NamedNode, Term};
use spargebra::Query;
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// A triple pattern; `None` matches any term.
pub(crate) type Wanted = [Option<Term>; 3];

/// The graphs and patterns that cover everything the query can find.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub default_graph: bool,
    /// Every named graph, or only `names`.
    pub any_name: bool,
    pub names: Vec<NamedNode>,
    pub patterns: Vec<Wanted>,
}

impl Reads {
    pub(crate) fn of(query: &Query) -> Self {
        let names = graph_names(query).into_iter().cloned().collect();
        let mut reads = Self { default_graph: query.dataset().is_none(), names, ..Self::default() };
        let (Query::Select { pattern, .. }
        | Query::Construct { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. }) = query;
        let mut waiting = vec![pattern];
        while let Some(pattern) = waiting.pop() {
            reads.add(pattern);
            waiting.extend(children_and_exists(pattern));
        }
        if matches!(query, Query::Describe { .. }) {
            reads.patterns = vec![Wanted::default()];
        }
        reads
    }

    pub(crate) fn names(&self, name: &NamedNode) -> bool {
        self.any_name || self.names.contains(name)
    }

    fn add(&mut self, pattern: &GraphPattern) {
        match pattern {
            GraphPattern::Bgp { patterns } => patterns.iter().for_each(|pattern| self.want(wanted(pattern))),
            // A path of length zero starts at any term of the graph.
            GraphPattern::Path { .. } => self.want(Wanted::default()),
            GraphPattern::Graph { name: NamedNodePattern::Variable(_), .. } => self.any_name = true,
            _ => {}
        }
    }

    fn want(&mut self, wanted: Wanted) {
        if !self.patterns.contains(&wanted) {
            self.patterns.push(wanted);
        }
    }
}

fn wanted(TriplePattern { subject, predicate, object }: &TriplePattern) -> Wanted {
    let predicate = match predicate {
        NamedNodePattern::NamedNode(node) => Some(node.clone().into()),
        NamedNodePattern::Variable(_) => None,
    };
    [constant(subject), predicate, constant(object)]
}

fn constant(term: &TermPattern) -> Option<Term> {
    match term {
        TermPattern::NamedNode(node) => Some(node.clone().into()),
        TermPattern::Literal(literal) => Some(literal.clone().into()),
        _ => None,
    }
}
