//! The routing stage: takes events, returns the share of each partition.
//!
//! A triple goes where a pattern needs it: to the partition of the term at the variable's position in the matching
//! pattern; to two partitions if it matches patterns with the variable at different positions; nowhere if no pattern
//! matches. A query that runs on one partition receives every event, because each one advances its time, with the
//! triples that its patterns match, or with all triples if it is re-evaluated, is a DESCRIBE, or counts triples. Cost
//! per triple: a comparison with the patterns, and one hash per distinct term at the variable's position.

use super::chunk::{ChunkWriter, Head};
use super::query::{FINGERPRINT_BYTES, Spreading};
use crate::encode::Dictionary;
use crate::engine::{Constants, StreamOptions};
use crate::error::EngineError;
use crate::intake::{BodyFormat, Buffers, Content, EncodedEvent, EventBatch, Intake, Reading, time_of};
use crate::model::{EncodedTriple, TermId};
use crate::parse::{ContinuousQuery, StreamName};
use crate::plan::Place;
use crate::time::Timestamp;
use oxrdf::{NamedNode, NamedOrBlankNode, Term, TermRef, Triple};

/// How the events of each stream are distributed.
#[derive(Debug)]
pub(super) struct Router {
    streams: Vec<Routing>,
}

#[derive(Debug)]
struct Routing {
    /// The predicate whose object is the time of an event without one.
    timestamp_predicate: Option<NamedNode>,
    /// `None`: every triple goes to the only partition.
    patterns: Option<Vec<Pattern>>,
    /// There is one partition, which receives every event.
    is_single: bool,
    /// Whether no blank node can be distributed, not even as the value of the variable.
    refuses_blanks: bool,
}

/// A pattern over the stream: its constants, and the position of the variable.
#[derive(Debug)]
struct Pattern {
    terms: [Option<Term>; 3],
    place: usize,
    is_twice: bool,
}

/// A pattern with the ids that its constants have in one batch.
#[derive(Clone, Copy)]
struct Wanted {
    ids: [Option<TermId>; 3],
    place: usize,
    is_twice: bool,
}

impl Router {
    pub(super) fn new(
        definition: &ContinuousQuery,
        spreading: &Spreading,
        streams: &[(NamedNode, StreamOptions)],
    ) -> Self {
        let routing = |(iri, options): &(NamedNode, StreamOptions)| {
            let is_single = matches!(spreading, Spreading::One { .. });
            let (patterns, refuses_blanks) = match spreading {
                Spreading::One { .. } => (None, false),
                Spreading::Over { spread, .. } => {
                    let of_stream = |window: usize| definition.windows[window].stream == StreamName::Iri(iri.clone());
                    let leaves = spread.leaves.iter().filter(|leaf| of_stream(leaf.window));
                    let patterns = leaves.map(|leaf| Pattern {
                        terms: std::array::from_fn(|at| constant(&leaf.places[at])),
                        place: leaf.place,
                        is_twice: leaf.is_twice,
                    });
                    (Some(patterns.collect()), spread.is_doubled)
                }
            };
            let timestamp_predicate = options.timestamp_predicate.clone();
            Routing { timestamp_predicate, patterns, is_single, refuses_blanks }
        };
        Self { streams: streams.iter().map(routing).collect() }
    }

    /// For a query on one partition: the patterns over each stream; `None`: all triples.
    pub(super) fn prune(&mut self, read: Vec<Option<Vec<Constants>>>) {
        for (routing, patterns) in self.streams.iter_mut().zip(read) {
            // With one partition, no variable has a place.
            let pattern = |terms| Pattern { terms, place: 0, is_twice: false };
            routing.patterns = patterns.map(|patterns| patterns.into_iter().map(pattern).collect());
        }
    }

