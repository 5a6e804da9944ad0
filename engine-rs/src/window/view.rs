//! One window of a timeline: pending elements, elements in view, and the next instant to read it.
//!
//! ```text
//!   accept ─► pending ─── read ───► in view ─── bound ───► out of view
//!             by time               by expiry key          key < bound
//!                ├─► staged ─┤      (ELEMENTS: counted, and shown at the next step)
//!                └─► ahead ──┘      (windows that close: handed out before the close that shows them)
//! ```
//!
//! Invariants: expiry keys in view never decrease from front to back, and the bound of a window never decreases. What
//! is out of view is therefore a prefix, and leaves can expire mappings by the bound alone, without asking the window.
//!
//! Cost per element: one push and one pop on two queues; elements in order are never searched.

use super::bounds::{StepRule, WindowBounds};
use super::content::Content;
use super::element::{Arrival, Element};
use super::in_view::{InView, in_view, n_elements, show};
use super::progression::Progression;
use super::rule::{Reading, Rule};
use crate::codec::{Decoded, Reader, Writer};
use crate::model::EncodedTriple;
use crate::store::TripleSet;
use crate::time::{Span, Timestamp};
use std::collections::VecDeque;

/// The readings of one instant, in this order: arrivals, then the period that ends with the instant, then the windows
/// that close right after it. Results within an instant depend on this order (the derived `Ord`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    Tick,
    Period,
    Close,
}

/// What became of an event offered to a window, best first: several windows take the minimum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Accepted {
    Yes,
    /// Every window that covers its time has closed.
    Late,
    /// No window covers its time: it lies between two windows, or before t0.
    Uncovered,
}

#[derive(Debug)]
pub(crate) struct Window {
    rule: Rule,
    reading: Reading,
    /// Accepted but not yet in view, in order of time.
    pending: VecDeque<Element>,
    /// Counted, and waiting for the next step of `[ELEMENTS n STEP m]`.
    staged: VecDeque<Arrival>,
    /// What was handed out before the close that shows it, in order.
    ahead: VecDeque<InView>,
    /// What is in view, in the order in which it expires.
    in_view: VecDeque<InView>,
    /// While what is in view is listed together with that of other windows: whether it is nothing.
    listed_elsewhere: Option<bool>,
    /// For stepping windows, the next window to read (`Reading::Closed`), or the first that still takes events
    /// (`Reading::Current`).
    next_k: i64,
    started: bool,
    /// The number of elements (or triples) so far, for count windows.
    counted: i64,
    content: Option<Content>,
    content_changes: Vec<(EncodedTriple, i64)>,
    arrivals: Vec<Arrival>,
}

/// What the next close will show, as far as it was handed out by one call; it is in [`Window::arrivals`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// Elements with a smaller expiry key are out of view at that close.
    pub bound: i64,
    /// Whether nothing was handed out for that close before.
    pub is_first: bool,
}

/// The result of a read; the new arrivals are in [`Window::arrivals`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Elements with a smaller expiry key are out of view.
    pub bound: i64,
    pub arrived: bool,
    pub expired: bool,
}

impl Window {
    pub(crate) fn new(rule: Rule, reading: Reading) -> Self {
        let next_k = if let Rule::Step(step) = &rule { step.first() } else { 0 };
        let is_past = matches!(&rule, Rule::Step(step) if step.is_past());
        let reading = if is_past { Reading::Closed } else { reading };
        Self {
            rule,
            reading,
            pending: VecDeque::new(),
            staged: VecDeque::new(),
            ahead: VecDeque::new(),
            in_view: VecDeque::new(),
            listed_elsewhere: None,
            next_k,
            started: false,
            counted: 0,
            content: None,
            content_changes: Vec::new(),
            arrivals: Vec::new(),
        }
    }

    /// Also keep the triples from now on.
    pub(crate) fn keep_content(&mut self) {
        self.content.get_or_insert_default();
    }

    pub(crate) fn content(&self) -> Option<&TripleSet> {
        self.content.as_ref().map(Content::triples)
    }

    /// Increases with every change of the content, if the content is kept.
    pub(crate) fn content_version(&self) -> u64 {
        self.content.as_ref().map_or(0, Content::version)
    }

    /// Whether the last read changed the set of triples; only known if the content is kept.
    pub(crate) fn set_changed(&self) -> bool {
        let mut changes = self.content_changes.clone();
        changes.sort_unstable();
        changes.chunk_by(|a, b| a.0 == b.0).any(|same| same.iter().map(|c| c.1).sum::<i64>() != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed_elsewhere.unwrap_or(self.in_view.is_empty())
    }

    /// What is in view, oldest first.
    pub(crate) fn in_view(&self) -> impl ExactSizeIterator<Item = InView> + '_ {
        self.in_view.iter().copied()
    }

