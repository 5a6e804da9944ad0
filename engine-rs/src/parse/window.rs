//! The text between the brackets of a window: `[RANGE 10s STEP 5s]` and its variants.
//!
//! Input: a cursor before the bracket. Output: the kind of window, with all durations positive and in proportion, and
//! what the text says about report, tick, content and time. The dialect decides what `[RANGE w]` without a step means.

use oxrdf::NamedNode;

use super::cursor::Cursor;
use super::duration::{is_unit, parse_duration};
use super::error::ParseError;
use super::query::{ContentSemantics, Dialect, Report, Tick, WindowKind};
use super::token::{Kind, Token};
use crate::time::Span;

/// More simultaneously open windows than this are a mistake.
const MAX_WINDOWS_PER_INSTANT: i64 = 1_000;
const STEP_WORDS: [&str; 2] = ["STEP", "SLIDE"];
/// Words that may follow a number but are not units.
const TAIL_WORDS: [&str; 6] = ["STEP", "SLIDE", "TUMBLING", "REPORT", "TICK", "SEMANTICS"];
/// Words that continue the query after a window.
const BEHIND_WINDOW: [&str; 5] = ["WHERE", "FROM", "AS", "TO", "UNDER"];
const REPORT_WORDS: [&str; 7] =
    ["ON_WINDOW_CLOSE", "CLOSE", "ON_CONTENT_CHANGE", "CHANGE", "NON_EMPTY_CONTENT", "NONEMPTY", "PERIODIC"];
const FORMS: &str = "RANGE, ELEMENTS, TRIPLES, NOW, ALL or FROM NOW-…";

#[derive(Debug)]
pub(super) struct WindowSpec {
    pub kind: WindowKind,
    pub time_predicate: Option<NamedNode>,
    pub report: Option<Report>,
    pub tick: Option<Tick>,
    pub semantics: Option<ContentSemantics>,
    /// The position of the last `@`, TICK or SEMANTICS.
    pub tail_at: usize,
}

/// What may follow the first words of a window, in any order.
#[derive(Default)]
struct Tail {
    step: Option<(Span, usize)>,
    tumbling: bool,
    time_predicate: Option<NamedNode>,
    report: Option<Report>,
    tick: Option<Tick>,
    semantics: Option<ContentSemantics>,
    at: usize,
}

/// Parses `[…]`.
pub(super) fn parse_window(cursor: &mut Cursor<'_>, dialect: Dialect) -> Result<WindowSpec, ParseError> {
    // Brackets are optional in some dialects. Without them, only words that can start nothing else start a window.
    let bracketed = cursor.take("[");
    let open = ["RANGE", "ELEMENTS", "TRIPLES"];
    if !bracketed && !cursor.peek().is_some_and(|t| t.is_any_word(cursor.text, &open)) {
        return Err(cursor.unexpected("'['").with_hint("write a window, for example [RANGE 10s STEP 5s]"));
    }
    let start = cursor.at;
    let word = cursor.take_word(&["RANGE", "ELEMENTS", "COUNT", "TRIPLES", "NOW", "ALL", "FROM"]);
    let spec = match word {
        Some("RANGE") if cursor.is_word("TRIPLES") => {
            cursor.at += 1;
            triples(cursor)
        }
        Some("RANGE") => range(cursor, dialect),
        Some("ELEMENTS" | "COUNT") => elements(cursor),
        Some("TRIPLES") => triples(cursor),
        Some("NOW") if cursor.is("-") => {
            cursor.at = start;
            sparqlstream(cursor)
        }
        Some("NOW") => tail(cursor).map(|tail| tail.with(WindowKind::Now)),
        Some("ALL") => tail(cursor).map(|tail| tail.with(WindowKind::All)),
        Some(_) => past(cursor),
        None => {
            let known = cursor.peek().filter(|t| FOREIGN.iter().any(|(word, _)| t.is_word(cursor.text, word)));
            Err(known.map_or_else(|| cursor.unexpected(FORMS), |token| foreign(cursor, token, FORMS)))
        }
    }?;
    match cursor.peek() {
        _ if !bracketed || cursor.take("]") => Ok(spec),
        Some(token) => Err(foreign(cursor, token, "']', STEP, TUMBLING, REPORT, TICK or SEMANTICS")),
        None => Err(cursor.unexpected("']'")),
    }
}

