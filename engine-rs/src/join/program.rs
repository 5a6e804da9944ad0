//! Probing orders as data: what to probe next is worked out once for each order that occurs, and not for each mapping.
//!
//! ```text
//!   start of role 1 ──► node: probe 0 by ?b, 2 by ?c ─┬─ 0 taken ─► node: 2 was probed before ─► complete
//!                                                     └─ 2 taken ─► node: 0 was probed before ─► complete
//! ```
//!
//! A node lists the buffers to choose from when some buffers are taken, in the order in which they are examined, and
//! says of each how it is probed and merged. Nodes form a tree, because whether a buffer has to be probed again depends
//! on what was taken last. They are made when a search first gets there, so a join keeps only the orders that its data
//! has called for, and never more than [`NODES_MAX`].

use super::orders::{Probing, extend_order};
use super::shape::{BufferSet, BufferSource, Copies, JoinShape, VarSet};
use crate::index::IndexId;
use smallvec::SmallVec;

/// Nodes beyond these are made anew each time. Few in builds that check themselves, so that tests get there.
const NODES_MAX: usize = if cfg!(debug_assertions) { 6 } else { 1024 };

/// What a search starts with: the role of its mapping, and whether the mapping is leaving.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub role: usize,
    pub leaving: bool,
}

/// A choice of a node.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub node: u32,
    pub number: u32,
}

/// What happens when a mapping of a buffer has been merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// The combination is complete.
    Complete,
    Node(u32),
    /// No search has got there yet.
    Unknown,
}

/// A buffer that may be taken next.
#[derive(Debug)]
pub(super) struct Candidate {
    pub at: usize,
    pub source: BufferSource,
    /// The index by which it is probed; `None` if it is scanned.
    pub key: Option<ProbeKey>,
    /// Its priority under a fixed order.
    pub rank: u64,
    /// The columns to copy; `None` if some must be compared instead.
    pub copies: Option<Copies>,
    /// The variables that are bound before and after it is taken.
    pub before: VarSet,
    pub after: VarSet,
    pub order: u64,
    pub next: Next,
    done: BufferSet,
}

#[derive(Debug)]
pub(super) struct ProbeKey {
    pub index: IndexId,
    pub vars: SmallVec<[u8; 4]>,
    /// Where the result of the probe is kept: deeper nodes must not overwrite what this one goes on with.
    pub probe: usize,
    /// Whether the key has changed since that probe was made.
    pub is_new: bool,
}

type Node = SmallVec<[Candidate; 2]>;

#[derive(Debug, Default)]
pub(super) struct Program {
    nodes: Vec<Node>,
    /// For each role, the node from which an arriving and a leaving mapping start.
    starts: Vec<[Option<u32>; 2]>,
}

impl Program {
    #[inline]
    pub(super) fn candidates(&self, node: u32) -> &[Candidate] {
        &self.nodes[node as usize]
    }

    #[inline]
    pub(super) fn candidate(&self, choice: Choice) -> &Candidate {
        &self.nodes[choice.node as usize][choice.number as usize]
    }

    /// The node whose only buffer is the one with the starting mapping.
    #[inline]
    pub(super) fn start(&mut self, shape: &JoinShape, start: Start) -> Choice {
        let known = self.starts.get(start.role).and_then(|starts| starts[usize::from(start.leaving)]);
        Choice { node: known.unwrap_or_else(|| self.add_start(shape, start)), number: 0 }
    }

    #[cold]
    fn add_start(&mut self, shape: &JoinShape, start: Start) -> u32 {
        let buffer = &shape.buffers[start.role];
        let candidate = Candidate {
            at: start.role,
            source: buffer.source,
            key: None,
            rank: 0,
            copies: buffer.copies.clone(),
            before: 0,
            after: buffer.certain,
            order: extend_order(0, start.role),
            next: if shape.all == 1 << start.role { Next::Complete } else { Next::Unknown },
            done: 1 << start.role,
        };
        let (node, is_kept) = self.add(shape, 0, SmallVec::from_iter([candidate]));
        if is_kept {
            self.starts.resize(shape.buffers.len(), [None; 2]);
            self.starts[start.role][usize::from(start.leaving)] = Some(node);
        }
        node
    }

    /// The node after a choice that no search has made before.
    #[cold]
    pub(super) fn add_after(&mut self, shape: &JoinShape, start: Start, choice: Choice, probing: Probing) -> u32 {
        let taken = self.candidate(choice);
        let depth = taken.done.count_ones() as usize;
        let left = emptiest_first(shape, start, taken.done);
        let shares = |at: &usize| shape.buffers[*at].certain & taken.after != 0;
        // A buffer that shares no bound variable means a cross product; take it only if nothing else is left. It cannot
        // end the search either: a join with an empty buffer is not searched.
        let any_shares = left.iter().any(shares);
        let next = left.iter().filter(|at| !any_shares || shares(at));
        let node = next.map(|at| self.candidate_after(shape, choice, *at, probing)).collect();
        let (added, is_kept) = self.add(shape, depth, node);
        if is_kept {
            self.nodes[choice.node as usize][choice.number as usize].next = Next::Node(added);
        }
        added
    }

    fn candidate_after(&self, shape: &JoinShape, choice: Choice, at: usize, probing: Probing) -> Candidate {
        let (taken, buffer) = (self.candidate(choice), &shape.buffers[at]);
        let (depth, bound) = (taken.done.count_ones() as usize, taken.after);
        let done = taken.done | (1 << at);
        let wanted = buffer.certain & bound;
        let key = buffer.key(wanted);
        let is_new = buffer.certain & taken.after & !taken.before != 0;
        let before = self.candidates(choice.node).iter().find(|candidate| candidate.at == at && !is_new);
        let probe = before.and_then(|candidate| Some(candidate.key.as_ref()?.probe));
        Candidate {
            at,
            source: buffer.source,
            key: key.map(|key| ProbeKey {
                index: key.index,
                vars: SmallVec::from_slice(&key.vars),
                probe: probe.unwrap_or(depth * shape.buffers.len() + at),
                is_new: probe.is_none(),
            }),
            rank: match probing {
                Probing::Adaptive => 0,
                Probing::Fixed(seed) => Probing::rank(seed, at),
            },
            copies: buffer.copies_with(key, bound).cloned(),
            before: bound,
            after: bound | buffer.certain,
            order: extend_order(taken.order, at),
            next: if done == shape.all { Next::Complete } else { Next::Unknown },
            done,
        }
    }

    /// Keeps a node, or puts it into the spare place of its depth when there are too many: a search uses one node of
    /// each depth at a time. Spare nodes are not linked.
    fn add(&mut self, shape: &JoinShape, depth: usize, node: Node) -> (u32, bool) {
        if self.nodes.len() < NODES_MAX {
            self.nodes.push(node);
            return (self.nodes.len() as u32 - 1, true);
        }
        self.nodes.resize_with(NODES_MAX + shape.buffers.len(), Node::new);
        self.nodes[NODES_MAX + depth] = node;
        ((NODES_MAX + depth) as u32, false)
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
