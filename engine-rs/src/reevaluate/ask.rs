//! Single evaluations: the WHERE of an update over static graphs, or an ad-hoc query that may also read windows.

use super::by_graph::graph_by_graph;
use super::dataset::{Kind, NamedSets, View};
use super::expressions::{Unordered, with_our_expressions};
use super::meter::Meter;
use crate::encode::Dictionary;
use crate::expr::CompileError;
use crate::limits::Budget;
use crate::model::TermId;
use crate::parse::PlainQuery;
use crate::store::{StaticGraphs, TripleSet};
use oxiri::Iri;
use oxrdf::{GraphName, NamedNode, Quad, Term, Variable};
use spareval::{QueryEvaluationError, QueryResults};
use spargebra::Query;
use spargebra::algebra::{GraphPattern, QueryDataset};
use std::collections::HashSet;
use std::sync::Arc;

/// The terms of a solution, in the order of its variables.
type Solution = Vec<Option<Term>>;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error(transparent)]
    Expression(#[from] CompileError),
    #[error(transparent)]
    Evaluation(#[from] QueryEvaluationError),
}

/// A pattern, and the graphs it is evaluated over: those of USING or WITH, or all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Where<'a> {
    pub pattern: &'a GraphPattern,
    pub using: Option<&'a QueryDataset>,
    pub base_iri: Option<&'a Iri<String>>,
}

/// Units of work for each solution of an update, which is kept until all of them are found.
const SOLUTION_UNITS: u64 = 8;

/// A term of a solution as an update keeps it: as an id, because all solutions wait for the last one.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Unbound,
    Known(TermId),
    /// A term that has no id.
    Made(Box<Term>),
}

/// The solutions of an update.
#[derive(Debug)]
pub(crate) struct Solutions {
    count: usize,
    width: usize,
    /// The terms of each solution in the order of the requested variables, one solution after the other.
    terms: Vec<Kept>,
}

impl Solutions {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Kept]> {
        (0..self.count).map(|n| &self.terms[n * self.width..(n + 1) * self.width])
    }
}

/// The solutions of a pattern, or the reason why the evaluator stopped.
pub(crate) fn ask_static(
    Where { pattern, using, base_iri }: Where<'_>,
    variables: &[Variable],
    graphs: &StaticGraphs,
    dictionary: &Dictionary,
    budget: &mut Budget,
) -> Result<Solutions, Unanswered> {
    let named: Vec<_> = graphs.named().iter().map(|(name, graph)| NamedSets::new(*name, graph)).collect();
    let mut pattern = pattern.clone();
    graph_by_graph(&mut pattern, &graph_names(using, &named, dictionary));
    let pattern = GraphPattern::Project { inner: Box::new(pattern), variables: variables.to_vec() };
    let query = Query::Select { dataset: using.cloned(), pattern, base_iri: base_iri.cloned() };
    let (query, evaluator, spent) = with_our_expressions(&query, &budget.limits(), Unordered::First)?;
    let kept =
        |term: &Term| dictionary.lookup(term.as_ref()).map_or_else(|| Kept::Made(Box::new(term.clone())), Kept::Known);
    Meter::of(budget, &spent, |meter| {
        let view = View { dictionary, default: &[graphs.default_graph()], named: &named, windows: &[], meter };
        let mut found = Solutions { count: 0, width: variables.len(), terms: Vec::new() };
        if let QueryResults::Solutions(solutions) = evaluator.prepare(&query).execute(view)? {
            for solution in solutions {
                let solution = solution?;
                meter.spend(SOLUTION_UNITS);
                found.count += 1;
                found.terms.extend(variables.iter().map(|variable| solution.get(variable).map_or(Kept::Unbound, kept)));
            }
        }
        Ok(found)
    })
}

/// The content of a window under a name.
pub(crate) struct ReadableWindow<'a> {
    pub name: NamedNode,
    pub content: &'a TripleSet,
    /// Whether `GRAPH ?g` finds it, or only its own name does.
    pub is_listed: bool,
}

/// The result of an ad-hoc query.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Found {
    Solutions { variables: Vec<Variable>, rows: Vec<Solution> },
    Boolean(bool),
    Graph(Vec<Quad>),
}

/// Evaluates an ad-hoc query over the static graphs and these windows. Windows with the same name form one graph, the
/// union of their contents.
pub(crate) fn ask_once(
    asked: &PlainQuery,
    graphs: &StaticGraphs,
    windows: &[ReadableWindow<'_>],
    dictionary: &Dictionary,
    budget: &mut Budget,
) -> Result<Found, Unanswered> {
    let mut listed: Vec<_> = graphs.named().iter().map(|(name, graph)| NamedSets::new(*name, graph)).collect();
    let mut unlisted = Vec::new();
    for window in windows {
        let term = Term::from(window.name.clone());
        let name = dictionary.lookup(term.as_ref()).map_or_else(|| Kind::Made(Arc::new(term)), Kind::Id);
        let sets = if window.is_listed { &mut listed } else { &mut unlisted };
        match sets.iter_mut().find(|sets| sets.name == name) {
            Some(known) => known.parts.push(window.content),
            None => sets.push(NamedSets { name, parts: vec![window.content] }),
        }
    }
    let mut query = asked.query.clone();
    let names = graph_names(query.dataset(), &listed, dictionary);
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = &mut query;
    graph_by_graph(pattern, &names);
    let (query, evaluator, spent) = with_our_expressions(&query, &budget.limits(), Unordered::Any)?;
    Meter::of(budget, &spent, |meter| {
        let view = View { dictionary, default: &[graphs.default_graph()], named: &listed, windows: &unlisted, meter };
        Ok(found(evaluator.prepare(&query).execute(view)?)?)
    })
}

/// The graphs that GRAPH with a variable ranges over, by name.
fn graph_names(dataset: Option<&QueryDataset>, listed: &[NamedSets<'_>], dictionary: &Dictionary) -> Vec<NamedNode> {
    let mut names: Vec<NamedNode> = match dataset {
        Some(dataset) => dataset.named.clone().unwrap_or_default(),
        None => listed.iter().filter_map(|graph| iri(graph.name.clone().into_term(dictionary))).collect(),
    };
    names.sort_unstable();
    names.dedup();
    names
}

fn iri(term: Term) -> Option<NamedNode> {
    match term {
        Term::NamedNode(node) => Some(node),
        _ => None,
    }
}

fn found(results: QueryResults<'_>) -> Result<Found, QueryEvaluationError> {
    match results {
        QueryResults::Boolean(value) => Ok(Found::Boolean(value)),
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().to_vec();
            let terms = |solution: spareval::QuerySolution| solution.values().to_vec();
            let rows = solutions.map(|solution| solution.map(terms)).collect::<Result<_, _>>()?;
            Ok(Found::Solutions { variables, rows })
        }
        QueryResults::Graph(triples) => {
            // A graph is a set, but the evaluator returns a triple once per solution.
            let mut seen = HashSet::new();
            let mut graph = Vec::new();
            for triple in triples {
                let triple = triple?;
                if seen.insert(triple.clone()) {
                    graph.push(triple.in_graph(GraphName::DefaultGraph));
                }
            }
            Ok(Found::Graph(graph))
        }
    }
}
