//! N-Triples and N-Quads → tokens, without a parser for the lines that most bodies are made of.
//!
//! A usual line consists of IRIs, simple labels, and literals without escapes or languages, separated by blanks, and a
//! full stop. It is split in place; the scan for the end of an IRI also validates it by tables. Any other line goes to the
//! format's parser; if that refuses the line by itself, it reads the whole body. So neither the accepted language, nor
//! its meaning, nor the error messages depend on this file.

use super::document::{Token, Tokens};
use crate::encode::TermKind;
use crate::parse::{RdfFormat, parse_rdf};
use oxiri::Iri;
use std::ops::Range;

/// A line that cannot be read by itself.
#[derive(Debug)]
pub(super) struct Unreadable;

/// Reads a body; `is_known` tells whether an IRI has been checked before.
pub(super) fn read(
    body: &str,
    format: RdfFormat,
    tokens: &mut Tokens,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<(), Unreadable> {
    let reader = Reader { body, bytes: body.as_bytes(), with_graph: format == RdfFormat::NQuads, is_known };
    let mut at = 0;
    while at < body.len() {
        at = match reader.line(at) {
            Some(Line { quad: Some((triple, graph)), next }) => {
                tokens.push(triple, graph, body);
                next
            }
            Some(Line { quad: None, next }) => next,
            None => {
                let next = end_of_line(reader.bytes, at);
                for quad in parse_rdf(&reader.bytes[at..next], format, None).map_err(|_| Unreadable)? {
                    tokens.push_quad(&quad, body);
                }
                next
            }
        };
    }
    Ok(())
}

/// Finds the terms of a body in place.
pub(super) struct Reader<'a> {
    pub body: &'a str,
    pub bytes: &'a [u8],
    pub with_graph: bool,
    pub is_known: &'a dyn Fn(&str) -> bool,
}

/// Reads a usual line; returns the start of the next.
struct Line {
    quad: Option<([Token; 3], Option<Token>)>,
    next: usize,
}

/// Each method returns a token and where it ends, or `None` if the text is not in the usual form.
impl Reader<'_> {
    #[inline]
    fn line(&self, start: usize) -> Option<Line> {
        let at = self.skip_blanks(start);
        match self.bytes.get(at) {
            Some(b'<' | b'_') => {}
            Some(b'#') => return self.comment(at),
            _ => return self.line_end(at).map(|next| Line { quad: None, next }),
        }
        let (subject, at) = self.node(at)?;
        let (predicate, at) = self.iri(self.skip_blanks(at))?;
        let (object, at) = self.object(self.skip_blanks(at))?;
        let mut at = self.skip_blanks(at);
        let mut graph = None;
        if self.with_graph && *self.bytes.get(at)? != b'.' {
            let (name, end) = self.node(at)?;
            (graph, at) = (Some(name), self.skip_blanks(end));
        }
        if *self.bytes.get(at)? != b'.' {
            return None;
        }
        let next = self.line_end(self.skip_blanks(at + 1))?;
        Some(Line { quad: Some(([subject, predicate, object], graph)), next })
    }

    #[inline]
    fn skip_blanks(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t') = self.bytes.get(at) {
            at += 1;
        }
        at
    }

    #[inline]
    fn line_end(&self, at: usize) -> Option<usize> {
        match self.bytes.get(at) {
            Some(b'\n') => Some(at + 1),
            Some(b'\r') if self.bytes.get(at + 1) == Some(&b'\n') => Some(at + 2),
            None => Some(at),
            Some(_) => None,
        }
    }

    /// A carriage return by itself ends a comment, and the line goes on.
    fn comment(&self, at: usize) -> Option<Line> {
        let next = end_of_line(self.bytes, at);
        let is_plain = !self.bytes[at..next].contains(&b'\r');
        is_plain.then_some(Line { quad: None, next })
    }

    #[inline]
    fn node(&self, at: usize) -> Option<(Token, usize)> {
        match self.bytes.get(at)? {
            b'<' => self.iri(at),
            b'_' => self.blank(at),
            _ => None,
        }
    }

    #[inline]
    fn object(&self, at: usize) -> Option<(Token, usize)> {
        if self.bytes.get(at) == Some(&b'"') { self.literal(at) } else { self.node(at) }
    }

    #[inline]
    fn iri(&self, at: usize) -> Option<(Token, usize)> {
        if *self.bytes.get(at)? != b'<' {
            return None;
        }
        let text = self.iri_text(at + 1)?;
        Some((Token::in_body(TermKind::IRI, text.clone()), text.end + 1))
    }

    /// The IRI that begins here, checked.
    #[inline]
    pub(super) fn iri_text(&self, start: usize) -> Option<Range<usize>> {
        let (mut at, mut is_plain, mut has_fragment) = (start, true, false);
        loop {
            at = self.plain_until(at);
            match self.bytes.get(at)? {
                b'>' => break,
                b'#' if !has_fragment => has_fragment = true,
                b'%' | 0x80.. => is_plain = false,
                _ => return None,
            }
            at += 1;
        }
        let text = start..at;
        let is_valid = is_plain && begins_plainly(&self.bytes[text.clone()]) || self.is_iri(&self.body[text.clone()]);
        is_valid.then_some(text)
    }

    /// The end of the plain characters of an IRI that begin here.
    #[inline]
    fn plain_until(&self, mut at: usize) -> usize {
        while let Some(block) = self.bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            if !is_plain_block(block) {
                break;
            }
            at += BLOCK;
        }
        while self.bytes.get(at).is_some_and(|byte| CLASSES[*byte as usize] & IRI != 0) {
            at += 1;
        }
        at
    }

    #[cold]
    fn is_iri(&self, text: &str) -> bool {
        (self.is_known)(text) || Iri::parse(text).is_ok()
    }

    #[inline]
    fn blank(&self, at: usize) -> Option<(Token, usize)> {
        if *self.bytes.get(at + 1)? != b':' || !self.bytes.get(at + 2)?.is_ascii_alphanumeric() {
            return None;
        }
        let mut end = at + 3;
        while self.bytes.get(end).is_some_and(|byte| CLASSES[*byte as usize] & LABEL != 0) {
            end += 1;
        }
        let is_ended = matches!(self.bytes.get(end)?, b' ' | b'\t');
        is_ended.then(|| (Token::in_body(TermKind::BLANK, at + 2..end), end))
    }

    #[inline]
    fn literal(&self, at: usize) -> Option<(Token, usize)> {
        let start = at + 1;
        let mut end = start;
        while CLASSES[*self.bytes.get(end)? as usize] & STRING != 0 {
            end += 1;
        }
        if self.bytes[end] != b'"' {
            return None;
        }
        match self.bytes.get(end + 1)? {
            b'^' => self.typed_literal(start..end),
            b'@' => None,
            _ => Some((Token::in_body(TermKind::STRING, start..end), end + 1)),
        }
    }

    pub(super) fn typed_literal(&self, value: Range<usize>) -> Option<(Token, usize)> {
        const RDF: &[u8] = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#";
        let rest = self.bytes.get(value.end + 1..)?;
        if let Some((kind, len)) = common_type(rest) {
            return Some((Token::in_body(kind, value.clone()), value.end + 1 + len));
        }
        if !rest.starts_with(b"^^<") {
            return None;
        }
        let datatype = self.iri_text(value.end + 4)?;
        let end = datatype.end + 1;
        // Some of these types restrict their lexical forms.
        if self.bytes[datatype.clone()].starts_with(RDF) {
            return None;
        }
        Some((Token::in_body(TermKind::TYPED, value.start..datatype.end), end))
    }
}

