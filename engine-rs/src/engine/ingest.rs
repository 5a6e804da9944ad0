//! Accepts events and moves time forward.

use super::Engine;
use super::stream::{Stream, StreamOptions};
use super::timeline::TimelineContext;
use crate::error::EngineError;
use crate::intake::Refused;
use crate::model::{EncodedTriple, TermId};
use crate::time::Timestamp;
use crate::window::{Accepted, Element};
use oxrdf::{NamedNode, Term};

/// What happened to the events that were pushed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IngestReport {
    /// Events that were accepted.
    pub accepted: u64,
    /// Events that came too late for every window.
    pub late: u64,
    /// Events after the latest time that the caller allows; they were set aside.
    pub ahead: u64,
    /// All events of the body, whether accepted or not.
    pub events: u64,
    /// The triples of the accepted events.
    pub triples: u64,
    /// The refused parts; empty unless the caller accepts bodies with refused parts.
    pub refused: Vec<Refused>,
}

/// A declared stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamId(usize);

/// Whether an event counts as accepted. An event behind its stream must still find a window. Any other event may fall
/// between windows; it is late only if other streams have moved on and every window that covers it has closed.
fn is_taken(accepted: Accepted, is_behind: bool) -> bool {
    match accepted {
        Accepted::Yes => true,
        Accepted::Late => false,
        Accepted::Uncovered => !is_behind,
    }
}

impl Engine {
    /// Declares a stream; declaring it again with the same settings changes nothing.
    ///
    /// # Errors
    /// When the IRI is not absolute, or the stream already exists with different settings.
    pub fn declare_stream(&mut self, iri: &str, options: StreamOptions) -> Result<(), EngineError> {
        let node = NamedNode::new(iri).map_err(|_| EngineError::BadIri { iri: iri.to_owned() })?;
        match self.stream_at(iri) {
            None => {
                self.add_stream(Stream::new(node, None, options));
            }
            Some(at) if self.streams[at].options == options => {}
            // No event has arrived yet, so the settings may still change.
            Some(at) if self.streams[at].is_pristine() => {
                let readings: Vec<_> = self.readings_of(at).collect();
                readings.into_iter().for_each(|reading| self.streams[reading].options = options.clone());
            }
            Some(_) => return Err(EngineError::StreamExistsDifferently { stream: iri.to_owned() }),
        }
        Ok(())
    }

    pub(super) fn stream_at(&self, iri: &str) -> Option<usize> {
        let mut readings = self.stream_names.readings(iri).iter().copied();
        readings.find(|number| self.streams[*number].by_predicate.is_none())
    }

    pub(super) fn add_stream(&mut self, stream: Stream) -> usize {
        self.stream_names.add(&stream.iri, self.streams.len());
        self.streams.push(stream);
        self.streams.len() - 1
    }

    /// The stream itself, or a reading of the same events by the time that a predicate in them states.
    pub(super) fn derived_stream(&mut self, iri: &NamedNode, predicate: Option<&NamedNode>) -> usize {
        let same = |number: &usize| self.streams[*number].by_predicate.as_ref() == predicate;
        if let Some(at) = self.stream_names.readings(iri.as_str()).iter().copied().find(same) {
            return at;
        }
        let options = self.stream_at(iri.as_str()).map(|at| self.streams[at].options.clone()).unwrap_or_default();
        self.add_stream(Stream::new(iri.clone(), predicate.cloned(), options))
    }

    pub(super) fn known_stream(&self, iri: &str) -> Result<usize, EngineError> {
        self.stream_at(iri).ok_or_else(|| {
            let known: Vec<String> =
                self.streams.iter().filter(|s| s.by_predicate.is_none()).map(|s| s.iri.to_string()).collect();
            let hint = match known.is_empty() {
                true => "declare it, or register a query that reads it".to_owned(),
                false => format!("known streams: {}", known.join(", ")),
            };
            EngineError::UnknownStream { stream: iri.to_owned(), hint }
        })
    }

    /// A known stream that no query writes.
    pub(super) fn writable_stream(&self, iri: &str) -> Result<usize, EngineError> {
        let stream = self.known_stream(iri)?;
        self.check_not_output(stream).map(|()| stream)
    }

    /// The id of a term that is never freed, for [`Engine::push_encoded`].
    pub fn pin(&mut self, term: &Term) -> TermId {
        self.dictionary.intern_pinned(term.as_ref())
    }

    /// The number of a stream, for [`Engine::push_encoded`].
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn stream_id(&self, stream: &str) -> Result<StreamId, EngineError> {
        self.writable_stream(stream).map(StreamId)
    }

