//! Windows and static graphs as a dataset on our ids.
//!
//! A window is a named graph that only `GRAPH <window>` reaches: `GRAPH ?g` ranges over static
//! graphs alone. Terms an expression makes are not interned: they live beside the ids until the
//! results are read.

use crate::encode::Dictionary;
use crate::model::TermId;
use crate::store::{StaticGraphs, TripleSet};
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

/// A window's name and what is in it.
pub(super) type NamedWindow<'a> = (TermId, &'a TripleSet);

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub dictionary: &'a Dictionary,
    pub graphs: &'a StaticGraphs,
    pub windows: &'a [NamedWindow<'a>],
}

impl<'a> View<'a> {
    fn graph(&self, name: TermId) -> Option<&'a TripleSet> {
        let window = self.windows.iter().find(|(window, _)| *window == name);
        window.map(|(_, content)| *content).or_else(|| self.graphs.named().get(&name))
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
            None => self.graphs.named().iter().map(|(name, set)| (Some(*name), set)).collect(),
            Some(None) => vec![(None, self.graphs.default_graph())],
            Some(Some(InternalTerm::Id(name))) => self.graph(*name).map(|set| (Some(*name), set)).into_iter().collect(),
            Some(Some(InternalTerm::Made(_))) => Vec::new(),
        };
        let pattern = (id(subject), id(predicate), id(object));
        let matches = match pattern {
            (Ok(s), Ok(p), Ok(o)) => Some((s, p, o)),
            _ => None,
        };
        matches.into_iter().flat_map(move |(s, p, o)| {
            let graphs = graphs.clone();
            graphs
                .into_iter()
                .flat_map(move |(name, set)| set.matching(s, p, o).map(move |triple| Ok(quad(triple, name))))
        })
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<InternalTerm, Infallible>> + use<'a> {
        self.graphs.named().keys().map(|name| Ok(InternalTerm::Id(*name)))
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
