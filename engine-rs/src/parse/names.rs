//! The prologue: what prefixed names and relative IRIs of window, stream and query names stand for.
//!
//! In: the tokens of a query. Out: resolved IRIs. Resolution itself is left to spargebra, so that a window's name in
//! a clause and in the body are the same IRI by construction.

use std::collections::BTreeMap;

use oxrdf::NamedNode;
use spargebra::{Query, SparqlParser};

use super::error::{ParseError, closest};
use super::token::{Kind, Token, tokenize};

/// Stands before a relative window, stream or query name when the query has no BASE: `<w>` is common in RSP-QL.
pub(crate) const BARE_NAMES: &str = "urn:whorl:name:";

pub(super) struct Names<'a> {
    text: &'a str,
    base: Option<String>,
    /// Prefix without its colon → namespace.
    prefixes: BTreeMap<&'a str, String>,
}

/// The prefixes a query that parses has declared, and their namespaces.
pub(crate) fn declared_prefixes(text: &str, base: Option<&str>) -> Vec<(String, String)> {
    let gathered = tokenize(text).and_then(|tokens| Names::gather(text, &tokens, base));
    let prefixes = gathered.map(|names| names.prefixes).unwrap_or_default();
    prefixes.into_iter().map(|(prefix, namespace)| (prefix.to_owned(), namespace)).collect()
}

impl<'a> Names<'a> {
    /// Reads all PREFIX and BASE declarations, wherever the dialect puts them.
    pub fn gather(text: &'a str, tokens: &[Token], base: Option<&str>) -> Result<Self, ParseError> {
        let mut names = Self { text, base: base.map(str::to_owned), prefixes: BTreeMap::new() };
        names.learn(tokens)?;
        Ok(names)
    }

    /// Adds the declarations among these tokens.
    pub fn learn(&mut self, tokens: &[Token]) -> Result<(), ParseError> {
        let text = self.text;
        for (at, token) in tokens.iter().enumerate() {
            let next = |n: usize| tokens.get(at + n).copied();
            if token.is_word(text, "BASE") {
                if let Some(iri) = next(1).filter(|t| t.kind == Kind::Iri) {
                    self.base = Some(self.iri(iri)?.into_string());
                }
            } else if token.is_word(text, "PREFIX")
                && let (Some(prefix), Some(iri)) = (next(1), next(2).filter(|t| t.kind == Kind::Iri))
            {
                let namespace = self.iri(iri)?.into_string();
                self.prefixes.insert(prefix.text(text).trim_end_matches(':'), namespace);
            }
        }
        Ok(())
    }

    /// The IRI of a window, stream or query name.
    pub fn resolve(&self, token: Token) -> Result<NamedNode, ParseError> {
        if token.kind == Kind::Prefixed {
            self.check_prefix(token)?;
        } else if self.is_bare(token) {
            return self.bare(token);
        }
        self.iri(token)
    }

    /// How the name is spelled in the text given to spargebra; differs only for bare names.
    pub fn spelling(&self, token: Token, name: &NamedNode) -> String {
        if self.is_bare(token) { name.to_string() } else { token.text(self.text).to_owned() }
    }

    /// Finds the first prefixed name whose prefix nobody declared: the SPARQL parser's own report of it is vague.
    pub fn check_prefixes(&self, tokens: &[Token]) -> Result<(), ParseError> {
        let declared = |at: usize| at > 0 && tokens[at - 1].is_word(self.text, "PREFIX");
        tokens
            .iter()
            .enumerate()
            .filter(|(at, token)| token.kind == Kind::Prefixed && !declared(*at))
            .try_for_each(|(_, token)| self.check_prefix(*token))
    }

    fn check_prefix(&self, token: Token) -> Result<(), ParseError> {
        let name = token.text(self.text);
        let prefix = name.split(':').next().unwrap_or_default();
        if self.prefixes.contains_key(prefix) {
            return Ok(());
        }
        let message = format!("the prefix '{prefix}:' of '{name}' is not declared");
        let hint = match closest(prefix, self.prefixes.keys().copied()) {
            Some(near) if !prefix.is_empty() => format!("did you mean '{near}:'?"),
            _ => format!("add PREFIX {prefix}: <…> at the start"),
        };
        Err(ParseError::new("prefix.unknown", message).at(self.text, token.start).with_hint(hint))
    }

    fn is_bare(&self, token: Token) -> bool {
        let iri = token.text(self.text).trim_start_matches('<');
        let scheme = iri.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
        let absolute = scheme.is_some_and(|end| end > 0 && iri[end..].starts_with(':'));
        token.kind == Kind::Iri && self.base.is_none() && !absolute
    }

    fn bare(&self, token: Token) -> Result<NamedNode, ParseError> {
        let inner = token.text(self.text).trim_start_matches('<').trim_end_matches('>');
        NamedNode::new(format!("{BARE_NAMES}{inner}")).map_err(|_| self.invalid(token))
    }

    fn iri(&self, token: Token) -> Result<NamedNode, ParseError> {
        let query = format!("ASK FROM {} {{}}", token.text(self.text));
        match self.parser(token)?.parse_query(&query) {
            Ok(Query::Ask { dataset: Some(mut dataset), .. }) => {
                dataset.default.pop().ok_or_else(|| self.invalid(token))
            }
            _ => Err(self.invalid(token)),
        }
    }

    /// A parser that knows the declarations so far; `token` is where it is needed.
    pub fn parser(&self, token: Token) -> Result<SparqlParser, ParseError> {
        let mut parser = SparqlParser::new();
        if let Some(base) = &self.base {
            parser = parser
                .with_base_iri(base)
                .map_err(|_| ParseError::new("iri.invalid", format!("the base '{base}' is not an absolute IRI")))?;
        }
        for (prefix, namespace) in &self.prefixes {
            parser = parser.with_prefix(*prefix, namespace).map_err(|_| self.invalid(token))?;
        }
        Ok(parser)
    }

    fn invalid(&self, token: Token) -> ParseError {
        let message = format!("{} is not a valid IRI", token.text(self.text));
        ParseError::new("iri.invalid", message)
            .at(self.text, token.start)
            .with_hint("write it in full, or declare a BASE for relative IRIs")
    }
}
