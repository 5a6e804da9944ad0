//! Limits on a query, checked in one flat pass over its tokens before any recursive parser runs.
//!
//! Input: a text and its tokens. Output: nothing, or the first limit exceeded. Guarantee: the SPARQL parser, a
//! recursive walk over its tree and the drop of that tree fit a 2 MB stack, and parsing takes less than about a second.
//! Measured with spargebra 0.4.8: 64 nested brackets take up to 0.5 MB, a chain of 256 operators, UNIONs or path steps
//! up to 0.25 MB.
//!
//! The depth of the tree is estimated, never underestimated: the depth of a bracket level is the length of its own
//! chains (`a + b + c` is left-deep, and so is `{…} OPTIONAL {…} FILTER …`) plus the depth of its deepest inner level.
//!
//! The parser backtracks in a few places (`!(`, `REGEX(`, function calls as constraints). Each of these inside another
//! doubles the time, so a token's weight grows with the number of such brackets around it.

use super::error::ParseError;
use super::extension;
use super::token::{Kind, Token};

pub(super) const MAX_BYTES: usize = 64 * 1024;
const MAX_BRACKETS: usize = 64;
const MAX_DEPTH: u32 = 256;
const MAX_OPERATORS: usize = 1_000;
const MAX_WORK: u64 = 66_000;

const OPERATORS: [&str; 14] = ["+", "-", "*", "/", "!", "&&", "||", "=", "!=", "<", ">", "<=", ">=", "^"];
/// Words that end the preceding expression.
const SEPARATING_WORDS: [&str; 16] = [
    "SELECT", "WHERE", "FROM", "FILTER", "BIND", "AS", "GROUP", "HAVING", "ORDER", "LIMIT", "OPTIONAL", "UNION",
    "MINUS", "GRAPH", "WINDOW", "VALUES",
];
const REREAD_FUNCTIONS: [&str; 4] = ["REGEX", "SUBSTR", "REPLACE", "GROUP_CONCAT"];

/// An open bracket level.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Parts that add a level to the pattern: blocks, filters, computed columns.
    parts: u32,
    /// The operators of the current expression or path, and of the longest one before it.
    operators: u32,
    longest: u32,
    /// The depth of the deepest closed level inside.
    inner: u32,
    /// log2 of how often the parser may read this level each time it reads the enclosing one.
    rereads: u32,
    round: bool,
    /// Rows of VALUES add no nesting.
    data: bool,
    /// After GROUP BY or HAVING, where each bracket adds a condition.
    conditions: bool,
}

struct Scan<'a> {
    text: &'a str,
    tokens: &'a [Token],
    levels: Vec<Level>,
    rereads: u32,
    work: u64,
    operators: usize,
    expects_rows: bool,
    describes: bool,
}

/// Refuses a text that is too long, before tokenizing it.
pub(super) fn check_size(text: &str) -> Result<(), ParseError> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    let message = format!("the text has {} bytes, more than the {MAX_BYTES} allowed", text.len());
    let error = ParseError::new("limit.text", message).at(text, MAX_BYTES);
    Err(error.with_hint("move constants into static data, or split the query"))
}

/// Checks all limits on nesting; returns the parser's work in weighted tokens.
pub(super) fn check(text: &str, tokens: &[Token]) -> Result<u64, ParseError> {
    let mut scan = Scan {
        text,
        tokens,
        levels: vec![Level::default()],
        rereads: 0,
        work: 0,
        operators: 0,
        expects_rows: false,
        describes: false,
    };
    for at in 0..tokens.len() {
        scan.visit(at)?;
    }
    while scan.levels.len() > 1 {
        scan.close(tokens.len() - 1)?;
    }
    Ok(scan.work)
}

