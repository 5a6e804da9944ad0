//! Folds the events of stepping windows as they arrive, so that little is left to do when a window closes.
//!
//! ```text
//!    events     · · · · · · · · · · · ·
//!    folded     ├──────┤├──────┤├──────┤         leaf ─► join ─► … ─► accumulators of groups
//!    close                             ●         changed groups ─► … ─► report
//! ```
//!
//! Nothing reads the content of a window between two closes. If everything that reads it ends in groups, which keep the
//! values they have shown apart from their accumulators, a mapping may be added before the close that first shows it,
//! and removed before the close that hides it: the sums at the close are the same. A tumbling window drops all its
//! mappings at once, before the first event of the next window arrives. If windows overlap, two mappings are removed
//! with each arrival, until none is left to remove.
//!
//! Cost: folding is charged to the event that triggers it; a close takes time for the groups that have changed, and for
//! fewer than `folded_min` events that are not folded yet.

use super::expiring::Expiry;
use super::reading::surroundings;
use super::timeline::{Timeline, TimelineContext};
use crate::leaf::{LeafId, Reader};
use crate::parse::{Report, Tick};
use crate::rare::Rare;
use crate::window::{Ahead, Phase, Taken};

impl Timeline {
    /// Called with each event: folds the events that wait for the next close, once there are many.
    #[inline]
    pub(super) fn fold_ahead(&mut self, context: &mut TimelineContext<'_>) {
        let [window] = self.windows.as_mut_slice() else { return };
        if self.folds == Some(false) {
            return;
        }
        if self.folds.is_none() {
            self.folds = Some(self.may_fold());
            return self.fold_ahead(context);
        }
        if let Some(ahead) = window.hand_out_ahead(self.thresholds.folded_min) {
            self.fold(ahead, context);
        }
    }

    /// Whether nothing reads the only window between two closes, and all its readers accept deltas there.
    fn may_fold(&self) -> bool {
        let [window] = self.windows.as_slice() else { return false };
        let Report { close, change, periodic, nonempty: _ } = self.key.report;
        let only_closes = close && !change && periodic.is_none() && self.key.tick == Tick::Time;
        let tumbles = window.tumbles();
        let folds = |reader: &Reader| {
            let query = self.queries[reader.query.at()].as_ref().filter(|query| query.failed.is_none());
            query.is_none_or(|query| query.folds(reader.node as usize, tumbles))
        };
        only_closes && window.hands_out_ahead() && self.leaves.iter().all(|leaf| leaf.readers.iter().all(folds))
    }

    fn fold(&mut self, ahead: Ahead, context: &mut TimelineContext<'_>) {
        Rare::FoldedAhead.note();
        let Ahead { bound, is_first } = ahead;
        let at = self.clock;
        let mut timing = self.meter.begin(Phase::Tick, context.stopwatch);
        // With many queries there are many waiting events; here the events are only passed on.
        std::mem::swap(&mut self.rounds.touched, &mut self.rounds.folding);
        let tumbles = self.windows[0].tumbles();
        if tumbles && is_first {
            self.expire(0, Expiry { bound, at, reporting: false }, context);
        }
        self.taken.clear();
        self.taken.push((0, Taken { bound, arrived: true, expired: false }));
        self.match_arrivals(None, at, context);
        if !tumbles {
            self.expire_ahead(bound, context);
        }
        self.arrive(0, at, context);
        self.taken.clear();
        let visited = self.rounds.touched.take();
        std::mem::swap(&mut self.rounds.touched, &mut self.rounds.folding);
        visited.iter().for_each(|place| self.rounds.touched.add(*place));
        self.attribute_time(&visited, &mut timing);
        for place in &visited {
            let Self { leaves, windows, queries, rounds, .. } = self;
            if let Some(query) = &mut queries[place.at()] {
                // A query may fail here and is then not asked again.
                query.count_reports(rounds.n_reports);
                let around = &mut surroundings(leaves, windows, context, at);
                query.guarded(|query| query.fold(around));
            }
            let work = self.work_of(place.at(), &timing);
            self.close_evaluation(place.at(), context);
            if let (Some(work), Some(query)) = (work, &mut self.queries[place.at()]) {
                timing.close(work, &mut query.time);
            }
        }
        self.rounds.folding.reuse(visited);
        self.meter.end(&timing);
    }

    /// Each arrival removes two mappings that the next close will hide.
    fn expire_ahead(&mut self, bound: i64, context: &mut TimelineContext<'_>) {
        let triples: usize = self.windows[0].arrivals().iter().map(|arrival| arrival.triples().len()).sum();
        let coming: usize = self.places[0].offered.iter().map(|id| self.leaves[id.at()].n_incoming()).sum();
        let mut left = 2 * triples.max(coming);
        let expiry = Expiry { bound, at: self.clock, reporting: false };
        let mut visited = Vec::new();
        while left > 0 {
            let Some(id) = self.places[0].dues.next_below(bound, &mut self.leaves) else { break };
            visited.push(id);
            while left > 0 {
                let Some(slot) = self.leaves[id.at()].store.next_expired(bound) else { break };
                Rare::ExpiredAhead.note();
                self.expire_one(id.at(), slot, expiry, context);
                left -= 1;
            }
        }
        visited.into_iter().for_each(|id: LeafId| self.places[0].dues.note_first(id, &mut self.leaves[id.at()]));
    }
}
