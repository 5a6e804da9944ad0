//! How mappings leave at an instant: each is joined a last time, unless no query needs its retractions.

use super::reading::surroundings;
use super::timeline::{Rounds, Timeline, TimelineContext};
use crate::index::{Moved, SlotId};
use crate::leaf::{Leaf, LeafId, QueryPlace, Reader};
use crate::parse::ContentSemantics;
use crate::rare::Rare;
use crate::time::Timestamp;
use smallvec::SmallVec;

/// How mappings expire.
#[derive(Clone, Copy)]
pub(super) struct Expiry {
    /// Mappings with a smaller key go.
    pub bound: i64,
    pub at: Timestamp,
    /// Whether the instant is reported.
    pub reporting: bool,
}

impl Timeline {
    pub(super) fn expire(&mut self, window: usize, expiry: Expiry, context: &mut TimelineContext<'_>) {
        let bound = expiry.bound;
        let Some(first) = self.places[window].dues.next_below(bound, &mut self.leaves) else { return };
        let Some(second) = self.places[window].dues.next_below(bound, &mut self.leaves) else {
            return self.expire_leaf(first, expiry, context);
        };
        let expiring = self.places[window].take_expiring([first, second], bound, &mut self.leaves);
        for id in &expiring {
            self.expire_leaf(*id, expiry, context);
        }
        self.places[window].reuse_expiring(expiring);
    }

    fn expire_leaf(&mut self, id: LeafId, expiry: Expiry, context: &mut TimelineContext<'_>) {
        self.rounds.n_visits += 1;
        let (leaf, bound) = (id.at(), expiry.bound);
        if !self.leaves[leaf].store.expires_whole(bound) || !self.expire_all(leaf) {
            let is_done = self.expires_quietly(leaf, expiry) && self.leaves[leaf].expire_first(bound);
            while !is_done && let Some(slot) = self.leaves[leaf].store.next_expired(bound) {
                self.expire_one(leaf, slot, expiry, context);
            }
        }
        let leaf = &mut self.leaves[leaf];
        self.places[leaf.window].dues.note_first(id, leaf);
    }

    /// Expires a mapping, unless a copy has renewed it.
    pub(super) fn expire_one(&mut self, leaf: usize, slot: SlotId, expiry: Expiry, context: &mut TimelineContext<'_>) {
        if let Some(moved) = self.leaves[leaf].store.move_if_renewed(slot, expiry.bound) {
            self.relocate(leaf, moved);
        } else {
            self.retract(leaf, slot, expiry, context);
            self.leaves[leaf].store.kill(slot);
        }
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

    /// Whether a departing mapping of the leaf concerns only one query, and that query does not need it, unless an
    /// equal mapping arrives. The result is what [`Timeline::retract_from`] would find for each mapping.
    #[inline]
    fn expires_quietly(&self, leaf: usize, expiry: Expiry) -> bool {
        let own = &self.leaves[leaf];
        let Some(reader) = own.lone_reader() else { return false };
        // Every query with unreported rows is on one of these lists, so the query itself need not be read.
        let Rounds { owing, touched, .. } = &self.rounds;
        expiry.reporting
            && reader.retracts_on_demand
            && !(owing.contains(reader.query) || touched.contains(reader.query))
            && (self.key.semantics == ContentSemantics::Set || !self.arrives_elsewhere(leaf, reader.query))
    }

    fn retract(&mut self, leaf: usize, slot: SlotId, expiry: Expiry, context: &mut TimelineContext<'_>) {
        for number in 0..self.leaves[leaf].unrouted().len() {
            let reader = self.leaves[leaf].unrouted()[number];
            self.retract_from(reader, (leaf, slot), expiry, context);
        }
        if self.leaves[leaf].is_routed() {
            let listed: SmallVec<[Reader; 4]> = self.leaves[leaf].listed(slot).collect();
            for reader in listed {
                self.retract_from(reader, (leaf, slot), expiry, context);
            }
        }
    }

    fn retract_from(
        &mut self,
        reader: Reader,
        (leaf, slot): (usize, SlotId),
        expiry: Expiry,
        context: &mut TimelineContext<'_>,
    ) {
        let Some(query) = &self.queries[reader.query.at()] else { return };
        // A result that was never reported must not be reported after it has gone.
        let is_needed =
            || !expiry.reporting || query.has_unreported_rows() || self.may_return(leaf, slot, reader.query);
        if reader.retracts_on_demand && !is_needed() {
            return;
        }
        self.rounds.touched.add(reader.query);
        if let Some(query) = &mut self.queries[reader.query.at()] {
            let around = &mut surroundings(&self.leaves, &self.windows, context, expiry.at);
            query.guarded(|query| query.expire(reader.node as usize, reader.role as usize, slot, around));
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
        self.arrives_elsewhere(leaf, query)
    }

    /// Whether another leaf that the query reads has arrivals.
    #[inline]
    fn arrives_elsewhere(&self, leaf: usize, query: QueryPlace) -> bool {
        let arrives = self.leaves[leaf].n_incoming() > 0;
        let elsewhere = |other: &Leaf| other.n_incoming() > 0 && other.readers.iter().any(|r| r.query == query);
        let mut others = self.places.iter().flat_map(|place| &place.offered).filter(|other| other.at() != leaf);
        self.leaves_incoming > usize::from(arrives) && others.any(|other| elsewhere(&self.leaves[other.at()]))
    }
}
