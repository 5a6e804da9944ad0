//! One instant: windows, then leaves, then queries; every change is joined with the exact state of
//! everything else, and what must be reported is reported before time moves on.

use super::query::{RunningQuery, Surroundings};
use super::stopwatch::Timing;
use super::timeline::{Timeline, Workshop};
use crate::expr::EvalContext;
use crate::index::{Moved, SlotId};
use crate::leaf::{Leaf, Reader};
use crate::limits::Breach;
use crate::parse::{Bounds, ContentSemantics};
use crate::rare::Rare;
use crate::sink::Skipped;
use crate::time::{Span, Timestamp};
use crate::window::{Phase, Taken, Window};

impl Timeline {
    /// Reads an instant; `skipped` are the ones before it that were passed over for being like it.
    pub(super) fn read(&mut self, at: Timestamp, phase: Phase, skipped: Option<Skipped>, workshop: &mut Workshop<'_>) {
        let mut timing = self.meter.begin(phase, workshop.stopwatch);
        // 1. Windows: what arrives, what expires, and whether that is to be reported.
        self.taken.clear();
        for (number, window) in self.windows.iter_mut().enumerate() {
            if let Some(taken) = window.read(at, phase) {
                self.taken.push((number, taken));
            }
        }
        let reporting = self.reports(at, phase) || skipped.is_some();
        // 2. Leaves: match and renew, expire, arrive.
        self.match_arrivals(at, workshop);
        for i in 0..self.taken.len() {
            let (window, taken) = self.taken[i];
            if taken.expired {
                self.expire(window, taken.bound, at, reporting, workshop);
            }
        }
        for i in 0..self.taken.len() {
            let (window, taken) = self.taken[i];
            if taken.arrived {
                self.arrive(window, at, workshop);
            }
        }
        self.share_out(&mut timing);
        // 3. Queries: settle the instant and report.
        let now = self.label(at, phase);
        for number in 0..self.queries.len() {
            self.settle(number, now, workshop);
            if reporting {
                self.report(number, at, phase, skipped, workshop);
            }
            let work = self.work_of(number, &timing);
            self.close_evaluation(number);
            if let (Some(work), Some(query)) = (work, &mut self.queries[number]) {
                timing.close(work, &mut query.time);
            }
        }
        self.meter.end(&timing);
        if self.thresholds.checks {
            self.check();
        }
        self.changed &= !reporting;
        let closed =
            phase == Phase::Close && self.taken.iter().any(|(window, _)| self.windows[*window].rule().is_stepping());
        let moved = closed || self.has_moved();
        self.unreported = !reporting && (self.unreported || moved);
    }

    /// Panics where a structure disagrees with a recount of what it stands for.
    fn check(&self) {
        self.leaves.iter().for_each(|leaf| leaf.store.check());
        self.queries.iter().flatten().for_each(|query| query.check(&self.leaves));
    }

    /// What was measured so far all queries did together: each has its part by the work it did.
    fn share_out(&mut self, timing: &mut Timing<'_>) {
        let Some(ns) = timing.lap_ns() else { return };
        let whole = self.queries.iter().flatten().filter_map(RunningQuery::work).sum();
        for query in self.queries.iter_mut().flatten() {
            if let Some(work) = query.work() {
                query.time.share(ns, work, whole);
            }
        }
    }

    /// What a query has done at this instant, for its time.
    fn work_of(&self, number: usize, timing: &Timing<'_>) -> Option<u64> {
        self.queries[number].as_ref().filter(|_| timing.is_wanted()).and_then(RunningQuery::work)
    }

