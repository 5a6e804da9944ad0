//! The fixed part of a join: its buffers, the variables they bind, and the indexes that probing needs.

use crate::index::{IndexId, RingStore, ValueRange};
use crate::leaf::Leaf;
use crate::model::TermId;
use crate::thresholds::Thresholds;
use smallvec::SmallVec;

/// Where the mappings of a buffer are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferSource {
    /// A shared leaf of the timeline.
    Leaf(usize),
    /// A store of this join, filled from the operator's input with this number.
    Input(usize),
}

/// A buffer as the planner describes it.
#[derive(Clone, Debug)]
pub(crate) struct BufferSpec {
    pub source: BufferSource,
    /// For each column, the variable of the join it holds, and whether it is always bound.
    pub columns: Vec<(u8, bool)>,
    /// Its mappings come from static data only and remain when every window is empty.
    pub is_static: bool,
}

/// Sets of variables and of buffers, one bit each. Variables beyond [`INDEXED_VARS`] have no bit: like variables that
/// may be unbound, they are compared when mappings meet and are never part of a key.
pub(crate) type VarSet = u64;
pub(crate) type BufferSet = u32;

/// Variables of a join that have a bit in a [`VarSet`].
pub(crate) const INDEXED_VARS: usize = VarSet::BITS as usize;

#[derive(Debug)]
pub(crate) struct Buffer {
    pub source: BufferSource,
    pub vars: SmallVec<[u8; 4]>,
    pub certain: VarSet,
    /// Other buffers over the same leaf, before and after this one. A mapping plays one role after the other and must
    /// meet itself exactly once in each combination of roles: while it arrives, later roles do not see it yet; while it
    /// leaves, earlier roles no longer see it. A departure thus finds the same combinations as the arrival did.
    pub earlier: BufferSet,
    pub later: BufferSet,
    /// One entry for each set of variables that may be bound when this buffer is probed.
    pub keys: Vec<Key>,
    /// Comparisons with variables of buffers that no chain of shared variables leads to: by them, the buffer can be
    /// scanned where it is the first of its part of the join.
    pub ranges: Vec<Range>,
    /// Merges a mapping into a row that binds no variable of the buffer.
    pub copies: Option<Copies>,
}

/// Columns and the variables to copy them to; `None` instead, where copying alone is not enough.
pub(crate) type Copies = Box<[(u8, u8)]>;

/// A comparison of the buffer's ordered column with another variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    other: u8,
    is_greater: bool,
}

/// An index of a buffer's store and where its key comes from.
#[derive(Debug)]
pub(crate) struct Key {
    pub bound: VarSet,
    pub index: IndexId,
    pub vars: Box<[u8]>,
    /// Merges a mapping with this key into a row that binds the variables of the key and no others of the buffer.
    pub copies: Option<Copies>,
}

#[derive(Debug)]
pub(crate) struct JoinShape {
    pub buffers: Vec<Buffer>,
    pub all: BufferSet,
    pub n_vars: usize,
    /// Variables that some buffer may leave unbound.
    pub uncertain: VarSet,
}

