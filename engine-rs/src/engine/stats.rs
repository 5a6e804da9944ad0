//! Counters of the running engine.

use super::stopwatch::Stopwatch;
use super::stream::StreamCounts;
use super::timeline::Timeline;
use super::{Engine, QueryId};
use crate::time::Timestamp;
use std::time::Duration;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EngineStats {
    pub events: u64,
    pub stream_terms: usize,
    pub pinned_terms: usize,
    pub static_triples: usize,
    pub state_size: usize,
    pub streams: Vec<StreamStats>,
    pub queries: Vec<QueryStats>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamStats {
    pub iri: String,
    pub watermark: Option<Timestamp>,
    pub counts: StreamCounts,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryStats {
    pub id: QueryId,
    pub evaluations: u64,
    pub state_size: usize,
    pub dropped_results: u64,
    /// The current number of elements in each window, by window name.
    pub windows: Vec<(String, usize)>,
    pub clock: Option<Timestamp>,
    pub reevaluates: bool,
    /// Events left out of windows `@ :p` because their value of `:p` is not a time.
    pub unreadable_times: u64,
}

impl Engine {
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        let own_time = self.streams.iter().filter(|stream| stream.by_predicate.is_none());
        let streams = own_time.map(|stream| StreamStats {
            iri: stream.iri.as_str().to_owned(),
            watermark: known(stream.watermark()),
            counts: stream.counts,
        });
        EngineStats {
            events: self.events,
            stream_terms: self.dictionary.stream_terms(),
            pinned_terms: self.dictionary.pinned_terms(),
            static_triples: self.graphs.len(),
            state_size: self.state_size(),
            streams: streams.collect(),
            queries: self.registry.places().map(|(id, place)| self.query_stats(id, place)).collect(),
        }
    }

    /// The number of leaves and queries visited so far: for tests of how the cost grows.
    #[doc(hidden)]
    #[must_use]
    pub fn n_visits(&self) -> u64 {
        self.timelines.iter().map(|timeline| timeline.rounds.n_visits).sum()
    }

    /// Injects a monotonic clock in nanoseconds: from now on the engine measures how long queries are evaluated.
    /// Nothing else depends on it.
    pub fn lend_clock(&mut self, now_ns: fn() -> u64) {
        self.stopwatch = Some(Stopwatch::new(now_ns));
    }

    /// The evaluation time of each query since it was registered or restored; empty without a clock. Long instants are
    /// measured, and the time of short ones is estimated from the counted work. Work that queries share is divided in
    /// proportion to the work of each, so the times add up to the total evaluation time.
    pub fn evaluation_times(&self) -> impl Iterator<Item = (QueryId, Duration)> + '_ {
        let measured = self.registry.places().filter(|_| self.stopwatch.is_some());
        measured.map(|(id, (timeline, place))| {
            (id, Duration::from_nanos(self.timelines[timeline].query(place).time.total_ns()))
        })
    }

    /// Counted since the first query was registered that reads its stream by that predicate.
    fn unreadable_times(&self, timeline: &Timeline) -> u64 {
        let mut streams: Vec<usize> = timeline.key().windows.iter().map(|(stream, _)| *stream).collect();
        streams.sort_unstable();
        streams.dedup();
        streams.into_iter().map(|stream| self.streams[stream].counts.unreadable).sum()
    }

    fn query_stats(&self, id: QueryId, (timeline, place): (usize, usize)) -> QueryStats {
        let timeline = &self.timelines[timeline];
        let query = timeline.query(place);
        let clauses = query.definition.windows.iter().zip(&query.windows);
        QueryStats {
            id,
            evaluations: query.evaluations_by(self.reports_of(timeline)),
            state_size: query.state_size(),
            dropped_results: query.results.dropped(),
            windows: clauses
                .map(|(clause, window)| (clause.name.as_str().to_owned(), self.n_shown(timeline, *window)))
                .collect(),
            clock: known(self.clock_of(timeline)),
            reevaluates: query.reevaluates,
            unreadable_times: self.unreadable_times(timeline),
        }
    }
}

fn known(at: Timestamp) -> Option<Timestamp> {
    (at != Timestamp::MIN).then_some(at)
}
