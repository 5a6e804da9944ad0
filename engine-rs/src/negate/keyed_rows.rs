//! The keys of both sides, and the rows of a side in one list per key.
//!
//! Rows and keys are in flat slots; the rows of a key are doubly linked, so that adding and removing a row takes
//! constant time however many rows have the key.

use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::model::{RowSlots, TermId, Weight};

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A key that some row has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KeyId(u32);

/// A row of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RowId(u32);

/// The first of the rows of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct List(u32);

/// The state of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyEntry {
    pub left: List,
    pub right: List,
    /// The number of right rows with the key.
    pub witnesses: Weight,
}

#[derive(Debug)]
pub(super) struct Keys {
    entries: RowSlots<KeyEntry>,
    /// Keys with witnesses.
    n_witnessed: usize,
    key: Vec<TermId>,
}

impl Keys {
    pub(super) fn new(width: usize, slots_kept: usize) -> Self {
        Self { entries: RowSlots::new(width, slots_kept), n_witnessed: 0, key: Vec::new() }
    }

    pub(super) fn emptied(&self) -> Self {
        Self { entries: self.entries.emptied(), n_witnessed: 0, key: Vec::new() }
    }

    /// The state of each key, with the key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[TermId], &KeyEntry)> + '_ {
        self.entries.iter()
    }

    /// Panics if a key without rows is kept, or if the number of keys with witnesses is wrong.
    pub(super) fn check(&self) {
        self.entries.check();
        let witnessed = self.iter().filter(|(_, entry)| entry.witnesses != 0).count();
        assert_eq!(witnessed, self.n_witnessed, "witnesses: the number of keys that have some");
        let is_used = |entry: &KeyEntry| entry.left.0 != NONE || entry.right.0 != NONE || entry.witnesses != 0;
        assert!(self.iter().all(|(_, entry)| is_used(entry)), "witnesses: a key is kept that no row has");
    }

    /// The key in these columns of a row.
    pub(super) fn of(&mut self, row: &[TermId], columns: &[usize]) -> KeyId {
        self.key.clear();
        self.key.extend(columns.iter().map(|column| row[*column]));
        let unused = || KeyEntry { left: List(NONE), right: List(NONE), witnesses: 0 };
        KeyId(self.entries.slot_of(&self.key, unused).0)
    }

    pub(super) fn entry(&mut self, key: KeyId) -> &mut KeyEntry {
        self.entries.value_mut(key.0)
    }

    /// Adds to the witnesses of a key; returns their weight before and after.
    pub(super) fn count_witnesses(&mut self, key: KeyId, weight: Weight) -> [Weight; 2] {
        let witnesses = &mut self.entries.value_mut(key.0).witnesses;
        let before = *witnesses;
        *witnesses += weight;
        self.n_witnessed += usize::from(*witnesses != 0);
        self.n_witnessed -= usize::from(before != 0);
        [before, *witnesses]
    }

    /// Releases a key without rows.
    pub(super) fn release_if_unused(&mut self, key: KeyId) {
        let KeyEntry { left, right, witnesses } = *self.entry(key);
        if left.0 == NONE && right.0 == NONE && witnesses == 0 {
            self.entries.release(key.0);
        }
    }

    pub(super) fn n_witnessed(&self) -> usize {
        self.n_witnessed
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.entries.terms()
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes(|_| 0)
    }

    /// The state of all keys, in an order that does not depend on their arrival.
    pub(super) fn sorted_entries(&self) -> Vec<KeyEntry> {
        self.entries.sorted_slots().into_iter().map(|slot| *self.entries.value(slot)).collect()
    }

    /// Keys with their witnesses, for operators that keep no rows of the right side.
    pub(super) fn save_witnesses(&self, to: &mut Writer) {
        let witnesses = |slot: u32| self.entries.value(slot).witnesses;
        let mut slots = self.entries.sorted_slots();
        slots.retain(|slot| witnesses(*slot) != 0);
        to.list(slots.into_iter(), |to, slot| {
            to.row(self.entries.row(slot));
            to.i64(witnesses(slot));
        });
    }

    pub(super) fn restore_witnesses(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        let columns: Vec<usize> = (0..self.entries.width()).collect();
        for _ in 0..from.count(16)? {
            let (row, witnesses) = (from.row_of(columns.len())?, from.i64()?);
            let key = self.of(&row, &columns);
            ensure(witnesses > 0 && self.entry(key).witnesses == 0, "the witnesses of a key are wrong")?;
            self.count_witnesses(key, witnesses);
        }
        Ok(())
    }
}

/// The state of a row besides its terms.
#[derive(Clone, Copy, Debug)]
struct Kept {
    weight: Weight,
    /// The weight of its witnesses, if rows of one key have different ones.
    witnesses: Weight,
    next: u32,
    previous: u32,
}

