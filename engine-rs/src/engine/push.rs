//! Takes bodies of events: checks everything first, then applies everything.
//!
//! Times are read and compared with the stream's clock before the first event is applied, so that a refused body leaves
//! no trace. Control lines of a body take effect at their position.

use super::Engine;
use super::checking::{event_time, instant, own_time};
use super::ingest::IngestReport;
use super::names::{Names, Translation};
use crate::encode::{RawTerm, TermKind};
use crate::error::EngineError;
use crate::intake::{
    AssumedZone, BodyFormat, Buffers, Content, EncodedEvent, Encoder, EventBatch, Intake, Item, PushOptions, RawEvent,
    Reading, Token, TokenTerm, drop_copies,
};
use crate::model::{EncodedTriple, TermId};
use crate::parse::RdfFormat;
use crate::rare::Rare;
use crate::time::Timestamp;
use crate::window::{Element, EventTriples};
use oxrdf::{TermRef, Triple};
use smallvec::SmallVec;
use std::ops::Range;

impl Engine {
    /// Pushes a document: one event, or one per named graph. If any part is invalid, nothing is applied.
    ///
    /// # Errors
    /// When the stream is not known, the document does not parse, or an event has no time.
    pub fn push(
        &mut self,
        stream: &str,
        at: Option<Timestamp>,
        rdf: &[u8],
        format: RdfFormat,
    ) -> Result<IngestReport, EngineError> {
        self.push_body(stream, at, rdf, format.into(), &PushOptions::default())
    }

    /// Pushes a body of events. `at` is the time of events without one.
    ///
    /// # Errors
    /// When the stream is not known, or the body is wrong; with `atomic` also when a part of it is.
    pub fn push_body(
        &mut self,
        stream: &str,
        at: Option<Timestamp>,
        body: &[u8],
        format: BodyFormat,
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let stream = self.writable_stream(stream)?;
        let intake = self.read(body, format, at, options)?;
        self.take(stream, intake, None, options)
    }

