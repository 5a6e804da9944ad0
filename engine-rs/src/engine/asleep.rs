//! Timelines that sleep: an event, and time, wake those that they concern; no other is even offered the event.
//!
//! ```text
//!             log: the events of a stream by time, once for all windows
//!   ──────────────┬────────────┬───────────┬──► clock
//!                 │            └ [RANGE 5s] shows what is behind its bound
//!                 └ [RANGE 7s]
//!   event ─► routes ─► timelines with a leaf that it may match
//!   time  ─► dues   ─► timelines with a mapping that expires
//! ```
//!
//! A timeline may sleep if it reads each event as it comes (tick `tuple`) through one sliding window, and reports changes.
//! Its state then follows from the log, whatever its length: the clock is that of the stream, an event is read at
//! `max(its time, the clock)`, and the window shows what is behind `clock − width`. What wakes it makes the same reading
//! as in a timeline that is awake; the readings in between concern none of its queries and are only counted, when
//! somebody asks, from the times of the log. So neither answers nor numbers tell who has slept.
//!
//! Cost of an event: an entry of the log, one lookup for each combination of constants, and the readings of those who
//! wake. Counting reports costs a step for each event and timeline, in one go for many events.

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
    /// By time; events of one time in the order in which they came.
    log: VecDeque<Logged>,
    /// The last instant that is settled, for all of them.
    clock: Timestamp,
    /// Whether an event has moved the clock to where it is, and no watermark.
    is_moved_by_event: bool,
    /// The instants to which events have moved the clock since the reports of all timelines were counted.
    moves: VecDeque<Timestamp>,
    /// The events so far.
    n_events: u64,
    members: BTreeMap<usize, Member>,
    /// How many windows there are of each width.
    widths: BTreeMap<Span, usize>,
    routes: Routes<usize>,
    /// Instants at which a mapping expires. An entry is valid if its timeline says so.
    dues: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// Timelines with rows that wait for the next report: the next event wakes them.
    owing: Vec<usize>,
    /// Timelines of which every query has failed; they must be roused.
    over: Vec<usize>,
    /// The length of the log at which it is trimmed.
    trimmed_at: usize,
}

/// An event of the log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    at: Timestamp,
    seq: u64,
    /// Counts the events of the log; those that were shown before the log began have low numbers.
    number: u64,
}

#[derive(Debug)]
struct Member {
    width: Span,
    constants: Vec<[Option<TermId>; 3]>,
}

/// What a timeline notes while it sleeps.
#[derive(Debug)]
pub(super) struct Sleep {
    width: Span,
    /// An empty window is not reported.
    nonempty: bool,
    /// The number of the first event that it shows.
    first: u64,
    /// Its reports are counted up to this instant, and for so many events.
    counted_to: Timestamp,
    counted_events: u64,
    /// Reports that were made since then, which are counted already.
    n_reported: u64,
    /// Its valid entry among the dues.
    due: Option<Timestamp>,
    /// Queries that have failed during a reading, and do not know yet how many reports they had slept through.
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

    /// One of the timelines.
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

    /// Takes a timeline in, if it may sleep now; its window is listed in the log from now on.
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

    /// Nobody sleeps; a new log begins. Events are numbered on.
    fn begin_at(&mut self, clock: Timestamp) {
        let Self { n_events, trimmed_at, .. } = *self;
        *self = Self { clock, n_events, trimmed_at, ..Self::default() };
    }

    /// The number of the first event that a timeline shows, and what it shows that is not in the log. `None` if the log
    /// cannot tell what it shows from what others do: it has come between events that some of them still show.
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