/// The rows of one side.
#[derive(Debug)]
pub(super) struct KeyedRows {
    rows: RowSlots<Kept>,
}

impl KeyedRows {
    pub(super) fn new(width: usize, slots_kept: usize) -> Self {
        Self { rows: RowSlots::new(width, slots_kept) }
    }

    pub(super) fn emptied(&self) -> Self {
        Self { rows: self.rows.emptied() }
    }

    pub(super) fn witnesses(&self, row: RowId) -> Weight {
        self.rows.value(row.0).witnesses
    }

    /// Panics if the lists do not have each row once, linked both ways, or a weight is not positive.
    pub(super) fn check(&self, lists: impl Iterator<Item = List>) {
        self.rows.check();
        let mut listed = 0;
        for list in lists {
            let mut previous = NONE;
            for RowId(slot) in self.of(list) {
                let kept = self.rows.value(slot);
                assert_eq!(kept.previous, previous, "witnesses: a list is not linked backwards");
                assert!(kept.weight > 0 && kept.witnesses >= 0, "witnesses: the weight of a row");
                (previous, listed) = (slot, listed + 1);
                assert!(listed <= self.rows.len(), "witnesses: a list has no end");
            }
        }
        assert_eq!(listed, self.rows.len(), "witnesses: a row is in no list, or in two");
    }

    /// Adds to the weight of a row in the list of its key; a new row starts with this number of witnesses.
    pub(super) fn add(&mut self, row: &[TermId], weight: Weight, witnesses: Weight, list: &mut List) {
        let new = || Kept { weight: 0, witnesses, next: list.0, previous: NONE };
        let (slot, is_new) = self.rows.slot_of(row, new);
        if is_new {
            self.link(slot, list);
        }
        let kept = self.rows.value_mut(slot);
        kept.weight += weight;
        if kept.weight == 0 {
            self.unlink(slot, list);
            self.rows.release(slot);
        }
    }

    fn link(&mut self, slot: u32, list: &mut List) {
        if list.0 != NONE {
            self.rows.value_mut(list.0).previous = slot;
        }
        list.0 = slot;
    }

    fn unlink(&mut self, slot: u32, list: &mut List) {
        let Kept { next, previous, .. } = *self.rows.value(slot);
        match previous {
            NONE => list.0 = next,
            previous => self.rows.value_mut(previous).next = next,
        }
        if next != NONE {
            self.rows.value_mut(next).previous = previous;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes(|_| 0)
    }

    /// The rows of a list.
    pub(super) fn of(&self, list: List) -> impl Iterator<Item = RowId> + '_ {
        let existing = |slot: u32| (slot != NONE).then_some(slot);
        let rows = std::iter::successors(existing(list.0), move |slot| existing(self.rows.value(*slot).next));
        rows.map(RowId)
    }

    /// The first row of a list, and the next row: for callers that change rows on the way.
    pub(super) fn first(&self, list: List) -> Option<RowId> {
        self.of(list).next()
    }

    pub(super) fn next(&self, row: RowId) -> Option<RowId> {
        self.first(List(self.rows.value(row.0).next))
    }

    pub(super) fn row(&self, row: RowId) -> &[TermId] {
        self.rows.row(row.0)
    }

    pub(super) fn weight(&self, row: RowId) -> Weight {
        self.rows.value(row.0).weight
    }

    /// Adds to the witnesses of a row; returns their weight before and after.
    pub(super) fn count_witnesses(&mut self, row: RowId, weight: Weight) -> [Weight; 2] {
        let witnesses = &mut self.rows.value_mut(row.0).witnesses;
        let before = *witnesses;
        *witnesses += weight;
        [before, *witnesses]
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.rows.terms()
    }

    /// The rows of all lists, each from its end: adding them one by one reproduces the lists. The order of a list may
    /// be visible, in the numbers of blank nodes.
    pub(super) fn save(&self, lists: impl Iterator<Item = List>, to: &mut Writer) {
        to.count(self.len());
        for list in lists {
            let rows: Vec<RowId> = self.of(list).collect();
            for row in rows.into_iter().rev() {
                to.row(self.row(row));
                to.i64(self.weight(row));
                to.i64(self.rows.value(row.0).witnesses);
            }
        }
    }
}

/// A row as saved.
pub(super) struct SavedRow {
    pub row: Box<[TermId]>,
    pub weight: Weight,
    pub witnesses: Weight,
}

impl SavedRow {
    pub(super) fn read(width: usize, from: &mut Reader<'_>) -> Decoded<Self> {
        let saved = Self { row: from.row_of(width)?, weight: from.i64()?, witnesses: from.i64()? };
        ensure(saved.weight > 0 && saved.witnesses >= 0, "a row is kept that is not there")?;
        Ok(saved)
    }
}
