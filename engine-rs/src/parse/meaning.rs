//! Traces semantic errors that the SPARQL parser reports to the variable or row that causes them.
//!
//! Input: the tokens of a refused text, and the errors that the parser names without a position. Output: an error, and
//! the token to point at. The parser has established that the error exists; this module picks the first candidate in
//! the text.

use std::collections::BTreeSet;

use super::calls::is_aggregate;
use super::error::ParseError;
use super::token::{Kind, Token};
use super::verdict::Verdict;

/// A finder for each error, in order of priority, because one text may have several.
const FINDERS: [(Verdict, Finder); 12] = [
    (Verdict::BlankNodeInDelete, deleted_blank),
    (Verdict::BindInScope, bind_in_scope),
    (Verdict::NotGrouped, not_grouped),
    (Verdict::AliasInScope, alias_in_scope),
    (Verdict::ColumnTwice, named_twice),
    (Verdict::StarWithGroup, star_with_group),
    (Verdict::ValuesRepeated, values_repeated),
    (Verdict::ValuesRow, values_row),
    (Verdict::BlankNodeReused, blank_node),
    (Verdict::AnnotatedPath, annotated_path),
    (Verdict::LanguageTagInvalid, language_tag),
    (Verdict::EscapeInvalid, escape),
];

type Finder = fn(&Tokens<'_>) -> (ParseError, usize);

pub(super) struct Tokens<'a> {
    pub text: &'a str,
    pub tokens: &'a [Token],
    /// The refused token.
    pub wrong: usize,
}

/// The error that the parser has found, or that the refused token reveals.
pub(super) fn find(tokens: &Tokens<'_>, found: &[Verdict]) -> Option<(ParseError, usize)> {
    let finder = FINDERS.iter().find(|(verdict, _)| found.contains(verdict)).map(|(_, finder)| finder);
    finder.map(|finder| finder(tokens)).or_else(|| by_token(tokens))
}

/// Errors that the parser does not name but the refused token reveals.
fn by_token(tokens: &Tokens<'_>) -> Option<(ParseError, usize)> {
    let (at, spelled) = (tokens.wrong, tokens.tokens.get(tokens.wrong)?.text(tokens.text));
    match tokens.tokens[at].kind {
        Kind::Blank if (0..at).any(|before| tokens.spell(before) == spelled) => Some(blank_node(tokens)),
        Kind::String if has_bad_escape(spelled) => Some(escape(tokens)),
        _ => None,
    }
}

/// A SELECT clause: its start, its columns, its pattern, and what follows.
pub(super) struct Select {
    at: usize,
    pub columns: std::ops::Range<usize>,
    pattern: std::ops::Range<usize>,
    pub behind: std::ops::Range<usize>,
}

impl Tokens<'_> {
    pub(super) fn spell(&self, at: usize) -> &str {
        self.tokens[at].text(self.text)
    }

    pub(super) fn is(&self, at: usize, symbol: &str) -> bool {
        self.tokens.get(at).is_some_and(|t| t.is(self.text, symbol))
    }

    pub(super) fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|t| t.is_any_word(self.text, words))
    }

    /// The name of a variable without `?` or `$`.
    pub(super) fn variable(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).filter(|t| t.kind == Kind::Variable).map(|t| &t.text(self.text)[1..])
    }

    fn variables(&self, range: std::ops::Range<usize>) -> BTreeSet<&str> {
        range.filter_map(|at| self.variable(at)).collect()
    }

    /// The bracket that closes the one at `open`, or the end.
    pub(super) fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.tokens[at].kind {
                Kind::Open => depth += 1,
                Kind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    fn words(&self, words: &'static [&'static str]) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.tokens.len()).filter(move |at| self.is_word(*at, words))
    }

    pub(super) fn selects(&self) -> impl Iterator<Item = Select> + '_ {
        self.words(&["SELECT"]).map(|at| {
            let brace = self.forward(at + 1, |at| self.is(at, "{"));
            let from = self.forward(at + 1, |at| self.is_word(at, &["FROM", "WHERE"]));
            let close = self.closing(brace);
            let end = self.forward(close + 1, |at| self.is(at, "}"));
            Select { at, columns: at + 1..brace.min(from), pattern: brace..close, behind: close + 1..end }
        })
    }

    /// The next such token outside inner brackets, or the end.
    pub(super) fn forward(&self, mut at: usize, wanted: impl Fn(usize) -> bool) -> usize {
        while at < self.tokens.len() && !wanted(at) {
            at = if self.tokens[at].kind == Kind::Open { self.closing(at) + 1 } else { at + 1 };
        }
        at.min(self.tokens.len())
    }

    /// The variables and aliases of GROUP BY.
    fn grouped(&self, select: &Select) -> BTreeSet<&str> {
        let group = self.forward(select.behind.start, |at| self.is_word(at, &["GROUP"]));
        let end = self.forward(group, |at| self.is_word(at, &["HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"]));
        let mut names = BTreeSet::new();
        let mut at = group;
        while at < end.min(select.behind.end) {
            if self.tokens[at].kind == Kind::Open {
                let close = self.closing(at);
                names.extend(self.aliases(at..close).filter_map(|at| self.variable(at)));
                at = close;
            }
            names.extend(self.variable(at));
            at += 1;
        }
        names
    }

    /// The variables after AS.
    pub(super) fn aliases(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = usize> + '_ {
        range.filter(|at| *at > 0 && self.is_word(at - 1, &["AS"]) && self.variable(*at).is_some())
    }

    /// The variables used in the columns, outside aggregates and apart from aliases.
    fn uses(&self, select: &Select) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = select.columns.start;
        while at < select.columns.end {
            let custom = self.spell(at).starts_with(super::extension::AGGREGATES_OPEN);
            if (custom || is_aggregate(self.spell(at))) && self.is(at + 1, "(") {
                at = self.closing(at + 1);
            } else if self.variable(at).is_some() && !self.is_word(at - 1, &["AS"]) {
                found.push(at);
            }
            at += 1;
        }
        found
    }

    fn last_word(&self, words: &'static [&'static str]) -> usize {
        self.words(words).rev().find(|at| *at <= self.wrong).unwrap_or(self.wrong)
    }
}

