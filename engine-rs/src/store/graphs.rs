//! Static data: the default graph and named graphs, in the same ids as the streams.

use super::TripleSet;
use crate::model::{EncodedTriple, TermId};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct StaticGraphs {
    default: TripleSet,
    named: BTreeMap<TermId, TripleSet>,
    /// Grows with every change, so that queries know when to look again.
    version: u64,
}

impl StaticGraphs {
    /// Adds triples to a graph (`None`: the default graph); gives how many were new.
    pub(crate) fn insert(&mut self, graph: Option<TermId>, triples: impl Iterator<Item = EncodedTriple>) -> usize {
        let set = match graph {
            Some(name) => self.named.entry(name).or_default(),
            None => &mut self.default,
        };
        let added = triples.filter(|triple| set.insert(*triple)).count();
        self.version += 1;
        added
    }

    pub(crate) fn default_graph(&self) -> &TripleSet {
        &self.default
    }

    pub(crate) fn named(&self) -> &BTreeMap<TermId, TripleSet> {
        &self.named
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn len(&self) -> usize {
        self.default.len() + self.named.values().map(TripleSet::len).sum::<usize>()
    }
}
