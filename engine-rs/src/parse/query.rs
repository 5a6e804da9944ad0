//! Query text → [`ContinuousQuery`]: what to evaluate, over which windows, and when to report.
//!
//! Input: text in RSP-QL, C-SPARQL or CQELS-QL, and options that take precedence over the text. Output: the named
//! windows, the plain SPARQL query in which each window is a named graph, and a value for every choice that the
//! semantics leave open. Limits are checked before anything recursive runs.

use std::fmt;

use oxrdf::{NamedNode, Variable};
use spargebra::SparqlParser;

use super::clause::{Clauses, add_default_window, find_clauses};
use super::cursor::Cursor;
use super::error::{ParseError, Position, suggestion};
use super::expansion::names_fit;
use super::names::{Names, check_prologue};
use super::options::ParseOptions;
use super::reading::read_query;
use super::{calls, extension, limits, token};
use crate::time::{Span, Timestamp};

/// Some editors write a byte order mark at the start of a file; SPARQL does not allow it.
const BYTE_ORDER_MARK: char = '\u{feff}';

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    RspQl,
    CSparql,
    CqelsQl,
}

/// When a window reports; all conditions that are set must hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Report {
    pub close: bool,
    pub change: bool,
    pub nonempty: bool,
    pub periodic: Option<Span>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tick {
    /// All events of one instant together.
    Time,
    /// Each event on its own.
    Tuple,
}

/// Which ends of a time window belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bounds {
    /// `[open, close)`
    ClosedOpen,
    /// `(open, close]`
    OpenClosed,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ContentSemantics {
    Set,
    Bag,
}

