//! A timeline that may sleep, and the readings that wake it (see `asleep.rs`).

use super::reading::Instant;
use super::timeline::{Timeline, TimelineContext};
use crate::parse::Tick;
use crate::time::{Span, Timestamp};
use crate::window::{Element, Phase, Rule, Taken};

impl Timeline {
    /// The width of its window, if it may sleep: its queries depend only on events and expiries.
    pub(super) fn may_sleep(&self) -> Option<Span> {
        let report = &self.key.report;
        let ([window], Tick::Tuple, true) = (&self.windows[..], self.key.tick, report.change) else { return None };
        let Rule::Sliding { width } = window.rule() else { return None };
        let rounds = &self.rounds;
        let is_called = !rounds.restless.is_empty() || !rounds.telling.is_empty() || !rounds.static_readers.is_empty();
        let is_busy = !rounds.touched.is_empty() || !rounds.owing.is_empty() || window.waiting() > 0;
        let may = !report.close && report.periodic.is_none() && window.content().is_none() && !is_called && !is_busy;
        (may && self.started && !self.is_over).then_some(*width)
    }

    /// Performs the reading that has woken it: `taken` states how its only window moves, `event` what arrives, if
    /// anything.
    pub(super) fn read_woken(
        &mut self,
        at: Timestamp,
        taken: Taken,
        event: Option<&Element>,
        context: &mut TimelineContext<'_>,
    ) -> bool {
        let timing = self.meter.begin(Phase::Tick, context.stopwatch);
        self.clock = at;
        self.rounds.n_visits += 1;
        self.taken.clear();
        self.taken.push((0, taken));
        let instant = Instant { at, phase: Phase::Tick, rest: None };
        let event = event.map(|element| (element, element.at.as_millis()));
        self.read_taken(instant, event, timing, context)
    }
}
