//! Timelines that sleep: events and time wake only the timelines they concern; the others are not visited.
//!
//! ```text
//!             log: the events of a stream by time, once for all windows
//!   ──────────────┬────────────┬───────────┬──► clock
//!                 │            └ [RANGE 5s] shows the events after its bound
//!                 └ [RANGE 7s]
//!   event ─► routes ─► timelines with a leaf that the event may match
//!   time  ─► dues   ─► timelines with a mapping that expires
//! ```
//!
//! A timeline may sleep if it reads each event as it arrives (tick `tuple`) through one sliding window, and reports
//! changes. Its state then follows from the log alone: its clock is that of the stream, an event is read at `max(its
//! time, the clock)`, and the window shows the events after `clock − width`. A timeline that is woken performs the same
//! reading as one that is always awake. The readings it slept through concern none of its queries; they are only
//! counted, on request, from the times in the log. So neither results nor numbers depend on which timelines slept.
//!
//! Cost of an event: one log entry, one lookup for each combination of constants, and the readings of the woken
//! timelines. Counting reports costs a step per event and timeline, done in one pass for many events.

use super::Engine;
use super::calendar::Calendar;
use super::timeline::{Timeline, TimelineContext};
use crate::leaf::{QueryPlace, Routes};
use crate::model::TermId;
use crate::rare::Rare;
use crate::thresholds::Thresholds;
use crate::time::{Span, Timestamp};
use crate::window::{Accepted, Element, InView, Taken};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// The sleeping timelines of a stream, and the events that their windows show.
#[derive(Debug)]
pub(super) struct Sleepers {
    /// Sorted by time; events of equal time in arrival order.
    log: VecDeque<Logged>,
    /// The last settled instant, common to all sleeping timelines.
    clock: Timestamp,
    /// Whether the clock was last moved by an event and not by a watermark.
    is_moved_by_event: bool,
    /// The instants to which events have moved the clock since all reports were last counted.
    moves: VecDeque<Timestamp>,
    /// The number of events so far.
    n_events: u64,
    members: BTreeMap<usize, Member>,
    /// The number of windows of each width.
    widths: BTreeMap<Span, usize>,
    routes: Routes<usize>,
    /// Instants at which a mapping expires. An entry is valid if its timeline refers to it.
    dues: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// Timelines with rows that wait for the next report; the next event wakes them.
    owing: Vec<usize>,
    /// Timelines whose queries have all failed; they must be roused.
    over: Vec<usize>,
    /// The length of the log at which it is next trimmed.
    trimmed_at: usize,
}

/// An event of the log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    at: Timestamp,
    seq: u64,
    /// The number of events in the log; events shown from before the log began have lower numbers.
    number: u64,
}

#[derive(Debug)]
struct Member {
    width: Span,
    constants: Vec<[Option<TermId>; 3]>,
}

/// The state of a sleeping timeline.
#[derive(Debug)]
pub(super) struct Sleep {
    width: Span,
    /// An empty window is not reported.
    nonempty: bool,
    /// The number of the first event that it shows.
    first: u64,
    /// Its reports are counted up to this instant and this number of events.
    counted_to: Timestamp,
    counted_events: u64,
    /// Reports made since then, which are already counted.
    n_reported: u64,
    /// Its valid entry in the dues.
    due: Option<Timestamp>,
    /// Queries that failed during a reading, and whose missed reports are not counted yet.
    pub failed: Vec<QueryPlace>,
}

impl Default for Sleepers {
    fn default() -> Self {
        Self {
            log: VecDeque::new(),
            clock: Timestamp::MIN,
            is_moved_by_event: false,
            moves: VecDeque::new(),
            n_events: 0,
            members: BTreeMap::new(),
            widths: BTreeMap::new(),
            routes: Routes::new(4),
            dues: BinaryHeap::new(),
            owing: Vec::new(),
            over: Vec::new(),
            trimmed_at: 0,
        }
    }
}

