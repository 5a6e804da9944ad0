//! The ring index: key → counter and newest mapping; mappings with one key are linked from newest to oldest.
//!
//! The counter is the exact number of live mappings with the key: the join uses it as its cost estimate and to end a
//! walk. All keys share one open table, so that a probe touches one cache line before it touches a mapping. For a key
//! of one column, the table stores the key itself and a probe needs no mapping at all; otherwise it stores a hash, and
//! the newest mapping decides. A key whose counter reaches zero is removed at once. A table that has become too small
//! or too large is not rebuilt in one go: its successor takes over a few keys with each change, so that no append waits
//! for all of them. Used for its counters alone, this is the papers' one-way index.

use super::ring::{Sizes, SlotId};
use super::table::{Entry, Table, mix};
use crate::model::TermId;
use crate::rare::Rare;

/// An index of a [`super::RingStore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IndexId(pub(super) u32);

/// The result of a probe: the number of live mappings with the key, and the newest slot of its chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub count: u32,
    pub(super) newest: SlotId,
}

impl Probe {
    pub(crate) const NOTHING: Self = Self { count: 0, newest: SlotId(0) };
}

/// The size of the smallest non-empty table. A smaller one would have no empty place that ends a search.
const PLACES_MIN: usize = 4;

/// How the index reads the columns of a live mapping.
pub(super) trait Rows {
    fn column(&self, slot: SlotId, column: usize) -> TermId;
}

#[derive(Debug)]
pub(super) struct KeyedIndex {
    pub columns: Box<[u8]>,
    /// The number of queries that use this index; it is dropped at zero.
    pub users: u32,
    /// At most three quarters full.
    table: Table,
    /// The previous table, with the keys that have not moved yet; usually empty.
    old: Table,
    /// How many places of the old table have been examined.
    n_moved: usize,
    n_keys: usize,
    /// How many places of the old table are examined with each change. A table has room for half as many new keys as
    /// it has places before the next one is due, so two are enough to finish in time; a new table waits for the rest.
    moves: usize,
    shrink_min: usize,
}

impl KeyedIndex {
    pub(super) fn new(columns: &[u8], sizes: Sizes) -> Self {
        let (table, old) = (Table::default(), Table::default());
        let (moves, shrink_min) = (sizes.keys_moved as usize, sizes.keys_shrink_min as usize);
        Self { columns: columns.into(), users: 0, table, old, n_moved: 0, n_keys: 0, moves, shrink_min }
    }

    /// The word of a key: the key itself, or its hash.
    #[inline]
    fn word(&self, key: impl Fn(usize) -> TermId) -> u64 {
        match self.columns.len() {
            1 => key(0).to_bits(),
            width => (0..width).fold(0, |word, i| mix(word ^ key(i).to_bits())),
        }
    }

    /// Whether a mapping with the word of the key has the key.
    #[inline]
    fn has_key(&self, rows: &impl Rows, slot: SlotId, key: impl Fn(usize) -> TermId) -> bool {
        let mut columns = self.columns.iter().enumerate();
        self.columns.len() == 1 || columns.all(|(i, column)| rows.column(slot, *column as usize) == key(i))
    }

    #[inline]
    pub(super) fn probe(&self, rows: &impl Rows, key: impl Fn(usize) -> TermId) -> Probe {
        if self.n_keys == 0 {
            return Probe::NOTHING;
        }
        let is_right = |slot| self.has_key(rows, slot, &key);
        let (word, mut entry);
        if self.columns.len() == 1 {
            word = key(0).to_bits();
            entry = self.table.entry_of_word(word);
        } else {
            word = self.word(&key);
            entry = self.table.get(self.table.place(word, is_right));
        }
        if entry.count == 0 && !self.old.is_empty() {
            entry = self.old.get(self.old.place(word, is_right));
            if entry.count > 0 {
                Rare::OldTableProbed.note();
            }
        }
        Probe { count: entry.count, newest: entry.newest }
    }

    /// Makes the slot of a mapping the newest of its key's chain; returns the previous one.
    #[inline]
    pub(super) fn link(&mut self, rows: &impl Rows, term: impl Fn(u8) -> TermId, slot: SlotId) -> Option<SlotId> {
        if self.n_keys * 4 >= self.table.len() * 3 {
            self.resize(self.table.len() * 2);
        }
        let (word, place) = self.place_of(rows, term);
        let entry = self.table.get(place);
        self.table.set(place, Entry { word, newest: slot, count: entry.count + 1 });
        self.n_keys += usize::from(entry.count == 0);
        (entry.count > 0).then_some(entry.newest)
    }

