//! Finds which of several equal constructs the planner has refused.
//!
//! spargebra's tree has no positions, so an error of the planner names a kind of construct. If the text has only one of
//! that kind, `locate` finds it. If it has several, this module plans shortened texts: in each of them, all constructs
//! after a certain one are replaced by something harmless. The refused construct is one with which the text is refused
//! in the same way, and without which it is not.
//!
//! ```text
//!   FILTER EXISTS { A }   FILTER EXISTS { B }   FILTER EXISTS { C }      refused
//!   FILTER EXISTS { A }   FILTER (true)         FILTER (true)            accepted
//!   FILTER EXISTS { A }   FILTER EXISTS { B }   FILTER (true)            refused: it is EXISTS { B }
//! ```
//!
//! Cost: for refused queries only, as many plans as the binary logarithm of the number of constructs.

use super::error::TextSpan;
use super::locate::{Construct, Search, locate};
use super::rewrite::Edits;
use super::token::{Kind, Token};

/// A text with more constructs of a kind is not searched, to bound the work on hostile texts.
const OCCURRENCES_MAX: usize = 256;

/// The extent of the refused construct. `is_refused` tells whether a text is refused in the same way as the original;
/// `None` if the text is invalid, in which case the first construct of the kind is returned.
pub(crate) fn culprit(
    text: &str,
    construct: &Construct,
    is_refused: impl Fn(&str) -> Option<bool>,
) -> Option<TextSpan> {
    let refused = Search::new(text).and_then(|search| {
        let occurrences = search.occurrences(construct);
        let chosen = bisect(text, &occurrences, is_refused)?;
        Some(TextSpan::of(text, occurrences[chosen].shown))
    });
    refused.or_else(|| locate(text, construct))
}

/// The index of an occurrence with which the text is refused and without which it is not.
fn bisect(text: &str, occurrences: &[Occurrence], is_refused: impl Fn(&str) -> Option<bool>) -> Option<usize> {
    if !(2..=OCCURRENCES_MAX).contains(&occurrences.len()) {
        return None;
    }
    let (mut accepted, mut refused) = (0, occurrences.len());
    while refused - accepted > 1 {
        let kept = usize::midpoint(accepted, refused);
        match is_refused(&without(text, &occurrences[kept..]))? {
            true => refused = kept,
            false => accepted = kept,
        }
    }
    Some(refused - 1)
}

/// The text with these constructs replaced.
fn without(text: &str, occurrences: &[Occurrence]) -> String {
    let mut edits = Edits::default();
    for occurrence in occurrences {
        edits.splice(occurrence.start, occurrence.end, occurrence.harmless);
    }
    edits.apply(text).text
}

/// A construct that can be replaced.
struct Occurrence {
    /// The token to show to the user.
    shown: Token,
    start: usize,
    end: usize,
    /// Valid SPARQL in the place of the construct.
    harmless: &'static str,
}

