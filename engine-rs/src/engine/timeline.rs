//! A timeline: windows that are read at the same instants, the leaves on them, the queries above.
//!
//! Queries share a timeline if they read the same windows in the same way and started together (or show the same
//! content by now, see `joining.rs`); then they are evaluated at the same instants and share equal leaves. If less
//! similar queries shared a timeline, one of them would see late events at instants that it would not have on its own.
//! `instants.rs` finds the instants to read, and `reading.rs` reads one; this module has the parts of a timeline, and
//! adds and removes queries.

use super::asleep::Sleep;
use super::place::WindowPlace;
use super::query::RunningQuery;
use super::stopwatch::{Meter, Stopwatch, Timing};
use super::touched::Touched;
use super::waiting::Waiting;
use crate::codec::{Decoded, Reader};
use crate::encode::Dictionary;
use crate::expr::Scratch;
use crate::flow::SearchScratch;
use crate::leaf::{self, Leaf, LeafCondition, LeafId, LeafPattern, QueryPlace};
use crate::model::{Batch, TermId};
use crate::parse::{Bounds, ContentSemantics, Report, Tick};
use crate::plan::{Host, NodeKind};
use crate::store::StaticGraphs;
use crate::thresholds::Thresholds;
use crate::time::Timestamp;
use crate::window::{Phase, Reading, Rule, Taken, Window};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// The properties that queries must share to be read at the same instants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TimelineKey {
    /// Each stream and rule once, in order.
    pub windows: Vec<(usize, Rule)>,
    pub report: Report,
    pub tick: Tick,
    pub bounds: Bounds,
    pub semantics: ContentSemantics,
}

pub(crate) struct Timeline {
    pub(super) key: TimelineKey,
    pub(super) windows: Vec<Window>,
    pub(super) places: Vec<WindowPlace>,
    pub(super) leaves: Vec<Leaf>,
    by_key: HashMap<LeafKey, LeafId, FixedState>,
    /// The budget of leaf conditions.
    pub(super) scratch: Scratch,
    pub(super) queries: Vec<Option<RunningQuery>>,
    /// The unused places in `queries`.
    vacant: BTreeSet<usize>,
    pub(super) rounds: Rounds,
    /// The last instant that was read; everything up to it is settled.
    pub(super) clock: Timestamp,
    /// Every instant before this one has been read.
    pub(super) read_before: Timestamp,
    /// Whether an event before that instant has arrived since then.
    pub(super) has_stragglers: bool,
    /// With tick `tuple` and only count windows, time has no effect.
    pub(super) is_timeless: bool,
    /// When a period that ends at an instant is read.
    pub(super) period_phase: Phase,
    /// The earliest event or watermark so far: time starts there.
    pub(super) begins_at: Timestamp,
    /// The last instant at which a period could have ended.
    pub(super) last_period: Timestamp,
    pub(super) started: bool,
    /// Nothing has happened yet, so queries may still join.
    pub(super) pristine: bool,
    /// Every query has failed, so nothing is stored and nothing is read.
    pub(super) is_over: bool,
    /// Its state while it sleeps.
    pub(super) sleep: Option<Box<Sleep>>,
    /// It may not sleep before its stream has had this many events while others slept.
    pub(super) retries_at: u64,
    /// The rows of the single join that the current instant concerns, until they are reported.
    pub(super) found: Batch,
    /// The windows that moved at the instant being read, and how.
    pub(super) taken: Vec<(usize, Taken)>,
    /// Leaves with mappings that arrive at the instant being read.
    pub(super) leaves_incoming: usize,
    /// Whether its window is folded ahead of its closes; recomputed when queries are added or removed.
    pub(super) folds: Option<bool>,
    /// Whether some content has changed since the last report.
    pub(super) changed: bool,
    /// Whether anything has moved since the last report.
    pub(super) unreported: bool,
    pub(super) meter: Meter,
    pub(super) thresholds: Thresholds,
}

/// Identifies a leaf: window, pattern and condition.
pub(super) type LeafKey = (usize, LeafPattern, Option<String>);

