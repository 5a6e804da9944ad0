//! `RingStore`: mappings in a circular array in arrival order, with their indexes.
//!
//! ```text
//!       front                         head
//!         │ live, with dead gaps         │ free
//!   ──────┼──────────────────────────────┼──────
//!         └ always live, unless empty: expiry only ever looks here and at the stragglers
//! ```
//!
//! Each mapping is one row of words: its terms, its expiry key, and half a word per index (the distance to the next
//! older mapping with the same key), so that a visit touches one cache line; `array.rs` stores them. Keys of renewed
//! mappings are stored separately, because only set windows have any. Expiry in order advances `front`; a mapping that
//! goes out of order (a straggler) is marked dead and skipped. Cost: append one hash per index, expire one counter per
//! index, probe one hash.

use super::array::{Array, DEAD, Linked, NOT_RENEWED};
use super::keyed::{IndexId, KeyedIndex, Probe};
use super::ordered::{OrderedIndex, ValueRange};
use crate::model::TermId;
use crate::rare::Rare;
use crate::thresholds::Thresholds;
use std::collections::BTreeSet;

/// A position in arrival order, modulo 2³². Positions must never be compared with `<`: which of two is older follows
/// from their distance to a common third one, by `wrapping_sub`. 2³² is a multiple of every capacity, so a position
/// keeps its place in the array when the count wraps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SlotId(pub u32);

/// A mapping that has moved to the end of its array, unchanged. The old slot is free: everyone who refers to the
/// mapping by it must learn the new one before anything else is appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moved {
    pub from: SlotId,
    pub to: SlotId,
}

impl Moved {
    /// The oldest slot that anyone may still refer to: the store's oldest, or the one just left.
    pub(crate) fn oldest(self, store: &RingStore) -> SlotId {
        let age = |slot: SlotId| self.to.0.wrapping_sub(slot.0);
        std::cmp::max_by_key(store.oldest(), self.from, |slot| age(*slot))
    }
}

/// The size of an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexFacts<'a> {
    pub columns: &'a [u8],
    /// The number of live keys.
    pub keys: usize,
    /// The bytes of its tables.
    pub bytes: usize,
}

#[derive(Debug)]
pub(crate) struct RingStore {
    array: Array,
    indexes: Vec<Option<KeyedIndex>>,
    ordered: Option<Box<OrderedIndex>>,
    front: u32,
    head: u32,
    live: usize,
    /// The greatest expiry key appended so far; a mapping with a smaller one is a straggler.
    greatest_key: i64,
    /// The greatest key to which a mapping was renewed.
    greatest_renewal: i64,
    stragglers: BTreeSet<(i64, SlotId)>,
    sizes: Sizes,
}

/// The thresholds that a store needs: when the array and its indexes grow, shrink and compact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    slots_min: u32,
    shrink_min: u32,
    gaps_max: u32,
    pub keys_moved: u32,
    pub keys_shrink_min: u32,
}

impl From<Thresholds> for Sizes {
    fn from(thresholds: Thresholds) -> Self {
        let size = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            slots_min: size(thresholds.ring_slots_min),
            shrink_min: size(thresholds.ring_shrink_min),
            gaps_max: size(thresholds.ring_gaps_max),
            keys_moved: size(thresholds.keys_moved),
            keys_shrink_min: size(thresholds.keys_shrink_min),
        }
    }
}