impl Sleepers {
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns a timeline by its position.
    pub(super) fn first(&self) -> Option<usize> {
        self.members.first_key_value().map(|(number, _)| *number)
    }

    /// The bound below which a window of this width shows nothing.
    fn bound(&self, width: Span) -> Timestamp {
        (self.clock - width).next()
    }

    fn widest(&self) -> Span {
        self.widths.last_key_value().map_or(Span::ZERO, |(width, _)| *width)
    }

    /// The events of the log that the window of a sleeping timeline shows.
    fn shown<'a>(&'a self, sleep: &Sleep) -> impl Iterator<Item = &'a Logged> + use<'a> {
        let (bound, first) = (self.bound(sleep.width), sleep.first);
        self.log.range(self.log.partition_point(|logged| logged.at < bound)..).filter(move |l| l.number >= first)
    }

    pub(super) fn n_shown(&self, sleep: &Sleep) -> usize {
        self.shown(sleep).count()
    }

    /// What the window of a sleeping timeline would list.
    fn view(&self, sleep: &Sleep) -> VecDeque<InView> {
        self.shown(sleep)
            .map(|logged| InView { expiry_key: logged.at.as_millis(), seq: logged.seq, n_elements: 1 })
            .collect()
    }

    /// The oldest event that some window may show.
    pub(super) fn oldest_seq(&self) -> Option<u64> {
        let bound = self.bound(self.widest());
        self.log.iter().filter(|logged| logged.at >= bound).map(|logged| logged.seq).min()
    }

    /// Lets a timeline sleep if it may; from now on the log lists its window.
    fn take_in(&mut self, number: usize, timelines: &mut [Timeline]) -> bool {
        let timeline = &mut timelines[number];
        let Some(width) = timeline.may_sleep().filter(|_| timeline.retries_at <= self.n_events) else { return false };
        if self.members.is_empty() {
            self.begin_at(timeline.clock);
        }
        if timeline.clock != self.clock {
            return false;
        }
        let Some((first, missing)) = self.compared(width, timeline) else {
            timeline.retries_at = self.n_events + 16 + timeline.windows[0].len() as u64;
            return false;
        };
        self.merge(missing, timelines);
        let timeline = &mut timelines[number];
        timeline.windows[0].list_elsewhere(false);
        timeline.sleep = Some(Box::new(Sleep {
            width,
            nonempty: timeline.key.report.nonempty,
            first,
            counted_to: self.clock,
            counted_events: self.n_events,
            n_reported: 0,
            due: None,
            failed: Vec::new(),
        }));
        let mut constants: Vec<_> =
            timeline.places[0].leaves().map(|leaf| timeline.leaves[leaf.at()].pattern.constants()).collect();
        constants.sort_unstable();
        constants.dedup();
        constants.iter().for_each(|constants| self.routes.add(*constants, number));
        *self.widths.entry(width).or_default() += 1;
        self.members.insert(number, Member { width, constants });
        self.note_due(number, timeline);
        Rare::FellAsleep.note();
        true
    }

    /// Called when no timeline sleeps: starts a new log. Event numbers continue.
    fn begin_at(&mut self, clock: Timestamp) {
        let Self { n_events, trimmed_at, .. } = *self;
        *self = Self { clock, n_events, trimmed_at, ..Self::default() };
    }

    /// The number of the first event that a timeline shows, and the events it shows that are not in the log. `None` if
    /// the log cannot represent its content: the timeline was created between events that others still show.
    fn compared(&self, width: Span, timeline: &Timeline) -> Option<(u64, Vec<InView>)> {
        let view: Vec<_> = timeline.windows[0].in_view().collect();
        let begins = self.log.partition_point(|logged| logged.at < self.bound(width));
        let (mut missing, mut hidden, mut least) = (Vec::new(), None, None);
        let mut logged = self.log.range(begins..).peekable();
        let mut hide = |entry: &Logged| hidden = hidden.max(Some(entry.number));
        for shown in &view {
            let key = (shown.expiry_key, shown.seq);
            while let Some(other) = logged.next_if(|logged| (logged.at.as_millis(), logged.seq) < key) {
                hide(other);
            }
            match logged.next_if(|logged| (logged.at.as_millis(), logged.seq) == key) {
                Some(same) => least = Some(least.map_or(same.number, |least: u64| least.min(same.number))),
                None => missing.push(*shown),
            }
        }
        logged.for_each(hide);
        let of_others = self.bound(self.widest()).as_millis();
        let is_known = self.members.is_empty() || missing.iter().all(|shown| shown.expiry_key < of_others);
        let is_told = hidden.is_none_or(|hidden| missing.is_empty() && least.is_none_or(|least| hidden < least));
        if !is_known || !is_told {
            return None;
        }
        let is_first = self.members.is_empty();
        Some((hidden.map_or(u64::from(is_first), |hidden| hidden + 1), missing))
    }

    /// Adds events to the log that only one timeline shows.
    fn merge(&mut self, missing: Vec<InView>, timelines: &mut [Timeline]) {
        let is_first = self.members.is_empty();
        if !is_first && !missing.is_empty() {
            // The reports that the others slept through must not depend on events that only this timeline shows.
            self.count_reports(timelines);
        }
        for shown in missing {
            self.n_events += u64::from(is_first);
            let number = if is_first { self.n_events } else { 0 };
            self.insert(Logged { at: Timestamp::from_millis(shown.expiry_key), seq: shown.seq, number });
        }
    }

    fn insert(&mut self, logged: Logged) {
        if self.log.back().is_some_and(|last| last.at > logged.at) {
            let place = self.log.partition_point(|other| other.at <= logged.at);
            self.log.insert(place, logged);
        } else {
            self.log.push_back(logged);
        }
    }

    /// Takes a timeline out; from now on it visits every event.
    pub(super) fn rouse(&mut self, number: usize, timeline: &mut Timeline) {
        let Some(Member { width, constants }) = self.members.remove(&number) else { return };
        self.count_reports_of(timeline);
        constants.into_iter().for_each(|constants| self.routes.remove(constants, number));
        if let Some(windows) = self.widths.get_mut(&width) {
            *windows -= 1;
            if *windows == 0 {
                self.widths.remove(&width);
            }
        }
        self.owing.retain(|other| *other != number);
        if let Some(sleep) = timeline.sleep.take().filter(|_| !timeline.is_over) {
            timeline.windows[0].list_here(self.view(&sleep));
            (timeline.clock, timeline.read_before) = (self.clock, self.clock);
        }
        timeline.clock = timeline.clock.max(self.clock);
        if self.members.is_empty() {
            self.begin_at(Timestamp::MIN);
        }
    }

    /// Adds an event of the stream; returns its fate in the widest window.
    pub(super) fn offer(
        &mut self,
        element: &Element,
        timelines: &mut [Timeline],
        context: &mut TimelineContext<'_>,
    ) -> Accepted {
        let at = element.at;
        if at > self.clock {
            self.expire_before(at, timelines, context);
            self.clock = at;
            self.is_moved_by_event = true;
            self.moves.push_back(at);
        } else if at < self.bound(self.widest()) {
            return Accepted::Late;
        } else if at < self.clock || !self.is_moved_by_event {
            // Whether a past reading found a window empty must not depend on an event that arrived later.
            self.count_reports(timelines);
        }
        self.n_events += 1;
        self.insert(Logged { at, seq: element.seq, number: self.n_events });
        if at < self.clock {
            self.leave_out(at, timelines);
        }
        let mut concerned = std::mem::take(&mut self.owing);
        let clock = self.clock;
        while let Some(number) = self.next_due(|due| due <= clock, timelines) {
            concerned.push(number);
        }
        element.triples.as_slice().iter().for_each(|t| self.routes.each_leaf(t, |number| concerned.push(number)));
        if concerned.len() > 1 {
            concerned.sort_unstable();
            concerned.dedup();
        }
        for number in concerned.drain(..) {
            self.wake(number, self.clock, Some(element), timelines, context);
        }
        if self.owing.is_empty() {
            self.owing = concerned;
        }
        if self.log.len() > self.trimmed_at {
            self.trim(timelines);
        }
        Accepted::Yes
    }

    /// An event may be late for windows narrower than the widest one: they do not show it.
    fn leave_out(&mut self, at: Timestamp, timelines: &mut [Timeline]) {
        for (number, member) in &self.members {
            if let Some(sleep) = timelines[*number].sleep.as_mut().filter(|_| at < (self.clock - member.width).next()) {
                sleep.counted_events += 1;
            }
        }
    }

    /// Everything before the watermark is settled.
    pub(super) fn advance_to(
        &mut self,
        watermark: Timestamp,
        timelines: &mut [Timeline],
        context: &mut TimelineContext<'_>,
    ) {
        self.expire_before(watermark, timelines, context);
        if watermark.previous() > self.clock {
            self.clock = watermark.previous();
            self.is_moved_by_event = false;
        }
    }

    /// Expires all mappings due before this instant, each at its own instant.
    fn expire_before(&mut self, until: Timestamp, timelines: &mut [Timeline], context: &mut TimelineContext<'_>) {
        while let Some(Reverse((due, _))) = self.dues.peek().copied().filter(|next| next.0.0 < until) {
            if let Some(number) = self.next_due(|next| next <= due, timelines) {
                self.wake(number, due, None, timelines, context);
            }
        }
    }

    /// Removes the next valid entry of the dues, if it is wanted.
    fn next_due(&mut self, wanted: impl Fn(Timestamp) -> bool, timelines: &mut [Timeline]) -> Option<usize> {
        while let Some(Reverse((due, number))) = self.dues.peek().copied().filter(|next| wanted(next.0.0)) {
            self.dues.pop();
            let sleep = timelines[number].sleep.as_mut().filter(|_| self.members.contains_key(&number));
            if let Some(sleep) = sleep.filter(|sleep| sleep.due == Some(due)) {
                sleep.due = None;
                return Some(number);
            }
        }
        None
    }

    /// Reads an instant in one timeline.
    fn wake(
        &mut self,
        number: usize,
        at: Timestamp,
        event: Option<&Element>,
        timelines: &mut [Timeline],
        context: &mut TimelineContext<'_>,
    ) {
        let timeline = &mut timelines[number];
        let Some(sleep) = timeline.sleep.as_deref() else { return };
        let bound = (at - sleep.width).next();
        let mut newest = self.log.iter().rev().take_while(|logged| logged.at >= bound);
        let is_empty = !newest.any(|logged| logged.number >= sleep.first);
        if event.is_some_and(|event| event.at < bound) {
            // The event is late here; rows that wait for a report keep waiting.
            if !timeline.rounds.owing.is_empty() {
                self.owing.push(number);
            }
            return;
        }
        Rare::WokenUp.note();
        let taken = Taken { bound: bound.as_millis(), arrived: event.is_some(), expired: true };
        timeline.windows[0].list_elsewhere(is_empty);
        let reported = timeline.read_woken(at, taken, event, context);
        if let Some(sleep) = timeline.sleep.as_deref_mut() {
            sleep.n_reported += u64::from(reported);
        }
        self.count_failed(timeline, at);
        if timeline.is_over {
            self.over.push(number);
            return;
        }
        if !timeline.rounds.owing.is_empty() {
            self.owing.push(number);
        }
        self.note_due(number, timeline);
    }

    /// Records when the first mapping of a timeline expires.
    fn note_due(&mut self, number: usize, timeline: &mut Timeline) {
        let (Some(sleep), Some(first)) = (timeline.sleep.as_deref_mut(), timeline.places[0].dues.first()) else {
            return;
        };
        let due = Timestamp::from_millis(first) + sleep.width;
        if sleep.due != Some(due) {
            sleep.due = Some(due);
            self.dues.push(Reverse((due, number)));
        }
    }

    /// Queries that failed at an instant, possibly one that the clock has not reached yet, have slept through reports
    /// that count.
    fn count_failed(&self, timeline: &mut Timeline, at: Timestamp) {
        let failed = match timeline.sleep.as_deref_mut() {
            Some(sleep) if !sleep.failed.is_empty() => std::mem::take(&mut sleep.failed),
            _ => return,
        };
        let slept = self.n_slept_until(timeline, at);
        for place in failed {
            timeline.query_mut(place.at()).evaluations += slept;
        }
    }

    /// The number of reports that a timeline has slept through since they were last counted.
    pub(super) fn n_slept(&self, timeline: &Timeline) -> u64 {
        self.n_slept_until(timeline, self.clock)
    }

    fn n_slept_until(&self, timeline: &Timeline, until: Timestamp) -> u64 {
        let Some(sleep) = &timeline.sleep else { return 0 };
        self.n_events - sleep.counted_events + self.n_expiries(sleep, until) - sleep.n_reported
    }

    /// The same for one of many timelines, given a calendar of the log and the log's lowest event number.
    fn n_slept_by(&self, timeline: &Timeline, (calendar, least): (&Calendar, u64)) -> u64 {
        let Some(sleep) = &timeline.sleep else { return 0 };
        if sleep.first > least || (sleep.nonempty && !calendar.fills(sleep.width)) {
            return self.n_slept(timeline);
        }
        let n_expiries = calendar.n_expiries(sleep.width, sleep.counted_to);
        self.n_events - sleep.counted_events + n_expiries - sleep.n_reported
    }

    /// The expiries that are separate reports since reports were last counted.
    fn n_expiries(&self, sleep: &Sleep, until: Timestamp) -> u64 {
        let Sleep { width, nonempty, first, counted_to, .. } = *sleep;
        let begins = self.log.partition_point(|logged| logged.at + width <= counted_to);
        let mut times = self.log.range(begins..).filter(|l| l.number >= first).map(|logged| logged.at).peekable();
        let mut moves = self.moves.range(self.moves.partition_point(|at| *at <= counted_to)..).copied().peekable();
        let mut n_expiries = 0;
        while let Some(at) = times.next() {
            let expires_at = at + width;
            if expires_at > until {
                break;
            }
            while times.next_if_eq(&at).is_some() {}
            while moves.next_if(|moved| *moved < expires_at).is_some() {}
            // Expiries at the instant of an arrival are no separate reports.
            let is_alone = moves.peek() != Some(&expires_at);
            let shows_more = times.peek().is_some_and(|next| *next <= expires_at);
            n_expiries += u64::from(is_alone && (!nonempty || shows_more));
        }
        n_expiries
    }

    fn count_reports_of(&self, timeline: &mut Timeline) {
        let slept = self.n_slept(timeline);
        self.count_slept(timeline, slept);
    }

    fn count_slept(&self, timeline: &mut Timeline, slept: u64) {
        timeline.rounds.n_reports += slept;
        if let Some(sleep) = &mut timeline.sleep {
            (sleep.counted_to, sleep.counted_events, sleep.n_reported) = (self.clock, self.n_events, 0);
        }
    }

    /// Counts the reports of all timelines up to now.
    fn count_reports(&mut self, timelines: &mut [Timeline]) {
        self.members.keys().for_each(|number| self.count_reports_of(&mut timelines[*number]));
        self.moves.clear();
    }

    /// Counts the reports of all timelines over a long stretch.
    fn count_all(&mut self, timelines: &mut [Timeline]) {
        let (times, moves) = (self.log.iter().map(|logged| logged.at), self.moves.iter().copied());
        let Some(calendar) = Calendar::new(times, moves, self.clock, self.log.len()) else {
            return self.count_reports(timelines);
        };
        let least = self.log.iter().map(|logged| logged.number).min().unwrap_or(0);
        for number in self.members.keys() {
            let timeline = &mut timelines[*number];
            let slept = self.n_slept_by(timeline, (&calendar, least));
            self.count_slept(timeline, slept);
        }
        self.moves.clear();
    }

    /// Drops the events that no window shows any more.
    fn trim(&mut self, timelines: &mut [Timeline]) {
        /// A shorter log is not worth trimming.
        const LOG_MIN: usize = 64;
        self.count_all(timelines);
        let bound = self.bound(self.widest());
        self.log.drain(..self.log.partition_point(|logged| logged.at < bound));
        self.trimmed_at = (2 * self.log.len()).max(LOG_MIN);
    }
}