/// Which queries to visit at an instant; the instant does not concern any other.
#[derive(Default)]
pub(super) struct Rounds {
    /// Queries whose input has changed, or that are new.
    pub touched: Touched,
    /// Queries that receive rows ahead of the close that shows them.
    pub folding: Touched,
    /// Queries with rows that wait for a report.
    pub owing: Touched,
    /// Queries that must be evaluated at every instant.
    pub restless: BTreeSet<QueryPlace>,
    /// Queries that emit something at every report.
    pub telling: BTreeSet<QueryPlace>,
    /// Queries that a change of the static graphs may concern.
    pub static_readers: BTreeSet<QueryPlace>,
    /// The version of the static graphs that every such query has seen.
    pub seen_version: Option<u64>,
    /// The number of reports so far; every query counts as evaluated for each, visited or not.
    pub n_reports: u64,
    /// The number of leaves and queries visited so far.
    pub n_visits: u64,
}

/// The parts of the engine that a timeline uses while time advances.
pub(crate) struct TimelineContext<'a> {
    pub dictionary: &'a mut Dictionary,
    pub graphs: &'a StaticGraphs,
    pub stopwatch: Option<&'a Stopwatch>,
    /// Set when a query fails: the interests may then be narrowed.
    pub interests_stale: &'a mut bool,
    pub waiting: &'a mut Waiting,
    pub search: &'a mut SearchScratch,
}

impl Timeline {
    pub(crate) fn new(key: TimelineKey, thresholds: Thresholds) -> Self {
        let reading = if key.report.follows_changes() { Reading::Current } else { Reading::Closed };
        let mut windows: Vec<_> = key.windows.iter().map(|(_, rule)| Window::new(rule.clone(), reading)).collect();
        if key.report.change && key.semantics == ContentSemantics::Set {
            // Only the content shows whether a set has changed.
            windows.iter_mut().for_each(Window::keep_content);
        }
        let by_count =
            |window: &Window| matches!(window.rule(), Rule::All | Rule::Elements { .. } | Rule::Triples { .. });
        let is_timeless = key.tick == Tick::Tuple && key.report.periodic.is_none() && windows.iter().all(by_count);
        Self {
            is_timeless,
            period_phase: period_phase(&windows, key.bounds),
            read_before: Timestamp::MIN,
            has_stragglers: false,
            places: windows.iter().map(|_| WindowPlace::new(thresholds.leaves_compared_max)).collect(),
            taken: Vec::new(),
            found: Batch::default(),
            leaves_incoming: 0,
            folds: None,
            key,
            windows,
            leaves: Vec::new(),
            by_key: HashMap::default(),
            scratch: Scratch::new(0),
            queries: Vec::new(),
            vacant: BTreeSet::new(),
            rounds: Rounds::default(),
            clock: Timestamp::MIN,
            begins_at: Timestamp::MAX,
            last_period: Timestamp::MIN,
            started: false,
            pristine: true,
            is_over: false,
            sleep: None,
            retries_at: 0,
            changed: false,
            unreported: false,
            meter: Meter::default(),
            thresholds,
        }
    }

    pub(crate) fn key(&self) -> &TimelineKey {
        &self.key
    }

    pub(crate) fn is_pristine(&self) -> bool {
        self.pristine
    }

    /// Whether watermarks can cause a reading; otherwise only events do.
    pub(crate) fn follows_watermark(&self) -> bool {
        !self.is_timeless || !self.started
    }

    /// Whether time has started, which it does with the first event.
    pub(crate) fn has_begun(&self) -> bool {
        self.started
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.vacant.len() == self.queries.len()
    }

    pub(crate) fn query(&self, at: usize) -> &RunningQuery {
        self.queries[at].as_ref().expect("the registry knows which queries run")
    }

    pub(crate) fn query_mut(&mut self, at: usize) -> &mut RunningQuery {
        self.queries[at].as_mut().expect("the registry knows which queries run")
    }

    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    pub(crate) fn window(&self, at: usize) -> &Window {
        &self.windows[at]
    }

    pub(crate) fn clock(&self) -> Timestamp {
        self.clock
    }

