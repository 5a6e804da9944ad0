//! Maintains triple patterns over static graphs from the changes of these graphs.
//!
//! A pattern reads one graph: the default graph, or the one that `GRAPH <name>` around it names. A solution binds every
//! variable, so it determines which triple matches each pattern: it is new if one of these triples was added, and gone
//! if one was removed. Each changed triple is therefore matched with each pattern over its graph, and the other
//! patterns are solved around it: in the current graphs for additions, in the previous graphs for removals. Cost: the
//! solutions found and the triples visited on the way, independent of the size of the graphs.

use crate::encode::Dictionary;
use crate::limits::Budget;
use crate::model::{EncodedTriple, Row, TermId};
use crate::store::{Change, GraphId, StaticGraphs, TripleSet};
use oxrdf::{NamedNode, Variable};
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeSet;

/// Triple patterns whose solutions bind these columns and nothing else.
#[derive(Debug)]
pub(super) struct TriplePatterns {
    patterns: Vec<GraphTriple>,
    width: usize,
}

/// A triple pattern and the name of the graph it reads; `None` is the default graph.
#[derive(Debug)]
struct GraphTriple {
    graph: Option<NamedNode>,
    places: [Place; 3],
}

/// The graphs in which the patterns are solved.
#[derive(Clone, Copy)]
pub(super) struct World<'a> {
    /// The graph that is the default graph.
    pub unnamed: GraphId,
    /// The graphs that GRAPH can name; all graphs if the dataset is unrestricted.
    pub named: Option<&'a [TermId]>,
    pub graphs: &'a StaticGraphs,
    pub dictionary: &'a Dictionary,
}

#[derive(Clone, Debug)]
enum Place {
    Term(oxrdf::Term),
    Column(usize),
}

/// A position whose term is resolved to its id; `None` if no triple can have it.
#[derive(Clone, Copy)]
enum Slot {
    Constant(Option<TermId>),
    Column(usize),
}

/// Added and removed solutions, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub inserted: BTreeSet<Row>,
    pub deleted: BTreeSet<Row>,
}

impl TriplePatterns {
    /// The patterns, if the query contains nothing else and every variable is a column.
    pub(super) fn of(pattern: &GraphPattern, columns: &[Variable]) -> Option<Self> {
        let mut patterns = Vec::new();
        gather(pattern, None, columns, &mut patterns)?;
        let places = || patterns.iter().flat_map(|pattern| &pattern.places);
        let is_bound = |column| places().any(|place| matches!(place, Place::Column(c) if *c == column));
        (0..columns.len()).all(is_bound).then_some(Self { patterns, width: columns.len() })
    }

    /// Whether some pattern reads the default graph.
    pub(super) fn read_the_default_graph(&self) -> bool {
        self.patterns.iter().any(|pattern| pattern.graph.is_none())
    }

    /// The effect of these changes.
    pub(super) fn difference(
        &self,
        changes: impl Iterator<Item = Change>,
        world: World<'_>,
        budget: &mut Budget,
    ) -> Difference {
        let nothing = TripleSet::default();
        let (mut graphs, mut patterns) = (Vec::<Graph<'_>>::new(), Vec::new());
        for pattern in &self.patterns {
            let id = world.graph_of(pattern);
            let known = graphs.iter().position(|graph| graph.id == id);
            patterns.push(Pattern {
                slots: slots(&pattern.places, world.dictionary),
                graph: known.unwrap_or(graphs.len()),
            });
            if known.is_none() {
                let now = id.and_then(|id| world.graphs.graph(id)).unwrap_or(&nothing);
                graphs.push(Graph { id, now, came: TripleSet::default(), went: TripleSet::default() });
            }
        }
        for change in changes {
            if let Some(graph) = graphs.iter_mut().find(|graph| graph.id == Some(change.graph)) {
                budget.spend(1);
                graph.note(change);
            }
        }
        let search = |time| Search { patterns: &patterns, graphs: &graphs, time, width: self.width };
        Difference { inserted: search(Time::After).solutions(budget), deleted: search(Time::Before).solutions(budget) }
    }
}

/// Collects triple patterns and the graphs they read; `None` if the query contains anything else.
fn gather(
    pattern: &GraphPattern,
    graph: Option<&NamedNode>,
    columns: &[Variable],
    found: &mut Vec<GraphTriple>,
) -> Option<()> {
    match (pattern, graph) {
        // `GRAPH <name> {}` tests whether the graph exists, which no triple shows.
        (GraphPattern::Bgp { patterns }, Some(_)) if patterns.is_empty() => None,
        (GraphPattern::Bgp { patterns }, _) => {
            for pattern in patterns {
                found.push(GraphTriple { graph: graph.cloned(), places: places(pattern, columns)? });
            }
            Some(())
        }
        (GraphPattern::Join { left, right }, _) => {
            gather(left, graph, columns, found)?;
            gather(right, graph, columns, found)
        }
        (GraphPattern::Graph { name: NamedNodePattern::NamedNode(name), inner }, None) => {
            gather(inner, Some(name), columns, found)
        }
        _ => None,
    }
}

impl World<'_> {
    /// The graph that a pattern reads; `None` if there is no such graph, or the query may not read it.
    fn graph_of(&self, pattern: &GraphTriple) -> Option<GraphId> {
        let Some(name) = &pattern.graph else { return Some(self.unnamed) };
        let id = self.dictionary.lookup(name.as_ref().into())?;
        self.named.is_none_or(|named| named.contains(&id)).then_some(Some(id))
    }
}

