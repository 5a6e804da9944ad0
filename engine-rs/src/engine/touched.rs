//! A set of queries with changed inputs: each is listed once, and no other query is visited.

use crate::leaf::QueryPlace;

#[derive(Debug, Default)]
pub(super) struct Touched {
    listed: Vec<QueryPlace>,
    is_listed: Vec<bool>,
}

impl Touched {
    #[inline]
    pub(super) fn add(&mut self, query: QueryPlace) {
        let at = query.at();
        if at >= self.is_listed.len() {
            self.is_listed.resize(at + 1, false);
        }
        if !self.is_listed[at] {
            self.is_listed[at] = true;
            self.listed.push(query);
        }
    }

    /// The place may be given to another query from now on.
    pub(super) fn remove(&mut self, query: QueryPlace) {
        if self.contains(query) {
            self.is_listed[query.at()] = false;
            self.listed.retain(|listed| *listed != query);
        }
    }

    pub(super) fn contains(&self, query: QueryPlace) -> bool {
        self.is_listed.get(query.at()).is_some_and(|listed| *listed)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(super) fn add_all(&mut self, others: &mut Self) {
        others.listed.drain(..).for_each(|query| {
            others.is_listed[query.at()] = false;
            self.add(query);
        });
    }

    /// Takes the list, sorted by place, and leaves it empty.
    pub(super) fn take(&mut self) -> Vec<QueryPlace> {
        self.listed.iter().for_each(|query| self.is_listed[query.at()] = false);
        if self.listed.len() > 1 {
            self.listed.sort_unstable();
        }
        std::mem::take(&mut self.listed)
    }

    /// Returns the memory of a list for reuse.
    pub(super) fn reuse(&mut self, mut list: Vec<QueryPlace>) {
        if self.listed.is_empty() {
            list.clear();
            self.listed = list;
        }
    }
}