    /// The window of this rule on this stream.
    pub(crate) fn window_of(&self, stream: usize, rule: &Rule) -> usize {
        let found = self.key.windows.iter().position(|(of, theirs)| *of == stream && theirs == rule);
        found.expect("a timeline has the windows of its queries")
    }

    /// Adds a query; its windows and leaves exist already (see [`TimelineHost`]).
    pub(crate) fn add_query(&mut self, query: RunningQuery, context: &mut TimelineContext<'_>) -> usize {
        let at = self.free_place();
        self.seat_query(at, query);
        let mut timing = context.stopwatch.map(|stopwatch| stopwatch.start(Phase::Tick));
        self.evaluate(at, Timestamp::EPOCH, None, context);
        self.close_evaluation(at, context);
        if let Some(ns) = timing.as_mut().and_then(Timing::lap_ns) {
            self.query_mut(at).time.add(ns);
        }
        at
    }

    /// The first unused place.
    pub(super) fn free_place(&self) -> usize {
        self.vacant.first().copied().unwrap_or(self.queries.len())
    }

    /// The leaf that has this key, whether or not a query reads it.
    pub(super) fn leaf_of(&self, key: &LeafKey) -> Option<usize> {
        self.by_key.get(key).map(|id| id.at())
    }

    /// Fills a new leaf with the saved state of a leaf of the same pattern.
    pub(super) fn fill_leaf(&mut self, leaf: usize, from: &mut Reader<'_>) -> Decoded<()> {
        let Self { leaves, places, .. } = self;
        leaves[leaf].restore(from)?;
        places[leaves[leaf].window].dues.note_first(LeafId(leaf as u32), &mut leaves[leaf]);
        Ok(())
    }

    /// Puts a query into its place and connects it to its leaves.
    pub(super) fn seat_query(&mut self, at: usize, mut query: RunningQuery) {
        let place = QueryPlace(at as u32);
        for (node, role, leaf) in query.leaves_of() {
            let retracts_on_demand = query.retracts_on_demand(node);
            let reader = leaf::Reader { query: place, node: node as u32, role: role as u32, retracts_on_demand };
            self.leaves[leaf].add_reader(reader);
        }
        self.make_room(at + 1);
        self.vacant.remove(&at);
        if query.reevaluates {
            self.rounds.restless.insert(place);
        }
        if query.reports_unchanged() {
            self.rounds.telling.insert(place);
        }
        if query.reads_graphs {
            self.rounds.static_readers.insert(place);
        }
        query.begin_count(self.rounds.n_reports);
        self.rounds.touched.add(place);
        self.queries[at] = Some(query);
        self.folds = None;
    }

    /// Lists a query in the leaves it reads, under the values that its joins can use.
    pub(super) fn route_query(&mut self, at: usize) {
        let Self { queries, leaves, .. } = self;
        let Some(query) = queries[at].as_ref().filter(|query| query.failed.is_none()) else { return };
        let place = QueryPlace(at as u32);
        for (_, _, leaf) in query.leaves_of() {
            let usable = query.usable_values(leaf);
            let mut own = leaves[leaf].readers.iter().filter(|reader| reader.query == place);
            if let (Some(reader), None) = (own.next().copied(), own.next()) {
                leaves[leaf].route(reader, usable);
            }
        }
    }

    /// Ensures at least this many places for queries.
    pub(super) fn make_room(&mut self, places: usize) {
        while self.queries.len() < places {
            self.vacant.insert(self.queries.len());
            self.queries.push(None);
        }
    }

    /// The query is visited at the next instant in any case.
    pub(super) fn wake(&mut self, at: usize) {
        self.rounds.touched.add(QueryPlace(at as u32));
    }

    /// Removes a query, and everything that only it needed.
    pub(crate) fn remove_query(&mut self, at: usize) {
        self.release(at);
        self.queries[at] = None;
        self.vacant.insert(at);
        self.end_if_all_failed();
    }

