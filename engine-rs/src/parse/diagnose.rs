//! Explains to the user why spargebra refused a text.
//!
//! Input: the refused text. Output: the offending token, its position in the original text, and what could stand there.
//!
//! spargebra reports the furthest position it looked at. To compare with a keyword it looks up to 14 characters ahead,
//! so that position is often several tokens too far. This module therefore parses the text again with the tokens spaced
//! far apart: the furthest position then falls on the wrong token. It finds what is expected by trial: a candidate is
//! possible if a text that ends with it fails only at its end. All of this runs for refused queries only.

use spargebra::SparqlParser;

use super::advice::{Refusal, advise};
use super::calls;
use super::error::{ParseError, Position, list};
use super::meaning::{self, Tokens};
use super::rewrite::Rewritten;
use super::token::{Kind, Token, tokenize};
use super::update;
use super::verdict::{self, Verdict, verdicts};

/// Must be wider than the longest keyword, `ENCODE_FOR_URI`, see above.
const GAP: usize = 40;
/// Texts that take more work to parse are not re-parsed to find out what is expected.
const MAX_PROBED_WORK: u64 = 3_000;
const MAX_EXPECTED: usize = 8;

/// A token to try, and how to name it in a message.
const CANDIDATES: [(&str, &str); 18] = [
    ("?x", "a variable"),
    ("<urn:x>", "an IRI"),
    ("\"x\"", "a literal"),
    ("{", "'{'"),
    ("(", "'('"),
    ("[", "'['"),
    (".", "'.'"),
    (";", "';'"),
    (",", "','"),
    (")", "')'"),
    ("]", "']'"),
    ("}", "'}'"),
    ("=", "an operator"),
    ("AS", "AS"),
    ("SELECT", "SELECT"),
    ("WHERE", "WHERE"),
    ("BY", "BY"),
    ("FILTER", "FILTER"),
];

/// Further candidates for updates.
const UPDATE_CANDIDATES: [(&str, &str); 5] =
    [("INSERT", "INSERT"), ("DELETE", "DELETE"), ("DATA", "DATA"), ("GRAPH", "GRAPH"), ("TO", "TO")];

/// Which grammar the text belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    Query,
    Update,
}

struct Refused<'a> {
    original: &'a str,
    rewritten: &'a Rewritten,
    /// The rewritten text.
    source: &'a str,
    tokens: Vec<Token>,
    parser: &'a SparqlParser,
    grammar: Grammar,
    /// As weighed by the limits.
    work: u64,
}

/// The error for a rewritten text that the parser refused.
pub(super) fn explain(
    original: &str,
    rewritten: &Rewritten,
    parser: &SparqlParser,
    grammar: Grammar,
    work: u64,
) -> ParseError {
    let tokens = match tokenize(&rewritten.text) {
        Ok(tokens) => tokens,
        Err(error) => return error,
    };
    let refused = Refused { original, rewritten, source: &rewritten.text, tokens, parser, grammar, work };
    if refused.tokens.is_empty() {
        let error = ParseError::new("parse.unexpected_end", "the text contains no query").at(original, 0);
        return error.with_hint("write a query, for example SELECT … FROM NAMED WINDOW … WHERE { … }");
    }
    let wrong = refused.failing_token(refused.tokens.len(), None).unwrap_or(refused.tokens.len());
    let (error, at) = refused
        .meaning(wrong)
        .or_else(|| calls::explain(refused.source, &refused.tokens, wrong))
        .unwrap_or_else(|| (refused.unexpected(wrong), wrong));
    error.at(original, refused.offset(at))
}

