//! Events that are already encoded, with a dictionary of their own.
//!
//! Input: terms, each interned when first seen, and triples of their ids. Output: the same events, for the engine to
//! translate. A term that occurs a million times is parsed and checked once; the engine's dictionary interns it once
//! per push, and only if a query reads it.

use super::body::{Intake, Refused};
use super::document::Token;
use super::encoder::{Blanks, Encoder};
use crate::encode::{Dictionary, RawTerm, TermKind, WallTime};
use crate::error::EngineError;
use crate::model::{EncodedTriple, TermId};
use crate::time::Timestamp;
use oxiri::Iri;
use oxrdf::vocab::xsd;
use oxrdf::{LiteralRef, NamedNodeRef, Term, TermRef};
use std::fmt::Write;
use std::ops::Range;

/// Events in the order in which to apply them, and the rows that were refused.
#[derive(Debug)]
pub struct EventBatch {
    pub(super) dictionary: Dictionary,
    /// A blank node label denotes one node within the batch.
    blanks: Blanks,
    events: Vec<EncodedEvent>,
    triples: Vec<EncodedTriple>,
    refused: Vec<Refused>,
}

/// An event of a batch: where its triples are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EncodedEvent {
    pub at: Option<Timestamp>,
    pub index: u64,
    pub triples: Range<usize>,
}

impl Default for EventBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl EventBatch {
    #[must_use]
    pub fn new() -> Self {
        Self {
            dictionary: Dictionary::new(0x5748_4F52_4C01),
            blanks: Blanks::default(),
            events: Vec::new(),
            triples: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Begins an event; the triples that follow belong to it. `index` is its number in the body.
    pub fn begin(&mut self, at: Option<Timestamp>, index: u64) {
        let start = self.triples.len();
        self.events.push(EncodedEvent { at, index, triples: start..start });
    }

    /// Adds a triple to the current event; the caller has checked subject and predicate.
    ///
    /// # Panics
    /// If no event was begun.
    pub fn push(&mut self, triple: EncodedTriple) {
        self.triples.push(triple);
        self.events.last_mut().expect("an event was begun").triples.end = self.triples.len();
    }

    /// Refuses the current event, or the part of the body with this number.
    pub fn refuse(&mut self, index: u64, error: EngineError) {
        if self.events.last().is_some_and(|event| event.index == index)
            && let Some(event) = self.events.pop()
        {
            self.triples.truncate(event.triples.start);
        }
        if self.refused.last().and_then(|refused| refused.index) != Some(index) {
            self.refused.push(Refused { index: Some(index), error });
        }
    }

    /// Whether a row of this event was refused; its other rows are refused with it.
    #[must_use]
    pub fn is_refused(&self, index: u64) -> bool {
        self.refused.last().is_some_and(|refused| refused.index == Some(index))
    }

    /// Starts another body, whose blank node labels denote nodes of its own.
    pub fn begin_body(&mut self) {
        self.blanks.clear();
    }

    /// Sorts the events by time; events of one instant keep their order.
    pub fn sort_by_time(&mut self) {
        self.events.sort_by_key(|event| event.at);
    }

    /// Sorts the events by time, and by number within one instant.
    pub(crate) fn sort_by_place(&mut self) {
        self.events.sort_by_key(|event| (event.at, event.index));
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The events as N-Quads, one named graph each, with their times under `prov:generatedAtTime`.
    #[must_use]
    pub fn to_nquads(&self) -> Vec<u8> {
        let mut text = String::new();
        for (number, event) in self.events.iter().enumerate() {
            let graph = format!("<urn:whorl:event:{number}>");
            if let Some(at) = event.at {
                let time = format!("\"{at}\"^^<{}>", xsd::INTEGER.as_str());
                // Writing to a string does not fail.
                let _ = writeln!(text, "{graph} <{}> {time} .", super::event::GENERATED_AT);
            }
            for triple in &self.triples[event.triples.clone()] {
                let [s, p, o] = triple.map(|id| self.dictionary.term(id));
                let _ = writeln!(text, "{s} {p} {o} {graph} .");
            }
        }
        text.into_bytes()
    }

    pub(crate) fn events(&self) -> &[EncodedEvent] {
        &self.events
    }

    pub(crate) fn triples_of(&self, event: &EncodedEvent) -> &[EncodedTriple] {
        &self.triples[event.triples.clone()]
    }

    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }
}

/// Ids of terms in this batch.
impl EventBatch {
    /// Any term; a blank node label is scoped to this batch.
    pub fn term(&mut self, term: &Term) -> TermId {
        Encoder::lasting(&mut self.dictionary, &mut self.blanks).term(term.as_ref())
    }

    /// A term of a body; a blank node label is scoped to this batch.
    pub(crate) fn token(&mut self, token: Token, intake: &Intake<'_>) -> TermId {
        Encoder::lasting(&mut self.dictionary, &mut self.blanks).token(token, intake)
    }

    /// An IRI, checked at its first occurrence; `None` if it is not absolute.
    pub fn iri(&mut self, text: &str) -> Option<TermId> {
        let raw = RawTerm::new(TermKind::IRI, text);
        if let Some(known) = self.dictionary.lookup_raw(raw) {
            return Some(known);
        }
        Iri::parse(text).ok()?;
        Some(self.dictionary.intern_static_raw(raw))
    }

    pub fn integer(&mut self, value: i64) -> TermId {
        TermId::integer(value).unwrap_or_else(|| self.literal(&value.to_string(), xsd::INTEGER))
    }

    pub fn double(&mut self, value: f64) -> TermId {
        TermId::plain_double(value)
            .unwrap_or_else(|| self.literal(&oxsdatatypes::Double::from(value).to_string(), xsd::DOUBLE))
    }

    #[must_use]
    pub fn boolean(&self, value: bool) -> TermId {
        TermId::boolean(value)
    }

    pub fn string(&mut self, value: &str) -> TermId {
        let short = TermId::short_string(value);
        short.unwrap_or_else(|| self.dictionary.intern_static_raw(RawTerm::new(TermKind::STRING, value)))
    }

    /// A dateTime in UTC.
    pub fn instant(&mut self, ms: i64) -> TermId {
        self.literal(&WallTime::utc(ms).render(), xsd::DATE_TIME)
    }

    pub fn literal(&mut self, text: &str, datatype: NamedNodeRef<'_>) -> TermId {
        self.intern(LiteralRef::new_typed_literal(text, datatype).into())
    }

    fn intern(&mut self, term: TermRef<'_>) -> TermId {
        self.dictionary.intern_static(term)
    }

    /// A term that is not an IRI cannot be a predicate.
    #[must_use]
    pub fn is_predicate(&self, id: TermId) -> bool {
        self.dictionary.is_iri(id)
    }

    /// IRIs and blank nodes can be subjects.
    #[must_use]
    pub fn is_subject(&self, id: TermId) -> bool {
        self.dictionary.is_iri(id) || self.dictionary.is_blank(id)
    }

    /// The term as a person would write it.
    #[must_use]
    pub fn written(&self, id: TermId) -> String {
        self.dictionary.term(id).to_string()
    }
}
