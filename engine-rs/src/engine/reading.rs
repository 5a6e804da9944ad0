//! One instant: windows, then leaves, then queries; every change is joined with the exact state of
//! everything else, and what must be reported is reported before time moves on.

use super::query::{RunningQuery, Surroundings};
use super::timeline::{Timeline, Workshop};
use crate::index::SlotId;
use crate::leaf::Leaf;
use crate::parse::ContentSemantics;
use crate::sink::WindowBounds;
use crate::time::{Span, Timestamp};
use crate::window::{Phase, Taken, Window};

impl Timeline {
    pub(super) fn read(&mut self, at: Timestamp, phase: Phase, workshop: &mut Workshop<'_>) {
        // 1. Windows: what arrives, what expires.
        for (number, window) in self.windows.iter_mut().enumerate() {
            let used = !self.places[number].queries.is_empty();
            self.taken[number] = if used { window.read(at, phase) } else { None };
        }
        // 2. Which queries report, so that leaves know which retractions matter.
        for number in 0..self.queries.len() {
            self.reporting[number] = self.queries[number].as_ref().is_some_and(|query| self.reports(query, at, phase));
        }
        // 3. Leaves: match and renew, expire, arrive.
        self.match_arrivals();
        for number in 0..self.windows.len() {
            if let Some(taken) = self.taken[number].filter(|taken| taken.expired) {
                self.expire(number, taken.bound, at, workshop);
            }
        }
        for number in 0..self.windows.len() {
            if self.taken[number].is_some_and(|taken| taken.arrived) {
                self.arrive(number, at, workshop);
            }
        }
        // 4. Queries: settle the instant and report.
        for number in 0..self.queries.len() {
            if self.reporting[number] || self.is_touched(number) {
                self.settle(number, at, workshop);
            }
            if self.reporting[number] {
                self.report(number, at, phase, workshop);
            }
        }
    }

    fn is_touched(&self, query: usize) -> bool {
        let moved = |window: &usize| self.taken[*window].is_some_and(|taken| taken.arrived || taken.expired);
        self.queries[query].as_ref().is_some_and(|query| query.windows.iter().any(moved))
    }

    fn reports(&self, query: &RunningQuery, at: Timestamp, phase: Phase) -> bool {
        let report = &self.key.report;
        let mut windows = query.windows.iter().filter_map(|w| self.taken[*w].map(|taken| (&self.windows[*w], taken)));
        let due = if report.change {
            windows.any(|(window, taken)| has_changed(query, window, taken))
        } else if report.close {
            windows.any(|(window, taken)| match phase {
                Phase::Close => window.rule().is_stepping(),
                Phase::Tick => taken.arrived,
            })
        } else {
            // Neither close nor change: every read, unless a period says which.
            report.periodic.is_none() || phase == Phase::Close
        };
        let label = query.label(at, phase == Phase::Close);
        let in_period = |period: Span| label.as_millis().rem_euclid(period.as_millis()) == 0;
        let nonempty = || query.windows.iter().any(|w| !self.windows[*w].is_empty());
        due && (!report.nonempty || nonempty()) && report.periodic.is_none_or(in_period)
    }

    fn match_arrivals(&mut self) {
        for ((window, place), taken) in self.windows.iter().zip(&self.places).zip(&self.taken) {
            if !taken.is_some_and(|taken| taken.arrived) {
                continue;
            }
            for arrival in window.arrivals() {
                for triple in arrival.triples() {
                    for leaf in place.routes.leaves(triple[1]) {
                        self.leaves[leaf.0 as usize].offer(triple, arrival.expiry_key);
                    }
                }
            }
        }
    }

    fn expire(&mut self, window: usize, bound: i64, at: Timestamp, workshop: &mut Workshop<'_>) {
        for i in 0..self.places[window].leaves.len() {
            let leaf = self.places[window].leaves[i];
            while let Some(slot) = self.leaves[leaf].store.next_expired(bound) {
                if let Some(moved) = self.leaves[leaf].store.move_if_renewed(slot, bound) {
                    self.relocate(leaf, slot, moved);
                } else {
                    self.retract(leaf, slot, at, workshop);
                    self.leaves[leaf].store.kill(slot);
                }
            }
        }
    }

