//! Bodies of events in: everything is checked, then everything is taken.
//!
//! Times are read and compared with the clock of the stream before the first event goes in, so that a refused body
//! leaves nothing behind. Control lines of a body are obeyed where they stand.

use super::Engine;
use super::ingest::IngestReport;
use super::interest::terms;
use super::stream::Stream;
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::intake::{
    BodyFormat, Content, EncodedEvent, Encoder, EventBatch, Intake, Item, PushOptions, RawEvent, Refused, drop_copies,
    time_of, time_under,
};
use crate::model::{EncodedTriple, TermId};
use crate::parse::RdfFormat;
use crate::rare::Rare;
use crate::time::{Span, Timestamp};
use crate::window::{Element, EventTriples};
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, Triple};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Range;

impl Engine {
    /// Pushes a document: one event, or one per named graph. Nothing is taken when a part is wrong.
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

    /// Pushes a body of events. `at` is the time of those that say none themselves.
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
        let intake = Intake::read(body, format, at, options.atomic)?;
        self.take(stream, intake, None, options)
    }

    /// Pushes several bodies as one, in the order of the times of their events.
    ///
    /// # Errors
    /// As [`Engine::push_body`]; nothing is taken then.
    pub fn push_bodies(
        &mut self,
        stream: &str,
        bodies: &[(&[u8], BodyFormat)],
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let stream = self.writable_stream(stream)?;
        let mut whole = Intake::default();
        for (number, (body, format)) in bodies.iter().enumerate() {
            let read = Intake::read(body, *format, None, true)?;
            whole.items.extend(read.items.into_iter().map(|item| own_labels(item, number)));
        }
        let predicate = self.streams[stream].options.timestamp_predicate.as_ref();
        let timed = whole.items.into_iter().map(|item| Ok((own_time(&item.content, None, predicate)?, item)));
        let mut timed = timed.collect::<Result<Vec<_>, EngineError>>()?;
        timed.sort_by_key(|(at, _)| *at);
        let items = timed.into_iter().map(|(_, item)| item).collect();
        self.take(stream, Intake { items, refused: Vec::new() }, None, options)
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
        self.push_event(stream, at, triples.to_vec(), &PushOptions::default())
    }

    /// Pushes one event of parsed triples, unless it is ahead.
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn push_event(
        &mut self,
        stream: &str,
        at: Timestamp,
        triples: Vec<Triple>,
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let stream = self.writable_stream(stream)?;
        let event = RawEvent { at: Some(at), graph: None, triples };
        self.take(stream, Intake::of_event(event), None, options)
    }

    /// Checks a batch as [`Engine::push_batch`] does, and takes nothing.
    ///
    /// # Errors
    /// As [`Engine::push_batch`].
    pub fn check_batch(&self, stream: &str, batch: &EventBatch, options: &PushOptions) -> Result<(), EngineError> {
        let stream = self.writable_stream(stream)?;
        let intake = batch_intake(batch, 0..batch.len(), options.atomic)?;
        let readings: Vec<_> = self.readings_of(stream).collect();
        self.check(stream, &readings, intake, Some(batch), options).map(|_| ())
    }

    /// Pushes these events of a batch, which is whole unless a caller wants to look at something in between.
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
        let intake = batch_intake(batch, events, options.atomic)?;
        self.take(stream, intake, Some(batch), options)
    }

    fn take(
        &mut self,
        stream: usize,
        intake: Intake,
        batch: Option<&EventBatch>,
        options: &PushOptions,
    ) -> Result<IngestReport, EngineError> {
        let readings: Vec<_> = self.readings_of(stream).collect();
        let Checked { items, times, mut report } = self.check(stream, &readings, intake, batch, options)?;
        let mut names = Names::default();
        let body = &mut Body { batch, names: &mut names };
        let mut times = times.chunks(readings.len());
        for (number, item) in items.iter().enumerate() {
            let sweeps = self.sweeps;
            match &item.content {
                Content::Watermark(at) => self.advance_readings(&readings, *at),
                Content::End => self.end_stream(stream),
                Content::Event(_) | Content::Encoded(_) => {
                    let times = times.next().unwrap_or_default();
                    self.take_event(stream, &readings, item, times, body, &mut report);
                }
            }
            if self.sweeps > sweeps && number + 1 < items.len() {
                Rare::TermsSweptInBatch.note();
            }
        }
        Ok(report)
    }

    fn advance_readings(&mut self, readings: &[usize], at: Timestamp) {
        readings.iter().for_each(|reading| self.advance(*reading, at));
        self.relay();
    }

    /// The times of an event under the readings of its stream.
    pub(super) fn times_of(
        &self,
        item: &Item,
        at: Timestamp,
        batch: &EventBatch,
        readings: &[usize],
    ) -> SmallVec<[EventTime; 2]> {
        readings.iter().map(|reading| self.time_under(*reading, &item.content, at, Some(batch))).collect()
    }

    /// The time of an event under one reading of its stream. What a query reads as a time is its own affair: where
    /// none can be read, the event is not in its windows.
    fn time_under(&self, reading: usize, event: &Content, at: Timestamp, batch: Option<&EventBatch>) -> EventTime {
        let Some(predicate) = &self.streams[reading].by_predicate else { return EventTime::At(at) };
        match event_time(event, batch, predicate) {
            Ok(Some(at)) => EventTime::At(at),
            Ok(None) => EventTime::None,
            Err(_) => EventTime::Unreadable,
        }
    }

    pub(super) fn take_event(
        &mut self,
        stream: usize,
        readings: &[usize],
        item: &Item,
        times: &[EventTime],
        body: &mut Body<'_>,
        report: &mut IngestReport,
    ) {
        self.events += 1;
        self.dictionary.set_epoch(self.events);
        let (triples, graph, n_triples) = self.encode(readings, item, body);
        // Late is what came too late for every reading of the stream that somebody reads.
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
            let element = Element { at, seq: self.events, graph, triples: triples.clone() };
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
        self.sweep_if_due();
    }

    /// The triples somebody reads, the name of the graph, and how many triples there were.
    fn encode(&mut self, readings: &[usize], item: &Item, body: &mut Body<'_>) -> (EventTriples, TermId, u64) {
        let names = &mut *body.names;
        let blanks = names.blanks_of(item.scope);
        match (&item.content, body.batch) {
            (Content::Encoded(event), Some(batch)) => {
                let translation = &mut names.translation;
                translation.forget_swept(self.sweeps);
                let wanted = match translation.is_pruned {
                    true => SmallVec::from_slice(batch.triples_of(event)),
                    false => self.wanted_of(readings, event, batch),
                };
                let mut encoder = Encoder { dictionary: &mut self.dictionary, blanks };
                let theirs = batch.dictionary();
                let mut encode = |triple: EncodedTriple| triple.map(|id| translation.id(id, theirs, &mut encoder));
                // Most events are one triple, and have no copies to look for.
                let triples = match wanted.as_slice() {
                    [only] => EventTriples::One(encode(*only)),
                    several => {
                        let mut encoded: Vec<EncodedTriple> = several.iter().map(|triple| encode(*triple)).collect();
                        drop_copies(&mut encoded);
                        EventTriples::from(encoded.as_slice())
                    }
                };
                names.blanks = encoder.blanks;
                (triples, TermId::UNBOUND, event.triples.len() as u64)
            }
            (Content::Event(event), _) => {
                let wanted: Vec<&Triple> =
                    event.triples.iter().filter(|triple| self.wants_triple(readings, triple)).collect();
                let mut encoder = Encoder { dictionary: &mut self.dictionary, blanks };
                let triples = EventTriples::from(encoder.event(wanted, false).as_slice());
                let graph = encoder.graph(event.graph.as_ref());
                names.blanks = encoder.blanks;
                (triples, graph, event.triples.len() as u64)
            }
            _ => unreachable!("encoded events come with their batch, and nothing else is encoded"),
        }
    }

    fn wants_triple(&self, readings: &[usize], triple: &Triple) -> bool {
        let terms = terms(triple);
        self.wants(readings, terms[1], |place| self.dictionary.lookup(terms[place]))
    }

    fn wanted_of(&self, readings: &[usize], event: &EncodedEvent, batch: &EventBatch) -> SmallVec<[EncodedTriple; 2]> {
        let all = self.wants_all(readings);
        let theirs = batch.dictionary();
        let wants = |triple: &&EncodedTriple| {
            all || self.wants(readings, theirs.stored(triple[1]).as_ref(), |place| {
                let id = triple[place];
                id.slot().map_or(Some(id), |_| self.dictionary.lookup(theirs.stored(id).as_ref()))
            })
        };
        batch.triples_of(event).iter().filter(wants).copied().collect()
    }
}