impl Engine {
    /// Lets those timelines of a stream sleep that may, if there are many.
    pub(super) fn lull(&mut self, stream: usize) {
        let Thresholds { timelines_awake_max, .. } = self.options.thresholds;
        let own = &mut self.streams[stream];
        if own.awake.is_empty() || own.readers.len() <= timelines_awake_max || !self.options.sharing {
            return;
        }
        let Self { streams, timelines, .. } = self;
        let own = &mut streams[stream];
        own.awake.retain(|number| !own.sleepers.take_in(*number, timelines));
    }

    /// Wakes a timeline if it sleeps; it stays awake until it is allowed to sleep again.
    pub(super) fn rouse(&mut self, number: usize) {
        if self.timelines[number].sleep.is_none() {
            return;
        }
        let stream = self.timelines[number].key().windows[0].0;
        self.rouse_in(stream, number);
    }

    fn rouse_in(&mut self, stream: usize, number: usize) {
        let Self { streams, timelines, .. } = self;
        let own = &mut streams[stream];
        own.sleepers.rouse(number, &mut timelines[number]);
        if let Err(at) = own.awake.binary_search(&number) {
            own.awake.insert(at, number);
        }
    }

    /// Wakes all timelines of a stream.
    pub(super) fn rouse_all(&mut self, stream: usize) {
        let members: Vec<usize> = self.streams[stream].sleepers.members.keys().copied().collect();
        members.into_iter().for_each(|number| self.rouse_in(stream, number));
    }

