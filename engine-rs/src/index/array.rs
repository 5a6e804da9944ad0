//! The words of the slots of a store, in segments: a mapping stays where it was written until it goes.
//!
//! ```text
//!        front                begins            head
//!          │    older segments   │    newest       │
//!   ───────┼─────────────────────┼─────────────────┼──────
//!          └─ freed once front ──┘└─ wraps around ──┘
//!             has passed them       when it is the only one
//!
//!   slot & mask ──► │ term × width │ expiry key │ link · link │ link · link │ …
//!                                                 link: distance to the next older mapping with the same key
//! ```
//!
//! A store that grows or shrinks gets a new segment for further mappings and copies nothing: an append pauses for an
//! allocation at most, however full the store is. A window that has reached its size has one segment. A link is a
//! distance and not a position, so it stays valid when the slots are laid out again for another index.

use super::keyed::Rows;
use super::ring::SlotId;
use crate::model::TermId;
use crate::rare::Rare;

pub(super) const DEAD: i64 = i64::MIN;
pub(super) const NOT_RENEWED: i64 = i64::MIN;

#[derive(Debug)]
pub(super) struct Array {
    pub width: usize,
    stride: usize,
    newest: Segment,
    /// Oldest first.
    older: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    /// Its first position. Meaningless if there is no older segment.
    begins: u32,
    mask: usize,
    words: Vec<u64>,
    /// For each slot, the key to which its mapping was renewed; empty until the first renewal. Zero stands for
    /// [`NOT_RENEWED`], because zeroed memory is not touched until it is used.
    renewals: Vec<u64>,
}

/// A mapping of a chain.
pub(super) struct Linked<'a> {
    pub row: &'a [u64],
    pub is_live: bool,
    /// The distance to the next older mapping of the chain.
    pub distance: u32,
}

impl Segment {
    fn new(begins: u32, stride: usize, capacity: usize) -> Self {
        Self { begins, mask: capacity - 1, words: vec![0; capacity * stride], renewals: Vec::new() }
    }

    fn capacity(&self) -> usize {
        self.mask + 1
    }

    /// Whether a slot is in this segment or a newer one. While there are several segments no position is reused, so all
    /// slots are within 2³¹ of each other and the sign of the difference decides.
    #[inline]
    fn begins_by(&self, slot: SlotId) -> bool {
        slot.0.wrapping_sub(self.begins) as i32 >= 0
    }
}

impl Array {
    pub(super) fn new(width: usize, links: usize, capacity: usize) -> Self {
        let stride = width + 1 + links.div_ceil(2);
        Self { width, stride, newest: Segment::new(0, stride, capacity), older: Vec::new() }
    }

    #[inline]
    fn segment(&self, slot: SlotId) -> &Segment {
        if self.older.is_empty() || self.newest.begins_by(slot) { &self.newest } else { self.older_segment(slot) }
    }

    #[cold]
    fn older_segment(&self, slot: SlotId) -> &Segment {
        self.older.iter().rev().find(|segment| segment.begins_by(slot)).unwrap_or(&self.older[0])
    }

    #[inline]
    fn segment_mut(&mut self, slot: SlotId) -> &mut Segment {
        if self.older.is_empty() || self.newest.begins_by(slot) {
            return &mut self.newest;
        }
        let last = self.older.iter().rposition(|segment| segment.begins_by(slot));
        &mut self.older[last.unwrap_or(0)]
    }

    /// All words of a slot.
    #[inline]
    fn words(&self, slot: SlotId) -> &[u64] {
        let segment = self.segment(slot);
        let at = (slot.0 as usize & segment.mask) * self.stride;
        &segment.words[at..at + self.stride]
    }

    #[inline]
    fn words_mut(&mut self, slot: SlotId) -> &mut [u64] {
        let stride = self.stride;
        let segment = self.segment_mut(slot);
        let at = (slot.0 as usize & segment.mask) * stride;
        &mut segment.words[at..at + stride]
    }

    #[inline]
    pub(super) fn row(&self, slot: SlotId) -> &[u64] {
        &self.words(slot)[..self.width]
    }

    #[inline]
    pub(super) fn row_and_key(&self, slot: SlotId) -> (&[u64], i64) {
        let (row, rest) = self.words(slot).split_at(self.width);
        (row, rest[0] as i64)
    }

    /// Writes a mapping into a slot, without links.
    #[inline]
    pub(super) fn write(&mut self, slot: SlotId, row: &[TermId], expiry_key: i64) {
        let (width, stride) = (self.width, self.stride);
        let segment = self.segment_mut(slot);
        let at = slot.0 as usize & segment.mask;
        let words = &mut segment.words[at * stride..(at + 1) * stride];
        debug_assert_eq!(row.len(), width);
        for (place, term) in words.iter_mut().zip(row) {
            *place = term.to_bits();
        }
        words[width] = expiry_key as u64;
        // No renewal is zero.
        if let Some(renewal) = segment.renewals.get_mut(at) {
            *renewal = 0;
        }
    }

