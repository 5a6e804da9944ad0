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

use super::place::WindowPlace;
use super::query::{RunningQuery, Surroundings};
use super::quiet::Rest;
use super::stopwatch::Timing;
use super::timeline::{Timeline, TimelineContext};
use super::touched::Touched;
use crate::encode::Dictionary;
use crate::expr::EvalContext;
use crate::index::{Moved, SlotId};
use crate::leaf::{Leaf, LeafId, QueryPlace, Reader};
use crate::limits::Breach;
use crate::model::EncodedTriple;
use crate::parse::{Bounds, ContentSemantics};
use crate::rare::Rare;
use crate::sink::Draft;
use crate::time::{Span, Timestamp};
use crate::window::{Element, Phase, Taken, Window};
use smallvec::SmallVec;

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

    /// Reads an event as it comes, when no window but this one moves and this one [admits it
    /// directly](Window::admits_directly).
    pub(super) fn read_event(
        &mut self,
        window: usize,
        element: &Element,
        at: Timestamp,
        context: &mut TimelineContext<'_>,
    ) {
        Rare::AdmittedDirectly.note();
        let timing = self.meter.begin(Phase::Tick, context.stopwatch);
        let (expiry_key, taken) = self.windows[window].admit(element, at);
        self.taken.clear();
        self.taken.push((window, taken));
        let instant = Instant { at, phase: Phase::Tick, rest: None };
        self.read_taken(instant, Some((element, expiry_key)), timing, context);
    }

    /// Steps 2 and 3 of an instant. `event` is what arrives with its expiry key, if it is not among the arrivals of the
    /// windows.
    fn read_taken(
        &mut self,
        instant: Instant,
        event: Option<(&Element, i64)>,
        mut timing: Timing<'_>,
        context: &mut TimelineContext<'_>,
    ) -> bool {
        let Instant { at, phase, rest } = instant;
        let reporting = self.reports(at, phase);
        // 2. Leaves: match and renew, expire, arrive.
        self.match_arrivals(event, at, context);
        for i in 0..self.taken.len() {
            let (window, taken) = self.taken[i];
            if taken.expired {
                self.expire(window, taken.bound, at, reporting, context);
            }
        }
        for i in 0..self.taken.len() {
            let (window, taken) = self.taken[i];
            if taken.arrived {
                self.arrive(window, at, context);
            }
        }
        let visited = self.begin_rounds(reporting, context.graphs.version());
        self.attribute_time(&visited, &mut timing);
        // 3. Queries: settle the deltas of the instant and report.
        let now = self.label(at, phase);
        let report = reporting.then_some(Reporting { at, label: now, rest });
        for place in &visited {
            self.evaluate(place.at(), now, report, context);
            let work = self.work_of(place.at(), &timing);
            self.close_evaluation(place.at(), context);
            if let (Some(work), Some(query)) = (work, &mut self.queries[place.at()]) {
                timing.close(work, &mut query.time);
            }
        }
        self.end_rounds(visited, reporting);
        self.meter.end(&timing);
        if self.thresholds.checks {
            self.check();
        }
        self.changed &= !reporting;
        let closed =
            phase == Phase::Close && self.taken.iter().any(|(window, _)| self.windows[*window].rule().is_stepping());
        let moved = closed || self.has_moved();
        self.unreported = !reporting && (self.unreported || moved);
        reporting
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
    fn end_rounds(&mut self, visited: Vec<QueryPlace>, reporting: bool) {
        let Self { rounds, queries, .. } = self;
        rounds.n_reports += u64::from(reporting);
        for place in &visited {
            let Some(query) = &mut queries[place.at()] else { continue };
            if reporting {
                query.begin_count(rounds.n_reports);
            }
            // Also at an instant that is reported: one report may stand for the rest of a stretch.
            if query.failed.is_none() && !query.has_said_all() {
                rounds.owing.add(*place);
            }
        }
        rounds.touched.reuse(visited);
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
            assert!(query.tells_always() || query.has_said_all() || waits, "what is to be said waits to be said");
        }
    }

    /// Attributes the time measured so far, which all queries spent together, to each in proportion to its work.
    fn attribute_time(&mut self, visited: &[QueryPlace], timing: &mut Timing<'_>) {
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
    fn work_of(&self, number: usize, timing: &Timing<'_>) -> Option<u64> {
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

    fn match_arrivals(&mut self, event: Option<(&Element, i64)>, now: Timestamp, context: &mut TimelineContext<'_>) {
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

    fn expire(&mut self, window: usize, bound: i64, at: Timestamp, reporting: bool, context: &mut TimelineContext<'_>) {
        let Some(first) = self.places[window].dues.next_below(bound, &mut self.leaves) else { return };
        let Some(second) = self.places[window].dues.next_below(bound, &mut self.leaves) else {
            return self.expire_leaf(first, bound, at, reporting, context);
        };
        let expiring = self.places[window].take_expiring([first, second], bound, &mut self.leaves);
        for id in &expiring {
            self.expire_leaf(*id, bound, at, reporting, context);
        }
        self.places[window].reuse_expiring(expiring);
    }

    fn expire_leaf(
        &mut self,
        id: LeafId,
        bound: i64,
        at: Timestamp,
        reporting: bool,
        context: &mut TimelineContext<'_>,
    ) {
        self.rounds.n_visits += 1;
        let leaf = id.at();
        if !self.leaves[leaf].store.expires_whole(bound) || !self.expire_all(leaf) {
            while let Some(slot) = self.leaves[leaf].store.next_expired(bound) {
                if let Some(moved) = self.leaves[leaf].store.move_if_renewed(slot, bound) {
                    self.relocate(leaf, moved);
                } else {
                    self.retract(leaf, slot, at, reporting, context);
                    self.leaves[leaf].store.kill(slot);
                }
            }
        }
        let leaf = &mut self.leaves[leaf];
        self.places[leaf.window].dues.note_first(id, leaf);
    }

    /// Expires all mappings of a leaf at once, when a tumbling window has moved on. Every result of a join contains one
    /// of them, so all results go too, and operators above forget what they derived. Returns false, without any effect,
    /// if some reader must see each retraction.
    fn expire_all(&mut self, leaf: usize) -> bool {
        let Self { leaves, queries, rounds, .. } = self;
        let forgets = |reader: &Reader| {
            let query = queries[reader.query.at()].as_ref();
            query.is_none_or(|query| query.forgetting_node(reader.node as usize).is_some())
        };
        if !leaves[leaf].readers.iter().all(forgets) {
            return false;
        }
        for reader in &leaves[leaf].readers {
            rounds.touched.add(reader.query);
            if let Some(query) = &mut queries[reader.query.at()] {
                query.guarded(|query| query.forget_results(reader.node as usize));
            }
        }
        leaves[leaf].store.clear();
        Rare::TurnedOver.note();
        true
    }

    fn relocate(&mut self, leaf: usize, moved: Moved) {
        for reader in &self.leaves[leaf].readers {
            if let Some(query) = &mut self.queries[reader.query.at()] {
                let leaves = &self.leaves;
                query.guarded(|query| query.relocate(reader.node as usize, reader.role as usize, moved, leaves));
                if query.failed.is_some() {
                    self.rounds.touched.add(reader.query);
                }
            }
        }
    }

    fn retract(
        &mut self,
        leaf: usize,
        slot: SlotId,
        at: Timestamp,
        reporting: bool,
        context: &mut TimelineContext<'_>,
    ) {
        let concerned: SmallVec<[Reader; 4]> = self.leaves[leaf].concerned(slot).collect();
        for reader in concerned {
            self.rounds.touched.add(reader.query);
            let Some(query) = &self.queries[reader.query.at()] else { continue };
            // What was never reported must not be reported after it has gone.
            let is_needed = || !reporting || query.has_unreported_rows() || self.may_return(leaf, slot, reader.query);
            if reader.retracts_on_demand && !is_needed() {
                continue;
            }
            if let Some(query) = &mut self.queries[reader.query.at()] {
                let around = &mut surroundings(&self.leaves, &self.windows, context, at);
                query.guarded(|query| query.expire(reader.node as usize, reader.role as usize, slot, around));
            }
        }
    }

    /// Whether a result that goes with this mapping may come back at the same instant, so that the two must cancel. In
    /// a set it cannot: an equal mapping would have renewed this one. In a bag an equal mapping may arrive. And if
    /// another buffer has arrivals, or if this leaf plays several roles in the query, other mappings may produce an
    /// equal result.
    fn may_return(&self, leaf: usize, slot: SlotId, query: QueryPlace) -> bool {
        if self.key.semantics == ContentSemantics::Set {
            return false;
        }
        let own = &self.leaves[leaf];
        let arrives = own.n_incoming() > 0;
        let is_reader = |reader: &&Reader| reader.query == query;
        if arrives && (own.may_be_incoming(slot) || own.readers.iter().filter(is_reader).nth(1).is_some()) {
            return true;
        }
        let elsewhere = |other: &Leaf| other.n_incoming() > 0 && other.readers.iter().any(|r| r.query == query);
        let mut others = self.places.iter().flat_map(|place| &place.offered).filter(|other| other.at() != leaf);
        self.leaves_incoming > usize::from(arrives) && others.any(|other| elsewhere(&self.leaves[other.at()]))
    }

    fn arrive(&mut self, window: usize, at: Timestamp, context: &mut TimelineContext<'_>) {
        let offered = self.places[window].take_offered(&self.leaves);
        self.rounds.n_visits += offered.len() as u64;
        for id in &offered {
            for incoming in 0..self.leaves[id.at()].n_incoming() {
                self.arrive_one(window, *id, incoming, at, context);
            }
            self.leaves[id.at()].clear_incoming();
        }
        self.places[window].reuse_offered(offered);
    }

    fn arrive_one(
        &mut self,
        window: usize,
        id: LeafId,
        incoming: usize,
        at: Timestamp,
        context: &mut TimelineContext<'_>,
    ) {
        let leaf = &mut self.leaves[id.at()];
        let Some((slot, expiry_key)) = leaf.arrive(incoming) else { return };
        self.places[window].dues.note(id, leaf, expiry_key);
        for reader in self.leaves[id.at()].concerned(slot) {
            self.rounds.touched.add(reader.query);
            if let Some(query) = &mut self.queries[reader.query.at()] {
                let around = &mut surroundings(&self.leaves, &self.windows, context, at);
                query.guarded(|query| query.arrive(reader.node as usize, reader.role as usize, slot, around));
            }
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
            self.release(number);
            self.end_if_all_failed();
            *context.interests_stale = true;
        }
    }

    /// Whether the last reading has changed what some window shows.
    fn has_moved(&self) -> bool {
        self.taken.iter().any(|(_, taken)| taken.arrived || taken.expired)
    }

    /// Whether nothing arrived at the last reading, and what is in view is what was, or nothing.
    pub(super) fn was_quiet(&self) -> bool {
        let arrived = self.taken.iter().any(|(_, taken)| taken.arrived);
        !arrived && (!self.has_moved() || self.windows.iter().all(Window::is_empty))
    }
}

/// An instant that is read.
#[derive(Clone, Copy)]
struct Instant {
    at: Timestamp,
    phase: Phase,
    rest: Option<Rest>,
}

/// What triples that arrive are offered to.
struct Matching<'a, 'b> {
    leaves: &'a mut [Leaf],
    queries: &'a mut [Option<RunningQuery>],
    touched: &'a mut Touched,
    /// Leaves with mappings that arrive.
    n_incoming: usize,
    eval: EvalContext<'b>,
}

impl Matching<'_, '_> {
    #[inline]
    fn offer(&mut self, triple: &EncodedTriple, event: &Element, expiry_key: i64, bound: i64, place: &mut WindowPlace) {
        let WindowPlace { routes, offered, .. } = place;
        routes.each_leaf(triple, |id| {
            let leaf = &mut self.leaves[id.at()];
            if leaf.is_first_offer() {
                offered.push(id);
            }
            let before = leaf.n_incoming();
            if let Err(breach) = leaf.offer(triple, event, expiry_key, bound, &mut self.eval) {
                fail_readers(leaf, breach, self.queries, self.touched);
            }
            self.n_incoming += usize::from(before == 0 && leaf.n_incoming() > 0);
        });
    }
}

/// How an instant is reported.
#[derive(Clone, Copy)]
pub(super) struct Reporting {
    /// When it is read.
    at: Timestamp,
    label: Timestamp,
    /// It is in a stretch that one report stands for.
    rest: Option<Rest>,
}

fn report(query: &mut RunningQuery, reporting: Reporting, windows: &[Window], dictionary: &mut Dictionary) {
    let Reporting { at, label, rest } = reporting;
    let is_restless = rest.is_some() && query.is_restless();
    if rest.is_some_and(|rest| rest.silences(is_restless, at)) {
        return;
    }
    let skipped = rest.and_then(|rest| rest.skipped_at(is_restless, at));
    let cover = |read: &[usize], draft: &mut Draft<'_>| {
        read.iter().for_each(|window| draft.cover(windows[*window].reported(at)));
    };
    query.report(label, cover, skipped, dictionary);
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

fn surroundings<'a>(
    leaves: &'a [Leaf],
    windows: &'a [Window],
    context: &'a mut TimelineContext<'_>,
    now: Timestamp,
) -> Surroundings<'a> {
    Surroundings { dictionary: context.dictionary, leaves, windows, graphs: context.graphs, now }
}
