//! Finds the position of a construct that turned out to be wrong after parsing.
//!
//! Input: the text as the user wrote it, and a construct. Output: the extent of its first occurrence. The planner's
//! tree has no positions, so an error names its construct and this module searches for it; `culprit` chooses among
//! several. Runs for refused queries only.

use super::error::{Position, TextSpan};
use super::names::Names;
use super::token::{Kind, Token, tokenize};
use oxrdf::{NamedNode, Variable};

const WINDOW_BLOCKS: [&str; 2] = ["WINDOW", "STREAM"];
const FORMS: [&str; 4] = ["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"];

/// What to look for in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Construct {
    /// The keyword of the query form.
    Form,
    Keyword(&'static str),
    /// A function by its keyword or `<IRI>`, where it is called.
    Call(String),
    Variable(Variable),
    /// In any spelling.
    Iri(NamedNode),
    /// The variable in the place of a stream's name.
    StreamVariable(Variable),
    /// The variable after AS.
    BoundVariable(Variable),
    /// A call of `timestamp(…)`, under any of its names.
    Timestamp,
    /// The `*`, `+` or `?` of a path.
    ClosurePath,
    TripleTerm,
    /// `WINDOW ?w`, or a GRAPH block inside a window block.
    PartOfWindow,
}

/// The extent of the construct, or of the query form if the construct does not occur in the text.
pub(crate) fn locate(text: &str, construct: &Construct) -> Option<TextSpan> {
    let search = Search::new(text)?;
    let token = search.find(construct).or_else(|| search.find(&Construct::Form))?;
    Some(TextSpan::of(text, token))
}

impl TextSpan {
    pub(super) fn of(text: &str, token: Token) -> Self {
        Self { start: Position::of(text, token.start), end: Position::of(text, token.end) }
    }
}

