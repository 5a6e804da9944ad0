//! The prologue: resolves prefixed names and relative IRIs of windows, streams and queries.
//!
//! Input: the tokens of a query. Output: resolved IRIs. spargebra does the resolution itself, so that a window's name
//! is the same IRI in a clause and in the body by construction.

use std::collections::{BTreeMap, BTreeSet};

use oxrdf::NamedNode;
use spargebra::{Query, SparqlParser};

use super::diagnose::shorten;
use super::error::{ParseError, suggestion};
use super::token::{Kind, Token, tokenize};

const FORMS: [&str; 4] = ["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"];
/// The namespace of relative window, stream and query names in a query without BASE: `<w>` is common in RSP-QL.
pub(crate) const BARE_NAMES: &str = "urn:whorl:name:";
/// `-2024-01-01T00:00:00` has seven.
const DATE_TOKENS_MAX: usize = 16;

pub(super) struct Names<'a> {
    text: &'a str,
    base: Option<String>,
    /// Prefix without its colon → namespace.
    prefixes: BTreeMap<&'a str, String>,
}

/// The prefixes that a valid query declares, with their namespaces.
pub(crate) fn declared_prefixes(text: &str, base: Option<&str>) -> Vec<(String, String)> {
    let gathered = tokenize(text).and_then(|tokens| Names::gather(text, &tokens, base));
    let prefixes = gathered.map(|names| names.prefixes).unwrap_or_default();
    prefixes.into_iter().map(|(prefix, namespace)| (prefix.to_owned(), namespace)).collect()
}

impl<'a> Names<'a> {
    /// Reads all PREFIX and BASE declarations, wherever the dialect allows them.
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

    /// The spelling of the name in the text for spargebra, which differs only for bare names.
    pub fn spelling(&self, token: Token, name: &NamedNode) -> String {
        if self.is_bare(token) { name.to_string() } else { token.text(self.text).to_owned() }
    }

    /// Refuses the first prefixed name with an undeclared prefix, because the SPARQL parser reports it only vaguely.
    pub fn check_prefixes(&self, tokens: &[Token]) -> Result<(), ParseError> {
        let declared = |at: usize| at > 0 && tokens[at - 1].is_word(self.text, "PREFIX");
        tokens.iter().enumerate().filter(|(at, token)| token.kind == Kind::Prefixed && !declared(*at)).try_for_each(
            |(at, token)| {
                self.check_torn_iri(tokens, at)?;
                self.check_bare_date(tokens, at)?;
                self.check_prefix(*token)
            },
        )
    }

    /// `2024-01-01T00:00:00Z` ends like a prefixed name. Looks back a few tokens only: a text may be one long chain of
    /// tokens that touch.
    fn check_bare_date(&self, tokens: &[Token], at: usize) -> Result<(), ParseError> {
        let touches = |i: usize| i > 0 && tokens[i - 1].end == tokens[i].start;
        let is_date = |t: Token| matches!(t.kind, Kind::Number | Kind::Prefixed) || t.is(self.text, "-");
        let mut first = at;
        while touches(first) {
            first -= 1;
            if !is_date(tokens[first]) || at - first > DATE_TOKENS_MAX {
                return Ok(());
            }
        }
        if tokens[first].kind != Kind::Number {
            return Ok(());
        }
        let message = "a literal that is neither a number nor a boolean needs quotes";
        let error = ParseError::new("literal.unquoted", message).at(self.text, tokens[first].start);
        Err(error.with_hint("write \"2024-01-01T00:00:00Z\"^^xsd:dateTime"))
    }

    /// `<http://ex/a b>` is not an IRI: the parser reads a comparison with `http:`.
    fn check_torn_iri(&self, tokens: &[Token], at: usize) -> Result<(), ParseError> {
        let Some(open) = at.checked_sub(1).map(|before| tokens[before]).filter(|t| t.is(self.text, "<")) else {
            return Ok(());
        };
        if open.end < tokens[at].start || !self.text[tokens[at].end..].starts_with("//") {
            return Ok(());
        }
        let error = ParseError::new("iri.invalid", "this IRI does not end, or holds a character that IRIs do not have");
        Err(error.at(self.text, open.start).with_hint("close it with >; write %20 for a blank"))
    }

