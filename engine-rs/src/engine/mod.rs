//! The engine: streams, queries, static data, and the single line of time that connects them.

mod ahead;
mod answers;
mod asking;
mod asleep;
mod calendar;
mod chain;
mod checking;
mod copied;
mod current;
mod expiring;
mod families;
mod ingest;
mod instants;
mod interest;
mod joining;
mod mapping;
mod names;
mod part;
mod pieces;
mod place;
mod push;
mod query;
mod quiet;
mod reading;
mod registry;
mod reporting;
mod serving;
mod snapshot;
mod static_data;
mod stats;
mod stopwatch;
mod straight;
mod stream;
mod timeline;
mod touched;
mod update;
mod validation;
mod waiting;
mod woken;

pub use answers::Envelope;
pub use asking::{AskOptions, QueryForm, query_form};
pub use copied::Copied;
pub use ingest::{IngestReport, StreamId};
pub(crate) use interest::Constants;
pub(crate) use part::preview_part;
pub(crate) use pieces::{BatchStream, Piece};
pub use registry::{ListedQuery, QueryId};
pub use static_data::UpdateReport;
pub use stats::{EngineStats, QueryStats, StreamStats};
pub use stream::{StreamCounts, StreamOptions};

use crate::encode::Dictionary;
use crate::flow::SearchScratch;
use crate::join::Probing;
use crate::limits::Limits;
use crate::plan::{Evaluation, PlanOptions, Retraction};
use crate::rare::Rare;
use crate::store::StaticGraphs;
use crate::thresholds::Thresholds;
use chain::Chain;
use joining::Joining;
use push::IntakeBuffers;
use registry::Registry;
use stopwatch::Stopwatch;
use stream::{Stream, StreamNames};
use timeline::Timeline;
use waiting::Waiting;

/// Settings of the engine; none of them changes a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineOptions {
    /// Protects the hash tables against crafted input.
    pub hash_seed: u64,
    /// Re-evaluation is a baseline for comparison; it refuses queries over bags and some other queries, which the
    /// reference lists.
    pub evaluation: Evaluation,
    pub probing: Probing,
    pub retraction: Retraction,
    /// Whether queries may share windows and leaves.
    pub sharing: bool,
    /// Whether triples that no pattern can match are left out on arrival.
    pub pruning: bool,
    /// The number of rows a query keeps until they are drained; beyond it, the oldest results are dropped.
    pub result_rows_max: usize,
    /// The work that one query may do: the only setting that can make a query fail.
    pub limits: Limits,
    #[doc(hidden)]
    pub thresholds: Thresholds,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            hash_seed: 0x5748_4F52_4C00,
            evaluation: Evaluation::Incremental,
            probing: Probing::Adaptive,
            retraction: Retraction::Auto,
            sharing: true,
            pruning: true,
            result_rows_max: 1_000_000,
            limits: Limits::default(),
            thresholds: Thresholds::default(),
        }
    }
}

impl EngineOptions {
    pub(crate) fn plan(&self) -> PlanOptions {
        PlanOptions {
            evaluation: self.evaluation,
            probing: self.probing,
            retraction: self.retraction,
            limits: self.limits,
            thresholds: self.thresholds,
        }
    }
}

/// Continuous queries over RDF streams, evaluated incrementally.
///
/// ```
/// use whorl_engine::{Engine, EngineOptions, ParseOptions, RdfFormat, Timestamp};
///
/// let mut engine = Engine::new(EngineOptions::default());
/// let query = engine.register(
///     "PREFIX : <http://ex/>
///      SELECT (COUNT(?v) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s]
///      WHERE { WINDOW :w { ?x :temp ?v } }",
///     &ParseOptions::default(),
/// )?;
/// let at = Some(Timestamp::from_millis(1_000));
/// engine.push("http://ex/s", at, b"<http://ex/a> <http://ex/temp> 20 .", RdfFormat::Turtle)?;
/// engine.advance_to(Timestamp::from_millis(10_000))?;
/// assert_eq!(engine.drain(query)?.len(), 1);
/// # Ok::<(), whorl_engine::EngineError>(())
/// ```
pub struct Engine {
    options: EngineOptions,
    dictionary: Dictionary,
    graphs: StaticGraphs,
    streams: Vec<Stream>,
    stream_names: StreamNames,
    timelines: Vec<Timeline>,
    registry: Registry,
    joining: Joining,
    waiting: Waiting,
    /// Working memory of the join search in progress; there is only one at a time.
    search: SearchScratch,
    /// Queries that write streams, upstream first.
    chains: Vec<Chain>,
    /// A query has failed, so the interests still include what only that query read.
    interests_stale: bool,
    /// Events accepted so far.
    events: u64,
    /// Stream terms after the last sweep.
    terms_after_sweep: usize,
    /// The number of sweeps so far: ids noted before a sweep may be invalid after it.
    sweeps: u64,
    /// Reused buffers for bodies.
    intake_buffers: IntakeBuffers,
    /// Measures how long queries take; no result depends on it.
    stopwatch: Option<Stopwatch>,
}

