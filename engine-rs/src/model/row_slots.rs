//! Rows stored by value, each with associated data, in numbered slots of flat allocations.
//!
//! A slot keeps its number until its row is released, so that others can refer to it. Numbers are reused, the most
//! recently released first. Cost: one hash to find a row; no allocation per row.

use super::{TermId, list_bytes, table_bytes};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

#[derive(Clone, Debug)]
pub(crate) struct RowSlots<V> {
    width: usize,
    terms: Vec<TermId>,
    values: Vec<V>,
    free: Vec<u32>,
    table: HashTable<u32>,
    /// Slots that an empty table keeps allocated.
    kept: usize,
}

impl<V> RowSlots<V> {
    /// A table for rows with this many columns; once empty, it keeps this many slots.
    pub(crate) fn new(width: usize, kept: usize) -> Self {
        Self { width, terms: Vec::new(), values: Vec::new(), free: Vec::new(), table: HashTable::new(), kept }
    }

    /// An empty table of the same kind.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.width, self.kept)
    }

    /// Panics if rows cannot be found or slots are lost.
    pub(crate) fn check(&self) {
        let mut is_used = vec![false; self.values.len()];
        for slot in self.slots().chain(self.free.iter().copied()) {
            assert!(!std::mem::replace(&mut is_used[slot as usize], true), "row slots: a slot is given out twice");
        }
        assert!(is_used.iter().all(|used| *used), "row slots: a slot is lost");
        for slot in self.slots() {
            let found = self.table.find(hash_of(self.row(slot)), |other| self.row(*other) == self.row(slot));
            assert_eq!(found, Some(&slot), "row slots: a row is not found, or is there twice");
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The bytes it has allocated, with those that its values own. Values of released slots stay until a slot is given out
    /// again, so they count.
    pub(crate) fn bytes(&self, of_value: impl Fn(&V) -> usize) -> usize {
        let slots = list_bytes(&self.terms) + list_bytes(&self.values) + list_bytes(&self.free);
        slots + table_bytes::<u32>(self.table.capacity()) + self.values.iter().map(of_value).sum::<usize>()
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn row(&self, slot: u32) -> &[TermId] {
        row_in(&self.terms, self.width, slot)
    }

    pub(crate) fn value(&self, slot: u32) -> &V {
        &self.values[slot as usize]
    }

    pub(crate) fn value_mut(&mut self, slot: u32) -> &mut V {
        &mut self.values[slot as usize]
    }

    /// The slot of a row that is present.
    pub(crate) fn find(&self, row: &[TermId]) -> Option<u32> {
        self.table.find(hash_of(row), |slot| self.row(*slot) == row).copied()
    }

    /// The slot of a row, and whether the row is new; a new row gets this value.
    pub(crate) fn slot_of(&mut self, row: &[TermId], new: impl FnOnce() -> V) -> (u32, bool) {
        debug_assert_eq!(row.len(), self.width);
        let hash = hash_of(row);
        if let Some(slot) = self.table.find(hash, |slot| self.row(*slot) == row) {
            return (*slot, false);
        }
        let slot = self.place(row, new());
        let Self { width, terms, table, .. } = self;
        table.insert_unique(hash, slot, |slot| hash_of(row_in(terms, *width, *slot)));
        (slot, true)
    }

    /// Releases the row in a slot.
    pub(crate) fn release(&mut self, slot: u32) {
        let hash = hash_of(self.row(slot));
        match self.table.find_entry(hash, |other| *other == slot) {
            Ok(found) => found.remove(),
            Err(_) => panic!("row slots: a row is released that is not there"),
        };
        self.free.push(slot);
        if self.table.is_empty() {
            self.start_again();
        }
    }

    /// The rows with their values, in an order that must not reach the output.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[TermId], &V)> + '_ {
        self.slots().map(|slot| (self.row(slot), self.value(slot)))
    }

    /// The slots in use, in an order that must not reach the output.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.table.iter().copied()
    }

    /// The slots in use, sorted by row, for snapshots.
    pub(crate) fn sorted_slots(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = self.slots().collect();
        slots.sort_unstable_by(|a, b| self.row(*a).cmp(self.row(*b)));
        slots
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.slots().flat_map(|slot| self.row(slot).iter().copied())
    }

    fn place(&mut self, row: &[TermId], value: V) -> u32 {
        if let Some(slot) = self.free.pop() {
            let start = slot as usize * self.width;
            self.terms[start..start + self.width].copy_from_slice(row);
            self.values[slot as usize] = value;
            return slot;
        }
        self.terms.extend_from_slice(row);
        self.values.push(value);
        u32::try_from(self.values.len() - 1).expect("fewer than 2³² rows at a time")
    }

    /// Clears the table: slots are numbered from zero again, and a large table frees its memory.
    fn start_again(&mut self) {
        if self.values.len() > self.kept {
            *self = self.emptied();
            return;
        }
        self.terms.clear();
        self.values.clear();
        self.free.clear();
    }
}

fn row_in(terms: &[TermId], width: usize, slot: u32) -> &[TermId] {
    let start = slot as usize * width;
    &terms[start..start + width]
}

fn hash_of(row: &[TermId]) -> u64 {
    FixedState::default().hash_one(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(a: u64, b: u64) -> [TermId; 2] {
        [TermId::from_bits(a), TermId::from_bits(b)]
    }

    #[test]
    fn a_row_has_one_slot_and_its_value_until_it_is_released() {
        let mut rows = RowSlots::new(2, 1024);
        assert_eq!(rows.slot_of(&row(1, 2), || 'a'), (0, true));
        assert_eq!(rows.slot_of(&row(1, 3), || 'b'), (1, true));
        assert_eq!(rows.slot_of(&row(1, 2), || 'c'), (0, false));
        rows.release(0);
        assert_eq!(rows.slot_of(&row(2, 2), || 'd'), (0, true));
        assert_eq!(rows.sorted_slots(), [1, 0]);
        assert_eq!((rows.row(0), *rows.value(0), *rows.value(1), rows.len()), (&row(2, 2)[..], 'd', 'b', 2));
    }

    #[test]
    fn an_empty_table_counts_from_zero_and_keeps_no_large_room() {
        let mut rows = RowSlots::new(2, 1024);
        for n in 0..2048 {
            rows.slot_of(&row(n, n), || n);
        }
        let slots: Vec<u32> = rows.slots().collect();
        slots.into_iter().for_each(|slot| rows.release(slot));
        assert_eq!((rows.terms.capacity(), rows.values.capacity(), rows.table.capacity()), (0, 0, 0));
        assert_eq!(rows.slot_of(&row(7, 7), || 7), (0, true));
    }

    #[test]
    fn rows_without_columns_are_one() {
        let mut rows = RowSlots::new(0, 1024);
        assert_eq!(rows.slot_of(&[], || ()), (0, true));
        assert_eq!(rows.slot_of(&[], || ()), (0, false));
        rows.release(0);
        assert_eq!(rows.len(), 0);
    }

    #[test]
    #[should_panic(expected = "row slots: a row is released that is not there")]
    fn a_row_is_released_once() {
        let mut rows = RowSlots::new(2, 1024);
        rows.slot_of(&row(1, 2), || ());
        rows.slot_of(&row(1, 3), || ());
        rows.release(0);
        rows.release(0);
    }
}