impl JoinShape {
    /// Lays out the buffers and acquires every index that some probing order may need.
    pub(crate) fn new(
        specs: &[BufferSpec],
        n_vars: usize,
        ranges: &[(u8, u8)],
        leaves: &mut [Leaf],
        inputs: &mut [RingStore],
        thresholds: Thresholds,
    ) -> Self {
        let mut buffers: Vec<Buffer> = specs.iter().map(buffer).collect();
        for (at, spec) in specs.iter().enumerate() {
            let same = |range: std::ops::Range<usize>| -> BufferSet {
                range.filter(|other| specs[*other].source == spec.source).map(|other| 1 << other).sum()
            };
            buffers[at].earlier = same(0..at);
            buffers[at].later = same(at + 1..specs.len());
        }
        for (at, bound) in reachable_keys(&buffers, thresholds) {
            let buffer = &mut buffers[at];
            let store = match buffer.source {
                BufferSource::Leaf(leaf) => &mut leaves[leaf].store,
                BufferSource::Input(input) => &mut inputs[input],
            };
            let columns: SmallVec<[u8; 4]> =
                (0..buffer.vars.len() as u8).filter(|c| bound & bit(buffer.vars[*c as usize]) != 0).collect();
            let vars = columns.iter().map(|c| buffer.vars[*c as usize]).collect();
            buffer.keys.push(Key { bound, index: store.acquire_index(&columns), vars, copies: None });
        }
        let parts = parts_of(&buffers);
        for at in 0..buffers.len() {
            let elsewhere = (0..buffers.len()).filter(|other| parts[*other] != parts[at]);
            let compared = elsewhere.fold(0, |set, other| set | buffers[other].certain);
            order_by_comparison(&mut buffers[at], compared, ranges, leaves, inputs);
        }
        let all = |buffer: &Buffer| buffer.vars.iter().fold(0, |set, var| set | bit(*var));
        let uncertain = buffers.iter().fold(0, |set, buffer| set | (all(buffer) & !buffer.certain));
        for buffer in &mut buffers {
            buffer.copies = copies(&buffer.vars, 0, uncertain);
            for key in &mut buffer.keys {
                key.copies = copies(&buffer.vars, key.bound, uncertain);
            }
        }
        Self { all: ((1_u64 << buffers.len()) - 1) as BufferSet, buffers, n_vars, uncertain }
    }

    /// Releases the indexes of shared leaves.
    pub(crate) fn release(&self, leaves: &mut [Leaf]) {
        for buffer in &self.buffers {
            if let BufferSource::Leaf(leaf) = buffer.source {
                for key in &buffer.keys {
                    leaves[leaf].store.release_index(key.index);
                }
            }
        }
    }
}

/// How to merge a mapping into a row that binds these of its variables, with equal values. `None` if a variable may be
/// unbound or has no bit: then the content of the row decides.
fn copies(vars: &[u8], bound: VarSet, uncertain: VarSet) -> Option<Copies> {
    let is_settled = |var: &u8| bit(*var) != 0 && bit(*var) & uncertain == 0;
    let columns = (0_u8..).zip(vars.iter().copied());
    let new = columns.filter(|(_, var)| bit(*var) & bound == 0);
    vars.iter().all(is_settled).then(|| new.collect())
}

/// For each buffer, the first one that a chain of shared variables connects it with.
fn parts_of(buffers: &[Buffer]) -> SmallVec<[usize; 8]> {
    let mut parts: SmallVec<[usize; 8]> = (0..buffers.len()).collect();
    for (at, buffer) in buffers.iter().enumerate() {
        for other in (0..at).filter(|other| buffers[*other].certain & buffer.certain != 0) {
            let (joined, into) = (parts[at].max(parts[other]), parts[at].min(parts[other]));
            parts.iter_mut().filter(|part| **part == joined).for_each(|part| *part = into);
        }
    }
    parts
}

/// Keeps a buffer in the order of a column that some filter compares with one of these variables.
fn order_by_comparison(
    buffer: &mut Buffer,
    compared: VarSet,
    ranges: &[(u8, u8)],
    leaves: &mut [Leaf],
    inputs: &mut [RingStore],
) {
    let column_of = |var: u8| buffer.vars.iter().position(|v| *v == var);
    let mut ordered: Option<usize> = None;
    for (smaller, greater) in ranges {
        for (own, other, is_greater) in [(*smaller, *greater, false), (*greater, *smaller, true)] {
            let Some(column) = column_of(own) else { continue };
            if compared & bit(other) != 0 && ordered.is_none_or(|c| c == column) {
                ordered = Some(column);
                buffer.ranges.push(Range { other, is_greater });
            }
        }
    }
    let Some(column) = ordered else { return };
    let store = match buffer.source {
        BufferSource::Leaf(leaf) => &mut leaves[leaf].store,
        BufferSource::Input(input) => &mut inputs[input],
    };
    if !store.acquire_order(column) {
        buffer.ranges.clear();
    }
}

impl Buffer {
    /// Whether it is scanned by a range where these variables are bound.
    pub(crate) fn is_ranged(&self, bound: VarSet) -> bool {
        self.ranges.iter().any(|range| bound & bit(range.other) != 0)
    }

