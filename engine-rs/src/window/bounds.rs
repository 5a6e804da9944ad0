//! Interval arithmetic of stepping windows. No other module computes window edges.
//!
//! ```text
//!   window k    [open_k ─────────────── end_k)  · · delay · ·  read at end_k + delay − 1
//!   window k+1        [open_k + slide ─────── end_k + slide)
//! ```
//!
//! `open` is the first instant inside a window, `end` the first instant after it. Bounds `(o, c]` equal `[o + 1, c +
//! 1)` in integer time; only the bounds that a result reports are shifted back.

use crate::parse::{Bounds, WindowKind};
use crate::time::{Span, Timestamp};

/// The windows `k ≥ first`, each `width` long, one every `slide`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StepRule {
    /// The first instant inside window 0.
    origin: i64,
    width: i64,
    slide: i64,
    /// How long after its end a window is read; non-zero for windows in the past.
    delay: i64,
    first: i64,
    /// 1 for bounds `(]`, 0 for `[)`.
    shift: i64,
    /// A window in the past moves from step to step and shows nothing in between, whatever the report policy.
    is_past: bool,
}

/// The extent of a window, in the bounds its user wrote. The ends of time mean "no bound": `[ALL]` opens at the lower
/// one, and a window that has not closed yet has both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowBounds {
    pub open: Timestamp,
    pub close: Timestamp,
}

impl WindowBounds {
    /// The bounds before any window has closed.
    pub(crate) const NONE: Self = Self { open: Timestamp::MIN, close: Timestamp::MAX };
}

impl StepRule {
    /// The rule of a window kind that steps; `None` for all other kinds.
    pub(crate) fn new(kind: &WindowKind, t0: Timestamp, bounds: Bounds, partial: bool) -> Option<Self> {
        let shift = i64::from(bounds == Bounds::OpenClosed);
        let t0 = t0.as_millis();
        match kind {
            WindowKind::Step { width, slide } => {
                let (width, slide) = (width.as_millis(), slide.as_millis());
                // Partial windows open before t0 and end after it.
                let first = if partial { (-width).div_euclid(slide) + 1 } else { 0 };
                Some(Self { origin: t0.saturating_add(shift), width, slide, delay: 0, first, shift, is_past: false })
            }
            WindowKind::Past { from, to, slide } => {
                let (from, to, slide) = (from.as_millis(), to.as_millis(), slide.as_millis());
                let first = if partial { to.div_euclid(slide) + 1 } else { (from + slide - 1).div_euclid(slide) };
                let origin = t0.saturating_sub(from).saturating_add(shift);
                Some(Self { origin, width: from - to, slide, delay: to, first, shift, is_past: true })
            }
            _ => None,
        }
    }

    pub(crate) fn is_past(&self) -> bool {
        self.is_past
    }

    /// Whether no instant is in two windows.
    pub(crate) fn tumbles(&self) -> bool {
        self.slide >= self.width
    }

    pub(crate) fn first(&self) -> i64 {
        self.first
    }

    /// The first instant inside window `k`.
    pub(crate) fn open(&self, k: i64) -> Timestamp {
        Timestamp::from_millis(k.saturating_mul(self.slide).saturating_add(self.origin))
    }

    /// The first instant after window `k`.
    pub(crate) fn end(&self, k: i64) -> Timestamp {
        self.open(k) + Span::from_millis(self.width)
    }

    /// The instant at which window `k` is read: everything before its end has been seen by then.
    pub(crate) fn read_at(&self, k: i64) -> Timestamp {
        (self.end(k) + Span::from_millis(self.delay)).previous()
    }

    pub(crate) fn reported(&self, k: i64) -> WindowBounds {
        let shift = Span::from_millis(self.shift);
        WindowBounds { open: self.open(k) - shift, close: self.end(k) - shift }
    }

    pub(crate) fn slide(&self) -> Span {
        Span::from_millis(self.slide)
    }

    /// The first window that is read at `at` or later.
    pub(crate) fn first_read_from(&self, at: Timestamp) -> i64 {
        self.first_ending_after(at - Span::from_millis(self.delay))
    }

    /// The first window whose end is after `at`.
    pub(crate) fn first_ending_after(&self, at: Timestamp) -> i64 {
        self.first_after(at, self.width)
    }

