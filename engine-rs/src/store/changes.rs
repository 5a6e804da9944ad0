//! Recent changes of the static graphs, so that a reader who knows an older version need not scan everything; and, for
//! each graph, the version in which it last changed.

use super::GraphId;
use crate::codec::{Decoded, Reader, Writer};
use crate::model::{EncodedTriple, TermId};
use std::collections::{BTreeMap, VecDeque};

/// How many changes are remembered. A reader who has missed more scans everything, like a new one.
const CHANGES_MAX: usize = 4096;

/// A triple that was added to a graph or removed from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub graph: GraphId,
    pub triple: EncodedTriple,
    pub comes: bool,
}

#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    /// Oldest first, each with the version it produced.
    changes: VecDeque<(u64, Change)>,
    /// Changes up to this version are forgotten.
    forgotten: u64,
    /// The version that last changed each existing graph.
    by_graph: BTreeMap<GraphId, u64>,
    /// The last version in which some graph was dropped.
    dropped: u64,
}

impl ChangeLog {
    /// Records the changes, creations and drops that produced this version.
    pub(super) fn add(&mut self, version: u64, changes: &[Change], created: &[TermId], dropped: &[TermId]) {
        let graphs = changes.iter().map(|change| change.graph).chain(created.iter().copied().map(Some));
        self.by_graph.extend(graphs.map(|graph| (graph, version)));
        for name in dropped {
            // One version for all dropped graphs: remembering each name would grow without bound, and a version that
            // is too late costs a reader a scan, never a change.
            self.by_graph.remove(&Some(*name));
            self.dropped = version;
        }
        self.changes.extend(changes.iter().map(|change| (version, *change)));
        // The changes of one version may be cut in two here; `forgotten` is then that version, so that no reader
        // applies the second half alone.
        while self.changes.len() > CHANGES_MAX {
            self.forgotten = self.changes.pop_front().map_or(self.forgotten, |(version, _)| version);
        }
    }

    /// Forgets everything recorded so far.
    pub(super) fn forget(&mut self, version: u64) {
        self.changes.clear();
        self.forgotten = version;
    }

    /// The changes since this version, in order; `None` if some of them are forgotten.
    pub(super) fn since(&self, version: u64) -> Option<impl Iterator<Item = Change> + '_> {
        let first = self.changes.partition_point(|(made, _)| *made <= version);
        (version >= self.forgotten).then(|| self.changes.range(first..).map(|(_, change)| *change))
    }

    /// The version that last changed a graph. For a graph that does not exist, this is the version of the last drop of
    /// any graph, which is an upper bound.
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
