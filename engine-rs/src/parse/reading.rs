//! The one place where spargebra reads a query, with corrections where it deviates from the grammar.
//!
//! - Keywords are case-insensitive, and `true` and `false` are keywords: `TRUE` is a boolean.
//! - The longest token wins: `?x<?a&&?b>?y` contains the IRI `<?a&&?b>`, not two comparisons.
//! - A refused text is tried again with column names replaced by their expressions (`aliases`).
//! - `SELECT *` shows variables in the order in which the text mentions them.

use std::collections::HashMap;

use oxrdf::Variable;
use spargebra::algebra::GraphPattern;
use spargebra::{Query, SparqlParser};

use super::diagnose::{Grammar, explain, shorten};
use super::error::ParseError;
use super::expansion::names_fit;
use super::rewrite::{Edits, Rewritten};
use super::token::{Kind, Token, tokenize};
use super::{aliases, limits};

/// A stand-in for an IRI that could also be read as comparisons.
const PLAIN_IRI: &str = "<urn:whorl:iri>";

/// Parses the text of a query after all edits; `original` is what the user wrote.
pub(super) fn read_query(
    parser: &SparqlParser,
    original: &str,
    mut rewritten: Rewritten,
    work: u64,
) -> Result<Query, ParseError> {
    let mut tokens = tokenize(&rewritten.text)?;
    lower_booleans(&mut rewritten, &tokens);
    let mut query = match parser.clone().parse_query(&rewritten.text) {
        Ok(query) => query,
        Err(_) => match without_names(parser, &rewritten, &tokens) {
            Some((query, edits)) => {
                rewritten = rewritten.again(edits);
                tokens = tokenize(&rewritten.text)?;
                query
            }
            None => return Err(explain(original, &rewritten, parser, Grammar::Query, work)),
        },
    };
    let accepts = |text: &str| parser.clone().parse_query(text).is_ok();
    check_iris(original, &rewritten, &tokens, accepts)?;
    order_columns(&mut query, &rewritten.text, &tokens);
    Ok(query)
}

/// The query with column names replaced by expressions, if that is valid SPARQL within the limits.
fn without_names(parser: &SparqlParser, rewritten: &Rewritten, tokens: &[Token]) -> Option<(Query, Edits)> {
    let edits = aliases::edits(&rewritten.text, tokens)?;
    let tried = edits.clone().apply(&rewritten.text).text;
    let tried_tokens = tokenize(&tried).ok()?;
    limits::check(&tried, &tried_tokens).ok()?;
    names_fit(&tried, &tried_tokens, None).ok()?;
    parser.clone().parse_query(&tried).ok().map(|query| (query, edits))
}

/// Spells booleans as spargebra requires; offsets do not change.
pub(super) fn lower_booleans(rewritten: &mut Rewritten, tokens: &[Token]) {
    let text = &mut rewritten.text;
    for token in tokens {
        if token.is_any_word(text, &["true", "false"]) {
            let lower = token.text(text).to_ascii_lowercase();
            text.replace_range(token.start..token.end, &lower);
        }
    }
}

/// Refuses an IRI that the parser reads as comparisons: with other IRIs in their places, the text would be invalid.
///
/// The whole text is parsed once for all IRIs, however many there are, and log₂ of them times to find the first fault.
pub(super) fn check_iris(
    original: &str,
    rewritten: &Rewritten,
    tokens: &[Token],
    accepts: impl Fn(&str) -> bool,
) -> Result<(), ParseError> {
    let text = &rewritten.text;
    let suspects = tokens.windows(2).filter(|pair| pair[0].ends_operand() && may_compare(pair[1], text));
    let suspects: Vec<Token> = suspects.map(|pair| pair[1]).collect();
    if suspects.is_empty() || accepts(&with_plain_iris(text, &suspects)) {
        return Ok(());
    }
    // With none of them replaced the text is valid, with all of them it is not.
    let (mut valid, mut invalid) = (0, suspects.len());
    while invalid - valid > 1 {
        let middle = usize::midpoint(valid, invalid);
        let half = if accepts(&with_plain_iris(text, &suspects[..middle])) { &mut valid } else { &mut invalid };
        *half = middle;
    }
    let iri = suspects[valid];
    let message = format!("unexpected '{}'", shorten(iri.text(text)));
    let error = ParseError::new("parse.unexpected_token", message).at(original, rewritten.original_offset(iri.start));
    Err(error.with_hint("this is an IRI; write blanks around < and > to compare"))
}

