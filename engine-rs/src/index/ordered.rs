//! The ordered index: mappings by the number in one column, for joins on `<`, `<=`, `>` and `>=`.
//!
//! Terms that are not inlined numbers, and every `xsd:float`, are in a separate bag that every range visits. A walk
//! thus yields a superset of the mappings that satisfy the comparison, and the join's filter decides. Cost: one B-tree
//! operation per mapping.

use super::keyed::Rows;
use super::ring::SlotId;
use crate::encode::Inline;
use crate::model::TermId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A comparison of the ordered column with a bound term.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RangeBound {
    AtMost(TermId),
    AtLeast(TermId),
}

#[derive(Debug)]
pub(super) struct OrderedIndex {
    column: usize,
    numbers: BTreeMap<u64, BTreeSet<SlotId>>,
    others: BTreeSet<SlotId>,
}

impl OrderedIndex {
    pub(super) fn new(column: usize) -> Self {
        Self { column, numbers: BTreeMap::new(), others: BTreeSet::new() }
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    pub(super) fn insert(&mut self, rows: &impl Rows, slot: SlotId) {
        match order_bits(rows.column(slot, self.column)) {
            Some(bits) => self.numbers.entry(bits).or_default().insert(slot),
            None => self.others.insert(slot),
        };
    }

    pub(super) fn remove(&mut self, rows: &impl Rows, slot: SlotId) {
        match order_bits(rows.column(slot, self.column)) {
            Some(bits) => {
                if let Some(slots) = self.numbers.get_mut(&bits) {
                    slots.remove(&slot);
                    if slots.is_empty() {
                        self.numbers.remove(&bits);
                    }
                }
            }
            None => {
                self.others.remove(&slot);
            }
        }
    }

    /// The number of mappings in the index.
    pub(super) fn len(&self) -> usize {
        self.numbers.values().map(BTreeSet::len).sum::<usize>() + self.others.len()
    }

    pub(super) fn contains(&self, rows: &impl Rows, slot: SlotId) -> bool {
        match order_bits(rows.column(slot, self.column)) {
            Some(bits) => self.numbers.get(&bits).is_some_and(|slots| slots.contains(&slot)),
            None => self.others.contains(&slot),
        }
    }

    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.others.clear();
    }

    pub(super) fn walk(&self, bound: RangeBound, mut visit: impl FnMut(SlotId)) {
        let range = match bound {
            RangeBound::AtMost(term) => order_bits(term).map(|bits| (Bound::Unbounded, Bound::Included(bits))),
            RangeBound::AtLeast(term) => order_bits(term).map(|bits| (Bound::Included(bits), Bound::Unbounded)),
        };
        match range {
            Some(range) => self.numbers.range(range).flat_map(|(_, slots)| slots).copied().for_each(&mut visit),
            None => self.numbers.values().flatten().copied().for_each(&mut visit),
        }
        self.others.iter().copied().for_each(visit);
    }
}

/// Bits that sort like the number. Rounding to a double is monotone and both ends of a range are closed, so numbers
/// that become equal by rounding stay inside. Floats have no such bits: SPARQL compares them with decimals as floats,
/// where more numbers are equal than as doubles.
fn order_bits(term: TermId) -> Option<u64> {
    let number = match term.inline_value()? {
        Inline::Integer(_, value) => value as f64,
        Inline::Double(value) => value,
        Inline::Decimal(value) => oxsdatatypes::Double::from(value).into(),
        _ => return None,
    };
    if number.is_nan() {
        return None;
    }
    // −0.0 and 0.0 are equal numbers.
    let bits = (number + 0.0).to_bits();
    Some(if bits >> 63 == 0 { bits | (1 << 63) } else { !bits })
}
