//! Turtle and TriG → tokens, without a parser for the documents that most producers write.
//!
//! A usual document has prefixes with plain namespaces, IRIs, prefixed names of plain characters, simple labels, strings
//! without escapes and languages, numbers without exponents, `a`, `;`, `,` and, in TriG, graphs in braces. Anything else
//! (`[]`, lists, long strings, a base, …) makes the reader give up, and the parser of the format reads the whole body.
//! So neither the accepted language, nor its meaning, nor the error messages depend on this file. Where it is not obvious
//! that the parser sees the same token, for example in `p:a.b` or `5.`, the reader gives up as well.

use super::document::{Token, Tokens};
use super::line_reader::{CLASSES, IRI, LABEL, Reader, STRING, Unreadable, begins_plainly};
use crate::encode::TermKind;
use crate::parse::{RdfFormat, room_for};
use std::ops::Range;

const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";
const DECIMAL: &str = "http://www.w3.org/2001/XMLSchema#decimal";
const BOOLEAN: &str = "http://www.w3.org/2001/XMLSchema#boolean";
/// No datatype with a kind of its own is longer.
const DATATYPE_MAX: usize = 64;
/// The number of predicates and datatypes that are cached.
const RECENT: usize = 8;

/// Reads a body; `is_known` tells whether an IRI has been checked before.
pub(super) fn read(
    body: &str,
    format: RdfFormat,
    tokens: &mut Tokens,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<(), Unreadable> {
    let reader = Reader { body, bytes: body.as_bytes(), with_graph: false, is_known };
    let document = Document {
        reader,
        tokens,
        is_trig: format == RdfFormat::TriG,
        at: 0,
        prefixes: Vec::new(),
        recent: Vec::new(),
        type_: None,
        left: room_for(body.as_bytes()),
    };
    document.read().ok_or(Unreadable)
}

struct Document<'a> {
    reader: Reader<'a>,
    tokens: &'a mut Tokens,
    is_trig: bool,
    at: usize,
    /// Prefixes and namespaces; the last declaration of a prefix counts.
    prefixes: Vec<(Range<usize>, Range<usize>)>,
    /// Cached prefixed names and their tokens, replaced in turn.
    recent: Vec<(Range<usize>, Token)>,
    /// The token of `a`.
    type_: Option<Token>,
    /// Bytes of terms left to the document.
    left: usize,
}

