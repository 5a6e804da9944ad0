//! One instant: windows, then leaves, then queries. Each change is joined with the exact state of everything else, and
//! reports are made before time moves on.
//!
//! ```text
//!   1 windows   read(at, phase) ─► arrivals, bound
//!   2 leaves    match and renew ─► expire below the bound ─► arrive        (all windows, step by step)
//!   3 queries   settle deltas ─► report
//! ```
//!
//! The order within step 2 matters. Matching first renews mappings whose copy arrives, so that they do not expire.
//! Expiring before arriving means that no result ever combines a mapping that leaves with one that arrives.
//! `straight.rs` takes the same steps where there is one of everything.

use super::expiring::Expiry;
use super::place::WindowPlace;
use super::query::{RunningQuery, Surroundings};
use super::quiet::Rest;
use super::stopwatch::Timing;
use super::timeline::{Timeline, TimelineContext};
use super::touched::Touched;
use crate::encode::Dictionary;
use crate::expr::EvalContext;
use crate::leaf::{Leaf, LeafId, QueryPlace, Reader};
use crate::limits::Breach;
use crate::model::EncodedTriple;
use crate::parse::{Bounds, ContentSemantics};
use crate::rare::Rare;
use crate::sink::Draft;
use crate::time::{Span, Timestamp};
use crate::window::{Element, Phase, Taken, Window};

impl Timeline {
    /// Reads an instant; returns whether it is reported. `rest` is set if one report stands for several readings.
    pub(super) fn read(
        &mut self,
        at: Timestamp,
        phase: Phase,
        rest: Option<Rest>,
        context: &mut TimelineContext<'_>,
    ) -> bool {
        let timing = self.meter.begin(phase, context.stopwatch);
        // 1. Windows: what arrives and what expires.
        self.taken.clear();
        for (number, window) in self.windows.iter_mut().enumerate() {
            if let Some(taken) = window.read(at, phase) {
                self.taken.push((number, taken));
            }
        }
        self.read_taken(Instant { at, phase, rest }, None, timing, context)
    }

    /// Reads an event on arrival, if no other window moves and this one [admits it directly](Window::admits_directly).
    pub(super) fn read_event(
        &mut self,
        window: usize,
        element: &Element,
        at: Timestamp,
        context: &mut TimelineContext<'_>,
    ) {
        Rare::AdmittedDirectly.note();
        if self.read_straight(window, element, at, context) {
            return;
        }
        let timing = self.meter.begin(Phase::Tick, context.stopwatch);
        let (expiry_key, taken) = self.windows[window].admit(element, at);
        self.taken.clear();
        self.taken.push((window, taken));
        let instant = Instant { at, phase: Phase::Tick, rest: None };
        self.read_taken(instant, Some((element, expiry_key)), timing, context);
    }

    /// Steps 2 and 3 of an instant. `event` is what arrives with its expiry key, if it is not among the arrivals of the
    /// windows.
    pub(super) fn read_taken(
        &mut self,
        instant: Instant,
        event: Option<(&Element, i64)>,
        timing: Timing<'_>,
        context: &mut TimelineContext<'_>,
    ) -> bool {
        let Instant { at, phase, rest } = instant;
        let reporting = self.reports(at, phase);
        // 2. Leaves: match and renew, expire, arrive.
        self.match_arrivals(event, at, context);
        for i in 0..self.taken.len() {
            let (window, taken) = self.taken[i];
            if taken.expired {
                self.expire(window, Expiry { bound: taken.bound, at, reporting }, context);
            }
        }
        for i in 0..self.taken.len() {
            let (window, taken) = self.taken[i];
            if taken.arrived {
                self.arrive(window, at, context);
            }
        }
        // 3. Queries: settle the deltas of the instant and report.
        let label = self.label(at, phase);
        self.conclude(label, reporting.then_some(Reporting { at, label, rest }), timing, context);
        self.changed &= !reporting;
        let closed =
            phase == Phase::Close && self.taken.iter().any(|(window, _)| self.windows[*window].rule().is_stepping());
        let moved = closed || self.has_moved();
        self.unreported = !reporting && (self.unreported || moved);
        reporting
    }

    /// Lets the queries that the instant concerns settle its deltas, and report.
    pub(super) fn conclude(
        &mut self,
        label: Timestamp,
        report: Option<Reporting>,
        mut timing: Timing<'_>,
        context: &mut TimelineContext<'_>,
    ) {
        let reporting = report.is_some();
        let visited = self.begin_rounds(reporting, context.graphs.version());
        self.attribute_time(&visited, &mut timing);
        for place in &visited {
            self.conclude_query(*place, label, report, &mut timing, context);
        }
        self.end_rounds(&visited, reporting);
        self.rounds.touched.reuse(visited);
        self.end_instant(&timing);
    }