/// An item whose labels of blank nodes cannot be those of another body, nor of another scope of its own.
fn own_labels(mut item: Item, body: usize) -> Item {
    let prefix = format!("b{body}s{}", item.scope);
    if let Content::Event(event) = &mut item.content {
        event.triples.iter_mut().for_each(|triple| *triple = relabelled(triple, &prefix));
    }
    item.scope = 0;
    item
}

fn relabelled(triple: &Triple, prefix: &str) -> Triple {
    let blank = |node: &BlankNode| BlankNode::new_unchecked(format!("{prefix}{}", node.as_str()));
    let subject = match &triple.subject {
        NamedOrBlankNode::BlankNode(node) => blank(node).into(),
        named => named.clone(),
    };
    let object = match &triple.object {
        Term::BlankNode(node) => blank(node).into(),
        Term::Triple(inner) => Term::from(relabelled(inner, prefix)),
        other => other.clone(),
    };
    Triple { subject, predicate: triple.predicate.clone(), object }
}

fn batch_intake(batch: &EventBatch, events: Range<usize>, atomic: bool) -> Result<Intake, EngineError> {
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
    let items = batch.events().get(events).unwrap_or_default().iter().map(item).collect();
    Ok(Intake { items, refused: refused.to_vec() })
}

/// What is to be taken, and the time of each event under each reading of the stream.
struct Checked {
    items: Vec<Item>,
    times: Vec<EventTime>,
    report: IngestReport,
}