impl Scan<'_> {
    fn visit(&mut self, at: usize) -> Result<(), ParseError> {
        let token = self.tokens[at];
        self.add_work(at)?;
        match token.kind {
            Kind::Open => self.open(at)?,
            Kind::Close => self.close(at)?,
            Kind::Word => self.word(token),
            Kind::Punctuation => self.punctuation(token),
            Kind::Iri | Kind::Prefixed => self.name(at)?,
            _ => {}
        }
        self.check_chain(at)
    }

    fn add_work(&mut self, at: usize) -> Result<(), ParseError> {
        self.work += 1 << self.rereads.min(40);
        if self.work <= MAX_WORK {
            return Ok(());
        }
        let message = "negations and function calls are nested too deeply in each other";
        Err(self.fail("limit.depth", message, at).with_hint("compute inner parts with BIND"))
    }

    fn open(&mut self, at: usize) -> Result<(), ParseError> {
        let token = self.tokens[at];
        if self.levels.len() > MAX_BRACKETS {
            let error = self.fail("limit.depth", format!("brackets are nested more than {MAX_BRACKETS} deep"), at);
            return Err(error.with_hint("compute inner parts with BIND"));
        }
        let (brace, round) = (token.is(self.text, "{"), token.is(self.text, "("));
        let rows = brace && std::mem::take(&mut self.expects_rows);
        self.describes &= !brace;
        let rereads = self.rereads_of(at);
        let level = self.top();
        if !level.data {
            // One for the block, one for its join with the triples after it.
            level.parts += if brace { 2 } else { u32::from(round && level.conditions) };
        }
        let data = level.data || rows;
        self.push(Level { round, rereads, data, ..Level::default() });
        Ok(())
    }

    fn push(&mut self, level: Level) {
        self.rereads += level.rereads;
        self.levels.push(level);
    }

    /// A closing bracket without a partner closes nothing: the depth may be overestimated, never underestimated.
    fn close(&mut self, at: usize) -> Result<(), ParseError> {
        if self.levels.len() < 2 {
            return Ok(());
        }
        let closed = self.levels.pop().unwrap_or_default();
        self.rereads -= closed.rereads;
        let depth = closed.parts + closed.operators.max(closed.longest) + closed.inner + 1;
        if depth > MAX_DEPTH {
            return Err(self.too_many(at));
        }
        let level = self.top();
        level.inner = level.inner.max(depth);
        Ok(())
    }

    fn word(&mut self, token: Token) {
        let text = self.text;
        self.expects_rows |= token.is_word(text, "VALUES");
        self.describes |= token.is_word(text, "DESCRIBE");
        if token.is_any_word(text, &SEPARATING_WORDS) {
            self.top().end_expression();
        }
        let level = self.top();
        level.conditions |= token.is_any_word(text, &["GROUP", "HAVING"]);
        level.parts += u32::from(token.is_any_word(text, &["FILTER", "VALUES"]));
        let round = level.round;
        if token.is_word(text, "AS") {
            // `(e AS ?v)` adds a column to the level around the bracket.
            let at = self.levels.len() - 1 - usize::from(round);
            self.levels[at].parts += 1;
        }
    }

    fn punctuation(&mut self, token: Token) {
        let symbol = token.text(self.text);
        if OPERATORS.contains(&symbol) || symbol == "|" {
            self.add_operator();
        } else if matches!(symbol, "," | ";" | ".") {
            self.top().end_expression();
        }
    }

    fn add_operator(&mut self) {
        self.operators += 1;
        self.top().operators += 1;
    }

    fn name(&mut self, at: usize) -> Result<(), ParseError> {
        let described = self.describes;
        self.top().parts += u32::from(described);
        let after_operand = at > 0 && self.tokens[at - 1].ends_operand();
        if self.tokens[at].kind == Kind::Iri && after_operand { self.ambiguous_iri(at) } else { Ok(()) }
    }

    /// After `?a`, the text `<1+(2)>` has the shape of an IRI, but the parser may read operators and brackets in it.
    fn ambiguous_iri(&mut self, at: usize) -> Result<(), ParseError> {
        let token = self.tokens[at];
        let opened = self.levels.len();
        for c in token.text(self.text).chars() {
            match c {
                '(' | '[' => {
                    if self.levels.len() > MAX_BRACKETS {
                        let error = self.fail("limit.depth", "brackets are nested too deeply", at);
                        return Err(error.with_hint("compute inner parts with BIND"));
                    }
                    self.push(Level { round: true, rereads: 1, ..Level::default() });
                }
                ')' | ']' if self.levels.len() > opened => self.close(at)?,
                '+' | '-' | '*' | '/' | '!' | '=' | '&' => self.top().operators += 1,
                ',' => self.top().end_expression(),
                _ => {}
            }
        }
        Ok(())
    }

    /// How often the parser re-reads the bracket at `at`, see the module comment; looks back over the function name.
    fn rereads_of(&self, at: usize) -> u32 {
        let before = |n: usize| at.checked_sub(n).map(|i| self.tokens[i]);
        let is_name = |t: &Token| matches!(t.kind, Kind::Word | Kind::Iri | Kind::Prefixed);
        let names = (1..4).take_while(|n| before(*n).as_ref().is_some_and(is_name)).count();
        let negated = before(names + 1).is_some_and(|t| t.is(self.text, "!"));
        let called = before(1).filter(is_name).filter(|_| self.tokens[at].is(self.text, "("));
        u32::from(negated) + called.map_or(0, |name| self.rereads_of_call(name, before(2)))
    }

    fn rereads_of_call(&self, name: Token, before: Option<Token>) -> u32 {
        if name.kind == Kind::Word {
            let function = name.text(self.text);
            let reread = name.is_any_word(self.text, &REREAD_FUNCTIONS) || extension::is_aggregate(function);
            return u32::from(reread);
        }
        // An operand is read once, a constraint or a grouping up to three times.
        let operand = before.is_some_and(|t| matches!(t.kind, Kind::Open | Kind::Punctuation));
        if operand { u32::from(name.text(self.text).starts_with(extension::AGGREGATES_OPEN)) } else { 2 }
    }

    fn check_chain(&self, at: usize) -> Result<(), ParseError> {
        let level = self.levels.last().copied().unwrap_or_default();
        let long = level.parts + level.operators > MAX_DEPTH;
        if long || self.operators > MAX_OPERATORS { Err(self.too_many(at)) } else { Ok(()) }
    }

    fn too_many(&self, at: usize) -> ParseError {
        let message = "the text chains too many operators, blocks or computed columns";
        let hint = format!(
            "at most {MAX_OPERATORS} operators in all and {MAX_DEPTH} in one expression or group; VALUES or IN may do"
        );
        self.fail("limit.operators", message, at).with_hint(hint)
    }

    fn fail(&self, code: &'static str, message: impl Into<String>, at: usize) -> ParseError {
        ParseError::new(code, message).at(self.text, self.tokens[at].start)
    }

    fn top(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the outermost level is never popped")
    }
}

impl Level {
    fn end_expression(&mut self) {
        self.longest = self.longest.max(self.operators);
        self.operators = 0;
    }
}