pub(super) struct Search<'a> {
    pub text: &'a str,
    pub tokens: Vec<Token>,
    /// `None` if the prologue is invalid.
    names: Option<Names<'a>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(text: &'a str) -> Option<Self> {
        let tokens = tokenize(text).ok()?;
        let names = Names::gather(text, &tokens, None).ok();
        Some(Self { text, tokens, names })
    }

    fn tokens_that(&self, is_wanted: impl Fn(usize, Token) -> bool) -> Vec<(usize, Token)> {
        self.tokens.iter().copied().enumerate().filter(|(at, token)| is_wanted(*at, *token)).collect()
    }

    fn find(&self, construct: &Construct) -> Option<Token> {
        self.all(construct).first().map(|(_, token)| *token)
    }

    /// The tokens of all such constructs in text order, with their indexes.
    pub(super) fn all(&self, construct: &Construct) -> Vec<(usize, Token)> {
        match construct {
            Construct::Form => self.tokens_that(|_, token| token.is_any_word(self.text, &FORMS)),
            Construct::Keyword(word) => self.tokens_that(|_, token| token.is_word(self.text, word)),
            Construct::Call(function) => self.calls(function),
            Construct::Variable(variable) => self.tokens_that(|_, token| self.is_variable(token, variable)),
            Construct::Iri(iri) => {
                self.tokens_that(|at, token| self.is_iri(token, iri.as_str()) && !self.is_declaration(at))
            }
            Construct::StreamVariable(variable) => {
                let is_stream = |at| self.is_word_before(at, &["STREAM", "]"]);
                self.tokens_that(|at, token| self.is_variable(token, variable) && is_stream(at))
            }
            Construct::BoundVariable(variable) => {
                self.tokens_that(|at, token| self.is_variable(token, variable) && self.is_word_before(at, &["AS"]))
            }
            Construct::Timestamp => {
                let is_named = |token: Token| token.text(self.text).trim_end_matches('>').ends_with("timestamp");
                self.tokens_that(|at, token| is_named(token) && self.is_called(at))
            }
            Construct::ClosurePath => self.tokens_that(|at, token| self.is_closure(at, token)),
            Construct::TripleTerm => self.tokens_that(|_, token| token.text(self.text).starts_with("<<")),
            Construct::PartOfWindow => {
                let mut parts = self.words_inside(&WINDOW_BLOCKS, &["GRAPH"]);
                let is_family = |at: usize| self.tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Variable);
                parts.extend(
                    self.tokens_that(|at, token| token.is_any_word(self.text, &WINDOW_BLOCKS) && is_family(at)),
                );
                parts.sort_by_key(|(at, _)| *at);
                parts
            }
        }
    }

    /// `NOW` names both a function and a window; prefer the calls.
    fn calls(&self, function: &str) -> Vec<(usize, Token)> {
        let is_named = |token: Token| match function.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
            Some(iri) => self.is_iri(token, iri),
            None => token.is_word(self.text, function),
        };
        let called = self.tokens_that(|at, token| is_named(token) && self.is_called(at));
        if !called.is_empty() {
            return called;
        }
        self.tokens_that(|at, token| is_named(token) && !self.is_declaration(at))
    }

    fn is_variable(&self, token: Token, variable: &Variable) -> bool {
        token.kind == Kind::Variable && &token.text(self.text)[1..] == variable.as_str()
    }

    fn is_iri(&self, token: Token, iri: &str) -> bool {
        let resolve = |names: &Names| names.resolve(token).ok();
        matches!(token.kind, Kind::Iri | Kind::Prefixed)
            && self.names.as_ref().and_then(resolve).is_some_and(|name| name.as_str() == iri)
    }

    fn is_declaration(&self, at: usize) -> bool {
        let before = |n: usize| at.checked_sub(n).map(|i| self.tokens[i]);
        (1..3).filter_map(before).any(|token| token.is_any_word(self.text, &["PREFIX", "BASE"]))
    }

    fn is_called(&self, at: usize) -> bool {
        self.tokens.get(at + 1).is_some_and(|next| next.is(self.text, "("))
    }

    /// Whether one of these words, or the bracket that ends a window, precedes the token.
    fn is_word_before(&self, at: usize, words: &[&str]) -> bool {
        at > 0 && words.iter().any(|word| self.tokens[at - 1].text(self.text).eq_ignore_ascii_case(word))
    }

    /// `*`, `+` or `?` directly after a path.
    fn is_closure(&self, at: usize, token: Token) -> bool {
        let before = at.checked_sub(1).map(|i| self.tokens[i]);
        let path = |t: Token| matches!(t.kind, Kind::Iri | Kind::Prefixed) || t.is(self.text, ")");
        matches!(token.text(self.text), "*" | "+" | "?") && before.is_some_and(|t| path(t) && t.end == token.start)
    }

    /// Such words inside the braces of a block of one of these kinds.
    fn words_inside(&self, blocks: &[&str], words: &[&str]) -> Vec<(usize, Token)> {
        let (mut depth, mut opened, mut inside) = (0_usize, None, false);
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            if inside && token.is_any_word(self.text, words) {
                found.push((at, *token));
            }
            match token.kind {
                Kind::Word if !inside && depth > 0 && token.is_any_word(self.text, blocks) => opened = Some(depth),
                Kind::Open => {
                    inside |= opened == Some(depth) && token.is(self.text, "{");
                    depth += 1;
                }
                Kind::Close => {
                    depth = depth.saturating_sub(1);
                    if inside && opened == Some(depth) {
                        (opened, inside) = (None, false);
                    }
                }
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "PREFIX f: <http://e/> # GRAPH ?v\nSELECT * FROM NAMED WINDOW f:w ON f:s [NOW]\n\
                        { GRAPH ?g { ?a ?p 'NOW()' }\n  WINDOW f:w { $v f:p* ?n graph f:g { ?a f:now NOW } }\n\
                        \x20 GRAPH ?h { { WINDOW f:w { ?b ?c <http://e/q> } } } }";

    fn variable(name: &str) -> Variable {
        Variable::new_unchecked(name)
    }

    fn iri(iri: &str) -> Construct {
        Construct::Iri(NamedNode::new_unchecked(iri))
    }

    /// Line and column of the first character of the construct, and of the first one behind it.
    fn place(text: &str, construct: &Construct) -> Option<[(u32, u32); 2]> {
        locate(text, construct).map(|span| [span.start, span.end].map(|p| (p.line, p.column)))
    }

    #[test]
    fn a_construct_is_found_where_it_stands() {
        for (construct, start, end) in [
            (Construct::Form, (2, 1), (2, 7)),
            (Construct::Keyword("GRAPH"), (3, 3), (3, 8)),
            (Construct::Variable(variable("n")), (4, 24), (4, 26)),
            (Construct::Variable(variable("v")), (4, 16), (4, 18)),
            (iri("http://e/p"), (4, 19), (4, 22)),
            (iri("http://e/q"), (5, 35), (5, 47)),
            (Construct::Call("<http://e/now>".to_owned()), (4, 42), (4, 47)),
            (Construct::ClosurePath, (4, 22), (4, 23)),
        ] {
            assert_eq!(place(TEXT, &construct), Some([start, end]), "{construct:?}");
        }
    }

    #[test]
    fn what_does_not_show_is_found_at_the_form() {
        for construct in [Construct::Keyword("SERVICE"), iri("http://e/"), Construct::TripleTerm, Construct::Timestamp]
        {
            assert_eq!(place(TEXT, &construct), Some([(2, 1), (2, 7)]), "{construct:?}");
        }
    }

    #[test]
    fn calls_and_names_of_streams_are_told_from_other_mentions() {
        let text = "SELECT ?s { STREAM ?s [NOW] { ?a ?b ?c BIND(now() + <urn:timestamp>(?a) AS ?t) } }";
        assert_eq!(place(text, &Construct::Call("NOW".to_owned())), Some([(1, 45), (1, 48)]));
        assert_eq!(place(text, &Construct::Timestamp), Some([(1, 53), (1, 68)]));
        assert_eq!(place(text, &Construct::StreamVariable(variable("s"))), Some([(1, 20), (1, 22)]));
    }
}
