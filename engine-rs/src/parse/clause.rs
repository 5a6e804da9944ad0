//! The streaming clauses of RSP-QL, C-SPARQL and CQELS-QL, found among the tokens of a query.
//!
//! Input: tokens and the meaning of their names. Output: the windows, the registration, the report policy, and edits
//! that leave plain SPARQL: `WINDOW :w {` and `STREAM <s> [w] {` become `GRAPH … {`, everything else becomes blanks.

use oxrdf::{NamedNode, Variable};

use super::cursor::{Cursor, is_name};
use super::error::{ParseError, Position};
use super::query::{ContentSemantics, DefaultGraph, Dialect, R2s, Report, StreamName, Tick, WindowClause, WindowKind};
use super::rewrite::Edits;
use super::short_construct;
use super::token::{Kind, Token};
use super::window::{WindowSpec, parse_window, positive_span};
use crate::time::Span;

const R2S_WORDS: [&str; 4] = ["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"];
/// The name of the window that the option `default_graph` creates.
const DEFAULT_WINDOW: &str = "urn:whorl:window:default";
const FORMS: [&str; 4] = ["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"];

/// Everything the scan has found.
#[derive(Default)]
pub(super) struct Clauses {
    pub name: Option<String>,
    pub r2s: Option<R2s>,
    pub every: Option<Span>,
    pub report: Option<Report>,
    pub tick: Option<Tick>,
    pub semantics: Option<ContentSemantics>,
    pub windows: Vec<WindowClause>,
    /// The windows that the body reads, with positions.
    pub reads: Vec<(NamedNode, Position)>,
    /// The variables of `WINDOW ?w {` and of `GRAPH ?g {`, without duplicates.
    pub window_variables: Vec<Variable>,
    pub graph_variables: Vec<Variable>,
    /// Where the first GRAPH of a CONSTRUCT template stands.
    pub template_graph_at: Option<usize>,
    /// The dialect of the first streaming clause.
    pub dialect: Option<Dialect>,
    pub edits: Edits,
}

pub(super) struct Scan<'a> {
    pub cursor: Cursor<'a>,
    /// The requested dialect, which decides the meaning of a bare `[RANGE w]`.
    asked: Option<Dialect>,
    pub depth: usize,
    /// Whether SELECT, CONSTRUCT, ASK or DESCRIBE has been seen.
    formed: bool,
    /// Depth of the braces of a CONSTRUCT template, while inside.
    pub template: Option<usize>,
    /// Depth of the braces of a GRAPH block in it, while inside.
    pub template_graph: Option<usize>,
    pub found: Clauses,
}

pub(super) fn find_clauses(cursor: Cursor<'_>, asked: Option<Dialect>) -> Result<Clauses, ParseError> {
    let mut scan = Scan {
        cursor,
        asked,
        depth: 0,
        formed: false,
        template: None,
        template_graph: None,
        found: Clauses::default(),
    };
    while let Some(token) = scan.cursor.peek() {
        let before = scan.cursor.at;
        scan.visit(token)?;
        // A recognised clause has already moved the cursor past itself.
        scan.cursor.at += usize::from(scan.cursor.at == before);
    }
    Ok(scan.found)
}

/// Reads `<stream> […]` and nothing else: the window that serves as default graph.
pub(super) fn add_default_window(mut cursor: Cursor<'_>, found: &mut Clauses) -> Result<(), ParseError> {
    let (_, stream) = cursor.expect_name("the IRI of a stream")?;
    let spec = parse_window(&mut cursor, Dialect::RspQl)?;
    if cursor.peek().is_some() {
        return Err(cursor.unexpected("nothing after the window"));
    }
    let WindowSpec { kind, time_predicate, .. } = found.apply_settings(cursor.text, spec)?;
    let name = NamedNode::new_unchecked(DEFAULT_WINDOW);
    let position = Position::of(cursor.text, 0);
    found.windows.push(WindowClause { name, stream: StreamName::Iri(stream), kind, time_predicate, position });
    Ok(())
}

