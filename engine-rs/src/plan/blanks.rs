//! Triple patterns without blank nodes.
//!
//! A blank node in a query is a variable that nobody can select. It is opened into one, so that patterns that share a
//! blank node are joined on it; its prefix cannot be written in SPARQL, so that no variable of a query has its name.

use super::logical::Place;
use oxrdf::{Term, Variable};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

pub(super) const BLANK_PREFIX: &str = "_whorl_blank_";

pub(super) fn places(pattern: &TriplePattern) -> [Place; 3] {
    let predicate = match &pattern.predicate {
        NamedNodePattern::NamedNode(node) => Place::Term(node.clone().into()),
        NamedNodePattern::Variable(variable) => Place::Variable(variable.clone()),
    };
    [place(&pattern.subject), predicate, place(&pattern.object)]
}

fn place(term: &TermPattern) -> Place {
    match term {
        TermPattern::NamedNode(node) => Place::Term(node.clone().into()),
        TermPattern::Literal(literal) => Place::Term(literal.clone().into()),
        TermPattern::Variable(variable) => Place::Variable(variable.clone()),
        TermPattern::BlankNode(node) => Place::Variable(blank_variable(node)),
        // Triple terms are opened into patterns of their own before: see `triple_terms`.
        TermPattern::Triple(_) => Place::Term(Term::from(oxrdf::NamedNode::new_unchecked("urn:whorl:nested"))),
    }
}

/// A blank node of a query is a variable nobody can ask for.
pub(super) fn blank_variable(node: &oxrdf::BlankNode) -> Variable {
    Variable::new_unchecked(format!("{BLANK_PREFIX}{}", node.as_str()))
}

/// The pattern with variables for its blank nodes, so that other patterns can be joined on them.
pub(super) fn open_blanks(pattern: &TriplePattern) -> TriplePattern {
    TriplePattern {
        subject: open_blank(&pattern.subject),
        predicate: pattern.predicate.clone(),
        object: open_blank(&pattern.object),
    }
}

pub(super) fn open_blank(term: &TermPattern) -> TermPattern {
    match term {
        TermPattern::BlankNode(node) => blank_variable(node).into(),
        other => other.clone(),
    }
}

/// Whether the variable stands for a blank node or was made by the planner.
pub(super) fn is_hidden(variable: &Variable) -> bool {
    variable.as_str().starts_with("_whorl_")
}
