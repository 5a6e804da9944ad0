//! SPARQL 1.1 Update → operations to perform in order.
//!
//! Input: the text of a request and a base IRI. Output: its operations, or an error with its position. The text is
//! split at the `;` between operations, and each is parsed with the prefixes declared before it: every operation may
//! have its own prologue, but spargebra reads only the first one. The limits are those of queries.

use std::collections::BTreeSet;

use oxiri::Iri;
use oxrdf::NamedNode;
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;
use spargebra::{GraphUpdateOperation, SparqlParser};

use super::diagnose::{Grammar, explain};
use super::error::ParseError;
use super::expansion::names_fit;
use super::names::Names;
use super::reading::{check_iris, lower_booleans};
use super::rewrite::Rewritten;
use super::token::{Kind, Token};
use super::{limits, token};

/// One operation, as the steps that spargebra makes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UpdateOperation {
    pub steps: Vec<GraphUpdateOperation>,
    pub base_iri: Option<Iri<String>>,
    /// ADD, MOVE, COPY: the named graph to read, which must exist.
    pub source: Option<Source>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    pub graph: NamedNode,
    /// Skip the operation if the graph does not exist.
    pub silent: bool,
}

/// Parses a request.
pub(crate) fn parse_update(text: &str, base: Option<&str>) -> Result<Vec<UpdateOperation>, ParseError> {
    limits::check_size(text)?;
    let tokens = token::tokenize(text)?;
    names_fit(text, &tokens, base)?;
    let mut names = Names::gather(text, &[], base)?;
    let mut operations = Vec::new();
    let parts = split(text, &tokens);
    for (at, part) in parts.iter().enumerate() {
        match part.parse(&mut names)? {
            Some(operation) => operations.push(operation),
            None if at + 1 < parts.len() => return Err(part.unexpected_end()),
            None => {}
        }
    }
    check_blank_nodes(text, &tokens)?;
    // Report errors anywhere in the request before operations that are valid but not supported.
    parts.iter().zip(&mut operations).try_for_each(|(part, operation)| part.refuse_other_servers(operation))?;
    Ok(operations)
}

/// The tokens of one operation with its prologue, and where its text ends.
struct Part<'a> {
    text: &'a str,
    tokens: &'a [Token],
    end: usize,
}

/// Splits a request at the semicolons outside all brackets.
fn split<'a>(text: &'a str, tokens: &'a [Token]) -> Vec<Part<'a>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i64, 0);
    for (at, token) in tokens.iter().enumerate() {
        depth += i64::from(token.kind == Kind::Open) - i64::from(token.kind == Kind::Close);
        if depth == 0 && token.is(text, ";") {
            parts.push(Part { text, tokens: &tokens[start..at], end: token.start });
            start = at + 1;
        }
    }
    parts.push(Part { text, tokens: &tokens[start..], end: text.len() });
    parts
}

