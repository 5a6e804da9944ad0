//! Probing orders as data: what to probe next is computed once for each order that occurs, and not for each mapping.
//!
//! ```text
//!   start of role 1 ──► node: probe 0 by ?b, 2 by ?c ─┬─ 0 taken ─► node: 2 was probed before ─► complete
//!                                                     └─ 2 taken ─► node: 0 was probed before ─► complete
//! ```
//!
//! A node lists the buffers to choose from when some buffers are taken, in the order in which they are examined, and
//! says of each how it is probed and merged. Nodes form a tree, because whether a buffer has to be probed again depends
//! on what was taken last. They are made when a search first gets there, so a join keeps only the orders that its data
//! has called for, and never more than [`NODES_MAX`]. A search holds references into the tree while it grows.

use super::orders::{Probing, extend_order};
use super::shape::{BufferSet, BufferSource, Copies, JoinShape, VarSet};
use crate::index::IndexId;
use smallvec::SmallVec;
use std::cell::{Cell, OnceCell};

/// Further nodes are computed each time. The number is small in builds with debug assertions, so that tests reach it.
const NODES_MAX: usize = if cfg!(debug_assertions) { 6 } else { 1024 };

/// What a search starts with: the role of its mapping, and whether the mapping is leaving.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub role: usize,
    pub leaving: bool,
}

/// A buffer that may be taken next.
#[derive(Debug)]
pub(super) struct Candidate {
    pub at: usize,
    pub source: BufferSource,
    /// The index by which it is probed; `None` if it is scanned.
    pub key: Option<ProbeKey>,
    /// Whether comparisons with bound variables restrict the scan.
    pub is_ranged: bool,
    /// Its priority under a fixed order.
    pub rank: u64,
    /// The columns to copy; `None` if some must be compared instead.
    pub copies: Option<Copies>,
    /// The variables that are bound before and after it is taken.
    pub before: VarSet,
    pub after: VarSet,
    pub order: u64,
    /// Where the order was counted last (see [`super::orders::OrderCounts::note`]).
    pub counted_at: Cell<u32>,
    /// Whether the combination is complete with it.
    pub is_last: bool,
    /// The choice that follows, once some search has got there.
    next: OnceCell<Node>,
    done: BufferSet,
}

#[derive(Debug)]
pub(super) struct ProbeKey {
    pub index: IndexId,
    pub vars: Box<[u8]>,
    /// Where the result of the probe is stored: deeper nodes must not overwrite a result that this one still uses.
    pub probe: usize,
    /// Whether the key has changed since that probe.
    pub is_new: bool,
}

/// The buffers to choose from.
pub(super) type Node = Box<[Candidate]>;

#[derive(Debug)]
pub(super) struct Program {
    /// For each role, the start for an arriving and for a leaving mapping.
    starts: Box<[[OnceCell<Box<Candidate>>; 2]]>,
    n_nodes: Cell<usize>,
}

/// A stored node, or a temporary one.
pub(super) enum Laid<'a, T> {
    Kept(&'a T),
    Made(T),
}

impl<T> AsRef<T> for Laid<'_, T> {
    #[inline]
    fn as_ref(&self) -> &T {
        match self {
            Self::Kept(kept) => kept,
            Self::Made(made) => made,
        }
    }
}

impl Program {
    pub(super) fn new(shape: &JoinShape) -> Self {
        Self { starts: shape.buffers.iter().map(|_| <[_; 2]>::default()).collect(), n_nodes: Cell::new(0) }
    }