    #[inline]
    pub(super) fn expiry_key(&self, slot: SlotId) -> i64 {
        self.words(slot)[self.width] as i64
    }

    #[inline]
    pub(super) fn set_expiry_key(&mut self, slot: SlotId, key: i64) {
        let width = self.width;
        self.words_mut(slot)[width] = key as u64;
    }

    #[inline]
    pub(super) fn is_live(&self, slot: SlotId) -> bool {
        self.expiry_key(slot) != DEAD
    }

    #[inline]
    pub(super) fn renewal(&self, slot: SlotId) -> i64 {
        let segment = self.segment(slot);
        let bits = segment.renewals.get(slot.0 as usize & segment.mask).copied().unwrap_or(0);
        (bits ^ NOT_RENEWED as u64) as i64
    }

    #[inline]
    pub(super) fn set_renewal(&mut self, slot: SlotId, key: i64) {
        let segment = self.segment_mut(slot);
        if segment.renewals.is_empty() {
            if key == NOT_RENEWED {
                return;
            }
            segment.renewals = vec![0; segment.capacity()];
        }
        segment.renewals[slot.0 as usize & segment.mask] = (key ^ NOT_RENEWED) as u64;
    }

    #[inline]
    pub(super) fn link(&self, slot: SlotId, index: usize) -> u32 {
        (self.words(slot)[self.width + 1 + index / 2] >> (32 * (index % 2))) as u32
    }

    /// All that a walk along an index needs of a mapping, with one access.
    #[inline]
    pub(super) fn linked(&self, slot: SlotId, index: usize) -> Linked<'_> {
        let (row, rest) = self.words(slot).split_at(self.width);
        let distance = (rest[1 + index / 2] >> (32 * (index % 2))) as u32;
        Linked { row, is_live: rest[0] as i64 != DEAD, distance }
    }

    #[inline]
    pub(super) fn set_link(&mut self, slot: SlotId, index: usize, distance: u32) {
        let (at, shift) = (self.width + 1 + index / 2, 32 * (index % 2));
        let word = &mut self.words_mut(slot)[at];
        *word = (*word & !(u64::from(u32::MAX) << shift)) | (u64::from(distance) << shift);
    }

    /// The number of slots of the newest segment.
    pub(super) fn capacity(&self) -> usize {
        self.newest.capacity()
    }

    /// How many slots of the newest segment are in use, out of those from `front` to `head`.
    #[inline]
    pub(super) fn used(&self, front: u32, head: u32) -> usize {
        let begins = if self.older.is_empty() { front } else { self.newest.begins };
        head.wrapping_sub(begins) as usize
    }

    /// Starts a new segment for everything appended from `head` on.
    pub(super) fn begin_segment(&mut self, head: u32, capacity: usize) {
        let segment = Segment::new(head, self.stride, capacity);
        let mut filled = std::mem::replace(&mut self.newest, segment);
        if self.older.is_empty() {
            // Everything present lies before this position and within 2³¹ of it.
            filled.begins = head.wrapping_sub(filled.capacity() as u32);
        }
        self.older.push(filled);
    }

    /// Frees the segments that end before `front`.
    #[inline]
    pub(super) fn forget_before(&mut self, front: u32) {
        if !self.older.is_empty() {
            self.forget_segments(SlotId(front));
        }
    }

    #[cold]
    fn forget_segments(&mut self, front: SlotId) {
        let n_segments = self.older.len();
        if self.newest.begins_by(front) {
            self.older = Vec::new();
        } else if let Some(kept) = self.older.iter().rposition(|segment| segment.begins_by(front)) {
            self.older.drain(..kept);
        }
        if self.older.len() < n_segments {
            Rare::SegmentDropped.note();
        }
    }

    /// The slots `from..to` in a single segment, with room for this many links.
    pub(super) fn relaid(&self, capacity: usize, links: usize, from: u32, to: u32) -> Self {
        let mut new = Self::new(self.width, links, capacity);
        let kept = new.stride.min(self.stride);
        for i in 0..to.wrapping_sub(from) {
            let slot = SlotId(from.wrapping_add(i));
            new.words_mut(slot)[..kept].copy_from_slice(&self.words(slot)[..kept]);
            new.set_renewal(slot, self.renewal(slot));
        }
        new
    }

    pub(super) fn bytes(&self) -> usize {
        let segments = self.older.iter().chain([&self.newest]);
        segments.map(|segment| (segment.words.len() + segment.renewals.len()) * 8).sum()
    }

    #[cfg(test)]
    pub(super) fn n_segments(&self) -> usize {
        self.older.len() + 1
    }
}

impl Rows for Array {
    #[inline]
    fn column(&self, slot: SlotId, column: usize) -> TermId {
        TermId::from_bits(self.words(slot)[column])
    }
}