    /// The range to scan: one comparison for each end, with what is bound.
    pub(crate) fn range(&self, bound: VarSet, row: &[TermId]) -> ValueRange {
        let end = |is_greater: bool| {
            let mut ranges = self.ranges.iter().filter(|range| bound & bit(range.other) != 0);
            ranges.find(|range| range.is_greater == is_greater).map(|range| row[range.other as usize])
        };
        ValueRange { at_least: end(true), at_most: end(false) }
    }

    /// How to merge a mapping that was found by this key.
    #[inline]
    pub(crate) fn copies_with<'a>(&'a self, key: Option<&'a Key>, bound: VarSet) -> Option<&'a Copies> {
        match key {
            Some(key) if key.bound == self.certain & bound => key.copies.as_ref(),
            None if self.certain & bound == 0 => self.copies.as_ref(),
            _ => None,
        }
    }

    /// The index to use when these variables of the buffer are bound.
    #[inline]
    pub(crate) fn key(&self, bound: VarSet) -> Option<&Key> {
        let exact = self.keys.iter().find(|key| key.bound == bound);
        if exact.is_some() || bound == 0 { exact } else { self.narrower_key(bound) }
    }

    /// The index on the largest subset of these variables; the others are compared afterwards.
    #[cold]
    fn narrower_key(&self, bound: VarSet) -> Option<&Key> {
        let narrower = self.keys.iter().filter(|key| key.bound & !bound == 0);
        narrower.rev().max_by_key(|key| key.bound.count_ones())
    }
}

pub(crate) fn bit(var: u8) -> VarSet {
    VarSet::from(1_u8).checked_shl(var.into()).unwrap_or(0)
}

fn buffer(spec: &BufferSpec) -> Buffer {
    let certain = spec.columns.iter().filter(|(_, certain)| *certain).fold(0, |set, (var, _)| set | bit(*var));
    Buffer {
        source: spec.source,
        vars: spec.columns.iter().map(|(var, _)| *var).collect(),
        certain,
        earlier: 0,
        later: 0,
        keys: Vec::new(),
        ranges: Vec::new(),
        copies: None,
    }
}

/// Every (buffer, bound variables of it) that can occur: starting anywhere, visiting connected buffers in any order.
/// The exact search is exponential in the number of buffers. For many buffers, every non-empty subset of the shared
/// variables is taken instead; if these are many too, each one alone and all together.
fn reachable_keys(buffers: &[Buffer], thresholds: Thresholds) -> Vec<(usize, VarSet)> {
    let mut found = Vec::new();
    let mut add = |at: usize, bound: VarSet| {
        if bound != 0 && !found.contains(&(at, bound)) {
            found.push((at, bound));
        }
    };
    if buffers.len() <= thresholds.buffers_ordered_max {
        visit_orders(buffers, &mut add);
    } else {
        for (at, buffer) in buffers.iter().enumerate() {
            let others = buffers.iter().enumerate().filter(|(i, _)| *i != at);
            let shared = buffer.certain & others.map(|(_, b)| b.certain).fold(0, |a, b| a | b);
            if shared.count_ones() > thresholds.subsets_indexed_max {
                (0..VarSet::BITS).map(|var| shared & (1 << var)).chain([shared]).for_each(|bound| add(at, bound));
            } else {
                subsets(shared).for_each(|bound| add(at, bound));
            }
        }
    }
    found
}

fn visit_orders(buffers: &[Buffer], add: &mut impl FnMut(usize, VarSet)) {
    let mut seen = vec![false; 1 << buffers.len()];
    let mut stack: Vec<BufferSet> = (0..buffers.len()).map(|i| 1 << i).collect();
    while let Some(done) = stack.pop() {
        if std::mem::replace(&mut seen[done as usize], true) {
            continue;
        }
        let bound =
            buffers.iter().enumerate().filter(|(i, _)| done & (1 << i) != 0).fold(0, |set, (_, b)| set | b.certain);
        let open = || buffers.iter().enumerate().filter(|(i, _)| done & (1 << i) == 0);
        // A buffer that shares no bound variable is visited only if no other buffer does.
        let any_shares = open().any(|(_, buffer)| buffer.certain & bound != 0);
        for (at, buffer) in open().filter(|(_, buffer)| !any_shares || buffer.certain & bound != 0) {
            add(at, buffer.certain & bound);
            stack.push(done | (1 << at));
        }
    }
}

