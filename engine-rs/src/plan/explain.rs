//! The plan for people and programs: one tree from which text and JSON are written.
//!
//! Input: operators with their descriptions, and the running leaves, indexes and counters. Output: a [`PlanView`] whose
//! names are spelled as in the query. It is deterministic: equal texts and equal input give equal views.

use super::error::Reevaluation;
use super::node::{NodeKind, PlanNode};
use super::spelling::{Meanings, Spelling};
use super::warnings::{Warning, warnings};
use crate::flow::Operator;
use crate::index::{IndexFacts, RingStore};
use crate::join::{BufferSource, JoinNode, RetractionMode};
use crate::leaf::Leaf;
use crate::model::{VarId, VarTable};
use crate::parse::{
    Bounds, ContentSemantics, ContinuousQuery, Position, R2s, Report, StreamName, Tick, WindowClause, WindowKind,
};
use crate::time::Span;
use oxrdf::Variable;
use spargebra::Query;
use std::collections::BTreeSet;

/// The operator of a join with one buffer.
pub(crate) const LEAF: &str = "leaf";

/// How an operator computes its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// From the deltas of its inputs.
    Incremental,
    /// From static data only, recomputed when that changes.
    Static,
    /// From the instant of the evaluation only, recomputed at each instant.
    Instant,
    /// From the content of windows, recomputed at each instant.
    Reevaluated { reason: Reevaluation },
}

impl Mode {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Incremental => "incremental",
            Self::Static => "static",
            Self::Instant => "instant",
            Self::Reevaluated { .. } => "re-evaluated",
        }
    }
}

/// The planner's description of an operator; names in `detail` are those of the algebra.
#[derive(Debug)]
pub(crate) struct Description {
    pub operator: &'static str,
    pub detail: String,
    pub mode: Mode,
    /// The variables by which the operator looks up rows.
    pub keys: Vec<VarId>,
    /// The buffers of a join, by role.
    pub buffers: Vec<BufferDescription>,
}

#[derive(Debug)]
pub(crate) enum BufferDescription {
    /// A triple pattern over the window of a clause, and the condition a mapping must satisfy to be stored.
    Leaf { pattern: String, condition: Option<String>, window: usize },
    /// The rows of an input of the join.
    Input(usize),
}

impl Description {
    pub(super) fn new(operator: &'static str, mode: Mode, detail: impl Into<String>) -> Self {
        Self { operator, detail: detail.into(), mode, keys: vec![], buffers: vec![] }
    }

    pub(super) fn incremental(operator: &'static str, detail: impl Into<String>) -> Self {
        Self::new(operator, Mode::Incremental, detail)
    }

    pub(super) fn with_keys(mut self, keys: Vec<VarId>) -> Self {
        self.keys = keys;
        self
    }
}

pub(crate) struct PlanView {
    pub query: QueryView,
    pub windows: Vec<WindowView>,
    /// Whether no operator is recomputed at each instant.
    pub is_incremental: bool,
    pub root: NodeView,
    pub warnings: Vec<Warning>,
}

pub(crate) struct QueryView {
    pub dialect: String,
    pub form: &'static str,
    /// As they are spelled in the query.
    pub variables: Vec<String>,
    /// As they appear in results, without `?`.
    pub names: Vec<String>,
    pub r2s: &'static str,
    pub report: Vec<String>,
    pub tick: &'static str,
    pub semantics: &'static str,
    pub bounds: &'static str,
    pub output: Option<String>,
}

pub(crate) struct WindowView {
    pub name: Name,
    pub stream: Name,
    pub kind: &'static str,
    /// The text that could stand in the brackets of the clause.
    pub text: String,
    /// Width and step of time windows.
    pub range_ms: Option<i64>,
    pub step_ms: Option<i64>,
    pub position: Position,
    /// How many copies its leaves have merged; `None` for bags, and where nothing is merged by a leaf.
    pub merged: Option<u64>,
}

/// An IRI: in full for programs, abbreviated for people.
pub(crate) struct Name {
    pub iri: String,
    pub short: String,
}

pub(crate) struct NodeView {
    pub operator: &'static str,
    pub detail: String,
    pub mode: Mode,
    pub variables: Vec<String>,
    pub keys: Vec<String>,
    pub keeps: usize,
    /// The memory of what it keeps; `None` for joins, which have it in their buffers, indexes and trees.
    pub bytes: Option<usize>,
    /// Deltas emitted so far.
    pub emitted: u64,
    pub retraction: Option<&'static str>,
    /// Results kept as trees: how many, and in how many bytes.
    pub trees: Option<(usize, usize)>,
    pub buffers: Vec<BufferView>,
    /// How often a mapping reached a join while another buffer was empty.
    pub early_stops: u64,
    /// The roles of buffers in probing order, with the number of times each order was used.
    pub orders: Vec<(Vec<usize>, u64)>,
    pub inputs: Vec<NodeView>,
}

