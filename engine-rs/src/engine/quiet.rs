//! Quiet stretches: readings between which nothing changes are reported once.
//!
//! ```text
//!   reading  ●───●───●───●───●───●───●───●───●      one step of the watermark, nothing arrives
//!   report   ●   ●   ●                       ●
//!            └ first few, one by one ┘       └ stands for all the others
//! ```
//!
//! One step of the watermark may pass any number of windows. If each must report, the first few do so one by one and a
//! single report stands for the rest; if none would say anything, nothing is read at all. While windows show the same
//! content, readings differ only in their instants, and those are known without reading: closes and periods are
//! arithmetic progressions.

use super::query::RunningQuery;
use super::timeline::Timeline;
use crate::leaf::QueryPlace;
use crate::limits::Breach;
use crate::parse::Report;
use crate::rare::Rare;
use crate::sink::Skipped;
use crate::time::{Span, Timestamp};
use crate::window::{Phase, Progression, Window, count_union};

/// The readings of one step of the watermark so far without any change.
#[derive(Default)]
pub(super) struct QuietReadings {
    /// Whether the last reading was quiet.
    is_quiet: bool,
    /// Whether it reported too: then every query has reported its content.
    has_reported: bool,
    n_reports: u64,
    /// The rest of a stretch that is reported as one.
    pub rest: Option<Rest>,
}

/// The readings of a stretch that one report represents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// The instant of the last of them.
    last: Timestamp,
    skipped: Skipped,
    /// The readings it represents for a query that reported more of them one by one.
    skipped_restless: Option<Skipped>,
}

impl Rest {
    /// Whether the query leaves the reading to the report that represents it.
    pub(super) fn silences(&self, is_restless: bool, at: Timestamp) -> bool {
        !is_restless && at < self.last
    }

    /// The readings that a report at this instant represents.
    pub(super) fn skipped_at(&self, is_restless: bool, at: Timestamp) -> Option<Skipped> {
        let skipped = if is_restless { self.skipped_restless } else { Some(self.skipped) };
        skipped.filter(|_| at == self.last)
    }
}

impl QuietReadings {
    pub(super) fn note(&mut self, at: Timestamp, is_quiet: bool, reported: bool) {
        self.is_quiet = is_quiet;
        self.has_reported = is_quiet && reported;
        self.n_reports += u64::from(self.has_reported);
        self.rest = self.rest.filter(|rest| at < rest.last);
    }
}

impl Timeline {
    /// Called before each reading: skips readings that would report nothing. After the first few quiet reports of this
    /// step, skips to the last reading of the stretch; a query with new content at each reading gets more of them.
    pub(super) fn skip_quiet(&mut self, watermark: Timestamp, quiet: &mut QuietReadings) {
        let is_long = quiet.has_reported && quiet.n_reports >= self.thresholds.quiet_reports_max;
        if !quiet.is_quiet || self.is_part() {
            return;
        }
        let is_silent = self.is_silent();
        if !is_long && !is_silent && self.key.report.periodic.is_none() {
            return;
        }
        let until = self.windows.iter().filter_map(Window::unchanged_until).fold(watermark, Timestamp::min);
        if until == Timestamp::MAX || self.next_read(watermark).is_none_or(|(first, _)| first >= until) {
            return;
        }
        let due = if is_silent { vec![] } else { self.due_before(until) };
        let Some(first) = due.iter().map(Progression::first).min() else {
            let is_told = self.reports_changes_before(until);
            self.pass_quietly(until);
            self.changed &= !is_told;
            return;
        };
        let skipped = self.skipped(&due, until).filter(|_| is_long);
        let last = skipped.and_then(|(skipped, last)| self.shorten(quiet, skipped, last));
        self.pass_quietly(last.unwrap_or(first));
    }

    /// Reports the rest of the stretch at once; returns its last reading if that is the next one.
    fn shorten(&mut self, quiet: &mut QuietReadings, skipped: Skipped, last: Timestamp) -> Option<Timestamp> {
        let mut rest = quiet.rest.unwrap_or(Rest { last, skipped, skipped_restless: None });
        let is_next = !self.must_keep_reporting(quiet.n_reports);
        Rare::StretchShortened.note();
        rest.skipped_restless = is_next.then_some(skipped);
        quiet.rest = Some(rest);
        is_next.then_some(last)
    }

    /// The readings that a report at the last of them would represent, and its instant.
    fn skipped(&self, due: &[Progression], until: Timestamp) -> Option<(Skipped, Timestamp)> {
        let first = due.iter().map(Progression::first).min()?;
        let last = due.iter().filter_map(|one| one.last_before(until)).max()?;
        let Report { close, periodic, .. } = self.key.report;
        let phase = if periodic.is_some() && !close { self.period_phase } else { Phase::Close };
        let windows = count_union(due, until);
        Some((Skipped { from: self.label(first, phase), to: self.label(last, phase), windows }, last))
    }

