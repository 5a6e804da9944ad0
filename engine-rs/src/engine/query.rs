//! A running query: its operators, its pending report, and its results.

use super::chain::OutputEvent;
use super::current::ShownRows;
use super::registry::QueryId;
use super::stopwatch::EvaluationTime;
use crate::encode::Dictionary;
use crate::expr::{EvalContext, Scratch};
use crate::flow::{Emptying, Flow, Operator, SearchScratch};
use crate::index::{Moved, SlotId};
use crate::join::RetractionMode;
use crate::leaf::{Leaf, UsableValues};
use crate::limits::Breach;
use crate::model::{Batch, TermId, VarTable, Weight};
use crate::parse::{ContinuousQuery, ParseOptions, R2s};
use crate::plan::{Answer, BuiltQuery, Evaluation, Meanings, NodeKind, Part, PlanNode, PlanOptions, Retraction};
use crate::r2s::RelationToStream;
use crate::rare::Rare;
use crate::sink::ResultQueue;
use crate::store::{StaticGraphs, TripleSet};
use crate::time::Timestamp;
use crate::window::Window;
use oxrdf::{NamedNode, Variable};
use smallvec::SmallVec;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a query was registered, beyond its text.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub id: QueryId,
    /// The name that its owner gave it; the engine only stores it.
    pub name: Option<String>,
    pub options: ParseOptions,
    /// How it is evaluated and how its joins retract results; both determine the stored state.
    pub evaluation: Evaluation,
    pub retraction: Retraction,
    /// For each window of a variable stream: the streams static data named by then.
    pub named_streams: Vec<Vec<NamedNode>>,
    /// How much of the query runs here.
    pub part: Part,
}

const TOO_COSTLY: &str = "query.too_costly";
const FAILED: &str = "query.failed";

/// Why a query has stopped, with a code for programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub code: &'static str,
    pub reason: String,
}

impl From<Breach> for Failure {
    fn from(breach: Breach) -> Self {
        Self { code: TOO_COSTLY, reason: format!("it is {breach}") }
    }
}

impl Failure {
    /// The failure as a snapshot stores it.
    pub(super) fn restored(code: &str, reason: String) -> Self {
        Self { code: if code == TOO_COSTLY { TOO_COSTLY } else { FAILED }, reason }
    }

    /// Classifies a caught panic: a limit that was exceeded, or a bug.
    fn of(panic: &(dyn Any + Send)) -> Self {
        if let Some(breach) = panic.downcast_ref::<Breach>() {
            return (*breach).into();
        }
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Self { code: FAILED, reason: text.unwrap_or("an operator panicked").to_owned() }
    }
}

/// The fields that most instants use come first: with many queries, a visit waits for each cache line that it touches.
#[repr(C)]
pub(crate) struct RunningQuery {
    /// Set if it is a join whose new rows are its results, up to their order.
    pub(super) plain: Option<Plain>,
    pub failed: Option<Failure>,
    /// Reports not yet passed to the stream that the query writes, if it writes one.
    pub(super) output: Option<Vec<OutputEvent>>,
    pub(super) evaluations: u64,
    /// The number of reports of its timeline that are included.
    counted_reports: u64,
    /// The version of the static graphs that the operators have seen; always 0 if none of them reads static graphs.
    pub(super) settled_version: Option<u64>,
    pub nodes: Vec<PlanNode>,
    /// The timeline's window of each window clause.
    pub windows: SmallVec<[usize; 2]>,
    pub(super) id: QueryId,
    /// Whether it is listed among the queries with unread results (see [`super::waiting`]).
    pub(super) is_listed: bool,
    /// Whether some operator reads static graphs.
    pub(super) reads_graphs: bool,
    pub reevaluates: bool,
    /// Whether the current result is enumerated from the leaves on request.
    pub(super) enumerates_answer: bool,
    /// Whether evaluations without changes are reported too.
    pub(super) reports_always: bool,
    pub(super) last_boolean: Option<bool>,
    /// The operator that the query names; its results carry it.
    pub(super) named_r2s: R2s,
    pub(super) scratch: Scratch,
    pub results: ResultQueue,
    pub(super) r2s: RelationToStream,
    pub(super) outs: Vec<Batch>,
    pub time: EvaluationTime,
    pub definition: Box<ContinuousQuery>,
    pub registration: Box<Registration>,
    pub vars: VarTable,
    pub meanings: Meanings,
    pub variables: Vec<Variable>,
    pub answer: Answer,
    pub(super) shown_rows: ShownRows,
}