/// Each method reads from `at` on, and returns `None` if the text is not in the usual form.
impl Document<'_> {
    fn read(mut self) -> Option<()> {
        loop {
            self.skip_space()?;
            match self.peek() {
                None => return Some(()),
                Some(b'@') => {
                    self.keyword(b"@prefix")?;
                    self.prefix()?;
                    self.skip_space()?;
                    self.expect(b'.')?;
                }
                Some(b'P') if self.keyword(b"PREFIX").is_some() => self.prefix()?,
                Some(b'G') if self.is_trig && self.keyword(b"GRAPH").is_some() => {
                    self.skip_space()?;
                    let graph = self.node()?;
                    self.skip_space()?;
                    self.graph(graph)?;
                }
                Some(_) => self.statement()?,
            }
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.reader.bytes.get(self.at).copied()
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// A word, and the space behind it.
    fn keyword(&mut self, word: &[u8]) -> Option<()> {
        let rest = self.reader.bytes[self.at..].strip_prefix(word)?;
        rest.first().is_some_and(u8::is_ascii_whitespace).then(|| self.at += word.len())
    }

    /// Skips blanks and comments. A carriage return by itself ends a comment, which is left to the parser.
    #[inline]
    fn skip_space(&mut self) -> Option<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'#') => {
                    let rest = &self.reader.bytes[self.at..];
                    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                    if rest[..end].contains(&b'\r') {
                        return None;
                    }
                    self.at += end;
                }
                _ => return Some(()),
            }
        }
    }

    fn prefix(&mut self) -> Option<()> {
        self.skip_space()?;
        let name = self.prefix_name()?;
        self.skip_space()?;
        self.expect(b'<')?;
        let namespace = self.reader.iri_text(self.at)?;
        let text = &self.reader.bytes[namespace.clone()];
        // Then every plain name in it is a valid IRI.
        let is_plain = text.iter().all(|byte| CLASSES[*byte as usize] & IRI != 0 || *byte == b'#');
        if !is_plain || !begins_plainly(text) {
            return None;
        }
        self.at = namespace.end + 1;
        self.prefixes.push((name, namespace));
        self.recent.clear();
        Some(())
    }

    /// A prefix and its colon.
    #[inline]
    fn prefix_name(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        while self.peek().is_some_and(|byte| CLASSES[byte as usize] & LABEL != 0) {
            self.at += 1;
        }
        let name = start..self.at;
        self.expect(b':')?;
        let begins_well = name.is_empty() || self.reader.bytes[start].is_ascii_alphabetic();
        begins_well.then_some(name)
    }

    fn statement(&mut self) -> Option<()> {
        let subject = self.node()?;
        self.skip_space()?;
        if self.is_trig && self.peek() == Some(b'{') {
            return self.graph(subject);
        }
        self.triples(subject, None)?;
        self.expect(b'.')
    }

    /// The triples of a graph in braces; the last full stop may be missing.
    fn graph(&mut self, graph: Token) -> Option<()> {
        self.expect(b'{')?;
        loop {
            self.skip_space()?;
            if self.peek()? == b'}' {
                break;
            }
            let subject = self.node()?;
            self.skip_space()?;
            self.triples(subject, Some(graph))?;
            match self.peek()? {
                b'.' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
        }
        self.expect(b'}')
    }

    /// The predicates and objects of a subject, up to the terminating character.
    fn triples(&mut self, subject: Token, graph: Option<Token>) -> Option<()> {
        loop {
            let predicate = self.verb()?;
            loop {
                self.skip_space()?;
                let object = self.object()?;
                self.push([subject, predicate, object], graph)?;
                self.skip_space()?;
                if self.peek()? != b',' {
                    break;
                }
                self.at += 1;
            }
            if self.peek()? != b';' {
                return Some(());
            }
            while self.peek()? == b';' {
                self.at += 1;
                self.skip_space()?;
            }
            if matches!(self.peek()?, b'.' | b'}') {
                return Some(());
            }
        }
    }

    /// The parser bounds the terms that a document expands to; documents that may exceed the bound are left to it.
    #[inline]
    fn push(&mut self, triple: [Token; 3], graph: Option<Token>) -> Option<()> {
        let taken: usize = triple.iter().chain(&graph).map(|token| token.len()).sum();
        self.left = self.left.checked_sub(taken + DATATYPE_MAX)?;
        self.tokens.push(triple, graph, self.reader.body);
        Some(())
    }

    fn verb(&mut self) -> Option<Token> {
        match self.peek()? {
            b'a' if self.keyword(b"a").is_some() => {
                Some(*self.type_.get_or_insert_with(|| self.tokens.add(TermKind::IRI, &[TYPE])))
            }
            b'<' => self.iri(),
            _ => self.recent_name(),
        }
    }

    #[inline]
    fn iri(&mut self) -> Option<Token> {
        let text = self.reader.iri_text(self.at + 1)?;
        self.at = text.end + 1;
        Some(Token::in_body(TermKind::IRI, text))
    }

    #[inline]
    fn node(&mut self) -> Option<Token> {
        match self.peek()? {
            b'<' => self.iri(),
            b'_' => self.blank(),
            _ => {
                let (prefix, local) = self.name()?;
                self.expanded(&prefix, local)
            }
        }
    }

    fn blank(&mut self) -> Option<Token> {
        let start = self.at + 2;
        if self.reader.bytes.get(self.at + 1) != Some(&b':') || !self.reader.bytes.get(start)?.is_ascii_alphanumeric() {
            return None;
        }
        self.at = start + 1;
        while self.peek().is_some_and(|byte| CLASSES[byte as usize] & LABEL != 0) {
            self.at += 1;
        }
        self.ends_plainly().then(|| Token::in_body(TermKind::BLANK, start..self.at))
    }

    /// Whether the term certainly ends here.
    #[inline]
    fn ends_plainly(&self) -> bool {
        matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b';'))
    }

    /// A prefixed name: its prefix, and the rest.
    #[inline]
    fn name(&mut self) -> Option<(Range<usize>, Range<usize>)> {
        let prefix = self.prefix_name()?;
        let start = self.at;
        let first = self.peek()?;
        if !first.is_ascii_alphanumeric() && first != b'_' {
            return None;
        }
        while self.peek().is_some_and(|byte| CLASSES[byte as usize] & LABEL != 0 || byte == b'.') {
            self.at += 1;
        }
        if self.reader.bytes[self.at - 1] == b'.' {
            // A full stop behind a name ends the statement, if space follows it.
            let is_ended = self.peek().is_none_or(|byte| byte.is_ascii_whitespace());
            self.at -= 1;
            return (is_ended && self.reader.bytes[self.at - 1] != b'.').then_some((prefix, start..self.at));
        }
        self.ends_plainly().then_some((prefix, start..self.at))
    }

    fn expanded(&mut self, prefix: &Range<usize>, local: Range<usize>) -> Option<Token> {
        let body = self.reader.body;
        let is_same = |(name, _): &&(Range<usize>, Range<usize>)| body[name.clone()] == body[prefix.clone()];
        let (_, namespace) = self.prefixes.iter().rev().find(is_same)?;
        Some(self.tokens.add(TermKind::IRI, &[&body[namespace.clone()], &body[local]]))
    }

    /// A prefixed name that is likely to recur: a predicate or a datatype.
    fn recent_name(&mut self) -> Option<Token> {
        let body = self.reader.body;
        let (prefix, local) = self.name()?;
        let whole = prefix.start..local.end;
        if let Some((_, token)) = self.recent.iter().find(|(name, _)| body[name.clone()] == body[whole.clone()]) {
            return Some(*token);
        }
        let token = self.expanded(&prefix, local)?;
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push((whole, token));
        Some(token)
    }

    #[inline]
    fn object(&mut self) -> Option<Token> {
        match self.peek()? {
            b'"' => self.literal(),
            b'0'..=b'9' | b'+' | b'-' => self.number(),
            b't' if self.word(b"true").is_some() => self.boolean(4),
            b'f' if self.word(b"false").is_some() => self.boolean(5),
            _ => self.node(),
        }
    }

    fn word(&self, word: &[u8]) -> Option<()> {
        let rest = self.reader.bytes[self.at..].strip_prefix(word)?;
        matches!(rest.first(), Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b';')).then_some(())
    }

    fn boolean(&mut self, len: usize) -> Option<Token> {
        self.at += len;
        Some(Token::in_body(TermKind::of_datatype(BOOLEAN)?, self.at - len..self.at))
    }

    fn number(&mut self) -> Option<Token> {
        let start = self.at;
        if matches!(self.peek()?, b'+' | b'-') {
            self.at += 1;
        }
        self.digits()?;
        let datatype = if self.peek()? == b'.' {
            self.at += 1;
            self.digits()?;
            DECIMAL
        } else {
            INTEGER
        };
        self.ends_plainly().then_some(Token::in_body(TermKind::of_datatype(datatype)?, start..self.at))
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn literal(&mut self) -> Option<Token> {
        let start = self.at + 1;
        let mut end = start;
        while CLASSES[*self.reader.bytes.get(end)? as usize] & STRING != 0 {
            end += 1;
        }
        if self.reader.bytes[end] != b'"' {
            return None;
        }
        let value = start..end;
        match self.reader.bytes.get(end + 1)? {
            // Two quotes and a third one begin a long string.
            b'"' | b'@' => None,
            b'^' if self.reader.bytes.get(end + 3) == Some(&b'<') => {
                let (token, end) = self.reader.typed_literal(value)?;
                self.at = end;
                Some(token)
            }
            b'^' => {
                self.at = end + 1;
                self.expect(b'^')?;
                self.expect(b'^')?;
                let datatype = self.recent_name()?;
                let kind = TermKind::of_datatype(self.tokens.text_beside(datatype)?)?;
                Some(Token::in_body(kind, value))
            }
            _ => {
                self.at = end + 1;
                Some(Token::in_body(TermKind::STRING, value))
            }
        }
    }
}
