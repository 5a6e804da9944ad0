//! The queries with unread results, so that the others need not be visited.
//!
//! A query is listed when an evaluation leaves it with results or ends it. Draining it only clears a mark on the query;
//! the list is cleaned up once half of it is out of date. Listing and draining therefore take constant time, however
//! many queries wait.

use super::Engine;
use super::query::RunningQuery;
use super::registry::QueryId;

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// In the order of listing. May contain drained queries, and duplicates of them.
    listed: Vec<QueryId>,
    /// How many queries are marked as listed.
    n_marked: usize,
}

/// A shorter list is not worth cleaning up.
const TIDIED_MIN: usize = 32;

impl Waiting {
    /// Lists a query if it has results or has failed.
    #[inline]
    pub(super) fn note(&mut self, query: &mut RunningQuery) {
        if !query.is_listed && query.is_waiting() {
            query.is_listed = true;
            self.n_marked += 1;
            self.listed.push(query.id);
        }
    }

    /// Unlists a query that was drained or removed.
    pub(super) fn clear(&mut self, query: &mut RunningQuery) {
        self.n_marked -= usize::from(std::mem::take(&mut query.is_listed));
    }
}

impl Engine {
    /// The queries with undrained results, and those that have failed.
    #[must_use]
    pub fn waiting(&self) -> Vec<QueryId> {
        let mut waiting: Vec<QueryId> = self.waiting.listed.iter().copied().filter(|id| self.is_listed(*id)).collect();
        waiting.sort_unstable();
        waiting.dedup();
        waiting
    }

    fn is_listed(&self, id: QueryId) -> bool {
        self.place(id).is_ok_and(|(timeline, place)| self.timelines[timeline].query(place).is_listed)
    }

    /// Cleans up the list once half of it is out of date, or all.
    pub(super) fn tidy_waiting(&mut self) {
        let Waiting { listed, n_marked } = &mut self.waiting;
        if *n_marked == 0 {
            listed.clear();
        } else if listed.len() >= TIDIED_MIN && listed.len() > 2 * *n_marked {
            self.waiting.listed = self.waiting();
        }
    }

    /// Lists the queries of a restored engine.
    pub(super) fn list_waiting(&mut self) {
        let Self { registry, timelines, waiting, .. } = self;
        for (_, (timeline, place)) in registry.places() {
            waiting.note(timelines[timeline].query_mut(place));
        }
    }
}
