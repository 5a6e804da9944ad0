//! Encodes values as the bytes of a snapshot: numbers, texts, terms, ids and rows, little-endian, without padding.
//!
//! Reading trusts nothing: every length is checked against the remaining bytes before anything is allocated, and every
//! id must be inlined or be in the dictionary of the snapshot. Cost: one copy per value.

use crate::model::{Row, TermId};
use crate::time::{Span, Timestamp};
use oxrdf::{BaseDirection, BlankNode, Literal, LiteralRef, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};

/// The bytes are malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Damaged {
    pub what: &'static str,
}

pub(crate) type Decoded<T> = Result<T, Damaged>;

/// An error unless the condition holds.
pub(crate) fn ensure(holds: bool, what: &'static str) -> Decoded<()> {
    if holds { Ok(()) } else { Err(Damaged { what }) }
}

/// The nesting limit of triple terms, the same as in the RDF parsers.
const NESTING_MAX: u32 = 512;

#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Reserves space at the front.
    pub(crate) fn starting_with(room: usize) -> Self {
        Self { bytes: vec![0; room] }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i128(&mut self, value: i128) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn count(&mut self, value: usize) {
        self.u64(value as u64);
    }

    pub(crate) fn at(&mut self, value: Timestamp) {
        self.i64(value.as_millis());
    }

    pub(crate) fn span(&mut self, value: Span) {
        self.i64(value.as_millis());
    }

    pub(crate) fn blob(&mut self, value: &[u8]) {
        self.count(value.len());
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.blob(value.as_bytes());
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.count(items.len());
        items.for_each(|item| write(self, item));
    }

    pub(crate) fn id(&mut self, id: TermId) {
        self.u64(id.to_bits());
    }

    /// A list of terms without its length.
    pub(crate) fn ids(&mut self, ids: impl Iterator<Item = TermId>) {
        ids.for_each(|id| self.id(id));
    }

    pub(crate) fn row(&mut self, row: &[TermId]) {
        self.list(row.iter(), |to, id| to.id(*id));
    }

    /// The entries of a table, sorted by row, because the order of the table is not part of the state.
    pub(crate) fn by_row<'a, V: 'a>(
        &mut self,
        entries: impl Iterator<Item = (&'a Row, V)>,
        mut write: impl FnMut(&mut Self, V),
    ) {
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        self.list(entries.into_iter(), |to, (row, value)| {
            to.row(row);
            write(to, value);
        });
    }

    pub(crate) fn term(&mut self, term: TermRef<'_>) {
        match term {
            TermRef::NamedNode(node) => self.tagged(0, node.as_str()),
            TermRef::BlankNode(node) => self.tagged(1, node.as_str()),
            TermRef::Literal(literal) => self.literal(literal),
            TermRef::Triple(triple) => {
                self.u8(6);
                self.term(triple.subject.as_ref().into());
                self.text(triple.predicate.as_str());
                self.term(triple.object.as_ref());
            }
        }
    }

    fn tagged(&mut self, tag: u8, text: &str) {
        self.u8(tag);
        self.text(text);
    }

    fn literal(&mut self, literal: LiteralRef<'_>) {
        let value = literal.value();
        match (literal.language(), literal.direction()) {
            (Some(language), Some(direction)) => {
                self.tagged(5, value);
                self.text(language);
                self.bool(direction == BaseDirection::Rtl);
            }
            (Some(language), None) => {
                self.tagged(4, value);
                self.text(language);
            }
            _ if literal.datatype() == oxrdf::vocab::xsd::STRING => self.tagged(2, value),
            _ => {
                self.tagged(3, value);
                self.text(literal.datatype().as_str());
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Which slots of the dictionary are in use.
    filled: Vec<bool>,
    /// Whether this engine wrote the bytes, so that every id in them is known to have a term.
    is_trusted: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, filled: Vec::new(), is_trusted: false }
    }

    /// Reads bytes that this engine has just written, with the same dictionary.
    pub(crate) fn trusting(bytes: &'a [u8]) -> Self {
        Self { is_trusted: true, ..Self::new(bytes) }
    }

    /// Sets the terms that ids may refer to from here on.
    pub(crate) fn know_slots(&mut self, filled: Vec<bool>) {
        self.filled = filled;
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn end(&self) -> Decoded<()> {
        ensure(self.bytes.is_empty(), "there is data after the end")
    }

    /// Skips these bytes if they come next.
    pub(crate) fn skip_if(&mut self, expected: &[u8]) -> bool {
        let rest = self.bytes.strip_prefix(expected);
        self.bytes = rest.unwrap_or(self.bytes);
        rest.is_some()
    }

    fn take(&mut self, n: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(n).ok_or(Damaged { what: "it ends too early" })?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(Damaged { what: "it ends too early" })?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Decoded<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn bool(&mut self) -> Decoded<bool> {
        let byte = self.u8()?;
        ensure(byte <= 1, "a boolean is neither true nor false")?;
        Ok(byte == 1)
    }

    pub(crate) fn u32(&mut self) -> Decoded<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Decoded<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Decoded<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn i128(&mut self) -> Decoded<i128> {
        self.array().map(i128::from_le_bytes)
    }

    /// A number that is not a length.
    pub(crate) fn number(&mut self) -> Decoded<usize> {
        usize::try_from(self.u64()?).map_err(|_| Damaged { what: "a number is too large" })
    }

    /// A number of items, each of which takes at least this many bytes.
    pub(crate) fn count(&mut self, item_bytes: usize) -> Decoded<usize> {
        let n = self.number()?;
        ensure(n <= self.bytes.len() / item_bytes.max(1), "a list is longer than the data")?;
        Ok(n)
    }

    pub(crate) fn at(&mut self) -> Decoded<Timestamp> {
        self.i64().map(Timestamp::from_millis)
    }

    pub(crate) fn span(&mut self) -> Decoded<Span> {
        self.i64().map(Span::from_millis)
    }

    pub(crate) fn blob(&mut self) -> Decoded<&'a [u8]> {
        let n = self.count(1)?;
        self.take(n)
    }

    pub(crate) fn text(&mut self) -> Decoded<String> {
        let text = std::str::from_utf8(self.blob()?).map_err(|_| Damaged { what: "a text is not UTF-8" })?;
        Ok(text.to_owned())
    }

    pub(crate) fn iri(&mut self) -> Decoded<NamedNode> {
        NamedNode::new(self.text()?).map_err(|_| Damaged { what: "an IRI is not absolute" })
    }

    pub(crate) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Decoded<T>) -> Decoded<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    pub(crate) fn list<T, C: FromIterator<T>>(
        &mut self,
        item_bytes: usize,
        mut read: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<C> {
        let n = self.count(item_bytes)?;
        (0..n).map(|_| read(self)).collect()
    }

    /// A list allocated at once, for long lists.
    pub(crate) fn long_list<T>(
        &mut self,
        item_bytes: usize,
        mut read: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        let n = self.count(item_bytes)?;
        let mut items = Vec::with_capacity(n);
        for _ in 0..n {
            items.push(read(self)?);
        }
        Ok(items)
    }

    pub(crate) fn id(&mut self) -> Decoded<TermId> {
        let id = TermId::from_bits(self.u64()?);
        let is_known =
            self.is_trusted || id.slot().is_none_or(|slot| self.filled.get(slot as usize).copied().unwrap_or(false));
        ensure(is_known, "an id has no term")?;
        Ok(id)
    }

    pub(crate) fn row(&mut self) -> Decoded<Row> {
        self.list(8, Self::id)
    }

    /// A row of an operator whose rows all have this width.
    pub(crate) fn row_of(&mut self, width: usize) -> Decoded<Row> {
        let row = self.row()?;
        ensure(row.len() == width, "a row has a different width than its operator")?;
        Ok(row)
    }

    pub(crate) fn term(&mut self) -> Decoded<Term> {
        self.term_within(NESTING_MAX)
    }

    fn term_within(&mut self, depth: u32) -> Decoded<Term> {
        ensure(depth > 0, "a term is nested too deeply")?;
        Ok(match self.u8()? {
            0 => NamedNode::new_unchecked(self.text()?).into(),
            1 => BlankNode::new_unchecked(self.text()?).into(),
            2 => Literal::new_simple_literal(self.text()?).into(),
            3 => Literal::new_typed_literal(self.text()?, NamedNode::new_unchecked(self.text()?)).into(),
            4 => Literal::new_language_tagged_literal_unchecked(self.text()?, self.text()?).into(),
            5 => {
                let (value, language) = (self.text()?, self.text()?);
                let direction = if self.bool()? { BaseDirection::Rtl } else { BaseDirection::Ltr };
                Literal::new_directional_language_tagged_literal_unchecked(value, language, direction).into()
            }
            6 => {
                let subject = match self.term_within(depth - 1)? {
                    Term::NamedNode(node) => NamedOrBlankNode::from(node),
                    Term::BlankNode(node) => node.into(),
                    _ => return Err(Damaged { what: "the subject of a triple is a literal" }),
                };
                let predicate = NamedNode::new_unchecked(self.text()?);
                Triple { subject, predicate, object: self.term_within(depth - 1)? }.into()
            }
            _ => return Err(Damaged { what: "a term has an unknown kind" }),
        })
    }
}

/// A checksum that detects every change of a single word: each step is a bijection of the word and of the sum before
/// it. It guards against damage, not against forgery.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| step(sum, u64::from_le_bytes(*word)));
    let sum = rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte)));
    step(sum, 0)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn terms_come_back_as_they_were() {
        let iri = NamedNode::new_unchecked("http://example.org/a");
        let inner = Triple::new(BlankNode::new_unchecked("x"), iri.clone(), Literal::from(1));
        let terms: Vec<Term> = vec![
            iri.clone().into(),
            BlankNode::new_unchecked("node").into(),
            Literal::new_simple_literal("").into(),
            Literal::new_typed_literal("01", oxrdf::vocab::xsd::INTEGER).into(),
            Literal::new_language_tagged_literal_unchecked("chat", "fr-be").into(),
            Literal::new_directional_language_tagged_literal_unchecked("chat", "ar", BaseDirection::Rtl).into(),
            Triple::new(iri.clone(), iri, inner).into(),
        ];
        let mut to = Writer::default();
        terms.iter().for_each(|term| to.term(term.as_ref()));
        let bytes = to.into_bytes();
        let mut from = Reader::new(&bytes);
        for term in &terms {
            assert_eq!(from.term().unwrap(), *term);
        }
        assert_eq!(from.end(), Ok(()));
    }

    #[test]
    fn a_length_beyond_the_end_is_refused_before_anything_is_allocated() {
        let mut to = Writer::default();
        to.u64(u64::MAX / 2);
        let bytes = to.into_bytes();
        assert!(Reader::new(&bytes).text().is_err());
        assert!(Reader::new(&bytes).row().is_err());
    }

    #[test]
    fn every_flipped_bit_changes_the_sum() {
        let bytes: Vec<u8> = (0..37).collect();
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            assert_ne!(checksum(&flipped), checksum(&bytes));
        }
        assert_ne!(checksum(&bytes[..36]), checksum(&bytes));
    }
}
