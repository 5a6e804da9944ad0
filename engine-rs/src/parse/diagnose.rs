//! Why spargebra refused a text, said so that a person can mend it.
//!
//! In: the text it refused. Out: the offending token, its place in the original text, and what could stand there.
//!
//! spargebra reports the furthest place it looked at, and it looks at up to 14 characters behind a place to compare
//! them with a keyword, so its own position is often several tokens too far. Here the tokens are set far apart and
//! parsed again: the furthest place then lies at the token that is wrong. What is expected is found by trying: a
//! candidate is possible if a text that ends with it fails only at its end. All this runs on refused queries only.

use spargebra::SparqlParser;

use super::error::ParseError;
use super::rewrite::Rewritten;
use super::token::{Kind, Token, tokenize};
use super::update;

/// Wider than the longest keyword, `ENCODE_FOR_URI`.
const GAP: usize = 40;
/// What takes longer to parse is not parsed again and again to find what is expected.
const MAX_PROBED_WORK: u64 = 3_000;
const MAX_EXPECTED: usize = 8;

/// A token to try, and how to say it.
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

/// What more to try where an update is wrong.
const UPDATE_CANDIDATES: [(&str, &str); 5] =
    [("INSERT", "INSERT"), ("DELETE", "DELETE"), ("DATA", "DATA"), ("GRAPH", "GRAPH"), ("TO", "TO")];

/// Faults of meaning spargebra finds while parsing: its sentence, ours, and the word to point at.
const MEANINGS: [(&str, &str, &str); 10] = [
    ("Blank nodes are not allowed in DELETE WHERE", "DELETE WHERE cannot hold blank nodes", "DELETE"),
    ("BIND is overriding an existing variable", "BIND gives a value to a variable that is already in use", "BIND"),
    (
        "The SELECT contains a variable that is unbound",
        "SELECT uses a variable that is neither grouped nor aggregated, or not bound before it is used",
        "SELECT",
    ),
    ("Duplicated variable name in SELECT", "SELECT names a variable twice", "SELECT"),
    ("SELECT * is not authorized with GROUP BY", "SELECT * cannot be used with GROUP BY", "SELECT"),
    ("Repeated variables are not allowed in VALUES", "VALUES names a variable twice", "VALUES"),
    ("The VALUES clause rows should have exactly", "a row of VALUES has too few or too many values", "VALUES"),
    ("Already used blank node id", "a blank node is used in two groups", ""),
    ("Reifiers are not allowed on property paths", "a property path cannot be annotated", ""),
    ("language tag parsing failed", "this is not a language tag", ""),
];

/// What the text should be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    Query,
    Update,
}

struct Refused<'a> {
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
    let refused = Refused { source: &rewritten.text, tokens, parser, grammar, work };
    let wrong = refused.failing_token(refused.tokens.len(), None).unwrap_or(refused.tokens.len());
    let (error, at) = refused.meaning(wrong).unwrap_or_else(|| (refused.unexpected(wrong), wrong));
    let offset = refused.tokens.get(at).map_or(original.len(), |token| rewritten.original_offset(token.start));
    let offset = if at == refused.tokens.len() { original.trim_end().len() } else { offset };
    error.at(original, offset)
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
        let offset = self.report(&text).as_deref().and_then(reported_offset(&text))?;
        // What should follow the last token is looked for behind its blanks, further than any keyword reaches.
        if offset > end + GAP / 2 {
            Some(starts.len())
        } else {
            Some(starts.partition_point(|s| *s <= offset).saturating_sub(1))
        }
    }

    /// A fault of meaning shows when the text ends right before or right behind the refused token.
    fn meaning(&self, wrong: usize) -> Option<(ParseError, usize)> {
        let ends = [wrong, (wrong + 1).min(self.tokens.len())];
        let reports = ends.map(|n| self.report(&self.spaced(n, None).0).unwrap_or_default());
        let said = |theirs: &str| reports.iter().any(|report| report.contains(theirs));
        if let Some(iri) = self.tokens.get(wrong).filter(|t| t.kind == Kind::Iri)
            && said("IRI parsing failed")
        {
            let message = format!("{} is not a valid absolute IRI", iri.text(self.source));
            let error = ParseError::new("iri.invalid", message);
            return Some((error.with_hint("write it in full, or declare a BASE for relative IRIs"), wrong));
        }
        let (_, message, word) = MEANINGS.iter().find(|(theirs, _, _)| said(theirs))?;
        Some((ParseError::new("parse.syntax", *message), self.last_word(wrong, word)))
    }

    /// The nearest such word before the refused token and not inside a group that is closed by then.
    fn last_word(&self, before: usize, word: &str) -> usize {
        let mut depth = 0_i64;
        for at in (0..before).rev() {
            let token = self.tokens[at];
            depth += i64::from(token.is(self.source, "}")) - i64::from(token.is(self.source, "{"));
            if depth <= 1 && !word.is_empty() && token.is_word(self.source, word) {
                return at;
            }
        }
        before
    }

    fn unexpected(&self, wrong: usize) -> ParseError {
        let expected = self.expected(wrong);
        // A long list helps nobody.
        let helpful = (1..=MAX_EXPECTED).contains(&expected.len());
        let expected = if helpful { format!(", expected {}", join(&expected)) } else { String::new() };
        match self.tokens.get(wrong) {
            Some(token) => {
                let found = shorten(token.text(self.source));
                ParseError::new("parse.unexpected_token", format!("unexpected '{found}'{expected}"))
            }
            None => {
                let what = if self.grammar == Grammar::Query { "query" } else { "update" };
                ParseError::new("parse.unexpected_end", format!("the {what} ends too early{expected}"))
            }
        }
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

/// Behind these the parser allows no blank.
fn ends_with_glued_function(text: &str) -> bool {
    let upper = text.get(text.len().saturating_sub(8)..).unwrap_or_default().to_ascii_uppercase();
    ["CONCAT", "COALESCE", "BNODE"].iter().any(|function| upper.ends_with(function))
}

/// Reads `error at 1:42: expected …`; columns count characters.
fn reported_offset(text: &str) -> impl FnOnce(&str) -> Option<usize> {
    move |report| {
        let place = report.strip_prefix("error at ")?;
        let (line, rest) = place.split_once(':')?;
        let (column, _) = rest.split_once(':')?;
        let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
        let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
        let inside: usize = text[start..].chars().take(column.checked_sub(1)?).map(char::len_utf8).sum();
        Some(start + inside)
    }
}

fn join(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn shorten(token: &str) -> String {
    if token.chars().count() <= 40 { token.to_owned() } else { token.chars().take(39).chain(['…']).collect() }
}