/// The facts that a report needs about a query that is a single join.
#[derive(Clone, Copy)]
pub(super) struct Plain {
    /// The number of terms in a row.
    pub width: usize,
    /// The work charged for sorting and reporting one row.
    pub work: usize,
}

/// The state that the query's operators share with the rest of the timeline.
pub(crate) struct Surroundings<'a> {
    pub dictionary: &'a mut Dictionary,
    pub leaves: &'a [Leaf],
    pub windows: &'a [Window],
    pub graphs: &'a StaticGraphs,
    pub search: &'a mut SearchScratch,
    pub now: Timestamp,
}

impl Surroundings<'_> {
    /// The view of the operators of a query, with the budget that they spend.
    #[inline]
    pub(super) fn flow<'s>(&'s mut self, scratch: &'s mut Scratch) -> Flow<'s> {
        let Self { dictionary, leaves, windows, graphs, search, now } = self;
        Flow { eval: EvalContext { dictionary, now: *now, scratch }, leaves, windows, graphs, search }
    }
}

impl RunningQuery {
    pub(crate) fn new(
        definition: ContinuousQuery,
        registration: Registration,
        built: BuiltQuery,
        windows: Vec<usize>,
        results: ResultQueue,
        options: PlanOptions,
    ) -> Self {
        let id = registration.id;
        let outs = built.nodes.iter().map(|node| Batch::new(node.schema.width())).collect();
        let reads_graphs = built.nodes.iter().any(|node| node.operator().reads_graphs());
        let variables = match &built.answer {
            Answer::Bindings(variables) => variables.clone(),
            _ => vec![],
        };
        let seed = text_seed(&definition.text);
        let reports_always = matches!(registration.part, Part::Below(_));
        let enumerates_answer = definition.keep_answer && !built.retracts;
        let operator = match built.answer {
            _ if reports_always => R2s::Changes,
            Answer::Boolean => R2s::Rstream,
            _ => definition.r2s,
        };
        let keeps_answer = definition.keep_answer && built.retracts;
        let r2s = RelationToStream::new(operator, built.visible, keeps_answer, options.thresholds.rows_compared_max);
        let is_join = matches!(&built.nodes[..], [node] if matches!(node.kind, NodeKind::Join(_)));
        let is_plain = is_join
            && matches!(built.answer, Answer::Bindings(_))
            && !(reads_graphs || built.reevaluates || reports_always)
            && r2s.passes_on(built.nodes[0].schema.width());
        let work = 1 + built.order.comparators.len() + r2s.width();
        Self {
            id,
            is_listed: false,
            plain: is_plain.then_some(Plain { width: r2s.width(), work }),
            r2s,
            named_r2s: definition.r2s,
            definition: Box::new(definition),
            registration: Box::new(registration),
            nodes: built.nodes,
            outs,
            windows: SmallVec::from_slice(&windows),
            vars: built.vars,
            meanings: built.meanings,
            variables,
            answer: built.answer,
            shown_rows: ShownRows { order: built.order, once: built.shows_once },
            enumerates_answer,
            reports_always,
            last_boolean: None,
            results,
            output: None,
            scratch: Scratch::new(seed).within(options.limits).caching(options.thresholds.regexes_cached_max),
            settled_version: None,
            reads_graphs,
            reevaluates: built.reevaluates,
            evaluations: 0,
            counted_reports: 0,
            time: EvaluationTime::default(),
            failed: None,
        }
    }

