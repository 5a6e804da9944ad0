//! `CONSTRUCT WHERE { … }` with triples in WINDOW, STREAM or GRAPH blocks.
//!
//! SPARQL's short form accepts only triples. Input: the scan at CONSTRUCT. Output: the template that remains of the
//! blocks without their heads and braces. Inserted before WHERE, it turns the query into the long form.

use super::cursor::Cursor;
use super::error::ParseError;
use super::token::{Kind, Token};

/// SPARQL refuses GRAPH in the short form (W3C `constructwhere06`); in a query with a window it is allowed like WINDOW.
const STREAMING: [&str; 2] = ["WINDOW", "STREAM"];
const BLOCKS: [&str; 3] = ["WINDOW", "STREAM", "GRAPH"];
const R2S_WORDS: [&str; 4] = ["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"];
/// Words that may occur among triples.
const IN_TRIPLES: [&str; 3] = ["a", "true", "false"];

/// The template of a short form with blocks; `None` if SPARQL can read the form as it is.
pub(super) fn template(cursor: Cursor<'_>) -> Result<Option<String>, ParseError> {
    let Some(body) = body(&cursor) else { return Ok(None) };
    if !body.iter().any(|token| token.is_any_word(cursor.text, &STREAMING)) {
        return Ok(None);
    }
    let mut template = Template { text: cursor.text, written: String::new(), is_open: false, end: 0 };
    let mut at = 0;
    while let Some(token) = body.get(at) {
        if token.is_any_word(cursor.text, &BLOCKS) {
            template.end_triple();
            let head = body[at..].iter().position(|token| token.is(cursor.text, "{"));
            at += head.unwrap_or(0) + 1;
            continue;
        }
        template.token(*token)?;
        at += 1;
    }
    Ok(Some(format!(" {{{} }} ", template.written)))
}

/// The tokens inside the braces of `CONSTRUCT … WHERE`.
fn body<'a>(cursor: &Cursor<'a>) -> Option<&'a [Token]> {
    let (text, mut rest) = (cursor.text, &cursor.tokens[cursor.at + 1..]);
    if rest.first().is_some_and(|token| token.is_any_word(text, &R2S_WORDS)) {
        rest = &rest[1..];
    }
    if rest.first().is_some_and(|token| token.is(text, "{")) {
        return None;
    }
    let start = rest.iter().position(|token| token.is_word(text, "WHERE"))? + 1;
    let inside = rest.get(start..).filter(|rest| rest.first().is_some_and(|token| token.is(text, "{")))?;
    let mut depth = 0_usize;
    let end = inside.iter().position(|token| {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(&inside[1..end])
}

struct Template<'a> {
    text: &'a str,
    written: String,
    /// Whether a triple has started and no dot has ended it.
    is_open: bool,
    /// Where the last token ended.
    end: usize,
}

impl Template<'_> {
    fn token(&mut self, token: Token) -> Result<(), ParseError> {
        let text = token.text(self.text);
        match text {
            "{" => return Err(self.refusal(token)),
            "}" => self.end_triple(),
            _ if token.kind == Kind::Word && !IN_TRIPLES.contains(&text.to_lowercase().as_str()) => {
                return Err(self.refusal(token));
            }
            _ => {
                // Tokens without white space between them, such as a string and its datatype, stay together.
                self.written.push_str(if self.end == token.start { "" } else { " " });
                self.written.push_str(text);
                (self.is_open, self.end) = (text != ".", token.end);
            }
        }
        Ok(())
    }

    fn end_triple(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.written.push_str(" .");
        }
    }

    fn refusal(&self, token: Token) -> ParseError {
        let message = format!("unexpected '{}' in CONSTRUCT WHERE, which accepts only triples", token.text(self.text));
        let error = ParseError::new("parse.unexpected_token", message).at(self.text, token.start);
        error.with_hint("write the template: CONSTRUCT { … } WHERE { … }")
    }
}