    /// Adds to the log what only one timeline shows.
    fn merge(&mut self, missing: Vec<InView>, timelines: &mut [Timeline]) {
        let is_first = self.members.is_empty();
        if !is_first && !missing.is_empty() {
            // What the others have slept through must not depend on events that only this one shows.
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

    /// Lets a timeline go; from now on it is told everything.
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

    /// Takes an event of the stream; returns what becomes of it in the widest window.
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
            // Whether past readings found a window empty must not depend on an event that came later.
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

    /// An event is late for windows that are narrower than the widest one: it is no event of theirs.
    fn leave_out(&mut self, at: Timestamp, timelines: &mut [Timeline]) {
        for (number, member) in &self.members {
            if let Some(sleep) = timelines[*number].sleep.as_mut().filter(|_| at < (self.clock - member.width).next()) {
                sleep.counted_events += 1;
            }
        }
    }

    /// Everything before the watermark is known.
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

    /// Lets mappings expire that do so before this instant, each when it is due.
    fn expire_before(&mut self, until: Timestamp, timelines: &mut [Timeline], context: &mut TimelineContext<'_>) {
        while let Some(Reverse((due, _))) = self.dues.peek().copied().filter(|next| next.0.0 < until) {
            if let Some(number) = self.next_due(|next| next <= due, timelines) {
                self.wake(number, due, None, timelines, context);
            }
        }
    }

    /// Takes the next valid entry out of the dues, if it is wanted.
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
            // It is late here; what waits for a report waits on.
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

    /// Notes when the first mapping of a timeline expires.
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

    /// Queries that have failed at an instant, which the clock may not have reached yet, have slept through reports that
    /// count.
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

    /// The reports that a timeline has slept through since they were counted.
    pub(super) fn n_slept(&self, timeline: &Timeline) -> u64 {
        self.n_slept_until(timeline, self.clock)
    }

    fn n_slept_until(&self, timeline: &Timeline, until: Timestamp) -> u64 {
        let Some(sleep) = &timeline.sleep else { return 0 };
        self.n_events - sleep.counted_events + self.n_expiries(sleep, until) - sleep.n_reported
    }

    /// The same for one of many timelines, with a calendar of the log and the least number in it.
    fn n_slept_by(&self, timeline: &Timeline, (calendar, least): (&Calendar, u64)) -> u64 {
        let Some(sleep) = &timeline.sleep else { return 0 };
        if sleep.first > least || (sleep.nonempty && !calendar.fills(sleep.width)) {
            return self.n_slept(timeline);
        }
        let n_expiries = calendar.n_expiries(sleep.width, sleep.counted_to);
        self.n_events - sleep.counted_events + n_expiries - sleep.n_reported
    }

    /// The expiries that are reports of their own since reports were counted.
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
            // What expires when an event arrives is not reported by itself.
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

    /// The same for a long time.
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
    /// Lets the timelines of a stream sleep that may, if there are many.
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

    /// Wakes a timeline, if it sleeps, until it is let sleep again.
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

    /// Drops what the logs of streams do not show any more.
    pub(super) fn trim_logs(&mut self) {
        let Self { streams, timelines, .. } = self;
        let kept = streams.iter_mut().filter(|stream| stream.sleepers.len() > 0);
        kept.for_each(|stream| stream.sleepers.trim(timelines));
    }

    fn sleepers_of<'a>(&'a self, timeline: &'a Timeline) -> Option<(&'a Sleepers, &'a Sleep)> {
        let sleep = timeline.sleep.as_deref()?;
        Some((&self.streams[timeline.key().windows[0].0].sleepers, sleep))
    }

    /// How many elements a window shows.
    pub(super) fn n_shown(&self, timeline: &Timeline, window: usize) -> usize {
        let asleep = self.sleepers_of(timeline);
        asleep.map_or_else(|| timeline.window(window).len(), |(sleepers, sleep)| sleepers.n_shown(sleep))
    }

    /// The last instant of a timeline that is settled.
    pub(super) fn clock_of(&self, timeline: &Timeline) -> Timestamp {
        self.sleepers_of(timeline).map_or(timeline.clock(), |(sleepers, _)| sleepers.clock)
    }

    /// How many reports a timeline has made.
    pub(super) fn reports_of(&self, timeline: &Timeline) -> u64 {
        timeline.rounds.n_reports + self.sleepers_of(timeline).map_or(0, |(sleepers, _)| sleepers.n_slept(timeline))
    }

    /// What the only window of a sleeping timeline shows.
    pub(super) fn view_of(&self, timeline: &Timeline) -> Option<VecDeque<InView>> {
        self.sleepers_of(timeline).map(|(sleepers, sleep)| sleepers.view(sleep))
    }
}
