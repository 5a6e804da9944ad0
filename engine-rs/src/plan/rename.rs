//! Stable names for what the parser invents.
//!
//! spargebra draws random names for aggregates, for constants of DESCRIBE and for unlabelled blank nodes. They differ
//! from parse to parse, and the order of columns with them. Here they are numbered in algebra order, so that two
//! registrations of one text produce the same plan: restoring a snapshot and sharing operators both rely on it.

use super::blanks::open_blank;
use crate::algebra::{children_mut, expressions_mut, parts_mut};
use crate::parse::{ContinuousQuery, ParseError, ParseOptions, parse_query};
use oxrdf::{BlankNode, Variable};
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeMap;

/// Random names have 32 hexadecimal digits, minus leading zeros.
const DIGITS_MIN: usize = 20;

/// Parses a query; all names in the result depend only on its text.
pub(crate) fn parse_with_stable_names(text: &str, options: &ParseOptions) -> Result<ContinuousQuery, ParseError> {
    let mut definition = parse_query(text, options)?;
    rename_invented(&mut definition);
    Ok(definition)
}

/// Renames what the parser invented so that the names depend only on the query text.
fn rename_invented(definition: &mut ContinuousQuery) {
    let ContinuousQuery { query, text, .. } = definition;
    let mut renaming =
        Renaming { text, variables: BTreeMap::new(), blanks: BTreeMap::new(), labels: 0, in_template: false };
    match query {
        Query::Construct { pattern, template, .. } => {
            renaming.pattern(pattern);
            renaming.in_template = true;
            template.iter_mut().for_each(|triple| renaming.triple(triple));
        }
        Query::Select { pattern, .. } | Query::Ask { pattern, .. } | Query::Describe { pattern, .. } => {
            renaming.pattern(pattern);
        }
    }
}

struct Renaming<'a> {
    text: &'a str,
    variables: BTreeMap<Variable, Variable>,
    blanks: BTreeMap<String, BlankNode>,
    labels: usize,
    /// In a template, blank nodes are created; in a pattern, they are variables.
    in_template: bool,
}

impl Renaming<'_> {
    /// Names that occur in the text belong to the user.
    fn is_invented(&self, name: &str) -> bool {
        name.len() >= DIGITS_MIN && name.bytes().all(|b| b.is_ascii_hexdigit()) && !self.text.contains(name)
    }

    fn variable(&mut self, variable: &mut Variable) {
        if self.is_invented(variable.as_str()) {
            let number = self.variables.len() + 1;
            let renamed = self.variables.entry(variable.clone());
            *variable = renamed.or_insert_with(|| Variable::new_unchecked(format!("_whorl_made_{number}"))).clone();
        }
    }

    fn blank(&mut self, node: &mut BlankNode) {
        if !self.is_invented(node.as_str()) {
            return;
        }
        if !self.blanks.contains_key(node.as_str()) {
            let label = self.free_label();
            self.blanks.insert(node.as_str().to_owned(), label);
        }
        *node = self.blanks[node.as_str()].clone();
    }

    /// `b1`, `b2` and so on, skipping the labels that the user took.
    fn free_label(&mut self) -> BlankNode {
        loop {
            self.labels += 1;
            let label = format!("b{}", self.labels);
            if !self.text.contains(&format!("_:{label}")) {
                return BlankNode::new_unchecked(label);
            }
        }
    }

    fn term(&mut self, term: &mut TermPattern) {
        match term {
            TermPattern::Variable(variable) => self.variable(variable),
            TermPattern::BlankNode(node) => {
                self.blank(node);
                // The parser splits a path into patterns that share a blank node, on which they must be joined.
                if !self.in_template {
                    *term = open_blank(term);
                }
            }
            TermPattern::Triple(triple) => self.triple(triple),
            TermPattern::NamedNode(_) | TermPattern::Literal(_) => {}
        }
    }

    fn name(&mut self, name: &mut NamedNodePattern) {
        if let NamedNodePattern::Variable(variable) = name {
            self.variable(variable);
        }
    }

    fn triple(&mut self, triple: &mut TriplePattern) {
        self.term(&mut triple.subject);
        self.name(&mut triple.predicate);
        self.term(&mut triple.object);
    }

    /// Renames depth first: names follow the order in which the algebra binds them.
    fn pattern(&mut self, pattern: &mut GraphPattern) {
        children_mut(pattern).into_iter().for_each(|child| self.pattern(child));
        if let GraphPattern::Group { variables, .. } = pattern {
            variables.iter_mut().for_each(|variable| self.variable(variable));
        }
        expressions_mut(pattern).into_iter().for_each(|expression| self.expression(expression));
        match pattern {
            GraphPattern::Bgp { patterns } => patterns.iter_mut().for_each(|triple| self.triple(triple)),
            GraphPattern::Path { subject, object, .. } => [subject, object].into_iter().for_each(|end| self.term(end)),
            GraphPattern::Graph { name, .. } | GraphPattern::Service { name, .. } => self.name(name),
            GraphPattern::Extend { variable, .. } => self.variable(variable),
            GraphPattern::Values { variables, .. } | GraphPattern::Project { variables, .. } => {
                variables.iter_mut().for_each(|variable| self.variable(variable));
            }
            GraphPattern::Group { aggregates, .. } => {
                aggregates.iter_mut().for_each(|(variable, _)| self.variable(variable));
            }
            _ => {}
        }
    }

    fn expression(&mut self, expression: &mut Expression) {
        match expression {
            Expression::Variable(variable) | Expression::Bound(variable) => self.variable(variable),
            Expression::Exists(pattern) => self.pattern(pattern),
            other => parts_mut(other).into_iter().for_each(|part| self.expression(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rename_invented;
    use crate::parse::{ContinuousQuery, ParseOptions, parse_query};

    fn renamed(body: &str) -> ContinuousQuery {
        let text = format!("PREFIX : <http://ex/> {body}");
        let mut definition = parse_query(&text, &ParseOptions::default()).expect("a query");
        rename_invented(&mut definition);
        definition
    }

    #[test]
    fn two_parses_of_one_text_are_equal() {
        for body in [
            "SELECT (COUNT(?x) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 1s]
             WHERE { WINDOW :w { ?x :p/:q [ :r () , (1 2) ] } } GROUP BY (STR(?x)) HAVING (SUM(?x) > 1 && EXISTS { [] :p ?x })",
            "CONSTRUCT { [] :p [ :q ?x ] } FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE { WINDOW :w { ?x :p [] } }",
            "DESCRIBE :a :b FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE { WINDOW :w { ?x :p [] } }",
        ] {
            assert_eq!(renamed(body), renamed(body));
        }
    }

    #[test]
    fn what_the_user_wrote_keeps_its_name() {
        let name = "0123456789abcdef0123456789abcdef";
        let body = format!(
            "SELECT ?{name} FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE {{ WINDOW :w {{ ?{name} :p _:b1 , [] }} }}"
        );
        let query = renamed(&body).query.to_string();
        assert!(
            query.contains(&format!("?{name}")) && query.contains("_blank_b1") && query.contains("_blank_b2"),
            "{query}"
        );
    }
}
