//! The order in which buffers are probed: how it is chosen, and how often each order was used.

use crate::codec::{Decoded, Reader, Writer};
use std::cell::Cell;

/// How the next buffer is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Probing {
    /// The connected buffer with the fewest live mappings for the key.
    #[default]
    Adaptive,
    /// A fixed order derived from this number, among connected buffers: for tests and benchmarks.
    Fixed(u64),
}

impl Probing {
    /// The priority of a buffer under a fixed order.
    pub(super) fn rank(seed: u64, buffer: usize) -> u64 {
        (seed ^ (buffer as u64 + 1)).wrapping_mul(0xA076_1D64_78BD_642F).rotate_left(29)
    }
}

/// Counters of probing orders; an order is a list of buffers, packed at five bits per step. A word holds twelve steps,
/// so only the last twelve of a longer order are kept. Orders are shown to users and never steer the search.
#[derive(Debug, Default)]
pub(super) struct OrderCounts {
    counts: Vec<(u64, u64)>,
}

const STEP_BITS: u32 = 5;
/// Twelve whole steps: the four bits above them would be a part of one.
const STEPS_MASK: u64 = (1 << (u64::BITS / STEP_BITS * STEP_BITS)) - 1;

pub(super) fn extend_order(order: u64, buffer: usize) -> u64 {
    ((order << STEP_BITS) | (buffer as u64 + 1)) & STEPS_MASK
}

impl OrderCounts {
    /// Counts an order. `at` remembers where it was counted the last time.
    #[inline]
    pub(super) fn note(&mut self, order: u64, at: &Cell<u32>) {
        match self.counts.get_mut(at.get() as usize) {
            Some((counted, count)) if *counted == order => *count += 1,
            _ => self.note_anywhere(order, at),
        }
    }

    fn note_anywhere(&mut self, order: u64, at: &Cell<u32>) {
        if let Some(found) = self.counts.iter().position(|(counted, _)| *counted == order) {
            self.counts[found].1 += 1;
            at.set(found as u32);
        } else if self.counts.len() < 1000 {
            self.counts.push((order, 1));
        }
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.list(self.counts.iter(), |to, (order, count)| {
            to.u64(*order);
            to.u64(*count);
        });
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self { counts: from.list(16, |from| Ok((from.u64()?, from.u64()?)))? })
    }

    /// Orders as lists of buffer numbers, most frequent first.
    pub(super) fn by_frequency(&self) -> Vec<(Vec<usize>, u64)> {
        let mut counts = self.counts.clone();
        counts.sort_unstable_by_key(|(order, count)| (std::cmp::Reverse(*count), *order));
        counts.into_iter().map(|(order, count)| (steps(order), count)).collect()
    }
}

fn steps(order: u64) -> Vec<usize> {
    let mut steps = Vec::new();
    let mut rest = order;
    while rest != 0 {
        steps.push((rest & ((1 << STEP_BITS) - 1)) as usize - 1);
        rest >>= STEP_BITS;
    }
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_and_the_most_frequent_comes_first() {
        let order = |steps: &[usize]| steps.iter().fold(0, |order, step| extend_order(order, *step));
        let mut counts = OrderCounts::default();
        for steps in [&[0, 1, 2][..], &[2, 30, 0], &[0, 1, 2], &[2, 30, 0], &[2, 30, 0], &[1]] {
            counts.note(order(steps), &Cell::new(0));
        }
        assert_eq!(counts.by_frequency(), [(vec![2, 30, 0], 3), (vec![0, 1, 2], 2), (vec![1], 1)]);
    }

    #[test]
    fn a_thousand_orders_are_told_apart_and_no_more() {
        let mut counts = OrderCounts::default();
        (1..=1001).for_each(|order| counts.note(order, &Cell::new(0)));
        let at = Cell::new(0);
        (0..2).for_each(|_| counts.note(7, &at));
        assert_eq!(at.get(), 6);
        assert_eq!((counts.counts.len(), counts.counts[6]), (1000, (7, 3)));
    }
}
