//! Chunks: the events of one call of `route` for one partition, as bytes.
//!
//! ```text
//!   magic · format · fingerprint · partition · stream · order
//!   events seen [· first time · last time]            the head: the same in every partition
//!   terms, each once · events: time, place, triples   the share of this partition
//!   checksum
//! ```
//!
//! Numbers have variable width; times and places are differences to the previous ones; values that fit into an id are
//! written as ids. A chunk can be read only by the release that wrote it. Reading trusts nothing: missing bytes are an
//! error, and nothing is allocated without bytes that justify it.

use super::query::{FINGERPRINT_BYTES, FORMAT};
use crate::codec::checksum;
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::intake::EventBatch;
use crate::model::{EncodedTriple, TermId};
use crate::time::Timestamp;
use oxrdf::{BlankNode, Literal, NamedNode, Term, TermRef};
use std::collections::HashMap;
use std::str::FromStr;

const MAGIC: [u8; 4] = *b"WHCK";
/// The first number that denotes an inlined id instead of a term in the list.
const INLINE: u64 = 0;
/// The number of bits of an id that give the type of its value.
const TYPE_BITS: u32 = 6;

/// The times that a call of `route` has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    pub partition: u32,
    pub stream: usize,
    /// The place of the first event in its source.
    pub order: u64,
    /// The first and the last time of the events, whether or not a query uses them.
    pub times: Option<(Timestamp, Timestamp)>,
}

/// The share of one partition, while it is written.
#[derive(Debug, Default)]
pub(super) struct ChunkWriter {
    terms: Vec<u8>,
    n_terms: u64,
    /// By slot of the batch's dictionary, the number of the term in this chunk; zero if it has none.
    numbers: Vec<u32>,
    blanks: HashMap<TermId, u32>,
    events: Vec<u8>,
    n_events: u64,
    last_at: i64,
    last_place: u64,
    /// The event being written.
    triples: Vec<u8>,
    n_triples: u64,
}

impl ChunkWriter {
    /// Adds a triple to the event being written.
    pub(super) fn push(&mut self, triple: &EncodedTriple, dictionary: &Dictionary) {
        for id in triple {
            self.push_term(*id, dictionary);
        }
        self.n_triples += 1;
    }

    pub(super) fn has_triples(&self) -> bool {
        self.n_triples > 0
    }

    /// Ends the triples of one event, at this time and place.
    pub(super) fn end_event(&mut self, at: Timestamp, place: u64) {
        push_signed(&mut self.events, at.as_millis().wrapping_sub(self.last_at));
        push_number(&mut self.events, place.wrapping_sub(self.last_place));
        push_number(&mut self.events, self.n_triples);
        self.events.append(&mut self.triples);
        (self.last_at, self.last_place) = (at.as_millis(), place);
        self.n_events += 1;
        self.n_triples = 0;
    }

    pub(super) fn finish(self, head: &Head) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + self.terms.len() + self.events.len());
        bytes.extend(MAGIC);
        push_number(&mut bytes, u64::from(FORMAT));
        bytes.extend(head.fingerprint);
        push_number(&mut bytes, u64::from(head.partition));
        push_number(&mut bytes, head.stream as u64);
        push_number(&mut bytes, head.order);
        push_number(&mut bytes, u64::from(head.times.is_some()));
        if let Some((first, last)) = head.times {
            push_signed(&mut bytes, first.as_millis());
            push_signed(&mut bytes, last.as_millis());
        }
        push_number(&mut bytes, self.n_terms);
        bytes.extend(&self.terms);
        push_number(&mut bytes, self.n_events);
        bytes.extend(&self.events);
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    fn push_term(&mut self, id: TermId, dictionary: &Dictionary) {
        let number = match id.slot() {
            Some(slot) => self.number_of_slot(slot as usize, id, dictionary),
            None if dictionary.is_blank(id) => self.number_of_blank(id, dictionary),
            None => {
                push_number(&mut self.triples, INLINE);
                // The type is in the highest bits; rotated to the lowest ones, it keeps small numbers short.
                push_number(&mut self.triples, id.to_bits().rotate_left(TYPE_BITS));
                return;
            }
        };
        push_number(&mut self.triples, u64::from(number));
    }

    fn number_of_slot(&mut self, slot: usize, id: TermId, dictionary: &Dictionary) -> u32 {
        if slot >= self.numbers.len() {
            self.numbers.resize((slot + 1).next_power_of_two(), 0);
        }
        if self.numbers[slot] == 0 {
            self.numbers[slot] = self.add_term(dictionary.stored(id));
        }
        self.numbers[slot]
    }

    /// A blank node is scoped to its chunk, so it is written as its label.
    fn number_of_blank(&mut self, id: TermId, dictionary: &Dictionary) -> u32 {
        if let Some(number) = self.blanks.get(&id) {
            return *number;
        }
        let number = self.add_term(dictionary.term(id).as_ref());
        self.blanks.insert(id, number);
        number
    }

    fn add_term(&mut self, term: TermRef<'_>) -> u32 {
        let to = &mut self.terms;
        match term {
            TermRef::NamedNode(node) => push_parts(to, 0, &[node.as_str()]),
            TermRef::BlankNode(node) => push_parts(to, 1, &[node.as_str()]),
            TermRef::Literal(literal) if literal.direction().is_none() => match literal.language() {
                Some(language) => push_parts(to, 3, &[literal.value(), language]),
                None => push_parts(to, 2, &[literal.value(), literal.datatype().as_str()]),
            },
            other => push_parts(to, 4, &[&other.to_string()]),
        }
        self.n_terms += 1;
        u32::try_from(self.n_terms).expect("a dictionary has fewer than 2³² terms")
    }
}