    /// Decrements the counter of a mapping's key. Returns true if the mapping was the newest of several: the caller
    /// must then find the new newest and pass it to `set_newest`.
    #[inline]
    pub(super) fn unlink(&mut self, rows: &impl Rows, term: impl Fn(u8) -> TermId, slot: SlotId) -> bool {
        let (_, place) = self.place_of(rows, term);
        let entry = self.table.get(place);
        if entry.count > 1 {
            self.table.set(place, Entry { count: entry.count - 1, ..entry });
            return entry.newest == slot;
        }
        self.table.remove(place);
        self.n_keys -= 1;
        if self.n_keys * 16 < self.table.len() && self.table.len() > self.shrink_min {
            self.resize(self.table.len() / 4);
        }
        false
    }

    /// Sets the newest mapping of a key.
    pub(super) fn set_newest(&mut self, rows: &impl Rows, term: impl Fn(u8) -> TermId, slot: SlotId) {
        let (_, place) = self.place_of(rows, term);
        let entry = self.table.get(place);
        self.table.set(place, Entry { newest: slot, ..entry });
    }

    /// The word and the place of a mapping's key, which is in the new table afterwards. `term` gives its columns.
    #[inline]
    fn place_of(&mut self, rows: &impl Rows, term: impl Fn(u8) -> TermId) -> (u64, usize) {
        if let [column] = *self.columns {
            let word = term(column).to_bits();
            if !self.old.is_empty() {
                self.fetch(word, |_| true);
            }
            return (word, self.table.place_of_word(word));
        }
        let key = |i: usize| term(self.columns[i]);
        let word = self.word(key);
        if !self.old.is_empty() {
            let columns = std::mem::take(&mut self.columns);
            self.fetch(word, |newest| {
                columns.iter().all(|column| rows.column(newest, *column as usize) == term(*column))
            });
            self.columns = columns;
        }
        let key = |i: usize| term(self.columns[i]);
        (word, self.table.place(word, |newest| self.has_key(rows, newest, key)))
    }

    /// Moves a few keys from the old table, and the key with this word if it is still there.
    #[cold]
    fn fetch(&mut self, word: u64, is_right: impl Fn(SlotId) -> bool) {
        self.move_keys(self.moves);
        if self.old.is_empty() {
            return;
        }
        let place = self.old.place(word, is_right);
        if let Some(entry) = self.old.give_up(place) {
            self.table.insert(entry);
        }
    }

    /// Examines this many more places of the old table.
    fn move_keys(&mut self, places: usize) {
        let until = self.old.len().min(self.n_moved.saturating_add(places));
        for place in self.n_moved..until {
            if let Some(entry) = self.old.give_up(place) {
                self.table.insert(entry);
            }
        }
        self.n_moved = until;
        if until == self.old.len() {
            self.old = Table::default();
        }
    }

    fn resize(&mut self, places: usize) {
        Rare::KeysLaidOut.note();
        self.move_keys(usize::MAX);
        self.old = std::mem::replace(&mut self.table, Table::new(places.max(PLACES_MIN)));
        self.n_moved = 0;
    }

    /// Makes room for this many keys.
    pub(super) fn reserve(&mut self, keys: usize) {
        let places = (keys * 4 / 3 + 1).next_power_of_two();
        if places > self.table.len() {
            self.resize(places);
        }
    }

    /// Removes all keys.
    pub(super) fn clear(&mut self) {
        self.old = Table::default();
        if self.n_keys < self.table.len() / 8 {
            self.table = Table::default();
        }
        self.table.clear();
        self.n_keys = 0;
    }

    /// Panics if the tables are inconsistent.
    pub(super) fn check(&self) {
        assert_eq!(self.table.check() + self.old.check(), self.n_keys, "keyed index: a key is lost");
    }

    /// The number of keys with live mappings.
    pub(super) fn keys(&self) -> usize {
        self.n_keys
    }

    /// The bytes of both tables.
    pub(super) fn bytes(&self) -> usize {
        (self.table.len() + self.old.len()) * size_of::<[u64; 2]>()
    }
}
