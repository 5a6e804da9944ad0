//! Advice about a refused token.
//!
//! Input: the tokens, the refused one, and what could stand there instead. Output: one hint, always. It recognises
//! habits from other query languages, left-over templates and typing errors.

use super::error::{Position, list, suggestion};
use super::token::{Kind, Token};

/// Keywords that users mistype.
pub(super) const KEYWORDS: [&str; 55] = [
    "SELECT",
    "CONSTRUCT",
    "ASK",
    "DESCRIBE",
    "WHERE",
    "FROM",
    "NAMED",
    "WINDOW",
    "STREAM",
    "GRAPH",
    "OPTIONAL",
    "UNION",
    "MINUS",
    "FILTER",
    "BIND",
    "VALUES",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "BY",
    "ASC",
    "DESC",
    "DISTINCT",
    "REDUCED",
    "AS",
    "EXISTS",
    "NOT",
    "IN",
    "PREFIX",
    "BASE",
    "REGISTER",
    "QUERY",
    "RSTREAM",
    "ISTREAM",
    "DSTREAM",
    "CHANGES",
    "COMPUTED",
    "EVERY",
    "ON",
    "RANGE",
    "STEP",
    "SLIDE",
    "TUMBLING",
    "ELEMENTS",
    "TRIPLES",
    "COUNT",
    "NOW",
    "ALL",
    "REPORT",
    "TICK",
    "UNDEF",
    "SEPARATOR",
    "SERVICE",
];

/// Words of other languages, and what to write instead.
const HABITS: [(&str, &str); 8] = [
    ("AND", "write && between conditions"),
    ("OR", "write || between conditions"),
    ("NOT", "write ! before a condition, or FILTER NOT EXISTS { … }"),
    ("LIKE", "use CONTAINS, STRSTARTS or REGEX"),
    ("IS", "use = to compare, BOUND(?x) to ask whether there is a value"),
    ("NULL", "use BOUND(?x) to ask whether there is a value"),
    ("TOP", "use ORDER BY and LIMIT at the end"),
    ("JOIN", "patterns side by side are joined; write them one after the other"),
];

const FORMS: [&str; 4] = ["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"];

pub(super) struct Refusal<'a> {
    pub source: &'a str,
    pub tokens: &'a [Token],
    pub wrong: usize,
    /// What could stand there, in words for the user.
    pub expected: &'a [&'static str],
    /// The position of a token in the original text.
    pub place: &'a dyn Fn(usize) -> Position,
}

pub(super) fn advise(refusal: &Refusal<'_>) -> String {
    let habits = [placeholder, brackets, spelling, habit, triple, missing];
    habits.iter().find_map(|habit| habit(refusal)).unwrap_or_else(|| refusal.fallback())
}

/// The keyword that was most likely meant.
pub(super) fn near_keyword(word: &str) -> Option<String> {
    let upper = word.to_uppercase();
    // A word of two letters is close to too many keywords.
    if upper.len() < 3 || KEYWORDS.contains(&upper.as_str()) { None } else { suggestion(&upper, KEYWORDS) }
}

impl Refusal<'_> {
    fn spell(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |t| t.text(self.source))
    }

    fn before(&self) -> &str {
        self.wrong.checked_sub(1).map_or("", |at| self.spell(at))
    }

    fn is_word_before(&self, words: &[&str]) -> bool {
        self.wrong.checked_sub(1).is_some_and(|at| self.tokens[at].is_any_word(self.source, words))
    }

    fn kind(&self) -> Option<Kind> {
        self.tokens.get(self.wrong).map(|t| t.kind)
    }

    fn fits(&self, what: &str) -> bool {
        self.expected.contains(&what)
    }

    fn fallback(&self) -> String {
        match (self.expected, self.tokens.get(self.wrong)) {
            ([_, ..], _) if self.expected.len() <= 4 => format!("write {} here", list(self.expected)),
            (_, Some(token)) => {
                format!(
                    "remove '{}', or complete the text before it",
                    super::diagnose::shorten(token.text(self.source))
                )
            }
            _ => "complete the query".to_owned(),
        }
    }

    /// The last bracket before the refused token that is still open.
    fn open_bracket(&self) -> Option<usize> {
        open_brackets(self.tokens, self.wrong).pop()
    }

    /// Whether the word directly before that bracket is this one.
    fn is_inside(&self, word: &str) -> bool {
        let name = self.open_bracket().and_then(|at| at.checked_sub(1));
        name.is_some_and(|at| self.tokens[at].is_word(self.source, word))
    }

    fn is_found(&self, words: &[&str]) -> bool {
        self.tokens.get(self.wrong).is_some_and(|t| t.is_any_word(self.source, words))
    }
}

/// The brackets that are still open before a token, innermost last.
pub(super) fn open_brackets(tokens: &[Token], before: usize) -> Vec<usize> {
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate().take(before) {
        match token.kind {
            Kind::Open => open.push(at),
            Kind::Close => drop(open.pop()),
            _ => {}
        }
    }
    open
}

fn placeholder(refusal: &Refusal<'_>) -> Option<String> {
    let template = refusal.spell(refusal.wrong) == "$"
        || (refusal.spell(refusal.wrong) == "{" && refusal.spell(refusal.wrong + 1) == "{")
        || refusal.spell(refusal.wrong) == "%";
    template.then(|| "a placeholder must be filled in before the query is registered".to_owned())
}

fn closing_of(open: &str) -> &'static str {
    match open {
        "{" => "}",
        "(" => ")",
        "[" => "]",
        "{|" => "|}",
        "<<(" => ")>>",
        _ => ">>",
    }
}

