//! Windows that step are folded as their events come, so that a close has little left to do.
//!
//! ```text
//!   events     · · · · · · · · · · · ·
//!   folded     ├──────┤├──────┤├──────┤         leaf ─► join ─► … ─► accumulators of groups
//!   close                             ●         groups that have changed ─► … ─► report
//! ```
//!
//! Between two closes nobody sees what a window holds. Where all that reads it ends in groups, which keep what they
//! have shown apart from what they count, a mapping can come before the close that shows it, and one that this close
//! hides can go: the sums at the close are the same. If the window tumbles, all that it held goes at once, before the
//! first event of the next one comes; if windows overlap, two mappings go with each that comes, until none is left.
//!
//! Cost: what is folded is charged to the event that it came with; a close takes time for the groups that have changed
//! and for the fewer than `folded_min` events that were not folded yet.

use super::expiring::Expiry;
use super::reading::surroundings;
use super::timeline::{Timeline, TimelineContext};
use crate::leaf::{LeafId, Reader};
use crate::parse::{Report, Tick};
use crate::rare::Rare;
use crate::window::{Ahead, Phase, Taken};

impl Timeline {
    /// Called with each event: folds those that wait for the next close, if they are many.
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

    /// Whether nothing is read between two closes of the only window, and all that reads it may be given deltas there.
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
        // Those that wait for the close are many, where queries are many; here only these events are passed on.
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
                // It may fail here, and is then asked no more.
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

    /// Two mappings that the next close hides go for each that comes.
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