/// The relation-to-stream operator: which part of each result is emitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum R2s {
    Rstream,
    Istream,
    Dstream,
    /// Both additions and removals, signed.
    Changes,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WindowKind {
    /// `[RANGE width STEP slide]`; tumbling when both are equal.
    Step {
        width: Span,
        slide: Span,
    },
    /// The last `width`, at every arrival.
    Sliding {
        width: Span,
    },
    /// The last `size` events, reported every `step` events.
    Elements {
        size: u64,
        step: u64,
    },
    /// The last `size` triples.
    Triples {
        size: u64,
    },
    Now,
    All,
    /// From `from` ago to `to` ago, where `from > to`.
    Past {
        from: Span,
        to: Span,
        slide: Span,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StreamName {
    Iri(NamedNode),
    /// CQELS-QL: the streams to which the rest of the pattern binds this variable.
    Variable(Variable),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowClause {
    /// The graph name that denotes this window in the query.
    pub name: NamedNode,
    pub stream: StreamName,
    pub kind: WindowKind,
    /// The predicate in the event's graph whose object is the event time.
    pub time_predicate: Option<NamedNode>,
    pub position: Position,
}

/// What a pattern outside WINDOW, STREAM and GRAPH reads: the union of these windows, and possibly static data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DefaultGraph {
    /// Indexes into [`ContinuousQuery::windows`].
    pub windows: Vec<usize>,
    /// The static default graph, or the graphs that FROM names.
    pub with_static: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContinuousQuery {
    pub dialect: Dialect,
    /// The IRI or word under which the query is registered.
    pub name: Option<String>,
    pub r2s: R2s,
    pub report: Report,
    pub tick: Tick,
    pub t0: Timestamp,
    pub bounds: Bounds,
    pub partial: bool,
    pub semantics: ContentSemantics,
    pub windows: Vec<WindowClause>,
    /// The variables of `WINDOW ?w {…}`. In `query` they look like those of `GRAPH ?g {…}`, but range over the declared
    /// windows, while graph variables never do.
    pub window_variables: Vec<Variable>,
    pub default_graph: DefaultGraph,
    pub keep_answer: bool,
    pub keep_windows: bool,
    pub allow_cartesian: bool,
    pub query: spargebra::Query,
    /// As the user wrote it.
    pub text: String,
}

/// Parses a continuous query.
///
/// ```
/// # use whorl_engine::{parse_query, ParseOptions, WindowKind};
/// let text = "PREFIX : <http://example.org/>
///     SELECT ?room FROM NAMED WINDOW :w ON :sensors [RANGE PT10S STEP PT5S]
///     WHERE { WINDOW :w { ?room :temperature ?t } FILTER(?t > 30) }";
/// let query = parse_query(text, &ParseOptions::default())?;
/// assert!(matches!(query.windows[0].kind, WindowKind::Step { .. }));
/// # Ok::<(), whorl_engine::ParseError>(())
/// ```
pub fn parse_query(text: &str, options: &ParseOptions) -> Result<ContinuousQuery, ParseError> {
    limits::check_size(text)?;
    let tokens = token::tokenize(text)?;
    let work = limits::check(text, &tokens)?;
    names_fit(text, &tokens, options.base_iri.as_deref())?;
    check_prologue(text, &tokens)?;
    let names = Names::gather(text, &tokens, options.base_iri.as_deref())?;
    let cursor = Cursor { text, tokens: &tokens, names: &names, at: 0 };
    let mut clauses = find_clauses(cursor, options.dialect)?;
    names.check_prefixes(&tokens)?;
    let windows = check_windows(&clauses);
    let default_graph = match &options.default_graph {
        Some(window) => default_window(window, options, &mut clauses)?,
        None => clauses.default_graph(),
    };
    blank_mark(text, &mut clauses);
    calls::check_aggregates(text, &tokens)?;
    let percentiles = extension::rewrite(text, &tokens, &mut clauses.edits)?;
    let parser = sparql_parser(options, percentiles)?;
    let rewritten = std::mem::take(&mut clauses.edits).apply(text);
    let query = read_query(&parser, text, rewritten, work)?;
    // A mistyped keyword can hide a window, so report problems with words first.
    windows?;
    Ok(assemble(text, options, clauses, default_graph, query))
}

pub(super) fn blank_mark(text: &str, clauses: &mut Clauses) {
    if text.starts_with(BYTE_ORDER_MARK) {
        clauses.edits.blank(text, 0, BYTE_ORDER_MARK.len_utf8());
    }
}

pub(super) fn sparql_parser(options: &ParseOptions, percentiles: Vec<NamedNode>) -> Result<SparqlParser, ParseError> {
    let aggregates = extension::aggregates().chain(percentiles);
    let parser = aggregates.fold(SparqlParser::new(), SparqlParser::with_custom_aggregate_function);
    match &options.base_iri {
        Some(base) => parser
            .with_base_iri(base)
            .map_err(|_| ParseError::new("iri.invalid", format!("the base '{base}' is not an absolute IRI"))),
        None => Ok(parser),
    }
}

/// Checks that every declared window is read and every window read is declared.
fn check_windows(clauses: &Clauses) -> Result<(), ParseError> {
    if clauses.dialect != Some(Dialect::RspQl) {
        return Ok(());
    }
    let declared = || clauses.windows.iter().map(|window| &window.name);
    if let Some((name, position)) = clauses.reads.iter().find(|(name, _)| declared().all(|d| d != name)) {
        let error = ParseError::new("window.undeclared", format!("the window {name} is not declared"));
        let spelled: Vec<String> = declared().map(NamedNode::to_string).collect();
        let hint = suggestion(&name.to_string(), spelled.iter().map(String::as_str))
            .unwrap_or_else(|| format!("add FROM NAMED WINDOW {name} ON <stream> [RANGE …]"));
        return Err(error.at_position(*position).with_hint(hint));
    }
    if !clauses.window_variables.is_empty() {
        return Ok(());
    }
    let read = |window: &WindowClause| clauses.reads.iter().any(|(name, _)| *name == window.name);
    match clauses.windows.iter().find(|window| !read(window)) {
        Some(window) => {
            let error =
                ParseError::new("window.unused", format!("the window {} is declared but never read", window.name));
            Err(error
                .at_position(window.position)
                .with_hint(format!("add WINDOW {} {{ … }} to WHERE, or remove the clause", window.name)))
        }
        None => Ok(()),
    }
}

/// Adds the window of the option `default_graph` as the last one of the query.
fn default_window(window: &str, options: &ParseOptions, clauses: &mut Clauses) -> Result<DefaultGraph, ParseError> {
    if clauses.dialect == Some(Dialect::CSparql) {
        let message = "the option default_graph cannot be used with FROM STREAM, which fills the default graph itself";
        let error = ParseError::new("option.default_graph", message).at_position(clauses.windows[0].position);
        return Err(error.with_hint("leave out the option, or FROM STREAM"));
    }
    limits::check_size(window)?;
    let in_option = |error: ParseError| error.within("in the option default_graph");
    let tokens = token::tokenize(window).map_err(in_option)?;
    names_fit(window, &tokens, options.base_iri.as_deref()).map_err(in_option)?;
    let names = Names::gather(window, &tokens, options.base_iri.as_deref()).map_err(in_option)?;
    let cursor = Cursor { text: window, tokens: &tokens, names: &names, at: 0 };
    add_default_window(cursor, clauses).map_err(in_option)?;
    Ok(DefaultGraph { windows: vec![clauses.windows.len() - 1], with_static: false })
}

/// Options take precedence over the text, the text over the defaults of the dialect.
fn assemble(
    text: &str,
    options: &ParseOptions,
    found: Clauses,
    default_graph: DefaultGraph,
    query: spargebra::Query,
) -> ContinuousQuery {
    let written = found.dialect.unwrap_or(Dialect::RspQl);
    let dialect = options.dialect.unwrap_or(written);
    let periodic = Report { periodic: found.every, ..Report::default() };
    let report = found.report.unwrap_or_else(|| dialect.report()).and(periodic);
    ContinuousQuery {
        dialect,
        name: found.name,
        r2s: options.r2s.or(found.r2s).unwrap_or_else(|| dialect.r2s()),
        report: options.report.unwrap_or(report),
        tick: options.tick.or(found.tick).unwrap_or_else(|| dialect.tick()),
        t0: options.t0.unwrap_or(Timestamp::EPOCH),
        bounds: options.bounds.unwrap_or(Bounds::ClosedOpen),
        partial: options.partial.unwrap_or(false),
        semantics: options.semantics.or(found.semantics).unwrap_or_else(|| dialect.semantics()),
        windows: found.windows,
        window_variables: found.window_variables,
        default_graph,
        keep_answer: options.keep_answer,
        keep_windows: options.keep_windows,
        allow_cartesian: options.allow_cartesian,
        query,
        text: text.to_owned(),
    }
}

impl Report {
    /// Whether the query is evaluated at every change of a window's content. With `close` as well, changes are checked
    /// only when a window closes.
    pub(crate) fn follows_changes(&self) -> bool {
        self.change && !self.close
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            close: self.close || other.close,
            change: self.change || other.change,
            nonempty: self.nonempty || other.nonempty,
            periodic: other.periodic.or(self.periodic),
        }
    }
}

/// The defaults of SEMANTICS.md §2.
impl Dialect {
    fn report(self) -> Report {
        let cqels = self == Self::CqelsQl;
        Report { close: !cqels, change: cqels, nonempty: cqels, periodic: None }
    }

    fn tick(self) -> Tick {
        if self == Self::CqelsQl { Tick::Tuple } else { Tick::Time }
    }

    fn r2s(self) -> R2s {
        if self == Self::CqelsQl { R2s::Istream } else { R2s::Rstream }
    }

    fn semantics(self) -> ContentSemantics {
        if self == Self::CqelsQl { ContentSemantics::Bag } else { ContentSemantics::Set }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RspQl => "RSP-QL",
            Self::CSparql => "C-SPARQL",
            Self::CqelsQl => "CQELS-QL",
        })
    }
}