impl RingStore {
    pub(crate) fn new(width: usize, thresholds: Thresholds) -> Self {
        Self {
            array: Array::new(width, 0, thresholds.ring_slots_min.next_power_of_two()),
            indexes: Vec::new(),
            ordered: None,
            front: thresholds.first_position,
            head: thresholds.first_position,
            live: 0,
            greatest_key: i64::MIN,
            greatest_renewal: NOT_RENEWED,
            stragglers: BTreeSet::new(),
            sizes: thresholds.into(),
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(crate) fn width(&self) -> usize {
        self.array.width
    }

    /// The bytes of the array and its links, without the tables of the indexes.
    pub(crate) fn bytes(&self) -> usize {
        self.array.bytes()
    }

    /// The oldest slot that is kept; there is none before it.
    pub(crate) fn oldest(&self) -> SlotId {
        SlotId(self.front)
    }

    #[cfg(test)]
    pub(crate) fn term(&self, slot: SlotId, column: usize) -> TermId {
        TermId::from_bits(self.array.row(slot)[column])
    }

    #[inline]
    pub(crate) fn row(&self, slot: SlotId) -> impl Iterator<Item = TermId> + '_ {
        debug_assert!(self.is_present(slot), "ring: a mapping is read that is not kept any more");
        self.array.row(slot).iter().map(|bits| TermId::from_bits(*bits))
    }

    /// The raw terms of a mapping.
    #[inline]
    pub(crate) fn bits(&self, slot: SlotId) -> &[u64] {
        debug_assert!(self.is_present(slot), "ring: a mapping is read that is not kept any more");
        self.array.row(slot)
    }

    #[inline]
    fn is_live(&self, slot: SlotId) -> bool {
        self.array.is_live(slot)
    }

    /// Live mappings, oldest first.
    pub(crate) fn slots(&self) -> impl Iterator<Item = SlotId> + '_ {
        let len = self.head.wrapping_sub(self.front);
        (0..len).map(|i| SlotId(self.front.wrapping_add(i))).filter(|slot| self.is_live(*slot))
    }

    pub(super) fn n_indexes(&self) -> usize {
        self.indexes.len()
    }

    pub(super) fn index(&self, number: usize) -> Option<&KeyedIndex> {
        self.indexes[number].as_ref()
    }

    pub(super) fn ordered(&self) -> Option<&OrderedIndex> {
        self.ordered.as_deref()
    }

    pub(super) fn is_ordered(&self, slot: SlotId) -> bool {
        self.ordered.as_ref().is_none_or(|ordered| ordered.contains(&self.array, slot))
    }

    /// Whether both have the same mappings, in the same order and until the same instants.
    pub(crate) fn shows_the_same(&self, other: &Self) -> bool {
        fn kept(store: &RingStore, slot: SlotId) -> (&[u64], i64, i64) {
            (store.array.row(slot), store.array.expiry_key(slot), store.array.renewal(slot))
        }
        self.live == other.live
            && self.slots().zip(other.slots()).all(|(own, theirs)| kept(self, own) == kept(other, theirs))
    }

    pub(super) fn expiry_key(&self, slot: SlotId) -> i64 {
        self.array.expiry_key(slot)
    }

    pub(super) fn is_noted_straggler(&self, slot: SlotId) -> bool {
        self.stragglers.contains(&(self.array.expiry_key(slot), slot))
    }

    /// Whether no key of these slots exceeds the recorded maxima.
    pub(super) fn covers_keys(&self, slots: &[SlotId]) -> bool {
        slots.iter().all(|slot| {
            self.array.expiry_key(*slot) <= self.greatest_key && self.array.renewal(*slot) <= self.greatest_renewal
        })
    }

    /// Creates the index on these columns, or adds a user to the existing one.
    pub(crate) fn acquire_index(&mut self, columns: &[u8]) -> IndexId {
        let same = |index: &Option<KeyedIndex>| index.as_ref().is_some_and(|i| *i.columns == *columns);
        let id = match self.indexes.iter().position(same) {
            Some(id) => id,
            None => self.build_index(columns),
        };
        if let Some(index) = &mut self.indexes[id] {
            index.users += 1;
        }
        IndexId(id as u32)
    }

    /// Removes a user; an index without users is dropped.
    pub(crate) fn release_index(&mut self, id: IndexId) {
        let place = &mut self.indexes[id.0 as usize];
        if let Some(index) = place {
            index.users -= 1;
            if index.users == 0 {
                *place = None;
            }
        }
    }

    pub(crate) fn indexes(&self) -> impl Iterator<Item = IndexFacts<'_>> + '_ {
        let found = self.indexes.iter().flatten();
        found.map(|index| IndexFacts { columns: &index.columns, keys: index.keys(), bytes: index.bytes() })
    }

    fn build_index(&mut self, columns: &[u8]) -> usize {
        let id = self.indexes.iter().position(Option::is_none).unwrap_or(self.indexes.len());
        if id == self.indexes.len() {
            self.indexes.push(None);
            let capacity = self.used().next_power_of_two().max(self.array.capacity());
            self.array = self.array.relaid(capacity, self.indexes.len(), self.front, self.head);
        }
        self.indexes[id] = Some(KeyedIndex::new(columns, self.sizes));
        let slots: Vec<_> = self.slots().collect();
        for slot in slots {
            self.link(id, slot);
        }
        id
    }

