//! Streams: their clocks, and the reordering of events within the allowed lateness.

use super::asleep::Sleepers;
use super::interest::Interest;
use crate::intake::RowMapping;
use crate::time::{Span, Timestamp};
use crate::window::Element;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use oxrdf::NamedNode;
use std::collections::BTreeMap;

/// Streams by name: the stream by the time of its events, and those by a time in their data.
#[derive(Debug, Default)]
pub(crate) struct StreamNames(HashMap<String, Vec<usize>, FixedState>);

impl StreamNames {
    pub(super) fn add(&mut self, iri: &NamedNode, number: usize) {
        self.0.entry_ref(iri.as_str()).or_default().push(number);
    }

    /// In the order of declaration.
    pub(super) fn readings(&self, iri: &str) -> &[usize] {
        self.0.get(iri).map(Vec::as_slice).unwrap_or_default()
    }
}

/// How a stream tells time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamOptions {
    /// Allowed lateness: how far an event may lag behind the newest one and still be put in order.
    pub lateness: Option<Span>,
    /// How far other streams may get ahead before this one no longer holds them back.
    pub idle_timeout: Option<Span>,
    /// The predicate whose object is the time of an event pushed without one.
    pub timestamp_predicate: Option<NamedNode>,
}

/// Events by the time they carry. A stream that is read by a time in its data has a second `Stream` for that reading.
#[derive(Debug)]
pub(crate) struct Stream {
    pub iri: NamedNode,
    /// For windows `@ :p`: the predicate that holds the time.
    pub by_predicate: Option<NamedNode>,
    pub options: StreamOptions,
    pub(super) greatest: Timestamp,
    pub(super) watermark: Timestamp,
    pub(super) idle: bool,
    /// Within the lateness: waiting to be put in order.
    pub(super) waiting: BTreeMap<(Timestamp, u64), Element>,
    pub counts: StreamCounts,
    /// How rows of columns become triples.
    pub mapping: Option<StreamMapping>,
    /// The timelines that read the stream.
    pub readers: Vec<usize>,
    /// The timelines among them that are awake, and those that sleep.
    pub awake: Vec<usize>,
    pub(super) sleepers: Sleepers,
    /// The triples they read; `None`: all.
    pub interest: Option<Interest>,
}

/// A row mapping of a stream. Its sources, the text and the name of the time column, identify it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StreamMapping {
    pub mapping: RowMapping,
    pub time_column: String,
}

/// What has passed through a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamCounts {
    pub events: u64,
    pub triples: u64,
    pub late: u64,
    /// Events without a valid time under a predicate by which windows read them.
    pub unreadable: u64,
}

impl Stream {
    pub(crate) fn new(iri: NamedNode, by_predicate: Option<NamedNode>, options: StreamOptions) -> Self {
        Self {
            iri,
            by_predicate,
            options,
            greatest: Timestamp::MIN,
            watermark: Timestamp::MIN,
            idle: false,
            waiting: BTreeMap::new(),
            counts: StreamCounts::default(),
            mapping: None,
            readers: Vec::new(),
            awake: Vec::new(),
            sleepers: Sleepers::default(),
            interest: None,
        }
    }

    /// Whether no query reads it and no event has arrived, as if it had just been declared.
    pub(crate) fn is_pristine(&self) -> bool {
        self.readers.is_empty() && self.counts.events == 0 && self.watermark == Timestamp::MIN
    }

    pub(crate) fn watermark(&self) -> Timestamp {
        self.watermark
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }

    pub(crate) fn mark_idle(&mut self) {
        self.idle = true;
    }

    pub(crate) fn mark_active(&mut self) {
        self.idle = false;
    }

    /// Whether events wait to be put in order.
    #[inline]
    pub(crate) fn keeps_waiting(&self) -> bool {
        self.options.lateness.is_some_and(|lateness| lateness != Span::ZERO)
    }

    /// Advances the clock to an event of this time.
    #[inline]
    pub(crate) fn pass(&mut self, at: Timestamp) {
        self.idle = false;
        self.greatest = self.greatest.max(at);
        self.watermark = self.watermark.max(self.greatest - self.options.lateness.unwrap_or(Span::ZERO));
    }

    /// Adds an event that has to wait; returns the events that are now in order.
    pub(crate) fn take(&mut self, element: Element) -> Vec<Element> {
        self.pass(element.at);
        self.waiting.insert((element.at, element.seq), element);
        self.release()
    }

    /// Moves the watermark; returns the events it passes.
    pub(crate) fn advance_to(&mut self, at: Timestamp) -> Vec<Element> {
        self.idle = false;
        self.watermark = self.watermark.max(at);
        self.release()
    }

    fn release(&mut self) -> Vec<Element> {
        let mut ready = Vec::new();
        while let Some(first) = self.waiting.first_entry() {
            if first.key().0 > self.watermark {
                break;
            }
            ready.push(first.remove());
        }
        ready
    }

    pub(crate) fn oldest_waiting(&self) -> Option<u64> {
        self.waiting.values().map(|element| element.seq).min()
    }

    pub(crate) fn n_waiting(&self) -> usize {
        self.waiting.len()
    }
}
