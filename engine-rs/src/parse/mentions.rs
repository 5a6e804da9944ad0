//! Finds positions in a query text for warnings.
//!
//! Input: the text as the user wrote it. Output: positions of calls, of variables after a keyword, and of durations
//! without a unit. Works on tokens, and only on texts that parse.

use super::duration::is_unit;
use super::error::Position;
use super::token::{Kind, Token, tokenize};

/// A whole number read as milliseconds because it has no unit.
pub(crate) struct BareLength {
    pub number: u64,
    pub position: Position,
}

const LENGTH_WORDS: [&str; 3] = ["RANGE", "STEP", "SLIDE"];
const COUNT_WORDS: [&str; 3] = ["ELEMENTS", "COUNT", "TRIPLES"];

/// Where the function is called with this variable somewhere in its brackets; `None` asks for any call.
pub(crate) fn position_of_call(text: &str, function: &str, variable: Option<&str>) -> Option<Position> {
    let tokens = tokenize(text).ok()?;
    let is_call = |at: usize| {
        let opens = tokens.get(at + 1).is_some_and(|next| next.is(text, "("));
        tokens[at].is_word(text, function) && opens && variable.is_none_or(|name| has_inside(text, &tokens, at, name))
    };
    (0..tokens.len()).find(|at| is_call(*at)).map(|at| Position::of(text, tokens[at].start))
}

fn has_inside(text: &str, tokens: &[Token], call: usize, variable: &str) -> bool {
    let mut depth = 0_usize;
    for token in &tokens[call + 1..] {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close if depth == 1 => return false,
            Kind::Close => depth -= 1,
            Kind::Variable if &token.text(text)[1..] == variable => return true,
            _ => {}
        }
    }
    false
}

/// The first occurrence of the variable after one of the words.
pub(crate) fn position_of_variable(text: &str, words: &[&str], variable: &str) -> Option<Position> {
    let tokens = tokenize(text).ok()?;
    let begin = tokens.iter().position(|token| token.is_any_word(text, words))?;
    let is_wanted = |token: &&Token| token.kind == Kind::Variable && &token.text(text)[1..] == variable;
    tokens[begin..].iter().find(is_wanted).map(|token| Position::of(text, token.start))
}

/// The window durations that are written without a unit.
pub(crate) fn bare_lengths(text: &str) -> Vec<BareLength> {
    let tokens = tokenize(text).unwrap_or_default();
    // The step of `[ELEMENTS 10 STEP 5]` is a number of events.
    let counts = |at: usize| {
        let open = tokens[..at].iter().rposition(|token| token.is(text, "["));
        open.is_some_and(|open| tokens[open + 1].is_any_word(text, &COUNT_WORDS))
    };
    let bare = |at: usize, pair: &[Token], next: Option<&Token>| {
        let [word, number] = pair else { return None };
        // `1m30s` is a number directly followed by a word.
        let is_unit = |next: &Token| next.start == number.end || is_unit(next.text(text));
        let has_unit = next.is_some_and(|next| next.kind == Kind::Word && is_unit(next));
        if !word.is_any_word(text, &LENGTH_WORDS) || number.kind != Kind::Number || has_unit || counts(at) {
            return None;
        }
        let position = Position::of(text, number.start);
        number.text(text).parse().ok().map(|number| BareLength { number, position })
    };
    tokens.windows(2).enumerate().filter_map(|(at, pair)| bare(at, pair, tokens.get(at + 2))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: Option<Position>) -> Option<(u32, u32)> {
        place.map(|p| (p.line, p.column))
    }

    #[test]
    fn a_call_is_found_by_what_stands_in_its_brackets() {
        let text = "SELECT (avg(?a) AS ?x) # AVG(?b)\n(AVG(ABS(?b)) AS ?y) (COUNT(*) AS ?n) (count(?b) AS ?avg) {}";
        assert_eq!(at(position_of_call(text, "AVG", Some("a"))), Some((1, 9)));
        assert_eq!(at(position_of_call(text, "AVG", Some("b"))), Some((2, 2)));
        assert_eq!(at(position_of_call(text, "COUNT", None)), Some((2, 23)));
        assert_eq!(position_of_call(text, "SUM", None), None);
        assert_eq!(position_of_call(text, "AVG", Some("n")), None);
    }

    #[test]
    fn a_variable_is_looked_for_behind_the_keyword() {
        let text = "SELECT ?t { ?a :t ?t FILTER(?u > 1 && ?t > 2) }";
        assert_eq!(at(position_of_variable(text, &["SELECT"], "t")), Some((1, 8)));
        assert_eq!(at(position_of_variable(text, &["FILTER"], "t")), Some((1, 39)));
        assert_eq!(position_of_variable(text, &["BIND"], "t"), None);
    }

    #[test]
    fn a_length_without_a_unit_is_bare() {
        let text = "FROM NAMED WINDOW :w ON :s [RANGE 10 STEP 5] [RANGE 10s STEP 5 s] [range PT10S SLIDE 7] [ELEMENTS 3 STEP 1] [RANGE 1m30s]";
        let bare: Vec<_> = bare_lengths(text).iter().map(|bare| (bare.number, bare.position.column)).collect();
        assert_eq!(bare, [(10, 35), (5, 43), (7, 86)]);
    }
}
