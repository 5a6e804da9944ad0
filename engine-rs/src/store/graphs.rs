//! Static data: the default graph and named graphs, over the same term ids as the streams.
//!
//! A named graph exists from its creation or first triple until it is dropped, even while it is empty. All changes go
//! through a [`Transaction`], which is committed or undone as a whole.

use super::changes::ChangeLog;
use super::{Change, Transaction, TripleSet};
use crate::codec::{Decoded, Reader, Writer};
use crate::model::TermId;
use std::collections::BTreeMap;

/// A graph: `None` is the default graph.
pub(crate) type GraphId = Option<TermId>;

#[derive(Debug, Default)]
pub(crate) struct StaticGraphs {
    pub(super) default: TripleSet,
    pub(super) named: BTreeMap<TermId, TripleSet>,
    /// Increases with every change, so that queries know when to read again.
    pub(super) version: u64,
    /// Triples removed since unused terms were last released.
    pub(super) removed: usize,
    pub(super) log: ChangeLog,
}

impl StaticGraphs {
    /// Graphs that never change.
    pub(crate) fn of(default: TripleSet, named: BTreeMap<TermId, TripleSet>) -> Self {
        Self { default, named, version: 0, removed: 0, log: ChangeLog::default() }
    }

    /// No graphs yet; this many changes of them are kept.
    pub(crate) fn remembering(changes: usize) -> Self {
        Self { log: ChangeLog::new(changes), ..Self::default() }
    }

    /// Begins a transaction; it is undone when dropped without a commit.
    pub(crate) fn begin(&mut self) -> Transaction<'_> {
        Transaction::new(self)
    }

    pub(crate) fn default_graph(&self) -> &TripleSet {
        &self.default
    }

    pub(crate) fn named(&self) -> &BTreeMap<TermId, TripleSet> {
        &self.named
    }

    pub(crate) fn graph(&self, graph: GraphId) -> Option<&TripleSet> {
        match graph {
            None => Some(&self.default),
            Some(name) => self.named.get(&name),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The version that changed a graph last.
    pub(crate) fn version_of(&self, graph: GraphId) -> u64 {
        self.log.version_of(graph)
    }

    /// The changes since a version, in order; `None` if there are too many.
    pub(crate) fn changes_since(&self, version: u64) -> Option<impl Iterator<Item = Change> + '_> {
        self.log.since(version)
    }

    /// Released term ids lose their meaning, so changes that mention them must be forgotten.
    pub(crate) fn forget_changes(&mut self) {
        self.log.forget(self.version);
    }

    pub(crate) fn len(&self) -> usize {
        self.default.len() + self.named.values().map(TripleSet::len).sum::<usize>()
    }

    /// The terms of all triples, and the names of the graphs.
    pub(crate) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        let sets = std::iter::once(&self.default).chain(self.named.values());
        let in_triples = sets.flat_map(|set| set.matching(None, None, None)).flatten();
        in_triples.chain(self.named.keys().copied())
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        to.u64(self.version);
        to.count(self.removed);
        self.log.save(to);
        self.default.save(to);
        to.list(self.named.iter(), |to, (name, graph)| {
            to.id(*name);
            graph.save(to);
        });
    }

    pub(crate) fn restored(changes: usize, from: &mut Reader<'_>) -> Decoded<Self> {
        let (version, removed, log) = (from.u64()?, from.number()?, ChangeLog::restored(changes, from)?);
        let default = TripleSet::restored(from)?;
        let named = from.list(16, |from| Ok((from.id()?, TripleSet::restored(from)?)))?;
        Ok(Self { default, named, version, removed, log })
    }

    /// Whether enough triples were removed that a scan of the rest pays off; true once, then the count restarts.
    pub(crate) fn release_is_due(&mut self, removed_min: usize) -> bool {
        let is_due = self.removed >= removed_min.max(self.len());
        if is_due {
            self.removed = 0;
        }
        is_due
    }
}
