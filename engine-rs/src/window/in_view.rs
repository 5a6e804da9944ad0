//! What a window shows, in the order in which it expires: few entries where many elements expire together.

use super::rule::Rule;
use crate::time::Timestamp;
use std::collections::VecDeque;

/// Elements in view that expire together; in a sliding window one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InView {
    /// Its key; for a window that steps, the greatest that expires with it.
    pub expiry_key: i64,
    /// The first of their numbers.
    pub seq: u64,
    pub n_elements: u64,
}

/// An element with this key. Between two openings of a window that steps, all elements expire together.
#[inline]
pub(super) fn in_view(rule: &Rule, key: i64, seq: u64) -> InView {
    let expiry_key = match rule {
        Rule::Step(step) => step.open(step.first_opening_after(Timestamp::from_millis(key))).previous().as_millis(),
        _ => key,
    };
    InView { expiry_key, seq, n_elements: 1 }
}

pub(super) fn n_elements(entries: &VecDeque<InView>) -> usize {
    entries.iter().map(|entry| entry.n_elements as usize).sum()
}

/// Keeps what is in view in the order of expiry keys. Elements that expire together have one entry, except in sliding
/// windows, whose elements may be listed with those of others, by their numbers (`engine/asleep.rs`).
#[inline]
pub(super) fn show(in_view: &mut VecDeque<InView>, rule: &Rule, entry: InView) {
    let place = match in_view.back() {
        Some(last) if last.expiry_key > entry.expiry_key => {
            in_view.partition_point(|v| v.expiry_key <= entry.expiry_key)
        }
        _ => in_view.len(),
    };
    let before = place.checked_sub(1).filter(|_| !matches!(rule, Rule::Sliding { .. }));
    match before.and_then(|i| in_view.get_mut(i)).filter(|same| same.expiry_key == entry.expiry_key) {
        Some(same) => {
            same.seq = same.seq.min(entry.seq);
            same.n_elements += entry.n_elements;
        }
        None => in_view.insert(place, entry),
    }
}
