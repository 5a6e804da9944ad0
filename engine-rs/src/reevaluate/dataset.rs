//! Windows and static graphs as a dataset on our ids.
//!
//! A window is a named graph that only `GRAPH <window>` reaches: `GRAPH ?g` ranges over static
//! graphs alone, unless the caller says otherwise. A graph may have several parts, of which it is the union. Terms an
//! expression makes are not interned: they live beside the ids until the
//! results are read.

use crate::encode::Dictionary;
use crate::model::{EncodedTriple, TermId};
use crate::store::TripleSet;
use oxrdf::Term;
use spareval::{InternalQuad, QueryableDataset};
use std::convert::Infallible;
use std::sync::Arc;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum InternalTerm {
    Id(TermId),
    /// A term that has no id: never equal to one that has.
    Made(Arc<Term>),
}

/// A graph by its name: the union of its parts.
#[derive(Clone, Debug)]
pub(super) struct NamedSets<'a> {
    pub name: InternalTerm,
    pub parts: Vec<&'a TripleSet>,
}

impl<'a> NamedSets<'a> {
    pub(super) fn new(name: TermId, set: &'a TripleSet) -> Self {
        Self { name: InternalTerm::Id(name), parts: vec![set] }
    }
}

/// What a pattern is evaluated over.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub dictionary: &'a Dictionary,
    /// The default graph is the union of these.
    pub default: &'a [&'a TripleSet],
    /// The graphs `GRAPH ?g` ranges over.
    pub named: &'a [NamedSets<'a>],
    /// Graphs only their own names reach.
    pub windows: &'a [NamedSets<'a>],
}

impl<'a> View<'a> {
    fn graph(&self, name: &InternalTerm) -> Option<&'a NamedSets<'a>> {
        self.windows.iter().chain(self.named).find(|graph| graph.name == *name)
    }
}

fn id(term: Option<&InternalTerm>) -> Result<Option<TermId>, ()> {
    match term {
        None => Ok(None),
        Some(InternalTerm::Id(id)) => Ok(Some(*id)),
        Some(InternalTerm::Made(_)) => Err(()),
    }
}

impl<'a> QueryableDataset<'a> for View<'a> {
    type InternalTerm = InternalTerm;
    type Error = Infallible;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&InternalTerm>,
        predicate: Option<&InternalTerm>,
        object: Option<&InternalTerm>,
        graph_name: Option<Option<&InternalTerm>>,
    ) -> impl Iterator<Item = Result<InternalQuad<InternalTerm>, Infallible>> + use<'a> {
        let whole = |graph: &'a NamedSets<'a>| (Some(graph.name.clone()), graph.parts.as_slice());
        let graphs: Vec<(Option<InternalTerm>, &'a [&'a TripleSet])> = match graph_name {
            None => self.named.iter().map(whole).collect(),
            Some(None) => vec![(None, self.default)],
            Some(Some(name)) => self.graph(name).map(whole).into_iter().collect(),
        };
        let pattern = (id(subject), id(predicate), id(object));
        let matches = match pattern {
            (Ok(s), Ok(p), Ok(o)) => Some((s, p, o)),
            _ => None,
        };
        matches.into_iter().flat_map(move |(s, p, o)| {
            let graphs = graphs.clone();
            graphs.into_iter().flat_map(move |(name, parts)| {
                parts.iter().enumerate().flat_map(move |(number, set)| {
                    // A triple that several parts of a graph have is there once.
                    let (name, earlier) = (name.clone(), &parts[..number]);
                    let first = move |triple: &EncodedTriple| !earlier.iter().any(|other| other.contains(triple));
                    set.matching(s, p, o).filter(first).map(move |triple| Ok(quad(triple, name.clone())))
                })
            })
        })
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<InternalTerm, Infallible>> + use<'a> {
        self.named.iter().map(|graph| Ok(graph.name.clone()))
    }

    fn contains_internal_graph_name(&self, name: &InternalTerm) -> Result<bool, Infallible> {
        Ok(self.graph(name).is_some())
    }

    fn internalize_term(&self, term: Term) -> Result<InternalTerm, Infallible> {
        Ok(match self.dictionary.lookup(term.as_ref()) {
            Some(id) => InternalTerm::Id(id),
            None => InternalTerm::Made(Arc::new(term)),
        })
    }

    fn externalize_term(&self, term: InternalTerm) -> Result<Term, Infallible> {
        Ok(match term {
            InternalTerm::Id(id) => self.dictionary.term(id),
            InternalTerm::Made(term) => Term::clone(&term),
        })
    }
}

fn quad([s, p, o]: [TermId; 3], name: Option<InternalTerm>) -> InternalQuad<InternalTerm> {
    InternalQuad {
        subject: InternalTerm::Id(s),
        predicate: InternalTerm::Id(p),
        object: InternalTerm::Id(o),
        graph_name: name,
    }
}