    /// From now on the caller keeps the list of elements in view, and reports before each reading whether it is empty.
    pub(crate) fn list_elsewhere(&mut self, is_empty: bool) {
        self.in_view = VecDeque::new();
        self.listed_elsewhere = Some(is_empty);
    }

    /// Whether its expiry keys are counts.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.rule, Rule::Elements { .. } | Rule::Triples { .. })
    }

    /// Whether a window of the same rule waits for the same elements and closes.
    pub(crate) fn waits_like(&self, other: &Self) -> bool {
        let waiting =
            |window: &Self| window.pending.iter().map(|element| (element.at, element.seq)).collect::<Vec<_>>();
        let point = |window: &Self| (window.next_k, window.started, window.staged.len());
        point(self) == point(other)
            && self.ahead == other.ahead
            && self.pending.len() == other.pending.len()
            && waiting(self) == waiting(other)
    }

    /// Lists what is in view again.
    pub(crate) fn list_here(&mut self, in_view: VecDeque<InView>) {
        self.in_view = in_view;
        self.listed_elsewhere = None;
    }

    pub(crate) fn len(&self) -> usize {
        n_elements(&self.in_view)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.pending.len() + self.staged.len() + n_elements(&self.ahead)
    }

    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The distance between two closes, for stepping windows.
    pub(crate) fn slide(&self) -> Option<Span> {
        match &self.rule {
            Rule::Step(step) => Some(step.slide()),
            _ => None,
        }
    }

    /// Panics if what is in view is out of order, or the content is not that of its arrivals.
    pub(crate) fn check(&self) {
        let pairs = self.in_view.iter().zip(self.in_view.iter().skip(1));
        let is_alone = !matches!(self.rule, Rule::Sliding { .. });
        let is_ordered = |(a, b): (&InView, &InView)| a.expiry_key < b.expiry_key + i64::from(!is_alone);
        assert!(pairs.into_iter().all(is_ordered), "window: the order of what is in view");
        assert!(self.ahead.is_empty() || self.closing().is_some(), "window: what was handed out waits for no close");
        self.content.iter().for_each(Content::check);
    }

    /// The triples that wait, and those that are kept as a graph.
    pub(crate) fn kept_triples(&self) -> impl Iterator<Item = EncodedTriple> + '_ {
        let waiting = self.pending.iter().chain(self.staged.iter().map(|arrival| &arrival.element));
        let content = self.content().into_iter().flat_map(|content| content.matching(None, None, None));
        waiting.flat_map(|element| element.triples.as_slice().iter().copied()).chain(content)
    }

    /// The oldest event that this window may still show.
    pub(crate) fn oldest_seq(&self) -> Option<u64> {
        let waiting = self.pending.iter().map(|e| e.seq).chain(self.staged.iter().map(|a| a.element.seq));
        self.in_view.iter().chain(&self.ahead).map(|v| v.seq).chain(waiting).min()
    }

    /// Windows start at the first instant that the timeline knows.
    pub(crate) fn start(&mut self, at: Timestamp) {
        if let (Rule::Step(step), Reading::Closed) = (&self.rule, self.reading) {
            self.next_k = self.next_k.max(step.first_read_from(at));
        }
        self.started = true;
    }

    /// Marks everything before `clock` as read, even where there was nothing to read: windows that end by then have
    /// closed.
    pub(crate) fn pass(&mut self, clock: Timestamp) {
        if let (Rule::Step(step), Reading::Closed) = (&self.rule, self.reading) {
            self.next_k = self.next_k.max(step.first_read_from(clock));
        }
    }

    /// What would become of an event at this time; `soonest` is the first instant at which it can be read.
    pub(crate) fn verdict(&self, at: Timestamp, soonest: Timestamp) -> Accepted {
        match &self.rule {
            Rule::Step(step) => self.covers_stepping(step, at, soonest),
            Rule::Sliding { width } if at <= soonest - *width => Accepted::Late,
            _ => Accepted::Yes,
        }
    }

    /// Offers an event; `soonest` is the first instant at which it can be read.
    pub(crate) fn accept(&mut self, element: &Element, soonest: Timestamp) -> Accepted {
        let verdict = self.verdict(element.at, soonest);
        if verdict == Accepted::Yes {
            if self.pending.back().is_some_and(|last| last.at > element.at) {
                let place = self.pending.partition_point(|e| e.at <= element.at);
                self.pending.insert(place, element.clone());
            } else {
                self.pending.push_back(element.clone());
            }
        }
        verdict
    }

    fn covers_stepping(&self, step: &StepRule, at: Timestamp, soonest: Timestamp) -> Accepted {
        let first_holding = step.first_ending_after(at);
        if step.open(first_holding) > at {
            return Accepted::Uncovered;
        }
        let first_open = match self.reading {
            Reading::Closed => self.next_k,
            Reading::Current => step.first_ending_after(soonest).max(self.next_k),
        };
        let k = first_holding.max(first_open);
        if step.open(k) <= at { Accepted::Yes } else { Accepted::Late }
    }

    /// Windows that end by this instant take no more events.
    pub(crate) fn end_by(&mut self, at: Timestamp) {
        if let (Rule::Step(step), Reading::Current) = (&self.rule, self.reading) {
            self.next_k = self.next_k.max(step.first_ending_after(at));
        }
    }

    /// The next instant after `clock` at which elements arrive.
    pub(crate) fn next_arrival(&self, clock: Timestamp) -> Option<Timestamp> {
        if self.waits_for_close() {
            return None;
        }
        let first = self.pending.partition_point(|e| e.at <= clock);
        self.pending.get(first).map(|e| e.at)
    }

    /// The next instant at which elements in view expire by time.
    pub(crate) fn next_expiry(&self) -> Option<Timestamp> {
        let oldest = Timestamp::from_millis(self.in_view.front()?.expiry_key);
        match &self.rule {
            Rule::Sliding { width } => Some(oldest + *width),
            Rule::Step(step) if self.reading == Reading::Current => {
                Some(step.end(step.first_opening_after(oldest).saturating_sub(1)))
            }
            _ => None,
        }
    }

    /// The first instant whose reading may differ from what is shown now; `None` if no reading ever will.
    pub(crate) fn unchanged_until(&self) -> Option<Timestamp> {
        let (expiry, arrival) = match &self.rule {
            Rule::Step(step) if self.reading == Reading::Closed => {
                let read_at = |k: i64| step.read_at(k.max(self.next_k));
                let oldest = self.in_view.front().map(|oldest| Timestamp::from_millis(oldest.expiry_key));
                let without = oldest.map(|oldest| read_at(step.first_opening_after(oldest)));
                (without, self.first_waiting().map(|first| read_at(step.first_ending_after(first))))
            }
            _ => (self.next_expiry(), self.first_waiting()),
        };
        expiry.into_iter().chain(arrival).min()
    }

    /// The instants at which windows close, from the next one on.
    pub(crate) fn closes(&self) -> Option<Progression> {
        self.next_close().zip(self.slide()).map(|(first, slide)| Progression::new(first, slide))
    }

    /// The instant at which the next stepping window is to be read.
    pub(crate) fn next_close(&self) -> Option<Timestamp> {
        match &self.rule {
            Rule::Step(step) if self.waits_for_close() && self.started => Some(step.read_at(self.next_k)),
            _ => None,
        }
    }

    /// The time of the earliest element that is not in view yet, or a later one that the same close shows.
    pub(crate) fn first_waiting(&self) -> Option<Timestamp> {
        // Individual times of folded elements are not kept; all of them are in the window that closes next.
        let ahead = self.closing().filter(|_| !self.ahead.is_empty()).map(|(_, end)| end.previous());
        self.pending.front().map(|e| e.at).into_iter().chain(ahead).min()
    }

    /// Whether what the next close shows can be handed out before it: a window that closes, and keeps no content.
    pub(crate) fn hands_out_ahead(&self) -> bool {
        self.waits_for_close() && self.content.is_none()
    }

    /// Whether two windows never have an element in common.
    pub(crate) fn tumbles(&self) -> bool {
        matches!(&self.rule, Rule::Step(step) if step.tumbles())
    }

    /// Opening and end of the window that closes next.
    fn closing(&self) -> Option<(Timestamp, Timestamp)> {
        match &self.rule {
            Rule::Step(step) if self.waits_for_close() => Some((step.open(self.next_k), step.end(self.next_k))),
            _ => None,
        }
    }

    /// Hands out, as arrivals, the pending elements that the next close will show, if there are this many. They are in
    /// view only from that close on.
    pub(crate) fn hand_out_ahead(&mut self, n_min: usize) -> Option<Ahead> {
        if self.pending.len() < n_min || !self.started {
            return None;
        }
        let (open, end) = self.closing()?;
        if self.n_due(end.previous()) < n_min {
            return None;
        }
        self.arrivals.clear();
        let is_first = self.ahead.is_empty();
        let bound = self.enter_until(end.previous(), open);
        for arrival in &self.arrivals {
            show(&mut self.ahead, &self.rule, in_view(&self.rule, arrival.expiry_key, arrival.element.seq));
        }
        Some(Ahead { bound, is_first })
    }

    /// Skips windows that would be read before `at`: they are empty and need no report.
    pub(crate) fn skip_closes_before(&mut self, at: Timestamp) {
        if let (Rule::Step(step), Reading::Closed) = (&self.rule, self.reading) {
            self.next_k = self.next_k.max(step.first_read_from(at));
        }
    }

    fn waits_for_close(&self) -> bool {
        self.rule.is_stepping() && self.reading == Reading::Closed
    }

    pub(crate) fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// The bounds to report for the window that was read last.
    pub(crate) fn reported(&self, read_at: Timestamp) -> WindowBounds {
        match &self.rule {
            Rule::Step(step) if self.reading == Reading::Closed => match self.next_k - 1 {
                last if last < step.first() => WindowBounds::NONE,
                last => step.reported(last),
            },
            Rule::Step(step) => step.reported(step.first_ending_after(read_at)),
            Rule::Sliding { width } => WindowBounds { open: read_at - *width, close: read_at },
            _ => WindowBounds { open: Timestamp::MIN, close: read_at },
        }
    }

    /// Advances the window to the instant: collects arrivals and returns the bound below which elements expire. A
    /// window that reports on close shows nothing before its close; all others follow every read.
    pub(crate) fn read(&mut self, at: Timestamp, phase: Phase) -> Option<Taken> {
        self.arrivals.clear();
        self.content_changes.clear();
        if self.is_still(at) {
            return None;
        }
        let bound = match self.rule {
            Rule::Step(step) if self.reading == Reading::Closed => {
                if phase != Phase::Close || self.next_close() != Some(at) {
                    return None;
                }
                self.close(&step)
            }
            Rule::Step(step) => {
                self.next_k = step.first_ending_after(at);
                self.enter_until(at, step.open(self.next_k))
            }
            Rule::Sliding { width } => self.enter_until(at, (at - width).next()),
            Rule::All => self.enter_until(at, Timestamp::MIN),
            Rule::Elements { size, step } => self.count_elements(at, size as i64, step as i64),
            Rule::Triples { size } => self.count_triples(at, size as i64),
        };
        Some(self.take(bound))
    }

    fn close(&mut self, step: &StepRule) -> i64 {
        let (open, end) = (step.open(self.next_k), step.end(self.next_k));
        self.next_k += 1;
        self.enter_until(end.previous(), open)
    }

    /// The number of pending elements up to `at`, usually all of them.
    #[inline]
    fn n_due(&self, at: Timestamp) -> usize {
        match self.pending.back() {
            Some(last) if last.at > at => self.pending.partition_point(|e| e.at <= at),
            _ => self.pending.len(),
        }
    }

    /// Admits pending elements up to `at`. Those before `open` are dropped: no window that is still to be read covers
    /// them.
    fn enter_until(&mut self, at: Timestamp, open: Timestamp) -> i64 {
        for _ in 0..self.n_due(at) {
            let Some(element) = self.pending.pop_front() else { break };
            if element.at >= open {
                let key = element.at.as_millis();
                self.arrivals.push(Arrival::whole(element, key));
            }
        }
        open.as_millis()
    }

    fn count_elements(&mut self, at: Timestamp, size: i64, step: i64) -> i64 {
        for _ in 0..self.n_due(at) {
            let Some(element) = self.pending.pop_front() else { break };
            self.counted += 1;
            self.staged.push_back(Arrival::whole(element, self.counted));
        }
        let complete = self.counted / step * step;
        let bound = complete - size + 1;
        while self.staged.front().is_some_and(|a| a.expiry_key <= complete) {
            let Some(arrival) = self.staged.pop_front() else { break };
            if arrival.expiry_key >= bound {
                self.arrivals.push(arrival);
            }
        }
        bound
    }

    fn count_triples(&mut self, at: Timestamp, size: i64) -> i64 {
        let n_due = self.n_due(at);
        let coming: usize = self.pending.iter().take(n_due).map(|e| e.triples.len()).sum();
        let bound = self.counted + coming as i64 - size + 1;
        for _ in 0..n_due {
            let Some(element) = self.pending.pop_front() else { break };
            if element.triples.len() == 1 {
                self.counted += 1;
                if self.counted >= bound {
                    self.arrivals.push(Arrival::whole(element, self.counted));
                }
                continue;
            }
            for index in 0..element.triples.len() {
                self.counted += 1;
                if self.counted >= bound {
                    let part = index..index + 1;
                    self.arrivals.push(Arrival { element: element.clone(), expiry_key: self.counted, part });
                }
            }
        }
        bound
    }

    fn take(&mut self, bound: i64) -> Taken {
        let expired = self.expire_below(bound);
        let arrived = !self.arrivals.is_empty() || !self.ahead.is_empty();
        self.show_ahead();
        if let Some(content) = &mut self.content {
            content.expire_below(bound, &mut self.content_changes);
        }
        for arrival in &self.arrivals {
            show(&mut self.in_view, &self.rule, in_view(&self.rule, arrival.expiry_key, arrival.element.seq));
            if let Some(content) = &mut self.content {
                content.arrive(arrival, &mut self.content_changes);
            }
        }
        Taken { bound, arrived, expired }
    }

    /// Shows what was handed out ahead of this close.
    fn show_ahead(&mut self) {
        self.ahead.drain(..).for_each(|entry| show(&mut self.in_view, &self.rule, entry));
    }

    /// Takes out of view what has expired; returns whether there was anything.
    #[inline]
    fn expire_below(&mut self, bound: i64) -> bool {
        let before = self.in_view.len();
        while self.in_view.front().is_some_and(|v| v.expiry_key < bound) {
            self.in_view.pop_front();
        }
        self.in_view.len() < before
    }

    /// Whether reading this instant would neither show nor hide anything.
    #[inline]
    pub(crate) fn is_still(&self, at: Timestamp) -> bool {
        self.pending.is_empty() && !self.waits_for_close() && self.next_expiry().is_none_or(|expiry| expiry > at)
    }

    /// Whether an event that is read as soon as it comes would pass through the queues alone: it enters, and no other does.
    #[inline]
    pub(crate) fn admits_directly(&self, element: &Element) -> bool {
        let counts_one = match self.rule {
            Rule::Triples { .. } => element.triples.len() == 1,
            Rule::Elements { step, .. } => step == 1,
            _ => true,
        };
        counts_one && self.pending.is_empty() && self.content.is_none() && !self.waits_for_close()
    }

    /// Accepts an event and reads it at `at`, as [`Window::accept`] and [`Window::read`] would, for windows that
    /// [admit it directly](Window::admits_directly). Returns its expiry key too, because there are no [`Arrival`]s.
    #[inline]
    pub(crate) fn admit(&mut self, element: &Element, at: Timestamp) -> (i64, Taken) {
        let by_time = |open: Timestamp| (element.at.as_millis(), open.as_millis());
        let (expiry_key, bound) = match self.rule {
            Rule::Step(step) => {
                self.next_k = step.first_ending_after(at);
                by_time(step.open(self.next_k))
            }
            Rule::Sliding { width } => by_time((at - width).next()),
            Rule::All => by_time(Timestamp::MIN),
            Rule::Elements { size, .. } | Rule::Triples { size } => {
                self.counted += 1;
                (self.counted, self.counted - size as i64 + 1)
            }
        };
        debug_assert!(expiry_key >= bound, "an event that is accepted is in view when it is read");
        let expired = self.expire_below(bound);
        show(&mut self.in_view, &self.rule, in_view(&self.rule, expiry_key, element.seq));
        (expiry_key, Taken { bound, arrived: true, expired })
    }

    /// Saves what is pending, what is in view, and how far the window has advanced; rule and reading come from the
    /// plan. `in_view` replaces the window's own list if it is kept elsewhere.
    pub(crate) fn save(&self, in_view: Option<&VecDeque<InView>>, to: &mut Writer) {
        to.list(self.pending.iter(), |to, element| element.save(to));
        to.list(self.staged.iter(), |to, arrival| arrival.save(to));
        for entries in [&self.ahead, in_view.unwrap_or(&self.in_view)] {
            to.list(entries.iter(), |to, entry| {
                to.i64(entry.expiry_key);
                to.u64(entry.seq);
                to.u64(entry.n_elements);
            });
        }
        to.i64(self.next_k);
        to.bool(self.started);
        to.i64(self.counted);
        to.option(self.content.as_ref(), |to, content| content.save(to));
    }

    pub(crate) fn restore(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        self.pending = from.list(32, Element::restored)?;
        self.staged = from.list(56, Arrival::restored)?;
        for entries in [&mut self.ahead, &mut self.in_view] {
            let entry = |from: &mut Reader<'_>| {
                Ok(InView { expiry_key: from.i64()?, seq: from.u64()?, n_elements: from.u64()? })
            };
            *entries = from.list(24, entry)?;
        }
        self.next_k = from.i64()?;
        self.started = from.bool()?;
        self.counted = from.i64()?;
        self.content = from.option(Content::restored)?;
        Ok(())
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
