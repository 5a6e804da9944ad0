//! The ring index: key → counter and newest mapping; mappings of one key are linked newest to oldest.
//!
//! The counter is the exact number of live mappings with the key, which is what the join's cost
//! estimate needs and what ends a walk. An entry keeps a word of the key: the key itself where it
//! is one column, so that a probe does not touch the mappings at all, its hash otherwise, and then
//! the newest mapping decides. A key whose counter falls to zero stays until such keys are many,
//! because most keys come back; then they go in one batch. Used without walking, for its counters
//! alone, this is the papers' one-way index.

use super::ring::SlotId;
use crate::model::TermId;
use crate::rare::Rare;
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
    /// The key, if it is one column; its hash otherwise.
    word: u64,
    newest: SlotId,
    count: u32,
}

/// How the index reads the columns of a live mapping.
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
    /// Entries whose counter has fallen to zero since the last purge, some more than once.
    zero: Vec<u32>,
    zero_keys_min: usize,
}

impl KeyedIndex {
    pub(super) fn new(columns: &[u8], zero_keys_min: usize) -> Self {
        Self {
            columns: SmallVec::from_slice(columns),
            users: 0,
            table: HashTable::new(),
            entries: Vec::new(),
            free: Vec::new(),
            zero: Vec::new(),
            zero_keys_min,
        }
    }

    /// The entry of a key, if the key has live mappings.
    #[inline]
    fn find(&self, rows: &impl Rows, word: u64, key: impl Fn(usize) -> TermId) -> Option<u32> {
        let hash = hash_word(word);
        if let [_] = self.columns.as_slice() {
            return self.table.find(hash, |entry| self.entries[*entry as usize].word == word).copied();
        }
        let is_key = |entry: &u32| {
            let KeyEntry { word: theirs, newest, count } = self.entries[*entry as usize];
            let mut columns = self.columns.iter().enumerate();
            theirs == word && count > 0 && columns.all(|(i, column)| rows.column(newest, *column as usize) == key(i))
        };
        self.table.find(hash, is_key).copied()
    }

    /// The word of a key: itself, or its hash.
    #[inline]
    fn word(&self, key: impl Fn(usize) -> TermId) -> u64 {
        match self.columns.len() {
            1 => key(0).to_bits(),
            width => (0..width).fold(0, |word, i| mix(word ^ key(i).to_bits())),
        }
    }

    #[inline]
    pub(super) fn probe(&self, rows: &impl Rows, key: impl Fn(usize) -> TermId) -> Probe {
        match self.find(rows, self.word(&key), key) {
            Some(entry) => {
                let entry = self.entries[entry as usize];
                Probe { count: entry.count, newest: entry.newest }
            }
            None => Probe::NOTHING,
        }
    }

    /// Puts a slot at the head of its key's chain; gives the entry and the slot that was there.
    pub(super) fn link(&mut self, rows: &impl Rows, slot: SlotId) -> (u32, Option<SlotId>) {
        let key = |i: usize| rows.column(slot, self.columns[i] as usize);
        let word = self.word(key);
        if let Some(number) = self.find(rows, word, key) {
            let entry = &mut self.entries[number as usize];
            let older = (entry.count > 0).then_some(entry.newest);
            entry.newest = slot;
            entry.count += 1;
            return (number, older);
        }
        (self.insert(KeyEntry { word, newest: slot, count: 1 }), None)
    }

    fn insert(&mut self, entry: KeyEntry) -> u32 {
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
        let Self { table, entries, .. } = self;
        table.insert_unique(hash_word(entry.word), number, |other| hash_word(entries[*other as usize].word));
        number
    }

    /// Makes room for so many mappings.
    pub(super) fn reserve(&mut self, mappings: usize) {
        let Self { table, entries, .. } = self;
        table.reserve(mappings, |other| hash_word(entries[*other as usize].word));
    }

    /// One live mapping fewer under this entry.
    pub(super) fn unlink(&mut self, entry: u32) {
        let count = &mut self.entries[entry as usize].count;
        *count -= 1;
        if *count == 0 {
            self.zero.push(entry);
            if self.zero.len() >= self.zero_keys_min.max(self.entries.len() / 2) {
                self.purge();
            }
        }
    }

    /// The newest mapping under this entry, if it has live ones.
    pub(super) fn newest(&self, entry: u32) -> Option<SlotId> {
        self.entries.get(entry as usize).filter(|entry| entry.count > 0).map(|entry| entry.newest)
    }

    pub(super) fn set_newest(&mut self, entry: u32, slot: SlotId) {
        self.entries[entry as usize].newest = slot;
    }

    /// Removes the keys whose counter is still zero.
    fn purge(&mut self) {
        Rare::KeysPurged.note();
        while let Some(number) = self.zero.pop() {
            let entry = self.entries[number as usize];
            if entry.count > 0 {
                continue;
            }
            if let Ok(occupied) = self.table.find_entry(hash_word(entry.word), |other| *other == number) {
                occupied.remove();
                self.free.push(number);
            }
        }
        if self.table.is_empty() {
            self.table = HashTable::new();
            self.entries = Vec::new();
            self.free = Vec::new();
        }
    }

    /// No mapping is left.
    pub(super) fn clear(&mut self) {
        if self.entries.len() < self.entries.capacity() / 8 {
            (self.table, self.entries) = (HashTable::new(), Vec::new());
        }
        self.table.clear();
        self.entries.clear();
        self.free.clear();
        self.zero.clear();
    }

    /// Panics where the table, the free entries and the keys without mappings do not add up.
    pub(super) fn check(&self) {
        assert_eq!(self.table.len() + self.free.len(), self.entries.len(), "keyed index: an entry is lost");
        let is_idle = |entry: &u32| self.entries[*entry as usize].count == 0;
        let waits = |entry: &u32| self.zero.contains(entry);
        assert!(self.table.iter().filter(|e| is_idle(e)).all(waits), "keyed index: a key without mappings would stay");
    }

    /// Keys with live mappings.
    pub(super) fn keys(&self) -> usize {
        self.table.iter().filter(|entry| self.entries[**entry as usize].count > 0).count()
    }
}

/// Folded multiplication: good in the high bits hashbrown compares and in the low ones it indexes by.
#[inline]
fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline]
fn hash_word(word: u64) -> u64 {
    mix(word)
}