    fn read<'b>(
        &mut self,
        body: &'b [u8],
        format: BodyFormat,
        at: Option<Timestamp>,
        options: &PushOptions,
    ) -> Result<Intake<'b>, EngineError> {
        let buffers = std::mem::take(&mut self.intake_buffers.buffers);
        // A term in the dictionary was validated at its first occurrence.
        let is_known = |iri: &str| self.dictionary.lookup_raw(RawTerm::new(TermKind::IRI, iri)).is_some();
        let PushOptions { atomic, zone, .. } = options;
        let reading = Reading { at, atomic: *atomic, zone: zone.as_ref(), is_known: &is_known };
        let (buffers, read) = Intake::read(body, format, reading, buffers);
        self.intake_buffers.buffers = buffers;
        read
    }

    /// Pushes several bodies as one, in the order of the times of their events.
    ///
    /// # Errors
    /// Those of [`Engine::push_body`]; nothing is applied then.
    pub fn push_bodies(
        &mut self,
        stream: &str,
        bodies: &[(&[u8], BodyFormat)],
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let stream = self.writable_stream(stream)?;
        let mut whole = Intake::default();
        let whole_options = PushOptions { atomic: true, ..options.clone() };
        for (number, (body, format)) in bodies.iter().enumerate() {
            let read = self.read(body, *format, None, &whole_options)?;
            whole.absorb(&read, number);
            self.intake_buffers.buffers = read.buffers;
        }
        let predicate = self.streams[stream].options.timestamp_predicate.as_ref();
        let items = std::mem::take(&mut whole.buffers.items);
        let time = |item: &Item| own_time(&item.content, Body::Text(&whole), predicate, options.zone.as_ref());
        let timed = items.into_iter().map(|item| Ok((time(&item)?, item)));
        let mut timed = timed.collect::<Result<Vec<_>, EngineError>>()?;
        timed.sort_by_key(|(at, _)| *at);
        whole.buffers.items = timed.into_iter().map(|(_, item)| item).collect();
        self.take(stream, whole, None, options)
    }

    /// Pushes one event of parsed triples.
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn push_triples(
        &mut self,
        stream: &str,
        at: Timestamp,
        triples: &[Triple],
    ) -> Result<IngestReport, EngineError> {
        self.push_event(stream, at, triples, &PushOptions::default())
    }

    /// Pushes one event of parsed triples, unless its time is too far ahead.
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn push_event(
        &mut self,
        stream: &str,
        at: Timestamp,
        triples: &[Triple],
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let stream = self.writable_stream(stream)?;
        let intake = Intake::of_event(at, triples, std::mem::take(&mut self.intake_buffers.buffers));
        self.take(stream, intake, None, options)
    }

    /// Checks a batch like [`Engine::push_batch`], without applying it.
    ///
    /// # Errors
    /// Those of [`Engine::push_batch`].
    pub fn check_batch(&self, stream: &str, batch: &EventBatch, options: &PushOptions) -> Result<(), EngineError> {
        let stream = self.writable_stream(stream)?;
        let mut intake = batch_intake(batch, 0..batch.len(), options.atomic, Buffers::default())?;
        let readings: Readings = self.readings_of(stream).collect();
        self.check(Target { stream, readings: &readings }, &mut intake, Some(batch), options, &mut Vec::new())
            .map(|_| ())
    }

    /// Pushes these events of a batch: all of it, unless the caller inspects the engine in between.
    ///
    /// # Errors
    /// When the stream is not known, and with `atomic` when an event is wrong.
    pub fn push_batch(
        &mut self,
        stream: &str,
        batch: &EventBatch,
        events: Range<usize>,
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let stream = self.writable_stream(stream)?;
        let intake = batch_intake(batch, events, options.atomic, std::mem::take(&mut self.intake_buffers.buffers))?;
        self.take(stream, intake, Some(batch), options)
    }

    fn take(
        &mut self,
        stream: usize,
        mut intake: Intake<'_>,
        batch: Option<&EventBatch>,
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let readings: Readings = self.readings_of(stream).collect();
        let target = Target { stream, readings: &readings };
        let mut times = std::mem::take(&mut self.intake_buffers.times);
        times.clear();
        let taken = self.check(target, &mut intake, batch, options, &mut times).map(|mut report| {
            let body = batch.map_or(Body::Text(&intake), Body::Batch);
            self.take_items(target, &intake.buffers.items, &times, body, &mut report);
            report
        });
        self.intake_buffers.times = times;
        self.intake_buffers.buffers = intake.buffers;
        taken
    }

    fn take_items(
        &mut self,
        target: Target<'_>,
        items: &[Item],
        times: &[EventTime],
        body: Body<'_>,
        report: &mut IngestReport,
    ) {
        let Target { stream, readings } = target;
        let mut names = std::mem::take(&mut self.intake_buffers.names);
        names.clear();
        let mut times = times.chunks(readings.len());
        for (number, item) in items.iter().enumerate() {
            let sweeps = self.sweeps;
            match &item.content {
                Content::Watermark(at) => self.advance_readings(readings, *at),
                Content::End => self.end_stream(stream),
                Content::Event(_) | Content::Encoded(_) => {
                    let times = times.next().unwrap_or_default();
                    self.take_event(target, TimedEvent { item, times, body }, &mut names, report);
                }
            }
            if self.sweeps > sweeps && number + 1 < items.len() {
                Rare::TermsSweptInBatch.note();
            }
        }
        self.intake_buffers.names = names;
    }

    fn advance_readings(&mut self, readings: &[usize], at: Timestamp) {
        readings.iter().for_each(|reading| self.advance(*reading, at));
        self.relay();
    }

    /// The times of an event under each reading of its stream.
    pub(super) fn times_of(
        &self,
        item: &Item,
        at: Timestamp,
        batch: &EventBatch,
        readings: &[usize],
    ) -> SmallVec<[EventTime; 2]> {
        readings.iter().map(|reading| self.time_under(*reading, &item.content, at, Body::Batch(batch), None)).collect()
    }

    /// The time of an event in one reading of its stream. Which data a query reads as time is its own business: if
    /// there is no valid time, the event is simply not in its windows.
    pub(super) fn time_under(
        &self,
        reading: usize,
        event: &Content,
        at: Timestamp,
        body: Body<'_>,
        zone: Option<&AssumedZone>,
    ) -> EventTime {
        let Some(predicate) = &self.streams[reading].by_predicate else { return EventTime::At(at) };
        match event_time(event, body, predicate, zone).and_then(|at| at.map(instant).transpose()) {
            Ok(Some(at)) => EventTime::At(at),
            Ok(None) => EventTime::None,
            Err(_) => EventTime::Unreadable,
        }
    }

    pub(super) fn take_event(
        &mut self,
        target: Target<'_>,
        event: TimedEvent<'_>,
        names: &mut Names,
        report: &mut IngestReport,
    ) {
        let (Target { stream, readings }, TimedEvent { item, times, body }) = (target, event);
        self.events += 1;
        self.dictionary.set_epoch(self.events);
        names.begin(item.scope);
        let (triples, graph, n_triples) = match (&item.content, body) {
            (Content::Encoded(event), Body::Batch(batch)) => self.encode_batch(readings, event, batch, names),
            (Content::Event(event), Body::Text(intake)) => self.encode_text(readings, event, intake, names),
            _ => unreachable!("encoded events come with their batch, and nothing else is encoded"),
        };
        // The number under which its terms were used; events that the reading itself causes (in chains) have their own
        // numbers.
        let seq = self.events;
        // An event is late if it is late for every reading of the stream that has readers.
        let (mut taken, mut offered) = (false, false);
        for (reading, at) in readings.iter().zip(times) {
            let at = match *at {
                EventTime::At(at) => at,
                EventTime::None => continue,
                EventTime::Unreadable => {
                    self.streams[*reading].counts.unreadable += 1;
                    continue;
                }
            };
            let element = Element { at, seq, graph, triples: triples.clone() };
            let accepted = self.ingest(*reading, element);
            if readings.len() == 1 || !self.streams[*reading].readers.is_empty() {
                (taken, offered) = (taken | accepted, true);
            }
        }
        let is_late = offered && !taken;
        report.accepted += u64::from(!is_late);
        report.late += u64::from(is_late);
        report.triples += if is_late { 0 } else { n_triples };
        let counts = &mut self.streams[stream].counts;
        counts.events += 1;
        counts.triples += n_triples;
        counts.late += u64::from(is_late);
        self.join_if_due();
        self.sweep_if_due();
    }

    /// The triples that some query reads, the name of the graph, and the number of all triples.
    fn encode_batch(
        &mut self,
        readings: &[usize],
        event: &EncodedEvent,
        batch: &EventBatch,
        names: &mut Names,
    ) -> (EventTriples, TermId, u64) {
        names.translation.forget_swept(self.sweeps);
        let wanted = match names.translation.is_pruned {
            true => SmallVec::from_slice(batch.triples_of(event)),
            false => self.wanted_of(readings, event, batch, &mut names.translation),
        };
        let Names { blanks, translation, encoded, .. } = names;
        let mut encoder = Encoder::new(&mut self.dictionary, blanks);
        let theirs = batch.dictionary();
        let mut encode = |triple: EncodedTriple| triple.map(|id| translation.id(id, theirs, &mut encoder));
        encoded.clear();
        encoded.extend(wanted.iter().map(|triple| encode(*triple)));
        drop_copies(encoded, self.options.thresholds.triples_compared_max, self.dictionary.hasher());
        (EventTriples::from(encoded.as_slice()), TermId::UNBOUND, event.triples.len() as u64)
    }

    fn encode_text(
        &mut self,
        readings: &[usize],
        event: &RawEvent,
        intake: &Intake<'_>,
        names: &mut Names,
    ) -> (EventTriples, TermId, u64) {
        let wants_all = self.wants_all(readings);
        let Names { blanks, encoded, recent, .. } = names;
        encoded.clear();
        recent.forget_swept(self.sweeps);
        for triple in intake.triples(event) {
            let predicate = match recent.find(triple[1], intake) {
                Some(id) => Some(id),
                None => self.known(triple[1], intake).map(|id| recent.noted(triple[1], id, intake)),
            };
            if !wants_all && !self.wants(readings, predicate, |place| self.known(triple[place], intake)) {
                continue;
            }
            let mut encoder = Encoder::new(&mut self.dictionary, blanks);
            let predicate = match predicate {
                Some(id) => encoder.use_again(id),
                None => encoder.token(triple[1], intake),
            };
            let subject = match recent.find(triple[0], intake) {
                Some(id) => encoder.use_again(id),
                None => recent.noted(triple[0], encoder.token(triple[0], intake), intake),
            };
            encoded.push([subject, predicate, encoder.token(triple[2], intake)]);
        }
        drop_copies(encoded, self.options.thresholds.triples_compared_max, self.dictionary.hasher());
        let mut encoder = Encoder::new(&mut self.dictionary, blanks);
        let graph = event.graph.map_or(TermId::UNBOUND, |name| encoder.token(name, intake));
        (EventTriples::from(encoded.as_slice()), graph, event.triples.len() as u64)
    }

    /// The id of a term that an earlier event has used.
    fn known(&self, token: Token, intake: &Intake<'_>) -> Option<TermId> {
        match intake.term(token) {
            TokenTerm::Raw(raw) => self.dictionary.lookup_raw(raw),
            TokenTerm::Triple(triple) => self.dictionary.lookup(TermRef::Triple(triple)),
        }
    }

    fn wanted_of(
        &self,
        readings: &[usize],
        event: &EncodedEvent,
        batch: &EventBatch,
        translation: &mut Translation,
    ) -> SmallVec<[EncodedTriple; 2]> {
        let all = self.wants_all(readings);
        let (theirs, kept_max) = (batch.dictionary(), self.options.thresholds.predicates_kept_max);
        let wants = |triple: &&EncodedTriple| {
            all || {
                let predicate = translation.predicate(triple[1], theirs, &self.dictionary, kept_max);
                self.wants(readings, predicate, |place| {
                    let id = triple[place];
                    id.slot().map_or(Some(id), |_| self.dictionary.lookup_raw(theirs.stored_raw(id)))
                })
            }
        };
        batch.triples_of(event).iter().filter(wants).copied().collect()
    }
}