/// The text with these IRIs replaced by one that nothing else can be read into.
fn with_plain_iris(text: &str, iris: &[Token]) -> String {
    let (mut plain, mut copied_to) = (String::with_capacity(text.len()), 0);
    for iri in iris {
        plain.push_str(&text[copied_to..iri.start]);
        plain.push_str(PLAIN_IRI);
        copied_to = iri.end;
    }
    plain + &text[copied_to..]
}

/// Whether the inside of an IRI could end one comparison and start another.
fn may_compare(token: Token, text: &str) -> bool {
    token.kind == Kind::Iri && token.text(text).contains(['&', ',', '(', ')', '=', '?', '$'])
}

/// Restores the text order of the columns of `SELECT *`; spargebra sorts them by name.
fn order_columns(query: &mut Query, text: &str, tokens: &[Token]) {
    let Query::Select { pattern, .. } = query else { return };
    if !selects_all(text, tokens) {
        return;
    }
    let mut places = HashMap::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Variable) {
        places.entry(&token.text(text)[1..]).or_insert(at);
    }
    let place = |variable: &Variable| places.get(variable.as_str()).copied().unwrap_or(usize::MAX);
    if let Some(columns) = columns_mut(pattern) {
        columns.sort_by_cached_key(place);
    }
}

/// Whether the first (that is, the outermost) SELECT has a star.
fn selects_all(text: &str, tokens: &[Token]) -> bool {
    let select = tokens.iter().position(|token| token.is_word(text, "SELECT"));
    let mut behind = tokens[select.map_or(tokens.len(), |at| at + 1)..].iter();
    behind.find(|token| !token.is_any_word(text, &["DISTINCT", "REDUCED"])).is_some_and(|token| token.is(text, "*"))
}

fn columns_mut(pattern: &mut GraphPattern) -> Option<&mut Vec<Variable>> {
    match pattern {
        GraphPattern::Project { variables, .. } => Some(variables),
        GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } | GraphPattern::Slice { inner, .. } => {
            columns_mut(inner)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The outcome, and how often the text was parsed.
    fn checked(text: &str, accepts: impl Fn(&str) -> bool) -> (Result<(), ParseError>, u32) {
        let parses = Cell::new(0);
        let counting = |text: &str| {
            parses.set(parses.get() + 1);
            accepts(text)
        };
        let rewritten = Edits::default().apply(text);
        let outcome = check_iris(text, &rewritten, &tokenize(text).expect("tokens"), counting);
        (outcome, parses.get())
    }

    #[test]
    fn a_text_is_not_parsed_again_for_each_of_its_iris() {
        let text = format!("SELECT * {{ {} }}", "?s <urn:a?b=c> ?o . ".repeat(1_000));
        let (outcome, parses) = checked(&text, |text| SparqlParser::new().parse_query(text).is_ok());
        assert_eq!((outcome, parses), (Ok(()), 1));
    }

    #[test]
    fn the_first_iri_that_is_read_as_comparisons_is_found_in_few_steps() {
        let text = format!("{} ?x<?a&&?b>?y {}", "?s <urn:a?> ?o . ".repeat(600), "?s <urn:a?> ?o . ".repeat(400));
        let (outcome, parses) = checked(&text, |text| text.contains("<?a&&?b>"));
        let position = outcome.expect_err("it is replaced").position().expect("it has a place");
        assert_eq!(position.column, 600 * 17 + 4);
        assert!(parses <= 12, "{parses}");
    }
}
