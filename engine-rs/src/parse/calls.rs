//! Calls of functions and aggregates: which exist, how many arguments they take, and where aggregates are allowed.
//!
//! Input: tokens. Output: nothing, or an error at the wrong call. Aggregates are checked before the SPARQL parser runs,
//! because it accepts some of them where they have no meaning; the rest of the module explains its refusals.

use super::advice::{KEYWORDS, open_brackets};
use super::error::{ParseError, nearest, suggestion};
use super::extension;
use super::token::{Kind, Token};

/// Built-in functions with their minimum and maximum number of arguments.
const FUNCTIONS: [(&str, usize, usize); 61] = [
    ("ABS", 1, 1),
    ("BNODE", 0, 1),
    ("BOUND", 1, 1),
    ("CEIL", 1, 1),
    ("COALESCE", 1, MANY),
    ("CONCAT", 0, MANY),
    ("CONTAINS", 2, 2),
    ("DATATYPE", 1, 1),
    ("DAY", 1, 1),
    ("ENCODE_FOR_URI", 1, 1),
    ("FLOOR", 1, 1),
    ("HOURS", 1, 1),
    ("IF", 3, 3),
    ("IRI", 1, 1),
    ("ISBLANK", 1, 1),
    ("ISIRI", 1, 1),
    ("ISLITERAL", 1, 1),
    ("ISNUMERIC", 1, 1),
    ("ISTRIPLE", 1, 1),
    ("ISURI", 1, 1),
    ("LANG", 1, 1),
    ("LANGMATCHES", 2, 2),
    ("LCASE", 1, 1),
    ("MD5", 1, 1),
    ("MINUTES", 1, 1),
    ("MONTH", 1, 1),
    ("NOW", 0, 0),
    ("OBJECT", 1, 1),
    ("PREDICATE", 1, 1),
    ("RAND", 0, 0),
    ("REGEX", 2, 3),
    ("REPLACE", 3, 4),
    ("ROUND", 1, 1),
    ("SAMETERM", 2, 2),
    ("SECONDS", 1, 1),
    ("SHA1", 1, 1),
    ("SHA256", 1, 1),
    ("SHA384", 1, 1),
    ("SHA512", 1, 1),
    ("STR", 1, 1),
    ("STRAFTER", 2, 2),
    ("STRBEFORE", 2, 2),
    ("STRDT", 2, 2),
    ("STRENDS", 2, 2),
    ("STRLANG", 2, 2),
    ("STRLEN", 1, 1),
    ("STRSTARTS", 2, 2),
    ("STRUUID", 0, 0),
    ("SUBJECT", 1, 1),
    ("SUBSTR", 2, 3),
    ("TIMEZONE", 1, 1),
    ("TRIPLE", 3, 3),
    ("TZ", 1, 1),
    ("UCASE", 1, 1),
    ("URI", 1, 1),
    ("UUID", 0, 0),
    ("YEAR", 1, 1),
    ("LANGDIR", 1, 1),
    ("STRLANGDIR", 3, 3),
    ("HASLANG", 1, 1),
    ("HASLANGDIR", 1, 1),
];
const MANY: usize = usize::MAX;
const AGGREGATES: [&str; 8] = ["COUNT", "SUM", "MIN", "MAX", "AVG", "AVERAGE", "SAMPLE", "GROUP_CONCAT"];
/// Words before a round bracket that are not calls.
const NO_CALLS: [&str; 24] = [
    "SELECT",
    "DISTINCT",
    "REDUCED",
    "RSTREAM",
    "ISTREAM",
    "DSTREAM",
    "CHANGES",
    "WHERE",
    "FILTER",
    "HAVING",
    "BIND",
    "BY",
    "ASC",
    "DESC",
    "VALUES",
    "IN",
    "AS",
    "EXISTS",
    "NOT",
    "A",
    "TRUE",
    "FALSE",
    "CONSTRUCT",
    "ASK",
];
/// Words that start a clause in which aggregates are allowed or forbidden.
const CLAUSES: [&str; 13] = [
    "SELECT", "HAVING", "ORDER", "FILTER", "BIND", "GROUP", "VALUES", "WHERE", "LIMIT", "OFFSET", "OPTIONAL", "MINUS",
    "UNION",
];
const WITH_AGGREGATES: [&str; 3] = ["SELECT", "HAVING", "ORDER"];