/// A graph that patterns read, and its added and removed triples.
struct Graph<'a> {
    id: Option<GraphId>,
    now: &'a TripleSet,
    came: TripleSet,
    went: TripleSet,
}

impl Graph<'_> {
    fn note(&mut self, Change { triple, comes, .. }: Change) {
        let Self { came, went, .. } = self;
        let (same, opposite) = if comes { (came, went) } else { (went, came) };
        if !opposite.remove(&triple) {
            same.insert(triple);
        }
    }
}

/// A pattern with resolved terms, and the position of its graph.
struct Pattern {
    slots: [Slot; 3],
    graph: usize,
}

/// Which state of the graphs a search sees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Time {
    Before,
    After,
}

/// Solves patterns over the current or the previous graphs.
struct Search<'a> {
    patterns: &'a [Pattern],
    graphs: &'a [Graph<'a>],
    time: Time,
    width: usize,
}

impl Search<'_> {
    /// The solutions in which an added or removed triple matches some pattern.
    fn solutions(&self, budget: &mut Budget) -> BTreeSet<Row> {
        let mut found = BTreeSet::new();
        for (at, graph) in self.graphs.iter().enumerate() {
            let changed = if self.time == Time::After { &graph.came } else { &graph.went };
            for triple in changed.matching(None, None, None) {
                for start in (0..self.patterns.len()).filter(|start| self.patterns[*start].graph == at) {
                    budget.spend(1);
                    let mut row = vec![TermId::UNBOUND; self.width];
                    if bind(&self.patterns[start].slots, &triple, &mut row) {
                        let rest = (0..self.patterns.len()).filter(|at| *at != start).collect();
                        self.solve(rest, &row, &mut found, budget);
                    }
                }
            }
        }
        found
    }

    fn solve(&self, mut rest: Vec<usize>, row: &[TermId], found: &mut BTreeSet<Row>, budget: &mut Budget) {
        // Assumes that the pattern with the fewest open positions matches the fewest triples.
        let open = |at: &usize| self.patterns[*at].slots.iter().filter(|slot| slot.term(row).is_none()).count();
        let Some(next) = (0..rest.len()).min_by_key(|at| open(&rest[*at])) else {
            budget.spend_rows(1, row.len());
            found.insert(row.into());
            return;
        };
        let Pattern { slots, graph } = &self.patterns[rest.swap_remove(next)];
        if slots.iter().any(|slot| matches!(slot, Slot::Constant(None))) {
            return;
        }
        let [s, p, o] = slots.map(|slot| slot.term(row));
        let Graph { now, came, went, .. } = &self.graphs[*graph];
        let was = self.time == Time::Before;
        let present = now.matching(s, p, o).filter(|triple| !was || !came.contains(triple));
        for triple in present.chain(went.matching(s, p, o).filter(|_| was)) {
            budget.spend(1);
            let mut row = row.to_vec();
            if bind(slots, &triple, &mut row) {
                self.solve(rest.clone(), &row, found, budget);
            }
        }
    }
}

impl Slot {
    /// The term required at this position, if it is known.
    fn term(self, row: &[TermId]) -> Option<TermId> {
        match self {
            Self::Constant(term) => term,
            Self::Column(column) => Some(row[column]).filter(|term| term.is_bound()),
        }
    }
}

/// Binds the columns of a pattern to the terms of a triple; false if they disagree.
fn bind(pattern: &[Slot; 3], triple: &EncodedTriple, row: &mut [TermId]) -> bool {
    pattern.iter().zip(triple).all(|(slot, term)| match *slot {
        Slot::Constant(constant) => constant == Some(*term),
        Slot::Column(column) if row[column].is_bound() => row[column] == *term,
        Slot::Column(column) => {
            row[column] = *term;
            true
        }
    })
}

fn slots(places: &[Place; 3], dictionary: &Dictionary) -> [Slot; 3] {
    places.each_ref().map(|place| match place {
        Place::Term(term) => Slot::Constant(dictionary.lookup(term.as_ref())),
        Place::Column(column) => Slot::Column(*column),
    })
}

fn places(pattern: &TriplePattern, columns: &[Variable]) -> Option<[Place; 3]> {
    let column = |variable: &Variable| columns.iter().position(|column| column == variable).map(Place::Column);
    let end = |term: &TermPattern| match term {
        TermPattern::NamedNode(node) => Some(Place::Term(node.clone().into())),
        TermPattern::Literal(literal) => Some(Place::Term(literal.clone().into())),
        TermPattern::Variable(variable) => column(variable),
        // A blank node acts as a hidden variable, a triple term as a separate pattern.
        TermPattern::BlankNode(_) | TermPattern::Triple(_) => None,
    };
    let predicate = match &pattern.predicate {
        NamedNodePattern::NamedNode(node) => Place::Term(node.clone().into()),
        NamedNodePattern::Variable(variable) => column(variable)?,
    };
    Some([end(&pattern.subject)?, predicate, end(&pattern.object)?])
}
