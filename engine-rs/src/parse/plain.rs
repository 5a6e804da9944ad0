//! One-time SPARQL: a query text without streaming clauses.
//!
//! Input: the text and a base IRI. Output: the query. Limits and errors are those of continuous queries; streaming
//! clauses are refused at their position.

use spargebra::Query;

use super::clause::{Clauses, find_clauses};
use super::cursor::Cursor;
use super::error::ParseError;
use super::expansion::names_fit;
use super::names::{Names, check_prologue};
use super::options::ParseOptions;
use super::query::{blank_mark, sparql_parser};
use super::reading::read_query;
use super::token::Token;
use super::{calls, extension, limits, token};

/// Words that only continuous queries use.
const STREAMING: [&str; 9] =
    ["REGISTER", "RSTREAM", "ISTREAM", "DSTREAM", "CHANGES", "WINDOW", "STREAM", "REPORT", "TICK"];

/// A query that is evaluated once.
#[derive(Clone, Debug)]
pub(crate) struct PlainQuery {
    pub query: Query,
}

/// Parses a query that has no streaming clauses.
pub(crate) fn parse_plain(text: &str, base: Option<&str>) -> Result<PlainQuery, ParseError> {
    limits::check_size(text)?;
    let tokens = token::tokenize(text)?;
    let work = limits::check(text, &tokens)?;
    names_fit(text, &tokens, base)?;
    check_prologue(text, &tokens)?;
    let names = Names::gather(text, &tokens, base)?;
    let mut clauses = find_clauses(Cursor { text, tokens: &tokens, names: &names, at: 0 }, None)?;
    names.check_prefixes(&tokens)?;
    refuse_streaming(text, &tokens, &clauses)?;
    refuse_service(text, &tokens)?;
    refuse_template_graph(text, &clauses)?;
    blank_mark(text, &mut clauses);
    calls::check_aggregates(text, &tokens)?;
    let percentiles = extension::rewrite(text, &tokens, &mut clauses.edits)?;
    let options = ParseOptions { base_iri: base.map(str::to_owned), ..ParseOptions::default() };
    let parser = sparql_parser(&options, percentiles)?;
    let rewritten = std::mem::take(&mut clauses.edits).apply(text);
    let query = read_query(&parser, text, rewritten, work)?;
    Ok(PlainQuery { query })
}

fn refuse_streaming(text: &str, tokens: &[Token], found: &Clauses) -> Result<(), ParseError> {
    let is_streaming = found.dialect.is_some()
        || found.name.is_some()
        || found.r2s.is_some()
        || found.every.is_some()
        || !found.windows.is_empty()
        || !found.reads.is_empty()
        || !found.window_variables.is_empty();
    if !is_streaming {
        return Ok(());
    }
    let at = tokens.iter().find(|token| token.is_any_word(text, &STREAMING)).map_or(0, |token| token.start);
    let error = ParseError::new("query.continuous", "this is a continuous query and cannot be evaluated once");
    Err(error.at(text, at).with_hint("register it, or read what is in a window now with GRAPH <name of the window>"))
}

fn refuse_service(text: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let Some(token) = tokens.iter().find(|token| token.is_word(text, "SERVICE")) else { return Ok(()) };
    let error =
        ParseError::new("unsupported.service", "SERVICE is not supported: queries do not contact other servers");
    Err(error.at(text, token.start).with_hint("load the data as a static graph"))
}

/// Only results of continuous queries have named graphs.
fn refuse_template_graph(text: &str, found: &Clauses) -> Result<(), ParseError> {
    let Some(at) = found.template_graph_at else { return Ok(()) };
    let message = "GRAPH in a CONSTRUCT template is for continuous queries; SPARQL has one graph as a result";
    let error = ParseError::new("unsupported.construct_graph", message).at(text, at);
    Err(error.with_hint("leave out GRAPH and its braces and keep the triples"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> &'static str {
        parse_plain(text, None).expect_err(text).code()
    }

    #[test]
    fn plain_sparql_is_read() {
        let parsed = parse_plain(
            "PREFIX : <http://ex/> SELECT (MEDIAN(?o) AS ?m) { GRAPH :g { ?s <p> ?o } }",
            Some("http://b/"),
        );
        assert!(matches!(parsed.expect("SPARQL").query, Query::Select { .. }));
        assert!(parse_plain("\u{feff}ASK { ?stream ?window ?tick }", None).is_ok());
    }

    #[test]
    fn streaming_clauses_are_refused_where_they_stand() {
        for text in [
            "PREFIX : <http://ex/>\nSELECT * FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE { WINDOW :w { ?s ?p ?o } }",
            "PREFIX : <http://ex/>\nSELECT * WHERE { WINDOW :w { ?s ?p ?o } }",
            "PREFIX : <http://ex/>\nSELECT * WHERE { STREAM :s [RANGE 1s] { ?s ?p ?o } }",
            "PREFIX : <http://ex/>\nSELECT * FROM STREAM :s [RANGE 1s STEP 1s] WHERE { ?s ?p ?o }",
            "PREFIX : <http://ex/>\nSELECT ISTREAM * WHERE { ?s ?p ?o }",
            "PREFIX : <http://ex/>\nREGISTER QUERY q AS SELECT * WHERE { ?s ?p ?o }",
        ] {
            let error = parse_plain(text, None).expect_err(text);
            assert_eq!(
                (error.code(), error.position().map(|p| p.line)),
                ("query.continuous", Some(2)),
                "{text}\n{error}"
            );
            assert!(error.hint().is_some_and(|hint| hint.contains("register")));
        }
    }

    #[test]
    fn other_servers_are_not_asked() {
        assert_eq!(code("SELECT * { SERVICE <http://ex/> { ?s ?p ?o } }"), "unsupported.service");
        assert_eq!(code("SELECT * { SERVICE SILENT ?x { ?s ?p ?o } }"), "unsupported.service");
        assert!(parse_plain("SELECT * { ?s ?p }", None).is_err());
    }
}
