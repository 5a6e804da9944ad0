//! The ring index: key → counter and newest mapping; mappings of one key are linked newest to oldest.
//!
//! Keys are not copied: they are read from the newest mapping of the key. The counter is the exact
//! number of live mappings with the key, which is what the join's cost estimate needs and what
//! ends a walk. A key whose counter falls to zero stays in the table until [`KeyedIndex::purge`]
//! removes such keys in one batch, before their mappings are overwritten. Used without walking,
//! for its counters alone, this is the papers' one-way index.

use super::ring::SlotId;
use crate::model::TermId;
use hashbrown::HashTable;
use smallvec::SmallVec;

/// An index of a [`super::RingStore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IndexId(pub(super) u32);

/// What a probe found: how many live mappings have the key, and the newest slot of its chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub count: u32,
    pub(super) newest: SlotId,
}

impl Probe {
    pub(crate) const NOTHING: Self = Self { count: 0, newest: SlotId(0) };
}

#[derive(Clone, Copy, Debug)]
struct KeyEntry {
    newest: SlotId,
    count: u32,
}

/// How the index reads the columns of a mapping that is still in the array.
pub(super) trait Rows {
    fn column(&self, slot: SlotId, column: usize) -> TermId;
}

#[derive(Debug)]
pub(super) struct KeyedIndex {
    pub columns: SmallVec<[u8; 4]>,
    /// Queries that need this index; it is dropped when none does.
    pub users: u32,
    table: HashTable<u32>,
    entries: Vec<KeyEntry>,
    free: Vec<u32>,
    zero: Vec<u32>,
}

impl KeyedIndex {
    pub(super) fn new(columns: &[u8]) -> Self {
        Self {
            columns: SmallVec::from_slice(columns),
            users: 0,
            table: HashTable::new(),
            entries: Vec::new(),
            free: Vec::new(),
            zero: Vec::new(),
        }
    }

    pub(super) fn probe(&self, rows: &impl Rows, key: impl Fn(usize) -> TermId) -> Probe {
        let width = self.columns.len();
        let hash = hash_key(width, &key);
        let found = self.table.find(hash, |entry| {
            let newest = self.entries[*entry as usize].newest;
            (0..width).all(|i| rows.column(newest, self.columns[i] as usize) == key(i))
        });
        match found {
            Some(entry) => {
                let entry = self.entries[*entry as usize];
                Probe { count: entry.count, newest: entry.newest }
            }
            None => Probe::NOTHING,
        }
    }

    /// Puts a slot at the head of its key's chain; gives the entry and the slot that was there.
    pub(super) fn link(&mut self, rows: &impl Rows, slot: SlotId) -> (u32, Option<SlotId>) {
        let width = self.columns.len();
        let key = |i: usize| rows.column(slot, self.columns[i] as usize);
        let hash = hash_key(width, key);
        let found = self.table.find(hash, |entry| {
            let newest = self.entries[*entry as usize].newest;
            (0..width).all(|i| rows.column(newest, self.columns[i] as usize) == key(i))
        });
        if let Some(entry) = found {
            let number = *entry;
            let entry = &mut self.entries[number as usize];
            let older = (entry.count > 0).then_some(entry.newest);
            *entry = KeyEntry { newest: slot, count: entry.count + 1 };
            return (number, older);
        }
        (self.insert(rows, hash, slot), None)
    }

    fn insert(&mut self, rows: &impl Rows, hash: u64, slot: SlotId) -> u32 {
        let entry = KeyEntry { newest: slot, count: 1 };
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number as usize] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        let Self { table, entries, columns, .. } = self;
        table.insert_unique(hash, number, |other| hash_of_entry(rows, columns, entries[*other as usize]));
        number
    }

    /// One live mapping fewer under this entry.
    pub(super) fn unlink(&mut self, entry: u32) {
        let count = &mut self.entries[entry as usize].count;
        *count -= 1;
        if *count == 0 {
            self.zero.push(entry);
        }
    }

    pub(super) fn zero_keys(&self) -> usize {
        self.zero.len()
    }

    /// Removes the keys whose counter is still zero; their newest mapping must not be overwritten yet.
    pub(super) fn purge(&mut self, rows: &impl Rows) {
        while let Some(number) = self.zero.pop() {
            let entry = self.entries[number as usize];
            if entry.count > 0 {
                continue;
            }
            let hash = hash_of_entry(rows, &self.columns, entry);
            if let Ok(occupied) = self.table.find_entry(hash, |other| *other == number) {
                occupied.remove();
                self.free.push(number);
            }
        }
        if self.table.is_empty() {
            self.entries.clear();
            self.free.clear();
        }
    }

    /// Keys with live mappings.
    pub(super) fn keys(&self) -> usize {
        self.table.iter().filter(|entry| self.entries[**entry as usize].count > 0).count()
    }
}

fn hash_of_entry(rows: &impl Rows, columns: &[u8], entry: KeyEntry) -> u64 {
    hash_key(columns.len(), |i| rows.column(entry.newest, columns[i] as usize))
}

/// Folded multiplication: two instructions a column, and good in the high bits hashbrown uses.
fn hash_key(width: usize, key: impl Fn(usize) -> TermId) -> u64 {
    let mut hash = 0x9E37_79B9_7F4A_7C15_u64;
    for i in 0..width {
        let product = u128::from(hash ^ key(i).to_bits()) * 0xA076_1D64_78BD_642F_u128;
        hash = (product as u64) ^ ((product >> 64) as u64);
    }
    hash
}
