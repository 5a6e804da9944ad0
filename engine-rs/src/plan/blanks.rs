//! Replaces the blank nodes of triple patterns by variables.
//!
//! A blank node in a query behaves like a variable that SELECT cannot name. Giving it a variable lets the planner join
//! patterns that share it. The prefix of these variables is not legal in SPARQL text, so they never collide with a
//! variable that the user wrote.

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
        // Leaves never see one, because `triple_terms` opens it first. For the cost check and for splitting static
        // patterns, a triple term counts as a constant.
        TermPattern::Triple(_) => Place::Term(Term::from(oxrdf::NamedNode::new_unchecked("urn:whorl:nested"))),
    }
}

/// The variable that stands for a blank node of the query.
pub(super) fn blank_variable(node: &oxrdf::BlankNode) -> Variable {
    Variable::new_unchecked(format!("{BLANK_PREFIX}{}", node.as_str()))
}

/// The pattern with variables for its blank nodes, so that other patterns can join on them.
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
