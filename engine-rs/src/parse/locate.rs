//! Where in a query text a construct stands that was found to be wrong after parsing.
//!
//! In: the text as the user wrote it, and a construct (`SERVICE`, `?x`, `<http://…>`) or a sentence that names one. Out:
//! the place of the first such construct. The tree that the planner sees has no positions, so it names what it refuses
//! and leaves the search to this file. Runs on refused queries only.

use super::error::Position;
use super::names::Names;
use super::query::ContinuousQuery;
use super::token::{Kind, Token, tokenize};

const WINDOW_BLOCKS: [&str; 2] = ["WINDOW", "STREAM"];
const FORMS: [&str; 4] = ["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"];

impl ContinuousQuery {
    /// Where a keyword or function (`GRAPH`), a variable (`?x`) or an IRI (`<http://example.org/f>`, however it was
    /// written) first stands in the text.
    #[must_use]
    pub fn position_of(&self, construct: &str) -> Option<Position> {
        Search::new(&self.text)?.first(construct)
    }
}

/// The place of what a message speaks of; the form of the query where the message names nothing that can be found.
pub(crate) fn position_of_mention(text: &str, message: &str) -> Option<Position> {
    let search = Search::new(text)?;
    search.mentioned(message).or_else(|| search.place(|_, token| token.is_any_word(text, &FORMS)))
}

struct Search<'a> {
    text: &'a str,
    tokens: Vec<Token>,
}

impl<'a> Search<'a> {
    fn new(text: &'a str) -> Option<Self> {
        tokenize(text).ok().map(|tokens| Self { text, tokens })
    }

    fn place(&self, wanted: impl Fn(usize, Token) -> bool) -> Option<Position> {
        let found = self.tokens.iter().enumerate().find(|(at, token)| wanted(*at, **token));
        found.map(|(_, token)| Position::of(self.text, token.start))
    }

    fn first(&self, construct: &str) -> Option<Position> {
        self.place(|at, token| self.is_construct(token, construct) && !self.is_declaration(at))
    }