    /// The first window that opens after `at`, and so the first one that no longer contains it.
    pub(crate) fn first_opening_after(&self, at: Timestamp) -> i64 {
        self.first_after(at, 0)
    }

    /// The first window whose opening plus `width` is after `at`.
    fn first_after(&self, at: Timestamp, width: i64) -> i64 {
        let passed = i128::from(at.as_millis()) - i128::from(self.origin) - i128::from(width);
        let k = match i64::try_from(passed) {
            // A 64-bit division takes a fraction of the time of a 128-bit one.
            Ok(passed) => i128::from(passed.div_euclid(self.slide)) + 1,
            Err(_) => passed.div_euclid(i128::from(self.slide)) + 1,
        };
        i64::try_from(k).unwrap_or(if k < 0 { i64::MIN } else { i64::MAX / 2 }).max(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn step(width: i64, slide: i64, t0: i64, bounds: Bounds, partial: bool) -> StepRule {
        let kind = WindowKind::Step { width: Span::from_millis(width), slide: Span::from_millis(slide) };
        StepRule::new(&kind, at(t0), bounds, partial).expect("it steps")
    }

    #[test]
    fn closed_forms_agree_with_counting_windows_one_by_one() {
        for width in 1..=12 {
            for slide in 1..=12 {
                for t0 in -3..=3 {
                    for (bounds, partial) in [(Bounds::ClosedOpen, false), (Bounds::OpenClosed, true)] {
                        let rule = step(width, slide, t0, bounds, partial);
                        for t in -30..60 {
                            let from_first = |wanted: &dyn Fn(i64) -> bool| (rule.first()..).find(|k| wanted(*k));
                            assert_eq!(Some(rule.first_ending_after(at(t))), from_first(&|k| rule.end(k) > at(t)));
                            assert_eq!(Some(rule.first_opening_after(at(t))), from_first(&|k| rule.open(k) > at(t)));
                            assert_eq!(Some(rule.first_read_from(at(t))), from_first(&|k| rule.read_at(k) >= at(t)));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn open_closed_bounds_are_reported_as_written() {
        let rule = step(10, 5, 0, Bounds::OpenClosed, false);
        assert_eq!((rule.open(0), rule.end(0), rule.read_at(0)), (at(1), at(11), at(10)));
        assert_eq!(rule.reported(0), WindowBounds { open: at(0), close: at(10) });
    }

    #[test]
    fn a_partial_window_opens_before_t0_and_ends_after_it() {
        let rule = step(10, 5, 0, Bounds::ClosedOpen, true);
        assert_eq!(rule.reported(rule.first()), WindowBounds { open: at(-5), close: at(5) });
    }

    #[test]
    fn a_window_in_the_past_is_read_when_now_comes() {
        let kind =
            WindowKind::Past { from: Span::from_millis(35), to: Span::from_millis(5), slide: Span::from_millis(5) };
        let rule = StepRule::new(&kind, at(0), Bounds::ClosedOpen, false).expect("it steps");
        assert_eq!(rule.reported(rule.first()), WindowBounds { open: at(0), close: at(30) });
        assert_eq!(rule.read_at(rule.first()), at(34));
    }

    #[test]
    fn a_partial_window_in_the_past_is_the_first_to_end_after_t0() {
        let kind =
            WindowKind::Past { from: Span::from_millis(35), to: Span::from_millis(7), slide: Span::from_millis(5) };
        let rule = StepRule::new(&kind, at(0), Bounds::ClosedOpen, true).expect("it steps");
        assert_eq!(rule.reported(rule.first()), WindowBounds { open: at(-25), close: at(3) });
    }

    #[test]
    fn windows_at_the_ends_of_time_have_numbers() {
        let rule = step(1, 1 << 40, -5, Bounds::ClosedOpen, false);
        assert_eq!(rule.first_ending_after(Timestamp::MAX), (i128::from(i64::MAX) + 4).div_euclid(1 << 40) as i64 + 1);
        let rule = step(1, 1, -5, Bounds::ClosedOpen, false);
        assert_eq!(rule.first_ending_after(Timestamp::MAX), i64::MAX / 2, "no number is so great");
        let rule = step(1, 1, 5, Bounds::ClosedOpen, false);
        assert_eq!(rule.first_ending_after(Timestamp::MIN), rule.first(), "no number is so small");
    }
}