    /// Pushes one event of encoded triples, without any text. The triples must be distinct and their ids pinned or
    /// inlined. Windows that take their time from the data do not see them.
    pub fn push_encoded(&mut self, stream: StreamId, at: Timestamp, triples: &[EncodedTriple]) -> IngestReport {
        self.events += 1;
        self.dictionary.set_epoch(self.events);
        let element = Element { at, seq: self.events, graph: TermId::UNBOUND, triples: triples.into() };
        let taken = self.ingest(stream.0, element);
        let counts = &mut self.streams[stream.0].counts;
        counts.events += 1;
        counts.triples += triples.len() as u64;
        counts.late += u64::from(!taken);
        self.join_if_due();
        self.sweep_if_due();
        let (accepted, late) = (u64::from(taken), u64::from(!taken));
        let triples = if taken { triples.len() as u64 } else { 0 };
        IngestReport { accepted, late, events: 1, triples, ..IngestReport::default() }
    }

    /// Refuses a time so far ahead that a partitioned query would have to report a million empty windows: partitions
    /// skip no reports, because all of them must make the same ones.
    pub(super) fn check_ahead(&self, stream: usize, at: Timestamp) -> Result<(), EngineError> {
        const REPORTS_MAX: u64 = 1_000_000;
        let readers = self.streams[stream].readers.iter();
        let windows = readers.map(|timeline| self.timelines[*timeline].reports_until(at)).max().unwrap_or(0);
        if windows > REPORTS_MAX {
            let ahead = self.streams[stream].greatest.until(at);
            return Err(EngineError::TooFarAhead { ahead, windows });
        }
        Ok(())
    }