    fn relocate(&mut self, leaf: usize, from: SlotId, to: SlotId) {
        for reader in &self.leaves[leaf].readers {
            if let Some(query) = &mut self.queries[reader.query as usize] {
                query.relocate(reader.node as usize, reader.role as usize, from, to, &self.leaves);
            }
        }
    }

    fn retract(&mut self, leaf: usize, slot: SlotId, at: Timestamp, workshop: &mut Workshop<'_>) {
        for i in 0..self.leaves[leaf].readers.len() {
            let reader = self.leaves[leaf].readers[i];
            let number = reader.query as usize;
            let needed = !self.reporting[number] || self.may_return(leaf, slot, reader.query);
            if let Some(query) = &mut self.queries[number] {
                let around = &mut surroundings(&self.leaves, &self.windows, workshop, at);
                query.expire(reader.node as usize, reader.role as usize, slot, needed, around);
            }
        }
    }

    /// Whether a result that goes with this mapping may come back at the same instant, so that the
    /// two must cancel. In a set it cannot: an equal mapping would have renewed this one.
    fn may_return(&self, leaf: usize, slot: SlotId, query: u32) -> bool {
        if self.semantics[leaf] == ContentSemantics::Set {
            return false;
        }
        let elsewhere = |other: &Leaf| other.n_incoming() > 0 && other.readers.iter().any(|r| r.query == query);
        let others = self.leaves.iter().enumerate().filter(|(number, _)| *number != leaf);
        self.leaves[leaf].is_incoming(slot) || others.into_iter().any(|(_, other)| elsewhere(other))
    }

    fn arrive(&mut self, window: usize, at: Timestamp, workshop: &mut Workshop<'_>) {
        for i in 0..self.places[window].leaves.len() {
            let leaf = self.places[window].leaves[i];
            for incoming in 0..self.leaves[leaf].n_incoming() {
                let Some(slot) = self.leaves[leaf].arrive(incoming) else { continue };
                for reader in &self.leaves[leaf].readers {
                    if let Some(query) = &mut self.queries[reader.query as usize] {
                        let around = &mut surroundings(&self.leaves, &self.windows, workshop, at);
                        query.arrive(reader.node as usize, reader.role as usize, slot, around);
                    }
                }
            }
            self.leaves[leaf].clear_incoming();
        }
    }

    pub(super) fn settle(&mut self, number: usize, at: Timestamp, workshop: &mut Workshop<'_>) {
        if let Some(query) = &mut self.queries[number] {
            query.settle(&mut surroundings(&self.leaves, &self.windows, workshop, at));
        }
    }

    fn report(&mut self, number: usize, at: Timestamp, phase: Phase, workshop: &mut Workshop<'_>) {
        let Some(query) = &mut self.queries[number] else { return };
        let label = query.label(at, phase == Phase::Close);
        let clauses = query.definition.windows.iter().zip(&query.windows);
        let bounds = clauses.map(|(clause, window)| {
            let reported = self.windows[*window].reported(at);
            WindowBounds { name: clause.name.clone(), open: reported.open, close: reported.close }
        });
        let bounds = bounds.collect();
        query.report(label, bounds, workshop.dictionary);
    }
}

/// Whether the content differs: in a set, a copy of a triple changes nothing.
fn has_changed(query: &RunningQuery, window: &Window, taken: Taken) -> bool {
    match query.definition.semantics {
        ContentSemantics::Bag => taken.arrived || taken.expired,
        ContentSemantics::Set => window.set_changed(),
    }
}

fn surroundings<'a>(leaves: &'a [Leaf], windows: &'a [Window], workshop: &'a mut Workshop<'_>, now: Timestamp) -> Surroundings<'a> {
    Surroundings { dictionary: workshop.dictionary, leaves, windows, graphs: workshop.graphs, now }
}