    fn reports(&mut self, at: Timestamp, phase: Phase) -> bool {
        let report = &self.key.report;
        let is_set = self.key.semantics == ContentSemantics::Set;
        let mut windows = self.taken.iter().map(|(window, taken)| (&self.windows[*window], *taken));
        if report.change {
            self.changed |= windows.clone().any(|(window, taken)| has_changed(window, taken, is_set));
        }
        let closes = windows.any(|(window, taken)| match phase {
            Phase::Close => window.rule().is_stepping(),
            Phase::Tick | Phase::Period => taken.arrived,
        });
        // Neither close nor change: every read, unless a period says which.
        let by_itself = || report.close || report.change || report.periodic.is_none() || phase == self.period_phase();
        let label = self.label(at, phase);
        let in_period = |period: Span| label.as_millis().rem_euclid(period.as_millis()) == 0;
        let nonempty = || self.windows.iter().any(|window| !window.is_empty());
        (!report.close || closes)
            && (!report.change || self.changed)
            && by_itself()
            && (!report.nonempty || nonempty())
            && report.periodic.is_none_or(in_period)
    }

    /// The instant under which a read is reported: a close carries the end of its window.
    pub(super) fn label(&self, read_at: Timestamp, phase: Phase) -> Timestamp {
        match (phase, self.key.bounds) {
            (Phase::Close, Bounds::ClosedOpen) => read_at.next(),
            _ => read_at,
        }
    }

    fn match_arrivals(&mut self, now: Timestamp, workshop: &mut Workshop<'_>) {
        self.leaves_incoming = 0;
        let eval = &mut EvalContext { dictionary: workshop.dictionary, now, scratch: &mut self.scratch };
        let arrived = self.taken.iter().filter(|(_, taken)| taken.arrived);
        for (window, _) in arrived {
            for arrival in self.windows[*window].arrivals() {
                for triple in arrival.triples() {
                    for leaf in self.places[*window].routes.leaves(triple[1]) {
                        let leaf = &mut self.leaves[leaf.0 as usize];
                        let before = leaf.n_incoming();
                        if let Err(breach) = leaf.offer(triple, &arrival.element, arrival.expiry_key, eval) {
                            fail_readers(leaf, breach, &mut self.queries);
                        }
                        self.leaves_incoming += usize::from(before == 0 && leaf.n_incoming() > 0);
                    }
                }
            }
        }
    }

    fn expire(&mut self, window: usize, bound: i64, at: Timestamp, reporting: bool, workshop: &mut Workshop<'_>) {
        for i in 0..self.places[window].leaves.len() {
            let leaf = self.places[window].leaves[i];
            if self.leaves[leaf].store.expires_whole(bound) && self.turn_over(leaf) {
                continue;
            }
            while let Some(slot) = self.leaves[leaf].store.next_expired(bound) {
                if let Some(moved) = self.leaves[leaf].store.move_if_renewed(slot, bound) {
                    self.relocate(leaf, moved);
                } else {
                    self.retract(leaf, slot, at, reporting, workshop);
                    self.leaves[leaf].store.kill(slot);
                }
            }
        }
    }

    /// All mappings of a leaf go: a tumbling window has moved on. Each result of a join has one of them in it, so that
    /// all results go too, and whoever keeps something of them forgets it. False, and nothing has happened, when a
    /// reader must see them go one by one.
    fn turn_over(&mut self, leaf: usize) -> bool {
        let Self { leaves, queries, .. } = self;
        let forgets = |reader: &Reader| {
            let query = queries[reader.query as usize].as_ref();
            query.is_none_or(|query| query.forgetting_node(reader.node as usize).is_some())
        };
        if !leaves[leaf].readers.iter().all(forgets) {
            return false;
        }
        for reader in &leaves[leaf].readers {
            if let Some(query) = &mut queries[reader.query as usize] {
                query.guarded(|query| query.forget_results(reader.node as usize));
            }
        }
        leaves[leaf].store.clear();
        Rare::TurnedOver.note();
        true
    }

    fn relocate(&mut self, leaf: usize, moved: Moved) {
        for reader in &self.leaves[leaf].readers {
            if let Some(query) = &mut self.queries[reader.query as usize] {
                let leaves = &self.leaves;
                query.guarded(|query| query.relocate(reader.node as usize, reader.role as usize, moved, leaves));
            }
        }
    }

