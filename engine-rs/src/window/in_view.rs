//! The content of a window, in the order in which it expires; elements that expire together share an entry.

use super::rule::Rule;
use crate::time::Timestamp;
use std::collections::VecDeque;

/// Elements that expire together; in a sliding window, a single one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InView {
    /// Its expiry key; for a stepping window, the greatest key that expires with it.
    pub expiry_key: i64,
    /// The lowest of their numbers.
    pub seq: u64,
    pub n_elements: u64,
}

/// Adds an element with this key. Between two openings of a stepping window, all elements expire together.
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

/// The content of a window, sorted by expiry keys. Elements that expire together share one entry. Sliding windows are
/// the exception: their elements may be listed in a log with those of other windows (`engine/asleep.rs`), which needs
/// their numbers.
#[inline]
pub(super) fn show(in_view: &mut VecDeque<InView>, rule: &Rule, entry: InView) {
    let place = match in_view.back() {
        Some(last) if last.expiry_key > entry.expiry_key => {
            in_view.partition_point(|v| v.expiry_key <= entry.expiry_key)
        }
        _ => in_view.len(),
    };
    let is_last = place == in_view.len();
    let before = place.checked_sub(1).filter(|_| !matches!(rule, Rule::Sliding { .. }));
    match before.and_then(|i| in_view.get_mut(i)).filter(|same| same.expiry_key == entry.expiry_key) {
        Some(same) => {
            same.seq = same.seq.min(entry.seq);
            same.n_elements += entry.n_elements;
        }
        None if is_last => in_view.push_back(entry),
        None => in_view.insert(place, entry),
    }
}