    /// Releases the state of a query, and the leaves that only it read.
    pub(super) fn release(&mut self, at: usize) {
        self.folds = None;
        let Some(query) = &mut self.queries[at] else { return };
        let read: Vec<LeafId> = query.leaves_of().map(|(_, _, leaf)| LeafId(leaf as u32)).collect();
        for node in query.take_nodes() {
            if let NodeKind::Join(join) = &node.kind {
                join.release(&mut self.leaves);
            }
        }
        let place = QueryPlace(at as u32);
        self.rounds.restless.remove(&place);
        self.rounds.telling.remove(&place);
        self.rounds.static_readers.remove(&place);
        self.rounds.touched.remove(place);
        self.rounds.owing.remove(place);
        for id in read {
            let leaf = &mut self.leaves[id.at()];
            leaf.remove_readers(place);
            if leaf.readers.is_empty() {
                self.places[leaf.window].remove(id, leaf);
                let (pattern, condition) = (leaf.pattern.clone(), leaf.condition.take());
                *leaf = Leaf::new(pattern, condition, leaf.window, self.key.semantics, self.thresholds);
            }
        }
    }

    /// Once every query has failed, the windows are no longer needed: they are emptied, and only time advances.
    pub(super) fn end_if_all_failed(&mut self) {
        // A query that has just failed still holds references to its leaves, which must be released first.
        let is_needed = |query: &RunningQuery| query.failed.is_none() || query.holds_remains();
        if self.is_unused() || self.queries.iter().flatten().any(is_needed) {
            return;
        }
        *self = Self {
            queries: std::mem::take(&mut self.queries),
            vacant: std::mem::take(&mut self.vacant),
            clock: self.clock,
            started: self.started,
            pristine: false,
            is_over: true,
            sleep: self.sleep.take(),
            ..Self::new(self.key.clone(), self.thresholds)
        };
    }

    /// The oldest event that a window may still show.
    pub(crate) fn oldest_reachable(&self) -> Option<u64> {
        self.windows.iter().filter_map(Window::oldest_seq).min()
    }

    /// The terms of triples that windows keep, for a check.
    pub(crate) fn terms_in_windows(&self) -> impl Iterator<Item = TermId> + '_ {
        self.windows.iter().flat_map(Window::kept_triples).flatten()
    }

    pub(crate) fn held_terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.queries.iter().flatten().flat_map(RunningQuery::held_terms)
    }

    pub(crate) fn state_size(&self) -> usize {
        let windows: usize = self.windows.iter().map(|window| window.len() + window.waiting()).sum();
        let leaves: usize = self.leaves.iter().map(|leaf| leaf.store.live()).sum();
        windows + leaves + self.queries.iter().flatten().map(RunningQuery::state_size).sum::<usize>()
    }
}

/// The phase in which a period that ends at an instant is read. Stepping windows show what has closed by then, so the
/// period is read with the closes; other windows also show the events of that instant.
fn period_phase(windows: &[Window], bounds: Bounds) -> Phase {
    let all_step = windows.iter().all(|window| window.rule().is_stepping());
    if all_step || bounds == Bounds::OpenClosed { Phase::Close } else { Phase::Period }
}

/// The timeline as the planner sees it: finds or creates leaves, and finds windows by clause.
pub(crate) struct TimelineHost<'a> {
    pub timeline: &'a mut Timeline,
    pub windows: &'a [usize],
}

impl Host for TimelineHost<'_> {
    fn leaf(&mut self, clause: usize, pattern: LeafPattern, condition: Option<Box<LeafCondition>>) -> usize {
        let window = self.windows[clause];
        let Timeline { leaves, by_key, places, key, thresholds, .. } = &mut *self.timeline;
        let text = condition.as_ref().map(|condition| condition.text.clone());
        let id = *by_key.entry((window, pattern.clone(), text)).or_insert_with(|| {
            leaves.push(Leaf::new(pattern, condition, window, key.semantics, *thresholds));
            LeafId(leaves.len() as u32 - 1)
        });
        places[window].add(id, &mut leaves[id.at()]);
        id.at()
    }

    fn leaves(&mut self) -> &mut [Leaf] {
        &mut self.timeline.leaves
    }

    fn window_with_content(&mut self, clause: usize) -> usize {
        self.timeline.windows[self.windows[clause]].keep_content();
        self.windows[clause]
    }
}