/// The time of an event under a reading of its stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventTime {
    At(Timestamp),
    /// It says none.
    None,
    /// It says something that is no time.
    Unreadable,
}

/// What one part of a body is worth.
enum Verdict {
    Take,
    Ahead,
    Skip,
}

/// The clock of a stream as a body moves it.
struct Clock {
    watermark: Timestamp,
    lateness: Span,
}

impl Clock {
    fn of(stream: &Stream) -> Self {
        Self { watermark: stream.watermark(), lateness: stream.options.lateness.unwrap_or(Span::ZERO) }
    }

    fn see(&mut self, at: Timestamp) {
        self.watermark = self.watermark.max(at - self.lateness);
    }
}

/// Checks.
impl Engine {
    fn check(
        &self,
        stream: usize,
        readings: &[usize],
        intake: Intake,
        batch: Option<&EventBatch>,
        options: &PushOptions,
    ) -> Result<Checked, EngineError> {
        let n_items = intake.items.len();
        let mut report = IngestReport { refused: intake.refused, ..IngestReport::default() };
        report.events = report.refused.iter().filter(|refused| refused.index.is_some()).count() as u64;
        let mut checked = Checked { items: Vec::with_capacity(n_items), times: Vec::with_capacity(n_items), report };
        let mut clock = Clock::of(&self.streams[stream]);
        for mut item in intake.items {
            let n_times = checked.times.len();
            checked.report.events += u64::from(matches!(item.content, Content::Event(_) | Content::Encoded(_)));
            match self.check_item(stream, readings, &mut item, batch, options, &mut clock, &mut checked.times) {
                Ok(Verdict::Take) => checked.items.push(item),
                Ok(Verdict::Ahead) => checked.report.ahead += 1,
                Ok(Verdict::Skip) => {}
                Err(error) if options.atomic => return Err(error.in_body(Some(item.index), item.position)),
                Err(error) => {
                    checked.times.truncate(n_times);
                    let error = error.in_body(Some(item.index), item.position);
                    checked.report.refused.push(Refused { index: Some(item.index), error });
                }
            }
        }
        checked.report.refused.sort_by_key(|refused| (refused.index, refused.error.position()));
        Ok(checked)
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one walk over a body")]
    fn check_item(
        &self,
        stream: usize,
        readings: &[usize],
        item: &mut Item,
        batch: Option<&EventBatch>,
        options: &PushOptions,
        clock: &mut Clock,
        times: &mut Vec<EventTime>,
    ) -> Result<Verdict, EngineError> {
        let is_ahead = |at: Timestamp| options.latest.is_some_and(|latest| at > latest);
        match &mut item.content {
            Content::End => clock.watermark = Timestamp::MAX,
            Content::Watermark(at) => {
                self.check_watermark(stream, *at, clock)?;
                // Nothing before `at` is to come, hence nothing before `latest` either.
                *at = options.latest.map_or(*at, |latest| latest.min(*at));
                if *at <= clock.watermark {
                    return Ok(Verdict::Skip);
                }
                clock.watermark = *at;
            }
            event => {
                let predicate = self.streams[stream].options.timestamp_predicate.as_ref();
                let at = own_time(event, batch, predicate)?;
                if is_ahead(at) {
                    return Ok(Verdict::Ahead);
                }
                times.extend(readings.iter().map(|reading| self.time_under(*reading, event, at, batch)));
                clock.see(at);
            }
        }
        Ok(Verdict::Take)
    }

    fn check_watermark(&self, stream: usize, at: Timestamp, clock: &Clock) -> Result<(), EngineError> {
        if at >= clock.watermark {
            return Ok(());
        }
        let stream = self.streams[stream].iri.as_str().to_owned();
        Err(EngineError::WatermarkRegression { stream, watermark: clock.watermark, at })
    }
}

/// The time of an event: its own, or what it says under the stream's predicate.
fn own_time(
    event: &Content,
    batch: Option<&EventBatch>,
    predicate: Option<&NamedNode>,
) -> Result<Timestamp, EngineError> {
    let given = match event {
        Content::Event(event) => event.at,
        Content::Encoded(event) => event.at,
        Content::Watermark(_) | Content::End => None,
    };
    let time = match (given, predicate) {
        (None, Some(predicate)) => event_time(event, batch, predicate)?,
        (at, _) => at,
    };
    time.ok_or(EngineError::TimestampMissing)
}

/// The time an event carries under a predicate.
fn event_time(
    event: &Content,
    batch: Option<&EventBatch>,
    predicate: &NamedNode,
) -> Result<Option<Timestamp>, EngineError> {
    match (event, batch) {
        (Content::Event(event), _) => time_under(&event.triples, predicate),
        (Content::Encoded(event), Some(batch)) => {
            let predicate = batch.dictionary().lookup(predicate.as_ref().into());
            let timed = batch.triples_of(event).iter().find(|triple| Some(triple[1]) == predicate);
            timed.map(|triple| time_of(&batch.dictionary().term(triple[2]))).transpose()
        }
        _ => Ok(None),
    }
}

/// Where events come from: encoded ones have a batch.
pub(super) struct Body<'a> {
    pub batch: Option<&'a EventBatch>,
    pub names: &'a mut Names,
}

