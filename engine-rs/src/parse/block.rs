//! The blocks of the body that read windows: `WINDOW :w {…}`, `STREAM <s> [w] {…}` and `GRAPH :w {…}`.
//!
//! Input: the scan at the first word of a block. Output: the window that the block reads (CQELS-QL declares it in
//! place), and the edit that turns the block into a `GRAPH` block. The SPARQL parser handles everything inside the
//! braces.

use oxrdf::{NamedNode, Variable};

use super::advice::open_brackets;
use super::clause::{Scan, refuse};
use super::cursor::is_name;
use super::error::{ParseError, Position, suggestion};
use super::query::{Dialect, StreamName, WindowClause};
use super::token::{Kind, Token};
use super::window::WindowSpec;

impl Scan<'_> {
    /// Handles words inside brackets.
    pub(super) fn body(&mut self, token: Token) -> Result<(), ParseError> {
        let text = self.cursor.text;
        let named = self.cursor.peek_at(1).is_some_and(|t| is_name(t) || t.kind == Kind::Variable);
        if token.is_word(text, "GRAPH") && self.template.is_some() {
            return self.template_graph();
        }
        if token.is_word(text, "FROM") {
            Err(self.dataset_inside(token))
        } else if token.is_word(text, "WINDOW") {
            self.window_block()
        } else if token.is_word(text, "GRAPH") && named {
            self.graph_block()
        } else if token.is_word(text, "STREAM") {
            self.stream_block()
        } else if named && self.opens_block() && is_near_block(token.text(text)) {
            Err(self.cursor.unexpected("WINDOW, STREAM or GRAPH"))
        } else {
            refuse(&self.cursor, token)
        }
    }

    /// The error for FROM inside brackets.
    fn dataset_inside(&self, token: Token) -> ParseError {
        let error =
            self.cursor.fail("parse.unexpected_token", format!("unexpected '{}'", token.text(self.cursor.text)));
        match open_brackets(self.cursor.tokens, self.cursor.at).pop().map(|at| self.cursor.tokens[at]) {
            Some(open) => {
                let (bracket, place) = (open.text(self.cursor.text), Position::of(self.cursor.text, open.start));
                error.with_hint(format!("FROM stands before WHERE, outside brackets: close the '{bracket}' of {place}"))
            }
            None => error,
        }
    }

    /// Whether the next tokens are this word, a name, an optional window, and a brace.
    fn opens_block(&self) -> bool {
        let text = self.cursor.text;
        self.cursor.peek_at(2).is_some_and(|t| t.is(text, "{") || t.is(text, "["))
    }

    /// `WINDOW :w {`
    fn window_block(&mut self) -> Result<(), ParseError> {
        self.enter(Dialect::RspQl)?;
        let (text, start) = (self.cursor.text, self.cursor.offset());
        self.cursor.at += 1;
        let position = self.cursor.position();
        self.found.edits.replace(text, start, start + "WINDOW".len(), "GRAPH");
        if let Some(token) = self.cursor.peek().filter(|t| t.kind == Kind::Variable) {
            self.window_variable(token)?;
        } else {
            let name = self.graph_name(0)?.ok_or_else(|| self.cursor.unexpected("a window or a variable"))?.1;
            self.found.reads.push((name, position));
        }
        self.cursor.at += 1;
        if self.cursor.is("{") { Ok(()) } else { Err(self.cursor.unexpected("'{'")) }
    }

    /// `WINDOW ?w {` reads every declared window.
    fn window_variable(&mut self, token: Token) -> Result<(), ParseError> {
        let text = self.cursor.text;
        let variable = variable_of(token, text);
        // The SELECT clause precedes the window declarations.
        let declared_later = self.cursor.tokens[self.cursor.at..].iter().any(|t| t.is_word(text, "FROM"));
        if self.found.windows.is_empty() && !declared_later {
            let message = format!("WINDOW {} reads every declared window, but none is declared", token.text(text));
            let error = ParseError::new("window.undeclared", message).at(text, token.start);
            return Err(error.with_hint("add FROM NAMED WINDOW <name> ON <stream> [RANGE …]"));
        }
        if self.found.graph_variables.contains(&variable) {
            return Err(both_window_and_graph(text, token));
        }
        if !self.found.window_variables.contains(&variable) {
            self.found.window_variables.push(variable);
        }
        Ok(())
    }

    /// `GRAPH :w {` reads the window of that name if one is declared.
    fn graph_block(&mut self) -> Result<(), ParseError> {
        if let Some(token) = self.cursor.peek_at(1).filter(|t| t.kind == Kind::Variable) {
            let variable = variable_of(token, self.cursor.text);
            if self.found.window_variables.contains(&variable) {
                return Err(both_window_and_graph(self.cursor.text, token));
            }
            self.found.graph_variables.push(variable);
        }
        if let Some((token, name)) = self.graph_name(1)?
            && self.found.windows.iter().any(|window| window.name == name)
        {
            self.found.reads.push((name, Position::of(self.cursor.text, token.start)));
        }
        Ok(())
    }

    /// `STREAM s […] {` or `STREAM […] s {`
    fn stream_block(&mut self) -> Result<(), ParseError> {
        self.enter(Dialect::CqelsQl)?;
        let (text, start, position) = (self.cursor.text, self.cursor.offset(), self.cursor.position());
        self.cursor.at += 1;
        let early = if self.cursor.is("[") { Some(self.window_spec(Dialect::CqelsQl)?) } else { None };
        let stream = self.stream_name()?;
        let spec = match early {
            Some(spec) => spec,
            None => self.window_spec(Dialect::CqelsQl)?,
        };
        if !self.cursor.is("{") {
            return Err(self.cursor.unexpected("'{'"));
        }
        let name = self.shared_window(stream, spec, position);
        self.found.edits.replace(text, start, self.cursor.end_of_previous(), &format!("GRAPH {name} "));
        Ok(())
    }

    fn stream_name(&mut self) -> Result<StreamName, ParseError> {
        if let Some(token) = self.cursor.peek().filter(|t| t.kind == Kind::Variable) {
            self.cursor.at += 1;
            return Ok(StreamName::Variable(variable_of(token, self.cursor.text)));
        }
        self.cursor.expect_name("the name of a stream").map(|(_, iri)| StreamName::Iri(iri))
    }

    /// Blocks with the same stream and window share one window, and thereby their leaves.
    fn shared_window(&mut self, stream: StreamName, spec: WindowSpec, position: Position) -> NamedNode {
        let WindowSpec { kind, time_predicate, .. } = spec;
        let same = |w: &&WindowClause| w.stream == stream && w.kind == kind && w.time_predicate == time_predicate;
        if let Some(window) = self.found.windows.iter().find(same) {
            return window.name.clone();
        }
        let name = self.generated_name();
        self.found.windows.push(WindowClause { name: name.clone(), stream, kind, time_predicate, position });
        name
    }
}

fn is_near_block(word: &str) -> bool {
    suggestion(&word.to_uppercase(), ["WINDOW", "STREAM", "GRAPH"]).is_some()
}

fn variable_of(token: Token, text: &str) -> Variable {
    Variable::new_unchecked(&token.text(text)[1..])
}

fn both_window_and_graph(text: &str, token: Token) -> ParseError {
    let message = format!("{} is the name of a window and of a static graph", token.text(text));
    let error = ParseError::new("window.variable_conflict", message).at(text, token.start);
    error.with_hint("WINDOW ranges over windows and GRAPH over static graphs: use two variables")
}
