//! Finds the leaves of a window that an arriving triple may match: those whose constants it has.
//!
//! One table maps constants to leaves. A triple looks it up once for each combination of positions at which some leaf
//! has constants; there are eight combinations, and queries use one or two of them. The cost per triple does not depend
//! on the number of leaves. A few leaves are simply compared one by one, which is cheaper than a lookup.

use super::LeafId;
use crate::model::{EncodedTriple, TermId};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// The constants at subject, predicate and object; unbound where any term matches.
type Constants = [TermId; 3];

/// `L` is the target of a route: a leaf, or a stand-in for several leaves.
#[derive(Debug)]
pub(crate) struct Routes<L = LeafId> {
    leaves: HashMap<Constants, SmallVec<[L; 4]>, FixedState>,
    /// For each combination of positions, as bits: the number of table entries with constants there.
    n_keys: [u32; 8],
    n_leaves: usize,
    /// All leaves, while they are few.
    few: Vec<(Constants, L)>,
    few_max: usize,
}

impl<L> Default for Routes<L> {
    fn default() -> Self {
        Self { leaves: HashMap::default(), n_keys: [0; 8], n_leaves: 0, few: Vec::new(), few_max: 0 }
    }
}

impl<L: Copy + Ord + std::fmt::Debug> Routes<L> {
    /// Up to this many leaves are compared one by one, which is no slower than a lookup.
    pub(crate) fn new(few_max: usize) -> Self {
        Self { few_max, ..Self::default() }
    }

    /// Panics if the listed and counted leaves and those in the table are not these.
    pub(crate) fn check(&self, expected: impl Iterator<Item = ([Option<TermId>; 3], L)>) {
        let expected: BTreeSet<_> = expected.map(|(constants, leaf)| (key(constants), leaf)).collect();
        let table = self.leaves.iter().flat_map(|(key, leaves)| leaves.iter().map(|leaf| (*key, *leaf)));
        assert_eq!(table.collect::<BTreeSet<_>>(), expected, "routes: the leaves in the table");
        assert_eq!(self.n_leaves, expected.len(), "routes: the number of leaves");
        let is_listed = self.n_leaves <= self.few_max;
        let few: BTreeSet<_> = self.few.iter().copied().collect();
        assert!(few == if is_listed { expected } else { BTreeSet::new() }, "routes: the leaves that are listed");
        for places in 0..self.n_keys.len() {
            let is_here = |key: &&Constants| (0..3).all(|at| key[at].is_bound() == (places & (1 << at) != 0));
            let n_keys = self.leaves.keys().filter(is_here).count();
            assert_eq!(self.n_keys[places] as usize, n_keys, "routes: entries with constants at some places");
        }
    }

    pub(crate) fn add(&mut self, constants: [Option<TermId>; 3], leaf: L) {
        let (key, places) = (key(constants), places(constants));
        let leaves = self.leaves.entry(key).or_default();
        // Counts entries, not leaves: `each_leaf` skips a combination once its last entry has gone.
        self.n_keys[places] += u32::from(leaves.is_empty());
        leaves.push(leaf);
        self.n_leaves += 1;
        self.list_few();
    }

    pub(crate) fn remove(&mut self, constants: [Option<TermId>; 3], leaf: L) {
        let (key, places) = (key(constants), places(constants));
        let Some(leaves) = self.leaves.get_mut(&key) else { return };
        self.n_leaves -= leaves.len();
        leaves.retain(|other| *other != leaf);
        self.n_leaves += leaves.len();
        if leaves.is_empty() {
            self.leaves.remove(&key);
            self.n_keys[places] -= 1;
        }
        self.list_few();
    }

    fn list_few(&mut self) {
        let all = self.leaves.iter().flat_map(|(key, leaves)| leaves.iter().map(|leaf| (*key, *leaf)));
        self.few = if self.n_leaves <= self.few_max { all.collect() } else { Vec::new() };
    }

    /// Visits the leaves that a triple may match.
    #[inline]
    pub(crate) fn each_leaf(&self, triple: &EncodedTriple, mut visit: impl FnMut(L)) {
        if self.n_leaves > self.few_max {
            let used = (0..self.n_keys.len()).filter(|places| self.n_keys[*places] > 0);
            return used
                .filter_map(|places| self.leaves.get(&masked(triple, places)))
                .flatten()
                .copied()
                .for_each(visit);
        }
        for (key, leaf) in &self.few {
            if (0..3).all(|place| !key[place].is_bound() || key[place] == triple[place]) {
                visit(*leaf);
            }
        }
    }

    /// The leaf that a triple may match, if there is one and no other.
    #[inline]
    pub(crate) fn only_leaf(&self, triple: &EncodedTriple) -> Option<L> {
        let (mut only, mut n_leaves) = (None, 0);
        self.each_leaf(triple, |leaf| {
            only = Some(leaf);
            n_leaves += 1;
        });
        only.filter(|_| n_leaves == 1)
    }
}

fn key(constants: [Option<TermId>; 3]) -> Constants {
    constants.map(|constant| constant.unwrap_or(TermId::UNBOUND))
}

fn places(constants: [Option<TermId>; 3]) -> usize {
    (0..3).filter(|place| constants[*place].is_some()).map(|place| 1 << place).sum()
}

/// The terms of a triple at these positions.
#[inline]
fn masked(triple: &EncodedTriple, places: usize) -> Constants {
    std::array::from_fn(|place| if places & (1 << place) == 0 { TermId::UNBOUND } else { triple[place] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: i64) -> TermId {
        TermId::integer(n).expect("a small number")
    }

    #[test]
    fn a_triple_finds_the_leaves_whose_constants_it_has_and_no_others() {
        [0, 4, 100].into_iter().for_each(find_leaves);
    }

    fn find_leaves(few_max: usize) {
        let mut routes = Routes::new(few_max);
        let choices = [None, Some(id(1)), Some(id(2))];
        let mut patterns = Vec::new();
        for s in choices {
            for p in choices {
                for o in choices {
                    routes.add([s, p, o], LeafId(patterns.len() as u32));
                    patterns.push([s, p, o]);
                }
            }
        }
        let found = |routes: &Routes, triple: EncodedTriple| {
            let mut found = Vec::new();
            routes.each_leaf(&triple, |leaf| found.push(leaf.0));
            found.sort_unstable();
            found
        };
        let triple = [id(1), id(2), id(3)];
        let fits = |pattern: &[Option<TermId>; 3]| (0..3).all(|at| pattern[at].is_none_or(|c| c == triple[at]));
        let expected: Vec<u32> = (0..patterns.len() as u32).filter(|n| fits(&patterns[*n as usize])).collect();
        assert_eq!(found(&routes, triple), expected);
        for (number, pattern) in patterns.iter().enumerate() {
            routes.remove(*pattern, LeafId(number as u32));
            let left: Vec<u32> = expected.iter().copied().filter(|leaf| *leaf > number as u32).collect();
            assert_eq!(found(&routes, triple), left, "many or few");
            let only = (left.len() == 1).then(|| LeafId(left[0]));
            assert_eq!(routes.only_leaf(&triple), only);
        }
        assert!(found(&routes, triple).is_empty() && routes.n_keys == [0; 8]);
        assert_eq!((routes.n_leaves, routes.leaves.len(), routes.few.len()), (0, 0, 0));
    }
}