pub(super) fn is_aggregate(word: &str) -> bool {
    AGGREGATES.iter().any(|name| name.eq_ignore_ascii_case(word)) || extension::is_aggregate(word)
}

/// An open bracket: the word before a round bracket, or the clause inside a brace.
#[derive(Clone, Copy)]
struct Level<'a> {
    brace: bool,
    call: Option<&'a str>,
    clause: Option<&'a str>,
}

/// Refuses nested aggregates, and aggregates in clauses without groups.
pub(super) fn check_aggregates(text: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let mut levels = vec![Level { brace: true, call: None, clause: None }];
    for (at, token) in tokens.iter().enumerate() {
        let word = (token.kind == Kind::Word).then(|| token.text(text));
        let called = tokens.get(at + 1).is_some_and(|next| next.is(text, "("));
        match (token.kind, word) {
            (Kind::Open, _) => {
                let call = at.checked_sub(1).map(|i| tokens[i]).filter(|t| t.kind == Kind::Word && token.is(text, "("));
                let brace = token.is(text, "{");
                let clause = levels.last().and_then(|level| level.clause).filter(|_| !brace);
                levels.push(Level { brace, call: call.map(|t| t.text(text)), clause });
            }
            (Kind::Close, _) if levels.len() > 1 => drop(levels.pop()),
            (_, Some(word)) if called && is_aggregate(word) => check_aggregate(text, *token, &levels)?,
            (_, Some(word)) if token.is_any_word(text, &CLAUSES) => {
                levels.last_mut().expect("the outermost is never popped").clause = Some(word);
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_aggregate(text: &str, token: Token, levels: &[Level<'_>]) -> Result<(), ParseError> {
    let name = token.text(text);
    let mut around = levels.iter().rev().take_while(|level| !level.brace);
    if let Some(outer) = around.find_map(|level| level.call.filter(|call| is_aggregate(call))) {
        let message = format!("the aggregate {name} is nested in the aggregate {outer}");
        let error = ParseError::new("aggregate.nested", message).at(text, token.start);
        return Err(error.with_hint(format!("compute {name} in a sub-query, and {outer} over its results")));
    }
    let clause = levels.last().and_then(|level| level.clause);
    if clause.is_some_and(|clause| WITH_AGGREGATES.iter().any(|word| word.eq_ignore_ascii_case(clause))) {
        return Ok(());
    }
    let place = clause.map_or_else(|| "the pattern".to_owned(), str::to_uppercase);
    let place = if place == "GROUP" { "GROUP BY".to_owned() } else { place };
    let message = format!("the aggregate {name} cannot be used in {place}");
    let hint = match place.as_str() {
        "FILTER" => "use HAVING after GROUP BY, or aggregate in a sub-query",
        "GROUP BY" => "group by what the pattern binds; to group by an aggregate, compute it in a sub-query",
        _ => "aggregate in SELECT, or in a sub-query { SELECT … }",
    };
    Err(ParseError::new("aggregate.misplaced", message).at(text, token.start).with_hint(hint))
}

/// Explains what is wrong with the innermost call around a refused token; also returns the token of its name.
pub(super) fn explain(text: &str, tokens: &[Token], wrong: usize) -> Option<(ParseError, usize)> {
    let name = called_at(text, tokens, wrong)?;
    let word = extension::written_name(tokens[name].text(text));
    let upper = word.to_uppercase();
    let known = is_aggregate(word) || FUNCTIONS.iter().any(|(function, _, _)| *function == upper);
    if name == wrong && known && open_brackets(tokens, wrong).is_empty() {
        let error = ParseError::new("select.unnamed", format!("the column {upper}(…) has no name"));
        return Some((error.with_hint(format!("write ({upper}(…) AS ?name)")), name));
    }
    if is_aggregate(word) {
        return (name != wrong).then(|| (aggregate_call(&upper), name));
    }
    match FUNCTIONS.iter().find(|(function, _, _)| *function == upper) {
        Some((_, least, most)) => {
            let given = n_arguments(text, tokens, name)?;
            (given < *least || given > *most).then(|| (wrong_arity(&upper, *least, *most, given), name))
        }
        None if is_keyword(&upper) => None,
        None => Some((unknown(word, &upper), name)),
    }
}

/// Whether the word is a keyword, or closer to one than to a function name.
fn is_keyword(upper: &str) -> bool {
    let functions: Vec<&str> = names().collect();
    let near = nearest(upper, functions.iter().copied().chain(KEYWORDS));
    KEYWORDS.contains(&upper) || !near.is_empty() && !near.iter().any(|name| functions.contains(name))
}

/// All functions and aggregates.
fn names() -> impl Iterator<Item = &'static str> {
    let aggregates = AGGREGATES.into_iter().chain(["MEDIAN", "PERCENTILE", "STDDEV", "VARIANCE"]);
    FUNCTIONS.iter().map(|(name, _, _)| *name).chain(aggregates)
}

/// The name of the call around, before or after the token.
fn called_at(text: &str, tokens: &[Token], wrong: usize) -> Option<usize> {
    let is_call = |at: usize| {
        let word = tokens.get(at).is_some_and(|t| {
            let aggregate = t.text(text).starts_with(extension::AGGREGATES_OPEN);
            aggregate || t.kind == Kind::Word && !t.is_any_word(text, &NO_CALLS)
        });
        word && tokens.get(at + 1).is_some_and(|t| t.is(text, "("))
    };
    if is_call(wrong) {
        return Some(wrong);
    }
    let mut depth = 0_usize;
    for at in (0..wrong.min(tokens.len())).rev() {
        match tokens[at].kind {
            Kind::Close => depth += 1,
            Kind::Open if depth > 0 => depth -= 1,
            Kind::Open => return at.checked_sub(1).filter(|name| is_call(*name)),
            _ => {}
        }
    }
    None
}

/// The number of commas at the level of the call, plus one.
fn n_arguments(text: &str, tokens: &[Token], name: usize) -> Option<usize> {
    let (mut depth, mut commas, mut empty) = (0_usize, 0, true);
    for token in &tokens[name + 1..] {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return token.is(text, ")").then_some(if empty { 0 } else { commas + 1 });
        }
        commas += usize::from(depth == 1 && token.is(text, ","));
        empty &= depth == 1 && token.is(text, "(");
    }
    None
}

fn aggregate_call(name: &str) -> ParseError {
    let error = ParseError::new("aggregate.arguments", format!("the arguments of the aggregate {name} are wrong"));
    error.with_hint(match name {
        "COUNT" => "write COUNT(*), COUNT(?x) or COUNT(DISTINCT ?x)".to_owned(),
        "GROUP_CONCAT" => "write GROUP_CONCAT(?x; SEPARATOR=\", \")".to_owned(),
        _ => format!("it takes one expression: {name}(?x) or {name}(DISTINCT ?x)"),
    })
}

fn wrong_arity(name: &str, least: usize, most: usize, given: usize) -> ParseError {
    let message = match given {
        0 => format!("{name} has no arguments"),
        given => format!("{name} does not take {}", n_of(given)),
    };
    let error = ParseError::new("expr.wrong_arity", message);
    error.with_hint(match (least, most) {
        (0, 0) => format!("write {name}()"),
        (_, MANY) => format!("{name} takes at least {}", n_of(least)),
        _ if least == most => format!("{name} takes {}", n_of(least)),
        _ => format!("{name} takes {least} or {}", n_of(most)),
    })
}

fn n_of(arguments: usize) -> String {
    match arguments {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
}

fn unknown(word: &str, upper: &str) -> ParseError {
    let hint = suggestion(upper, names())
        .unwrap_or_else(|| "use a function of SPARQL 1.1, such as STRLEN, ABS or REGEX".to_owned());
    ParseError::new("expr.unknown_function", format!("unknown function {word}")).with_hint(hint)
}