    /// The stream and its readings by times in the data.
    pub(super) fn readings_of(&self, stream: usize) -> impl Iterator<Item = usize> + '_ {
        let readings = self.stream_names.readings(self.streams[stream].iri.as_str()).iter().copied();
        std::iter::once(stream).chain(readings.filter(move |at| *at != stream))
    }

    /// Applies an encoded event and its consequences; false if it is late.
    pub(super) fn ingest(&mut self, stream: usize, element: Element) -> bool {
        let taken = self.take_in(stream, element);
        self.relay();
        taken
    }

    pub(super) fn take_in(&mut self, stream: usize, element: Element) -> bool {
        let own = &mut self.streams[stream];
        let watermark = own.watermark();
        if watermark == Timestamp::MAX {
            return false;
        }
        let behind = element.at < watermark;
        if own.keeps_waiting() {
            return self.take_in_order(stream, element, behind);
        }
        own.pass(element.at);
        // Without lateness, the event itself has already advanced the clock of a timeless timeline as far as possible.
        let clock_only = own.options.lateness.is_none();
        let (accepted, follows_watermark) = self.offer(stream, &element);
        if follows_watermark || !clock_only {
            self.advance_timelines(stream, clock_only);
        }
        is_taken(accepted, behind)
    }

    /// Releases a waiting event once the watermark has reached it.
    fn take_in_order(&mut self, stream: usize, element: Element, behind: bool) -> bool {
        let seq = element.seq;
        let mut taken = !behind;
        for element in self.streams[stream].take(element) {
            let (accepted, _) = self.offer(stream, &element);
            if element.seq == seq {
                taken = is_taken(accepted, behind);
            } else {
                // The event was on time but had to wait, and meanwhile other streams moved on.
                self.streams[stream].counts.late += u64::from(accepted == Accepted::Late);
            }
        }
        self.advance_timelines(stream, false);
        taken
    }

    /// Offers an event to every timeline that reads its stream; also returns whether watermarks can move one of them.
    fn offer(&mut self, stream: usize, element: &Element) -> (Accepted, bool) {
        let (mut accepted, mut follows_watermark) = (Accepted::Uncovered, false);
        let Self { streams, timelines, dictionary, graphs, stopwatch, interests_stale, waiting, search, .. } = self;
        let stopwatch = stopwatch.as_ref();
        let context = &mut TimelineContext { dictionary, graphs, stopwatch, interests_stale, waiting, search };
        let Stream { awake, sleepers, .. } = &mut streams[stream];
        for timeline in awake {
            let timeline = &mut timelines[*timeline];
            accepted = accepted.min(timeline.accept(stream, element, context));
            follows_watermark |= timeline.follows_watermark();
        }
        if sleepers.len() > 0 {
            accepted = accepted.min(sleepers.offer(element, timelines, context));
            follows_watermark = true;
            self.rouse_over(stream);
        }
        (accepted, follows_watermark)
    }

    fn advance_timelines(&mut self, stream: usize, skip_timeless: bool) {
        self.advance_sleepers(stream);
        for i in 0..self.streams[stream].awake.len() {
            let timeline = self.streams[stream].awake[i];
            if !skip_timeless || self.timelines[timeline].follows_watermark() {
                self.advance_timeline(timeline, self.watermark_of(timeline));
            }
        }
        self.lull(stream);
    }

    /// Sleeping timelines read only this stream.
    fn advance_sleepers(&mut self, stream: usize) {
        let Some(first) = self.streams[stream].sleepers.first() else { return };
        let watermark = self.watermark_of(first);
        if watermark == Timestamp::MAX {
            // At the end of a stream, the current content is read once more.
            return self.rouse_all(stream);
        }
        let Self { streams, timelines, dictionary, graphs, stopwatch, interests_stale, waiting, search, .. } = self;
        let stopwatch = stopwatch.as_ref();
        let context = &mut TimelineContext { dictionary, graphs, stopwatch, interests_stale, waiting, search };
        streams[stream].sleepers.advance_to(watermark, timelines, context);
        self.rouse_over(stream);
    }

    pub(super) fn advance_timeline(&mut self, timeline: usize, watermark: Timestamp) {
        let Self { timelines, dictionary, graphs, stopwatch, interests_stale, waiting, search, .. } = self;
        let stopwatch = stopwatch.as_ref();
        let context = &mut TimelineContext { dictionary, graphs, stopwatch, interests_stale, waiting, search };
        timelines[timeline].advance_to(watermark, context);
    }

    /// The watermark of a timeline: that of its slowest stream that is not idle.
    pub(super) fn watermark_of(&self, timeline: usize) -> Timestamp {
        let streams = || self.timelines[timeline].key().windows.iter().map(|(at, _)| &self.streams[*at]);
        // A stream that has ended does not show how far the others lag behind.
        let open = streams().map(Stream::watermark).filter(|watermark| *watermark != Timestamp::MAX);
        let fastest = open.max().unwrap_or(Timestamp::MAX);
        let holds_back = |stream: &&Stream| {
            let timed_out = stream.options.idle_timeout.is_some_and(|timeout| stream.watermark() < fastest - timeout);
            !stream.is_idle() && !timed_out
        };
        streams().filter(holds_back).map(Stream::watermark).min().unwrap_or(fastest)
    }

    /// No more events before this instant are expected, on any stream.
    ///
    /// # Errors
    /// None so far.
    pub fn advance_to(&mut self, at: Timestamp) -> Result<(), EngineError> {
        self.advance_all(at);
        Ok(())
    }

    /// No more events before this instant are expected on this stream.
    ///
    /// # Errors
    /// When the stream is not known, or its watermark is further already.
    pub fn advance_stream(&mut self, stream: &str, at: Timestamp) -> Result<(), EngineError> {
        let number = self.writable_stream(stream)?;
        let watermark = self.streams[number].watermark();
        if at < watermark {
            return Err(EngineError::WatermarkRegression { stream: stream.to_owned(), watermark, at });
        }
        let readings: Vec<_> = self.readings_of(number).collect();
        readings.into_iter().for_each(|reading| self.advance(reading, at));
        self.relay();
        Ok(())
    }

    pub(super) fn advance(&mut self, stream: usize, at: Timestamp) {
        for i in 0..self.streams[stream].awake.len() {
            let timeline = self.streams[stream].awake[i];
            self.timelines[timeline].begin_by(at);
        }
        for element in self.streams[stream].advance_to(at) {
            let (accepted, _) = self.offer(stream, &element);
            self.streams[stream].counts.late += u64::from(accepted == Accepted::Late);
        }
        self.advance_timelines(stream, false);
    }

    /// Ends the stream and its readings.
    pub(super) fn end_stream(&mut self, stream: usize) {
        let readings: Vec<_> = self.readings_of(stream).collect();
        readings.into_iter().for_each(|reading| self.advance(reading, Timestamp::MAX));
        self.relay();
        self.sweep();
    }

    /// Stops the stream from holding others back until its next event.
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn mark_idle(&mut self, stream: &str) -> Result<(), EngineError> {
        let number = self.known_stream(stream)?;
        let readings: Vec<_> = self.readings_of(number).collect();
        for reading in readings {
            self.streams[reading].mark_idle();
            self.advance_timelines(reading, false);
        }
        self.relay();
        Ok(())
    }

    /// Makes the stream hold others back again, although no event of it has arrived yet.
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn mark_active(&mut self, stream: &str) -> Result<(), EngineError> {
        let number = self.known_stream(stream)?;
        let readings: Vec<_> = self.readings_of(number).collect();
        readings.into_iter().for_each(|reading| self.streams[reading].mark_active());
        Ok(())
    }

    /// Ends this stream: it no longer holds back any window, and any further event on it is late.
    ///
    /// # Errors
    /// If the stream is not known, or a query writes it.
    pub fn close_stream(&mut self, stream: &str) -> Result<(), EngineError> {
        self.advance_stream(stream, Timestamp::MAX)?;
        self.sweep();
        Ok(())
    }

    /// Ends every stream: every window closes.
    pub fn close(&mut self) {
        self.advance_all(Timestamp::MAX);
    }

    /// Streams that queries write end with their queries' inputs.
    fn advance_all(&mut self, at: Timestamp) {
        for stream in 0..self.streams.len() {
            if !self.is_output(stream) {
                self.advance(stream, at);
            }
        }
        self.relay();
        self.sweep();
    }
}
