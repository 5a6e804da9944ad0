//! A timeline: windows that are read at the same instants, the leaves on them, the queries above.
//!
//! Queries share a timeline when they read the same windows in the same way and began together; then
//! they are evaluated at the same instants, and equal leaves are one. Sharing less alike queries
//! would let one see events that came too late at instants it would not have had alone. `instants.rs` finds the instants to
//! read, `reading.rs` reads one; here is what a timeline is made of, and how queries come and go.

use super::place::WindowPlace;
use super::query::RunningQuery;
use super::stopwatch::{Meter, Stopwatch, Timing};
use super::touched::Touched;
use crate::encode::Dictionary;
use crate::expr::Scratch;
use crate::leaf::{Leaf, LeafCondition, LeafId, LeafPattern, QueryPlace, Reader};
use crate::model::TermId;
use crate::parse::{Bounds, ContentSemantics, Report, Tick};
use crate::plan::{Host, NodeKind};
use crate::store::StaticGraphs;
use crate::thresholds::Thresholds;
use crate::time::Timestamp;
use crate::window::{Phase, Reading, Rule, Taken, Window};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// What queries must have in common to be read at the same instants.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// For the conditions of leaves.
    pub(super) scratch: Scratch,
    pub(super) queries: Vec<Option<RunningQuery>>,
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
    /// The earliest event, or instant declared complete, so far: time starts there.
    pub(super) begins_at: Timestamp,
    /// The last instant at which a period could have ended.
    pub(super) last_period: Timestamp,
    pub(super) started: bool,
    /// Nothing has happened yet, so queries may still join.
    pub(super) pristine: bool,
    /// Every query has failed, so nothing is stored and nothing is read.
    pub(super) is_over: bool,
    /// The windows that moved at the instant being read, and how.
    pub(super) taken: Vec<(usize, Taken)>,
    /// Leaves with mappings that arrive at the instant being read.
    pub(super) leaves_incoming: usize,
    /// Whether some content has changed since the last report.
    pub(super) changed: bool,
    /// Whether anything has moved since the last report.
    pub(super) unreported: bool,
    pub(super) meter: Meter,
    pub(super) thresholds: Thresholds,
}

/// What tells leaves apart: window, pattern and condition.
type LeafKey = (usize, LeafPattern, Option<String>);

/// Which queries to visit at an instant; the instant does not concern any other.
#[derive(Default)]
pub(super) struct Rounds {
    /// Queries whose input has changed, or that are new.
    pub touched: Touched,
    /// Queries with rows that wait for a report.
    pub owing: Touched,
    /// Queries that must be evaluated at every instant.
    pub restless: BTreeSet<QueryPlace>,
    /// Queries that emit something at every report.
    pub telling: BTreeSet<QueryPlace>,
    /// The version of the static graphs that every query has seen.
    pub seen_version: Option<u64>,
    /// The number of reports so far; every query counts as evaluated for each, visited or not.
    pub n_reports: u64,
    /// Leaves and queries that were looked at so far.
    pub n_visits: u64,
}

/// The parts of the engine that a timeline uses while time advances.
pub(crate) struct TimelineContext<'a> {
    pub dictionary: &'a mut Dictionary,
    pub graphs: &'a StaticGraphs,
    pub stopwatch: Option<&'a Stopwatch>,
    /// Set when a query fails: the interests may then be narrowed.
    pub interests_stale: &'a mut bool,
}

