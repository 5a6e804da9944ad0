//! A change of the static graphs that happens completely or not at all.
//!
//! Changes are made in place and recorded in a journal. A commit adds the records up: adding and removing the same
//! triple is no change, and only a change increases the version. A transaction that is dropped without a commit,
//! because of an error or a panic, plays its journal backwards. Cost: the size of the change.

use super::{Change, GraphId, StaticGraphs, TripleSet};
use crate::model::{EncodedTriple, TermId};
use std::collections::HashMap;
use std::ops::Deref;

#[derive(Clone, Copy, Debug)]
enum Note {
    Inserted(GraphId, EncodedTriple),
    Removed(GraphId, EncodedTriple),
    Created(TermId),
    Dropped(TermId),
}

/// The net numbers of added and removed triples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Changes {
    pub inserted: usize,
    pub deleted: usize,
}

#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    graphs: &'a mut StaticGraphs,
    journal: Vec<Note>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(graphs: &'a mut StaticGraphs) -> Self {
        Self { graphs, journal: Vec::new() }
    }

    /// Adds a triple, creating a named graph if needed. False if it was present.
    pub(crate) fn insert(&mut self, graph: GraphId, triple: EncodedTriple) -> bool {
        graph.map(|name| self.create(name));
        let is_new = self.set(graph).is_some_and(|set| set.insert(triple));
        if is_new {
            self.journal.push(Note::Inserted(graph, triple));
        }
        is_new
    }

    /// Removes a triple; a named graph stays even if empty. False if it was absent.
    pub(crate) fn remove(&mut self, graph: GraphId, triple: EncodedTriple) -> bool {
        let was_there = self.set(graph).is_some_and(|set| set.remove(&triple));
        if was_there {
            self.journal.push(Note::Removed(graph, triple));
        }
        was_there
    }

    /// Creates a named graph; false if it exists.
    pub(crate) fn create(&mut self, name: TermId) -> bool {
        let is_new = !self.graphs.named.contains_key(&name);
        if is_new {
            self.graphs.named.insert(name, TripleSet::default());
            self.journal.push(Note::Created(name));
        }
        is_new
    }

    /// Removes all triples of a graph.
    pub(crate) fn clear(&mut self, graph: GraphId) {
        let triples: Vec<_> = self.set(graph).into_iter().flat_map(|set| set.matching(None, None, None)).collect();
        triples.into_iter().for_each(|triple| {
            self.remove(graph, triple);
        });
    }

    /// Drops a graph; the default graph is cleared instead.
    pub(crate) fn drop_graph(&mut self, graph: GraphId) {
        self.clear(graph);
        if let Some(name) = graph
            && self.graphs.named.remove(&name).is_some()
        {
            self.journal.push(Note::Dropped(name));
        }
    }

    /// Replaces the triples of a graph.
    pub(crate) fn replace(&mut self, graph: GraphId, triples: &[EncodedTriple]) {
        graph.map(|name| self.create(name));
        let mut next = TripleSet::default();
        triples.iter().for_each(|triple| {
            next.insert(*triple);
        });
        let present = self.set(graph).into_iter().flat_map(|set| set.matching(None, None, None));
        let gone: Vec<_> = present.filter(|triple| !next.contains(triple)).collect();
        gone.into_iter().for_each(|triple| {
            self.remove(graph, triple);
        });
        triples.iter().for_each(|triple| {
            self.insert(graph, *triple);
        });
    }

    /// Keeps the changes and returns their net size.
    pub(crate) fn commit(mut self) -> Changes {
        let (mut triples, mut names) = (HashMap::<_, i32>::new(), HashMap::<_, i32>::new());
        for note in std::mem::take(&mut self.journal) {
            match note {
                Note::Inserted(graph, triple) => *triples.entry((graph, triple)).or_default() += 1,
                Note::Removed(graph, triple) => {
                    // Added up and not overwritten: a triple that was removed and inserted again has not changed.
                    *triples.entry((graph, triple)).or_default() -= 1;
                    self.graphs.removed += 1;
                }
                Note::Created(name) => *names.entry(name).or_default() += 1,
                Note::Dropped(name) => *names.entry(name).or_default() -= 1,
            }
        }
        let count = |sign: i32| triples.values().filter(|change| **change == sign).count();
        let changes = Changes { inserted: count(1), deleted: count(-1) };
        if changes != Changes::default() || names.values().any(|change| *change != 0) {
            self.graphs.version += 1;
            self.note(&triples, &names);
        }
        changes
    }

    /// Records the changes of the version in graph order, because hash maps have none.
    fn note(&mut self, triples: &HashMap<(GraphId, EncodedTriple), i32>, names: &HashMap<TermId, i32>) {
        let changed = triples.iter().filter(|(_, change)| **change != 0);
        let mut changes: Vec<Change> = changed
            .map(|((graph, triple), change)| Change { graph: *graph, triple: *triple, comes: *change > 0 })
            .collect();
        changes.sort_unstable_by_key(|change| (change.graph, change.triple));
        let named = |sign: i32| names.iter().filter(|(_, change)| **change == sign).map(|(name, _)| *name).collect();
        let (created, dropped): (Vec<TermId>, Vec<TermId>) = (named(1), named(-1));
        self.graphs.log.add(self.graphs.version, &changes, &created, &dropped);
    }

    fn set(&mut self, graph: GraphId) -> Option<&mut TripleSet> {
        match graph {
            None => Some(&mut self.graphs.default),
            Some(name) => self.graphs.named.get_mut(&name),
        }
    }

    fn undo(&mut self, note: Note) {
        match note {
            Note::Inserted(graph, triple) => {
                self.set(graph).map(|set| set.remove(&triple));
                self.graphs.removed += 1;
            }
            Note::Removed(graph, triple) => {
                self.set(graph).map(|set| set.insert(triple));
            }
            Note::Created(name) => {
                self.graphs.named.remove(&name);
            }
            // Empty: the removals of its triples are in the journal, too, before this note, and are undone after it.
            Note::Dropped(name) => {
                self.graphs.named.insert(name, TripleSet::default());
            }
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = StaticGraphs;

    fn deref(&self) -> &StaticGraphs {
        self.graphs
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        while let Some(note) = self.journal.pop() {
            self.undo(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triple(n: u32) -> EncodedTriple {
        [TermId::from_slot(n), TermId::from_slot(n), TermId::from_slot(n)]
    }

    fn content(graphs: &StaticGraphs) -> Vec<(GraphId, Vec<EncodedTriple>)> {
        let named = graphs.named.iter().map(|(name, set)| (Some(*name), set));
        let all = std::iter::once((None, &graphs.default)).chain(named);
        all.map(|(name, set)| (name, set.matching(None, None, None).collect())).collect()
    }

    #[test]
    fn what_is_not_committed_leaves_no_trace() {
        let mut graphs = StaticGraphs::default();
        let (a, b) = (TermId::from_slot(100), TermId::from_slot(101));
        let mut first = graphs.begin();
        first.insert(None, triple(1));
        first.insert(Some(a), triple(2));
        first.commit();
        let (before, version) = (content(&graphs), graphs.version());
        let mut second = graphs.begin();
        second.drop_graph(Some(a));
        second.insert(Some(a), triple(3));
        second.insert(Some(b), triple(4));
        second.clear(None);
        second.replace(None, &[triple(5)]);
        drop(second);
        assert_eq!((content(&graphs), graphs.version()), (before, version));
    }

    #[test]
    fn only_a_change_moves_the_version() {
        let mut graphs = StaticGraphs::default();
        let mut change = graphs.begin();
        change.replace(None, &[triple(1), triple(2)]);
        assert_eq!(change.commit(), Changes { inserted: 2, deleted: 0 });
        let version = graphs.version();
        let mut change = graphs.begin();
        change.replace(None, &[triple(2), triple(1)]);
        change.insert(Some(TermId::from_slot(100)), triple(3));
        change.drop_graph(Some(TermId::from_slot(100)));
        assert_eq!(change.commit(), Changes::default());
        assert_eq!(graphs.version(), version);
        let mut change = graphs.begin();
        change.create(TermId::from_slot(100));
        assert_eq!(change.commit(), Changes::default());
        assert_ne!(graphs.version(), version, "a graph that exists can be asked for");
    }
}
