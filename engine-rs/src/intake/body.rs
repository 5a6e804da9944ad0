//! A body of bytes → what it asks for, in order.
//!
//! What is wrong in a body either refuses it as a whole, or, where the producer asks for that, only the line or the
//! event it is in. Turtle, TriG and JSON-LD have no lines to set aside: a fault of syntax is one of the document.

use super::batch::EncodedEvent;
use super::event::{RawEvent, cut};
use super::lines;
use crate::error::EngineError;
use crate::parse::{Position, RdfFormat, Room, parse_rdf};
use crate::time::Timestamp;

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

/// What to do with events that cannot or shall not be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PushOptions {
    /// Events after this instant are set aside and counted.
    pub latest: Option<Timestamp>,
    /// Whether one wrong event refuses the whole body.
    pub atomic: bool,
}

impl Default for PushOptions {
    fn default() -> Self {
        Self { latest: None, atomic: true }
    }
}

/// A part of a body that was not taken.
#[derive(Clone, PartialEq, Debug)]
pub struct Refused {
    /// Which event of the body, counted from zero; none for a line that belongs to no event.
    pub index: Option<u64>,
    pub error: EngineError,
}

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Content {
    Event(RawEvent),
    Encoded(EncodedEvent),
    /// No more events before this instant.
    Watermark(Timestamp),
    /// No more events.
    End,
}

/// What is asked for, and where in the body.
#[derive(Debug)]
pub(crate) struct Item {
    pub content: Content,
    pub index: u64,
    /// Labels of blank nodes have a meaning within one scope.
    pub scope: u64,
    pub position: Option<Position>,
}

/// A body that has been read.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    pub items: Vec<Item>,
    pub refused: Vec<Refused>,
}

impl Intake {
    /// Reads a body. Unless `atomic`, what is wrong is among the refused.
    pub(crate) fn read(
        body: &[u8],
        format: BodyFormat,
        at: Option<Timestamp>,
        atomic: bool,
    ) -> Result<Self, EngineError> {
        let mut intake = Self::default();
        match format {
            BodyFormat::NdJson => {
                let mut room = Room::of(body);
                for line in lines::of(body) {
                    intake.add_line(&line, at, atomic, &mut room)?;
                }
            }
            BodyFormat::Rdf(format) => intake.add_document(body, format, at, atomic)?,
        }
        Ok(intake)
    }

    /// One event of triples that need no reading.
    pub(crate) fn of_event(event: RawEvent) -> Self {
        let item = Item { content: Content::Event(event), index: 0, scope: 0, position: None };
        Self { items: vec![item], refused: Vec::new() }
    }

    fn add_line(
        &mut self,
        line: &lines::Line<'_>,
        at: Option<Timestamp>,
        atomic: bool,
        room: &mut Room,
    ) -> Result<(), EngineError> {
        let (index, position) = (line.index, Some(line.start()));
        let contents = match lines::read(line, at, room) {
            Ok(contents) => contents,
            Err(error) => return self.refuse(error.in_body(Some(index), position), atomic),
        };
        for content in contents {
            match content {
                Ok(content) => self.items.push(Item { content, index, scope: index, position }),
                Err(error) => self.refuse(error.in_body(Some(index), position), atomic)?,
            }
        }
        Ok(())
    }

    fn add_document(
        &mut self,
        body: &[u8],
        format: RdfFormat,
        at: Option<Timestamp>,
        atomic: bool,
    ) -> Result<(), EngineError> {
        let quads = match parse_rdf(body, format, None) {
            Ok(quads) => quads,
            Err(_) if !atomic && lines::has_lines(format) => lines::good_quads(body, format, &mut self.refused),
            Err(error) => return Err(error.into()),
        };
        // Lines that were all refused are no event; an empty document is one.
        if quads.is_empty() && !self.refused.is_empty() {
            return Ok(());
        }
        for (index, event) in cut(quads, at) {
            match event {
                Ok(event) => {
                    self.items.push(Item { content: Content::Event(event), index, scope: 0, position: None });
                }
                Err(error) => self.refuse(error.in_body(Some(index), None), atomic)?,
            }
        }
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