    /// The only choice at the beginning: the buffer with the starting mapping.
    #[inline]
    pub(super) fn start(&self, shape: &JoinShape, start: Start) -> Laid<'_, Box<Candidate>> {
        let place = &self.starts[start.role][usize::from(start.leaving)];
        place.get().map_or_else(|| self.keep(place, Box::new(candidate_at_start(shape, start))), Laid::Kept)
    }

    /// What to choose from after one of the candidates of a node.
    #[inline]
    pub(super) fn after<'a>(
        &self,
        candidates: &'a [Candidate],
        taken: &'a Candidate,
        make: impl FnOnce(&[Candidate], &Candidate) -> Node,
    ) -> Laid<'a, Node> {
        taken.next.get().map_or_else(|| self.keep(&taken.next, make(candidates, taken)), Laid::Kept)
    }

    #[cold]
    fn keep<'a, T>(&self, place: &'a OnceCell<T>, made: T) -> Laid<'a, T> {
        let n_nodes = self.n_nodes.get();
        if n_nodes >= NODES_MAX {
            return Laid::Made(made);
        }
        self.n_nodes.set(n_nodes + 1);
        Laid::Kept(place.get_or_init(|| made))
    }
}

fn candidate_at_start(shape: &JoinShape, start: Start) -> Candidate {
    let buffer = &shape.buffers[start.role];
    Candidate {
        at: start.role,
        source: buffer.source,
        key: None,
        is_ranged: false,
        rank: 0,
        copies: buffer.copies.clone(),
        before: 0,
        after: buffer.certain,
        order: extend_order(0, start.role),
        counted_at: Cell::new(0),
        is_last: shape.all == 1 << start.role,
        next: OnceCell::new(),
        done: 1 << start.role,
    }
}

/// The node after a choice that no search has made before.
#[cold]
pub(super) fn node_after(
    shape: &JoinShape,
    start: Start,
    candidates: &[Candidate],
    taken: &Candidate,
    probing: Probing,
) -> Node {
    let left = emptiest_first(shape, start, taken.done);
    let shares = |at: &usize| shape.buffers[*at].certain & taken.after != 0;
    // A buffer that shares no bound variable means a cross product; take it only if nothing else is left. It cannot
    // end the search either: a join with an empty buffer is not searched.
    let any_shares = left.iter().any(shares);
    let next = left.iter().filter(|at| !any_shares || shares(at));
    next.map(|at| candidate_after(shape, candidates, taken, *at, probing)).collect()
}

fn candidate_after(
    shape: &JoinShape,
    candidates: &[Candidate],
    taken: &Candidate,
    at: usize,
    probing: Probing,
) -> Candidate {
    let buffer = &shape.buffers[at];
    let (depth, bound) = (taken.done.count_ones() as usize, taken.after);
    let done = taken.done | (1 << at);
    let wanted = buffer.certain & bound;
    let key = buffer.key(wanted);
    let is_new = buffer.certain & taken.after & !taken.before != 0;
    let before = candidates.iter().find(|candidate| candidate.at == at && !is_new);
    let probe = before.and_then(|candidate| Some(candidate.key.as_ref()?.probe));
    Candidate {
        at,
        source: buffer.source,
        key: key.map(|key| ProbeKey {
            index: key.index,
            vars: key.vars.clone(),
            probe: probe.unwrap_or(depth * shape.buffers.len() + at),
            is_new: probe.is_none(),
        }),
        is_ranged: key.is_none() && buffer.is_ranged(bound),
        rank: match probing {
            Probing::Adaptive => 0,
            Probing::Fixed(seed) => Probing::rank(seed, at),
        },
        copies: buffer.copies_with(key, bound).cloned(),
        before: bound,
        after: bound | buffer.certain,
        order: extend_order(taken.order, at),
        counted_at: Cell::new(0),
        is_last: done == shape.all,
        next: OnceCell::new(),
        done,
    }
}

/// The remaining buffers, in the order that finds an empty one soonest. The mappings of one event arrive, and later
/// leave, in the order of the roles: while a star arrives, later roles are still empty for its subject; while it
/// leaves, earlier roles are already empty. A star of k patterns in one event therefore costs 2k probes instead of k².
fn emptiest_first(shape: &JoinShape, start: Start, done: BufferSet) -> SmallVec<[usize; 8]> {
    let left = |at: &usize| done & (1 << at) == 0;
    let (before, after) = (0..start.role, start.role..shape.buffers.len());
    let [first, second] = if start.leaving { [before, after] } else { [after, before] };
    first.chain(second).filter(left).collect()
}