    /// Adds an existing mapping to an index.
    fn link(&mut self, index: usize, slot: SlotId) {
        let row: smallvec::SmallVec<[TermId; 8]> = self.row(slot).collect();
        link(&mut self.indexes[index], &mut self.array, index, &row, slot);
    }

    /// Appends a mapping that expires when its key falls below the window's bound.
    #[inline]
    pub(crate) fn append(&mut self, row: &[TermId], expiry_key: i64) -> SlotId {
        self.make_room();
        let slot = SlotId(self.head);
        self.head = self.head.wrapping_add(1);
        if self.head == 0 {
            Rare::PositionWrapped.note();
        }
        let Self { array, indexes, ordered, .. } = self;
        array.write(slot, row, expiry_key);
        for (number, index) in indexes.iter_mut().enumerate() {
            link(index, array, number, row, slot);
        }
        if let Some(ordered) = ordered {
            ordered.insert(array, slot);
        }
        self.note_order(slot, expiry_key);
        self.live += 1;
        slot
    }

    #[inline]
    fn note_order(&mut self, slot: SlotId, expiry_key: i64) {
        // Apart from stragglers, keys never decrease from `front` to `head`. This is why expiry may look at `front`
        // alone.
        if expiry_key < self.greatest_key {
            self.stragglers.insert((expiry_key, slot));
        } else {
            self.greatest_key = expiry_key;
        }
    }

    /// The same mapping arrived again: it stays until the later of the two keys expires.
    pub(crate) fn renew(&mut self, slot: SlotId, expiry_key: i64) {
        // Keep the expiry key: a greater one in the middle of the array would break the order that expiry relies on.
        // When the old key expires, the mapping moves to the end.
        let own = self.array.expiry_key(slot);
        let renewed_to = self.array.renewal(slot).max(expiry_key).max(own);
        self.array.set_renewal(slot, renewed_to);
        self.greatest_renewal = self.greatest_renewal.max(renewed_to);
    }

    /// The expiry key of the last copy of a mapping.
    pub(crate) fn last_expiry_key(&self, slot: SlotId) -> i64 {
        self.array.expiry_key(slot).max(self.array.renewal(slot))
    }

    /// Removes a mapping, wherever it is.
    pub(crate) fn kill(&mut self, slot: SlotId) {
        debug_assert!(self.is_live(slot), "a mapping is taken out once");
        // The row of a dead mapping stays readable until `front` passes it, which it may do at the end of this call.
        self.array.set_expiry_key(slot, DEAD);
        for index in 0..self.indexes.len() {
            let Some(keyed) = &mut self.indexes[index] else { continue };
            let row = self.array.row(slot);
            if keyed.unlink(&self.array, |column| TermId::from_bits(row[usize::from(column)]), slot) {
                self.skip_dead_newest(index, slot);
            }
        }
        if let Some(ordered) = &mut self.ordered {
            ordered.remove(&self.array, slot);
        }
        self.live -= 1;
        self.advance_front();
        if self.live == 0 {
            self.forget_keys();
        }
    }

    /// Restores the invariant that a chain starts with a live mapping. Without it, removing equal mappings newest first
    /// would walk over all dead ones each time; this way each dead mapping is skipped once.
    #[cold]
    fn skip_dead_newest(&mut self, index: usize, killed: SlotId) {
        let mut newest = killed;
        while !self.is_live(newest) {
            newest = self.older(IndexId(index as u32), newest);
        }
        if let Some(keyed) = &mut self.indexes[index] {
            let row = self.array.row(newest);
            keyed.set_newest(&self.array, |column| TermId::from_bits(row[usize::from(column)]), newest);
        }
    }

    fn forget_keys(&mut self) {
        self.stragglers.clear();
        self.greatest_key = i64::MIN;
        self.greatest_renewal = NOT_RENEWED;
    }