impl Clauses {
    /// C-SPARQL merges all windows and the static data into the default graph.
    pub fn default_graph(&self) -> DefaultGraph {
        let merged = if self.dialect == Some(Dialect::CSparql) { self.windows.len() } else { 0 };
        DefaultGraph { windows: (0..merged).collect(), with_static: true }
    }

    /// Applies what a window says about report, tick and content.
    fn apply_settings(&mut self, text: &str, spec: WindowSpec) -> Result<WindowSpec, ParseError> {
        if let Some(report) = spec.report {
            self.report = Some(self.report.unwrap_or_default().and(report));
        }
        match (self.tick, spec.tick) {
            (Some(first), Some(second)) if first != second => {
                let error = ParseError::new("window.tick_conflict", "two windows have different TICK values");
                return Err(error
                    .at(text, spec.tail_at)
                    .with_hint("write the same TICK in all windows, or in only one"));
            }
            (first, second) => self.tick = second.or(first),
        }
        match (self.semantics, spec.semantics) {
            (Some(first), Some(second)) if first != second => {
                let error = ParseError::new(
                    "window.semantics_conflict",
                    "one window has set semantics, another has bag semantics",
                );
                let hint = "write the same SEMANTICS in all windows, or in only one; it applies to the whole query";
                return Err(error.at(text, spec.tail_at).with_hint(hint));
            }
            (first, second) => self.semantics = second.or(first),
        }
        // A count window has no time of its own.
        match &spec.kind {
            WindowKind::Triples { .. } | WindowKind::Elements { .. } if spec.time_predicate.is_some() => {
                let error = ParseError::new("window.time_in_count", "a count window cannot read time from the data");
                Err(error.at(text, spec.tail_at).with_hint("remove '@ …', or use RANGE"))
            }
            _ => Ok(spec),
        }
    }
}