/// The names that have a meaning in one body alone.
#[derive(Default)]
pub(super) struct Names {
    blanks: HashMap<String, TermId>,
    scope: u64,
    translation: Translation,
}

impl Names {
    /// Names of a batch in which everything is wanted, if that is known.
    pub(super) fn of_pruned(is_pruned: bool) -> Self {
        Self { translation: Translation { is_pruned, ..Translation::default() }, ..Self::default() }
    }

    fn blanks_of(&mut self, scope: u64) -> HashMap<String, TermId> {
        if std::mem::replace(&mut self.scope, scope) != scope {
            self.blanks.clear();
        }
        std::mem::take(&mut self.blanks)
    }
}

/// From the ids of a batch to those of the engine, each looked up once between two sweeps.
#[derive(Default)]
struct Translation {
    /// By slot of the batch's dictionary; unbound where not yet known.
    ids: Vec<TermId>,
    sweeps: u64,
    /// Whether the batch has only triples that somebody reads.
    is_pruned: bool,
}

impl Translation {
    /// A sweep frees what no window shows: noted ids may be those of other terms now.
    fn forget_swept(&mut self, sweeps: u64) {
        if std::mem::replace(&mut self.sweeps, sweeps) != sweeps {
            self.ids.clear();
        }
    }

    fn id(&mut self, theirs: TermId, dictionary: &Dictionary, encoder: &mut Encoder<'_>) -> TermId {
        let Some(slot) = theirs.slot() else {
            return if dictionary.is_blank(theirs) { encoder.term(&dictionary.term(theirs), false) } else { theirs };
        };
        let slot = slot as usize;
        if slot >= self.ids.len() {
            self.ids.resize(slot + 1, TermId::UNBOUND);
        }
        if self.ids[slot].is_bound() {
            encoder.dictionary.use_again(self.ids[slot]);
        } else {
            self.ids[slot] = encoder.term(dictionary.stored(theirs), false);
        }
        self.ids[slot]
    }
}
