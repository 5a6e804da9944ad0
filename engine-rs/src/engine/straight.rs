//! The direct path through an instant, for a single triple that only one leaf matches.
//!
//! ```text
//!   event ─► window ─► match ─► expire ─► store and join ─► settle and report
//! ```
//!
//! Most instants of a busy stream are of this kind. The path performs the same steps in the same order as `reading.rs`,
//! but without lists of windows, leaves and queries, and, for a query that is a single join, without passing rows
//! between operators. As soon as an instant turns out to concern other queries, the general path completes it.

use super::expiring::Expiry;
use super::query::{Plain, RunningQuery, Surroundings};
use super::reading::{Matching, Reporting, cover, surroundings};
use super::stopwatch::Timing;
use super::timeline::{Rounds, Timeline, TimelineContext};
use crate::encode::Dictionary;
use crate::expr::{EvalContext, compare_rows};
use crate::index::SlotId;
use crate::leaf::{LeafId, Reader};
use crate::model::{Batch, EncodedTriple, TermId};
use crate::plan::NodeKind;
use crate::rare::Rare;
use crate::sink::{AnswerKind, Draft};
use crate::time::Timestamp;
use crate::window::{Element, Phase};
use smallvec::SmallVec;

impl Timeline {
    /// Reads an event that its window [admits directly](crate::window::Window::admits_directly), if this path can
    /// handle its instant; otherwise returns false without any effect.
    #[inline]
    pub(super) fn read_straight(
        &mut self,
        window: usize,
        element: &Element,
        at: Timestamp,
        context: &mut TimelineContext<'_>,
    ) -> bool {
        let [triple] = element.triples.as_slice() else { return false };
        // Without periods, every instant at which something arrives is reported.
        if self.key.report.periodic.is_some() || !self.rounds.are_calm(context.graphs.version()) {
            return false;
        }
        let Some(leaf) = self.places[window].routes.only_leaf(triple) else { return false };
        let Some(reader) = self.leaves[leaf.at()].lone_reader() else { return false };
        Rare::WentStraight.note();
        let timing = self.meter.begin(Phase::Tick, context.stopwatch);
        let (expiry_key, taken) = self.windows[window].admit(element, at);
        self.match_one(leaf, (triple, element), (expiry_key, taken.bound), at, context);
        if taken.expired {
            // A departing result may return with the arrivals, also through another leaf.
            self.places[window].offered.push(leaf);
            self.expire(window, Expiry { bound: taken.bound, at, reporting: true }, context);
            self.places[window].offered.clear();
        }
        let report = Reporting { at, label: self.label(at, Phase::Tick), rest: None };
        if let Some(plain) = self.concerns_plainly(reader) {
            self.arrive_plainly(leaf, (reader, plain), report, timing, context);
        } else {
            self.arrive_in(leaf, at, context);
            self.conclude(report.label, Some(report), timing, context);
        }
        (self.changed, self.unreported) = (false, false);
        true
    }

    fn match_one(
        &mut self,
        leaf: LeafId,
        (triple, event): (&EncodedTriple, &Element),
        bounds: (i64, i64),
        now: Timestamp,
        context: &mut TimelineContext<'_>,
    ) {
        let Self { leaves, queries, rounds, scratch, .. } = self;
        let eval = EvalContext { dictionary: context.dictionary, now, scratch };
        let mut matching = Matching { leaves, queries, touched: &mut rounds.touched, n_incoming: 0, eval };
        matching.offer_to(leaf, triple, event, bounds);
        self.leaves_incoming = matching.n_incoming;
    }

    /// Whether the instant concerns only this reader's query, whose results are exactly what its join emits from here
    /// on.
    #[inline]
    fn concerns_plainly(&self, reader: Reader) -> Option<Plain> {
        let query = self.queries[reader.query.at()].as_ref().filter(|_| self.rounds.touched.is_empty());
        query.and_then(RunningQuery::reports_plainly)
    }

