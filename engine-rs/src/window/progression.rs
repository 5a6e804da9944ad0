//! Arithmetic progressions of instants: window closes and periods, counted without enumerating them.

use crate::time::{Span, Timestamp};
use std::collections::BTreeMap;

/// `first`, `first + step`, `first + 2 · step` and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Progression {
    first: i128,
    step: i128,
}

impl Progression {
    pub(crate) fn new(first: Timestamp, step: Span) -> Self {
        Self { first: first.as_millis().into(), step: i128::from(step.as_millis()).max(1) }
    }

    pub(crate) fn first(&self) -> Timestamp {
        instant(self.first)
    }

    /// The last of them before this instant.
    pub(crate) fn last_before(&self, end: Timestamp) -> Option<Timestamp> {
        let count = self.count_before(end);
        (count > 0).then(|| instant(self.first + (count - 1) * self.step))
    }

    fn count_before(&self, end: Timestamp) -> i128 {
        let length = i128::from(end.as_millis()) - self.first;
        if length > 0 { (length - 1) / self.step + 1 } else { 0 }
    }

    /// The instants that both progressions contain.
    pub(crate) fn meet(&self, other: &Self) -> Option<Self> {
        let apart = other.first - self.first;
        let divisor = greatest_common_divisor(self.step, other.step);
        if apart % divisor != 0 {
            return None;
        }
        // Chinese remainder theorem: the number of our steps that leads to one of theirs.
        let modulus = other.step / divisor;
        let steps = (apart / divisor).rem_euclid(modulus) * inverse(self.step / divisor, modulus) % modulus;
        let common = self.first + self.step * steps;
        // A step beyond the range of time means that there is no second instant.
        let step = (self.step * modulus).min(i64::MAX.into());
        let missing = (other.first.max(self.first) - common).max(0);
        Some(Self { first: common + (missing + step - 1) / step * step, step })
    }
}

/// How many instants before `end` are in at least one progression.
pub(crate) fn count_union(progressions: &[Progression], end: Timestamp) -> u64 {
    // Inclusion–exclusion: each progression adds itself and subtracts its intersections with those before it. Equal
    // intersections are merged, so that windows with related steps need few terms.
    let mut terms: BTreeMap<Progression, i128> = BTreeMap::new();
    for progression in progressions {
        let mut new = vec![(*progression, 1)];
        new.extend(terms.iter().filter_map(|(term, sign)| Some((term.meet(progression)?, -sign))));
        for (term, sign) in new.into_iter().filter(|(term, _)| term.count_before(end) > 0) {
            *terms.entry(term).or_insert(0) += sign;
        }
        terms.retain(|_, sign| *sign != 0);
    }
    let count = terms.iter().map(|(term, sign)| sign * term.count_before(end)).sum::<i128>();
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn instant(ms: i128) -> Timestamp {
    i64::try_from(ms).map_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX }, Timestamp::from_millis)
}

fn greatest_common_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The inverse of `a` modulo `modulus`, which must be coprime.
fn inverse(a: i128, modulus: i128) -> i128 {
    let (mut old, mut rest) = ((a % modulus, 1), (modulus, 0));
    while rest.0 != 0 {
        let quotient = old.0 / rest.0;
        (old, rest) = (rest, (old.0 - quotient * rest.0, old.1 - quotient * rest.1));
    }
    old.1.rem_euclid(modulus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn every(first: i64, step: i64) -> Progression {
        Progression::new(Timestamp::from_millis(first), Span::from_millis(step))
    }

    fn listed(progression: &Progression, end: i64) -> BTreeSet<i128> {
        (0..).map(|n| progression.first + n * progression.step).take_while(|ms| *ms < end.into()).collect()
    }

    #[test]
    fn what_two_have_in_common_agrees_with_listing_both() {
        for (a, b) in (1..=12).flat_map(|a| (1..=12).map(move |b| (a, b))) {
            for first in -7..8 {
                let (one, other) = (every(-3, a), every(first, b));
                let expected: BTreeSet<_> = listed(&one, 300).intersection(&listed(&other, 300)).copied().collect();
                let found = one.meet(&other).map(|both| listed(&both, 300)).unwrap_or_default();
                assert_eq!(found, expected, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_union_counts_each_instant_once() {
        for seed in 0..500_i64 {
            let number = |salt: i64, n: i64| (seed * 7919 + salt * 104_729).rem_euclid(1_000_003) % n;
            let several: Vec<_> = (0..=seed % 5).map(|i| every(number(i, 20) - 10, 1 + number(i + 9, 15))).collect();
            let all: BTreeSet<_> = several.iter().flat_map(|one| listed(one, 200)).collect();
            assert_eq!(count_union(&several, Timestamp::from_millis(200)), all.len() as u64, "{several:?}");
            let last = several.iter().filter_map(|one| one.last_before(Timestamp::from_millis(200))).max();
            assert_eq!(last.map(|last| i128::from(last.as_millis())), all.last().copied());
        }
    }

    #[test]
    fn steps_as_long_as_time_do_not_overflow() {
        let far = [every(0, i64::MAX), every(1, i64::MAX - 1), every(-5, i64::MAX / 2)];
        assert_eq!(count_union(&far, Timestamp::MAX), 5);
    }

    #[test]
    fn before_its_first_instant_a_progression_has_none() {
        let at = Timestamp::from_millis;
        assert_eq!((every(10, 5).last_before(at(10)), every(10, 5).last_before(at(11))), (None, Some(at(10))));
    }

    #[test]
    fn instants_beyond_time_are_its_ends() {
        let (first, last) = (i128::from(i64::MIN), i128::from(i64::MAX));
        assert_eq!([first - 1, last + 1].map(instant), [Timestamp::MIN, Timestamp::MAX]);
    }
}