/// Non-empty subsets of a small set.
fn subsets(set: VarSet) -> impl Iterator<Item = VarSet> {
    let mut next = Some(set);
    std::iter::from_fn(move || {
        let current = next.filter(|s| *s != 0)?;
        next = Some((current - 1) & set);
        Some(current)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn buffers(columns: &[&[u8]]) -> Vec<Buffer> {
        let spec = |vars: &&[u8]| BufferSpec {
            source: BufferSource::Input(0),
            columns: vars.iter().map(|var| (*var, true)).collect(),
            is_static: false,
        };
        columns.iter().map(|vars| buffer(&spec(vars))).collect()
    }

    /// For each buffer, the sets of variables it has an index on.
    fn keys(columns: &[&[u8]]) -> Vec<BTreeSet<Vec<u8>>> {
        let mut keys = vec![BTreeSet::new(); columns.len()];
        for (at, bound) in reachable_keys(&buffers(columns), Thresholds::default()) {
            assert!(keys[at].insert((0..64).filter(|var| bound & bit(*var) != 0).collect()), "an index is made once");
        }
        keys
    }

    fn sets(sets: &[&[u8]]) -> BTreeSet<Vec<u8>> {
        sets.iter().map(|set| set.to_vec()).collect()
    }

    #[test]
    fn a_chain_has_an_index_on_each_variable_it_can_be_entered_by() {
        let found = keys(&[&[0, 1], &[1, 2], &[2, 3]]);
        assert_eq!(found, [sets(&[&[1]]), sets(&[&[1], &[2]]), sets(&[&[2]])]);
    }

    #[test]
    fn a_triangle_is_entered_by_one_variable_and_closed_by_two() {
        let found = keys(&[&[0, 1], &[1, 2], &[2, 0]]);
        let (a, b, c): (&[u8], &[u8], &[u8]) = (&[0], &[1], &[2]);
        assert_eq!(found, [sets(&[a, b, &[0, 1]]), sets(&[b, c, &[1, 2]]), sets(&[a, c, &[0, 2]])]);
    }

    #[test]
    fn buffers_that_share_nothing_have_no_index() {
        assert_eq!(keys(&[&[0, 1], &[2], &[2, 3]]), [sets(&[]), sets(&[&[2]]), sets(&[&[2]])]);
    }

    #[test]
    fn of_many_buffers_each_has_an_index_on_every_subset_it_shares() {
        let chain: Vec<[u8; 2]> = (0..11).map(|n| [n, n + 1]).collect();
        let chain: Vec<&[u8]> = chain.iter().map(|vars| &vars[..]).collect();
        let found = keys(&chain);
        assert_eq!((&found[0], &found[10]), (&sets(&[&[1]]), &sets(&[&[10]])));
        for (n, found) in (1_u8..10).zip(&found[1..]) {
            assert_eq!(found, &sets(&[&[n], &[n + 1], &[n, n + 1]]));
        }
    }

    #[test]
    fn a_buffer_that_shares_many_variables_has_an_index_on_each_and_on_all() {
        for (n_shared, n_indexes) in [(6_u8, 63), (7, 8)] {
            let wide: Vec<u8> = (0..n_shared).collect();
            let ones: Vec<[u8; 1]> = (0..10).map(|n| [n % n_shared]).collect();
            let columns: Vec<&[u8]> = std::iter::once(&wide[..]).chain(ones.iter().map(|one| &one[..])).collect();
            let found = keys(&columns);
            assert_eq!(found[0].len(), n_indexes);
            assert!(found[0].contains(&wide) && (0..n_shared).all(|var| found[0].contains(&vec![var])));
        }
    }

    #[test]
    fn what_is_new_is_copied_where_nothing_can_be_unbound() {
        let vars: &[u8] = &[3, 5, 4];
        assert_eq!(copies(vars, 0, 0).as_deref(), Some(&[(0, 3), (1, 5), (2, 4)][..]));
        assert_eq!(copies(vars, bit(5) | bit(9), bit(8)).as_deref(), Some(&[(0, 3), (2, 4)][..]));
        assert_eq!(copies(vars, 0, bit(4)), None, "a variable may be unbound");
        assert_eq!(copies(&[3, 64], 0, 0), None, "a variable has no bit");
    }

    #[test]
    fn a_mapping_found_by_a_key_is_copied_only_if_the_key_is_all_that_is_bound() {
        let mut buffer = buffers(&[&[0, 1, 2]]).remove(0);
        buffer.copies = copies(&buffer.vars, 0, 0);
        let key = |vars: &[u8]| {
            let bound = vars.iter().fold(0, |set, var| set | bit(*var));
            let mut store = RingStore::new(3, crate::thresholds::Thresholds::default());
            let copies = copies(&buffer.vars, bound, 0);
            Key { bound, index: store.acquire_index(vars), vars: vars.into(), copies }
        };
        buffer.keys = vec![key(&[0]), key(&[0, 1]), key(&[2])];
        let exact = buffer.key(bit(0) | bit(1));
        assert_eq!(exact.map(|key| &key.vars[..]), Some(&[0, 1][..]));
        let bound = bit(0) | bit(1) | bit(7);
        assert_eq!(buffer.copies_with(exact, bound).map(|copies| &copies[..]), Some(&[(2, 2)][..]));
        let narrower = buffer.key(bit(0) | bit(1) | bit(2));
        assert_eq!(narrower.map(|key| &key.vars[..]), Some(&[0, 1][..]), "the one on most variables");
        assert_eq!(buffer.copies_with(narrower, bound | bit(2)), None, "a variable must be compared");
        assert_eq!(buffer.key(bit(1)).map(|key| key.bound), None, "no index is on it alone");
        assert_eq!(buffer.key(0).map(|key| key.bound), None);
        assert_eq!(buffer.copies_with(None, bit(7)).map(|copies| copies.len()), Some(3));
        assert_eq!(buffer.copies_with(None, bit(1)), None);
    }

    /// A join of inputs with these variables and whether they are always bound.
    fn shape(specs: &[(usize, &[(u8, bool)])], ranges: &[(u8, u8)]) -> (JoinShape, Vec<RingStore>) {
        let spec = |(source, columns): &(usize, &[(u8, bool)])| BufferSpec {
            source: BufferSource::Input(*source),
            columns: columns.to_vec(),
            is_static: false,
        };
        let thresholds = crate::thresholds::Thresholds::default();
        let mut inputs: Vec<_> = specs.iter().map(|spec| RingStore::new(spec.1.len(), thresholds)).collect();
        let specs: Vec<_> = specs.iter().map(spec).collect();
        (JoinShape::new(&specs, 8, ranges, &mut [], &mut inputs, thresholds), inputs)
    }

    #[test]
    fn a_variable_that_no_buffer_surely_binds_is_uncertain() {
        let (shape, _) = shape(&[(0, &[(0, true), (1, false)]), (1, &[(0, true), (1, false)]), (2, &[(0, true)])], &[]);
        assert_eq!((shape.uncertain, shape.all), (bit(1), 0b111));
        assert_eq!(shape.buffers.iter().map(|b| b.copies.is_some()).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn buffers_over_the_same_mappings_know_each_other() {
        let (shape, _) = shape(&[(0, &[(0, true)]), (1, &[(0, true)]), (0, &[(0, true)]), (0, &[(0, true)])], &[]);
        let roles: Vec<_> = shape.buffers.iter().map(|buffer| (buffer.earlier, buffer.later)).collect();
        assert_eq!(roles, [(0, 0b1100), (0, 0), (0b0001, 0b1000), (0b0101, 0)]);
    }

    #[test]
    fn a_buffer_that_shares_nothing_is_kept_in_the_order_that_a_filter_asks_for() {
        let (one, other) = (&[(0, true), (1, true)], &[(2, true), (3, true)]);
        let ordered = |ranges: &[(u8, u8)]| {
            let (shape, inputs) = shape(&[(0, one), (1, other)], ranges);
            let row: Vec<_> = (0..8).map(|n| TermId::integer(n).expect("small")).collect();
            let range = |at: usize, bound: VarSet| shape.buffers[at].range(bound, &row);
            let everything = ValueRange::default();
            assert!(range(0, bit(0) | bit(1) | bit(7)) == everything && range(1, 0) == everything);
            let walked: Vec<_> = [range(0, bit(3)), range(1, bit(1))]
                .map(|range| (range != everything).then_some(range.at_least.is_some()))
                .into();
            (inputs.iter().map(RingStore::ordered_on).collect::<Vec<_>>(), walked)
        };
        let ordered_by = |ranges: &[(u8, u8)]| {
            let row: Vec<_> = (0..8).map(|n| TermId::integer(n).expect("small")).collect();
            shape(&[(0, one), (1, other)], ranges).0.buffers[0].range(bit(2) | bit(3), &row)
        };
        assert_eq!(ordered(&[(1, 3)]), (vec![Some(1), Some(1)], vec![Some(false), Some(true)]));
        assert_eq!(ordered(&[(3, 1)]), (vec![Some(1), Some(1)], vec![Some(true), Some(false)]));
        assert_eq!(ordered(&[(0, 2), (1, 3)]), (vec![Some(0), Some(0)], vec![None, None]), "one order a store");
        assert_eq!(ordered(&[(0, 1)]), (vec![None, None], vec![None, None]), "both are in one mapping");
        let both = ordered_by(&[(1, 3), (2, 1)]);
        assert_eq!((both.at_least, both.at_most), (TermId::integer(2), TermId::integer(3)), "both ends are known");
        let (_, alone) = shape(&[(0, one)], &[(0, 2)]);
        assert_eq!(alone[0].ordered_on(), None, "there is nothing to compare it with");
        let (_, sharing) = shape(&[(0, one), (1, &[(1, true), (3, true)])], &[(0, 3)]);
        assert_eq!(sharing[0].ordered_on(), None, "it is probed by a key");
    }

    #[test]
    fn stars_that_a_filter_compares_are_kept_in_its_order() {
        let star = |first: u8| [[(first, true), (first + 1, true)], [(first, true), (first + 2, true)]];
        let (one, other) = (star(0), star(3));
        let specs = [(0, &one[0][..]), (1, &one[1][..]), (2, &other[0][..]), (3, &other[1][..])];
        let (found, inputs) = shape(&specs, &[(1, 5), (1, 2)]);
        assert_eq!(parts_of(&found.buffers)[..], [0, 0, 2, 2]);
        let columns: Vec<_> = inputs.iter().map(RingStore::ordered_on).collect();
        assert_eq!(columns, [Some(1), None, None, Some(1)], "what is in one star is compared with nothing");
        let ranged = |bound: VarSet| found.buffers.iter().map(|b| b.is_ranged(bound)).collect::<Vec<_>>();
        assert_eq!(ranged(bit(0) | bit(1) | bit(2)), [false, false, false, true]);
        assert_eq!(ranged(bit(3) | bit(4) | bit(5)), [true, false, false, false]);
    }

    #[test]
    fn a_join_that_ends_gives_its_indexes_back() {
        use crate::leaf::{LeafPattern, OriginPattern, PatternSlot};
        let slots = [PatternSlot::Column(0), PatternSlot::Constant(TermId::UNBOUND), PatternSlot::Column(1)];
        let pattern = LeafPattern::new(slots, OriginPattern::default());
        let leaf = |window| {
            let (semantics, thresholds) =
                (crate::parse::ContentSemantics::Bag, crate::thresholds::Thresholds::default());
            Leaf::new(pattern.clone(), None, window, semantics, thresholds)
        };
        let mut leaves = [leaf(0), leaf(1)];
        let spec = |leaf: usize, vars: [u8; 2]| BufferSpec {
            source: BufferSource::Leaf(leaf),
            columns: vars.map(|var| (var, true)).to_vec(),
            is_static: false,
        };
        let shape = JoinShape::new(
            &[spec(0, [0, 1]), spec(1, [1, 2])],
            3,
            &[],
            &mut leaves,
            &mut [],
            crate::thresholds::Thresholds::default(),
        );
        let indexes = |leaves: &[Leaf; 2]| leaves.each_ref().map(|leaf| leaf.store.indexes().count());
        assert_eq!(indexes(&leaves), [1, 1]);
        shape.release(&mut leaves);
        assert_eq!(indexes(&leaves), [0, 0]);
    }
}