/// The kind of literals that a type denotes, and the length of its spelling, if it is one of the common types.
#[inline]
fn common_type(text: &[u8]) -> Option<(TermKind, usize)> {
    const MARK: &[u8] = b"^^<http://www.w3.org/2001/XMLSchema#";
    const NAME_MAX: usize = 24;
    let name = text.strip_prefix(MARK)?;
    let len = name.iter().take(NAME_MAX).position(|byte| *byte == b'>')?;
    Some((TermKind::of_xsd_name(&name[..len])?, MARK.len() + len + 1))
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |found| at + found + 1)
}

/// Whether an IRI of plain characters has a scheme and, if any, a plain host: then it is certainly valid.
#[inline]
pub(super) fn begins_plainly(iri: &[u8]) -> bool {
    if let Some(rest) = iri.strip_prefix(b"http://") {
        return begins_with_plain_host(rest);
    }
    let Some(colon) = iri.iter().position(|byte| CLASSES[*byte as usize] & SCHEME == 0) else { return false };
    if iri[colon] != b':' || !iri[0].is_ascii_alphabetic() {
        return false;
    }
    iri[colon + 1..].strip_prefix(b"//").is_none_or(begins_with_plain_host)
}

#[inline]
fn begins_with_plain_host(rest: &[u8]) -> bool {
    let end = rest.iter().position(|byte| CLASSES[*byte as usize] & HOST == 0);
    end.is_none_or(|end| matches!(rest[end], b'/' | b'?' | b'#'))
}

/// Plain characters are looked for in blocks of this many bytes.
const BLOCK: usize = 16;

/// Whether all of these bytes may certainly occur in an IRI. Written as comparisons and without an early end, so that the
/// compiler can treat the bytes of a block at once. Rarer characters are left to the table.
#[inline]
fn is_plain_block(block: &[u8; BLOCK]) -> bool {
    let mut others = 0;
    for byte in block {
        // `&` to `;`, `?` to `Z`, `a` to `z`, and two that are common in queries and names.
        let is_plain = (byte.wrapping_sub(b'&') <= b';' - b'&')
            | (byte.wrapping_sub(b'?') <= b'Z' - b'?')
            | (byte.wrapping_sub(b'a') <= b'z' - b'a')
            | (*byte == b'_')
            | (*byte == b'=');
        others |= u8::from(!is_plain);
    }
    others == 0
}

/// May occur anywhere in an IRI after its scheme and host.
pub(super) const IRI: u8 = 1;
const SCHEME: u8 = 2;
const HOST: u8 = 4;
/// May occur in a label after its first character, and does not end one.
pub(super) const LABEL: u8 = 8;
/// May occur in a literal without an escape.
pub(super) const STRING: u8 = 16;

pub(super) static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        let is_alphanumeric = c.is_ascii_alphanumeric();
        if is_alphanumeric || is_among(c, b"!$&'()*+,-.;=_~:@/?") {
            classes[byte] |= IRI;
        }
        if is_alphanumeric || is_among(c, b"+-.") {
            classes[byte] |= SCHEME;
        }
        if is_alphanumeric || is_among(c, b"-._") {
            classes[byte] |= HOST;
        }
        if is_alphanumeric || is_among(c, b"-_") {
            classes[byte] |= LABEL;
        }
        if !is_among(c, b"\"\\\n\r") {
            classes[byte] |= STRING;
        }
        byte += 1;
    }
    classes
};

const fn is_among(byte: u8, those: &[u8]) -> bool {
    let mut at = 0;
    while at < those.len() {
        if those[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}
