//! Stretches in which nothing changes: what every reading of them would say is said once.
//!
//! One step of the watermark may pass any number of windows. Where each must report, the first ones do, and one report
//! stands for the rest; where nothing would be said, nothing is read.

use super::query::RunningQuery;
use super::timeline::Timeline;
use crate::parse::Report;
use crate::sink::Skipped;
use crate::time::Timestamp;
use crate::window::Window;

/// So many readings at which nothing has changed report one by one in one step of the watermark.
const QUIET_READINGS_MAX: u64 = 10_000;

impl Timeline {
    /// After so many readings of this step at which nothing had changed: goes on to the last one of the stretch that
    /// begins now, or to its end if nothing is to be said in it.
    pub(super) fn skip_quiet(&mut self, watermark: Timestamp, n_quiet: u64) -> Option<Skipped> {
        if n_quiet == 0 || (n_quiet < QUIET_READINGS_MAX && !self.is_silent()) || self.is_part() {
            return None;
        }
        let until = self.windows.iter().filter_map(Window::unchanged_until).fold(watermark, Timestamp::min);
        let (first, phase) = self.next_read(watermark).filter(|(first, _)| *first < until)?;
        if until == Timestamp::MAX {
            return None;
        }
        if self.is_silent() {
            self.pass_quietly(until);
            return None;
        }
        let closes =
            self.windows.iter().filter_map(|window| window.closes_before(until)).chain(self.periods_before(until));
        let (windows, last) = closes.reduce(|one, other| (one.0.saturating_add(other.0), one.1.max(other.1)))?;
        let from = self.label(first, phase);
        self.pass_quietly(last);
        let (last, phase) = self.next_read(watermark)?;
        Some(Skipped { from, to: self.label(last, phase), windows })
    }

    /// Whether no reading says anything until some window shows something else.
    fn is_silent(&self) -> bool {
        let Report { change, nonempty, .. } = self.key.report;
        (change && !self.changed)
            || (nonempty && self.windows.iter().all(Window::is_empty))
            || self.queries.iter().flatten().all(RunningQuery::is_silent)
    }

    /// Parts of a query must all have the same readings, whatever each has to say.
    fn is_part(&self) -> bool {
        self.queries.iter().flatten().any(RunningQuery::reports_always)
    }

    /// Passes over what would be read before this instant.
    fn pass_quietly(&mut self, at: Timestamp) {
        self.pass(at);
        self.last_period = self.last_period.max(self.label(at.previous(), self.period_phase()));
    }

    /// How many periods that are read by themselves end before this instant, and when the last of them is read.
    fn periods_before(&self, at: Timestamp) -> Option<(u64, Timestamp)> {
        let Report { close: false, change: false, periodic: Some(period), .. } = self.key.report else { return None };
        let number = |at: Timestamp| at.as_millis().div_euclid(period.as_millis());
        let end = self.label(at.previous(), self.period_phase());
        let count = u64::try_from(number(end) - number(self.last_period)).unwrap_or(0);
        let last = Timestamp::from_millis(number(end).saturating_mul(period.as_millis()));
        (count > 0).then(|| (count, self.read_at_end_of(last)))
    }

    /// When a period that ends at this instant is read.
    pub(super) fn read_at_end_of(&self, end: Timestamp) -> Timestamp {
        let is_before = self.label(end, self.period_phase()) > end;
        if is_before { end.previous() } else { end }
    }
}
