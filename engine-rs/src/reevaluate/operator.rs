//! Operators that call spareval: over windows at every instant, over static graphs when these change.

use super::dataset::{NamedSets, View};
use super::delta::{TriplePatterns, World};
use super::expressions::{Unordered, with_our_expressions};
use super::meter::{Meter, Tally};
use crate::codec::{Decoded, Reader, Writer};
use crate::encode::Dictionary;
use crate::expr::{CompileError, EvalContext};
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::limits::{Budget, Limits};
use crate::model::{Batch, RowMap, TermId, Weight, row_map_bytes};
use crate::rare::Rare;
use crate::store::{StaticGraphs, TripleSet};
use crate::window::Window;
use oxiri::Iri;
use oxrdf::{NamedNode, Variable};
use smallvec::SmallVec;
use spareval::{QueryEvaluator, QueryResults};
use spargebra::Query;
use spargebra::algebra::GraphPattern;

/// A pattern to evaluate, its dataset, and the variables of its solutions.
pub(crate) struct Question {
    query: Query,
    variables: Vec<Variable>,
    sources: Sources,
    evaluator: QueryEvaluator,
    /// The budget of its expressions.
    spent: Tally,
    /// GRAPH with a variable: the pattern is evaluated in each named graph separately.
    each_graph: Option<Variable>,
    /// The static graphs it names; `None` if it may read any named graph.
    names: Option<Vec<NamedNode>>,
    /// The pattern, if it consists of triple patterns only.
    triples: Option<TriplePatterns>,
}

/// The dataset of a pattern: FROM and FROM NAMED, windows included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The parts of the default graph.
    pub default: Vec<Source>,
    /// The static graphs that can be named; all of them if the dataset is unrestricted.
    pub named: Option<Vec<TermId>>,
    /// Windows of the timeline that can be named.
    pub windows: Vec<(TermId, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    StaticDefault,
    Graph(TermId),
    /// A window of the timeline.
    Window(usize),
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.query)
    }
}

impl Question {
    pub(crate) fn new(
        pattern: GraphPattern,
        variables: Vec<Variable>,
        sources: Sources,
        base_iri: Option<Iri<String>>,
        limits: &Limits,
    ) -> Result<Self, CompileError> {
        let triples = TriplePatterns::of(&pattern, &variables);
        let pattern = GraphPattern::Project { inner: Box::new(pattern), variables: variables.clone() };
        let query = Query::Select { dataset: None, pattern, base_iri };
        let (query, evaluator, spent) = with_our_expressions(&query, limits, Unordered::First)?;
        Ok(Self { query, variables, sources, evaluator, spent, each_graph: None, names: None, triples })
    }

    /// The versions that the solutions depend on: equal versions mean equal solutions.
    fn versions(&self, flow: &Flow<'_>) -> SmallVec<[u64; 4]> {
        let unnamed = self.sources.default.iter().filter_map(|source| match source {
            Source::Window(window) => Some(window),
            _ => None,
        });
        let windows = unnamed.chain(self.sources.windows.iter().map(|(_, window)| window));
        let contents = windows.map(|window| flow.windows[*window].content_version());
        contents.chain([self.static_version(flow)]).collect()
    }

    /// Increases with every change of a static graph that it reads.
    fn static_version(&self, flow: &Flow<'_>) -> u64 {
        let Some(names) = &self.names else { return flow.graphs.version() };
        let unnamed = self.sources.default.iter().filter_map(|source| match source {
            Source::StaticDefault => Some(None),
            Source::Graph(name) => Some(Some(*name)),
            Source::Window(_) => None,
        });
        let id = |name: &NamedNode| flow.eval.dictionary.lookup(name.as_ref().into());
        let named = names.iter().map(|name| id(name).unwrap_or(TermId::UNBOUND)).map(Some);
        unnamed.chain(named).map(|graph| flow.graphs.version_of(graph)).max().unwrap_or(0)
    }