    #[inline]
    pub(super) fn conclude_query(
        &mut self,
        place: QueryPlace,
        label: Timestamp,
        report: Option<Reporting>,
        timing: &mut Timing<'_>,
        context: &mut TimelineContext<'_>,
    ) {
        self.evaluate(place.at(), label, report, context);
        let work = self.work_of(place.at(), timing);
        self.close_evaluation(place.at(), context);
        if let (Some(work), Some(query)) = (work, &mut self.queries[place.at()]) {
            timing.close(work, &mut query.time);
        }
    }

    #[inline]
    pub(super) fn end_instant(&mut self, timing: &Timing<'_>) {
        self.meter.end(timing);
        if self.thresholds.checks {
            self.check();
        }
    }

    /// The queries that this instant concerns. All others would find no deltas and nothing to report; `check` verifies
    /// it.
    fn begin_rounds(&mut self, reporting: bool, version: u64) -> Vec<QueryPlace> {
        let Self { rounds, queries, .. } = self;
        if rounds.seen_version.replace(version) != Some(version) {
            rounds.static_readers.iter().for_each(|query| rounds.touched.add(*query));
        }
        if !rounds.restless.is_empty() {
            rounds.restless.iter().for_each(|query| rounds.touched.add(*query));
        }
        if reporting && !rounds.telling.is_empty() {
            rounds.telling.iter().for_each(|query| rounds.touched.add(*query));
        }
        if reporting {
            rounds.touched.add_all(&mut rounds.owing);
        }
        let visited = rounds.touched.take();
        rounds.n_visits += visited.len() as u64;
        for place in &visited {
            if let Some(query) = &mut queries[place.at()] {
                query.count_reports(rounds.n_reports);
            }
        }
        visited
    }

    /// Ends the instant for the queries that were visited.
    pub(super) fn end_rounds(&mut self, visited: &[QueryPlace], reporting: bool) {
        let Self { rounds, queries, .. } = self;
        rounds.n_reports += u64::from(reporting);
        for place in visited {
            let Some(query) = &mut queries[place.at()] else { continue };
            if reporting {
                query.begin_count(rounds.n_reports);
            }
            // Also at an instant that is reported, because one report may represent the rest of a stretch.
            if query.failed.is_none() && !query.has_reported_all() {
                rounds.owing.add(*place);
            }
        }
    }

    /// Panics if a structure disagrees with a recount, or if a query that was not visited had something to do.
    fn check(&self) {
        self.leaves.iter().for_each(Leaf::check);
        self.places.iter().for_each(|place| place.check(&self.leaves));
        self.windows.iter().for_each(Window::check);
        for (at, query) in self.queries.iter().enumerate() {
            let Some(query) = query.as_ref().filter(|query| query.failed.is_none()) else { continue };
            query.check(&self.leaves);
            for (_, _, leaf) in query.leaves_of() {
                let listed = self.leaves[leaf].usable_values(QueryPlace(at as u32));
                assert_eq!(listed, query.usable_values(leaf).as_ref(), "a query is listed under what it can use");
            }
            let follows = query.reads_graphs && !query.reevaluates;
            assert!(!follows || query.settled_version == self.rounds.seen_version, "a query has seen it all");
            let waits = self.rounds.owing.contains(QueryPlace(at as u32));
            assert!(
                query.reports_unchanged() || query.has_reported_all() || waits,
                "a query with unreported rows is listed as owing a report"
            );
        }
    }

    /// Attributes the time measured so far, which all queries spent together, to each in proportion to its work.
    #[inline]
    pub(super) fn attribute_time(&mut self, visited: &[QueryPlace], timing: &mut Timing<'_>) {
        let Some(ns) = timing.lap_ns() else { return };
        let work = |place: &QueryPlace| self.queries[place.at()].as_ref().and_then(RunningQuery::work);
        let whole = visited.iter().filter_map(work).sum();
        for place in visited {
            let Some(query) = &mut self.queries[place.at()] else { continue };
            if let Some(work) = query.work() {
                query.time.share(ns, work, whole);
            }
        }
    }

    /// The work of a query at this instant, for its time.
    pub(super) fn work_of(&self, number: usize, timing: &Timing<'_>) -> Option<u64> {
        self.queries[number].as_ref().filter(|_| timing.is_wanted()).and_then(RunningQuery::work)
    }

