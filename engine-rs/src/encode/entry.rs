//! Slots of the dictionary: the place of a text and its last use.

use super::arena::Place;

/// The last use of a pinned term; greater than any event's number.
pub(super) const PINNED: u64 = (1 << 56) - 1;
/// The last use of a static term: greater than any event's number, less than that of a pinned term.
pub(super) const STATIC: u64 = PINNED - 1;

/// A slot: the place of the term's text and its last use. Twelve bytes per term.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    place: [u8; 5],
    last_use: [u8; 7],
}

impl Entry {
    /// A slot without a term.
    pub(super) const FREE: Self = Self { place: [u8::MAX; 5], last_use: [0; 7] };

    pub(super) fn new(place: Place, last_use: u64) -> Self {
        let [a, b, c, d, e, ..] = place.to_bits().to_le_bytes();
        let mut entry = Self { place: [a, b, c, d, e], last_use: [0; 7] };
        entry.set_last_use(last_use);
        entry
    }

    pub(super) fn is_filled(self) -> bool {
        self.place != Self::FREE.place
    }

    pub(super) fn place(self) -> Place {
        let [a, b, c, d, e] = self.place;
        Place::from_bits(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
    }

    /// The last use; less than any event's number if the slot is free.
    pub(super) fn last_use(self) -> u64 {
        let [a, b, c, d, e, f, g] = self.last_use;
        u64::from_le_bytes([a, b, c, d, e, f, g, 0])
    }

    pub(super) fn set_last_use(&mut self, last_use: u64) {
        let [a, b, c, d, e, f, g, _] = last_use.to_le_bytes();
        self.last_use = [a, b, c, d, e, f, g];
    }
}

/// In a snapshot, uses have 64 bits; pinned and static terms have the greatest values.
pub(super) fn as_saved(last_use: u64) -> u64 {
    if last_use >= STATIC { last_use + (u64::MAX - PINNED) } else { last_use }
}

pub(super) fn from_saved(last_use: u64) -> u64 {
    const SHIFT: u64 = u64::MAX - PINNED;
    if last_use >= STATIC + SHIFT { last_use - SHIFT } else { last_use.min(STATIC - 1) }
}
