//! GRAPH in the template of CONSTRUCT, whose results are then quads.
//!
//! SPARQL has templates of triples only, so a marker stands before and behind the triples of a GRAPH block:
//!
//! ```text
//!  CONSTRUCT { ?a :p ?b GRAPH ?g { ?a :q ?c } }
//!  CONSTRUCT { ?a :p ?b . <mark> <mark> ?g . ?a :q ?c . <mark> <mark> <mark> . }
//! ```
//!
//! The SPARQL parser keeps the order of triples, and whatever renames the variables and blank nodes of a template
//! renames those of the markers too. `quads` reads them back when the query is planned.

use spargebra::Query;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

use super::clause::Scan;
use super::error::ParseError;
use super::token::Kind;

const MARK: &str = "urn:whorl:template:graph";

/// A triple of a template and the name of its graph: an IRI, a variable or a blank node of the template; none is the
/// default graph.
pub(crate) type TemplateQuad = (TriplePattern, Option<TermPattern>);

/// The triples of a template without the markers, each with its graph.
pub(crate) fn quads(template: &[TriplePattern]) -> Vec<TemplateQuad> {
    let mut graph = None;
    let mut quads = Vec::with_capacity(template.len());
    for triple in template {
        if is_mark(&triple.subject)
            && matches!(&triple.predicate, NamedNodePattern::NamedNode(node) if node.as_str() == MARK)
        {
            graph = (!is_mark(&triple.object)).then(|| triple.object.clone());
        } else {
            quads.push((triple.clone(), graph.clone()));
        }
    }
    quads
}

/// Whether the template of a query has a GRAPH block.
pub(crate) fn names_graphs(query: &Query) -> bool {
    matches!(query, Query::Construct { template, .. } if quads(template).iter().any(|(_, graph)| graph.is_some()))
}

fn is_mark(term: &TermPattern) -> bool {
    matches!(term, TermPattern::NamedNode(node) if node.as_str() == MARK)
}

impl Scan<'_> {
    /// `GRAPH name {` in a template.
    pub(super) fn template_graph(&mut self) -> Result<(), ParseError> {
        if self.template_graph.is_some() {
            let error = self.cursor.fail("parse.unexpected_token", "GRAPH inside GRAPH in a CONSTRUCT template");
            return Err(error.with_hint("close the block of the first GRAPH before the second"));
        }
        let (text, word) = (self.cursor.text, self.cursor.offset());
        let end_of_triple = self.end_of_triple();
        self.cursor.at += 1;
        if self.graph_name(0)?.is_none()
            && !self.cursor.peek().is_some_and(|token| matches!(token.kind, Kind::Variable | Kind::Blank))
        {
            return Err(self.cursor.unexpected("an IRI, a variable or a blank node"));
        }
        self.cursor.at += 1;
        let Some(brace) = self.cursor.peek().filter(|token| token.is(text, "{")) else {
            return Err(self.cursor.unexpected("'{'"));
        };
        self.found.edits.splice(word, word + "GRAPH".len(), format!("{end_of_triple}<{MARK}> <{MARK}> "));
        self.found.edits.splice(brace.start, brace.end, " . ");
        self.found.template_graph_at.get_or_insert(word);
        self.template_graph = Some(self.depth);
        Ok(())
    }

    /// The brace that ends a GRAPH block of a template, and the dot that may follow it.
    pub(super) fn close_template_graph(&mut self) {
        let text = self.cursor.text;
        let end_of_triple = self.end_of_triple();
        let start = self.cursor.offset();
        let dot = self.cursor.peek_at(1).filter(|token| token.is(text, "."));
        let end = dot.map_or(start + "}".len(), |dot| dot.end);
        self.found.edits.splice(start, end, format!("{end_of_triple}<{MARK}> <{MARK}> <{MARK}> . "));
        self.template_graph = None;
    }

    /// A dot where the last triple has none.
    fn end_of_triple(&self) -> &'static str {
        let previous = self.cursor.at.checked_sub(1).map(|at| self.cursor.tokens[at].text(self.cursor.text));
        if matches!(previous, Some("." | "{" | "}")) { " " } else { " . " }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{ParseOptions, parse_query};

    /// The triples of a template, each behind the name of its graph.
    fn template(text: &str) -> Vec<String> {
        let text = format!("PREFIX : <http://e/> CONSTRUCT {{ {text} }} WHERE {{ STREAM :s [NOW] {{ ?s ?p ?o }} }}");
        let query = parse_query(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let Query::Construct { template, .. } = query.query else { panic!("a template") };
        let named = |graph: Option<TermPattern>| graph.map_or(String::new(), |graph| format!("{graph}: "));
        quads(&template).into_iter().map(|(triple, graph)| named(graph) + &triple.to_string()).collect()
    }

    #[test]
    fn triples_are_in_the_graphs_whose_braces_they_stand_in() {
        assert_eq!(template("GRAPH ?g { ?s ?p ?o }"), ["?g: ?s ?p ?o"]);
        assert_eq!(
            template("?s :a ?o GRAPH :g { ?s ?p ?o ; :b ?c } . ?s :c ?o . GRAPH _:x { _:x :d ?o . } ?s :e ?o"),
            [
                "?s <http://e/a> ?o",
                "<http://e/g>: ?s ?p ?o",
                "<http://e/g>: ?s <http://e/b> ?c",
                "?s <http://e/c> ?o",
                "_:x: _:x <http://e/d> ?o",
                "?s <http://e/e> ?o",
            ]
        );
        assert_eq!(template("GRAPH ?g { } GRAPH ?h { ?s ?p ?o } GRAPH ?g { }"), ["?h: ?s ?p ?o"]);
        assert_eq!(
            template("GRAPH ?g { ?s ?p [ :a (1) ] } ?s ?p ?o").iter().filter(|t| t.starts_with("?g: ")).count(),
            4
        );
    }

    #[test]
    fn a_query_that_is_evaluated_once_constructs_one_graph() {
        let error = crate::parse::parse_plain("CONSTRUCT { GRAPH ?g { ?s ?p ?o } } WHERE { ?s ?p ?o }", None);
        assert_eq!(error.expect_err("one graph").code(), "unsupported.construct_graph");
    }
}
