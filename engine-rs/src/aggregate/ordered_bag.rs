//! An ordered bag of terms: least, greatest and n-th value without a scan.
//!
//! A tree of sorted chunks in which every branch knows how many values are below each of its children. Inserting,
//! removing and finding the n-th value follow one path: O(log n), with a shift inside one chunk. Empty chunks are
//! freed, and small ones merge with their neighbours. The order is that of `compare_terms`.

use super::ranked::Ranked;
use crate::codec::{Decoded, Reader, Writer};
use crate::encode::Dictionary;
use crate::model::{TermId, Weight, list_bytes};
use std::cmp::Ordering;

#[derive(Clone, Debug)]
pub(super) struct OrderedBag {
    root: Node,
    /// A longer chunk is split. At least 2.
    piece_max: usize,
    total: Weight,
    distinct: usize,
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Vec<Entry>),
    /// Never empty, except while it is being changed.
    Branch(Vec<Child>),
}

#[derive(Clone, Debug)]
struct Entry {
    value: Ranked,
    count: Weight,
}

#[derive(Clone, Debug)]
struct Child {
    /// The greatest value in the subtree.
    last: Ranked,
    /// The number of values in the subtree, including copies.
    total: Weight,
    node: Node,
}

impl OrderedBag {
    pub(super) fn new(piece_max: usize) -> Self {
        Self { root: Node::Leaf(Vec::new()), piece_max: piece_max.max(2), total: 0, distinct: 0 }
    }

    /// Adds `weight` copies of a term; a negative weight removes them.
    pub(super) fn update(&mut self, id: TermId, weight: Weight, dictionary: &Dictionary) {
        if weight == 0 {
            return;
        }
        self.total += weight;
        let change = self.root.update(Ranked::of(id, dictionary), weight, self.piece_max, dictionary);
        self.distinct = self.distinct.wrapping_add_signed(change);
        self.settle_root();
    }

    /// The number of values, including copies.
    pub(super) fn len(&self) -> Weight {
        self.total
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.root.heap_bytes()
    }

    /// The number of distinct terms.
    pub(super) fn distinct(&self) -> usize {
        self.distinct
    }

    pub(super) fn first(&self) -> Option<TermId> {
        self.nth(0)
    }

    pub(super) fn last(&self) -> Option<TermId> {
        self.nth(self.total - 1)
    }

    /// The value with this number of values before it.
    pub(super) fn nth(&self, rank: Weight) -> Option<TermId> {
        let mut node = &self.root;
        let mut rank = rank;
        let mut is_here = |count: Weight| {
            let is_here = rank < count;
            rank -= if is_here { 0 } else { count };
            is_here
        };
        loop {
            match node {
                Node::Leaf(entries) => return entries.iter().find(|entry| is_here(entry.count)).map(|e| e.value.id),
                Node::Branch(children) => node = &children.iter().find(|child| is_here(child.total))?.node,
            }
        }
    }

    /// Panics if the counters of branches disagree with their subtrees.
    pub(super) fn check(&self) {
        let (total, distinct) = self.root.recount();
        assert_eq!((self.total, self.distinct), (total, distinct), "ordered bag: the number of values");
    }

    /// The terms in order, with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TermId, Weight)> + '_ {
        self.root.entries().map(|entry| (entry.value.id, entry.count))
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.count(self.distinct);
        for (id, count) in self.iter() {
            to.id(id);
            to.i64(count);
        }
    }

    /// Results do not depend on the boundaries of chunks.
    pub(super) fn restore(&mut self, from: &mut Reader<'_>, dictionary: &Dictionary) -> Decoded<()> {
        *self = Self::new(self.piece_max);
        for _ in 0..from.count(16)? {
            self.update(from.id()?, from.i64()?, dictionary);
        }
        Ok(())
    }

    /// The tree grows and shrinks at its root.
    fn settle_root(&mut self) {
        if self.root.len() > self.piece_max {
            let upper = self.root.split();
            let lower = std::mem::replace(&mut self.root, Node::Branch(Vec::new()));
            self.root = Node::Branch([lower, upper].into_iter().filter_map(Child::of).collect());
        }
        while let Node::Branch(children) = &mut self.root
            && children.len() < 2
        {
            self.root = children.pop().map_or_else(|| Node::Leaf(Vec::new()), |child| child.node);
        }
    }
}