    fn reports(&mut self, at: Timestamp, phase: Phase) -> bool {
        let report = self.key.report;
        if report.change && !self.changed {
            let is_set = self.key.semantics == ContentSemantics::Set;
            let changed = self.moves().any(|(window, taken)| has_changed(window, taken, is_set));
            self.changed = changed;
        }
        let closes = || {
            self.moves().any(|(window, taken)| match phase {
                Phase::Close => window.rule().is_stepping(),
                Phase::Tick | Phase::Period => taken.arrived,
            })
        };
        // Without close and change, every reading reports, unless a period selects some.
        let by_itself = || report.close || report.change || report.periodic.is_none() || phase == self.period_phase;
        let in_period = |period: Span| self.label(at, phase).as_millis().rem_euclid(period.as_millis()) == 0;
        let nonempty = || self.windows.iter().any(|window| !window.is_empty());
        (!report.close || closes())
            && (!report.change || self.changed)
            && by_itself()
            && (!report.nonempty || nonempty())
            && report.periodic.is_none_or(in_period)
    }

    /// The windows that move at the instant being read, and how.
    fn moves(&self) -> impl Iterator<Item = (&Window, Taken)> {
        self.taken.iter().map(|(window, taken)| (&self.windows[*window], *taken))
    }

    /// The instant that a report carries: for a close, the end of its window.
    pub(super) fn label(&self, read_at: Timestamp, phase: Phase) -> Timestamp {
        match (phase, self.key.bounds) {
            (Phase::Close, Bounds::ClosedOpen) => read_at.next(),
            _ => read_at,
        }
    }

    pub(super) fn match_arrivals(
        &mut self,
        event: Option<(&Element, i64)>,
        now: Timestamp,
        context: &mut TimelineContext<'_>,
    ) {
        let Self { leaves, places, queries, rounds, scratch, taken, windows, .. } = self;
        let eval = EvalContext { dictionary: context.dictionary, now, scratch };
        let mut matching = Matching { leaves, queries, touched: &mut rounds.touched, n_incoming: 0, eval };
        for (window, taken) in taken.iter().filter(|(_, taken)| taken.arrived) {
            let place = &mut places[*window];
            if let Some((element, expiry_key)) = event {
                let triples = element.triples.as_slice().iter();
                triples.for_each(|triple| matching.offer(triple, element, expiry_key, taken.bound, place));
                continue;
            }
            for arrival in windows[*window].arrivals() {
                let triples = arrival.triples().iter();
                triples.for_each(|t| matching.offer(t, &arrival.element, arrival.expiry_key, taken.bound, place));
            }
        }
        self.leaves_incoming = matching.n_incoming;
    }

    pub(super) fn arrive(&mut self, window: usize, at: Timestamp, context: &mut TimelineContext<'_>) {
        let offered = self.places[window].take_offered(&self.leaves);
        for id in &offered {
            self.arrive_in(*id, at, context);
        }
        self.places[window].reuse_offered(offered);
    }

    /// Stores the mappings that were offered to a leaf.
    #[inline]
    pub(super) fn arrive_in(&mut self, id: LeafId, at: Timestamp, context: &mut TimelineContext<'_>) {
        self.rounds.n_visits += 1;
        for incoming in 0..self.leaves[id.at()].n_incoming() {
            self.arrive_one(id, incoming, at, context);
        }
        self.leaves[id.at()].clear_incoming();
    }

    fn arrive_one(&mut self, id: LeafId, incoming: usize, at: Timestamp, context: &mut TimelineContext<'_>) {
        let Self { leaves, places, windows, queries, rounds, .. } = self;
        let leaf = &mut leaves[id.at()];
        let Some((slot, expiry_key)) = leaf.arrive(incoming) else { return };
        places[leaf.window].dues.note(id, leaf, expiry_key);
        let around = &mut surroundings(leaves, windows, context, at);
        let mut visit = |reader: &Reader| {
            rounds.touched.add(reader.query);
            if let Some(query) = &mut queries[reader.query.at()] {
                query.guarded(|query| query.arrive(reader.node as usize, reader.role as usize, slot, around));
            }
        };
        let leaf = &leaves[id.at()];
        leaf.unrouted().iter().for_each(&mut visit);
        if leaf.is_routed() {
            leaf.listed(slot).for_each(|reader| visit(&reader));
        }
    }

    /// Settles a query, and lets it report if the instant is to be reported.
    pub(super) fn evaluate(
        &mut self,
        number: usize,
        now: Timestamp,
        reporting: Option<Reporting>,
        context: &mut TimelineContext<'_>,
    ) {
        let Self { leaves, windows, queries, .. } = self;
        let Some(query) = &mut queries[number] else { return };
        let around = &mut surroundings(leaves, windows, context, now);
        let seen = query.settled_version;
        query.guarded(|query| {
            query.settle(around);
            if let Some(reporting) = reporting {
                report(query, reporting, windows, around.dictionary);
            }
        });
        if query.reads_graphs && query.settled_version != seen {
            self.route_query(number);
        }
    }