    /// Wakes the timelines of a stream whose queries have all failed: they read nothing any more.
    pub(super) fn rouse_over(&mut self, stream: usize) {
        while let Some(number) = self.streams[stream].sleepers.over.pop() {
            self.rouse_in(stream, number);
        }
    }

    /// Drops log entries of streams that no window shows any more.
    pub(super) fn trim_logs(&mut self) {
        let Self { streams, timelines, .. } = self;
        let kept = streams.iter_mut().filter(|stream| stream.sleepers.len() > 0);
        kept.for_each(|stream| stream.sleepers.trim(timelines));
    }

    fn sleepers_of<'a>(&'a self, timeline: &'a Timeline) -> Option<(&'a Sleepers, &'a Sleep)> {
        let sleep = timeline.sleep.as_deref()?;
        Some((&self.streams[timeline.key().windows[0].0].sleepers, sleep))
    }

    /// The number of elements that a window shows.
    pub(super) fn n_shown(&self, timeline: &Timeline, window: usize) -> usize {
        let asleep = self.sleepers_of(timeline);
        asleep.map_or_else(|| timeline.window(window).len(), |(sleepers, sleep)| sleepers.n_shown(sleep))
    }

    /// The last settled instant of a timeline.
    pub(super) fn clock_of(&self, timeline: &Timeline) -> Timestamp {
        self.sleepers_of(timeline).map_or(timeline.clock(), |(sleepers, _)| sleepers.clock)
    }

    /// The number of reports that a timeline has made.
    pub(super) fn reports_of(&self, timeline: &Timeline) -> u64 {
        timeline.rounds.n_reports + self.sleepers_of(timeline).map_or(0, |(sleepers, _)| sleepers.n_slept(timeline))
    }

    /// The content of the only window of a sleeping timeline.
    pub(super) fn view_of(&self, timeline: &Timeline) -> Option<VecDeque<InView>> {
        self.sleepers_of(timeline).map(|(sleepers, sleep)| sleepers.view(sleep))
    }
}
