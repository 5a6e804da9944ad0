//! A leaf: one triple pattern over one window.
//!
//! Input: the triples of elements that enter the window, and the bound below which elements leave it. Output: mappings
//! that arrive and mappings that expire, one at a time. In a set window, a triple is present once and stays until its
//! last copy has gone; in a bag window, every occurrence is a mapping of its own. All queries that read the same
//! pattern of the same window share one leaf. Cost per triple: one comparison per constant, one append.

mod dues;
mod pattern;
mod readers;
mod routes;

pub(crate) use dues::Dues;
pub(crate) use pattern::{LeafPattern, OriginPattern, PatternSlot};
pub(crate) use readers::{Reader, UsableValues};
pub(crate) use routes::Routes;

use crate::codec::{Decoded, Reader as ByteReader, Writer};
use crate::expr::{EvalContext, Expr};
use crate::index::{IndexId, RingStore, SlotId};
use crate::limits::{Breach, Budget, within};
use crate::model::{EncodedTriple, TermId};
use crate::parse::ContentSemantics;
use crate::thresholds::Thresholds;
use crate::window::Element;
use smallvec::SmallVec;

/// A leaf of a timeline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LeafId(pub u32);

impl LeafId {
    #[inline]
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// A query of a timeline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct QueryPlace(pub u32);

impl QueryPlace {
    #[inline]
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// A filter on the mappings of one leaf alone; mappings that fail it are not stored.
#[derive(Debug)]
pub(crate) struct LeafCondition {
    /// The expression over columns; leaves with equal texts can be shared.
    pub text: String,
    pub expression: Expr,
    /// The work allowed at one instant, for each query that reads the leaf.
    pub budget: Budget,
}

impl LeafCondition {
    fn holds(&mut self, row: &[TermId], eval: &mut EvalContext<'_>) -> Result<bool, Breach> {
        // Expressions spend from the scratch budget. The condition lends it its own, so that the work is not charged
        // to whichever query happens to be evaluated; both swaps run even after a breach, because `within` catches it.
        std::mem::swap(&mut self.budget, &mut eval.scratch.budget);
        let holds = within(|| self.expression.holds(row, eval));
        std::mem::swap(&mut self.budget, &mut eval.scratch.budget);
        holds
    }
}

#[derive(Debug)]
pub(crate) struct Leaf {
    pub pattern: LeafPattern,
    pub condition: Option<Box<LeafCondition>>,
    pub window: usize,
    pub store: RingStore,
    /// All joins that read it; a mapping concerns those that are [`Leaf::unrouted`] or [`Leaf::listed`] under its values.
    pub readers: SmallVec<[Reader; 1]>,
    routes: Option<Box<readers::ReaderRoutes>>,
    /// Its rank among the leaves of its window; `None` while no query reads it.
    pub rank: Option<u32>,
    /// Its key in the [`Dues`] of its window.
    due: Option<i64>,
    /// Whether a triple of the current instant was offered.
    is_offered: bool,
    /// In set windows, the index that finds an existing equal mapping.
    copies: Option<IndexId>,
    incoming: Vec<TermId>,
    incoming_keys: SmallVec<[i64; 1]>,
    matched: u64,
    /// In set windows, how many matches were copies of a mapping that was in view.
    merged: u64,
    /// With more arrivals than this, comparing each of them with each departure would cost more than it saves.
    compared_max: usize,
}

impl Leaf {
    pub(crate) fn new(
        pattern: LeafPattern,
        condition: Option<Box<LeafCondition>>,
        window: usize,
        semantics: ContentSemantics,
        thresholds: Thresholds,
    ) -> Self {
        let mut store = RingStore::new(pattern.width(), thresholds);
        let all: Vec<u8> = (0..pattern.width() as u8).collect();
        let copies = (semantics == ContentSemantics::Set).then(|| store.acquire_index(&all));
        Self {
            pattern,
            condition,
            window,
            store,
            readers: SmallVec::new(),
            routes: None,
            rank: None,
            due: None,
            is_offered: false,
            copies,
            incoming: Vec::new(),
            incoming_keys: SmallVec::new(),
            matched: 0,
            merged: 0,
            compared_max: thresholds.arrivals_compared_max,
        }
    }

    /// How many triples have matched the pattern and its condition.
    pub(crate) fn matched(&self) -> u64 {
        self.matched
    }

    /// How many matches were copies that a set window merged; `None` for bag windows.
    pub(crate) fn merged(&self) -> Option<u64> {
        self.copies.map(|_| self.merged)
    }