impl Scan<'_> {
    fn visit(&mut self, token: Token) -> Result<(), ParseError> {
        match token.kind {
            Kind::Open => self.depth += 1,
            Kind::Close => self.close(),
            Kind::Word if self.depth == 0 => return self.head(token),
            Kind::Word => return self.body(token),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.template_graph == Some(self.depth) {
            self.close_template_graph();
        }
        if self.template == Some(self.depth) {
            self.template = None;
        }
    }

    /// Handles words outside all brackets.
    fn head(&mut self, token: Token) -> Result<(), ParseError> {
        let text = self.cursor.text;
        if token.is_word(text, "REGISTER") {
            self.register()
        } else if token.is_any_word(text, &R2S_WORDS) {
            self.r2s(token);
            Ok(())
        } else if token.is_word(text, "FROM") {
            self.dataset()
        } else if token.is_word(text, "CONSTRUCT") {
            (self.template, self.formed) = (Some(0), true);
            if let Some(template) = short_construct::template(self.cursor)? {
                self.found.edits.splice(token.end, token.end, template);
            }
            Ok(())
        } else {
            if token.is_word(text, "WHERE") {
                self.template = None;
            }
            self.formed |= token.is_any_word(text, &FORMS);
            refuse_update(&self.cursor, token, self.formed)?;
            refuse(&self.cursor, token)
        }
    }

    /// `REGISTER (QUERY | STREAM | ISTREAM …) name [COMPUTED EVERY d] AS`
    fn register(&mut self) -> Result<(), ParseError> {
        let start = self.cursor.offset();
        self.cursor.at += 1;
        let words = ["QUERY", "STREAM", "RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"];
        let kind = self.cursor.take_word(&words);
        let kind = kind.ok_or_else(|| self.cursor.unexpected("QUERY, STREAM, RSTREAM, ISTREAM or DSTREAM"))?;
        if let Some(r2s) = r2s_of(kind) {
            self.found.r2s = Some(r2s);
        }
        self.found.name = Some(self.registered_name()?);
        if self.cursor.take_word(&["COMPUTED", "COMPUTE"]).is_some() {
            self.cursor.expect_word("EVERY")?;
            self.found.every = Some(positive_span(&mut self.cursor, "report.zero_period", "the period")?.0);
        }
        if self.cursor.is_word("UNDER") {
            let error = self.cursor.fail("unsupported.entailment", "entailment regimes are not supported");
            return Err(error.with_hint("remove UNDER ENTAILMENT REGIME; add inferred triples to the static data"));
        }
        self.cursor.expect_word("AS")?;
        self.blank_from(start);
        Ok(())
    }

    /// An IRI, a prefixed name or, in C-SPARQL, a bare word other than `AS`.
    fn registered_name(&mut self) -> Result<String, ParseError> {
        let token = self.cursor.peek().ok_or_else(|| self.cursor.unexpected("a name"))?;
        if is_name(token) {
            return self.cursor.expect_name("a name").map(|(_, iri)| iri.into_string());
        }
        if token.kind != Kind::Word || token.is_word(self.cursor.text, "AS") {
            return Err(self.cursor.unexpected("a name"));
        }
        self.cursor.at += 1;
        Ok(token.text(self.cursor.text).to_owned())
    }

    /// `SELECT ISTREAM ?x` or `ISTREAM SELECT ?x`.
    fn r2s(&mut self, token: Token) {
        let behind_form =
            self.cursor.at > 0 && self.cursor.tokens[self.cursor.at - 1].is_any_word(self.cursor.text, &FORMS);
        let before_form = self.cursor.peek_at(1).is_some_and(|t| t.is_any_word(self.cursor.text, &FORMS));
        if behind_form || before_form {
            self.found.r2s = r2s_of(token.text(self.cursor.text));
            self.found.edits.blank(self.cursor.text, token.start, token.end);
        }
    }

    fn dataset(&mut self) -> Result<(), ParseError> {
        let named = self.cursor.is_word_at(1, "NAMED");
        let ahead = 1 + usize::from(named);
        if named && self.cursor.is_word_at(ahead, "WINDOW") {
            self.dataset_window(ahead)
        } else if self.cursor.is_word_at(ahead, "STREAM") {
            self.dataset_stream(ahead)
        } else if self.cursor.is_word_at(ahead, "GRAPH") {
            // Documents of the RSP group write this word, but SPARQL does not allow it here.
            let word = self.cursor.tokens[self.cursor.at + ahead];
            self.found.edits.blank(self.cursor.text, word.start, word.end);
            self.graph_name(ahead + 1).map(|_| ())
        } else if self.cursor.peek_at(ahead).is_some_and(is_name) {
            self.graph_name(ahead).map(|_| ())
        } else {
            self.cursor.at += ahead;
            let window = self.cursor.peek_at(1).is_some_and(|t| t.is(self.cursor.text, "["));
            let error =
                self.cursor.unexpected(if named { "WINDOW, STREAM or an IRI" } else { "NAMED, STREAM or an IRI" });
            Err(if window { error.with_hint("a stream is named by an IRI: FROM STREAM <…> […]") } else { error })
        }
    }

    /// The graph name that many tokens ahead, spelled so that the SPARQL parser can resolve it.
    pub(super) fn graph_name(&mut self, ahead: usize) -> Result<Option<(Token, NamedNode)>, ParseError> {
        let Some(token) = self.cursor.peek_at(ahead).filter(|t| is_name(*t)) else {
            return Ok(None);
        };
        let name = self.cursor.names.resolve(token)?;
        let spelling = self.cursor.names.spelling(token, &name);
        if spelling != token.text(self.cursor.text) {
            self.found.edits.replace(self.cursor.text, token.start, token.end, &spelling);
        }
        Ok(Some((token, name)))
    }

    /// `FROM NAMED WINDOW w ON [STREAM] s […]`, or `FROM NAMED WINDOW ON [STREAM] s […] AS w`.
    fn dataset_window(&mut self, ahead: usize) -> Result<(), ParseError> {
        self.enter(Dialect::RspQl)?;
        let start = self.cursor.offset();
        let position = self.cursor.position();
        self.cursor.at += ahead + 1;
        let mut name =
            if self.cursor.is_word("ON") { None } else { Some(self.cursor.expect_name("the IRI of the window")?) };
        self.cursor.expect_word("ON")?;
        let _ = self.cursor.take_word(&["STREAM"]);
        let stream = self.cursor.expect_name("the IRI of the stream")?.1;
        let spec = self.window_spec(Dialect::RspQl)?;
        if name.is_none() {
            self.cursor.expect_word("AS")?;
            name = Some(self.cursor.expect_name("the IRI of the window")?);
        }
        self.blank_from(start);
        match name {
            Some((token, name)) => self.declare(name, token, StreamName::Iri(stream), spec, position),
            None => Ok(()),
        }
    }

    fn declare(
        &mut self,
        name: NamedNode,
        token: Token,
        stream: StreamName,
        spec: WindowSpec,
        position: Position,
    ) -> Result<(), ParseError> {
        if self.found.windows.iter().any(|window| window.name == name) {
            let message = format!("the window {} is declared twice", token.text(self.cursor.text));
            let error = ParseError::new("window.duplicate", message).at(self.cursor.text, token.start);
            return Err(error.with_hint("give each window a name of its own"));
        }
        let WindowSpec { kind, time_predicate, .. } = spec;
        self.found.windows.push(WindowClause { name, stream, kind, time_predicate, position });
        Ok(())
    }

    /// `FROM [NAMED] STREAM s […]`
    fn dataset_stream(&mut self, ahead: usize) -> Result<(), ParseError> {
        self.enter(Dialect::CSparql)?;
        let start = self.cursor.offset();
        let position = self.cursor.position();
        self.cursor.at += ahead + 1;
        let (token, stream) = self.cursor.expect_name("the IRI of the stream")?;
        let spec = self.window_spec(Dialect::CSparql)?;
        self.blank_from(start);
        let name = self.generated_name();
        self.declare(name, token, StreamName::Iri(stream), spec, position)
    }

    pub(super) fn generated_name(&self) -> NamedNode {
        NamedNode::new_unchecked(format!("urn:whorl:window:{}", self.found.windows.len() + 1))
    }

    pub(super) fn window_spec(&mut self, clause: Dialect) -> Result<WindowSpec, ParseError> {
        let spec = parse_window(&mut self.cursor, self.asked.unwrap_or(clause))?;
        self.found.apply_settings(self.cursor.text, spec)
    }

    /// Refuses clauses of two dialects in one query, because they have no common semantics.
    pub(super) fn enter(&mut self, dialect: Dialect) -> Result<(), ParseError> {
        match self.found.dialect {
            Some(other) if other != dialect => {
                let message = format!("a {dialect} clause in a query that started in {other}");
                Err(self.cursor.fail("dialect.mixed", message).with_hint("use the clauses of one dialect throughout"))
            }
            _ => {
                self.found.dialect = Some(dialect);
                Ok(())
            }
        }
    }

    fn blank_from(&mut self, start: usize) {
        self.found.edits.blank(self.cursor.text, start, self.cursor.end_of_previous());
    }
}

