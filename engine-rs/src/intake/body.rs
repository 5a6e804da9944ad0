//! Reads a body of bytes into the items it contains, in order.
//!
//! An error refuses the whole body or, if the producer asks for it, only its line or event. Turtle, TriG and JSON-LD
//! have no lines to skip: a syntax error there concerns the whole document.

use super::batch::EncodedEvent;
use super::document::{Token, TokenTerm, TokenTriple, Tokens};
use super::event::{AssumedZone, RawEvent};
use super::{line_reader, lines, turtle_reader};
use crate::error::EngineError;
use crate::parse::{Position, RdfFormat, Room, each_quad};
use crate::time::Timestamp;
use oxrdf::Triple;

/// How a body of events is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BodyFormat {
    /// A document: one event, or one per named graph.
    Rdf(RdfFormat),
    /// One JSON object per line: an event, a watermark, or the end.
    NdJson,
}

impl From<RdfFormat> for BodyFormat {
    fn from(format: RdfFormat) -> Self {
        Self::Rdf(format)
    }
}

/// What to do with events that cannot or must not be accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushOptions {
    /// Events after this instant are left out and counted.
    pub latest: Option<Timestamp>,
    /// Whether one invalid event refuses the whole body.
    pub atomic: bool,
    /// The zone of dateTimes without one; if it is `None`, they are refused.
    pub zone: Option<AssumedZone>,
}

impl Default for PushOptions {
    fn default() -> Self {
        Self { latest: None, atomic: true, zone: None }
    }
}

/// A part of a body that was refused.
#[derive(Clone, PartialEq, Debug)]
pub struct Refused {
    /// The number of the event in the body, from zero; `None` for a line that belongs to no event.
    pub index: Option<u64>,
    pub error: EngineError,
}

/// An event, or a statement about time.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Event(RawEvent),
    Encoded(EncodedEvent),
    /// No more events before this instant.
    Watermark(Timestamp),
    /// No more events.
    End,
}

/// A part of a body, with its position.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub content: Content,
    pub index: u64,
    /// The scope of blank node labels.
    pub scope: u64,
    pub position: Option<Position>,
}

/// A body that has been read.
#[derive(Debug, Default)]
pub(crate) struct Intake<'a> {
    body: &'a str,
    pub buffers: Buffers,
    pub refused: Vec<Refused>,
}

/// The buffers that are reused for the next body.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub items: Vec<Item>,
    tokens: Tokens,
}

/// How a body is to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub at: Option<Timestamp>,
    /// Whether one invalid part refuses the whole body.
    pub atomic: bool,
    /// The zone of dateTimes without one.
    pub zone: Option<&'a AssumedZone>,
    /// Whether an IRI has been checked before.
    pub is_known: &'a dyn Fn(&str) -> bool,
}

impl<'a> Intake<'a> {
    /// Reads a body. Unless it is atomic, invalid parts are returned as refused.
    pub(crate) fn read(
        body: &'a [u8],
        format: BodyFormat,
        reading: Reading<'_>,
        mut buffers: Buffers,
    ) -> (Buffers, Result<Self, EngineError>) {
        buffers.clear();
        let mut intake = Self { body: "", buffers, refused: Vec::new() };
        match intake.fill(body, format, reading) {
            Ok(()) => (Buffers::default(), Ok(intake)),
            Err(error) => (intake.buffers, Err(error)),
        }
    }

    fn fill(&mut self, body: &'a [u8], format: BodyFormat, reading: Reading<'_>) -> Result<(), EngineError> {
        match format {
            BodyFormat::NdJson => {
                let mut room = Room::of(body);
                lines::of(body).try_for_each(|line| self.add_line(&line, reading, &mut room))
            }
            BodyFormat::Rdf(format) => self.add_document(body, format, reading),
        }
    }

    /// One event of triples that are already parsed.
    pub(crate) fn of_event(at: Timestamp, triples: &[Triple], mut buffers: Buffers) -> Self {
        buffers.clear();
        triples.iter().for_each(|triple| buffers.tokens.push_triple(triple));
        let event = RawEvent { at: Some(at), graph: None, triples: 0..triples.len() };
        buffers.items.push(Item { content: Content::Event(event), index: 0, scope: 0, position: None });
        Self { body: "", buffers, refused: Vec::new() }
    }

    /// Items that are already parsed.
    pub(crate) fn of_items(items: impl Iterator<Item = Item>, refused: Vec<Refused>, mut buffers: Buffers) -> Self {
        buffers.clear();
        buffers.items.extend(items);
        Self { body: "", buffers, refused }
    }