fn brackets(refusal: &Refusal<'_>) -> Option<String> {
    let found = refusal.spell(refusal.wrong);
    let mut open = open_brackets(refusal.tokens, refusal.wrong);
    let closes = refusal.kind().is_none_or(|kind| kind == Kind::Close);
    let meant = found.is_empty() || open.iter().any(|at| closing_of(refusal.spell(*at)) == found);
    if closes && !meant {
        return Some(format!("remove this '{found}': there is no open bracket for it"));
    }
    let last = open.pop()?;
    let (opened, wanted) = (refusal.spell(last), closing_of(refusal.spell(last)));
    let torn = closes && found != wanted || found == "." && opened != "{";
    torn.then(|| format!("close the '{opened}' of {} with '{wanted}'", (refusal.place)(last)))
}

fn habit(refusal: &Refusal<'_>) -> Option<String> {
    let found = refusal.spell(refusal.wrong);
    if let Some((_, advice)) = HABITS.iter().find(|(word, _)| word.eq_ignore_ascii_case(found)) {
        return Some((*advice).to_owned());
    }
    if refusal.is_word_before(&["GROUP", "ORDER"]) {
        return Some(format!("write {} BY", refusal.before().to_uppercase()));
    }
    if refusal.is_found(&["FILTER", "OPTIONAL", "BIND", "MINUS", "UNION", "VALUES"]) && !refusal.fits("FILTER") {
        return Some(format!("{} belongs into WHERE {{ … }}", found.to_uppercase()));
    }
    symbol_habit(refusal).or_else(|| word_habit(refusal)).map(str::to_owned)
}

fn symbol_habit(refusal: &Refusal<'_>) -> Option<&'static str> {
    let after_number = refusal.wrong.checked_sub(1).is_some_and(|at| refusal.tokens[at].kind == Kind::Number);
    Some(match (refusal.before(), refusal.spell(refusal.wrong)) {
        ("=", "=") => "write a single = to compare",
        (".", ".") => "one '.' between two triples is enough",
        (_, "<>") => "write != for not equal",
        (_, "@") => "PREFIX and BASE are written without @ and without a full stop",
        (_, "<") => "an IRI ends with > and holds no blanks; for a comparison both sides are needed",
        (_, "?") => "a variable has a name, such as ?x",
        (_, ";") if refusal.wrong + 1 == refusal.tokens.len() => "remove the semicolon behind the query",
        (_, ",") if refusal.open_bracket().is_none() => "columns and variables stand side by side, without commas",
        (_, ".") if refusal.open_bracket().is_none() => "remove the full stop",
        (_, ",") if after_number => "a number is written without commas",
        _ if after_number && refusal.kind() == Some(Kind::Number) => "a number has one decimal point",
        _ => return None,
    })
}

fn word_habit(refusal: &Refusal<'_>) -> Option<&'static str> {
    let after = |words: &[&str]| refusal.is_word_before(words);
    let inside = |word: &str| refusal.is_inside(word);
    Some(match refusal.open_bracket() {
        _ if after(&["LIMIT", "OFFSET"]) => "write a whole number, 0 or more",
        _ if after(&["FILTER", "HAVING", "BIND"]) => "put the expression in round brackets",
        _ if after(&["ASC", "DESC"]) => "write DESC(?x) or ASC(?x)",
        _ if after(&["VALUES"]) => "write VALUES ?x { 1 2 } or VALUES (?x ?y) { (1 2) }",
        _ if after(&["SELECT", "DISTINCT", "REDUCED"]) && refusal.is_found(&["WHERE", "FROM"]) => {
            "name columns such as ?x, or write *"
        }
        Some(_) if inside("BIND") => "write BIND (expression AS ?variable)",
        Some(_) if inside("BOUND") => "BOUND takes one variable and nothing else",
        _ if refusal.is_found(&["DISTINCT"]) => "DISTINCT stands behind SELECT, and in aggregates",
        _ if refusal.is_found(&["FROM"]) => "FROM stands between the columns and WHERE",
        Some(_) if refusal.is_found(&FORMS) => "a sub-query has braces of its own: { SELECT … }",
        None if refusal.is_found(&FORMS) => "register one query at a time",
        None if refusal.is_found(&["GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"]) => {
            "the order is GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, each once"
        }
        _ => return None,
    })
}

fn spelling(refusal: &Refusal<'_>) -> Option<String> {
    let word = Some(refusal.spell(refusal.wrong)).filter(|_| refusal.kind() == Some(Kind::Word))?;
    if word.eq_ignore_ascii_case("EXIST") {
        return Some("did you mean EXISTS?".to_owned());
    }
    near_keyword(word)
}

fn triple(refusal: &Refusal<'_>) -> Option<String> {
    let starts = matches!(refusal.kind(), Some(Kind::Variable | Kind::Iri | Kind::Prefixed | Kind::Blank));
    if starts && refusal.fits("'.'") {
        return Some("put a '.' between two triples".to_owned());
    }
    let object = refusal.fits("a variable") && refusal.fits("a literal");
    let ends = matches!(refusal.spell(refusal.wrong), "." | "}" | ";");
    (object && ends).then(|| "a triple has a subject, a predicate and an object".to_owned())
}

fn missing(refusal: &Refusal<'_>) -> Option<String> {
    (refusal.expected == ["SELECT"])
        .then(|| "a query begins with PREFIX, REGISTER, SELECT, CONSTRUCT or ASK".to_owned())
}