fn r2s_of(word: &str) -> Option<R2s> {
    match word.to_ascii_uppercase().as_str() {
        "RSTREAM" => Some(R2s::Rstream),
        "ISTREAM" => Some(R2s::Istream),
        "DSTREAM" => Some(R2s::Dstream),
        "CHANGES" => Some(R2s::Changes),
        _ => None,
    }
}

const UPDATES: [&str; 10] = ["INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"];

/// Refuses an update where a query form is expected.
fn refuse_update(cursor: &Cursor<'_>, token: Token, formed: bool) -> Result<(), ParseError> {
    if formed || !token.is_any_word(cursor.text, &UPDATES) {
        return Ok(());
    }
    let message = format!("{} is an update, not a query", token.text(cursor.text).to_uppercase());
    let hint = "change static data with update(…), push events to a stream; CONSTRUCT makes triples from a query";
    Err(cursor.fail("unsupported.update", message).with_hint(hint))
}

/// Refuses SERVICE: the engine opens no sockets.
pub(super) fn refuse(cursor: &Cursor<'_>, token: Token) -> Result<(), ParseError> {
    if !token.is_word(cursor.text, "SERVICE") {
        return Ok(());
    }
    let error = cursor.fail("unsupported.service", "SERVICE is not supported: queries do not contact other servers");
    Err(error.with_hint("load the data as a static graph"))
}