pub(crate) struct BufferView {
    pub source: SourceView,
    pub live: usize,
    /// The bytes of its mappings; those of the indexes are apart.
    pub bytes: usize,
    pub indexes: Vec<IndexView>,
    /// The variable in whose order the buffer can be scanned.
    pub ordered_on: Option<String>,
}

pub(crate) struct IndexView {
    pub on: Vec<String>,
    /// The number of live keys.
    pub keys: usize,
    pub bytes: usize,
}

pub(crate) enum SourceView {
    Leaf { pattern: String, condition: Option<String>, window: usize, matched: u64, merged: Option<u64> },
    Input(usize),
}

/// Everything a view is made from.
pub(crate) struct Explained<'a> {
    pub definition: &'a ContinuousQuery,
    pub nodes: &'a [PlanNode],
    pub vars: &'a VarTable,
    pub meanings: &'a Meanings,
    pub leaves: &'a [Leaf],
    /// The variables of the result.
    pub variables: &'a [Variable],
    pub output: Option<&'a str>,
}

impl Explained<'_> {
    pub(crate) fn view(&self) -> PlanView {
        let base = self.definition.query.base_iri().map(|base| base.as_str());
        let spelling = Spelling::of(&self.definition.text, base, Some(self.meanings));
        let begins_anew = |node: &PlanNode| matches!(node.description.mode, Mode::Instant | Mode::Reevaluated { .. });
        let mut plan = PlanView {
            query: self.query(&spelling),
            windows: self.windows(&spelling),
            is_incremental: !self.nodes.iter().any(begins_anew),
            root: self.node(&self.nodes[self.nodes.len() - 1], &spelling),
            warnings: vec![],
        };
        plan.warnings = warnings(self.definition, &plan, &spelling);
        plan
    }

    fn windows(&self, spelling: &Spelling<'_>) -> Vec<WindowView> {
        let mut windows: Vec<_> = self.definition.windows.iter().map(|clause| window(clause, spelling)).collect();
        // Several joins may read one leaf, whose copies are counted once.
        let mut counted = BTreeSet::new();
        for node in self.nodes {
            let NodeKind::Join(join) = &node.kind else { continue };
            for (buffer, description) in join.shape().buffers.iter().zip(&node.description.buffers) {
                let (BufferSource::Leaf(leaf), BufferDescription::Leaf { window, .. }) = (buffer.source, description)
                else {
                    continue;
                };
                if let Some(merged) = self.leaves[leaf].merged().filter(|_| counted.insert(leaf)) {
                    *windows[*window].merged.get_or_insert(0) += merged;
                }
            }
        }
        windows
    }

    fn query(&self, spelling: &Spelling<'_>) -> QueryView {
        let ContinuousQuery { dialect, query, r2s, report, tick, semantics, bounds, .. } = self.definition;
        QueryView {
            dialect: dialect.to_string(),
            form: match query {
                Query::Select { .. } => "SELECT",
                Query::Construct { .. } => "CONSTRUCT",
                Query::Describe { .. } => "DESCRIBE",
                Query::Ask { .. } => "ASK",
            },
            variables: self.variables.iter().map(|variable| spelling.variable(variable)).collect(),
            names: self.variables.iter().map(|variable| variable.as_str().to_owned()).collect(),
            r2s: match r2s {
                R2s::Rstream => "RSTREAM",
                R2s::Istream => "ISTREAM",
                R2s::Dstream => "DSTREAM",
                R2s::Changes => "CHANGES",
            },
            report: report_words(*report),
            tick: match tick {
                Tick::Time => "time",
                Tick::Tuple => "tuple",
            },
            semantics: match semantics {
                ContentSemantics::Set => "set",
                ContentSemantics::Bag => "bag",
            },
            bounds: match bounds {
                Bounds::ClosedOpen => "[)",
                Bounds::OpenClosed => "(]",
            },
            output: self.output.map(str::to_owned),
        }
    }

    fn node(&self, node: &PlanNode, spelling: &Spelling<'_>) -> NodeView {
        let spelled = |vars: &[VarId]| -> Vec<String> {
            vars.iter().map(|var| spelling.variable(self.vars.name(*var))).collect()
        };
        let Description { operator, detail, mode, keys, .. } = &node.description;
        let mut view = NodeView {
            operator,
            detail: spelling.text(detail),
            mode: *mode,
            variables: spelled(node.schema.vars()),
            keys: spelled(keys),
            keeps: 0,
            bytes: None,
            emitted: node.emitted,
            retraction: None,
            trees: None,
            buffers: vec![],
            early_stops: 0,
            orders: vec![],
            inputs: node.inputs.iter().map(|input| self.node(&self.nodes[*input], spelling)).collect(),
        };
        match &node.kind {
            NodeKind::Operator(operator) => {
                view.keeps = operator.state_size();
                view.bytes = Some(operator.bytes());
            }
            NodeKind::Join(join) => {
                view.keeps = join.state_size();
                view.retraction = Some(match join.retraction() {
                    RetractionMode::Unneeded => "unneeded",
                    RetractionMode::Tree => "tree",
                    RetractionMode::Probe => "probe",
                });
                view.trees = join.trees();
                view.buffers = self.buffers(node, join, spelling);
                view.early_stops = join.early_stops();
                view.orders = join.orders();
            }
        }
        view
    }

    fn buffers(&self, node: &PlanNode, join: &JoinNode, spelling: &Spelling<'_>) -> Vec<BufferView> {
        let buffers = join.shape().buffers.iter().zip(&node.description.buffers);
        buffers
            .map(|(buffer, description)| {
                let store: &RingStore = match buffer.source {
                    BufferSource::Leaf(leaf) => &self.leaves[leaf].store,
                    BufferSource::Input(input) => join.input(input),
                };
                let name = |column: usize| {
                    let var = node.schema.vars()[buffer.vars[column] as usize];
                    spelling.variable(self.vars.name(var))
                };
                let index = |IndexFacts { columns, keys, bytes }: IndexFacts<'_>| IndexView {
                    on: columns.iter().map(|column| name(*column as usize)).collect(),
                    keys,
                    bytes,
                };
                BufferView {
                    source: match (description, buffer.source) {
                        (BufferDescription::Leaf { pattern, condition, window }, BufferSource::Leaf(leaf)) => {
                            SourceView::Leaf {
                                pattern: spelling.text(pattern),
                                condition: condition.as_ref().map(|condition| spelling.text(condition)),
                                window: *window,
                                matched: self.leaves[leaf].matched(),
                                merged: self.leaves[leaf].merged(),
                            }
                        }
                        (BufferDescription::Input(input), _) => SourceView::Input(*input),
                        _ => unreachable!("a buffer is described as it was made"),
                    },
                    live: store.live(),
                    bytes: store.bytes(),
                    indexes: store.indexes().map(index).collect(),
                    ordered_on: store.ordered_on().map(name),
                }
            })
            .collect()
    }
}