    /// Takes over the items of another body, renaming blank node labels so that they cannot clash.
    pub(crate) fn absorb(&mut self, other: &Intake<'_>, number: usize) {
        for item in &other.buffers.items {
            let labels = format!("b{number}s{}", item.scope);
            let content = match &item.content {
                Content::Event(event) => {
                    Content::Event(self.buffers.tokens.push_event(event, &other.buffers.tokens, other.body, &labels))
                }
                content => content.clone(),
            };
            self.buffers.items.push(Item { content, scope: 0, ..item.clone() });
        }
    }

    pub(crate) fn triples(&self, event: &RawEvent) -> &[TokenTriple] {
        self.buffers.tokens.triples(event.triples.clone())
    }

    #[inline]
    pub(crate) fn term(&self, token: Token) -> TokenTerm<'_> {
        self.buffers.tokens.term(token, self.body)
    }

    /// The time an event carries under a predicate.
    pub(crate) fn time_under(
        &self,
        event: &RawEvent,
        predicate: &str,
        zone: Option<&AssumedZone>,
    ) -> Result<Option<Timestamp>, EngineError> {
        let is_predicate =
            |triple: &&TokenTriple| matches!(self.term(triple[1]), TokenTerm::Raw(raw) if raw.is_iri(predicate));
        let timed = self.triples(event).iter().find(is_predicate);
        timed.map(|triple| self.buffers.tokens.time(triple[2], self.body, zone)).transpose()
    }

    fn add_line(&mut self, line: &lines::Line<'_>, reading: Reading<'_>, room: &mut Room) -> Result<(), EngineError> {
        let (index, position) = (line.index, Some(line.start()));
        let refuse = |error: EngineError| error.in_body(Some(index), position);
        let (control, at) = match lines::read(line, reading.at, reading.zone, room, &mut self.buffers.tokens) {
            Ok(lines::Read::Control(content)) => (Some(content), None),
            Ok(lines::Read::Events(at)) => (None, at),
            Err(error) => {
                self.buffers.tokens.drop_document();
                return self.refuse(refuse(error), reading.atomic);
            }
        };
        if let Some(content) = control {
            self.buffers.items.push(Item { content, index, scope: index, position });
            return Ok(());
        }
        for number in 0..self.buffers.tokens.end_document("") {
            match self.buffers.tokens.event(number, at, "", reading.zone) {
                Ok(event) => {
                    self.buffers.items.push(Item { content: Content::Event(event), index, scope: index, position });
                }
                Err(error) => self.refuse(refuse(error), reading.atomic)?,
            }
        }
        Ok(())
    }

    fn add_document(&mut self, body: &'a [u8], format: RdfFormat, reading: Reading<'_>) -> Result<(), EngineError> {
        self.read_document(body, format, reading)?;
        let Self { body, buffers, refused } = self;
        // An empty document is an event; a document whose lines were all refused is not.
        if buffers.tokens.is_empty_document() && !refused.is_empty() {
            return Ok(());
        }
        for number in 0..buffers.tokens.end_document(body) {
            let index = number as u64;
            match self.buffers.tokens.event(number, reading.at, self.body, reading.zone) {
                Ok(event) => {
                    let content = Content::Event(event);
                    self.buffers.items.push(Item { content, index, scope: 0, position: None });
                }
                Err(error) => self.refuse(error.in_body(Some(index), None), reading.atomic)?,
            }
        }
        Ok(())
    }

    fn read_document(&mut self, body: &'a [u8], format: RdfFormat, reading: Reading<'_>) -> Result<(), EngineError> {
        let Self { buffers: Buffers { tokens, .. }, refused, .. } = self;
        if format != RdfFormat::JsonLd
            && let Ok(text) = std::str::from_utf8(body)
        {
            self.body = text;
            let read = if lines::has_lines(format) { line_reader::read } else { turtle_reader::read };
            if read(text, format, tokens, reading.is_known).is_ok() {
                return Ok(());
            }
            tokens.drop_document();
        }
        // Parse the whole text at once, so that the error is the one of the format's parser.
        let read = each_quad(body, format, None, &mut Room::of(body), &mut |quad| tokens.push_quad(&quad, self.body));
        let Err(error) = read else { return Ok(()) };
        tokens.drop_document();
        if reading.atomic || !lines::has_lines(format) {
            return Err(error.into());
        }
        lines::good_quads(body, format, refused, &mut |quad| tokens.push_quad(&quad, self.body));
        Ok(())
    }

    fn refuse(&mut self, error: EngineError, atomic: bool) -> Result<(), EngineError> {
        if atomic {
            return Err(error);
        }
        self.refused.push(Refused { index: error.index(), error });
        Ok(())
    }
}

impl Buffers {
    fn clear(&mut self) {
        const KEPT_MAX: usize = 1 << 16;
        if self.items.capacity() > KEPT_MAX {
            self.items = Vec::new();
        }
        self.items.clear();
        self.tokens.clear();
    }
}