    /// Stores the mapping that was offered to a leaf, and completes the instant for the only query it concerns.
    #[inline]
    fn arrive_plainly(
        &mut self,
        id: LeafId,
        (reader, plain): (Reader, Plain),
        report: Reporting,
        mut timing: Timing<'_>,
        context: &mut TimelineContext<'_>,
    ) {
        let Self { leaves, places, windows, queries, rounds, found, .. } = self;
        let leaf = &mut leaves[id.at()];
        let arrived = leaf.arrive_lone();
        if let Some((_, expiry_key)) = arrived {
            places[leaf.window].dues.note(id, leaf, expiry_key);
        }
        rounds.n_visits += 1;
        if let (Some((slot, _)), Some(query)) = (arrived, &mut queries[reader.query.at()]) {
            rounds.n_visits += 1;
            query.count_reports(rounds.n_reports);
            let around = &mut surroundings(leaves, windows, context, report.at);
            query.guarded(|query| {
                found.begin(plain.width);
                query.find_plainly(reader.role as usize, slot, found, around);
                query.has_all_of(timing.lap_ns());
                let cover = |read: &[usize], draft: &mut Draft<'_>| cover(windows, read, report.at, draft);
                query.report_plainly(report.label, (found, plain), cover, around.dictionary);
            });
            let work = self.work_of(reader.query.at(), &timing);
            self.close_evaluation(reader.query.at(), context);
            if let (Some(work), Some(query)) = (work, &mut self.queries[reader.query.at()]) {
                timing.close(work, &mut query.time);
            }
        } else {
            timing.lap_ns();
        }
        self.rounds.n_reports += 1;
        if let (Some(_), Some(query)) = (arrived, &mut self.queries[reader.query.at()]) {
            query.begin_count(self.rounds.n_reports);
        }
        self.end_instant(&timing);
    }
}

impl RunningQuery {
    /// Set if the new rows of its only join are its results. Unless the query was touched, there are none yet.
    #[inline]
    fn reports_plainly(&self) -> Option<Plain> {
        self.plain.filter(|_| self.output.is_none() && self.failed.is_none())
    }

    /// Joins a mapping that has arrived in its only join.
    #[inline]
    fn find_plainly(&mut self, role: usize, slot: SlotId, found: &mut Batch, around: &mut Surroundings<'_>) {
        debug_assert!(self.outs[0].is_empty() && !self.has_unreported_rows(), "nobody has touched it");
        if let NodeKind::Join(join) = &mut self.nodes[0].kind {
            join.arrive(role, slot, found, &mut around.flow(&mut self.scratch));
        }
    }

    /// The time measured so far, if any, belongs to this query alone.
    #[inline]
    fn has_all_of(&mut self, lap_ns: Option<u64>) {
        if let (Some(ns), Some(work)) = (lap_ns, self.work()) {
            self.time.share(ns, work, work);
        }
    }

    /// Settles and reports, like [`RunningQuery::settle`] and [`RunningQuery::report`].
    #[inline]
    fn report_plainly(
        &mut self,
        at: Timestamp,
        (rows, plain): (&Batch, Plain),
        cover: impl FnOnce(&[usize], &mut Draft<'_>),
        dictionary: &Dictionary,
    ) {
        let Self { nodes, results, scratch, windows, .. } = self;
        self.settled_version = Some(0);
        self.evaluations += 1;
        if rows.is_empty() {
            return;
        }
        nodes[0].emitted += rows.len() as u64;
        scratch.budget.spend_rows(rows.len(), plain.work);
        scratch.budget.admit_result(rows.len() as u64);
        let mut draft = results.draft(plain.width);
        if rows.len() == 1 {
            draft.insert(rows.row(0));
        } else {
            let mut sorted: SmallVec<[&[TermId]; 8]> = rows.iter().map(|(row, _)| row).collect();
            sorted.sort_unstable_by(|a, b| compare_rows(a, b, dictionary));
            sorted.into_iter().for_each(|row| draft.insert(row));
        }
        cover(windows, &mut draft);
        draft.add(AnswerKind::Bindings, at, None);
    }
}

impl Rounds {
    /// Whether only queries with changed inputs have to be visited.
    #[inline]
    fn are_calm(&self, version: u64) -> bool {
        self.seen_version == Some(version)
            && self.restless.is_empty()
            && self.telling.is_empty()
            && self.touched.is_empty()
            && self.owing.is_empty()
    }
}