/// The names that [`crate::ParseOptions::report`] uses in the library.
fn report_words(report: Report) -> Vec<String> {
    let words = [("close", report.close), ("change", report.change), ("nonempty", report.nonempty)];
    let set = words.into_iter().filter(|(_, is_set)| *is_set).map(|(word, _)| word.to_owned());
    set.chain(report.periodic.map(|period| format!("periodic({})", period.as_millis()))).collect()
}

fn window(clause: &WindowClause, spelling: &Spelling<'_>) -> WindowView {
    let stream = match &clause.stream {
        StreamName::Iri(iri) => Name { iri: iri.as_str().to_owned(), short: spelling.iri(iri) },
        StreamName::Variable(variable) => Name { iri: variable.to_string(), short: variable.to_string() },
    };
    let (kind, mut text) = kind_text(&clause.kind);
    if let Some(predicate) = &clause.time_predicate {
        text = format!("{text} @ {}", spelling.iri(predicate));
    }
    let name = Name { iri: clause.name.as_str().to_owned(), short: spelling.iri(&clause.name) };
    let (range, step) = extent(&clause.kind);
    let [range_ms, step_ms] = [range, step].map(|span| span.map(Span::as_millis));
    WindowView {
        name,
        stream,
        kind,
        text: format!("[{text}]"),
        range_ms,
        step_ms,
        position: clause.position,
        merged: None,
    }
}

fn extent(kind: &WindowKind) -> (Option<Span>, Option<Span>) {
    match kind {
        WindowKind::Step { width, slide } => (Some(*width), Some(*slide)),
        WindowKind::Sliding { width } => (Some(*width), None),
        WindowKind::Past { from, slide, .. } => (Some(*from), Some(*slide)),
        _ => (None, None),
    }
}

fn kind_text(kind: &WindowKind) -> (&'static str, String) {
    let span = |span: &Span| span_text(*span);
    match kind {
        WindowKind::Step { width, slide } => ("step", format!("RANGE {} STEP {}", span(width), span(slide))),
        WindowKind::Sliding { width } => ("sliding", format!("RANGE {}", span(width))),
        WindowKind::Elements { size, step } => ("elements", format!("ELEMENTS {size} STEP {step}")),
        WindowKind::Triples { size } => ("triples", format!("TRIPLES {size}")),
        WindowKind::Now => ("now", "NOW".to_owned()),
        WindowKind::All => ("all", "ALL".to_owned()),
        WindowKind::Past { from, to, slide } => {
            ("past", format!("FROM NOW-{} TO NOW-{} STEP {}", span(from), span(to), span(slide)))
        }
    }
}

/// `1m30s`: durations as queries write them.
fn span_text(span: Span) -> String {
    let mut rest = span.as_millis();
    let mut text = String::new();
    for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if rest >= length {
            text.push_str(&format!("{}{unit}", rest / length));
            rest %= length;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}
