//! The times of a log as bit sets, so that reports of many timelines are counted 64 instants at a time.
//!
//! A sleeping timeline makes a separate report when an event of time *t* expires at *t + width*, unless another event
//! has moved the clock to exactly that instant. With one bit per instant, the two sets only have to be shifted against
//! each other.

use crate::time::{Span, Timestamp};

/// Bits from the first event of a log up to its clock.
#[derive(Debug)]
pub(super) struct Calendar {
    begins: i64,
    ends: i64,
    /// Instants at which there is an event.
    times: Vec<u64>,
    /// Instants to which an event has moved the clock.
    moves: Vec<u64>,
    /// The longest gap between two consecutive events, or between the last one and now.
    widest_gap: i64,
}

impl Calendar {
    /// Builds the sets from sorted `times` of this many events, up to the clock. `None` if they are so far apart that
    /// iterating over them is cheaper.
    pub(super) fn new(
        times: impl Iterator<Item = Timestamp> + Clone,
        moves: impl Iterator<Item = Timestamp>,
        clock: Timestamp,
        n_events: usize,
    ) -> Option<Self> {
        let (begins, ends) = (times.clone().next()?.as_millis(), clock.as_millis());
        let words = usize::try_from(ends.checked_sub(begins)? / 64).ok()?.checked_add(1)?;
        if words > n_events {
            return None;
        }
        let mut calendar = Self { begins, ends, times: vec![0; words], moves: vec![0; words], widest_gap: 0 };
        let mut last = begins;
        for at in times.map(Timestamp::as_millis) {
            calendar.widest_gap = calendar.widest_gap.max(at - last);
            last = at;
            mark(&mut calendar.times, at - begins);
        }
        calendar.widest_gap = calendar.widest_gap.max(ends - last + 1);
        moves
            .map(Timestamp::as_millis)
            .filter(|at| *at >= begins)
            .for_each(|at| mark(&mut calendar.moves, at - begins));
        Some(calendar)
    }

    /// Whether a window of this width was never empty.
    pub(super) fn fills(&self, width: Span) -> bool {
        self.widest_gap <= width.as_millis()
    }

    /// The number of instants after this one at which events expired and no event moved the clock.
    pub(super) fn n_expiries(&self, width: Span, after: Timestamp) -> u64 {
        let width = width.as_millis();
        let from = after.as_millis().saturating_sub(width).saturating_add(1).saturating_sub(self.begins).max(0);
        let until = self.ends.saturating_sub(width).saturating_sub(self.begins);
        if until < from {
            return 0;
        }
        let (from, until) = (from as usize, until as usize);
        let expiries = (from / 64..=until / 64).map(|word| {
            let mut times = self.times[word];
            if word == from / 64 {
                times &= u64::MAX << (from % 64);
            }
            if word == until / 64 {
                times &= u64::MAX >> (63 - until % 64);
            }
            u64::from((times & !self.moves_from(word * 64 + width as usize)).count_ones())
        });
        expiries.sum()
    }

    /// The bits of clock moves at the 64 instants from this one on.
    fn moves_from(&self, at: usize) -> u64 {
        let word = |word: usize| self.moves.get(word).copied().unwrap_or(0);
        match at % 64 {
            0 => word(at / 64),
            shift => word(at / 64) >> shift | word(at / 64 + 1) << (64 - shift),
        }
    }
}

fn mark(bits: &mut [u64], at: i64) {
    if let Some(word) = bits.get_mut(at as usize / 64) {
        *word |= 1 << (at % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn counting_by_words_agrees_with_counting_one_by_one() {
        let mut state = 7_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let begins = random(1_000) as i64 - 500;
            let mut times = vec![begins];
            for _ in 0..random(200) {
                times.push(times[times.len() - 1] + random(9) as i64);
            }
            let last = times[times.len() - 1];
            let clock = last + random(20) as i64;
            let moves: Vec<i64> = (begins..=clock).filter(|at| times.contains(at) && random(4) > 0).collect();
            let instants = |list: &[i64]| list.iter().map(|ms| at(*ms)).collect::<Vec<_>>();
            let (listed, moved) = (instants(&times), instants(&moves));
            let calendar = Calendar::new(listed.into_iter(), moved.into_iter(), at(clock), usize::MAX).expect("near");
            times.dedup();
            for width in [1, 2, 7, 63, 64, 65, 100, 2_000] {
                let after = begins + random(100) as i64;
                let is_one = |time: &&i64| {
                    let expires_at = **time + width;
                    expires_at > after && expires_at <= clock && !moves.contains(&expires_at)
                };
                let expected = times.iter().filter(is_one).count() as u64;
                assert_eq!(calendar.n_expiries(Span::from_millis(width), at(after)), expected, "{times:?} {moves:?}");
                let empties = |pair: &[i64]| pair[1] > pair[0] + width;
                let is_filled = !times.windows(2).any(empties) && clock < last + width;
                assert_eq!(calendar.fills(Span::from_millis(width)), is_filled);
            }
        }
    }
}