impl Node {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Leaf(entries) => list_bytes(entries),
            Self::Branch(children) => {
                list_bytes(children) + children.iter().map(|child| child.node.heap_bytes()).sum::<usize>()
            }
        }
    }

    /// The values in the subtree, including copies, and the number of distinct ones.
    fn recount(&self) -> (Weight, usize) {
        match self {
            Self::Leaf(entries) => {
                assert!(entries.iter().all(|entry| entry.count > 0), "ordered bag: a value that has gone");
                (entries.iter().map(|entry| entry.count).sum(), entries.len())
            }
            Self::Branch(children) => children.iter().fold((0, 0), |(total, distinct), child| {
                let (below, different) = child.node.recount();
                assert_eq!(child.total, below, "ordered bag: the values below a branch");
                (total + below, distinct + different)
            }),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Branch(children) => children.len(),
        }
    }

    /// The greatest value; `None` if there is none.
    fn last(&self) -> Option<Ranked> {
        match self {
            Self::Leaf(entries) => entries.last().map(|entry| entry.value),
            Self::Branch(children) => children.last().map(|child| child.last),
        }
    }

    fn total(&self) -> Weight {
        match self {
            Self::Leaf(entries) => entries.iter().map(|entry| entry.count).sum(),
            Self::Branch(children) => children.iter().map(|child| child.total).sum(),
        }
    }

    fn entries(&self) -> Box<dyn Iterator<Item = &Entry> + '_> {
        match self {
            Self::Leaf(entries) => Box::new(entries.iter()),
            Self::Branch(children) => Box::new(children.iter().flat_map(|child| child.node.entries())),
        }
    }

    /// Adds to the count of a value; returns by how much the number of distinct values grows.
    fn update(&mut self, value: Ranked, weight: Weight, piece_max: usize, dictionary: &Dictionary) -> isize {
        match self {
            Self::Leaf(entries) => update_leaf(entries, value, weight, dictionary),
            Self::Branch(children) => {
                let is_before = |child: &Child| child.last.order(&value, dictionary) == Ordering::Less;
                let at = children.partition_point(is_before).min(children.len() - 1);
                let child = &mut children[at];
                child.total += weight;
                let change = child.node.update(value, weight, piece_max, dictionary);
                rebalance(children, at, piece_max);
                change
            }
        }
    }

    /// Splits off the upper half.
    fn split(&mut self) -> Self {
        match self {
            Self::Leaf(entries) => Self::Leaf(entries.split_off(entries.len() / 2)),
            Self::Branch(children) => Self::Branch(children.split_off(children.len() / 2)),
        }
    }

    /// Appends a node of the same height.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Leaf(entries), Self::Leaf(more)) => entries.extend(more),
            (Self::Branch(children), Self::Branch(more)) => children.extend(more),
            _ => debug_assert!(false, "neighbours have the same height"),
        }
    }
}

impl Child {
    fn of(node: Node) -> Option<Self> {
        Some(Self { last: node.last()?, total: node.total(), node })
    }
}

fn update_leaf(entries: &mut Vec<Entry>, value: Ranked, weight: Weight, dictionary: &Dictionary) -> isize {
    match entries.binary_search_by(|entry| entry.value.order(&value, dictionary)) {
        Ok(at) => {
            entries[at].count += weight;
            let is_gone = entries[at].count == 0;
            if is_gone {
                entries.remove(at);
            }
            -isize::from(is_gone)
        }
        Err(at) => {
            entries.insert(at, Entry { value, count: weight });
            1
        }
    }
}

/// Updates the branch after a change in the child at this index.
fn rebalance(children: &mut Vec<Child>, at: usize, piece_max: usize) {
    let len = children[at].node.len();
    if len > piece_max
        && let Some(upper) = Child::of(children[at].node.split())
    {
        children[at].total -= upper.total;
        children.insert(at + 1, upper);
    }
    if len <= piece_max / 4 && children.len() > 1 {
        return join_with_neighbour(children, at.min(children.len() - 2), piece_max);
    }
    note_last(children, at);
}

/// Merges two neighbours if they fit into one chunk.
fn join_with_neighbour(children: &mut Vec<Child>, left: usize, piece_max: usize) {
    if children[left].node.len() + children[left + 1].node.len() <= piece_max {
        let right = children.remove(left + 1);
        children[left].total += right.total;
        children[left].node.append(right.node);
    } else {
        note_last(children, left + 1);
    }
    note_last(children, left);
}

/// Updates the greatest value of a child, or frees the child if it is empty.
fn note_last(children: &mut Vec<Child>, at: usize) {
    match children[at].node.last() {
        Some(last) => children[at].last = last,
        None => drop(children.remove(at)),
    }
}

#[cfg(test)]
impl OrderedBag {
    /// The number of chunks on a path, and the length of the longest chunk.
    pub(super) fn shape(&self) -> (usize, usize) {
        fn shape(node: &Node) -> (usize, usize) {
            match node {
                Node::Leaf(entries) => (1, entries.len()),
                Node::Branch(children) => {
                    let below: Vec<_> = children.iter().map(|child| shape(&child.node)).collect();
                    assert!(below.iter().all(|(height, _)| *height == below[0].0), "all paths are of one length");
                    (1 + below[0].0, below.iter().map(|(_, len)| *len).max().unwrap_or(0).max(children.len()))
                }
            }
        }
        shape(&self.root)
    }
}
