//! The ordered index: mappings by the number in one column, for joins on `<`, `<=`, `>` and `>=`.
//!
//! Terms that are not inlined numbers, and every `xsd:float`, are in a separate bag that every range visits. A walk
//! thus yields a superset of the mappings that satisfy the comparison, and the join's filter decides. Cost: one B-tree
//! operation per mapping, and no allocation for a value of its own.

use super::keyed::Rows;
use super::ring::SlotId;
use crate::encode::Inline;
use crate::model::TermId;
use std::collections::BTreeSet;

/// Comparisons of the ordered column with bound terms.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ValueRange {
    pub at_least: Option<TermId>,
    pub at_most: Option<TermId>,
}

#[derive(Debug)]
pub(super) struct OrderedIndex {
    column: usize,
    /// By value, then by slot.
    numbers: BTreeSet<(u64, SlotId)>,
    others: BTreeSet<SlotId>,
}

impl OrderedIndex {
    pub(super) fn new(column: usize) -> Self {
        Self { column, numbers: BTreeSet::new(), others: BTreeSet::new() }
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    pub(super) fn insert(&mut self, rows: &impl Rows, slot: SlotId) {
        match order_bits(rows.column(slot, self.column)) {
            Some(bits) => self.numbers.insert((bits, slot)),
            None => self.others.insert(slot),
        };
    }

    pub(super) fn remove(&mut self, rows: &impl Rows, slot: SlotId) {
        match order_bits(rows.column(slot, self.column)) {
            Some(bits) => self.numbers.remove(&(bits, slot)),
            None => self.others.remove(&slot),
        };
    }

    /// The number of mappings in the index.
    pub(super) fn len(&self) -> usize {
        self.numbers.len() + self.others.len()
    }

    pub(super) fn contains(&self, rows: &impl Rows, slot: SlotId) -> bool {
        match order_bits(rows.column(slot, self.column)) {
            Some(bits) => self.numbers.contains(&(bits, slot)),
            None => self.others.contains(&slot),
        }
    }

    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.others.clear();
    }

    /// A term without order bits bounds nothing.
    pub(super) fn walk(&self, range: ValueRange, mut visit: impl FnMut(SlotId)) {
        let first = (range.at_least.and_then(order_bits).unwrap_or(u64::MIN), SlotId(u32::MIN));
        let last = (range.at_most.and_then(order_bits).unwrap_or(u64::MAX), SlotId(u32::MAX));
        if first <= last {
            self.numbers.range(first..=last).for_each(|(_, slot)| visit(*slot));
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