impl Search<'_> {
    /// All constructs of the kind in text order; none if the kind has no replacement.
    fn occurrences(&self, construct: &Construct) -> Vec<Occurrence> {
        let mut found = Vec::new();
        for (at, shown) in self.all(construct) {
            match self.occurrence(construct, at, shown) {
                Some(occurrence) => found.push(occurrence),
                None => return vec![],
            }
        }
        found
    }

    fn occurrence(&self, construct: &Construct, at: usize, shown: Token) -> Option<Occurrence> {
        let (start, end, harmless) = match construct {
            Construct::Keyword("EXISTS") => {
                let not = at.checked_sub(1).map(|i| self.tokens[i]).filter(|token| token.is_word(self.text, "NOT"));
                (not.unwrap_or(shown).start, self.closing(at + 1)?.end, "(true)")
            }
            Construct::Keyword("GRAPH") => (shown.start, self.tokens.get(at + 1)?.end, " "),
            Construct::Keyword("ORDER") => (shown.start, self.end_of_order(at), " "),
            Construct::Call(_) | Construct::Timestamp => (shown.start, self.closing(at + 1)?.end, "(1)"),
            Construct::ClosurePath => (shown.start, shown.end, " "),
            Construct::PartOfWindow => {
                let brace = (at..self.tokens.len()).find(|i| self.tokens[*i].is(self.text, "{"))?;
                (shown.start, self.closing(brace)?.end, "{}")
            }
            _ => return None,
        };
        Some(Occurrence { shown, start, end, harmless })
    }

    /// The bracket that closes the one with this index.
    fn closing(&self, at: usize) -> Option<Token> {
        let mut depth = 0_usize;
        for token in self.tokens.get(at..)? {
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return (token.kind == Kind::Close).then_some(*token);
            }
        }
        None
    }

    /// Where the keys of ORDER BY end: before LIMIT, OFFSET or VALUES, or with the block.
    fn end_of_order(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for token in &self.tokens[at..] {
            let ends = match token.kind {
                Kind::Open => {
                    depth += 1;
                    false
                }
                Kind::Close if depth == 0 => true,
                Kind::Close => {
                    depth -= 1;
                    false
                }
                _ => depth == 0 && token.is_any_word(self.text, &["LIMIT", "OFFSET", "VALUES"]),
            };
            if ends {
                return token.start;
            }
        }
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// The text from the construct found on, given that a text is refused if it contains `cause`.
    fn found<'a>(text: &'a str, construct: &Construct, cause: &str) -> &'a str {
        let is_refused = |text: &str| {
            spargebra::SparqlParser::new().parse_query(text).ok()?;
            Some(text.contains(cause))
        };
        &text[culprit(text, construct, is_refused).expect("a span").start.column as usize - 1..]
    }

    #[test]
    fn the_construct_with_the_cause_is_found_among_equal_ones() {
        let exists = "ASK { FILTER EXISTS { ?a ?b 1 } FILTER NOT EXISTS { ?a ?b 2 } FILTER EXISTS { ?a ?b 3 } }";
        let graphs = "ASK { GRAPH ?g { ?a ?b 1 } GRAPH <urn:h> { GRAPH ?i { ?a ?b 2 } } }";
        let calls = "ASK { BIND(NOW() AS ?a) FILTER(NOW() > 1 && (2 < NOW())) }";
        let paths = "ASK { ?a <urn:p>* ?b . ?b (<urn:q>/<urn:r>)+ ?c . ?c <urn:s>? ?d }";
        let orders =
            "SELECT * { { SELECT ?a { ?a ?b 1 } ORDER BY (?b) LIMIT 1 } { SELECT ?a { ?a ?c 1 } ORDER BY ?c } }";
        for (text, construct, cause, start) in [
            (exists, Construct::Keyword("EXISTS"), "1 }", "EXISTS { ?a ?b 1"),
            (exists, Construct::Keyword("EXISTS"), "2 }", "EXISTS { ?a ?b 2"),
            (exists, Construct::Keyword("EXISTS"), "3 }", "EXISTS { ?a ?b 3"),
            (graphs, Construct::Keyword("GRAPH"), "?g", "GRAPH ?g"),
            (graphs, Construct::Keyword("GRAPH"), "<urn:h>", "GRAPH <urn:h>"),
            (graphs, Construct::Keyword("GRAPH"), "?i", "GRAPH ?i"),
            (calls, Construct::Call("NOW".to_owned()), "< NOW", "NOW())) }"),
            (calls, Construct::Call("NOW".to_owned()), "(NOW() >", "NOW() > 1"),
            (paths, Construct::ClosurePath, "p>*", "* ?b"),
            (paths, Construct::ClosurePath, ")+", "+ ?c"),
            (paths, Construct::ClosurePath, "s>?", "? ?d"),
            (orders, Construct::Keyword("ORDER"), "(?b)", "ORDER BY (?b)"),
            (orders, Construct::Keyword("ORDER"), "BY ?c", "ORDER BY ?c"),
        ] {
            let found = found(text, &construct, cause);
            assert!(found.starts_with(start), "{cause} in {text}: {found}");
        }
    }

    #[test]
    fn an_inner_construct_is_told_from_the_one_around_it() {
        let text = "ASK { FILTER EXISTS { ?a ?b 1 FILTER EXISTS { ?a ?b 2 } } }";
        let exists = Construct::Keyword("EXISTS");
        assert!(found(text, &exists, "2 }").starts_with("EXISTS { ?a ?b 2"));
        assert!(found(text, &exists, "1 FILTER").starts_with("EXISTS { ?a ?b 1"));
    }

    #[test]
    fn the_first_construct_is_shown_if_others_cannot_be_replaced() {
        let twice = "ASK { FILTER EXISTS { ?a ?b 1 } FILTER EXISTS { ?a ?b 2 } }";
        let invalid = culprit(twice, &Construct::Keyword("EXISTS"), |_| None);
        assert_eq!(invalid.map(|span| span.start.column), Some(14));
        let unions = "ASK { { ?a ?b 1 } UNION { ?a ?b 2 } UNION { ?a ?b 3 } }";
        assert!(found(unions, &Construct::Keyword("UNION"), "3 }").starts_with("UNION { ?a ?b 2"));
    }

    #[test]
    fn few_texts_are_tried() {
        let text = format!("ASK {{ {} }}", "FILTER EXISTS { ?a ?b 1 } ".repeat(OCCURRENCES_MAX));
        let tried = RefCell::new(0);
        let span = culprit(&text, &Construct::Keyword("EXISTS"), |shorter| {
            *tried.borrow_mut() += 1;
            Some(shorter.matches("EXISTS").count() >= 100)
        });
        assert_eq!(span.map(|span| span.start.column), Some(14 + 99 * 26));
        assert!(*tried.borrow() <= 8, "{}", tried.borrow());
    }
}
