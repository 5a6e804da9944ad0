//! Chains: the output of a CONSTRUCT query is a stream that other queries read.
//!
//! A named query whose results are graphs writes a stream of that name: each report is an event at the instant of the
//! report. The stream's time follows the query's time, so windows over it close even if no event arrives. Chains run
//! upstream first, within the call that advanced time; registration refuses a query that would close a cycle.

use super::Engine;
use super::registry::QueryId;
use super::stream::StreamOptions;
use crate::error::EngineError;
use crate::intake::time_of;
use crate::model::{EncodedTriple, Row, TermId};
use crate::parse::{ContinuousQuery, StreamName};
use crate::time::Timestamp;
use crate::window::{Element, EventTriples};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use oxrdf::NamedNode;

/// A graph in a report of a query, as an event of the query's stream. As in a pushed document, named graphs are
/// separate events.
#[derive(Debug)]
pub(crate) struct OutputEvent {
    at: Timestamp,
    graph: TermId,
    triples: Vec<EncodedTriple>,
}

impl OutputEvent {
    /// The events of a report, in the order of the first rows of their graphs. Rows are triples, or quads.
    pub(super) fn each_graph(at: Timestamp, rows: impl Iterator<Item = Row>) -> Vec<Self> {
        let mut events: Vec<Self> = Vec::new();
        let mut places: HashMap<TermId, usize, FixedState> = HashMap::default();
        for row in rows {
            let graph = row.get(3).copied().unwrap_or(TermId::UNBOUND);
            let place = *places.entry(graph).or_insert(events.len());
            if place == events.len() {
                events.push(Self { at, graph, triples: Vec::new() });
            }
            events[place].triples.push([row[0], row[1], row[2]]);
        }
        events
    }
}

/// A query that writes a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub query: QueryId,
    pub timeline: usize,
    pub place: usize,
    pub stream: usize,
}

/// The name of the stream that a query writes, from the name in REGISTER; a bare word gets an IRI of the engine's own.
pub(super) fn output_name(definition: &ContinuousQuery) -> Option<NamedNode> {
    let name = definition.name.as_deref()?;
    let gives_graphs =
        matches!(definition.query, spargebra::Query::Construct { .. } | spargebra::Query::Describe { .. });
    let name = NamedNode::new(name).or_else(|_| NamedNode::new(format!("urn:whorl:stream:{name}")));
    name.ok().filter(|_| gives_graphs)
}

impl Engine {
    /// The stream that a query writes, if it writes one.
    ///
    /// # Errors
    /// When there is no such query.
    pub fn output_stream(&self, id: QueryId) -> Result<Option<&str>, EngineError> {
        self.definition(id)?;
        let chain = self.chains.iter().find(|chain| chain.query == id);
        Ok(chain.map(|chain| self.streams[chain.stream].iri.as_str()))
    }

    /// Refuses a query that would read its own output, directly or through others, or write a stream that another query
    /// writes.
    pub(super) fn check_output(&self, definition: &ContinuousQuery) -> Result<Option<NamedNode>, EngineError> {
        let Some(output) = output_name(definition) else { return Ok(None) };
        let name = output.as_str().to_owned();
        if self.writer_of(&output).is_some() {
            return Err(EngineError::OutputTaken { stream: name });
        }
        let mut upstream: Vec<NamedNode> = inputs(definition).cloned().collect();
        let mut at = 0;
        while at < upstream.len() {
            if upstream[at] == output {
                return Err(EngineError::Cycle { stream: name });
            }
            if let Some(chain) = self.writer_of(&upstream[at]) {
                let writer = &self.timelines[chain.timeline].query(chain.place).definition;
                let further = inputs(writer).filter(|stream| !upstream.contains(stream)).cloned().collect::<Vec<_>>();
                upstream.extend(further);
            }
            at += 1;
        }
        Ok(Some(output))
    }

    fn writer_of(&self, stream: &NamedNode) -> Option<Chain> {
        self.chains.iter().find(|chain| self.streams[chain.stream].iri == *stream).copied()
    }

    /// Whether only a query may write the stream.
    pub(super) fn check_not_output(&self, stream: usize) -> Result<(), EngineError> {
        match self.is_output(stream) {
            true => Err(EngineError::StreamIsOutput { stream: self.streams[stream].iri.as_str().to_owned() }),
            false => Ok(()),
        }
    }

    pub(super) fn is_output(&self, stream: usize) -> bool {
        self.chains.iter().any(|chain| self.streams[chain.stream].iri == self.streams[stream].iri)
    }

