//! How time moves through a timeline: events and watermarks in, instants to read out, in order.
//!
//! ```text
//!   watermark ──────────────────────────────────────────────►
//!         read r₁      read r₂                    │ not decided yet
//!    ───────┼────────────┼────────────────────────┼──────
//!        Tick, Period, Close                      watermark
//!        (in this order at each instant)
//! ```
//!
//! An instant is read for what arrives and expires at it, for a period that ends with it, and for the windows that
//! close right after it, in this order. With tick `time`, an instant is read once the watermark has passed it; with
//! tick `tuple`, each event is read as it arrives.

use super::quiet::QuietReadings;
use super::timeline::{Timeline, TimelineContext};
use crate::parse::Tick;
use crate::time::{Span, Timestamp};
use crate::window::{Accepted, Element, Phase, Rule, Window};

impl Timeline {
    /// Offers an event to the windows of its stream; returns the best outcome.
    pub(crate) fn accept(&mut self, stream: usize, element: &Element, context: &mut TimelineContext<'_>) -> Accepted {
        // The timeline has no windows any more, and must not hide that the event is late for others.
        if self.is_over {
            return Accepted::Uncovered;
        }
        self.pristine = false;
        if element.at <= self.clock {
            let verdict = self.verdict(stream, element.at);
            if verdict != Accepted::Yes {
                return verdict;
            }
        }
        self.has_stragglers |= element.at < self.read_before;
        // An event that is late for some windows must not start any of them.
        let begins_at = element.at.max(self.clock.next());
        self.begins_at = self.begins_at.min(begins_at);
        let by_tuple = self.key.tick == Tick::Tuple;
        if by_tuple {
            self.start(begins_at);
            self.run_before(element.at, context);
            if self.is_over {
                return Accepted::Yes;
            }
        }
        let soonest = self.soonest(element.at);
        if let Some(window) = by_tuple.then(|| self.direct_window(stream, element, soonest)).flatten() {
            self.clock = soonest;
            self.read_event(window, element, soonest, context);
            return Accepted::Yes;
        }
        let mut taken = false;
        for (window, (of, _)) in self.windows.iter_mut().zip(&self.key.windows) {
            if *of == stream {
                taken |= window.accept(element, soonest) == Accepted::Yes;
            }
        }
        if by_tuple && taken {
            // What expires at this instant is removed in the same reading.
            self.clock = soonest;
            self.read(soonest, Phase::Tick, None, context);
        } else if by_tuple {
            // No window covers the event, but time has come to it.
            self.windows.iter_mut().for_each(|window| window.end_by(soonest));
        }
        self.fold_ahead(context);
        // An event that is not behind the clock is never late.
        if taken { Accepted::Yes } else { Accepted::Uncovered }
    }

    /// The window that takes an event without queueing it, if the event is read as it comes: the only one of its stream,
    /// while all others stand still.
    #[inline]
    fn direct_window(&self, stream: usize, element: &Element, soonest: Timestamp) -> Option<usize> {
        let mut own = None;
        for (number, ((of, _), window)) in self.key.windows.iter().zip(&self.windows).enumerate() {
            if *of != stream {
                // Where time has no effect, a window without arrivals stands still.
                debug_assert!(!self.is_timeless || window.is_still(soonest));
                if !self.is_timeless && !window.is_still(soonest) {
                    return None;
                }
            } else if own.replace(number).is_some() {
                return None;
            }
        }
        let takes =
            |window: &Window| window.admits_directly(element) && window.verdict(element.at, soonest) == Accepted::Yes;
        own.filter(|number| takes(&self.windows[*number]))
    }

    /// Whether some window of the stream that covers the time has not closed.
    fn verdict(&self, stream: usize, at: Timestamp) -> Accepted {
        let soonest = self.soonest(at);
        let windows = self.windows.iter().zip(&self.key.windows).filter(|(_, (of, _))| *of == stream);
        windows.map(|(window, _)| window.verdict(at, soonest)).min().unwrap_or(Accepted::Uncovered)
    }

    /// The first instant at which an event of this time can be read. With tick `time`, the clock is an instant that has
    /// been read and must not be read again: a second report would contradict the first. With tick `tuple`, each event
    /// is a reading of its own, even at the same instant.
    fn soonest(&self, at: Timestamp) -> Timestamp {
        match self.key.tick {
            Tick::Tuple => at.max(self.clock),
            Tick::Time => at.max(self.clock.next()),
        }
    }

    /// Everything before the watermark is known: reads every instant before it.
    pub(crate) fn advance_to(&mut self, watermark: Timestamp, context: &mut TimelineContext<'_>) {
        if watermark == Timestamp::MIN {
            return;
        }
        if self.is_over {
            self.clock = self.clock.max(watermark.previous());
            return;
        }
        self.pristine = false;
        // Before the first event there is nothing to read, but windows that the watermark passes are closed.
        if !self.started && watermark < self.begins_at {
            self.pass(watermark);
            return;
        }
        self.start(self.begins_at);
        self.run_before(watermark, context);
    }