fn push_parts(to: &mut Vec<u8>, tag: u8, parts: &[&str]) {
    to.push(tag);
    for part in parts {
        push_number(to, part.len() as u64);
        to.extend(part.as_bytes());
    }
}

/// Seven bits at a time, the lowest first.
fn push_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn push_signed(to: &mut Vec<u8>, number: i64) {
    push_number(to, ((number << 1) ^ (number >> 63)) as u64);
}

type Read<T> = Result<T, EngineError>;

/// A term of a chunk, and the positions in a triple where it may stand.
#[derive(Clone, Copy)]
struct Known {
    id: TermId,
    is_subject: bool,
    is_predicate: bool,
}

/// A chunk being read.
#[derive(Clone)]
pub(super) struct ChunkReader<'a> {
    rest: &'a [u8],
}

impl<'a> ChunkReader<'a> {
    /// An intact chunk.
    pub(super) fn new(bytes: &'a [u8]) -> Read<Self> {
        let (rest, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it ends too early"))?;
        if checksum(rest) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong"));
        }
        Ok(Self { rest })
    }

    pub(super) fn head(&mut self) -> Read<Head> {
        if self.take(4)? != MAGIC {
            return Err(damaged("it does not start like a chunk"));
        }
        let format = self.number()?;
        if format != u64::from(FORMAT) {
            return Err(damaged("it is of another release"));
        }
        let fingerprint = self.take(FINGERPRINT_BYTES)?;
        let fingerprint = std::array::from_fn(|at| fingerprint[at]);
        let partition = self.small()?;
        let (stream, order) = (self.small()? as usize, self.number()?);
        let times = match self.number()? {
            0 => None,
            _ => Some((Timestamp::from_millis(self.signed()?), Timestamp::from_millis(self.signed()?))),
        };
        Ok(Head { fingerprint, partition, stream, order, times })
    }

    /// Adds the events to a batch. All their times are within the range that the header states.
    pub(super) fn events(&mut self, head: &Head, batch: &mut EventBatch) -> Read<()> {
        let n_terms = self.count(2)?;
        let terms = (0..n_terms).map(|_| self.known(batch)).collect::<Read<Vec<_>>>()?;
        let (mut at, mut place) = (0_i64, 0_u64);
        for _ in 0..self.count(3)? {
            at = at.wrapping_add(self.signed()?);
            place = place.wrapping_add(self.number()?);
            let time = Timestamp::from_millis(at);
            if !head.times.is_some_and(|(first, last)| (first..=last).contains(&time)) {
                return Err(damaged("an event is at a time of its own"));
            }
            batch.begin(Some(time), head.order.wrapping_add(place));
            for _ in 0..self.count(3)? {
                let (subject, predicate, object) = (self.id(&terms)?, self.id(&terms)?, self.id(&terms)?);
                if !(subject.is_subject && predicate.is_predicate) {
                    return Err(damaged("a triple is none"));
                }
                batch.push([subject.id, predicate.id, object.id]);
            }
        }
        if self.rest.is_empty() { Ok(()) } else { Err(damaged("it is longer than it says")) }
    }

    fn known(&mut self, batch: &mut EventBatch) -> Read<Known> {
        let id = batch.term(&self.term()?);
        Ok(Known { id, is_subject: batch.is_subject(id), is_predicate: batch.is_predicate(id) })
    }

    #[inline]
    fn id(&mut self, terms: &[Known]) -> Read<Known> {
        match self.number()? {
            INLINE => {
                let id = TermId::from_bits(self.number()?.rotate_right(TYPE_BITS));
                let value = Known { id, is_subject: false, is_predicate: false };
                id.is_value().then_some(value).ok_or_else(|| damaged("a value is none"))
            }
            number => {
                let at = usize::try_from(number - 1).ok();
                at.and_then(|at| terms.get(at)).copied().ok_or_else(|| damaged("a term is missing"))
            }
        }
    }

    fn term(&mut self) -> Read<Term> {
        Ok(match self.take(1)?[0] {
            0 => NamedNode::new_unchecked(self.text()?).into(),
            1 => BlankNode::new(self.text()?).map_err(|_| damaged("a blank node has no label"))?.into(),
            2 => {
                let (value, datatype) = (self.text()?, self.text()?);
                Literal::new_typed_literal(value, NamedNode::new_unchecked(datatype)).into()
            }
            3 => Literal::new_language_tagged_literal_unchecked(self.text()?, self.text()?).into(),
            4 => Term::from_str(self.text()?).map_err(|_| damaged("a term is none"))?,
            _ => return Err(damaged("a term has an unknown kind")),
        })
    }

    fn text(&mut self) -> Read<&'a str> {
        let length = self.count(1)?;
        std::str::from_utf8(self.take(length)?).map_err(|_| damaged("a text is not UTF-8"))
    }

    /// A number of items, each of which takes at least this many bytes.
    fn count(&mut self, bytes_each: usize) -> Read<usize> {
        let count = usize::try_from(self.number()?).map_err(|_| damaged("it ends too early"))?;
        if count > self.rest.len() / bytes_each {
            return Err(damaged("it ends too early"));
        }
        Ok(count)
    }

    fn small(&mut self) -> Read<u32> {
        u32::try_from(self.number()?).map_err(|_| damaged("a number is too large"))
    }

    fn signed(&mut self) -> Read<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    #[inline]
    fn number(&mut self) -> Read<u64> {
        let mut number = 0;
        for (at, byte) in self.rest.iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7F) << (7 * at);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[at + 1..];
                return Ok(number);
            }
        }
        Err(damaged("it ends too early"))
    }

    fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(|| damaged("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }
}

fn damaged(reason: &'static str) -> EngineError {
    EngineError::ChunkDamaged { reason }
}
