//! The first result node of each slot of one buffer.
//!
//! ```text
//!  position      low                               high
//!                 │  open: NONE or a node           │  not open yet
//!   ──────────────┼─────────────────────────────────┼────────────
//!   first[position & mask]:
//!                 │ a │ b │ NONE │ c │ …            │     mask = capacity − 1
//! ```
//!
//! This is a ring over the same 32-bit positions as the buffer's store, but with its own capacity. It must not follow
//! the store's capacity: moving a mapping appends it first, which may grow the store, while its results still refer to
//! the old slot. Positions below `low` have no results any more; positions from `high` on are not open yet.

use super::trees::NONE;
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::index::SlotId;

#[derive(Debug)]
pub(super) struct Heads {
    low: u32,
    high: u32,
    /// Empty, or a power of two of words.
    first: Vec<u32>,
    /// Rings of up to this many words do not shrink.
    shrink_min: usize,
}

impl Heads {
    pub(super) fn new(shrink_min: usize) -> Self {
        Self { low: 0, high: 0, first: Vec::new(), shrink_min }
    }

    /// Opens the next slot. `oldest` is the oldest slot that may still have results.
    pub(super) fn open(&mut self, slot: SlotId, oldest: SlotId) {
        self.forget_before(oldest);
        let span = slot.0.wrapping_sub(self.low) as usize + 1;
        if span > self.first.len() || self.is_too_large_for(span) {
            self.fit(span);
        }
        while self.high != slot.0.wrapping_add(1) {
            let place = self.place(self.high);
            self.first[place] = NONE;
            self.high = self.high.wrapping_add(1);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.first.capacity() * size_of::<u32>()
    }

    /// The first node under an open slot.
    pub(super) fn of(&mut self, slot: SlotId) -> &mut u32 {
        debug_assert!(self.is_open(slot), "results hang under open slots");
        let place = self.place(slot.0);
        &mut self.first[place]
    }

    /// Removes all results; open slots stay open.
    pub(super) fn clear(&mut self) {
        self.first.fill(NONE);
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &u32> {
        self.open_positions().map(|position| &self.first[self.place(position)])
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.u32(self.low);
        to.list(self.nodes().collect::<Vec<_>>().into_iter(), |to, node| to.u32(*node));
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        self.low = from.u32()?;
        let nodes = from.long_list(4, Reader::u32)?;
        ensure(u32::try_from(nodes.len()).is_ok(), "a tree has too many roots")?;
        self.high = self.low.wrapping_add(nodes.len() as u32);
        self.first = vec![NONE; nodes.len().next_power_of_two()];
        for (position, node) in self.open_positions().zip(nodes) {
            *self.of(SlotId(position)) = node;
        }
        Ok(())
    }

    /// Slots before the oldest one have been retracted already.
    fn forget_before(&mut self, oldest: SlotId) {
        if self.is_open(oldest) {
            self.low = oldest.0;
        } else {
            debug_assert!(self.nodes().all(|node| *node == NONE), "the store has forgotten a slot with results");
            (self.low, self.high) = (oldest.0, oldest.0);
        }
    }

    pub(super) fn is_open(&self, slot: SlotId) -> bool {
        slot.0.wrapping_sub(self.low) < self.high.wrapping_sub(self.low)
    }

    fn is_too_large_for(&self, span: usize) -> bool {
        self.first.len() > self.shrink_min && span * 8 < self.first.len()
    }

    /// Copies the open positions to a ring with twice the room for this span.
    fn fit(&mut self, span: usize) {
        let mut first = vec![NONE; (span * 2).next_power_of_two()];
        let mask = first.len() - 1;
        for position in self.open_positions() {
            first[position as usize & mask] = self.first[self.place(position)];
        }
        self.first = first;
    }

    pub(super) fn open_positions(&self) -> impl Iterator<Item = u32> + use<> {
        let low = self.low;
        (0..self.high.wrapping_sub(low)).map(move |i| low.wrapping_add(i))
    }

    #[inline]
    fn place(&self, position: u32) -> usize {
        position as usize & (self.first.len() - 1)
    }
}