    /// Removes the oldest mappings that expire below the bound, up to one that was renewed or is to stay. This
    /// has the effect of [`RingStore::kill`], but marks nothing as dead: no one reads what lies before the front.
    /// Returns whether no mapping below the bound is left.
    #[inline]
    pub(crate) fn expire_first(&mut self, bound: i64, stays: impl Fn(&[u64]) -> bool) -> bool {
        let Self { array, indexes, ordered, front, head, live, .. } = self;
        let mut is_done = self.stragglers.is_empty();
        while *front != *head {
            let slot = SlotId(*front);
            let (row, expiry_key) = array.row_and_key(slot);
            if expiry_key != DEAD {
                if expiry_key >= bound {
                    break;
                }
                if stays(row) || array.renewal(slot) != NOT_RENEWED {
                    is_done = false;
                    break;
                }
                for keyed in indexes.iter_mut().flatten() {
                    let is_newest = keyed.unlink(array, |column| TermId::from_bits(row[usize::from(column)]), slot);
                    debug_assert!(!is_newest, "ring: the oldest mapping of a key is also its newest");
                }
                if let Some(ordered) = ordered {
                    ordered.remove(array, slot);
                }
                *live -= 1;
            }
            *front = front.wrapping_add(1);
        }
        array.forget_before(*front);
        if *live == 0 {
            self.forget_keys();
        }
        is_done
    }

    /// Whether there are mappings and all of them expire below this bound.
    pub(crate) fn expires_whole(&self, bound: i64) -> bool {
        self.live > 0 && self.greatest_key < bound && self.greatest_renewal < bound
    }

    /// Removes all mappings.
    pub(crate) fn clear(&mut self) {
        self.indexes.iter_mut().flatten().for_each(KeyedIndex::clear);
        self.ordered.iter_mut().for_each(|ordered| ordered.clear());
        self.front = self.head;
        self.array.forget_before(self.front);
        self.live = 0;
        self.forget_keys();
    }

    fn advance_front(&mut self) {
        while self.front != self.head && !self.array.is_live(SlotId(self.front)) {
            self.front = self.front.wrapping_add(1);
        }
        self.array.forget_before(self.front);
    }

    /// The number of slots from front to head.
    fn used(&self) -> usize {
        self.head.wrapping_sub(self.front) as usize
    }

    /// The next mapping whose key is below the bound: the oldest, or a straggler.
    pub(crate) fn next_expired(&mut self, bound: i64) -> Option<SlotId> {
        // The front is live, because `advance_front` skips what dies there. A dead front would expire forever: DEAD is
        // the least key of all.
        let front = SlotId(self.front);
        if self.front != self.head && self.array.expiry_key(front) < bound {
            return Some(front);
        }
        while let Some((key, slot)) = self.stragglers.first().copied() {
            if key >= bound {
                return None;
            }
            if self.is_straggler(key, slot) {
                Rare::StragglerDied.note();
                return Some(slot);
            }
            self.stragglers.pop_first();
        }
        None
    }

    /// A lower bound of all expiry keys; `None` if there are no mappings.
    pub(crate) fn first_key(&self) -> Option<i64> {
        let oldest = (self.front != self.head).then(|| self.array.expiry_key(SlotId(self.front)))?;
        let straggler = self.stragglers.first().map(|(key, _)| *key);
        Some(straggler.map_or(oldest, |key| key.min(oldest)))
    }

    fn is_present(&self, slot: SlotId) -> bool {
        slot.0.wrapping_sub(self.front) < self.head.wrapping_sub(self.front)
    }

    /// Moves a renewed mapping to the end of the array; `None` if it was not renewed past the bound.
    pub(crate) fn move_if_renewed(&mut self, slot: SlotId, bound: i64) -> Option<Moved> {
        let renewed_to = self.array.renewal(slot);
        let is_renewed = renewed_to != NOT_RENEWED && renewed_to >= bound;
        is_renewed.then(|| self.move_to_end(slot, renewed_to))
    }

    fn move_to_end(&mut self, from: SlotId, expiry_key: i64) -> Moved {
        let row: smallvec::SmallVec<[TermId; 8]> = self.row(from).collect();
        let slots = self.array.capacity();
        // Append first, so that the counters of its keys never reach zero and no key is removed and re-added.
        let to = self.append(&row, expiry_key);
        self.kill(from);
        Rare::MappingMoved.note();
        if self.array.capacity() > slots {
            Rare::RingGrewInMove.note();
        }
        Moved { from, to }
    }

    #[inline]
    pub(crate) fn probe(&self, index: IndexId, key: impl Fn(usize) -> TermId) -> Probe {
        match &self.indexes[index.0 as usize] {
            Some(keyed) => keyed.probe(&self.array, key),
            None => unreachable!("an index in use is not dropped"),
        }
    }

