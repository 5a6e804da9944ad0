//! Windows and static graphs as a dataset on our ids.
//!
//! A window is a named graph that only `GRAPH <window>` reaches: `GRAPH ?g` ranges over static
//! graphs alone. Terms an expression makes are not interned: they live beside the ids until the
//! results are read.

use super::meter::Meter;
use crate::encode::Dictionary;
use crate::model::{EncodedTriple, TermId};
use crate::store::TripleSet;
use oxrdf::Term;
use spareval::{InternalQuad, QueryableDataset};
use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A term as the evaluator holds it. A copy of it costs a unit of work: rows are made of copies.
pub(super) struct InternalTerm<'a> {
    kind: Kind,
    meter: &'a Meter,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    Id(TermId),
    /// A term that has no id: never equal to one that has.
    Made(Arc<Term>),
}

impl Clone for InternalTerm<'_> {
    #[inline]
    fn clone(&self) -> Self {
        self.meter.spend(1);
        Self { kind: self.kind.clone(), meter: self.meter }
    }
}

impl PartialEq for InternalTerm<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for InternalTerm<'_> {}

impl Hash for InternalTerm<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
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
    /// What the evaluation may still cost.
    pub meter: &'a Meter,
}

impl<'a> View<'a> {
    fn term(&self, id: TermId) -> InternalTerm<'a> {
        InternalTerm { kind: Kind::Id(id), meter: self.meter }
    }

    fn quad(&self, [s, p, o]: EncodedTriple, name: Option<TermId>) -> InternalQuad<InternalTerm<'a>> {
        self.meter.spend(1);
        let [subject, predicate, object] = [s, p, o].map(|id| self.term(id));
        InternalQuad { subject, predicate, object, graph_name: name.map(|name| self.term(name)) }
    }

    fn graph(&self, name: TermId) -> Option<&'a TripleSet> {
        self.windows.iter().chain(self.named).find(|(known, _)| *known == name).map(|(_, triples)| *triples)
    }
}

fn id(term: Option<&InternalTerm<'_>>) -> Result<Option<TermId>, ()> {
    match term.map(|term| &term.kind) {
        None => Ok(None),
        Some(Kind::Id(id)) => Ok(Some(*id)),
        Some(Kind::Made(_)) => Err(()),
    }
}

impl<'a> QueryableDataset<'a> for View<'a> {
    type InternalTerm = InternalTerm<'a>;
    type Error = Infallible;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&InternalTerm<'a>>,
        predicate: Option<&InternalTerm<'a>>,
        object: Option<&InternalTerm<'a>>,
        graph_name: Option<Option<&InternalTerm<'a>>>,
    ) -> impl Iterator<Item = Result<InternalQuad<InternalTerm<'a>>, Infallible>> + use<'a> {
        let view = *self;
        view.meter.spend(1);
        let graphs: Vec<(Option<TermId>, &'a TripleSet)> = match graph_name.map(|name| name.map(|name| &name.kind)) {
            None => self.named.iter().map(|(name, set)| (Some(*name), *set)).collect(),
            Some(None) => self.default.iter().map(|set| (None, *set)).collect(),
            Some(Some(Kind::Id(name))) => self.graph(*name).map(|set| (Some(*name), set)).into_iter().collect(),
            Some(Some(Kind::Made(_))) => Vec::new(),
        };
        let merged: &'a [&'a TripleSet] = if matches!(graph_name, Some(None)) { self.default } else { &[] };
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
                set.matching(s, p, o).filter(first).map(move |triple| Ok(view.quad(triple, name)))
            })
        })
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<InternalTerm<'a>, Infallible>> + use<'a> {
        let view = *self;
        view.named.iter().map(move |(name, _)| Ok(view.term(*name)))
    }

    fn contains_internal_graph_name(&self, name: &InternalTerm<'a>) -> Result<bool, Infallible> {
        Ok(matches!(&name.kind, Kind::Id(id) if self.graph(*id).is_some()))
    }

    fn internalize_term(&self, term: Term) -> Result<InternalTerm<'a>, Infallible> {
        self.meter.admit(&term);
        Ok(match self.dictionary.lookup(term.as_ref()) {
            Some(id) => self.term(id),
            None => InternalTerm { kind: Kind::Made(Arc::new(term)), meter: self.meter },
        })
    }

    fn externalize_term(&self, term: InternalTerm<'a>) -> Result<Term, Infallible> {
        let term = match term.kind {
            Kind::Id(id) => self.dictionary.term(id),
            Kind::Made(term) => Arc::unwrap_or_clone(term),
        };
        self.meter.pass(&term);
        Ok(term)
    }
}