    /// The number of readings before this instant that report while windows show their current content. With `change`,
    /// the first one does.
    fn due_before(&self, until: Timestamp) -> Vec<Progression> {
        let closes = self.windows.iter().filter_map(Window::closes);
        let mut due: Vec<_> = match self.key.report {
            Report { periodic: None, .. } => closes.collect(),
            Report { close: false, change: false, .. } => self.next_periods().into_iter().collect(),
            Report { periodic: Some(period), .. } => {
                // Counts from before all remaining closes.
                let ends = self.period_ends(period, self.clock - period, Phase::Close);
                closes.filter_map(|close| close.meet(&ends)).chain(self.next_periods()).collect()
            }
        };
        due.retain(|one| one.first() < until);
        due
    }

    /// The periods that cause a reading of their own: those without another report condition, or with a change that
    /// waits to be reported.
    pub(super) fn next_periods(&self) -> Option<Progression> {
        let Report { close: false, change, periodic: Some(period), .. } = self.key.report else { return None };
        match change {
            false => Some(self.period_ends(period, self.last_period, self.period_phase)),
            true => self.changed.then(|| self.period_ends(period, self.clock, Phase::Tick)),
        }
    }

    /// When periods that end after this instant are read in this phase.
    fn period_ends(&self, period: Span, after: Timestamp, phase: Phase) -> Progression {
        let ms = period.as_millis();
        let end = Timestamp::from_millis(after.as_millis().div_euclid(ms).saturating_add(1).saturating_mul(ms));
        let read_at = if self.label(end, phase) > end { end.previous() } else { end };
        Progression::new(read_at, period)
    }

    /// Whether no reading reports anything until some window changes.
    fn is_silent(&self) -> bool {
        let Report { change, nonempty, .. } = self.key.report;
        (change && !self.changed)
            || (nonempty && !self.is_anything_in_view())
            || self.queries.iter().flatten().all(RunningQuery::is_silent)
    }

    fn is_anything_in_view(&self) -> bool {
        !self.windows.iter().all(Window::is_empty)
    }

    /// Whether some query has more to report at each reading than one report could represent. Even then there is a
    /// limit: beyond it, a query that depends on the clock is reported once, and a query that writes a stream fails,
    /// because the readers of the stream would miss events without noticing.
    fn must_keep_reporting(&mut self, n_reports: u64) -> bool {
        let max = self.thresholds.repeated_reports_max;
        let mut queries = self.queries.iter().flatten();
        let is_heard = self.is_anything_in_view() && queries.any(RunningQuery::is_restless);
        if is_heard && n_reports >= max {
            let breach = Breach::of_repeated_reports(max);
            let queries = (0..).zip(self.queries.iter_mut()).filter_map(|(at, query)| Some((at, query.as_mut()?)));
            for (at, query) in queries.filter(|(_, query)| query.is_restless() && query.writes_stream()) {
                query.fail(breach.into());
                // Its state is released at the next instant, of whatever kind.
                self.rounds.touched.add(QueryPlace(at));
            }
        }
        is_heard && n_reports < max
    }

    /// All parts of a query must have the same readings, whether or not they have something to report.
    fn is_part(&self) -> bool {
        self.queries.iter().flatten().any(RunningQuery::reports_always)
    }

    /// Whether a period before this instant would report the changes so far. A period that is skipped because no query
    /// has anything to report counts as a report: earlier changes must not make a later period report.
    fn reports_changes_before(&self, at: Timestamp) -> bool {
        let shows = !self.key.report.nonempty || self.is_anything_in_view();
        shows && self.next_periods().is_some_and(|periods| periods.first() < at)
    }

    /// Skips the readings before this instant.
    fn pass_quietly(&mut self, at: Timestamp) {
        self.unreported = self.is_unreported_before(at);
        self.pass(at);
        self.last_period = self.last_period.max(self.label(at.previous(), self.period_phase));
    }

    /// Whether something waits for the next period after all readings before this instant are skipped: a window that
    /// closes is reported even if it is empty and its close was not read.
    fn is_unreported_before(&self, at: Timestamp) -> bool {
        let close = self.windows.iter().filter_map(Window::closes).filter_map(|closes| closes.last_before(at)).max();
        let period = self.next_periods().and_then(|periods| periods.last_before(at));
        match (close, period) {
            (None, None) => self.unreported,
            // At equal instants, a period that does not show the closing windows is read before they close.
            (close, period) if close == period => self.period_phase < Phase::Close,
            (close, period) => close > period,
        }
    }
}
