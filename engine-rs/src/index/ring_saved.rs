//! A store in a snapshot: its mappings with the gaps between them, and its stragglers.
//!
//! Slots keep their numbers, because joins and result trees refer to mappings by slot. Indexes are not saved; restoring
//! a mapping links it in the same order as appending it did, so that a walk visits mappings in the same order.

use super::{DEAD, RingStore, SlotId};
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::model::TermId;

impl RingStore {
    /// Saves the mappings and the gaps between them: others refer to slots by number, so the numbers must not change.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.u32(self.front);
        to.u32(self.head);
        to.i64(self.greatest_key);
        for i in 0..self.head.wrapping_sub(self.front) {
            let slot = SlotId(self.front.wrapping_add(i));
            to.i64(self.array.expiry_key(slot));
            if self.is_live(slot) {
                to.i64(self.array.renewal(slot));
                to.ids(self.row(slot));
            }
        }
        let waiting = self.stragglers.iter().filter(|(key, slot)| self.is_straggler(*key, *slot));
        to.list(waiting.collect::<Vec<_>>().into_iter(), |to, (key, slot)| {
            to.i64(*key);
            to.u32(slot.0);
        });
    }

    /// Fills a store that is empty apart from its index definitions.
    pub(crate) fn restore(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        (self.front, self.head) = (from.u32()?, from.u32()?);
        self.greatest_key = from.i64()?;
        let used = self.head.wrapping_sub(self.front) as usize;
        ensure(used <= from.rest().len() / 8, "a store is longer than the data")?;
        let capacity = used.max(self.sizes.slots_min as usize).next_power_of_two();
        self.array = self.array.relaid(capacity, self.indexes.len(), 0, 0);
        self.indexes.iter_mut().flatten().for_each(|index| index.reserve(used));
        for i in 0..used as u32 {
            self.restore_slot(SlotId(self.front.wrapping_add(i)), from)?;
        }
        let slots: Vec<(i64, SlotId)> = from.list(12, |from| Ok((from.i64()?, SlotId(from.u32()?))))?;
        ensure(slots.iter().all(|(key, slot)| self.is_straggler(*key, *slot)), "a straggler does not exist")?;
        self.stragglers = slots.into_iter().collect();
        Ok(())
    }

    fn restore_slot(&mut self, slot: SlotId, from: &mut Reader<'_>) -> Decoded<()> {
        let expiry_key = from.i64()?;
        self.array.set_expiry_key(slot, expiry_key);
        if expiry_key == DEAD {
            return Ok(());
        }
        let renewed_to = from.i64()?;
        self.greatest_renewal = self.greatest_renewal.max(renewed_to);
        let mut row: smallvec::SmallVec<[TermId; 8]> = smallvec::SmallVec::new();
        for _ in 0..self.array.width {
            row.push(from.id()?);
        }
        self.array.write(slot, &row, expiry_key);
        self.array.set_renewal(slot, renewed_to);
        for index in 0..self.indexes.len() {
            self.link(index, slot);
        }
        if let Some(ordered) = &mut self.ordered {
            ordered.insert(&self.array, slot);
        }
        self.live += 1;
        Ok(())
    }
}