    /// How many empty windows a part of a query would report on the way to this instant.
    pub(crate) fn reports_until(&self, at: Timestamp) -> u64 {
        if !self.started || self.is_over || at == Timestamp::MAX || self.key.report.nonempty || self.key.report.change {
            return 0;
        }
        let ahead = |slide: Span| {
            at.as_millis().saturating_sub(self.clock.as_millis()).max(0) as u64 / slide.as_millis() as u64
        };
        let by_windows = self.windows.iter().filter_map(Window::slide).map(ahead).max();
        by_windows.max(self.key.report.periodic.map(ahead)).unwrap_or(0)
    }

    /// A watermark states that no more events come before this instant, so time has started by then.
    pub(crate) fn begin_by(&mut self, at: Timestamp) {
        if at != Timestamp::MIN {
            self.begins_at = self.begins_at.min(at);
        }
    }

    fn start(&mut self, at: Timestamp) {
        // The end of time starts nothing if no event ever arrived.
        if !self.started && at != Timestamp::MAX {
            self.started = true;
            self.clock = self.clock.max(at.previous());
            self.last_period = self.label(at, self.period_phase).previous();
            self.windows.iter_mut().for_each(|window| window.start(at));
        }
    }

    fn run_before(&mut self, watermark: Timestamp, context: &mut TimelineContext<'_>) {
        if self.is_timeless {
            self.clock = self.clock.max(watermark.previous());
            return;
        }
        // Many events carry the same time. Nothing needs to be read again, unless an event arrived for an earlier
        // instant.
        if watermark == self.read_before && (self.key.tick == Tick::Tuple || !self.has_stragglers) {
            return;
        }
        self.read_before = watermark;
        self.has_stragglers = false;
        let mut quiet = QuietReadings::default();
        loop {
            self.skip_quiet(watermark, &mut quiet);
            let Some((at, phase)) = self.next_read(watermark) else { break };
            self.clock = self.clock.max(at);
            let reported = self.read(at, phase, quiet.rest, context);
            if phase == self.period_phase {
                self.last_period = self.last_period.max(self.label(at, phase));
            }
            quiet.note(at, self.was_quiet(), reported);
        }
        if watermark != Timestamp::MAX {
            self.pass(watermark);
        }
    }

    /// Everything before the watermark is settled.
    pub(super) fn pass(&mut self, watermark: Timestamp) {
        self.clock = self.clock.max(watermark.previous());
        self.windows.iter_mut().for_each(|window| window.pass(watermark));
    }

    /// The next instant to read before the watermark, if there is one.
    pub(super) fn next_read(&mut self, watermark: Timestamp) -> Option<(Timestamp, Phase)> {
        let at_end = watermark == Timestamp::MAX;
        if at_end && self.is_finished() {
            return None;
        }
        if self.key.report.nonempty {
            self.skip_empty_closes(watermark);
        }
        let mut next = self.next_period().filter(|_| self.started);
        for window in self.windows.iter() {
            let arrival = window.next_arrival(self.clock);
            let after_clock = |at: Timestamp| at.max(self.clock.next());
            let expiry = window.next_expiry().filter(|_| self.key.report.follows_changes() || at_end).map(after_clock);
            // At the end, events that were too late for a reading of their own are read with what is left.
            let leftover = window.first_waiting().filter(|_| at_end).map(after_clock);
            let ticks = [arrival, expiry, leftover.filter(|_| window.next_close().is_none())];
            let ticks = ticks.into_iter().flatten().map(|at| (at, Phase::Tick));
            let close = window.next_close().map(|at| (at, Phase::Close));
            next = next.into_iter().chain(ticks).chain(close).min();
        }
        next.filter(|(at, _)| *at < watermark)
    }

    fn next_period(&self) -> Option<(Timestamp, Phase)> {
        let phase = if self.key.report.change { Phase::Tick } else { self.period_phase };
        self.next_periods().map(|periods| (periods.first(), phase))
    }

    /// Whether nothing can change any more: nothing is pending, and what is in view stays forever.
    fn is_finished(&self) -> bool {
        let report = &self.key.report;
        let shows = !report.nonempty || !self.windows.iter().all(Window::is_empty);
        // Content that arrived since the last period is shown at the next one.
        let unreported = if report.change { self.changed } else { self.unreported };
        let waits_for_period = report.periodic.is_some() && !report.close && unreported && shows;
        !waits_for_period
            && self.windows.iter().all(|window| {
                let lasting = matches!(window.rule(), Rule::All | Rule::Elements { .. } | Rule::Triples { .. });
                window.first_waiting().is_none() && (lasting || window.is_empty())
            })
    }

    /// While nothing is in view, empty windows need no report: skips to the first close that does.
    fn skip_empty_closes(&mut self, watermark: Timestamp) {
        if self.windows.iter().all(Window::is_empty) {
            let first = self.windows.iter().filter_map(Window::first_waiting).min();
            // Nothing beyond the watermark is decided: events may still arrive.
            let until = first.map_or(watermark, |first| first.min(watermark));
            self.windows.iter_mut().for_each(|window| window.skip_closes_before(until));
        }
    }
}
