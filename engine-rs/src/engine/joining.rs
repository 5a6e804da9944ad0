//! Merges timelines once they show the same content.
//!
//! ```text
//!   elder   a b c d e f g h │      registered before `a`; `[RANGE 4s]` shows  e f g h
//!   young         d e f g h │      registered before `d`; from `h` on it shows the same: its queries move to the elder
//! ```
//!
//! A query that is registered while events flow starts with empty windows, so it gets a timeline of its own. Once both
//! timelines show the same elements, wait for the same ones and are at the same instant, no later event can distinguish
//! them. The queries of the younger timeline then move to the elder one, as they would move between engines in a
//! snapshot, and use its leaves and indexes.
//!
//! Some queries cannot move: those that store results under slots of mappings (a join of three or more buffers that
//! retracts), those whose windows keep triples, and those with count windows, whose expiry keys count from the start of
//! their timeline. `[ALL]` windows never become equal.
//!
//! Cost: one comparison of two numbers per event; a comparison of the windows after as many events as a young window
//! shows; and the move, once.

use super::Engine;
use super::query::RunningQuery;
use super::registry::QueryId;
use super::timeline::{Timeline, TimelineKey};
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::leaf::Leaf;
use crate::parse::Tick;
use crate::plan::NodeKind;
use crate::rare::Rare;
use crate::window::InView;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Which timelines may be merged.
#[derive(Debug, Default)]
pub(super) struct Joining {
    /// The oldest timeline with each key.
    elders: HashMap<TimelineKey, usize, FixedState>,
    /// Younger ones, by the number of the event after which they are compared with the elder one.
    young: BTreeSet<(u64, usize)>,
}

impl Joining {
    /// Called when a timeline gets its first query.
    pub(super) fn begin(&mut self, number: usize, key: &TimelineKey, due: u64) {
        match self.elders.get(key) {
            None => {
                self.elders.insert(key.clone(), number);
            }
            Some(elder) if *elder == number => {}
            Some(_) => {
                self.young.insert((due, number));
            }
        }
    }

    /// The moment of the comparison determines when timelines merge, which EXPLAIN shows in their leaves.
    pub(super) fn save(&self, to: &mut Writer) {
        let elders: BTreeSet<usize> = self.elders.values().copied().collect();
        to.list(elders.iter(), |to, number| to.count(*number));
        to.list(self.young.iter(), |to, (due, number)| {
            to.u64(*due);
            to.count(*number);
        });
    }

    /// Restores elder and young timelines; their keys follow from the queries.
    pub(super) fn restored(timelines: &[Timeline], from: &mut Reader<'_>) -> Decoded<Self> {
        let is_used = |number: &usize| timelines.get(*number).is_some_and(|timeline| !timeline.is_unused());
        let elders: Vec<usize> = from.list(8, Reader::number)?;
        let young: BTreeSet<(u64, usize)> = from.list(16, |from| Ok((from.u64()?, from.number()?)))?;
        let mut numbers = elders.iter().chain(young.iter().map(|(_, number)| number));
        ensure(numbers.all(is_used), "a timeline to merge does not exist")?;
        let elders = elders.into_iter().map(|number| (timelines[number].key().clone(), number)).collect();
        Ok(Self { elders, young })
    }

    /// Called when a timeline loses its last query.
    pub(super) fn end(&mut self, number: usize, key: &TimelineKey) {
        if self.elders.get(key) == Some(&number) {
            self.elders.remove(key);
        }
        self.young.retain(|(_, young)| *young != number);
    }
}

impl Engine {
    /// Compares the young timelines that are due with their elder ones.
    #[inline]
    pub(super) fn join_if_due(&mut self) {
        while self.joining.young.first().is_some_and(|(due, _)| *due <= self.events) {
            self.join_first();
        }
    }

    #[cold]
    fn join_first(&mut self) {
        let Some((_, young)) = self.joining.young.pop_first() else { return };
        let key = self.timelines[young].key();
        let Some(elder) = self.joining.elders.get(key).copied() else {
            let key = key.clone();
            return self.joining.begin(young, &key, self.events);
        };
        if self.timelines[young].is_over || self.timelines[elder].is_over || !self.timelines[young].may_join() {
            return;
        }
        if !self.show_the_same(young, elder) {
            let shown = self.timelines[young].windows.len().max(self.n_shown(&self.timelines[young], 0)) as u64;
            let due = self.events + shown.max(self.options.thresholds.join_events_min);
            self.joining.young.insert((due, young));
            return;
        }
        self.rouse(young);
        self.rouse(elder);
        let movable: Vec<QueryId> = self.timelines[young].movable().collect();
        movable.into_iter().for_each(|id| self.move_query(id, elder));
        let n_visits = std::mem::take(&mut self.timelines[young].rounds.n_visits);
        self.timelines[elder].rounds.n_visits += n_visits;
        self.vacate_if_unused(young);
    }