    fn is_construct(&self, token: Token, construct: &str) -> bool {
        if let Some(name) = construct.strip_prefix(['?', '$']) {
            return token.kind == Kind::Variable && &token.text(self.text)[1..] == name;
        }
        match construct.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
            Some(iri) => self.is_iri(token, iri),
            None => token.is_word(self.text, construct),
        }
    }

    fn is_iri(&self, token: Token, iri: &str) -> bool {
        if !matches!(token.kind, Kind::Iri | Kind::Prefixed) {
            return false;
        }
        let names = Names::gather(self.text, &self.tokens, None).ok();
        names.and_then(|names| names.resolve(token).ok()).is_some_and(|name| name.as_str() == iri)
    }

    fn is_declaration(&self, at: usize) -> bool {
        let before = |n: usize| at.checked_sub(n).map(|i| self.tokens[i]);
        (1..3).filter_map(before).any(|token| token.is_any_word(self.text, &["PREFIX", "BASE"]))
    }

    fn mentioned(&self, message: &str) -> Option<Position> {
        let mentions = || message.split_whitespace().filter_map(mention);
        if message.contains("a window") && message.contains(" inside GRAPH ?") {
            let inside = |construct: &str| self.first_inside(&["GRAPH"], construct);
            return WINDOW_BLOCKS.iter().chain(&["NOW", "GRAPH"]).find_map(|construct| inside(construct));
        }
        if message.contains("to a stream") || message.contains("streams under") {
            return self.place(|at, token| token.kind == Kind::Variable && self.is_word_before(at, &["STREAM", "]"]));
        }
        if message.contains("timestamp(…)") {
            let named = |token: Token| token.text(self.text).trim_end_matches('>').ends_with("timestamp");
            return self.place(|at, token| named(token) && self.is_called(at));
        }
        if message.contains("closure path") {
            return self.place(|at, token| self.is_closure(at, token));
        }
        if message.contains("triple term") {
            return self.place(|_, token| token.text(self.text).starts_with("<<"));
        }
        // `NOW` is a function in one place and a window in another.
        let called = |construct| self.place(|at, token| self.is_construct(token, construct) && self.is_called(at));
        mentions().find_map(called).or_else(|| mentions().find_map(|construct| self.first(construct)))
    }

    fn is_called(&self, at: usize) -> bool {
        self.tokens.get(at + 1).is_some_and(|next| next.is(self.text, "("))
    }

    /// Words, or the bracket that ends a window.
    fn is_word_before(&self, at: usize, words: &[&str]) -> bool {
        at > 0 && words.iter().any(|word| self.tokens[at - 1].text(self.text).eq_ignore_ascii_case(word))
    }

    /// `*`, `+` or `?` that touches the path before it.
    fn is_closure(&self, at: usize, token: Token) -> bool {
        let before = at.checked_sub(1).map(|i| self.tokens[i]);
        let path = |t: Token| matches!(t.kind, Kind::Iri | Kind::Prefixed) || t.is(self.text, ")");
        matches!(token.text(self.text), "*" | "+" | "?") && before.is_some_and(|t| path(t) && t.end == token.start)
    }

    /// The first such construct in the braces of a block that one of these words opens.
    fn first_inside(&self, blocks: &[&str], construct: &str) -> Option<Position> {
        let (mut depth, mut opened, mut inside) = (0_usize, None, false);
        for token in &self.tokens {
            if inside && self.is_construct(*token, construct) {
                return Some(Position::of(self.text, token.start));
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
        None
    }
}

/// A word of a message that is the name of a construct: all capitals, a variable or an IRI.
fn mention(word: &str) -> Option<&str> {
    let word = word.trim_matches([',', '.', ':', '(', ')']);
    let keyword = word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    (keyword || word.starts_with(['?', '<'])).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{ParseOptions, parse_query};

    const TEXT: &str = "PREFIX f: <http://e/> # GRAPH ?v\nSELECT * FROM NAMED WINDOW f:w ON f:s [NOW]\n\
                        { GRAPH ?g { ?a ?p 'NOW()' }\n  WINDOW f:w { $v f:p* ?n graph f:g { ?a f:now NOW } }\n\
                        \x20 GRAPH ?h { { WINDOW f:w { ?b ?c ?d } } } }";

    fn at(place: Option<Position>) -> Option<(u32, u32)> {
        place.map(|p| (p.line, p.column))
    }

    #[test]
    fn constructs_are_found_by_keyword_variable_and_iri() {
        let text = "PREFIX f: <http://e/>\nSELECT * # ?v GRAPH\n{ $v f:p 'GRAPH' graph ?g { ?a <http://e/q> ?b } }";
        let query = parse_query(text, &ParseOptions::default()).expect("well formed");
        for (construct, place) in [
            ("GRAPH", Some((3, 18))),
            ("?v", Some((3, 3))),
            ("<http://e/p>", Some((3, 6))),
            ("<http://e/q>", Some((3, 32))),
            ("<http://e/>", None),
            ("SERVICE", None),
        ] {
            assert_eq!(at(query.position_of(construct)), place, "{construct}");
        }
    }

    #[test]
    fn a_message_leads_to_what_it_names() {
        for (message, place) in [
            ("a window, or a function whose value changes, inside GRAPH ?g", (5, 16)),
            ("closure path over a bag window", (4, 22)),
            ("GRAPH in this place", (3, 3)),
            ("the variable ?n, which", (4, 24)),
            ("function <http://e/now> is not known", (4, 42)),
            ("the query is too large", (2, 1)),
        ] {
            assert_eq!(at(position_of_mention(TEXT, message)), Some(place), "{message}");
        }
        let text = "SELECT ?s { STREAM ?s [NOW] { ?a ?b ?c BIND(now() + <urn:timestamp>(?a) AS ?t) } }";
        assert_eq!(at(position_of_mention(text, "NOW in a part that is re-evaluated")), Some((1, 45)));
        assert_eq!(at(position_of_mention(text, "timestamp(…) with other arguments")), Some((1, 53)));
        assert_eq!(at(position_of_mention(text, "no static data binds ?s to a stream")), Some((1, 20)));
    }
}