    /// Matches a triple that enters the window. A copy of an existing mapping renews it before anything expires, so
    /// that a triple that leaves and returns at one instant produces no deltas. A mapping below `bound` leaves at this
    /// instant: it shares no window with a new copy, so the two are not merged.
    ///
    /// # Errors
    /// If the condition exceeds its budget; this fails every query that uses it.
    pub(crate) fn offer(
        &mut self,
        triple: &EncodedTriple,
        event: &Element,
        expiry_key: i64,
        bound: i64,
        eval: &mut EvalContext<'_>,
    ) -> Result<(), Breach> {
        let start = self.incoming.len();
        let mut holds = Ok(self.pattern.matches(triple, event, &mut self.incoming));
        if let (Ok(true), Some(condition)) = (&holds, &mut self.condition) {
            holds = condition.holds(&self.incoming[start..], eval);
        }
        if holds != Ok(true) {
            self.incoming.truncate(start);
            return holds.map(|_| ());
        }
        self.matched += 1;
        // The stored mapping is renewed here, before the instant's expiries, and not when the others are stored after
        // them: otherwise it would expire first and arrive again, as two deltas that cancel each other.
        if let Some(present) = self.present(start) {
            self.merged += u64::from(self.store.last_expiry_key(present) >= bound);
            self.store.renew(present, expiry_key);
            self.incoming.truncate(start);
            return Ok(());
        }
        self.incoming_keys.push(expiry_key);
        Ok(())
    }

    fn present(&self, start: usize) -> Option<SlotId> {
        let copies = self.copies?;
        let row = &self.incoming[start..];
        let probe = self.store.probe(copies, |column| row[column]);
        self.store.newest(copies, probe)
    }

    /// Whether this is the first triple of the instant that is offered.
    #[inline]
    pub(crate) fn is_first_offer(&mut self) -> bool {
        !std::mem::replace(&mut self.is_offered, true)
    }

    pub(crate) fn n_incoming(&self) -> usize {
        self.incoming_keys.len()
    }

    /// Whether some incoming mapping may equal the one in the slot. With many arrivals the result is yes without a
    /// comparison.
    pub(crate) fn may_be_incoming(&self, slot: SlotId) -> bool {
        let width = self.pattern.width();
        // "Yes" is always safe: the caller then only does without a shortcut.
        self.n_incoming() > self.compared_max
            || (0..self.n_incoming()).any(|i| {
                let row = &self.incoming[i * width..(i + 1) * width];
                row.iter().copied().eq(self.store.row(slot))
            })
    }

    /// Stores the incoming mapping with this number and returns its slot and expiry key; `None` if it is a copy of an
    /// earlier one.
    pub(crate) fn arrive(&mut self, number: usize) -> Option<(SlotId, i64)> {
        let width = self.pattern.width();
        let (start, end) = (number * width, (number + 1) * width);
        let expiry_key = self.incoming_keys[number];
        // `offer` compared with what was stored before the instant. Two equal mappings of one instant meet only here,
        // when the first of them has been stored.
        if let Some(copies) = self.copies {
            let row = &self.incoming[start..end];
            let probe = self.store.probe(copies, |column| row[column]);
            if let Some(present) = self.store.newest(copies, probe) {
                self.merged += 1;
                self.store.renew(present, expiry_key);
                return None;
            }
        }
        let Self { store, incoming, .. } = self;
        Some((store.append(&incoming[start..end], expiry_key), expiry_key))
    }

    /// Stores what was offered as the only mapping of the instant, and ends its arrivals.
    #[inline]
    pub(crate) fn arrive_lone(&mut self) -> Option<(SlotId, i64)> {
        debug_assert!(self.incoming_keys.len() <= 1);
        let expiry_key = self.incoming_keys.first().copied();
        // A copy of what is stored was found when it was offered.
        let arrived = expiry_key.map(|expiry_key| (self.store.append(&self.incoming, expiry_key), expiry_key));
        self.clear_incoming();
        arrived
    }

    /// Removes the oldest mappings that expire below the bound, without notifying their reader, up to one that was
    /// renewed or that may arrive again. Returns whether no mapping below the bound is left.
    #[inline]
    pub(crate) fn expire_first(&mut self, bound: i64) -> bool {
        let Self { store, incoming, incoming_keys, copies, compared_max, .. } = self;
        // In a set, an equal arriving mapping has renewed the existing one.
        let n_compared = if copies.is_some() { 0 } else { incoming_keys.len() };
        if n_compared > *compared_max {
            return false;
        }
        let width = store.width();
        let arrives = |row: &[u64]| {
            (0..n_compared).any(|i| {
                let other = &incoming[i * width..(i + 1) * width];
                other.iter().zip(row).all(|(term, bits)| term.to_bits() == *bits)
            })
        };
        store.expire_first(bound, arrives)
    }

    /// Ends the arrivals of the instant.
    #[inline]
    pub(crate) fn clear_incoming(&mut self) {
        if let Some(condition) = &mut self.condition {
            condition.budget.refill();
        }
        self.incoming.clear();
        self.incoming_keys.clear();
        self.is_offered = false;
    }

    /// Panics if the store is inconsistent, or if a mapping expires before its recorded key.
    pub(crate) fn check(&self) {
        self.store.check();
        let is_noted = |first: i64| self.due.is_some_and(|due| due <= first);
        assert!(self.store.first_key().is_none_or(is_noted), "the leaf is visited when its first mapping expires");
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        to.u64(self.matched);
        to.u64(self.merged);
        self.store.save(to);
    }

    pub(crate) fn restore(&mut self, from: &mut ByteReader<'_>) -> Decoded<()> {
        self.matched = from.u64()?;
        self.merged = from.u64()?;
        self.store.restore(from)
    }
}