    pub(super) fn route(
        &self,
        stream: usize,
        batch: &EventBatch,
        order: u64,
        fingerprint: &[u8; FINGERPRINT_BYTES],
        partitions: u32,
    ) -> Result<Vec<Vec<u8>>, EngineError> {
        if let Some(first) = batch.refused().first() {
            return Err(first.error.clone().in_body(first.index, None));
        }
        let routing = &self.streams[stream];
        let mut distribution = Distribution::new(routing, batch, partitions);
        for event in batch.events() {
            let at = routing.time_of(event, batch).map_err(|error| error.in_body(Some(event.index), None))?;
            distribution.add(event, at)?;
        }
        let Distribution { writers, times, .. } = distribution;
        let chunk = |(partition, writer): (usize, ChunkWriter)| {
            let partition = partition as u32;
            writer.finish(&Head { fingerprint: *fingerprint, partition, stream, order, times })
        };
        Ok(writers.into_iter().enumerate().map(chunk).collect())
    }
}

impl Routing {
    fn time_of(&self, event: &EncodedEvent, batch: &EventBatch) -> Result<Timestamp, EngineError> {
        if let Some(at) = event.at {
            return Ok(at);
        }
        let predicate = self
            .timestamp_predicate
            .as_ref()
            .and_then(|predicate| batch.dictionary().lookup(predicate.as_ref().into()));
        let timed = batch.triples_of(event).iter().find(|triple| Some(triple[1]) == predicate);
        timed.map_or(Err(EngineError::TimestampMissing), |triple| {
            time_of(batch.dictionary().term(triple[2]).as_ref(), None)
        })
    }
}

fn constant(place: &Place) -> Option<Term> {
    match place {
        Place::Term(term) => Some(term.clone()),
        Place::Variable(_) => None,
    }
}

/// A batch while it is distributed.
struct Distribution<'a> {
    batch: &'a EventBatch,
    writers: Vec<ChunkWriter>,
    /// There is one partition, which receives every event.
    is_single: bool,
    /// It receives every triple, too.
    takes_all: bool,
    wanted: Vec<Wanted>,
    refuses_blanks: bool,
    partitions: u32,
    /// By slot of the batch's dictionary, the partition of the term.
    known: Vec<u32>,
    /// The partitions for which the current event has triples.
    touched: Vec<u32>,
    times: Option<(Timestamp, Timestamp)>,
}

const UNKNOWN: u32 = u32::MAX;

impl<'a> Distribution<'a> {
    fn new(routing: &Routing, batch: &'a EventBatch, partitions: u32) -> Self {
        let dictionary = batch.dictionary();
        // If a constant is not in the batch, no triple of the batch contains it.
        let ids = |pattern: &Pattern| {
            let mut ids = [None; 3];
            for (id, term) in ids.iter_mut().zip(&pattern.terms) {
                if let Some(term) = term {
                    *id = Some(dictionary.lookup(term.as_ref())?);
                }
            }
            Some(Wanted { ids, place: pattern.place, is_twice: pattern.is_twice })
        };
        Self {
            batch,
            writers: (0..partitions).map(|_| ChunkWriter::default()).collect(),
            is_single: routing.is_single,
            takes_all: routing.patterns.is_none(),
            wanted: routing.patterns.iter().flatten().filter_map(ids).collect(),
            refuses_blanks: routing.refuses_blanks,
            partitions,
            known: Vec::new(),
            touched: Vec::new(),
            times: None,
        }
    }

