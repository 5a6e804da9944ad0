//! Operators that ask spareval: over windows at every instant, over static graphs when they change.

use super::dataset::View;
use crate::aggregate::register_custom_aggregates;
use crate::encode::Dictionary;
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, RowMap, TermId, Weight};
use crate::store::StaticGraphs;
use oxiri::Iri;
use oxrdf::{NamedNode, Variable};
use spareval::{QueryEvaluator, QueryResults};
use spargebra::Query;
use spargebra::algebra::{GraphPattern, QueryDataset};

/// A pattern to be evaluated, and the variables of its solutions.
pub(crate) struct Question {
    query: Query,
    variables: Vec<Variable>,
    evaluator: QueryEvaluator,
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.query)
    }
}

impl Question {
    /// `dataset` is what FROM and FROM NAMED say, windows included.
    pub(crate) fn new(
        pattern: GraphPattern,
        variables: Vec<Variable>,
        dataset: Option<QueryDataset>,
        base_iri: Option<Iri<String>>,
        aggregates: &[NamedNode],
    ) -> Self {
        let pattern = GraphPattern::Project { inner: Box::new(pattern), variables: variables.clone() };
        let query = Query::Select { dataset, pattern, base_iri };
        let evaluator = register_custom_aggregates(QueryEvaluator::new(), aggregates);
        Self { query, variables, evaluator }
    }

    /// The solutions as terms; an error of the evaluator leaves the answer empty, as SPARQL's own
    /// errors are values and nothing here reads files or networks.
    fn solutions(&self, view: View<'_>) -> Vec<Vec<Option<oxrdf::Term>>> {
        let prepared = self.evaluator.prepare(&self.query);
        let Ok(QueryResults::Solutions(solutions)) = prepared.execute(view) else { return Vec::new() };
        let solutions = solutions.filter_map(Result::ok);
        solutions.map(|solution| self.variables.iter().map(|v| solution.get(v).cloned()).collect()).collect()
    }
}

fn bag(solutions: Vec<Vec<Option<oxrdf::Term>>>, mut intern: impl FnMut(&oxrdf::Term) -> TermId) -> RowMap<Weight> {
    let mut rows = RowMap::default();
    for solution in solutions {
        let row = solution.iter().map(|term| term.as_ref().map_or(TermId::UNBOUND, &mut intern)).collect();
        *rows.entry(row).or_insert(0) += 1;
    }
    rows
}

/// Emits what changes `before` into `after`.
fn emit_difference(before: &RowMap<Weight>, after: &RowMap<Weight>, out: &mut Batch) {
    for (row, weight) in after {
        let change = weight - before.get(row).copied().unwrap_or(0);
        if change != 0 {
            out.push(row, change);
        }
    }
    for (row, weight) in before.iter().filter(|(row, _)| !after.contains_key(*row)) {
        out.push(row, -weight);
    }
}

/// A part of a query that is computed anew at each instant.
#[derive(Debug)]
pub(crate) struct Reevaluated {
    question: Question,
    /// Windows of the timeline the pattern reads, with the names it knows them by.
    windows: Vec<(TermId, usize)>,
    shown: RowMap<Weight>,
}

impl Reevaluated {
    pub(crate) fn new(question: Question, windows: Vec<(TermId, usize)>) -> Self {
        Self { question, windows, shown: RowMap::default() }
    }
}

impl Operator for Reevaluated {
    fn absorb(&mut self, _port: usize, _deltas: &Batch, _out: &mut Batch, _flow: &mut Flow<'_>) {}

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        let content = |window: usize| flow.windows[window].content().expect("the planner has the content kept");
        let windows: Vec<_> = self.windows.iter().map(|(name, window)| (*name, content(*window))).collect();
        let view = View { dictionary: flow.eval.dictionary, graphs: flow.graphs, windows: &windows };
        let solutions = self.question.solutions(view);
        let rows = bag(solutions, |term| flow.eval.dictionary.intern(term.as_ref()));
        emit_difference(&self.shown, &rows, out);
        self.shown = rows;
    }

    fn state_size(&self) -> usize {
        self.shown.len()
    }

    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        terms_of(self.shown.keys())
    }
}

/// The part of a query that touches only static data: evaluated once, and again when a graph changes.
#[derive(Debug)]
pub(crate) struct StaticRelation {
    question: Question,
    seen_version: Option<u64>,
    shown: RowMap<Weight>,
}

impl StaticRelation {
    pub(crate) fn new(question: Question) -> Self {
        Self { question, seen_version: None, shown: RowMap::default() }
    }
}

impl Operator for StaticRelation {
    fn absorb(&mut self, _port: usize, _deltas: &Batch, _out: &mut Batch, _flow: &mut Flow<'_>) {}

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        let version = flow.graphs.version();
        if self.seen_version == Some(version) {
            return;
        }
        self.seen_version = Some(version);
        let rows = evaluate_static(&self.question, flow.graphs, flow.eval.dictionary);
        emit_difference(&self.shown, &rows, out);
        self.shown = rows;
    }

    /// Static rows are not counted: they stay when all windows are empty.
    fn state_size(&self) -> usize {
        0
    }

    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        terms_of(self.shown.keys())
    }
}

/// Evaluates a pattern over static data.
fn evaluate_static(question: &Question, graphs: &StaticGraphs, dictionary: &mut Dictionary) -> RowMap<Weight> {
    let solutions = question.solutions(View { dictionary, graphs, windows: &[] });
    bag(solutions, |term| dictionary.intern_static(term.as_ref()))
}