fn not_grouped(tokens: &Tokens<'_>) -> (ParseError, usize) {
    for select in tokens.selects() {
        let columns = &tokens.tokens[select.columns.clone()];
        let aggregates = columns.iter().any(|t| {
            let word = t.text(tokens.text);
            is_aggregate(word) || word.starts_with(super::extension::AGGREGATES_OPEN)
        });
        let group = tokens.forward(select.behind.start, |at| tokens.is_word(at, &["GROUP"]));
        if !aggregates && group >= select.behind.end {
            continue;
        }
        let mut known = tokens.grouped(&select);
        let aliases: Vec<usize> = tokens.aliases(select.columns.clone()).collect();
        for at in tokens.uses(&select) {
            known.extend(aliases.iter().filter(|alias| **alias < at).filter_map(|alias| tokens.variable(*alias)));
            if tokens.variable(at).is_some_and(|name| !known.contains(name)) {
                let name = tokens.spell(at);
                let message = format!("{name} is selected but neither grouped nor aggregated");
                let hint = format!("add {name} to GROUP BY, or aggregate it, for example SAMPLE({name})");
                return (ParseError::new("select.not_grouped", message).with_hint(hint), at);
            }
        }
    }
    alias_reused(tokens)
}

/// A column uses another computed column in a way that `aliases` does not rewrite.
fn alias_reused(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let reuse = tokens.selects().find_map(|select| {
        let aliases: BTreeSet<_> = tokens.aliases(select.columns.clone()).map(|at| tokens.variable(at)).collect();
        tokens.uses(&select).into_iter().find(|at| aliases.contains(&tokens.variable(*at)))
    });
    let name = reuse.map_or("a column", |at| tokens.spell(at));
    let message = format!("{name} is computed from a group in the same SELECT and cannot be used in another column");
    let error = ParseError::new("select.alias_reused", message);
    let hint = "repeat the expression, as in (COUNT(?x) + 1 AS ?m), or compute it in a sub-query";
    (error.with_hint(hint), reuse.unwrap_or_else(|| tokens.last_word(&["SELECT"])))
}

fn in_scope(name: &str, what: &str) -> ParseError {
    let message = format!("{what} assigns {name}, which already has a value");
    ParseError::new("variable.in_scope", message).with_hint("choose a name after AS that is not used yet")
}

fn alias_in_scope(tokens: &Tokens<'_>) -> (ParseError, usize) {
    for select in tokens.selects() {
        let bound = tokens.variables(select.pattern.clone());
        let found =
            tokens.aliases(select.columns.clone()).find(|at| tokens.variable(*at).is_some_and(|v| bound.contains(v)));
        if let Some(at) = found {
            return (in_scope(tokens.spell(at), "SELECT"), at);
        }
    }
    (in_scope("a variable", "SELECT"), tokens.last_word(&["SELECT"]))
}

fn bind_in_scope(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let alias = |bind: usize| tokens.aliases(bind..tokens.closing(bind + 1)).last();
    let binds = tokens.words(&["BIND"]).filter(|at| *at <= tokens.wrong).filter_map(alias);
    let mut taken = binds.filter(|at| {
        let start = tokens.words(&["WHERE", "SELECT"]).rev().find(|word| word < at).unwrap_or(0);
        tokens.variable(*at).is_some_and(|name| tokens.variables(start..*at).contains(name))
    });
    match taken.next() {
        Some(at) => (in_scope(tokens.spell(at), "BIND"), at),
        None => (in_scope("a variable", "BIND"), tokens.last_word(&["BIND"])),
    }
}