impl Part<'_> {
    /// The operation after the prologue, if there is one; adds the prologue's declarations to `names`.
    fn parse(&self, names: &mut Names<'_>) -> Result<Option<UpdateOperation>, ParseError> {
        let Some(first) = self.tokens.first() else { return Ok(None) };
        let work = limits::check(self.text, self.tokens)?;
        let parser = names.parser(self.tokens)?;
        names.learn(self.tokens)?;
        names.check_prefixes(self.tokens)?;
        let (before, mut rewritten) = (&self.text[..self.end], Rewritten::part(self.text, first.start, self.end));
        let tokens = token::tokenize(&rewritten.text)?;
        lower_booleans(&mut rewritten, &tokens);
        let parsed = parser.clone().parse_update(&rewritten.text);
        let parsed = parsed.map_err(|_| explain(before, &rewritten, &parser, Grammar::Update, work))?;
        check_iris(before, &rewritten, &tokens, |text| parser.clone().parse_update(text).is_ok())?;
        let Some(verb) = self.verb() else { return Ok(None) };
        let source = self.source(verb, &parsed.operations);
        Ok(Some(UpdateOperation { steps: parsed.operations, base_iri: parsed.base_iri, source }))
    }

    /// The index of the first token after the prologue.
    fn verb(&self) -> Option<usize> {
        let mut at = 0;
        while let Some(token) = self.tokens.get(at) {
            at += match token {
                token if token.is_word(self.text, "PREFIX") => 3,
                token if token.is_any_word(self.text, &["BASE", "VERSION"]) => 2,
                _ => return Some(at),
            };
        }
        None
    }

    /// Every LOAD fails, because the engine fetches nothing; LOAD SILENT does nothing, as the standard allows.
    fn refuse_other_servers(&self, operation: &mut UpdateOperation) -> Result<(), ParseError> {
        let named = |word: &str| self.tokens.iter().find(|token| token.is_word(self.text, word));
        if let Some(token) = named("SERVICE") {
            let error = ParseError::new(
                "unsupported.service",
                "SERVICE is not supported: updates do not contact other servers",
            );
            return Err(error.at(self.text, token.start).with_hint("load the data as a static graph"));
        }
        let fails = |step: &GraphUpdateOperation| matches!(step, GraphUpdateOperation::Load { silent: false, .. });
        if let Some(token) = named("LOAD").filter(|_| operation.steps.iter().any(fails)) {
            let error =
                ParseError::new("unsupported.load", "LOAD is not supported: updates do not contact other servers");
            let hint = "read the document and load it as static data, or write it as INSERT DATA";
            return Err(error.at(self.text, token.start).with_hint(hint));
        }
        operation.steps.retain(|step| !matches!(step, GraphUpdateOperation::Load { .. }));
        Ok(())
    }

    fn source(&self, verb: usize, steps: &[GraphUpdateOperation]) -> Option<Source> {
        if !self.tokens[verb].is_any_word(self.text, &["ADD", "MOVE", "COPY"]) {
            return None;
        }
        let silent = self.tokens.get(verb + 1).is_some_and(|token| token.is_word(self.text, "SILENT"));
        steps.iter().find_map(|step| match step {
            GraphUpdateOperation::DeleteInsert { pattern, .. } => match pattern.as_ref() {
                GraphPattern::Graph { name: NamedNodePattern::NamedNode(graph), .. } => {
                    Some(Source { graph: graph.clone(), silent })
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// The error for a missing operation.
    fn unexpected_end(&self) -> ParseError {
        let error = ParseError::new("parse.unexpected_token", "unexpected ';', expected an operation");
        error.at(self.text, self.end)
    }
}

/// Two INSERT DATA operations cannot share a blank node (SPARQL 1.1 Update, grammar notes 8 and 9).
fn check_blank_nodes(text: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let mut earlier = BTreeSet::new();
    for part in split(text, tokens) {
        let word = |ahead: usize, word: &str| {
            let token = part.verb().and_then(|verb| part.tokens.get(verb + ahead));
            token.is_some_and(|token| token.is_word(text, word))
        };
        if !(word(0, "INSERT") && word(1, "DATA")) {
            continue;
        }
        let labels = || part.tokens.iter().filter(|token| token.kind == Kind::Blank);
        if let Some(token) = labels().find(|token| earlier.contains(token.text(text))) {
            let message = format!("the blank node {} is used in two operations", token.text(text));
            return Err(ParseError::new("parse.syntax", message).at(text, token.start));
        }
        earlier.extend(labels().map(|token| token.text(text)));
    }
    Ok(())
}

/// The parser's report about a text, for [`explain`].
pub(super) fn refusal(parser: SparqlParser, text: &str) -> Option<String> {
    parser.parse_update(text).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (&'static str, u32, u32) {
        let error = parse_update(text, None).expect_err(text);
        let position = error.position().expect("faults have a place");
        (error.code(), position.line, position.column)
    }

    #[test]
    fn every_operation_may_have_a_prologue() {
        let text = "PREFIX a: <http://a/> INSERT DATA { a:s a:p a:o } ;
             PREFIX b: <http://b/> PREFIX a: <http://c/> DELETE DATA { a:s b:p b:o } ; BASE <http://d/> CLEAR GRAPH <g> ;";
        let operations = parse_update(text, None).expect("well formed");
        let printed: Vec<String> = operations.iter().map(|o| o.steps[0].to_string()).collect();
        assert_eq!(operations.len(), 3);
        assert!(printed[0].contains("http://a/s") && printed[1].contains("http://c/s"), "{printed:?}");
        assert!(printed[2].contains("http://d/g"), "{printed:?}");
        assert_eq!(parse_update("", None), Ok(vec![]));
        assert_eq!(parse_update("PREFIX a: <http://a/>", None), Ok(vec![]));
    }

    #[test]
    fn faults_have_codes_and_places() {
        let data = "INSERT DATA { <http://a> <http://a> 1 } ;\n";
        assert_eq!(fault(&format!("{data}; {data}")), ("parse.unexpected_token", 2, 1));
        assert_eq!(fault(&format!("{data} INSERT DATO {{}}")), ("parse.unexpected_token", 2, 9));
        assert_eq!(fault(&format!("{data} INSERT {{ ?s ?p 1 }}")), ("parse.unexpected_end", 2, 20));
        assert_eq!(fault(&format!("{data} INSERT {{ ?s ?p 1 }} ; {data}")), ("parse.unexpected_end", 2, 20));
        assert_eq!(fault(&format!("{data} LOAD <http://a>")), ("unsupported.load", 2, 2));
        assert_eq!(
            fault(&format!("{data} INSERT {{ ?s ?p 1 }} WHERE {{ SERVICE <http://a> {{ ?s ?p ?o }} }}")),
            ("unsupported.service", 2, 29)
        );
        assert_eq!(fault(&format!("LOAD <http://a> ; {data} ; ")), ("parse.unexpected_token", 2, 2));
        assert_eq!(fault(&format!("{data} CLEAR GRAPH a:b")), ("prefix.unknown", 2, 14));
        let blank = "INSERT DATA { _:x <http://a> 1 }";
        assert_eq!(fault(&format!("{blank} ;\n{blank}")), ("parse.syntax", 2, 15));
        let deep = format!("INSERT {{}} WHERE {}{}", "{".repeat(100), "}".repeat(100));
        assert_eq!(parse_update(&deep, None).map_err(|error| error.code()), Err("limit.depth"));
        assert_eq!(parse_update(&" ".repeat(100_000), None).map_err(|error| error.code()), Err("limit.text"));
    }

    #[test]
    fn load_silent_is_no_operation() {
        let operations = parse_update("LOAD SILENT <http://a> ; CLEAR ALL", None).expect("well formed");
        assert_eq!(operations.iter().map(|o| o.steps.len()).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn transfers_name_their_source() {
        let operations = parse_update("COPY SILENT <http://a> TO DEFAULT ; MOVE DEFAULT TO <http://a>", None);
        let sources: Vec<_> = operations.expect("well formed").into_iter().map(|o| o.source).collect();
        let graph = NamedNode::new_unchecked("http://a");
        assert_eq!(sources, [Some(Source { graph, silent: true }), None]);
    }
}