    /// Whether no later event can distinguish the two timelines, except through queries that do not move.
    fn show_the_same(&self, young: usize, elder: usize) -> bool {
        let (young, elder) = (&self.timelines[young], &self.timelines[elder]);
        let mut windows = young.windows.iter().zip(&elder.windows).enumerate();
        let same_view = |(number, _): (usize, _)| {
            self.n_shown(young, number) == self.n_shown(elder, number)
                && self.shown(young, number) == self.shown(elder, number)
        };
        self.clock_of(young) == self.clock_of(elder)
            && young.is_at_the_point_of(elder)
            && windows.all(same_view)
            && young
                .leaves
                .iter()
                .filter(|leaf| !leaf.readers.is_empty())
                .all(|leaf| elder.twin_of(leaf).is_none_or(|twin| elder.leaves[twin].store.shows_the_same(&leaf.store)))
    }

    fn shown(&self, timeline: &Timeline, window: usize) -> Vec<InView> {
        let listed = || timeline.windows[window].in_view().collect();
        self.view_of(timeline).map_or_else(listed, |view| view.into_iter().collect())
    }

    /// Moves a query to another timeline, which shows the same content.
    fn move_query(&mut self, id: QueryId, to: usize) {
        let Ok((from, place)) = self.place(id) else { return };
        let stays = |leaf: &usize| self.timelines[to].twin_of(&self.timelines[from].leaves[*leaf]).is_none();
        let read: BTreeSet<usize> = self.timelines[from].query(place).leaves_of().map(|(_, _, leaf)| leaf).collect();
        let new: Vec<usize> = read.into_iter().filter(stays).collect();
        let mut state = Writer::default();
        self.timelines[from].query(place).save_state(self.reports_of(&self.timelines[from]), &mut state);
        // The query was planned in this way before. If that fails now, it stays where it is.
        let Ok(mut moved) = self.planned_for(id, to) else { return };
        for leaf in new {
            self.fill_leaf((from, leaf), to);
        }
        let restored = moved.restore_state(&mut self.dictionary, &mut Reader::trusting(&state.into_bytes()));
        restored.expect("the same operators have written it");
        let old = self.timelines[from].query_mut(place);
        moved.continue_from(old);
        self.timelines[from].remove_query(place);
        let on = &mut self.timelines[to];
        let place = on.free_place();
        on.seat_query(place, moved);
        on.route_query(place);
        self.registry.places.insert(id, (to, place));
        let chains = self.chains.iter_mut().filter(|chain| chain.query == id);
        chains.for_each(|chain| (chain.timeline, chain.place) = (to, place));
        Rare::Joined.note();
    }

    /// Fills a new leaf with the mappings of the same leaf of another timeline.
    fn fill_leaf(&mut self, (from, leaf): (usize, usize), to: usize) {
        let mut mappings = Writer::default();
        self.timelines[from].leaves[leaf].save(&mut mappings);
        let Some(twin) = self.timelines[to].twin_of(&self.timelines[from].leaves[leaf]) else { return };
        let filled = self.timelines[to].fill_leaf(twin, &mut Reader::trusting(&mappings.into_bytes()));
        filled.expect("the same leaf has written it");
    }
}

impl RunningQuery {
    /// Transfers the state of the query that is not in snapshots.
    fn continue_from(&mut self, old: &mut Self) {
        self.time = std::mem::take(&mut old.time);
        self.output = old.output.take();
        self.is_listed = std::mem::take(&mut old.is_listed);
        for (node, old) in self.nodes.iter_mut().zip(&old.nodes) {
            node.emitted = old.emitted;
        }
    }

    /// Whether its state contains no slots of leaves.
    fn is_movable(&self) -> bool {
        let keeps_slots = |kind: &NodeKind| matches!(kind, NodeKind::Join(join) if join.trees().is_some());
        self.failed.is_none() && !self.nodes.iter().any(|node| keeps_slots(&node.kind))
    }
}

impl Timeline {
    /// Whether some of its queries can move.
    fn may_join(&self) -> bool {
        let by_time = self.windows.iter().all(|window| window.content().is_none() && !window.counts());
        by_time && self.movable().next().is_some()
    }

    fn movable(&self) -> impl Iterator<Item = QueryId> + '_ {
        self.queries.iter().flatten().filter(|query| query.is_movable()).map(|query| query.id)
    }

    /// Whether both have reached the same instant, apart from the content of windows.
    fn is_at_the_point_of(&self, other: &Self) -> bool {
        let point = |timeline: &Self| {
            let Self { started, changed, unreported, key, .. } = timeline;
            let read = (key.tick == Tick::Time).then_some((timeline.read_before, timeline.has_stragglers));
            // Without periods, unreported changes are not in view, and the next arrival is reported.
            let last_period = key.report.periodic.map(|_| (timeline.last_period, *changed, *unreported));
            (*started, read, last_period)
        };
        let mut windows = self.windows.iter().zip(&other.windows);
        self.started && point(self) == point(other) && windows.all(|(own, theirs)| own.waits_like(theirs))
    }

    /// The leaf of this timeline that matches the same as a leaf of another timeline with the same key.
    fn twin_of(&self, leaf: &Leaf) -> Option<usize> {
        let text = leaf.condition.as_ref().map(|condition| condition.text.clone());
        let twin = self.leaf_of(&(leaf.window, leaf.pattern.clone(), text))?;
        self.leaves[twin].rank.is_some().then_some(twin)
    }
}
