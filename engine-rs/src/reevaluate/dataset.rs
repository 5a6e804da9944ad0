//! Windows and static graphs as a dataset over our ids.
//!
//! A window is a named graph that only `GRAPH <window>` reaches: `GRAPH ?g` ranges over static graphs, unless the
//! caller says otherwise. A graph may be the union of several parts. Terms that an expression creates are not interned:
//! they live beside the ids until the results are read.

use super::exact::{opened, sealed};
use super::meter::Meter;
use crate::encode::{Dictionary, with_tags_in_form};
use crate::expr::Value;
use crate::model::{EncodedTriple, TermId};
use crate::store::TripleSet;
use oxrdf::Term;
use spareval::{ExpressionTerm, InternalQuad, QueryableDataset};
use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A term as the evaluator holds it. Cloning it costs a unit of work, because rows consist of clones.
pub(super) struct InternalTerm<'a> {
    kind: Kind,
    meter: &'a Meter,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    Id(TermId),
    /// A term that has no id: never equal to one that has.
    Made(Arc<Term>),
}

/// What a search costs before it finds anything: a closure is little else.
const SEARCH_UNITS: u64 = 8;

impl Kind {
    pub(super) fn into_term(self, dictionary: &Dictionary) -> Term {
        match self {
            Self::Id(id) => dictionary.term(id),
            Self::Made(term) => Arc::unwrap_or_clone(term),
        }
    }
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

/// A graph by its name: the union of its parts.
#[derive(Clone, Debug)]
pub(super) struct NamedSets<'a> {
    pub name: Kind,
    pub parts: Vec<&'a TripleSet>,
}

impl<'a> NamedSets<'a> {
    pub(super) fn new(name: TermId, set: &'a TripleSet) -> Self {
        Self { name: Kind::Id(name), parts: vec![set] }
    }
}

/// The dataset of a pattern.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub dictionary: &'a Dictionary,
    /// The default graph is the union of these.
    pub default: &'a [&'a TripleSet],
    /// The graphs `GRAPH ?g` ranges over.
    pub named: &'a [NamedSets<'a>],
    /// Graphs only their own names reach.
    pub windows: &'a [NamedSets<'a>],
    /// The remaining budget of the evaluation.
    pub meter: &'a Meter,
}

impl<'a> View<'a> {
    fn term(&self, kind: Kind) -> InternalTerm<'a> {
        InternalTerm { kind, meter: self.meter }
    }

    fn quad(&self, [s, p, o]: EncodedTriple, name: Option<Kind>) -> InternalQuad<InternalTerm<'a>> {
        self.meter.spend(1);
        let [subject, predicate, object] = [s, p, o].map(|id| self.term(Kind::Id(id)));
        InternalQuad { subject, predicate, object, graph_name: name.map(|name| self.term(name)) }
    }

    fn graph(&self, name: &Kind) -> Option<&'a NamedSets<'a>> {
        self.windows.iter().chain(self.named).find(|graph| graph.name == *name)
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
        view.meter.spend(SEARCH_UNITS);
        let whole = |graph: &'a NamedSets<'a>| (Some(graph.name.clone()), graph.parts.as_slice());
        let graphs: Vec<(Option<Kind>, &'a [&'a TripleSet])> = match graph_name {
            None => self.named.iter().map(whole).collect(),
            Some(None) => vec![(None, self.default)],
            Some(Some(name)) => self.graph(&name.kind).map(whole).into_iter().collect(),
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
                    // A triple in several parts of a graph counts once: skip it if an earlier part has it.
                    let (name, earlier) = (name.clone(), &parts[..number]);
                    let first = move |triple: &EncodedTriple| !earlier.iter().any(|other| other.contains(triple));
                    set.matching(s, p, o).filter(first).map(move |triple| Ok(view.quad(triple, name.clone())))
                })
            })
        })
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<InternalTerm<'a>, Infallible>> + use<'a> {
        let view = *self;
        view.named.iter().map(move |graph| Ok(view.term(graph.name.clone())))
    }

    fn contains_internal_graph_name(&self, name: &InternalTerm<'a>) -> Result<bool, Infallible> {
        Ok(self.graph(&name.kind).is_some())
    }

    fn internalize_term(&self, term: Term) -> Result<InternalTerm<'a>, Infallible> {
        self.meter.admit(&term);
        Ok(match self.dictionary.lookup(term.as_ref()) {
            Some(id) => self.term(Kind::Id(id)),
            None => {
                let term = with_tags_in_form(term.as_ref()).unwrap_or(term);
                self.term(Kind::Made(Arc::new(term)))
            }
        })
    }

    fn externalize_term(&self, term: InternalTerm<'a>) -> Result<Term, Infallible> {
        let term = term.kind.into_term(self.dictionary);
        self.meter.pass(&term);
        Ok(term)
    }

    fn externalize_expression_term(&self, term: InternalTerm<'a>) -> Result<ExpressionTerm, Infallible> {
        Ok(sealed(self.externalize_term(term)?).into())
    }

    /// Called for conditions that are terms: the evaluator inserts `true` if an OPTIONAL has no condition.
    fn internal_term_effective_boolean_value(&self, term: InternalTerm<'a>) -> Result<Option<bool>, Infallible> {
        let term = self.externalize_term(term)?;
        Ok(Value::of_term(term.as_ref()).effective_boolean())
    }

    fn internalize_expression_term(&self, term: ExpressionTerm) -> Result<InternalTerm<'a>, Infallible> {
        self.internalize_term(opened(term.into()))
    }
}