    /// Whether it reads only these graphs, besides its default graph.
    pub(crate) fn naming(mut self, names: Option<Vec<NamedNode>>) -> Self {
        self.names = names;
        self
    }

    /// The triple patterns and their graphs, if each reads one static graph.
    fn followed<'a>(
        &'a self,
        graphs: &'a StaticGraphs,
        dictionary: &'a Dictionary,
    ) -> Option<(&'a TriplePatterns, World<'a>)> {
        let patterns = self.triples.as_ref()?;
        let unnamed = match self.sources.default.as_slice() {
            [Source::StaticDefault] => None,
            [Source::Graph(name)] => Some(*name),
            _ if patterns.read_the_default_graph() => return None,
            _ => None,
        };
        let is_whole = self.each_graph.is_none() && self.sources.windows.is_empty();
        let named = self.sources.named.as_deref();
        is_whole.then_some((patterns, World { unnamed, named, graphs, dictionary }))
    }

    /// The solutions as terms. An error of the evaluator yields none: SPARQL's own errors are values, and nothing here
    /// reads files or networks.
    pub(crate) fn solutions(
        &self,
        dictionary: &Dictionary,
        graphs: &StaticGraphs,
        windows: &[Window],
        budget: &mut Budget,
    ) -> Vec<Vec<Option<oxrdf::Term>>> {
        Meter::of(budget, &self.spent, |meter| self.metered(dictionary, graphs, windows, meter))
    }

    fn metered(
        &self,
        dictionary: &Dictionary,
        graphs: &StaticGraphs,
        windows: &[Window],
        meter: &Meter,
    ) -> Vec<Vec<Option<oxrdf::Term>>> {
        let content = |window: usize| windows[window].content().expect("the planner has the content kept");
        let parts = self.sources.default.iter().filter_map(|source| match source {
            Source::StaticDefault => Some(graphs.default_graph()),
            Source::Graph(name) => graphs.named().get(name),
            Source::Window(window) => Some(content(*window)),
        });
        let default: Vec<_> = parts.collect();
        let named: Vec<_> = match &self.sources.named {
            None => graphs.named().iter().map(|(name, set)| (*name, set)).collect(),
            Some(names) => names.iter().filter_map(|name| Some((*name, graphs.named().get(name)?))).collect(),
        };
        let windows = self.sources.windows.iter().map(|(name, window)| NamedSets::new(*name, content(*window)));
        let (graphs, windows): (Vec<_>, Vec<_>) =
            (named.iter().map(|(name, set)| NamedSets::new(*name, set)).collect(), windows.collect());
        let view = View { dictionary, default: &default, named: &graphs, windows: &windows, meter };
        let Some(variable) = &self.each_graph else { return self.asked(view) };
        let in_graph = |(name, graph): &(TermId, &TripleSet)| {
            let (name, default) = (dictionary.term(*name), [*graph]);
            let mut solutions = self.asked(View { default: &default, ..view });
            solutions.retain_mut(|solution| {
                let at = self.variables.iter().position(|v| v == variable).unwrap_or(solution.len());
                *solution[at].get_or_insert_with(|| name.clone()) == name
            });
            solutions
        };
        named.iter().flat_map(in_graph).collect()
    }

    fn asked(&self, view: View<'_>) -> Vec<Vec<Option<oxrdf::Term>>> {
        let prepared = self.evaluator.prepare(&self.query);
        let Ok(QueryResults::Solutions(solutions)) = prepared.execute(view) else { return Vec::new() };
        let solutions = solutions.filter_map(Result::ok);
        solutions.map(|solution| self.variables.iter().map(|v| solution.get(v).cloned()).collect()).collect()
    }

    /// Evaluates each named graph separately, and binds the variable to its name.
    pub(crate) fn in_each_graph(mut self, variable: Variable) -> Self {
        if !self.variables.contains(&variable) {
            self.variables.push(variable.clone());
        }
        self.each_graph = Some(variable);
        self.names = None;
        self
    }

    pub(crate) fn variables(&self) -> &[Variable] {
        &self.variables
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

/// Emits the difference between `before` and `after`.
fn emit_difference(before: &RowMap<Weight>, after: &RowMap<Weight>, out: &mut Batch) {
    for (row, weight) in after {
        let change = weight - before.get(row).copied().unwrap_or(0);
        if change != 0 {
            out.push(row, change);
        }
    }
    // Sort, because the table may be a restored one with another iteration order.
    let mut gone: Vec<_> = before.iter().filter(|(row, _)| !after.contains_key(*row)).collect();
    gone.sort_unstable();
    gone.into_iter().for_each(|(row, weight)| out.push(row, -weight));
}

/// A part of a query that is re-evaluated whenever its windows or static graphs have changed.
#[derive(Debug)]
pub(crate) struct Reevaluated {
    question: Question,
    seen: SmallVec<[u64; 4]>,
    shown: RowMap<Weight>,
    /// Static rows remain when all windows are empty: they do not count as state, and their terms are kept.
    is_static: bool,
}

impl Reevaluated {
    pub(crate) fn new(question: Question, is_static: bool) -> Self {
        Self { question, seen: SmallVec::new(), shown: RowMap::default(), is_static }
    }

    /// Applies the changes since a version; false if everything must be evaluated again.
    fn follow(&mut self, seen: Option<u64>, out: &mut Batch, flow: &mut Flow<'_>) -> bool {
        let (dictionary, budget) = (&*flow.eval.dictionary, &mut flow.eval.scratch.budget);
        let Some((patterns, world)) = self.question.followed(flow.graphs, dictionary) else { return false };
        let Some(changes) = seen.and_then(|version| flow.graphs.changes_since(version)) else { return false };
        let difference = patterns.difference(changes, world, budget);
        for row in difference.inserted {
            out.push(&row, 1);
            self.shown.insert(row, 1);
        }
        for row in difference.deleted {
            out.push(&row, -1);
            self.shown.remove(&row);
        }
        Rare::StaticFollowed.note();
        true
    }
}

impl Operator for Reevaluated {
    fn absorb(&mut self, _port: usize, _deltas: &Batch, _out: &mut Batch, _flow: &mut Flow<'_>) {}

    fn finish(&mut self, out: &mut Batch, flow: &mut Flow<'_>) {
        let versions = self.question.versions(flow);
        if self.seen == versions {
            return;
        }
        let seen = std::mem::replace(&mut self.seen, versions);
        if self.is_static && self.follow(seen.last().copied(), out, flow) {
            return;
        }
        let budget = &mut flow.eval.scratch.budget;
        let solutions = self.question.solutions(flow.eval.dictionary, flow.graphs, flow.windows, budget);
        let dictionary = &mut *flow.eval.dictionary;
        let rows = bag(solutions, |term| match self.is_static {
            true => dictionary.intern_static(term.as_ref()),
            false => dictionary.intern(term.as_ref()),
        });
        emit_difference(&self.shown, &rows, out);
        self.shown = rows;
    }

    fn save(&self, to: &mut Writer) {
        to.list(self.seen.iter(), |to, version| to.u64(*version));
        to.by_row(self.shown.iter(), |to, weight| to.i64(*weight));
    }

    fn restore(&mut self, from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        self.seen = from.list(8, Reader::u64)?;
        let width = self.question.variables.len();
        self.shown = from.list(16, |from| Ok((from.row_of(width)?, from.i64()?)))?;
        Ok(())
    }

    fn state_size(&self) -> usize {
        if self.is_static { 0 } else { self.shown.len() }
    }

    fn bytes(&self) -> usize {
        row_map_bytes(&self.shown)
    }

    fn makes_lasting_rows(&self) -> bool {
        true
    }

    fn reads_graphs(&self) -> bool {
        true
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        terms_of(self.shown.keys())
    }
}
