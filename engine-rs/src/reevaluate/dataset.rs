//! Windows and static graphs as a dataset on our ids.
//!
//! A window is a named graph that only `GRAPH <window>` reaches: `GRAPH ?g` ranges over static
//! graphs alone. Terms an expression makes are not interned: they live beside the ids until the
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

/// What a pattern is evaluated over.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub dictionary: &'a Dictionary,
    /// The default graph is the union of these.
    pub default: &'a [&'a TripleSet],
    /// The graphs `GRAPH ?g` ranges over.
    pub named: &'a [(TermId, &'a TripleSet)],
    /// Graphs only their own names reach.
    pub windows: &'a [(TermId, &'a TripleSet)],
}

impl<'a> View<'a> {
    fn graph(&self, name: TermId) -> Option<&'a TripleSet> {
        self.windows.iter().chain(self.named).find(|(known, _)| *known == name).map(|(_, triples)| *triples)
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
        let graphs: Vec<(Option<TermId>, &'a TripleSet)> = match graph_name {
            None => self.named.iter().map(|(name, set)| (Some(*name), *set)).collect(),
            Some(None) => self.default.iter().map(|set| (None, *set)).collect(),
            Some(Some(InternalTerm::Id(name))) => self.graph(*name).map(|set| (Some(*name), set)).into_iter().collect(),
            Some(Some(InternalTerm::Made(_))) => Vec::new(),
        };
        let merged: &'a [&'a TripleSet] = if graph_name == Some(None) { self.default } else { &[] };
        let pattern = (id(subject), id(predicate), id(object));
        let matches = match pattern {
            (Ok(s), Ok(p), Ok(o)) => Some((s, p, o)),
            _ => None,
        };
        matches.into_iter().flat_map(move |(s, p, o)| {
            let graphs = graphs.clone();
            graphs.into_iter().enumerate().flat_map(move |(number, (name, set))| {
                // A triple that several parts of the default graph have is there once.
                let earlier = &merged[..number.min(merged.len())];
                let first = move |triple: &EncodedTriple| !earlier.iter().any(|other| other.contains(triple));
                set.matching(s, p, o).filter(first).map(move |triple| Ok(quad(triple, name)))
            })
        })
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<InternalTerm, Infallible>> + use<'a> {
        self.named.iter().map(|(name, _)| Ok(InternalTerm::Id(*name)))
    }

    fn contains_internal_graph_name(&self, name: &InternalTerm) -> Result<bool, Infallible> {
        Ok(matches!(name, InternalTerm::Id(id) if self.graph(*id).is_some()))
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

fn quad([s, p, o]: [TermId; 3], name: Option<TermId>) -> InternalQuad<InternalTerm> {
    InternalQuad {
        subject: InternalTerm::Id(s),
        predicate: InternalTerm::Id(p),
        object: InternalTerm::Id(o),
        graph_name: name.map(InternalTerm::Id),
    }
}