fn named_twice(tokens: &Tokens<'_>) -> (ParseError, usize) {
    for select in tokens.selects() {
        let mut seen = BTreeSet::new();
        let shown = |at: &usize| {
            let before = at.checked_sub(1).map(|i| tokens.tokens[i]);
            tokens.variable(*at).is_some()
                && (tokens.is_word(at - 1, &["AS"]) || tokens.forward(select.columns.start, |i| i == *at) == *at)
                && before.is_some()
        };
        let twice = select.columns.clone().filter(shown).find(|at| !seen.insert(tokens.variable(*at)));
        if let Some(at) = twice {
            let message = format!("SELECT names {} twice", tokens.spell(at));
            return (ParseError::new("select.duplicate", message).with_hint("leave one of them out, or rename it"), at);
        }
    }
    let error = ParseError::new("select.duplicate", "SELECT names a variable twice");
    (error.with_hint("leave one of them out, or rename it"), tokens.last_word(&["SELECT"]))
}

fn star_with_group(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let error = ParseError::new("select.not_grouped", "SELECT * cannot be used with GROUP BY");
    let error = error.with_hint("name the columns: grouped variables and aggregates");
    let star = (0..tokens.tokens.len()).find(|at| {
        let start = tokens.selects().find(|select| select.columns.contains(at) && tokens.is(*at, "*"));
        start.is_some_and(|select| {
            tokens.forward(select.behind.start, |i| tokens.is_word(i, &["GROUP"])) < select.behind.end
                && select.at < *at
        })
    });
    (error, star.unwrap_or_else(|| tokens.last_word(&["SELECT"])))
}

fn values_repeated(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let values = tokens.last_word(&["VALUES"]);
    let mut seen = BTreeSet::new();
    let names = (values + 1..tokens.closing(values + 1)).filter(|at| tokens.variable(*at).is_some());
    let twice = names.into_iter().find(|at| !seen.insert(tokens.variable(*at)));
    let error = ParseError::new("values.duplicate", "VALUES names a variable twice");
    (error.with_hint("name each variable once"), twice.unwrap_or(values))
}

fn values_row(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let values = tokens.last_word(&["VALUES"]);
    let brace = tokens.forward(values + 1, |at| tokens.is(at, "{"));
    let wanted = tokens.variables(values + 1..brace).len();
    let size = |row: usize| {
        let mut cells = 0;
        for at in row + 1..tokens.closing(row) {
            // A typed literal has three tokens, one with a language tag has two.
            let suffix = tokens.is(at, "^^") || tokens.is(at - 1, "^^") || tokens.tokens[at].kind == Kind::Language;
            let sign = tokens.is(at, "-") || tokens.is(at, "+");
            cells += usize::from(!suffix && !sign);
        }
        cells
    };
    let mut rows = (brace + 1..tokens.closing(brace)).filter(|at| tokens.is(*at, "("));
    let row = rows.find(|row| size(*row) != wanted);
    let message = format!("this row of VALUES does not have {wanted} values, one for each variable");
    let error = ParseError::new("values.row", message).with_hint("write UNDEF for a value that is not known");
    (error, row.unwrap_or(values))
}

fn blank_node(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let blank = |at: &usize| tokens.tokens[*at].kind == Kind::Blank;
    let again = |at: &usize| (0..*at).filter(blank).any(|before| tokens.spell(before) == tokens.spell(*at));
    // A label may occur several times within one group; the refused use is the last one read.
    let end = tokens.wrong.min(tokens.tokens.len().saturating_sub(1));
    let found = (0..=end).rev().filter(blank).find(again);
    let found = found.or_else(|| (0..tokens.tokens.len()).filter(blank).find(again));
    let name = found.map_or("a blank node", |at| tokens.spell(at));
    let message = format!("the blank node {name} is used in two groups, where it denotes two different nodes");
    let error = ParseError::new("blank_node.reused", message).with_hint("use a variable to join the groups");
    (error, found.unwrap_or(tokens.wrong))
}

fn deleted_blank(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let error = ParseError::new("parse.syntax", "DELETE WHERE cannot contain blank nodes");
    (error.with_hint("use variables"), tokens.last_word(&["DELETE"]))
}

fn annotated_path(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let error = ParseError::new("parse.syntax", "a property path cannot be annotated");
    (error.with_hint("write the path out as triples"), tokens.wrong)
}

fn language_tag(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let bad = |at: &usize| {
        let tag = tokens.tokens[*at].kind == Kind::Language;
        tag && tokens.spell(*at)[1..].split('-').any(|part| part.is_empty() || part.len() > 8)
    };
    let at = (0..tokens.tokens.len()).find(bad).unwrap_or(tokens.wrong);
    (ParseError::new("literal.language", "this is not a language tag").with_hint("write for example @en or @de-CH"), at)
}

fn escape(tokens: &Tokens<'_>) -> (ParseError, usize) {
    let bad = |at: &usize| tokens.tokens[*at].kind == Kind::String && has_bad_escape(tokens.spell(*at));
    let at = (0..tokens.tokens.len()).find(bad).unwrap_or(tokens.wrong);
    let error = ParseError::new("literal.escape", "this string contains an invalid escape sequence");
    (error.with_hint("write \\\\ for a backslash; \\t \\b \\n \\r \\f \\\" \\' \\u00e9 are known"), at)
}

fn has_bad_escape(string: &str) -> bool {
    let mut chars = string.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && !chars.next().is_some_and(|next| "tbnrf\"'\\uU".contains(next)) {
            return true;
        }
    }
    false
}