impl Engine {
    #[must_use]
    pub fn new(options: EngineOptions) -> Self {
        Self {
            options,
            dictionary: empty_dictionary(&options),
            graphs: StaticGraphs::remembering(options.thresholds.changes_kept_max),
            streams: Vec::new(),
            stream_names: StreamNames::default(),
            timelines: Vec::new(),
            registry: Registry::default(),
            joining: Joining::default(),
            waiting: Waiting::default(),
            search: SearchScratch::default(),
            chains: Vec::new(),
            interests_stale: false,
            events: 0,
            terms_after_sweep: 0,
            sweeps: 0,
            intake_buffers: IntakeBuffers::default(),
            stopwatch: None,
        }
    }

    /// The dictionary that decodes the ids in results.
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Mappings, rows, groups and stream terms in the engine: zero once all windows are empty and all results are
    /// drained.
    #[must_use]
    pub fn state_size(&self) -> usize {
        let waiting: usize = self.streams.iter().map(Stream::n_waiting).sum();
        let asleep = self.timelines.iter().filter(|timeline| timeline.sleep.is_some());
        let listed_elsewhere: usize = asleep.map(|timeline| self.n_shown(timeline, 0)).sum();
        let timelines: usize = listed_elsewhere + self.timelines.iter().map(Timeline::state_size).sum::<usize>();
        waiting + timelines + self.dictionary.stream_terms()
    }

    /// Panics if the dictionary has lost a term that windows, leaves or operators hold.
    fn check_terms(&self) {
        let leaves = self.timelines.iter().flat_map(|timeline| timeline.leaves());
        let in_leaves = leaves.flat_map(|leaf| leaf.store.slots().flat_map(|slot| leaf.store.row(slot)));
        let held = self.timelines.iter().flat_map(Timeline::held_terms);
        let in_windows = self.timelines.iter().flat_map(Timeline::terms_in_windows);
        self.dictionary.check(in_leaves.chain(in_windows).chain(held).chain(self.graphs.terms()));
    }

    /// Releases unreachable terms, once enough new ones have arrived to make the scan worthwhile.
    fn sweep_if_due(&mut self) {
        let new = self.dictionary.stream_terms().saturating_sub(self.terms_after_sweep);
        if new >= self.options.thresholds.new_terms_min.max(self.terms_after_sweep) {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        self.trim_logs();
        let in_windows = self.timelines.iter().filter_map(Timeline::oldest_reachable).min();
        let in_streams = self.streams.iter().filter_map(Stream::oldest_waiting).min();
        let in_logs = self.streams.iter().filter_map(|stream| stream.sleepers.oldest_seq()).min();
        let oldest = in_windows.into_iter().chain(in_streams).chain(in_logs).min().unwrap_or(self.events + 1);
        let held = self.timelines.iter().flat_map(Timeline::held_terms);
        self.dictionary.sweep(oldest, held);
        self.dictionary.shrink(self.options.thresholds.terms_shrink_min);
        self.terms_after_sweep = self.dictionary.stream_terms();
        self.sweeps += 1;
        Rare::TermsSwept.note();
        if self.options.thresholds.checks {
            self.check_terms();
        }
    }
}

/// The dictionary of a new engine with these options.
fn empty_dictionary(options: &EngineOptions) -> Dictionary {
    Dictionary::new(options.hash_seed).in_chunks_of(options.thresholds.text_chunk_max)
}
