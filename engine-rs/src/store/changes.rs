//! What came and went lately in the static graphs, so that a reader who has seen a version of them need not look at
//! everything again; and, for each graph, the version in which it changed last.

use super::GraphId;
use crate::codec::{Decoded, Reader, Writer};
use crate::model::{EncodedTriple, TermId};
use std::collections::{BTreeMap, VecDeque};

/// So many changes are remembered. Who has missed more looks at everything, as one who comes new.
const CHANGES_MAX: usize = 4096;

/// A triple that came to a graph, or went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub graph: GraphId,
    pub triple: EncodedTriple,
    pub comes: bool,
}

#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    /// With the version that each made, oldest first.
    changes: VecDeque<(u64, Change)>,
    /// What made the versions up to this one is forgotten.
    forgotten: u64,
    /// The version that changed a graph last, for those that exist.
    by_graph: BTreeMap<GraphId, u64>,
    /// The version in which some graph ceased to exist.
    dropped: u64,
}

impl ChangeLog {
    /// These changes have made this version, and these graphs came to exist or ceased to.
    pub(super) fn add(&mut self, version: u64, changes: &[Change], created: &[TermId], dropped: &[TermId]) {
        let graphs = changes.iter().map(|change| change.graph).chain(created.iter().copied().map(Some));
        self.by_graph.extend(graphs.map(|graph| (graph, version)));
        for name in dropped {
            self.by_graph.remove(&Some(*name));
            self.dropped = version;
        }
        self.changes.extend(changes.iter().map(|change| (version, *change)));
        while self.changes.len() > CHANGES_MAX {
            self.forgotten = self.changes.pop_front().map_or(self.forgotten, |(version, _)| version);
        }
    }

    /// Nothing that was noted so far is remembered.
    pub(super) fn forget(&mut self, version: u64) {
        self.changes.clear();
        self.forgotten = version;
    }

    /// What has changed since this version, in order; none when not all of it is remembered.
    pub(super) fn since(&self, version: u64) -> Option<impl Iterator<Item = Change> + '_> {
        let first = self.changes.partition_point(|(made, _)| *made <= version);
        (version >= self.forgotten).then(|| self.changes.range(first..).map(|(_, change)| *change))
    }

    /// The version that changed a graph last. Of a graph that does not exist nobody knows when it was dropped: no later
    /// than any of them.
    pub(super) fn version_of(&self, graph: GraphId) -> u64 {
        self.by_graph.get(&graph).copied().unwrap_or(self.dropped)
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.list(self.changes.iter(), |to, (version, change)| {
            to.u64(*version);
            save_graph(to, change.graph);
            to.ids(change.triple.iter().copied());
            to.bool(change.comes);
        });
        to.u64(self.forgotten);
        to.list(self.by_graph.iter(), |to, (graph, version)| {
            save_graph(to, *graph);
            to.u64(*version);
        });
        to.u64(self.dropped);
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let changes = from.list(34, |from| {
            let (version, graph) = (from.u64()?, from.option(Reader::id)?);
            Ok((version, Change { graph, triple: [from.id()?, from.id()?, from.id()?], comes: from.bool()? }))
        })?;
        let forgotten = from.u64()?;
        let by_graph = from.list(9, |from| Ok((from.option(Reader::id)?, from.u64()?)))?;
        Ok(Self { changes, forgotten, by_graph, dropped: from.u64()? })
    }
}

fn save_graph(to: &mut Writer, graph: GraphId) {
    to.option(graph, Writer::id);
}
