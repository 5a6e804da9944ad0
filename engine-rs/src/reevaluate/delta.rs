//! Maintains triple patterns over one static graph from its changes.
//!
//! A solution binds every variable, so it determines which triple matches each pattern: it is new if one of these
//! triples was added, and gone if one was removed. Each changed triple is therefore matched with each pattern, and the
//! other patterns are solved around it: in the current graph for additions, in the previous graph for removals. Cost:
//! the solutions found and the triples visited on the way, independent of the size of the graph.

use crate::encode::Dictionary;
use crate::limits::Budget;
use crate::model::{EncodedTriple, Row, TermId};
use crate::store::{Change, GraphId, TripleSet};
use oxrdf::Variable;
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeSet;

/// Triple patterns whose solutions bind these columns and nothing else.
#[derive(Debug)]
pub(super) struct TriplePatterns {
    patterns: Vec<[Place; 3]>,
    width: usize,
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

/// Solutions that came and went, each once.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub inserted: BTreeSet<Row>,
    pub deleted: BTreeSet<Row>,
}

impl TriplePatterns {
    /// The patterns, if there is nothing else, and every variable is a column.
    pub(super) fn of(pattern: &GraphPattern, columns: &[Variable]) -> Option<Self> {
        let GraphPattern::Bgp { patterns } = pattern else { return None };
        let patterns: Vec<_> = patterns.iter().map(|pattern| places(pattern, columns)).collect::<Option<_>>()?;
        let is_bound =
            |column| patterns.iter().flatten().any(|place| matches!(place, Place::Column(c) if *c == column));
        (0..columns.len()).all(is_bound).then_some(Self { patterns, width: columns.len() })
    }

    /// The effect of these changes of a graph.
    pub(super) fn difference(
        &self,
        graph: GraphId,
        changes: impl Iterator<Item = Change>,
        now: Option<&TripleSet>,
        dictionary: &Dictionary,
        budget: &mut Budget,
    ) -> Difference {
        let (came, went) = net(changes.filter(|change| change.graph == graph), budget);
        let patterns: Vec<[Slot; 3]> = self.patterns.iter().map(|places| slots(places, dictionary)).collect();
        let (nothing, empty) = (TripleSet::default(), TripleSet::default());
        let now = now.unwrap_or(&nothing);
        let after = Search { patterns: &patterns, present: now, without: &empty, and: &empty };
        let before = Search { patterns: &patterns, present: now, without: &came, and: &went };
        Difference {
            inserted: after.around(&came, self.width, budget),
            deleted: before.around(&went, self.width, budget),
        }
    }
}

/// The triples that came and those that went, all in all.
fn net(changes: impl Iterator<Item = Change>, budget: &mut Budget) -> (TripleSet, TripleSet) {
    let (mut came, mut went) = (TripleSet::default(), TripleSet::default());
    for Change { triple, comes, .. } in changes {
        budget.spend(1);
        let (same, opposite) = if comes { (&mut came, &mut went) } else { (&mut went, &mut came) };
        if !opposite.remove(&triple) {
            same.insert(triple);
        }
    }
    (came, went)
}

/// Solves patterns over a graph: what is present, without some triples, and with some others.
struct Search<'a> {
    patterns: &'a [[Slot; 3]],
    present: &'a TripleSet,
    without: &'a TripleSet,
    and: &'a TripleSet,
}

impl Search<'_> {
    /// The solutions in which one of these triples stands for some pattern.
    fn around(&self, triples: &TripleSet, width: usize, budget: &mut Budget) -> BTreeSet<Row> {
        let mut found = BTreeSet::new();
        for triple in triples.matching(None, None, None) {
            for start in 0..self.patterns.len() {
                budget.spend(1);
                let mut row = vec![TermId::UNBOUND; width];
                if bind(&self.patterns[start], &triple, &mut row) {
                    let rest = (0..self.patterns.len()).filter(|at| *at != start).collect();
                    self.solve(rest, &row, &mut found, budget);
                }
            }
        }
        found
    }

    fn solve(&self, mut rest: Vec<usize>, row: &[TermId], found: &mut BTreeSet<Row>, budget: &mut Budget) {
        // Assume that the pattern with the fewest open positions matches the fewest triples.
        let open = |at: &usize| self.patterns[*at].iter().filter(|slot| slot.term(row).is_none()).count();
        let Some(next) = (0..rest.len()).min_by_key(|at| open(&rest[*at])) else {
            budget.spend_rows(1, row.len());
            found.insert(row.into());
            return;
        };
        let pattern = &self.patterns[rest.swap_remove(next)];
        if pattern.iter().any(|slot| matches!(slot, Slot::Constant(None))) {
            return;
        }
        let [s, p, o] = pattern.map(|slot| slot.term(row));
        let present = self.present.matching(s, p, o).filter(|triple| !self.without.contains(triple));
        for triple in present.chain(self.and.matching(s, p, o)) {
            budget.spend(1);
            let mut row = row.to_vec();
            if bind(pattern, &triple, &mut row) {
                self.solve(rest.clone(), &row, found, budget);
            }
        }
    }
}

impl Slot {
    /// The term that must be there, as far as it is known.
    fn term(self, row: &[TermId]) -> Option<TermId> {
        match self {
            Self::Constant(term) => term,
            Self::Column(column) => Some(row[column]).filter(|term| term.is_bound()),
        }
    }
}

/// Binds the columns of a pattern to the terms of a triple; false where they disagree.
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
        // A blank node is a variable that no row shows, a triple term a pattern of its own.
        TermPattern::BlankNode(_) | TermPattern::Triple(_) => None,
    };
    let predicate = match &pattern.predicate {
        NamedNodePattern::NamedNode(node) => Place::Term(node.clone().into()),
        NamedNodePattern::Variable(variable) => column(variable)?,
    };
    Some([end(&pattern.subject)?, predicate, end(&pattern.object)?])
}
