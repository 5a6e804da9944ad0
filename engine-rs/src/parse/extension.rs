//! Rewrites spellings beyond SPARQL 1.1 to SPARQL: more aggregates, and a few conventions of other engines.
//!
//! Input: tokens. Output: edits, and the IRIs to register as aggregate functions. `MEDIAN(?x)` becomes
//! `<urn:whorl:agg:median>(?x)`, `PERCENTILE(?x, 95)` becomes `<urn:whorl:agg:percentile:0.95>(?x)`, `AVERAGE` becomes
//! `AVG`, and `SELECT COUNT(?x) AS ?n` gets its brackets.
//!
//! spargebra 0.4.8 cannot read DISTINCT in an aggregate named by an IRI, so DISTINCT moves into the name:
//! `MEDIAN(DISTINCT ?x)` becomes `<urn:whorl:agg:median:distinct>(?x)`. `aggregate/custom.rs` reads these names.

use oxrdf::NamedNode;

use super::error::ParseError;
use super::rewrite::Edits;
use super::token::{Kind, Token};

/// The prefix of the IRIs of all additional aggregates.
pub const AGGREGATE_PREFIX: &str = "urn:whorl:agg:";
pub(super) const AGGREGATES_OPEN: &str = "<urn:whorl:agg:";
const DISTINCT_SUFFIX: &str = ":distinct";
const PERCENTILE: &str = "PERCENTILE";
const AGGREGATES: [&str; 7] = ["median", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"];

pub(super) fn is_aggregate(word: &str) -> bool {
    word.eq_ignore_ascii_case(PERCENTILE) || AGGREGATES.iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// The name as the user wrote it, such as `MEDIAN`, for the IRI that stands for it; other names unchanged.
pub(super) fn written_name(name: &str) -> &str {
    let inner = name.strip_prefix(AGGREGATES_OPEN).and_then(|rest| rest.strip_suffix('>'));
    inner.map_or(name, |inner| inner.split(':').next().unwrap_or(inner))
}

/// The aggregates that every query may use; percentiles are added per query.
pub(super) fn aggregates() -> impl Iterator<Item = NamedNode> {
    AGGREGATES.iter().flat_map(|name| [aggregate(name, false), aggregate(name, true)])
}

/// Rewrites every extension; returns the percentiles used.
pub(super) fn rewrite(text: &str, tokens: &[Token], edits: &mut Edits) -> Result<Vec<NamedNode>, ParseError> {
    let mut percentiles = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word) {
        if token.is_word(text, "SELECT") {
            bracket_columns(text, tokens, at, edits);
        } else if token.is_word(text, "BY") {
            compute_keys(text, tokens, at, edits);
        } else if !tokens.get(at + 1).is_some_and(|next| next.is(text, "(")) {
            continue;
        } else if token.is_word(text, PERCENTILE) {
            percentiles.push(percentile(text, tokens, at, edits)?);
        } else {
            rewrite_call(text, tokens, at, edits);
        }
    }
    Ok(percentiles)
}

fn rewrite_call(text: &str, tokens: &[Token], at: usize, edits: &mut Edits) {
    let (token, open) = (tokens[at], tokens[at + 1]);
    let word = token.text(text);
    if token.is_word(text, "AVERAGE") {
        edits.replace(text, token.start, token.end, "AVG");
    } else if is_aggregate(word) {
        let name = aggregate(&word.to_lowercase(), move_distinct(text, tokens, at, edits));
        edits.replace(text, token.start, token.end, &name.to_string());
    } else if token.is_any_word(text, &["CONCAT", "COALESCE", "BNODE"]) && token.end < open.start {
        // spargebra accepts no white space after these three names; the standard does.
        let gap = " ".repeat(open.start - token.end);
        edits.splice(token.start, open.start, gap + word);
    }
}

/// `PERCENTILE(e, 0.95)`: the second argument moves into the name of the function.
fn percentile(text: &str, tokens: &[Token], at: usize, edits: &mut Edits) -> Result<NamedNode, ParseError> {
    let fail = |at: usize, message: &str| {
        let error = ParseError::new("aggregate.percentile", message).at(text, tokens[at].start);
        error.with_hint("write PERCENTILE(?x, 0.95) or PERCENTILE(?x, 95)")
    };
    let close = closing(text, tokens, at + 1).ok_or_else(|| fail(at, "the bracket of PERCENTILE is not closed"))?;
    let share = (at + 2..close).rfind(|i| tokens[*i].is(text, ","));
    let share = share.ok_or_else(|| fail(at, "PERCENTILE has no second argument"))?;
    let (comma, number) = (tokens[share], tokens[close - 1]);
    if close != share + 2 || number.kind != Kind::Number {
        return Err(fail((share + 1).min(close), "the second argument of PERCENTILE must be a constant from 0 to 100"));
    }
    let fraction = fraction(number.text(text)).ok_or_else(|| {
        ParseError::new("aggregate.percentile", format!("'{}' is not a percentile", number.text(text)))
            .at(text, number.start)
            .with_hint("use a fraction from 0 to 1 or a percentage up to 100")
    })?;
    let name = aggregate(&format!("percentile:{fraction}"), move_distinct(text, tokens, at, edits));
    edits.replace(text, tokens[at].start, tokens[at].end, &name.to_string());
    edits.blank(text, comma.start, number.end);
    Ok(name)
}

/// Removes DISTINCT after the opening bracket of the call at `at`.
fn move_distinct(text: &str, tokens: &[Token], at: usize, edits: &mut Edits) -> bool {
    let distinct = tokens.get(at + 2).filter(|token| token.is_word(text, "DISTINCT"));
    if let Some(token) = distinct {
        edits.blank(text, token.start, token.end);
    }
    distinct.is_some()
}

/// `95`, `0.95` and `.95` are all `0.95`; a value above 1 is a percentage.
fn fraction(number: &str) -> Option<String> {
    let value: f64 = number.parse().ok()?;
    let share = if value > 1.0 { value / 100.0 } else { value };
    // Rounded, so that 99.9 and 0.999 get the same name.
    let digits = format!("{share:.12}");
    (0.0..=1.0).contains(&share).then(|| digits.trim_end_matches('0').trim_end_matches('.').to_owned())
}

/// Adds the brackets that SPARQL requires around `COUNT(?x) AS ?n` and `(?a + ?b) AS ?c` in a SELECT clause.
fn bracket_columns(text: &str, tokens: &[Token], select: usize, edits: &mut Edits) {
    let mut at = select + 1;
    while let Some(token) = tokens.get(at) {
        let modifier = ["DISTINCT", "REDUCED", "ISTREAM", "RSTREAM", "DSTREAM", "CHANGES"];
        if token.kind == Kind::Variable || token.is_any_word(text, &modifier) {
            at += 1;
            continue;
        }
        let called = matches!(token.kind, Kind::Word | Kind::Iri | Kind::Prefixed);
        let open = at + usize::from(called);
        if !tokens.get(open).is_some_and(|t| t.is(text, "(")) {
            return;
        }
        let Some(close) = closing(text, tokens, open) else {
            return;
        };
        at = close + 1;
        if let [name, variable, ..] = tokens[at..]
            && name.is_word(text, "AS")
            && variable.kind == Kind::Variable
        {
            edits.splice(token.start, token.start, "(");
            edits.splice(variable.end, variable.end, ")");
            at += 2;
        }
    }
}

/// spargebra drops the name in `GROUP BY (?x AS ?y)`, but keeps it for a computed key.
fn compute_keys(text: &str, tokens: &[Token], by: usize, edits: &mut Edits) {
    if by == 0 || !tokens[by - 1].is_word(text, "GROUP") {
        return;
    }
    let mut at = by + 1;
    while let Some(token) = tokens.get(at) {
        if token.kind == Kind::Variable {
            at += 1;
            continue;
        }
        let called = matches!(token.kind, Kind::Word | Kind::Iri | Kind::Prefixed);
        let open = at + usize::from(called);
        if !tokens.get(open).is_some_and(|t| t.is(text, "(")) {
            return;
        }
        let Some(close) = closing(text, tokens, open) else { return };
        if let [_, key, word, _, _] = &tokens[open..=close]
            && !called
            && key.kind == Kind::Variable
            && word.is_word(text, "AS")
        {
            edits.splice(key.start, key.start, "COALESCE(");
            edits.splice(key.end, key.end, ")");
        }
        at = close + 1;
    }
}

/// The token that closes the bracket at `open`.
fn closing(text: &str, tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return token.is(text, ")").then_some(at);
        }
    }
    None
}

fn aggregate(name: &str, distinct: bool) -> NamedNode {
    let suffix = if distinct { DISTINCT_SUFFIX } else { "" };
    NamedNode::new_unchecked(format!("{AGGREGATE_PREFIX}{name}{suffix}"))
}