/// Words that other languages allow in a window, and what to write instead.
const FOREIGN: [(&str, &str); 10] = [
    ("EMIT", "write REPORT CLOSE for ON_CLOSE, REPORT CHANGE for ON_UPDATE"),
    ("LATENESS", "allowed lateness is a setting of the stream: declare the stream with a lateness"),
    ("MAXDELAY", "allowed lateness is a setting of the stream: declare the stream with a lateness"),
    ("T0", "set the query option t0 to choose where windows start"),
    ("FUTURE", "a window cannot look ahead; use RANGE for past events"),
    ("PAST", "write RANGE for the last events by time"),
    ("LAST", "write RANGE 10s for a time, ELEMENTS 5 for a number of events"),
    ("ROWS", "write ELEMENTS for events or TRIPLES for triples"),
    ("EVERY", "write STEP"),
    ("START", "write FROM NOW-… TO NOW-… for a window in the past"),
];

fn foreign(cursor: &Cursor<'_>, token: Token, expected: &str) -> ParseError {
    let text = cursor.text;
    if token.start == cursor.end_of_previous() && matches!(token.kind, Kind::Prefixed | Kind::Iri) {
        return cursor
            .fail("duration.syntax", "this is not a duration")
            .with_hint("write for example 10s, PT10S or 10m");
    }
    let error = cursor.unexpected(expected);
    let known = FOREIGN.iter().find(|(word, _)| token.is_word(text, word)).map(|(_, hint)| *hint);
    let hint = if token.is(text, ",") {
        Some("leave out the comma")
    } else if token.is_any_word(text, &["STEP", "SLIDE", "TUMBLING"]) {
        Some("a window has one step")
    } else if token.kind == Kind::Open || token.is_any_word(text, &BEHIND_WINDOW) {
        Some("close the window with ']'")
    } else {
        known
    };
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// A duration greater than zero, as in `COMPUTED EVERY 5s`; also returns its offset.
pub(super) fn positive_span(
    cursor: &mut Cursor<'_>,
    code: &'static str,
    what: &str,
) -> Result<(Span, usize), ParseError> {
    let offset = cursor.offset();
    if cursor.is("-") {
        return Err(cursor
            .fail("duration.negative", format!("{what} is negative"))
            .with_hint("write a duration greater than zero"));
    }
    let span = span(cursor)?;
    if span == Span::ZERO {
        let error = ParseError::new(code, format!("{what} is zero")).at(cursor.text, offset);
        return Err(error.with_hint("write a duration greater than zero"));
    }
    Ok((span, offset))
}

fn range(cursor: &mut Cursor<'_>, dialect: Dialect) -> Result<WindowSpec, ParseError> {
    let (width, _) = positive_span(cursor, "window.zero_width", "the width of the window")?;
    let tail = time_tail(cursor)?;
    let kind = match tail.step {
        Some((_, at)) if tail.tumbling => {
            let error = ParseError::new("window.step_and_tumbling", "a tumbling window has no step of its own");
            return Err(error.at(cursor.text, at).with_hint("leave out STEP or TUMBLING"));
        }
        Some((slide, at)) => {
            check_ratio(cursor.text, width, slide, at)?;
            WindowKind::Step { width, slide }
        }
        None if tail.tumbling || dialect == Dialect::RspQl => WindowKind::Step { width, slide: width },
        None if dialect == Dialect::CqelsQl => WindowKind::Sliding { width },
        None => {
            let error = cursor.fail("window.step_missing", "a C-SPARQL window needs STEP or TUMBLING");
            return Err(error.with_hint("for example [RANGE 30m STEP 5m] or [RANGE 30m TUMBLING]"));
        }
    };
    Ok(tail.with(kind))
}

fn elements(cursor: &mut Cursor<'_>) -> Result<WindowSpec, ParseError> {
    let size = count(cursor)?;
    let step = match cursor.take_word(&STEP_WORDS) {
        Some(_) => count(cursor)?,
        None => 1,
    };
    tail(cursor).map(|tail| tail.with(WindowKind::Elements { size, step }))
}

fn triples(cursor: &mut Cursor<'_>) -> Result<WindowSpec, ParseError> {
    let size = count(cursor)?;
    tail(cursor).map(|tail| tail.with(WindowKind::Triples { size }))
}

/// SPARQLstream's `[NOW - 10 S SLIDE 5 S]`.
fn sparqlstream(cursor: &mut Cursor<'_>) -> Result<WindowSpec, ParseError> {
    let offset = cursor.offset();
    let width = back_from_now(cursor)?;
    if width == Span::ZERO {
        let error = ParseError::new("window.zero_width", "the width of the window is zero").at(cursor.text, offset);
        return Err(error.with_hint("write a duration greater than zero"));
    }
    let tail = time_tail(cursor)?;
    let (slide, at) = tail.step.ok_or_else(|| cursor.unexpected("SLIDE"))?;
    check_ratio(cursor.text, width, slide, at)?;
    Ok(tail.with(WindowKind::Step { width, slide }))
}

/// After `FROM`: `NOW-a TO NOW-b STEP c`. Without a step, consecutive windows are adjacent.
fn past(cursor: &mut Cursor<'_>) -> Result<WindowSpec, ParseError> {
    let offset = cursor.offset();
    let from = back_from_now(cursor)?;
    cursor.expect_word("TO")?;
    let to = back_from_now(cursor)?;
    let width = Span::from_millis(from.as_millis() - to.as_millis());
    if width <= Span::ZERO {
        let error = ParseError::new("window.zero_width", "the window ends before it starts").at(cursor.text, offset);
        return Err(error.with_hint("the first duration must be the longer one: FROM NOW-PT2H TO NOW-PT1H"));
    }
    let tail = time_tail(cursor)?;
    let slide = match tail.step {
        Some((slide, at)) => check_ratio(cursor.text, width, slide, at).map(|()| slide)?,
        None => width,
    };
    Ok(tail.with(WindowKind::Past { from, to, slide }))
}

/// `NOW` or `NOW - duration`.
fn back_from_now(cursor: &mut Cursor<'_>) -> Result<Span, ParseError> {
    cursor.expect_word("NOW")?;
    if cursor.take("-") { span(cursor) } else { Ok(Span::ZERO) }
}

fn tail(cursor: &mut Cursor<'_>) -> Result<Tail, ParseError> {
    let mut tail = Tail::default();
    while tail.take_common(cursor)? {}
    Ok(tail)
}

fn time_tail(cursor: &mut Cursor<'_>) -> Result<Tail, ParseError> {
    let mut tail = Tail::default();
    loop {
        if tail.step.is_none() && cursor.take_word(&STEP_WORDS).is_some() {
            tail.step = Some(step(cursor)?);
        } else if !tail.tumbling && cursor.take_word(&["TUMBLING"]).is_some() {
            tail.tumbling = true;
        } else if !tail.take_common(cursor)? {
            return Ok(tail);
        }
    }
}

fn step(cursor: &mut Cursor<'_>) -> Result<(Span, usize), ParseError> {
    if cursor.is("]") {
        let error = cursor.unexpected("a duration after STEP");
        return Err(error.with_hint("for example STEP 10m, or TUMBLING for a step as long as the window"));
    }
    positive_span(cursor, "window.zero_slide", "the step of the window")
}

impl Tail {
    fn with(self, kind: WindowKind) -> WindowSpec {
        let Self { time_predicate, report, tick, semantics, at, .. } = self;
        WindowSpec { kind, time_predicate, report, tick, semantics, tail_at: at }
    }

    /// Consumes `@ :predicate`, `REPORT …`, `TICK …` or `SEMANTICS …`.
    fn take_common(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, ParseError> {
        if cursor.is("@") || cursor.is_word("TICK") || cursor.is_word("SEMANTICS") {
            self.at = cursor.offset();
        }
        if self.time_predicate.is_none() && cursor.take("@") {
            self.time_predicate = Some(cursor.expect_name("the predicate that holds the time")?.1);
        } else if cursor.take_word(&["REPORT"]).is_some() {
            self.report = Some(reports(cursor, self.report.unwrap_or_default())?);
        } else if cursor.take_word(&["TICK"]).is_some() {
            self.tick = Some(tick(cursor)?);
        } else if cursor.take_word(&["SEMANTICS"]).is_some() {
            self.semantics = Some(semantics(cursor)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// One or more strategies; all must hold.
fn reports(cursor: &mut Cursor<'_>, mut report: Report) -> Result<Report, ParseError> {
    let mut found = false;
    while let Some(word) = cursor.take_word(&REPORT_WORDS) {
        found = true;
        match word {
            "ON_WINDOW_CLOSE" | "CLOSE" => report.close = true,
            "ON_CONTENT_CHANGE" | "CHANGE" => report.change = true,
            "PERIODIC" => report.periodic = Some(positive_span(cursor, "report.zero_period", "the period")?.0),
            _ => report.nonempty = true,
        }
        let _ = cursor.take(",");
    }
    if found { Ok(report) } else { Err(cursor.unexpected("CLOSE, CHANGE, NONEMPTY or PERIODIC")) }
}

fn tick(cursor: &mut Cursor<'_>) -> Result<Tick, ParseError> {
    match cursor.take_word(&["TIME_DRIVEN", "TIME", "TUPLE_DRIVEN", "TUPLE"]) {
        Some("TIME_DRIVEN" | "TIME") => Ok(Tick::Time),
        Some(_) => Ok(Tick::Tuple),
        None => Err(cursor.unexpected("TIME or TUPLE")),
    }
}

fn semantics(cursor: &mut Cursor<'_>) -> Result<ContentSemantics, ParseError> {
    match cursor.take_word(&["SET", "BAG"]) {
        Some("SET") => Ok(ContentSemantics::Set),
        Some(_) => Ok(ContentSemantics::Bag),
        None => Err(cursor.unexpected("SET or BAG")),
    }
}

fn count(cursor: &mut Cursor<'_>) -> Result<u64, ParseError> {
    if cursor.is("-") {
        return Err(cursor
            .fail("window.zero_count", "the count is negative")
            .with_hint("write a number greater than zero"));
    }
    let token = cursor.peek().filter(|t| t.kind == Kind::Number).ok_or_else(|| cursor.unexpected("a whole number"))?;
    let digits = token.text(cursor.text).bytes().all(|b| b.is_ascii_digit());
    let expected = if digits { "a smaller number" } else { "a whole number" };
    let number: u64 = token.text(cursor.text).parse().map_err(|_| cursor.unexpected(expected))?;
    if number == 0 {
        return Err(cursor
            .fail("window.zero_count", "the count is zero")
            .with_hint("write a number greater than zero"));
    }
    cursor.at += 1;
    Ok(number)
}

/// One duration, or several that are added.
fn span(cursor: &mut Cursor<'_>) -> Result<Span, ParseError> {
    let first = cursor.peek().filter(|t| matches!(t.kind, Kind::Number | Kind::Word));
    let first =
        first.filter(|t| !t.is_any_word(cursor.text, &TAIL_WORDS) && !t.is_any_word(cursor.text, &BEHIND_WINDOW));
    let first = first.ok_or_else(|| cursor.unexpected("a duration such as PT10M or 10m"))?;
    take_chunk(cursor);
    while cursor.peek().is_some_and(|t| t.kind == Kind::Number) {
        take_chunk(cursor);
    }
    let text = &cursor.text[first.start..cursor.end_of_previous()];
    parse_duration(text).map_err(|error| error.at(cursor.text, first.start))
}

/// Adjacent tokens form one spelling (`1m30s`, `PT0.5S`); a unit may also stand apart (`30 minutes`).
fn take_chunk(cursor: &mut Cursor<'_>) {
    // A word that can continue nothing else is meant as a unit, possibly a wrong one.
    let unit = |t: &Token, text: &str| {
        let other = [&TAIL_WORDS[..], &BEHIND_WINDOW, &REPORT_WORDS].iter().any(|words| t.is_any_word(text, words))
            || FOREIGN.iter().any(|(word, _)| t.is_word(text, word));
        t.kind == Kind::Word && (is_unit(t.text(text)) || !other)
    };
    let start = cursor.at;
    cursor.at += 1;
    while let Some(token) = cursor.peek() {
        let touches = token.start == cursor.end_of_previous() && matches!(token.kind, Kind::Number | Kind::Word);
        let single = cursor.at == start + 1 && cursor.tokens[start].kind == Kind::Number;
        let apart = single && unit(&token, cursor.text);
        if !(touches || apart) {
            return;
        }
        cursor.at += 1;
    }
}

fn check_ratio(text: &str, width: Span, slide: Span, at: usize) -> Result<(), ParseError> {
    if width.as_millis() / slide.as_millis() < MAX_WINDOWS_PER_INSTANT
        || width.as_millis() == slide.as_millis() * MAX_WINDOWS_PER_INSTANT
    {
        return Ok(());
    }
    let message = format!("the width is more than {MAX_WINDOWS_PER_INSTANT} times the step");
    Err(ParseError::new("window.too_many", message).at(text, at).with_hint("choose a longer step"))
}