fn batch_intake(
    batch: &EventBatch,
    events: Range<usize>,
    atomic: bool,
    buffers: Buffers,
) -> Result<Intake<'static>, EngineError> {
    let refused = if events.start == 0 { batch.refused() } else { &[] };
    if let Some(first) = refused.first().filter(|_| atomic) {
        return Err(first.error.clone().in_body(first.index, None));
    }
    let item = |event: &EncodedEvent| Item {
        content: Content::Encoded(event.clone()),
        index: event.index,
        scope: 0,
        position: None,
    };
    let items = batch.events().get(events).unwrap_or_default().iter().map(item);
    Ok(Intake::of_items(items, refused.to_vec(), buffers))
}

/// The readings of a stream, usually the stream alone.
pub(super) type Readings = SmallVec<[usize; 2]>;

/// Buffers that are reused from body to body, so that small bodies need no allocation.
#[derive(Default)]
pub(super) struct IntakeBuffers {
    buffers: Buffers,
    times: Vec<EventTime>,
    names: Names,
}

/// The time of an event under a reading of its stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventTime {
    At(Timestamp),
    /// The event states no time.
    None,
    /// The event states a value that is not a time.
    Unreadable,
}

/// A stream that accepts events, and its readings (the stream itself first, then those by a time in the data).
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub stream: usize,
    pub readings: &'a [usize],
}

/// An event of a body, with its time in each reading of the stream.
#[derive(Clone, Copy)]
pub(super) struct TimedEvent<'a> {
    pub item: &'a Item,
    pub times: &'a [EventTime],
    pub body: Body<'a>,
}

/// Where the terms of events are.
#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Text(&'a Intake<'a>),
    Batch(&'a EventBatch),
}