    /// Whether it has results to drain or a failure to report.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.failed.is_some() || !self.results.is_empty()
    }

    /// Runs some of the query's work; a panic in it fails this query and no other.
    pub(super) fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if self.failed.is_some() {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) {
            self.fail(Failure::of(panic.as_ref()));
        }
    }

    /// From now on, every report of the timeline counts as an evaluation.
    pub(super) fn begin_count(&mut self, n_reports: u64) {
        self.counted_reports = n_reports;
    }

    /// The number of evaluations up to this report of the timeline, including those with nothing to do.
    pub(super) fn evaluations_by(&self, n_reports: u64) -> u64 {
        // A failed query was evaluated until it failed; it is counted when its state is released.
        let counts = self.failed.is_none() || self.holds_remains();
        self.evaluations + if counts { n_reports - self.counted_reports } else { 0 }
    }

    /// Counts the reports that were made without visiting the query.
    pub(super) fn count_reports(&mut self, n_reports: u64) {
        self.evaluations = self.evaluations_by(n_reports);
        self.counted_reports = n_reports;
    }

    /// Stops the query for good. Its state is released at the end of the instant, because the current pass still refers
    /// to its leaves.
    pub(super) fn fail(&mut self, failure: Failure) {
        if failure.code == TOO_COSTLY {
            Rare::Breached.note();
        }
        self.failed.get_or_insert(failure);
        self.outs = Vec::new();
    }

    /// Whether it has failed and its state has not been released yet.
    pub(super) fn holds_remains(&self) -> bool {
        self.failed.is_some() && !self.nodes.is_empty()
    }

    /// The work of this instant so far; none if the query has no operators any more.
    pub(super) fn work(&self) -> Option<u64> {
        /// The cost of an instant beyond the counted work.
        const UNCOUNTED: u64 = 8;
        (!self.nodes.is_empty()).then(|| self.scratch.budget.spent() + UNCOUNTED)
    }

    /// Gives up the operators; of everything computed, only undrained results remain.
    pub(super) fn take_nodes(&mut self) -> Vec<PlanNode> {
        self.r2s.forget();
        self.outs = Vec::new();
        std::mem::take(&mut self.nodes)
    }

    /// Ends an evaluation: measures the state if it may have grown too large, and refills the budget.
    #[inline]
    pub(super) fn close_evaluation(&mut self, leaves: &[Leaf], windows: &[Window]) {
        if self.failed.is_some() {
            return;
        }
        self.scratch.budget.refill();
        if self.scratch.budget.must_measure() {
            self.guarded(|query| query.measure(leaves, windows));
        }
    }

    fn measure(&mut self, leaves: &[Leaf], windows: &[Window]) {
        let in_leaves: usize = self.leaves_of().map(|(_, _, leaf)| leaves[leaf].store.live()).sum();
        let contents = self.windows.iter().filter_map(|window| windows[*window].content());
        let in_windows = if self.reevaluates { contents.map(TripleSet::len).sum() } else { 0 };
        self.scratch.budget.measured(self.state_size() + in_leaves + in_windows);
    }

    /// Panics if the state of its operators disagrees with a recount.
    pub(super) fn check(&self, leaves: &[Leaf]) {
        assert!(self.outs.iter().all(Batch::is_empty), "what came was passed upwards");
        self.operators().for_each(Operator::check);
        self.r2s.check();
        for node in &self.nodes {
            if let NodeKind::Join(join) = &node.kind {
                join.check_results(leaves);
            }
        }
    }

    /// Whether a join retracts results only at instants that request it.
    pub(super) fn retracts_on_demand(&self, node: usize) -> bool {
        matches!(&self.nodes[node].kind, NodeKind::Join(join) if join.retraction() == RetractionMode::Unneeded)
    }

    /// The mappings of a leaf that its only reader in this query can use; `None`: all.
    pub(super) fn usable_values(&self, leaf: usize) -> Option<UsableValues> {
        let mut readers = self.leaves_of().filter(|(_, _, of)| *of == leaf);
        let (Some((node, role, _)), None) = (readers.next(), readers.next()) else { return None };
        let NodeKind::Join(join) = &self.nodes[node].kind else { return None };
        join.usable_values(role).filter(|_| self.reads_graphs && !self.reevaluates)
    }

    /// A mapping arrived in a leaf this query reads.
    pub(crate) fn arrive(&mut self, node: usize, role: usize, slot: SlotId, around: &mut Surroundings<'_>) {
        if let NodeKind::Join(join) = &mut self.nodes[node].kind {
            join.arrive(role, slot, &mut self.outs[node], &mut around.flow(&mut self.scratch));
        }
    }

    /// A mapping is about to leave a leaf that this query reads.
    pub(crate) fn expire(&mut self, node: usize, role: usize, slot: SlotId, around: &mut Surroundings<'_>) {
        if let NodeKind::Join(join) = &mut self.nodes[node].kind {
            join.expire(role, slot, &mut self.outs[node], &mut around.flow(&mut self.scratch));
        }
    }

    /// The node that stores rows derived from a join's results and can forget all of them at once; `None` if some node
    /// must see each retraction.
    pub(crate) fn forgetting_node(&self, join: usize) -> Option<usize> {
        let mut at = join;
        loop {
            let mut readers = (at + 1..self.nodes.len()).filter(|node| self.nodes[*node].inputs.contains(&at));
            let (reader, others) = (readers.next()?, readers.next());
            let NodeKind::Operator(operator) = &self.nodes[reader].kind else { return None };
            match operator.emptying() {
                Emptying::Forgets if others.is_none() && self.nodes[reader].inputs.len() == 1 => return Some(reader),
                Emptying::HandsOn if others.is_none() && self.nodes[reader].inputs.len() == 1 => at = reader,
                _ => return None,
            }
        }
    }

    /// Removes all results of a join.
    pub(crate) fn forget_results(&mut self, join: usize) {
        let Some(node) = self.forgetting_node(join) else { return };
        if let NodeKind::Join(join) = &mut self.nodes[join].kind {
            join.forget_results();
        }
        // Retractions made at this instant so far are part of the rest.
        self.outs[join].clear();
        // No delta shows the change, but the nodes above must still be settled.
        self.settled_version = None;
        if let NodeKind::Operator(operator) = &mut self.nodes[node].kind {
            operator.forget_input();
        }
    }

    pub(crate) fn relocate(&mut self, node: usize, role: usize, moved: Moved, leaves: &[Leaf]) {
        if let NodeKind::Join(join) = &mut self.nodes[node].kind {
            join.relocate(role, moved, leaves);
        }
    }

    /// Adds rows from outside to the first node.
    pub(super) fn give(&mut self, changes: &[(Vec<TermId>, Weight)]) {
        let given = self.outs.first_mut().expect("a plan has a node");
        changes.iter().for_each(|(row, weight)| given.push(row, *weight));
    }

    /// Propagates the deltas of the instant upwards. `nodes` is in topological order, so one pass suffices.
    pub(crate) fn settle(&mut self, around: &mut Surroundings<'_>) {
        let version = if self.reads_graphs { around.graphs.version() } else { 0 };
        let unmoved = self.settled_version == Some(version) && self.outs.iter().all(Batch::is_empty);
        if unmoved && !self.reevaluates {
            return;
        }
        self.settled_version = Some(version);
        self.pass_upwards(Passing::Whole, around);
    }

    /// Whether results of this join may be passed on before the close that shows them. Nothing may read the join's
    /// inputs or the nodes above it between two closes: its results must end in an operator that keeps the values it
    /// has shown apart from its accumulators. While windows overlap, arriving mappings must not be joined with those
    /// that are about to leave.
    pub(super) fn folds(&self, node: usize, tumbles: bool) -> bool {
        let PlanNode { kind, leaves, .. } = &self.nodes[node];
        let NodeKind::Join(join) = kind else { return false };
        (tumbles || leaves.len() == 1)
            && join.has_static_inputs()
            && !self.reevaluates
            && !self.follows_clock()
            && self.forgetting_node(node).is_some()
    }

    /// Passes on the results that were found ahead of the close that shows them.
    pub(super) fn fold(&mut self, around: &mut Surroundings<'_>) {
        // At the close, no delta may be left to show that something is to be settled.
        self.settled_version = None;
        self.pass_upwards(Passing::Deltas, around);
    }

    fn pass_upwards(&mut self, passing: Passing, around: &mut Surroundings<'_>) {
        let mut flow = around.flow(&mut self.scratch);
        for at in 0..self.nodes.len() {
            let (inputs, out) = self.outs.split_at_mut(at);
            let PlanNode { kind, inputs: ports, schema, emitted, .. } = &mut self.nodes[at];
            let width = schema.width();
            let operator: &mut dyn Operator = match kind {
                NodeKind::Join(join) => join.as_mut(),
                NodeKind::Operator(operator) => operator.as_mut(),
            };
            for (port, input) in ports.iter().enumerate() {
                if !inputs[*input].is_empty() {
                    flow.eval.scratch.budget.spend_rows(inputs[*input].len(), width);
                    operator.absorb(port, &inputs[*input], &mut out[0], &mut flow);
                }
            }
            if passing == Passing::Whole {
                operator.finish(&mut out[0], &mut flow);
            }
            *emitted += out[0].len() as u64;
        }
        if let Some(root) = self.outs.last_mut() {
            self.r2s.absorb(root);
        }
        self.outs.iter_mut().for_each(Batch::clear);
    }

    pub(crate) fn has_unreported_rows(&self) -> bool {
        !self.r2s.pending().is_empty()
    }

    /// The terms that are held beyond their windows: unreported rows, undrained results, and all stored rows that may
    /// contain terms of static data or computed terms.
    pub(crate) fn held_terms(&self) -> impl Iterator<Item = TermId> + '_ {
        // A failed query reads nothing any more, but its earlier results can still be drained.
        let works = self.failed.is_none();
        let outlives_windows = works && self.operators().any(Operator::makes_lasting_rows);
        let kept = self.operators().filter(move |_| outlives_windows).flat_map(Operator::held_terms);
        let answer = self.r2s.answer().keys().filter(move |_| outlives_windows).flat_map(|row| row.iter().copied());
        let unreported = self.r2s.pending().iter().filter(move |_| works).flat_map(|(row, _)| row.iter().copied());
        unreported.chain(self.results.terms()).chain(kept).chain(answer)
    }

    fn operators(&self) -> impl Iterator<Item = &dyn Operator> {
        self.nodes.iter().map(PlanNode::operator)
    }

    pub(crate) fn state_size(&self) -> usize {
        self.operators().map(Operator::state_size).sum::<usize>() + self.r2s.state_size()
    }

    /// The leaves the query reads: node, role, leaf.
    pub(crate) fn leaves_of(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let nodes = self.nodes.iter().enumerate();
        nodes.flat_map(|(node, plan)| plan.leaves.iter().map(move |(role, leaf)| (node, *role, *leaf)))
    }
}

/// The rows passed upwards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passing {
    /// The deltas of an incomplete instant.
    Deltas,
    /// The remaining deltas, and rows that had to wait for all of them.
    Whole,
}

fn operators(nodes: &[PlanNode]) -> impl Iterator<Item = &dyn Operator> {
    nodes.iter().map(|node| match &node.kind {
        NodeKind::Join(join) => join.as_ref() as &dyn Operator,
        NodeKind::Operator(operator) => operator.as_ref(),
    })
}

pub(super) fn follows_clock(nodes: &[PlanNode]) -> bool {
    operators(nodes).any(Operator::follows_clock)
}

/// FNV-1a: different queries draw different values.
pub(super) fn text_seed(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
