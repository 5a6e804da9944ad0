//! How long queries are evaluated, by a clock that the host may inject.
//!
//! The engine reads no clock of its own, and no result depends on this one. A short instant can take less time than a
//! few clock readings, so not every instant is measured: readings may take a 256th of the time, and a pause follows a
//! measured short instant. The work of every instant is counted anyway (`limits.rs`), and an instant that was not
//! measured is charged by its work, at the price that a unit of work had recently. Ticks and closes are different kinds
//! of work, with separate pauses and prices.
//!
//! Windows, leaves and joins process one mapping after the other for all queries of a timeline: they are measured
//! together, and the time is divided by the work that each query did. A query with a timeline of its own is charged for
//! all of it. Settling and reporting are measured for each query separately. Work outside of instants (reading bodies,
//! encoding terms, rendering results) is not part of any query's evaluation time.

use crate::window::Phase;

/// Reading the clock may take at most one part in this many.
const PARTS: u64 = 256;
/// Fraction bits of the time per unit of work.
const PLACES: u32 = 10;

/// A clock of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    /// Nanoseconds since an arbitrary start; never decreases.
    now_ns: fn() -> u64,
    /// How long a reading of the clock takes.
    reading_ns: u64,
}

impl Stopwatch {
    pub(crate) fn new(now_ns: fn() -> u64) -> Self {
        let between_two = |_| {
            let first = now_ns();
            now_ns().saturating_sub(first)
        };
        Self { now_ns, reading_ns: (0..32).map(between_two).min().unwrap_or(0) }
    }

    pub(super) fn clock(&self) -> fn() -> u64 {
        self.now_ns
    }

    /// Starts a separate measurement.
    pub(super) fn start(&self, phase: Phase) -> Timing<'_> {
        Timing { stopwatch: Some(self), phase, read_at: Some((self.now_ns)()), readings: 1, spent_ns: 0 }
    }
}

/// Which instants of a timeline are measured.
#[derive(Default, Debug)]
pub(super) struct Meter {
    pauses: ByPhase<Pause>,
}

#[derive(Default, Debug)]
struct Pause {
    /// The charge without measurement until the next measurement.
    left_ns: u64,
    n_measured: u32,
}

/// Separate for ticks and closes.
#[derive(Default, Debug)]
struct ByPhase<T>([T; 2]);

impl<T> ByPhase<T> {
    #[inline]
    fn get(&self, phase: Phase) -> &T {
        &self.0[usize::from(phase == Phase::Close)]
    }

    #[inline]
    fn get_mut(&mut self, phase: Phase) -> &mut T {
        &mut self.0[usize::from(phase == Phase::Close)]
    }
}

impl Meter {
    /// Begins an instant.
    #[inline]
    pub(super) fn begin<'a>(&self, phase: Phase, stopwatch: Option<&'a Stopwatch>) -> Timing<'a> {
        match stopwatch {
            Some(stopwatch) if self.pauses.get(phase).left_ns == 0 => stopwatch.start(phase),
            _ => Timing { stopwatch, phase, read_at: None, readings: 0, spent_ns: 0 },
        }
    }

    /// Ends the instant.
    #[inline]
    pub(super) fn end(&mut self, timing: &Timing<'_>) {
        let Some(stopwatch) = timing.stopwatch else { return };
        let pause = self.pauses.get_mut(timing.phase);
        if timing.read_at.is_none() {
            // An instant without any charge still brings the next measurement closer.
            pause.left_ns = pause.left_ns.saturating_sub(timing.spent_ns.max(stopwatch.reading_ns));
        } else {
            pause.n_measured = pause.n_measured.wrapping_add(1);
            // A long instant has paid for its own clock readings.
            let due_ns = pause.due_ns(timing.readings * stopwatch.reading_ns * PARTS);
            pause.left_ns = due_ns.saturating_sub(timing.spent_ns);
        }
    }
}

impl Pause {
    /// Between half and one and a half times the mean, in a fixed sequence without a period: alternating kinds of
    /// events must not always be measured at the same kind.
    fn due_ns(&self, mean_ns: u64) -> u64 {
        const GOLDEN: u32 = 0x9E37_79B9;
        let part = u128::from(self.n_measured.wrapping_mul(GOLDEN));
        mean_ns / 2 + ((u128::from(mean_ns) * part) >> u32::BITS) as u64
    }
}

/// One instant: measured, charged by work, or neither if there is no stopwatch.
pub(super) struct Timing<'a> {
    stopwatch: Option<&'a Stopwatch>,
    phase: Phase,
    /// The last reading, if the instant is measured.
    read_at: Option<u64>,
    readings: u64,
    /// The time that was measured, or charged without measurement.
    spent_ns: u64,
}

impl Timing<'_> {
    /// Whether time is being measured.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.stopwatch.is_some()
    }

    /// The time since the last reading, without the duration of the reading; none if nothing is measured.
    #[inline]
    pub(super) fn lap_ns(&mut self) -> Option<u64> {
        let (stopwatch, before) = (self.stopwatch?, self.read_at?);
        let now = (stopwatch.now_ns)();
        let lap_ns = now.saturating_sub(before).saturating_sub(stopwatch.reading_ns);
        self.read_at = Some(now);
        self.readings += 1;
        self.spent_ns += lap_ns;
        Some(lap_ns)
    }

    /// Charges a query for its part of the instant and its total work.
    #[inline]
    pub(super) fn close(&mut self, work: u64, time: &mut EvaluationTime) {
        match self.lap_ns() {
            Some(own_ns) => time.measure(self.phase, own_ns, work),
            None => self.spent_ns += time.charge(self.phase, work),
        }
    }
}

/// The evaluation time of one query.
#[derive(Default, Debug)]
pub(crate) struct EvaluationTime {
    total_ns: u64,
    /// Its share of the common work at the instant under measurement.
    share_ns: u64,
    prices: ByPhase<Price>,
}

/// The time that a unit of work takes.
#[derive(Default, Debug)]
struct Price {
    /// The average of measurements, with recent ones weighted more.
    lately_ns: u64,
    lately_work: u64,
    /// In fractions of a nanosecond.
    unit_ns_scaled: u64,
}

impl EvaluationTime {
    pub(super) fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// Adds time that does not affect the estimate for later instants.
    pub(super) fn add(&mut self, ns: u64) {
        self.total_ns += ns;
    }

    /// Charges this fraction of the whole to the query.
    pub(super) fn share(&mut self, ns: u64, part: u64, whole: u64) {
        self.share_ns = (u128::from(ns) * u128::from(part) / u128::from(whole.max(1))) as u64;
    }

    fn measure(&mut self, phase: Phase, own_ns: u64, work: u64) {
        let ns = own_ns + std::mem::take(&mut self.share_ns);
        self.total_ns += ns;
        self.prices.get_mut(phase).learn(ns, work);
    }

    #[inline]
    fn charge(&mut self, phase: Phase, work: u64) -> u64 {
        let ns = work.saturating_mul(self.prices.get(phase).unit_ns_scaled) >> PLACES;
        self.total_ns += ns;
        ns
    }
}

impl Price {
    fn learn(&mut self, ns: u64, work: u64) {
        self.lately_ns = self.lately_ns - self.lately_ns / 8 + ns;
        self.lately_work = self.lately_work - self.lately_work / 8 + work;
        self.unit_ns_scaled = self.lately_ns.saturating_mul(1 << PLACES) / self.lately_work.max(1);
    }
}
