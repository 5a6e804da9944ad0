//! An open-addressing table with linear probing: word → newest slot and count.
//!
//! ```text
//!   hash ──► │ word · newest · count │ word · newest · count │ empty │ …
//! ```
//!
//! Every entry is between the home of its word and the next empty place. A removal shifts the following entries back
//! instead of leaving a tombstone. Only a table that is being replaced marks its moved entries.

use super::ring::SlotId;
use crate::rare::Rare;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub word: u64,
    pub newest: SlotId,
    /// The number of live mappings; zero means that the place is empty.
    pub count: u32,
}

/// The count of an entry that has moved to another table.
const MOVED: u32 = u32::MAX;

impl Entry {
    const EMPTY: Self = Self { word: 0, newest: SlotId(0), count: 0 };

    #[inline]
    pub(super) fn is_taken(self) -> bool {
        self.count != 0 && self.count != MOVED
    }
}

#[derive(Debug, Default)]
pub(super) struct Table {
    /// Empty, or a power of two of entries. Plain zeroed words cost nothing until they are used.
    places: Vec<[u64; 2]>,
    /// How far to shift a hash to get a place.
    shift: u32,
}

impl Table {
    pub(super) fn new(places: usize) -> Self {
        debug_assert!(places.is_power_of_two() && places > 1);
        Self { places: vec![[0; 2]; places], shift: u64::BITS - places.trailing_zeros() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Entry {
        let [word, rest] = self.places[at];
        Entry { word, newest: SlotId((rest >> 32) as u32), count: rest as u32 }
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, entry: Entry) {
        self.places[at] = [entry.word, u64::from(entry.newest.0) << 32 | u64::from(entry.count)];
    }

    /// The place of the word whose newest slot is accepted, or the empty place where it belongs.
    #[inline]
    pub(super) fn place(&self, word: u64, is_right: impl Fn(SlotId) -> bool) -> usize {
        let mask = self.len() - 1;
        let mut at = self.home(word);
        loop {
            let entry = self.get(at);
            if entry.count == 0 || (entry.word == word && entry.count != MOVED && is_right(entry.newest)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The entry at [`Table::place_of_word`].
    #[inline]
    pub(super) fn entry_of_word(&self, word: u64) -> Entry {
        let mask = self.len() - 1;
        let mut at = self.home(word);
        loop {
            let [found, rest] = self.places[at];
            let entry = Entry { word: found, newest: SlotId((rest >> 32) as u32), count: rest as u32 };
            if found == word || entry.count == 0 {
                return entry;
            }
            at = (at + 1) & mask;
        }
    }

    /// As [`Table::place`], for words that are keys themselves, in a table that no key is taken from.
    #[inline]
    pub(super) fn place_of_word(&self, word: u64) -> usize {
        let mask = self.len() - 1;
        let mut at = self.home(word);
        loop {
            let [found, rest] = self.places[at];
            debug_assert!(rest as u32 != MOVED, "keyed index: a table in use gives its keys up");
            if found == word || rest as u32 == 0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an entry that is not present.
    pub(super) fn insert(&mut self, entry: Entry) {
        let place = self.place(entry.word, |_| false);
        self.set(place, entry);
    }

    /// Empties a place and shifts back the entries that it had displaced.
    pub(super) fn remove(&mut self, place: usize) {
        let mask = self.len() - 1;
        let (mut gap, mut at) = (place, place);
        loop {
            at = (at + 1) & mask;
            let entry = self.get(at);
            if entry.count == 0 {
                break;
            }
            if at.wrapping_sub(self.home(entry.word)) & mask >= at.wrapping_sub(gap) & mask {
                Rare::KeyMovedUp.note();
                self.set(gap, entry);
                gap = at;
            }
        }
        self.set(gap, Entry::EMPTY);
    }

    /// Takes an entry out for the next table, leaving a mark so that the following entries can still be found.
    pub(super) fn give_up(&mut self, place: usize) -> Option<Entry> {
        let entry = self.get(place);
        entry.is_taken().then(|| {
            self.set(place, Entry { count: MOVED, ..entry });
            entry
        })
    }

    pub(super) fn clear(&mut self) {
        self.places.fill([0; 2]);
    }

    /// The number of entries; panics if one cannot be found.
    pub(super) fn check(&self) -> usize {
        let taken: Vec<usize> = (0..self.len()).filter(|at| self.get(*at).is_taken()).collect();
        for place in &taken {
            let (mask, home) = (self.len() - 1, self.home(self.get(*place).word));
            let way = place.wrapping_sub(home) & mask;
            let mut passed = (0..way).map(|i| self.get((home + i) & mask).count);
            assert!(passed.all(|count| count > 0), "keyed index: a key is not found from its home");
        }
        taken.len()
    }

    #[inline]
    fn home(&self, word: u64) -> usize {
        (mix(word) >> self.shift) as usize
    }
}

/// Folded multiplication, which mixes well into the high bits that select a place.
#[inline]
pub(super) fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F_u128;
    (product as u64) ^ ((product >> 64) as u64)
}
