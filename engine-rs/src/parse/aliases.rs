//! Accepts column names where SPARQL requires their expressions, as other engines and the DEBS 2015 queries do.
//!
//! Input: a text that the SPARQL parser has refused. Output: the same text with names replaced by their expressions:
//!
//! - `SELECT (FLOOR(?x) AS ?cell) … GROUP BY ?cell` groups by `(FLOOR(?x) AS ?cell)` and selects `?cell`;
//! - `(COUNT(?x) AS ?n) (?n + 1 AS ?m)` computes `(COUNT(?x)) + 1`; HAVING may use `?n` too.
//!
//! Only refused texts get here, so valid SPARQL keeps its standard meaning. A chain of names can make the text grow, so
//! the caller checks the new text against the usual limits.

use super::calls::is_aggregate;
use super::extension::AGGREGATES_OPEN;
use super::meaning::{Select, Tokens};
use super::rewrite::Edits;
use super::token::{Kind, Token};

/// The rewritten text may not be longer than this.
const MAX_BYTES: usize = 65_536;

/// The edits that replace column names; `None` if there is nothing to replace, or too much.
pub(super) fn edits(text: &str, tokens: &[Token]) -> Option<Edits> {
    let all = Tokens { text, tokens, wrong: tokens.len() };
    let (mut edits, mut n_bytes) = (Edits::default(), 0);
    for select in all.selects() {
        n_bytes += Columns::of(&all, &select).rewrite(&mut edits);
        if n_bytes > MAX_BYTES {
            return None;
        }
    }
    (n_bytes > 0).then_some(edits)
}

/// `(expression AS ?name)`: its tokens from bracket to bracket, and the expression with names replaced so far.
struct Column<'a> {
    name: &'a str,
    open: usize,
    close: usize,
    expression: String,
    is_key: bool,
}

struct Columns<'a> {
    all: &'a Tokens<'a>,
    select: &'a Select,
    found: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    fn of(all: &'a Tokens<'a>, select: &'a Select) -> Self {
        let mut columns = Self { all, select, found: Vec::new() };
        if columns.is_grouped() {
            let keys: Vec<&str> = columns.keys().filter_map(|at| all.variable(at)).collect();
            for alias in all.aliases(select.columns.clone()) {
                columns.add(alias, &keys);
            }
        }
        columns
    }

    fn is_grouped(&self) -> bool {
        self.group() < self.select.behind.end || self.select.columns.clone().any(|at| self.is_aggregate(at))
    }

    fn is_aggregate(&self, at: usize) -> bool {
        let spelled = self.all.spell(at);
        spelled.starts_with(AGGREGATES_OPEN) || (is_aggregate(spelled) && self.all.is(at + 1, "("))
    }

    fn group(&self) -> usize {
        self.all.forward(self.select.behind.start, |at| self.all.is_word(at, &["GROUP"]))
    }

    /// The variables that GROUP BY names outside brackets.
    fn keys(&self) -> impl Iterator<Item = usize> + '_ {
        let group = self.group();
        let end = self.all.forward(group, |at| self.all.is_word(at, &["HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"]));
        let mut at = group;
        std::iter::from_fn(move || {
            at = self.all.forward(at + 1, |at| self.all.variable(at).is_some());
            (at < end).then_some(at)
        })
    }

    /// Adds the column whose name is at `alias`. A column with a pattern inside (EXISTS) is left alone.
    fn add(&mut self, alias: usize, keys: &[&'a str]) {
        let all = self.all;
        let Some(open) = (self.select.columns.start..alias).rev().find(|at| all.closing(*at) == alias + 1) else {
            return;
        };
        let Some(name) = all.variable(alias).filter(|_| !(open..alias).any(|at| all.is(at, "{"))) else { return };
        let is_key = keys.contains(&name) && !(open..alias).any(|at| self.is_aggregate(at));
        let expression = self.with_names(open + 1..alias - 1);
        self.found.push(Column { name, open, close: alias + 1, expression, is_key });
    }

    /// These tokens with names replaced by expressions, except inside aggregates; group keys keep their names.
    fn with_names(&self, range: std::ops::Range<usize>) -> String {
        let (text, mut written, mut at) = (self.all.text, String::new(), range.start);
        while at < range.end {
            let end = if self.is_aggregate(at) { self.all.closing(at + 1).min(range.end - 1) } else { at };
            let column = self.all.variable(at).and_then(|name| self.column(name));
            match column.filter(|column| !column.is_key) {
                Some(column) => written.extend(["(", &column.expression, ")"]),
                None => written.push_str(&text[self.all.tokens[at].start..self.all.tokens[end].end]),
            }
            written.push(' ');
            at = end + 1;
        }
        // Stop early when a chain doubles its length with each column.
        written.truncate(if written.len() > MAX_BYTES { 0 } else { written.len() });
        written
    }

    fn column(&self, name: &str) -> Option<&Column<'a>> {
        self.found.iter().find(|column| column.name == name)
    }

    /// Adds the edits; returns their total size in bytes.
    fn rewrite(&self, edits: &mut Edits) -> usize {
        let place = |at: usize| self.all.tokens[at];
        let mut n_bytes = 0;
        let mut put = |start: usize, end: usize, with: String| {
            n_bytes += with.len();
            edits.splice(place(start).start, place(end).end, with);
        };
        for column in &self.found {
            let (name, expression) = (column.name, &column.expression);
            if column.is_key {
                put(column.open, column.close, format!("?{name}"));
            } else if self.uses_names(column) {
                put(column.open, column.close, format!("({expression} AS ?{name})"));
            }
        }
        for at in self.keys() {
            if let Some(column) = self.all.variable(at).and_then(|name| self.column(name)).filter(|one| one.is_key) {
                put(at, at, format!("({} AS ?{})", column.expression, column.name));
            }
        }
        if let Some(having) = self.having() {
            put(having.start, having.end - 1, self.with_names(having));
        }
        n_bytes
    }

    fn uses_names(&self, column: &Column<'_>) -> bool {
        self.mentions(column.open + 1..column.close - 2)
    }

    fn mentions(&self, mut range: std::ops::Range<usize>) -> bool {
        range.any(|at| self.all.variable(at).and_then(|name| self.column(name)).is_some_and(|one| !one.is_key))
    }

    /// The conditions after HAVING, if they mention column names.
    fn having(&self) -> Option<std::ops::Range<usize>> {
        let all = self.all;
        let start = all.forward(self.select.behind.start, |at| all.is_word(at, &["HAVING"])) + 1;
        let end = all.forward(start, |at| all.is_word(at, &["ORDER", "LIMIT", "OFFSET", "VALUES"]));
        let range = start..end.min(self.select.behind.end);
        let has_pattern = range.clone().any(|at| all.tokens[at].kind == Kind::Open && all.is(at, "{"));
        (!range.is_empty() && !has_pattern && self.mentions(range.clone())).then_some(range)
    }
}
