//! Verifies a store: its counters, links, indexes and stragglers against its slots.
//!
//! Runs after each instant if [`crate::Thresholds::checks`] is set. A violation panics and names the structure.

use super::keyed::{IndexId, KeyedIndex};
use super::ring::{RingStore, SlotId};
use crate::model::TermId;
use std::collections::BTreeMap;

impl RingStore {
    /// Panics if a part of the store disagrees with its slots.
    pub(crate) fn check(&self) {
        let slots: Vec<SlotId> = self.slots().collect();
        assert_eq!(self.live(), slots.len(), "ring: the number of live mappings");
        assert!(slots.first().is_none_or(|first| *first == self.oldest()), "ring: the oldest slot is dead");
        self.check_order(&slots);
        for number in 0..self.n_indexes() {
            if let Some(index) = self.index(number) {
                self.check_index(index, IndexId(number as u32), &slots);
            }
        }
        if let Some(ordered) = self.ordered() {
            assert_eq!(ordered.len(), slots.len(), "ordered index: the number of mappings");
            assert!(slots.iter().all(|slot| self.is_ordered(*slot)), "ordered index: a mapping is missing");
        }
    }

    /// A mapping with a smaller key than an older one would not expire in time, so it must be a straggler.
    fn check_order(&self, slots: &[SlotId]) {
        let mut greatest = i64::MIN;
        for slot in slots {
            let key = self.expiry_key(*slot);
            assert!(key >= greatest || self.is_noted_straggler(*slot), "ring: a straggler would never expire");
            greatest = greatest.max(key);
        }
        assert!(self.covers_keys(slots), "ring: a key is greater than the greatest");
    }

    fn check_index(&self, index: &KeyedIndex, id: IndexId, slots: &[SlotId]) {
        let mut by_key: BTreeMap<Vec<TermId>, Vec<SlotId>> = BTreeMap::new();
        for slot in slots.iter().rev() {
            let row: Vec<TermId> = self.row(*slot).collect();
            let key = index.columns.iter().map(|column| row[*column as usize]).collect();
            by_key.entry(key).or_default().push(*slot);
        }
        for (key, expected) in &by_key {
            let probe = self.probe(id, |i| key[i]);
            assert_eq!(probe.count as usize, expected.len(), "keyed index: the counter of a key");
            let mut found = Vec::new();
            self.walk(id, probe, |slot, _| found.push(slot));
            assert_eq!(&found, expected, "keyed index: the chain of a key");
            assert_eq!(self.newest(id, probe).as_ref(), expected.first(), "keyed index: the newest of a key");
        }
        assert_eq!(index.keys(), by_key.len(), "keyed index: keys with mappings");
        index.check();
    }
}