    fn check_prefix(&self, token: Token) -> Result<(), ParseError> {
        let name = token.text(self.text);
        let prefix = name.split(':').next().unwrap_or_default();
        if self.prefixes.contains_key(prefix) {
            return Ok(());
        }
        let message = format!("the prefix '{prefix}:' of '{name}' is not declared");
        let declared: Vec<String> = self.prefixes.keys().map(|near| format!("'{near}:'")).collect();
        let near =
            suggestion(&format!("'{prefix}:'"), declared.iter().map(String::as_str).filter(|near| near.len() > 3));
        let near = near.filter(|_| !prefix.is_empty());
        let hint = near.unwrap_or_else(|| format!("add PREFIX {prefix}: <…> at the start"));
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
        let spelled = token.text(self.text);
        let mut parser = self.based_parser()?;
        // One prefix is enough. Declaring all of them each time would be quadratic in the length of the prologue.
        if token.kind == Kind::Prefixed
            && let Some((prefix, namespace)) =
                spelled.split_once(':').and_then(|(own, _)| self.prefixes.get_key_value(own))
        {
            parser = parser.with_prefix(*prefix, namespace).map_err(|_| self.invalid(token))?;
        }
        match parser.parse_query(&format!("ASK FROM {spelled} {{}}")) {
            Ok(Query::Ask { dataset: Some(mut dataset), .. }) => {
                dataset.default.pop().ok_or_else(|| self.invalid(token))
            }
            _ => Err(self.invalid(token)),
        }
    }

    /// A parser that knows those declarations so far that these tokens need: an update has a parser for each operation,
    /// and all prefixes for each of them would be their product.
    pub fn parser(&self, tokens: &[Token]) -> Result<SparqlParser, ParseError> {
        let mut parser = self.based_parser()?;
        let mut known = BTreeSet::new();
        for token in tokens.iter().filter(|token| token.kind == Kind::Prefixed) {
            let prefix = token.text(self.text).split(':').next().unwrap_or_default();
            if let Some((prefix, namespace)) = self.prefixes.get_key_value(prefix).filter(|_| known.insert(prefix)) {
                parser = parser.with_prefix(*prefix, namespace).map_err(|_| self.invalid(*token))?;
            }
        }
        Ok(parser)
    }

    fn based_parser(&self) -> Result<SparqlParser, ParseError> {
        let invalid =
            |base: &String| ParseError::new("iri.invalid", format!("the base '{base}' is not an absolute IRI"));
        match &self.base {
            Some(base) => SparqlParser::new().with_base_iri(base).map_err(|_| invalid(base)),
            None => Ok(SparqlParser::new()),
        }
    }

    fn invalid(&self, token: Token) -> ParseError {
        let message = format!("{} is not a valid IRI", token.text(self.text));
        ParseError::new("iri.invalid", message)
            .at(self.text, token.start)
            .with_hint("write it in full, or declare a BASE for relative IRIs")
    }
}

/// Refuses malformed declarations before anything that relies on them fails.
pub(super) fn check_prologue(text: &str, tokens: &[Token]) -> Result<(), ParseError> {
    if let Some(first) = tokens.first().filter(|t| t.kind != Kind::Word && !t.is(text, "@")) {
        let message = format!("unexpected '{}', expected a query", shorten(first.text(text)));
        let error = ParseError::new("parse.unexpected_token", message).at(text, first.start);
        return Err(error.with_hint("a query begins with PREFIX, REGISTER, SELECT, CONSTRUCT or ASK"));
    }
    let head = tokens.iter().take_while(|t| t.kind != Kind::Open && !t.is_any_word(text, &FORMS)).count();
    for at in 0..head {
        let is = |ahead: usize, kind: Kind| tokens.get(at + ahead).is_some_and(|t| t.kind == kind);
        let spelled = |ahead: usize| tokens.get(at + ahead).map_or("", |t| t.text(text));
        let declares = is(1, Kind::Prefixed) && spelled(1).ends_with(':');
        let fail = |ahead: usize, message: String, hint: &str| {
            let offset = tokens.get(at + ahead).map_or(text.trim_end().len(), |t| t.start);
            Err(ParseError::new("parse.unexpected_token", message).at(text, offset).with_hint(hint))
        };
        if spelled(0) == "@" && (declares || spelled(1).eq_ignore_ascii_case("prefix")) {
            return fail(0, "unexpected '@'".to_owned(), "write PREFIX name: <…> without @ and without a full stop");
        }
        if tokens[at].is_word(text, "PREFIX") && !declares {
            let message = format!("unexpected '{}', expected the prefix and a colon", spelled(1));
            return fail(1, message, "write PREFIX name: <…>");
        }
        if tokens[at].is_word(text, "PREFIX") && !is(2, Kind::Iri) {
            let message = format!("unexpected '{}', expected an IRI", spelled(2));
            return fail(2, message, "write the IRI in angle brackets: PREFIX name: <http://…>");
        }
        let other = is(0, Kind::Word) && !tokens[at].is_any_word(text, &["PREFIX", "AS"]);
        if other && declares && is(2, Kind::Iri) {
            let message = format!("unexpected '{}', expected PREFIX", spelled(0));
            return fail(0, message, "did you mean PREFIX?");
        }
    }
    Ok(())
}