impl Timeline {
    pub(crate) fn new(key: TimelineKey, thresholds: Thresholds) -> Self {
        let reading = if key.report.follows_changes() { Reading::Current } else { Reading::Closed };
        let mut windows: Vec<_> = key.windows.iter().map(|(_, rule)| Window::new(rule.clone(), reading)).collect();
        if key.report.change && key.semantics == ContentSemantics::Set {
            // Only the content tells whether a set has changed.
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
            places: windows.iter().map(|_| WindowPlace::default()).collect(),
            taken: Vec::new(),
            leaves_incoming: 0,
            key,
            windows,
            leaves: Vec::new(),
            by_key: HashMap::default(),
            scratch: Scratch::new(0),
            queries: Vec::new(),
            rounds: Rounds::default(),
            clock: Timestamp::MIN,
            begins_at: Timestamp::MAX,
            last_period: Timestamp::MIN,
            started: false,
            pristine: true,
            is_over: false,
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

    /// Whether watermarks can move anything; where they cannot, events alone do.
    pub(crate) fn follows_watermark(&self) -> bool {
        !self.is_timeless || !self.started
    }

    /// Whether time has begun: it does with the first event.
    pub(crate) fn has_begun(&self) -> bool {
        self.started
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.queries.iter().all(Option::is_none)
    }

    pub(crate) fn query(&self, at: usize) -> &RunningQuery {
        self.queries[at].as_ref().expect("the registry knows which queries run")
    }

    pub(crate) fn query_mut(&mut self, at: usize) -> &mut RunningQuery {
        self.queries[at].as_mut().expect("the registry knows which queries run")
    }

    /// How often a query was evaluated, visits or not.
    pub(super) fn evaluations(&self, at: usize) -> u64 {
        self.query(at).evaluations_by(self.rounds.n_reports)
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

    /// Takes a query in; its windows and leaves exist already (see [`TimelineHost`]).
    pub(crate) fn add_query(&mut self, query: RunningQuery, context: &mut TimelineContext<'_>) -> usize {
        let at = self.queries.iter().position(Option::is_none).unwrap_or(self.queries.len());
        self.seat_query(at, query);
        let mut timing = context.stopwatch.map(|stopwatch| stopwatch.start(Phase::Tick));
        self.evaluate(at, Timestamp::EPOCH, None, context);
        self.close_evaluation(at, context);
        if let Some(ns) = timing.as_mut().and_then(Timing::lap_ns) {
            self.query_mut(at).time.add(ns);
        }
        at
    }

    /// Puts a query into its place and lets it read its leaves.
    pub(super) fn seat_query(&mut self, at: usize, mut query: RunningQuery) {
        let place = QueryPlace(at as u32);
        for (node, role, leaf) in query.leaves_of() {
            let retracts_on_demand = query.retracts_on_demand(node);
            let reader = Reader { query: place, node: node as u32, role: role as u32, retracts_on_demand };
            self.leaves[leaf].readers.push(reader);
        }
        while self.queries.len() <= at {
            self.queries.push(None);
        }
        if query.reevaluates {
            self.rounds.restless.insert(place);
        }
        if query.tells_always() {
            self.rounds.telling.insert(place);
        }
        query.begin_count(self.rounds.n_reports);
        self.rounds.touched.add(place);
        self.queries[at] = Some(query);
    }

    /// The query is visited at the next instant, whatever happens at it.
    pub(super) fn wake(&mut self, at: usize) {
        self.rounds.touched.add(QueryPlace(at as u32));
    }

    /// Lets a query go, and what only it needed.
    pub(crate) fn remove_query(&mut self, at: usize) {
        self.release(at);
        self.queries[at] = None;
        self.end_if_all_failed();
    }

    /// Releases the state of a query, and the leaves that only it read.
    pub(super) fn release(&mut self, at: usize) {
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
        for id in read {
            let leaf = &mut self.leaves[id.at()];
            leaf.readers.retain(|reader| reader.query != place);
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
            clock: self.clock,
            started: self.started,
            pristine: false,
            is_over: true,
            ..Self::new(self.key.clone(), self.thresholds)
        };
    }

    /// The oldest event that a window may still show.
    pub(crate) fn oldest_reachable(&self) -> Option<u64> {
        self.windows.iter().filter_map(Window::oldest_seq).min()
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

/// The timeline as the planner sees it: leaves to find or make, windows by clause.
pub(crate) struct TimelineHost<'a> {
    pub timeline: &'a mut Timeline,
    pub windows: &'a [usize],
}

impl Host for TimelineHost<'_> {
    fn leaf(&mut self, clause: usize, pattern: LeafPattern, condition: Option<LeafCondition>) -> usize {
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