    /// Lets a registered query write its stream.
    pub(super) fn start_chain(&mut self, query: QueryId, output: &NamedNode, (timeline, place): (usize, usize)) {
        let stream = self.stream_at(output.as_str()).unwrap_or_else(|| {
            self.add_stream(super::stream::Stream::new(output.clone(), None, StreamOptions::default()))
        });
        self.timelines[timeline].query_mut(place).writes();
        self.chains.push(Chain { query, timeline, place, stream });
        self.order_chains();
    }

    pub(super) fn end_chain(&mut self, query: QueryId) {
        let chain = self.detach_chain(query);
        self.end_output(chain);
    }

    /// Called when the query no longer writes its stream.
    pub(super) fn detach_chain(&mut self, query: QueryId) -> Option<Chain> {
        let at = self.chains.iter().position(|chain| chain.query == query)?;
        let chain = self.chains.remove(at);
        self.order_chains();
        Some(chain)
    }

    /// Undoes `detach_chain`.
    pub(super) fn attach_chain(&mut self, chain: Option<Chain>) {
        self.chains.extend(chain);
        self.order_chains();
    }

    /// The stream of a detached chain remains; unless another query writes it now, it no longer holds windows back.
    pub(super) fn end_output(&mut self, chain: Option<Chain>) {
        let Some(Chain { stream, .. }) = chain else { return };
        if self.is_output(stream) {
            return;
        }
        let readings: Vec<_> = self.readings_of(stream).collect();
        readings.into_iter().for_each(|reading| self.streams[reading].mark_idle());
    }

    /// Upstream first. There are no cycles, so each round finds a query that reads no stream of the rest.
    pub(super) fn order_chains(&mut self) {
        let mut rest = std::mem::take(&mut self.chains);
        while !rest.is_empty() {
            let waits = |chain: &Chain| {
                let reads = |stream: usize| {
                    let iri = &self.streams[stream].iri;
                    self.timelines[chain.timeline].key().windows.iter().any(|(of, _)| self.streams[*of].iri == *iri)
                };
                rest.iter().any(|other| reads(other.stream))
            };
            let next = rest.iter().position(|chain| !waits(chain)).unwrap_or(0);
            self.chains.push(rest.remove(next));
        }
    }

    /// Passes on the output of queries, and the time up to which it is complete.
    pub(super) fn relay(&mut self) {
        for at in 0..self.chains.len() {
            let Chain { timeline, place, stream, .. } = self.chains[at];
            for event in self.timelines[timeline].query_mut(place).take_output() {
                self.relay_event(stream, &event);
            }
            // Before its first event, a query may still report at any instant.
            let watermark = self.watermark_of(timeline);
            if watermark != Timestamp::MAX && !self.timelines[timeline].has_begun() {
                continue;
            }
            let readings: Vec<_> = self.readings_of(stream).collect();
            for reading in readings {
                if watermark > self.streams[reading].watermark() {
                    self.advance(reading, watermark);
                }
            }
        }
        self.forget_failed_interests();
    }

    /// Interests depend on the queries that are running, not on history, so a restored engine computes the same ones.
    fn forget_failed_interests(&mut self) {
        if std::mem::take(&mut self.interests_stale) {
            self.find_interests();
        }
    }

    fn relay_event(&mut self, stream: usize, event: &OutputEvent) {
        self.events += 1;
        self.dictionary.set_epoch(self.events);
        let terms = event.triples.iter().flatten().chain(Some(&event.graph).filter(|graph| graph.is_bound()));
        terms.for_each(|term| self.dictionary.use_again(*term));
        let triples = EventTriples::from(event.triples.as_slice());
        let readings: Vec<_> = self.readings_of(stream).collect();
        for reading in readings {
            let Some(at) = self.time_in(reading, event) else { continue };
            let element = Element { at, seq: self.events, graph: event.graph, triples: triples.clone() };
            self.take_in(reading, element);
        }
        let counts = &mut self.streams[stream].counts;
        counts.events += 1;
        counts.triples += event.triples.len() as u64;
    }

    /// The time of an event in a reading of its stream; `None` if its data has no time.
    fn time_in(&self, reading: usize, event: &OutputEvent) -> Option<Timestamp> {
        let Some(predicate) = &self.streams[reading].by_predicate else { return Some(event.at) };
        let predicate = self.dictionary.lookup(predicate.as_ref().into())?;
        let timed = event.triples.iter().find(|triple| triple[1] == predicate)?;
        let at = time_of(self.dictionary.term(timed[2]).as_ref(), None).ok()?;
        (at != Timestamp::MIN && at != Timestamp::MAX).then_some(at)
    }
}

fn inputs(definition: &ContinuousQuery) -> impl Iterator<Item = &NamedNode> {
    definition.windows.iter().filter_map(|window| match &window.stream {
        StreamName::Iri(iri) => Some(iri),
        StreamName::Variable(_) => None,
    })
}