impl Refused<'_> {
    /// The first `n` tokens and perhaps one more, set apart; with the offset at which each token starts.
    fn spaced(&self, n: usize, more: Option<&str>) -> (String, Vec<usize>) {
        let mut text = String::with_capacity(n * (GAP + 8));
        let mut starts = Vec::with_capacity(n + 1);
        let words = self.tokens[..n].iter().map(|token| token.text(self.source));
        for word in words.chain(more) {
            let glued = word == "(" && ends_with_glued_function(&text);
            if !starts.is_empty() && !glued {
                text.extend(std::iter::repeat_n(' ', GAP));
            }
            starts.push(text.len());
            text.push_str(word);
        }
        (text, starts)
    }

    fn report(&self, text: &str) -> Option<String> {
        let parser = self.parser.clone();
        match self.grammar {
            Grammar::Query => parser.parse_query(text).err().map(|error| error.to_string()),
            Grammar::Update => update::refusal(parser, text),
        }
    }

    /// Which of the first `n` tokens (and one more) is refused; `None` when the text is good, the number of tokens
    /// when it only ends too early.
    fn failing_token(&self, n: usize, more: Option<&str>) -> Option<usize> {
        let (mut text, starts) = self.spaced(n, more);
        let end = text.len();
        text.extend(std::iter::repeat_n(' ', GAP));
        let offset = self.report(&text).and_then(|report| verdict::offset(&report, &text))?;
        // What should follow the last token is looked for behind its blanks, further than any keyword reaches.
        if offset > end + GAP / 2 {
            Some(starts.len())
        } else {
            Some(starts.partition_point(|s| *s <= offset).saturating_sub(1))
        }
    }

    /// A semantic fault surfaces when the text ends right before or right after the refused token.
    fn meaning(&self, wrong: usize) -> Option<(ParseError, usize)> {
        let ends = [wrong, (wrong + 1).min(self.tokens.len())];
        let reports = ends.map(|n| self.report(&self.spaced(n, None).0).unwrap_or_default());
        let found: Vec<Verdict> = reports.iter().flat_map(|report| verdicts(report)).collect();
        if let Some(iri) = self.tokens.get(wrong).filter(|t| t.kind == Kind::Iri)
            && found.contains(&Verdict::IriInvalid)
        {
            let message = format!("{} is not a valid absolute IRI", iri.text(self.source));
            let error = ParseError::new("iri.invalid", message);
            return Some((error.with_hint("write it in full, or declare a BASE for relative IRIs"), wrong));
        }
        meaning::find(&Tokens { text: self.source, tokens: &self.tokens, wrong }, &found)
    }

    /// The position of a token in the original text.
    fn offset(&self, at: usize) -> usize {
        let token = self.tokens.get(at);
        token.map_or_else(|| self.original.trim_end().len(), |t| self.rewritten.original_offset(t.start))
    }

    /// A token as the user wrote it: `WINDOW` where the parser saw `GRAPH`.
    fn written(&self, at: usize) -> &str {
        let (offset, token) = (self.offset(at), self.tokens[at].text(self.source));
        let kept = self.original[offset..].starts_with(token);
        let word = self.original[offset..].split(|c: char| !c.is_alphanumeric()).next().filter(|word| !word.is_empty());
        if kept { token } else { word.unwrap_or(token) }
    }

    fn unexpected(&self, wrong: usize) -> ParseError {
        let expected = self.expected(wrong);
        // A long list does not help the reader.
        let helpful = (1..=MAX_EXPECTED).contains(&expected.len());
        let listed = if helpful { format!(", expected {}", list(&expected)) } else { String::new() };
        let error = if wrong < self.tokens.len() {
            let found = shorten(self.written(wrong));
            ParseError::new("parse.unexpected_token", format!("unexpected '{found}'{listed}"))
        } else {
            let what = if self.grammar == Grammar::Query { "query" } else { "update" };
            ParseError::new("parse.unexpected_end", format!("the {what} ends too early{listed}"))
        };
        let place = |at: usize| Position::of(self.original, self.offset(at));
        let refusal = Refusal { source: self.source, tokens: &self.tokens, wrong, expected: &expected, place: &place };
        error.with_hint(advise(&refusal))
    }

    fn expected(&self, wrong: usize) -> Vec<&'static str> {
        if self.work > MAX_PROBED_WORK {
            return Vec::new();
        }
        let fits = |candidate: &str| self.failing_token(wrong, Some(candidate)).is_none_or(|at| at > wrong);
        let more: &[_] = if self.grammar == Grammar::Update { &UPDATE_CANDIDATES } else { &[] };
        CANDIDATES.iter().chain(more).filter(|(candidate, _)| fits(candidate)).map(|(_, name)| *name).collect()
    }
}

/// Function names after which the parser accepts no white space.
fn ends_with_glued_function(text: &str) -> bool {
    let upper = text.get(text.len().saturating_sub(8)..).unwrap_or_default().to_ascii_uppercase();
    ["CONCAT", "COALESCE", "BNODE"].iter().any(|function| upper.ends_with(function))
}

pub(super) fn shorten(token: &str) -> String {
    if token.chars().count() <= 40 { token.to_owned() } else { token.chars().take(39).chain(['…']).collect() }
}
