//! One question about the static graphs, for WHERE of an update.

use super::dataset::View;
use super::meter::Meter;
use crate::encode::Dictionary;
use crate::limits::Budget;
use crate::store::StaticGraphs;
use oxiri::Iri;
use oxrdf::{Term, Variable};
use spareval::{QueryEvaluationError, QueryEvaluator, QueryResults};
use spargebra::Query;
use spargebra::algebra::{GraphPattern, QueryDataset};

/// The terms of a solution, in the order of the variables asked for.
pub(crate) type Solution = Vec<Option<Term>>;

/// A pattern, and over which of the graphs: what USING or WITH say, or all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Where<'a> {
    pub pattern: &'a GraphPattern,
    pub using: Option<&'a QueryDataset>,
    pub base_iri: Option<&'a Iri<String>>,
}

/// The solutions of a pattern, or why the evaluator gave up.
pub(crate) fn ask_static(
    Where { pattern, using, base_iri }: Where<'_>,
    variables: &[Variable],
    graphs: &StaticGraphs,
    dictionary: &Dictionary,
    budget: &mut Budget,
) -> Result<Vec<Solution>, QueryEvaluationError> {
    let pattern = GraphPattern::Project { inner: Box::new(pattern.clone()), variables: variables.to_vec() };
    let query = Query::Select { dataset: using.cloned(), pattern, base_iri: base_iri.cloned() };
    let evaluator = QueryEvaluator::new();
    let named: Vec<_> = graphs.named().iter().map(|(name, graph)| (*name, graph)).collect();
    let terms = |solution: spareval::QuerySolution| variables.iter().map(|v| solution.get(v).cloned()).collect();
    Meter::of(budget, |meter| {
        let view = View { dictionary, default: &[graphs.default_graph()], named: &named, windows: &[], meter };
        match evaluator.prepare(&query).execute(view)? {
            QueryResults::Solutions(solutions) => solutions.map(|solution| solution.map(terms)).collect(),
            _ => Ok(Vec::new()),
        }
    })
}
