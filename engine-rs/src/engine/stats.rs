//! Numbers about what runs.

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
    /// Elements in each window now, by window name.
    pub windows: Vec<(String, usize)>,
    pub clock: Option<Timestamp>,
    pub reevaluates: bool,
    /// Events left out of windows `@ :p` because what they say under `:p` is no time.
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

    /// How many leaves and queries events and time have led to so far: for tests of how that grows.
    #[doc(hidden)]
    #[must_use]
    pub fn n_visits(&self) -> u64 {
        self.timelines.iter().map(|timeline| timeline.rounds.n_visits).sum()
    }

    /// Lends the engine a clock that says nanoseconds and never goes back: from now on it measures how long queries are
    /// evaluated. Nothing else depends on it.
    pub fn lend_clock(&mut self, now_ns: fn() -> u64) {
        self.stopwatch = Some(Stopwatch::new(now_ns));
    }

    /// How long each query has been evaluated since it was registered or restored; nothing without a clock. Most of
    /// it is measured where instants are long, and reckoned from counted work where they are short. What queries do
    /// together is shared out by the work of each, so that all times add up to what was spent on evaluation.
    pub fn evaluation_times(&self) -> impl Iterator<Item = (QueryId, Duration)> + '_ {
        let measured = self.registry.places().filter(|_| self.stopwatch.is_some());
        measured.map(|(id, (timeline, place))| {
            (id, Duration::from_nanos(self.timelines[timeline].query(place).time.total_ns()))
        })
    }

    /// Counted since the first query that reads its stream by that predicate was registered.
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
