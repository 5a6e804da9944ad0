//! What to do about a token that was refused.
//!
//! In: the tokens, which of them was refused, and what could stand there instead. Out: one sentence of advice, always.
//! The habits looked for are those of other query languages, of templates, and of tired fingers.

use super::error::{Position, list, suggestion};
use super::token::{Kind, Token};

/// What people mistype.
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

/// Refused words of other languages, and what to write.
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

pub(super) struct Refusal<'a> {
    pub source: &'a str,
    pub tokens: &'a [Token],
    pub wrong: usize,
    /// What could stand there, as it is said to people.
    pub expected: &'a [&'static str],
    /// The place of a token in the text as it was written.
    pub place: &'a dyn Fn(usize) -> Position,
}

pub(super) fn advise(refusal: &Refusal<'_>) -> String {
    let habits = [placeholder, brackets, habit, spelling, triple, missing];
    habits.iter().find_map(|habit| habit(refusal)).unwrap_or_else(|| refusal.fallback())
}

/// The keyword that was most likely meant.
pub(super) fn near_keyword(word: &str) -> Option<String> {
    let upper = word.to_uppercase();
    // Two letters are near to everything.
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
                    "remove '{}', or complete what stands before it",
                    super::diagnose::shorten(token.text(self.source))
                )
            }
            _ => "complete the query".to_owned(),
        }
    }

    /// The last bracket before the refused token that is still open.
    fn open_bracket(&self) -> Option<usize> {
        let mut open = Vec::new();
        for (at, token) in self.tokens.iter().enumerate().take(self.wrong) {
            match token.kind {
                Kind::Open => open.push(at),
                Kind::Close => drop(open.pop()),
                _ => {}
            }
        }
        open.pop()
    }
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
    let closes = refusal.kind().is_none_or(|kind| kind == Kind::Close);
    let Some(open) = refusal.open_bracket().filter(|_| closes) else {
        return (closes && !found.is_empty())
            .then(|| format!("remove it: every bracket before this '{found}' is closed"));
    };
    let (opened, wanted) = (refusal.spell(open), closing_of(refusal.spell(open)));
    (found != wanted).then(|| format!("close the '{opened}' of {} with '{wanted}'", (refusal.place)(open)))
}

fn habit(refusal: &Refusal<'_>) -> Option<String> {
    let (found, before) = (refusal.spell(refusal.wrong), refusal.before());
    if let Some((_, advice)) = HABITS.iter().find(|(word, _)| word.eq_ignore_ascii_case(found)) {
        return Some((*advice).to_owned());
    }
    let advice = match (before, found) {
        ("=", "=") => "write a single = to compare",
        (_, "<>") => "write != for not equal",
        (_, "@") => "PREFIX and BASE are written without @ and without a full stop",
        (_, "<") => "an IRI ends with > and holds no blanks; for a comparison both sides are needed",
        (_, ";") if refusal.wrong + 1 == refusal.tokens.len() => "remove the semicolon behind the query",
        (_, ",") if refusal.open_bracket().is_none() => "columns and variables stand side by side, without commas",
        _ if refusal.is_word_before(&["LIMIT", "OFFSET"]) => "write a whole number, 0 or more",
        _ if refusal.is_word_before(&["FILTER", "HAVING", "BIND"]) => "put the expression in round brackets",
        _ if refusal.is_word_before(&["GROUP", "ORDER"]) => return Some(format!("write {} BY", before.to_uppercase())),
        (_, ".") if refusal.open_bracket().is_none() => "remove the full stop",
        (_, "?") => "a variable has a name, such as ?x",
        _ if refusal.is_word_before(&["VALUES"]) => "write VALUES ?x { 1 2 } or VALUES (?x ?y) { (1 2) }",
        _ if ["FROM"].iter().any(|word| word.eq_ignore_ascii_case(found)) => {
            "FROM stands between the columns and WHERE"
        }
        _ if ["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"].iter().any(|word| word.eq_ignore_ascii_case(found)) => {
            if refusal.open_bracket().is_some() {
                "a sub-query has braces of its own: { SELECT … }"
            } else {
                "register one query at a time"
            }
        }
        _ => return None,
    };
    Some(advice.to_owned())
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
    (refusal.wrong == 0 && refusal.fits("SELECT"))
        .then(|| "a query begins with PREFIX, REGISTER, SELECT, CONSTRUCT or ASK".to_owned())
}