    /// Ends the evaluation: refills the query's budget or, if it has failed, releases its state.
    pub(super) fn close_evaluation(&mut self, number: usize, context: &mut TimelineContext<'_>) {
        let Self { queries, leaves, windows, .. } = self;
        let Some(query) = &mut queries[number] else { return };
        query.close_evaluation(leaves, windows);
        context.waiting.note(query);
        if query.holds_remains() {
            if let Some(sleep) = &mut self.sleep {
                sleep.failed.push(QueryPlace(number as u32));
            }
            self.release(number);
            self.end_if_all_failed();
            *context.interests_stale = true;
        }
    }

    /// Whether the last reading has changed what some window shows.
    fn has_moved(&self) -> bool {
        self.taken.iter().any(|(_, taken)| taken.arrived || taken.expired)
    }

    /// Whether nothing arrived at the last reading, and the content is unchanged or empty.
    pub(super) fn was_quiet(&self) -> bool {
        let arrived = self.taken.iter().any(|(_, taken)| taken.arrived);
        !arrived && (!self.has_moved() || self.windows.iter().all(Window::is_empty))
    }
}

/// An instant that is read.
#[derive(Clone, Copy)]
pub(super) struct Instant {
    pub at: Timestamp,
    pub phase: Phase,
    pub rest: Option<Rest>,
}

/// The window, leaf and query state that arriving triples are offered to.
pub(super) struct Matching<'a, 'b> {
    pub leaves: &'a mut [Leaf],
    pub queries: &'a mut [Option<RunningQuery>],
    pub touched: &'a mut Touched,
    /// Leaves with mappings that arrive.
    pub n_incoming: usize,
    pub eval: EvalContext<'b>,
}

impl Matching<'_, '_> {
    #[inline]
    fn offer(&mut self, triple: &EncodedTriple, event: &Element, expiry_key: i64, bound: i64, place: &mut WindowPlace) {
        let WindowPlace { routes, offered, .. } = place;
        routes.each_leaf(triple, |id| {
            if self.leaves[id.at()].is_first_offer() {
                offered.push(id);
            }
            self.offer_to(id, triple, event, (expiry_key, bound));
        });
    }

    #[inline]
    pub(super) fn offer_to(
        &mut self,
        id: LeafId,
        triple: &EncodedTriple,
        event: &Element,
        (expiry_key, bound): (i64, i64),
    ) {
        let leaf = &mut self.leaves[id.at()];
        let before = leaf.n_incoming();
        if let Err(breach) = leaf.offer(triple, event, expiry_key, bound, &mut self.eval) {
            fail_readers(leaf, breach, self.queries, self.touched);
        }
        self.n_incoming += usize::from(before == 0 && leaf.n_incoming() > 0);
    }
}

/// How an instant is reported.
#[derive(Clone, Copy)]
pub(super) struct Reporting {
    /// When it is read.
    pub at: Timestamp,
    pub label: Timestamp,
    /// It belongs to a stretch that one report represents.
    pub rest: Option<Rest>,
}

fn report(query: &mut RunningQuery, reporting: Reporting, windows: &[Window], dictionary: &mut Dictionary) {
    let Reporting { at, label, rest } = reporting;
    let is_restless = rest.is_some() && query.is_restless();
    if rest.is_some_and(|rest| rest.silences(is_restless, at)) {
        return;
    }
    let skipped = rest.and_then(|rest| rest.skipped_at(is_restless, at));
    let cover = |read: &[usize], draft: &mut Draft<'_>| cover(windows, read, at, draft);
    query.report(label, cover, skipped, dictionary);
}

/// Writes the extents of these windows at the instant.
#[inline]
pub(super) fn cover(windows: &[Window], read: &[usize], at: Timestamp, draft: &mut Draft<'_>) {
    read.iter().for_each(|window| draft.cover(windows[*window].reported(at)));
}

/// Whether the content differs: in a set, a copy of a triple changes nothing.
fn has_changed(window: &Window, taken: Taken, is_set: bool) -> bool {
    if is_set { window.set_changed() } else { taken.arrived || taken.expired }
}

/// A condition costs each query that reads the leaf the same.
fn fail_readers(leaf: &Leaf, breach: Breach, queries: &mut [Option<RunningQuery>], touched: &mut Touched) {
    for reader in &leaf.readers {
        touched.add(reader.query);
        if let Some(query) = &mut queries[reader.query.at()] {
            query.fail(breach.into());
        }
    }
}

pub(super) fn surroundings<'a>(
    leaves: &'a [Leaf],
    windows: &'a [Window],
    context: &'a mut TimelineContext<'_>,
    now: Timestamp,
) -> Surroundings<'a> {
    let TimelineContext { dictionary, graphs, search, .. } = context;
    Surroundings { dictionary, leaves, windows, graphs, search, now }
}
