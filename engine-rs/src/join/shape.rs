//! The fixed part of a join: its buffers, the variables they bind, and the indexes that probing needs.

use crate::index::{IndexId, RangeBound, RingStore};
use crate::leaf::Leaf;
use crate::model::TermId;
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
/// A buffer that shares more variables than this does not get an index for every subset of them.
const SUBSETS_OF_MAX: u32 = 6;

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
    /// For a buffer that shares no variable: comparisons with a bound variable by which it can be scanned.
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
    ) -> Self {
        let mut buffers: Vec<Buffer> = specs.iter().map(buffer).collect();
        for (at, spec) in specs.iter().enumerate() {
            let same = |range: std::ops::Range<usize>| -> BufferSet {
                range.filter(|other| specs[*other].source == spec.source).map(|other| 1 << other).sum()
            };
            buffers[at].earlier = same(0..at);
            buffers[at].later = same(at + 1..specs.len());
        }
        for (at, bound) in reachable_keys(&buffers) {
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
        for at in 0..buffers.len() {
            order_unconnected(&mut buffers, at, ranges, leaves, inputs);
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

/// Keeps a buffer that shares no variable in the order of a column that some filter compares.
fn order_unconnected(
    buffers: &mut [Buffer],
    at: usize,
    ranges: &[(u8, u8)],
    leaves: &mut [Leaf],
    inputs: &mut [RingStore],
) {
    if buffers.len() < 2 || !buffers[at].keys.is_empty() {
        return;
    }
    let buffer = &mut buffers[at];
    let column_of = |var: u8| buffer.vars.iter().position(|v| *v == var);
    let mut ordered: Option<usize> = None;
    for (smaller, greater) in ranges {
        for (own, other, is_greater) in [(*smaller, *greater, false), (*greater, *smaller, true)] {
            let Some(column) = column_of(own) else { continue };
            if column_of(other).is_none() && ordered.is_none_or(|c| c == column) {
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
    /// The range to scan, if a variable it is compared with is bound.
    pub(crate) fn range(&self, bound: VarSet, row: &[TermId]) -> Option<RangeBound> {
        let range = self.ranges.iter().find(|range| bound & bit(range.other) != 0)?;
        let term = row[range.other as usize];
        Some(if range.is_greater { RangeBound::AtLeast(term) } else { RangeBound::AtMost(term) })
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
fn reachable_keys(buffers: &[Buffer]) -> Vec<(usize, VarSet)> {
    let mut found = Vec::new();
    let mut add = |at: usize, bound: VarSet| {
        if bound != 0 && !found.contains(&(at, bound)) {
            found.push((at, bound));
        }
    };
    if buffers.len() <= 10 {
        visit_orders(buffers, &mut add);
    } else {
        for (at, buffer) in buffers.iter().enumerate() {
            let others = buffers.iter().enumerate().filter(|(i, _)| *i != at);
            let shared = buffer.certain & others.map(|(_, b)| b.certain).fold(0, |a, b| a | b);
            if shared.count_ones() > SUBSETS_OF_MAX {
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