    fn add(&mut self, event: &EncodedEvent, at: Timestamp) -> Result<(), EngineError> {
        self.times = Some(self.times.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
        let (batch, dictionary) = (self.batch, self.batch.dictionary());
        if self.is_single {
            let Self { writers, wanted, takes_all, .. } = self;
            let is_wanted = |triple: &&EncodedTriple| *takes_all || wanted.iter().any(|wanted| wanted.matches(triple));
            let triples = batch.triples_of(event).iter().filter(is_wanted);
            triples.for_each(|triple| writers[0].push(triple, dictionary));
            writers[0].end_event(at, event.index);
            return Ok(());
        }
        for triple in batch.triples_of(event) {
            self.assign(triple).map_err(|error| error.in_body(Some(event.index), None))?;
        }
        for partition in self.touched.drain(..) {
            self.writers[partition as usize].end_event(at, event.index);
        }
        Ok(())
    }

    fn assign(&mut self, triple: &EncodedTriple) -> Result<(), EngineError> {
        // A triple has two ends, and so at most two targets.
        let mut sent = [UNKNOWN; 2];
        for number in 0..self.wanted.len() {
            let wanted = self.wanted[number];
            if !wanted.matches(triple) {
                continue;
            }
            self.check_blanks(triple, wanted.place)?;
            let partition = self.partition_of(triple[wanted.place]);
            if sent.contains(&partition) {
                continue;
            }
            sent = [partition, sent[0]];
            let writer = &mut self.writers[partition as usize];
            if !writer.has_triples() {
                self.touched.push(partition);
            }
            writer.push(triple, self.batch.dictionary());
        }
        Ok(())
    }

    fn partition_of(&mut self, id: TermId) -> u32 {
        let dictionary = self.batch.dictionary();
        let Some(slot) = id.slot().map(|slot| slot as usize) else {
            return dictionary.partition_of(id, self.partitions);
        };
        if slot >= self.known.len() {
            self.known.resize((slot + 1).next_power_of_two(), UNKNOWN);
        }
        if self.known[slot] == UNKNOWN {
            self.known[slot] = dictionary.partition_of(id, self.partitions);
        }
        self.known[slot]
    }

    /// A blank node is known to one partition only, so it is allowed only at the variable's position.
    fn check_blanks(&self, triple: &EncodedTriple, place: usize) -> Result<(), EngineError> {
        let other = 2 - place;
        let dictionary = self.batch.dictionary();
        if has_blank(triple[other], dictionary) || (self.refuses_blanks && has_blank(triple[place], dictionary)) {
            let id = if has_blank(triple[other], dictionary) { triple[other] } else { triple[place] };
            return Err(EngineError::BlankNodeSplit { node: self.batch.written(id) });
        }
        Ok(())
    }
}

impl Wanted {
    #[inline]
    fn matches(&self, triple: &EncodedTriple) -> bool {
        let fits = |at: usize| self.ids[at].is_none_or(|id| id == triple[at]);
        fits(1) && fits(0) && fits(2) && !(self.is_twice && triple[0] != triple[2])
    }
}

fn has_blank(id: TermId, dictionary: &Dictionary) -> bool {
    match id.slot() {
        None => dictionary.is_blank(id),
        Some(_) => match dictionary.stored(id) {
            TermRef::NamedNode(_) | TermRef::Literal(_) => false,
            TermRef::BlankNode(_) => true,
            TermRef::Triple(triple) => triple_has_blank(triple),
        },
    }
}

fn triple_has_blank(triple: &Triple) -> bool {
    let in_object = match &triple.object {
        Term::BlankNode(_) => true,
        Term::Triple(inner) => triple_has_blank(inner),
        _ => false,
    };
    in_object || matches!(triple.subject, NamedOrBlankNode::BlankNode(_))
}

/// The events of a body.
pub(super) fn read_body(body: &[u8], format: BodyFormat, at: Option<Timestamp>) -> Result<EventBatch, EngineError> {
    let reading = Reading { at, atomic: true, zone: None, is_known: &|_| false };
    let intake = Intake::read(body, format, reading, Buffers::default()).1?;
    let mut batch = EventBatch::new();
    let mut scope = None;
    for item in &intake.buffers.items {
        let Content::Event(event) = &item.content else { return Err(EngineError::ControlLineRouted) };
        if scope.replace(item.scope) != Some(item.scope) {
            batch.begin_body();
        }
        batch.begin(event.at, item.index);
        for triple in intake.triples(event) {
            let ids = triple.map(|token| batch.token(token, &intake));
            batch.push(ids);
        }
    }
    Ok(batch)
}
