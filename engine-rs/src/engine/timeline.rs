//! A timeline: windows that are read at the same instants, the leaves on them, the queries above.
//!
//! Queries share a timeline when they read the same streams under the same report and tick and
//! began together; then equal windows and equal leaves are one. `instants.rs` finds the instants to
//! read, `reading.rs` reads one; here is what a timeline is made of, and how queries come and go.

use super::query::RunningQuery;
use crate::encode::Dictionary;
use crate::leaf::{Leaf, LeafId, LeafPattern, Reader, Routes};
use crate::parse::{ContentSemantics, Report, Tick};
use crate::plan::{Host, NodeKind};
use crate::store::StaticGraphs;
use crate::time::Timestamp;
use crate::window::{Reading, Rule, Taken, Window};

/// What queries must have in common to be read at the same instants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TimelineKey {
    pub streams: Vec<usize>,
    pub report: Report,
    pub tick: Tick,
}

pub(crate) struct Timeline {
    pub(super) key: TimelineKey,
    pub(super) windows: Vec<Window>,
    pub(super) places: Vec<WindowPlace>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) semantics: Vec<ContentSemantics>,
    pub(super) queries: Vec<Option<RunningQuery>>,
    /// The last instant that was read; everything up to it is settled.
    pub(super) clock: Timestamp,
    pub(super) started: bool,
    /// Nothing has happened yet: queries may still join.
    pub(super) pristine: bool,
    /// What each window gave at the instant being read.
    pub(super) taken: Vec<Option<Taken>>,
    /// Which queries report at the instant being read.
    pub(super) reporting: Vec<bool>,
}

/// What hangs on a window.
#[derive(Default)]
pub(super) struct WindowPlace {
    pub stream: usize,
    pub routes: Routes,
    pub leaves: Vec<usize>,
    /// Queries that read the window, each once per clause.
    pub queries: Vec<usize>,
}

/// What a timeline may use of the engine while time moves.
pub(crate) struct Workshop<'a> {
    pub dictionary: &'a mut Dictionary,
    pub graphs: &'a StaticGraphs,
}

impl Timeline {
    pub(crate) fn new(key: TimelineKey) -> Self {
        Self {
            key,
            windows: Vec::new(),
            places: Vec::new(),
            leaves: Vec::new(),
            semantics: Vec::new(),
            queries: Vec::new(),
            clock: Timestamp::MIN,
            started: false,
            pristine: true,
            taken: Vec::new(),
            reporting: Vec::new(),
        }
    }

    pub(crate) fn key(&self) -> &TimelineKey {
        &self.key
    }

    pub(crate) fn is_pristine(&self) -> bool {
        self.pristine
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

    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    pub(crate) fn window(&self, at: usize) -> &Window {
        &self.windows[at]
    }

    pub(crate) fn clock(&self) -> Timestamp {
        self.clock
    }

    /// The window of this rule on this stream, shared if it is there.
    pub(crate) fn window_of(&mut self, stream: usize, rule: Rule) -> usize {
        let same = |at: usize| self.places[at].stream == stream && *self.windows[at].rule() == rule;
        if let Some(at) = (0..self.windows.len()).find(|at| same(*at)) {
            return at;
        }
        let reading = if self.key.report.change { Reading::Current } else { Reading::Closed };
        self.windows.push(Window::new(rule, reading));
        self.places.push(WindowPlace { stream, ..WindowPlace::default() });
        self.taken.push(None);
        self.windows.len() - 1
    }

    pub(crate) fn keep_content(&mut self, window: usize) {
        self.windows[window].keep_content();
    }

    /// Takes a query in; its windows and leaves exist already (see [`TimelineHost`]).
    pub(crate) fn add_query(&mut self, query: RunningQuery, workshop: &mut Workshop<'_>) -> usize {
        let at = self.queries.iter().position(Option::is_none).unwrap_or(self.queries.len());
        for (node, role, leaf) in query.leaves_of() {
            let reader = Reader { query: at as u32, node: node as u32, role: role as u32 };
            self.leaves[leaf].readers.push(reader);
        }
        for window in &query.windows {
            self.places[*window].queries.push(at);
        }
        if at == self.queries.len() {
            self.queries.push(None);
            self.reporting.push(false);
        }
        self.queries[at] = Some(query);
        self.settle(at, Timestamp::EPOCH, workshop);
        at
    }

    /// Lets a query go, and what only it needed.
    pub(crate) fn remove_query(&mut self, at: usize) {
        let Some(query) = self.queries[at].take() else { return };
        for node in &query.nodes {
            if let NodeKind::Join(join) = &node.kind {
                join.release(&mut self.leaves);
            }
        }
        for place in &mut self.places {
            place.queries.retain(|query| *query != at);
        }
        for (number, leaf) in self.leaves.iter_mut().enumerate() {
            leaf.readers.retain(|reader| reader.query != at as u32);
            if leaf.readers.is_empty() {
                *leaf = Leaf::new(leaf.pattern.clone(), leaf.window, self.semantics[number]);
                self.places[leaf.window].routes.remove(LeafId(number as u32));
                self.places[leaf.window].leaves.retain(|other| *other != number);
            }
        }
    }

    /// Windows that some query reads.
    pub(super) fn used_windows(&self) -> impl Iterator<Item = &Window> + '_ {
        self.windows.iter().zip(&self.places).filter(|(_, place)| !place.queries.is_empty()).map(|(window, _)| window)
    }

    /// The oldest event that a window may still show.
    pub(crate) fn oldest_reachable(&self) -> Option<u64> {
        self.used_windows().filter_map(Window::oldest_seq).min()
    }

    pub(crate) fn keep_terms(&self, dictionary: &mut Dictionary) {
        self.queries.iter().flatten().for_each(|query| query.keep_terms(dictionary));
    }

    pub(crate) fn state_size(&self) -> usize {
        let windows: usize = self.used_windows().map(|window| window.len() + window.waiting()).sum();
        let leaves: usize = self.leaves.iter().map(|leaf| leaf.store.live()).sum();
        windows + leaves + self.queries.iter().flatten().map(RunningQuery::state_size).sum::<usize>()
    }
}

/// The timeline as the planner sees it: leaves to find or make, windows by clause.
pub(crate) struct TimelineHost<'a> {
    pub timeline: &'a mut Timeline,
    pub windows: &'a [usize],
    pub semantics: ContentSemantics,
}

impl Host for TimelineHost<'_> {
    fn leaf(&mut self, clause: usize, pattern: LeafPattern) -> usize {
        let window = self.windows[clause];
        let Timeline { leaves, semantics, places, .. } = &mut *self.timeline;
        let same = |at: usize| leaves[at].window == window && leaves[at].pattern == pattern && semantics[at] == self.semantics;
        let number = (0..leaves.len()).find(|at| same(*at)).unwrap_or(leaves.len());
        if number == leaves.len() {
            leaves.push(Leaf::new(pattern, window, self.semantics));
            semantics.push(self.semantics);
        }
        let place = &mut places[window];
        if !place.leaves.contains(&number) {
            place.leaves.push(number);
            place.routes.add(leaves[number].pattern.predicate(), LeafId(number as u32));
        }
        number
    }

    fn leaves(&mut self) -> &mut [Leaf] {
        &mut self.timeline.leaves
    }

    fn window_with_content(&mut self, clause: usize) -> usize {
        self.timeline.keep_content(self.windows[clause]);
        self.windows[clause]
    }
}
