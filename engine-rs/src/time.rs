//! Instants and spans of event time. The only place that knows the unit: integer milliseconds.

use std::fmt;
use std::ops::{Add, Sub};

/// An instant of event time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

/// A length of event time, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span(i64);

impl Timestamp {
    /// Before every event: the watermark of a stream that has not started.
    pub const MIN: Self = Self(i64::MIN);
    /// After every event: the watermark of a stream that has ended.
    pub const MAX: Self = Self(i64::MAX);
    pub const EPOCH: Self = Self(0);

    #[must_use]
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The instant just before this one; time is discrete, so `[o, c)` is read at `c.previous()`.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// How long it takes from here to a later instant.
    #[must_use]
    pub const fn until(self, later: Self) -> Span {
        Span(later.0.saturating_sub(self.0))
    }
}

impl Span {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

// Saturating: an event in the year 292 million must not wrap into the past.
impl Add<Span> for Timestamp {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// In the largest unit of which there are at least two, rounded down: `41 days`, `90 minutes`, `1500 ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes"), (1_000, "seconds")];
        match units.into_iter().find(|(ms, _)| self.0 / ms >= 2) {
            Some((ms, unit)) => write!(f, "{} {unit}", self.0 / ms),
            None => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