    /// Visits the live mappings that a probe found and their raw terms, newest first; returns the number of dead ones
    /// skipped.
    #[inline]
    pub(crate) fn walk(&self, index: IndexId, probe: Probe, mut visit: impl FnMut(SlotId, &[u64])) -> u64 {
        let mut slot = probe.newest;
        let mut left = probe.count;
        let mut dead = 0;
        while left > 0 {
            let Linked { row, is_live, distance } = self.array.linked(slot, index.0 as usize);
            if is_live {
                visit(slot, row);
                left -= 1;
                if left == 0 {
                    break;
                }
            } else {
                dead += 1;
            }
            slot = older_by(slot, distance);
        }
        dead
    }

    /// The next older mapping with the same key.
    #[inline]
    fn older(&self, index: IndexId, slot: SlotId) -> SlotId {
        older_by(slot, self.array.link(slot, index.0 as usize))
    }

    /// The newest live mapping a probe found.
    pub(crate) fn newest(&self, index: IndexId, probe: Probe) -> Option<SlotId> {
        let mut slot = probe.newest;
        if probe.count == 0 {
            return None;
        }
        while !self.is_live(slot) {
            slot = self.older(index, slot);
        }
        Some(slot)
    }

    /// Whether the slot still holds the mapping with this key.
    fn is_straggler(&self, key: i64, slot: SlotId) -> bool {
        self.is_present(slot) && self.array.expiry_key(slot) == key
    }

    /// Also keeps the mappings sorted by the numbers of one column; at most one column per store.
    pub(crate) fn acquire_order(&mut self, column: usize) -> bool {
        if self.ordered.is_none() {
            let mut ordered = OrderedIndex::new(column);
            for slot in self.slots() {
                ordered.insert(&self.array, slot);
            }
            self.ordered = Some(Box::new(ordered));
        }
        self.ordered.as_ref().is_some_and(|ordered| ordered.column() == column)
    }

    /// The column by which the mappings are sorted.
    pub(crate) fn ordered_on(&self) -> Option<usize> {
        self.ordered.as_deref().map(OrderedIndex::column)
    }

    /// Visits the live mappings whose ordered column may be in the range (a superset).
    pub(crate) fn walk_range(&self, range: ValueRange, visit: impl FnMut(SlotId)) {
        if let Some(ordered) = &self.ordered {
            ordered.walk(range, visit);
        }
    }

    #[inline]
    fn make_room(&mut self) {
        let capacity = self.array.capacity();
        let is_full = self.array.used(self.front, self.head) == capacity;
        if is_full || (self.used() * 16 < capacity && capacity > self.sizes.shrink_min as usize) {
            self.begin_segment(is_full);
        }
    }

    /// Starts a segment with twice the room for the live mappings.
    fn begin_segment(&mut self, grows: bool) {
        let used = self.used();
        let wanted = if grows {
            Rare::RingGrew.note();
            (used + 1).next_power_of_two()
        } else {
            Rare::RingShrank.note();
            (used * 2).max(self.sizes.slots_min as usize).next_power_of_two()
        };
        self.array.begin_segment(self.head, wanted);
        self.array.forget_before(self.front);
    }

    /// If dead mappings outnumber live ones, moves the oldest live mapping to the end.
    ///
    /// Stores without windows (sub-results) have no expiry order, so nothing else would let `front` advance.
    pub(crate) fn move_oldest_if_sparse(&mut self) -> Option<Moved> {
        let used = self.used();
        if self.live == 0 || used <= 2 * self.live + self.sizes.gaps_max as usize {
            return None;
        }
        let oldest = self.oldest();
        Some(self.move_to_end(oldest, self.array.expiry_key(oldest)))
    }
}

#[inline]
fn link(index: &mut Option<KeyedIndex>, array: &mut Array, number: usize, row: &[TermId], slot: SlotId) {
    let Some(keyed) = index else { return };
    let older = keyed.link(array, |column| row[usize::from(column)], slot);
    array.set_link(slot, number, older.map_or(0, |older| slot.0.wrapping_sub(older.0)));
}

/// The mapping this far before another in a chain. The counter of the key guarantees that it exists; otherwise a chain
/// that ended early would be followed without end.
#[inline]
fn older_by(slot: SlotId, distance: u32) -> SlotId {
    assert!(distance != 0, "keyed index: the chain of a key is shorter than its counter");
    SlotId(slot.0.wrapping_sub(distance))
}

#[path = "ring_saved.rs"]
mod saved;
#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