    fn retract(&mut self, leaf: usize, slot: SlotId, at: Timestamp, reporting: bool, workshop: &mut Workshop<'_>) {
        for i in 0..self.leaves[leaf].readers.len() {
            let reader = self.leaves[leaf].readers[i];
            let number = reader.query as usize;
            let returns = self.may_return(leaf, slot, reader.query);
            if let Some(query) = &mut self.queries[number] {
                // What was not reported when it came must not be reported after it has gone.
                let needed = !reporting || returns || query.has_unreported_rows();
                let around = &mut surroundings(&self.leaves, &self.windows, workshop, at);
                query.guarded(|query| query.expire(reader.node as usize, reader.role as usize, slot, needed, around));
            }
        }
    }

    /// Whether a result that goes with this mapping may come back at the same instant, so that the
    /// two must cancel. In a set it cannot: an equal mapping would have renewed this one. In a bag an equal mapping may
    /// arrive; and where some other buffer has arrivals, or this leaf is several buffers of the query, an equal result
    /// may be made of what is still there.
    fn may_return(&self, leaf: usize, slot: SlotId, query: u32) -> bool {
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
        let mut others = self.leaves.iter().enumerate().filter(|(number, _)| *number != leaf);
        self.leaves_incoming > usize::from(arrives) && others.any(|(_, other)| elsewhere(other))
    }

    fn arrive(&mut self, window: usize, at: Timestamp, workshop: &mut Workshop<'_>) {
        for i in 0..self.places[window].leaves.len() {
            let leaf = self.places[window].leaves[i];
            for incoming in 0..self.leaves[leaf].n_incoming() {
                let Some(slot) = self.leaves[leaf].arrive(incoming) else { continue };
                for reader in &self.leaves[leaf].readers {
                    if let Some(query) = &mut self.queries[reader.query as usize] {
                        let around = &mut surroundings(&self.leaves, &self.windows, workshop, at);
                        query.guarded(|query| query.arrive(reader.node as usize, reader.role as usize, slot, around));
                    }
                }
            }
            self.leaves[leaf].clear_incoming();
        }
    }

    pub(super) fn settle(&mut self, number: usize, now: Timestamp, workshop: &mut Workshop<'_>) {
        if let Some(query) = &mut self.queries[number] {
            let around = &mut surroundings(&self.leaves, &self.windows, workshop, now);
            query.guarded(|query| query.settle(around));
        }
    }

    /// The evaluation is over: the query's budget is filled again, unless it has failed; then what it held is let go.
    pub(super) fn close_evaluation(&mut self, number: usize) {
        let Self { queries, leaves, windows, .. } = self;
        let Some(query) = &mut queries[number] else { return };
        query.guarded(|query| query.close_evaluation(leaves, windows));
        if query.holds_remains() {
            self.release(number);
            self.end_if_all_failed();
            self.has_let_go = true;
        }
    }

    fn report(
        &mut self,
        number: usize,
        at: Timestamp,
        phase: Phase,
        skipped: Option<Skipped>,
        workshop: &mut Workshop<'_>,
    ) {
        let label = self.label(at, phase);
        let Self { windows, queries, .. } = self;
        let Some(query) = &mut queries[number] else { return };
        let bounds = |read: &[usize]| read.iter().map(|window| windows[*window].reported(at)).collect();
        query.guarded(|query| query.report(label, bounds, skipped, workshop.dictionary));
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

/// Whether the content differs: in a set, a copy of a triple changes nothing.
fn has_changed(window: &Window, taken: Taken, is_set: bool) -> bool {
    if is_set { window.set_changed() } else { taken.arrived || taken.expired }
}

/// A condition costs each of its readers the same.
fn fail_readers(leaf: &Leaf, breach: Breach, queries: &mut [Option<RunningQuery>]) {
    for reader in &leaf.readers {
        if let Some(query) = &mut queries[reader.query as usize] {
            query.fail(breach.into());
        }
    }
}

fn surroundings<'a>(
    leaves: &'a [Leaf],
    windows: &'a [Window],
    workshop: &'a mut Workshop<'_>,
    now: Timestamp,
) -> Surroundings<'a> {
    Surroundings { dictionary: workshop.dictionary, leaves, windows, graphs: workshop.graphs, now }
}
