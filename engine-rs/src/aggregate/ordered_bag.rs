//! A bag of terms kept in order: least, greatest and n-th without a scan.
//!
//! Sorted chunks of at most 256 entries with their counts. Insert and remove are a binary search and
//! a shift inside one chunk; the n-th value walks the chunk totals: O(√n) for any size in use.
//! The order is that of `compare_terms`; keys are self-contained, so the dictionary is read only
//! for the key of the new value and for ties between different terms of one value.

use crate::codec::{Decoded, Reader, Writer};
use crate::encode::Dictionary;
use crate::expr::order::compare_equals;
use crate::expr::{SortKey, sort_key};
use crate::model::{TermId, Weight};
use std::cmp::Ordering;

const CHUNK_MAX: usize = 256;
const CHUNK_MIN: usize = CHUNK_MAX / 4;

#[derive(Clone, Debug, Default)]
pub(super) struct OrderedBag {
    chunks: Vec<Chunk>,
    total: Weight,
    distinct: usize,
}

#[derive(Clone, Debug)]
struct Chunk {
    entries: Vec<Entry>,
    total: Weight,
}

#[derive(Clone, Debug)]
struct Entry {
    key: SortKey,
    id: TermId,
    count: Weight,
}

impl OrderedBag {
    /// Adds `weight` copies of a term (takes them away when negative).
    pub(super) fn update(&mut self, id: TermId, weight: Weight, dictionary: &Dictionary) {
        if weight == 0 {
            return;
        }
        let key = sort_key(id, dictionary);
        let order = |entry: &Entry| entry.key.cmp(&key).then_with(|| compare_equals(entry.id, id, dictionary));
        let at =
            self.chunks.partition_point(|chunk| chunk.entries.last().is_some_and(|last| order(last) == Ordering::Less));
        let at = at.min(self.chunks.len().saturating_sub(1));
        if self.chunks.is_empty() {
            self.chunks.push(Chunk { entries: Vec::new(), total: 0 });
        }
        let found = self.chunks[at].entries.binary_search_by(order);
        self.total += weight;
        self.chunks[at].total += weight;
        match found {
            Ok(i) => self.recount(at, i, weight),
            Err(i) => self.insert(at, i, Entry { key, id, count: weight }),
        }
    }

    /// How many values there are, copies included.
    pub(super) fn len(&self) -> Weight {
        self.total
    }

    /// How many different terms there are.
    pub(super) fn distinct(&self) -> usize {
        self.distinct
    }

    pub(super) fn first(&self) -> Option<TermId> {
        self.entries().find(|entry| entry.count > 0).map(|entry| entry.id)
    }

    pub(super) fn last(&self) -> Option<TermId> {
        let mut backwards = self.chunks.iter().rev().flat_map(|chunk| chunk.entries.iter().rev());
        backwards.find(|entry| entry.count > 0).map(|entry| entry.id)
    }

    /// The value with this many values before it.
    pub(super) fn nth(&self, rank: Weight) -> Option<TermId> {
        let mut before = 0;
        for chunk in &self.chunks {
            if before + chunk.total <= rank {
                before += chunk.total;
                continue;
            }
            for entry in &chunk.entries {
                before += entry.count;
                if before > rank {
                    return Some(entry.id);
                }
            }
        }
        None
    }

    /// The terms in order, with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TermId, Weight)> + '_ {
        self.entries().map(|entry| (entry.id, entry.count))
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.count(self.distinct);
        for entry in self.entries() {
            to.id(entry.id);
            to.i64(entry.count);
        }
    }

    /// Entries were saved in order; where one chunk ends and the next begins is of no consequence.
    pub(super) fn restored(from: &mut Reader<'_>, dictionary: &Dictionary) -> Decoded<Self> {
        let entries: Vec<Entry> = from.list(16, |from| {
            let id = from.id()?;
            Ok(Entry { key: sort_key(id, dictionary), id, count: from.i64()? })
        })?;
        let distinct = entries.len();
        let chunks: Vec<Chunk> = entries.chunks(CHUNK_MAX / 2).map(|part| Chunk::of(part.to_vec())).collect();
        Ok(Self { total: chunks.iter().map(|chunk| chunk.total).sum(), chunks, distinct })
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flat_map(|chunk| chunk.entries.iter())
    }

    fn recount(&mut self, at: usize, i: usize, weight: Weight) {
        let entry = &mut self.chunks[at].entries[i];
        entry.count += weight;
        if entry.count == 0 {
            self.chunks[at].entries.remove(i);
            self.distinct -= 1;
            self.shrink(at);
        }
    }

    fn insert(&mut self, at: usize, i: usize, entry: Entry) {
        self.distinct += 1;
        let chunk = &mut self.chunks[at];
        chunk.entries.insert(i, entry);
        if chunk.entries.len() > CHUNK_MAX {
            let upper = Chunk::of(chunk.entries.split_off(CHUNK_MAX / 2));
            chunk.total -= upper.total;
            self.chunks.insert(at + 1, upper);
        }
    }

    /// Joins a chunk that has become small with its neighbour, or drops it when empty.
    fn shrink(&mut self, at: usize) {
        if self.distinct == 0 {
            self.chunks = Vec::new();
            return;
        }
        if self.chunks[at].entries.len() >= CHUNK_MIN || self.chunks.len() == 1 {
            return;
        }
        let left = if at + 1 < self.chunks.len() { at } else { at - 1 };
        if self.chunks[left].entries.len() + self.chunks[left + 1].entries.len() <= CHUNK_MAX {
            let right = self.chunks.remove(left + 1);
            self.chunks[left].total += right.total;
            self.chunks[left].entries.extend(right.entries);
        } else if self.chunks[at].entries.is_empty() {
            self.chunks.remove(at);
        }
    }
}

impl Chunk {
    fn of(entries: Vec<Entry>) -> Self {
        let total = entries.iter().map(|entry| entry.count).sum();
        Self { entries, total }
    }
}
