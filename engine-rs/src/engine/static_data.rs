//! Static data: graphs that are loaded, replaced, dropped and read while queries run.
//!
//! Running queries use the new data from their next evaluation on, when the version of the graphs has changed.

use super::Engine;
use super::timeline::Timeline;
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::expr::compare_terms;
use crate::intake::{Blanks, Encoder};
use crate::model::EncodedTriple;
use crate::parse::{RdfFormat, parse_rdf};
use crate::rare::Rare;
use crate::store::{Changes, GraphId};
use oxrdf::{BlankNode, GraphName, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The numbers of added and removed triples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpdateReport {
    pub inserted: usize,
    pub deleted: usize,
}

impl From<Changes> for UpdateReport {
    fn from(changes: Changes) -> Self {
        Self { inserted: changes.inserted, deleted: changes.deleted }
    }
}

impl Engine {
    /// Adds static data to a graph (`None`: the default graph); running queries use it from their next evaluation on.
    /// Returns the number of new triples.
    ///
    /// # Errors
    /// If the document does not parse, or the graph's name is not an absolute IRI.
    pub fn load(&mut self, graph: Option<&str>, rdf: &[u8], format: RdfFormat) -> Result<usize, EngineError> {
        let name = graph.map(named_node).transpose()?;
        let mut blanks = Blanks::default();
        let mut encoder = Encoder::lasting(&mut self.dictionary, &mut blanks);
        let mut change = self.graphs.begin();
        for (graph, triples) in by_graph(rdf, format, name.as_ref())? {
            let graph = encode_name(&graph, &mut encoder);
            for triple in encoder.triples(&triples) {
                change.insert(graph, triple);
            }
        }
        Ok(change.commit().inserted)
    }

    /// Replaces the content of a graph (`None`: the default graph) by this document; running queries use it from their
    /// next evaluation on. Ids in results that were drained before become invalid.
    ///
    /// # Errors
    /// If the document does not parse, the graph's name is not an absolute IRI, or a document for the default graph
    /// contains named graphs.
    pub fn replace_graph(
        &mut self,
        graph: Option<&str>,
        rdf: &[u8],
        format: RdfFormat,
    ) -> Result<UpdateReport, EngineError> {
        let name = graph.map(named_node).transpose()?;
        let document = by_graph(rdf, format, name.as_ref())?;
        let target = name.map_or(GraphName::DefaultGraph, GraphName::from);
        if document.iter().any(|(graph, _)| *graph != target) {
            return Err(EngineError::DocumentOfGraphs);
        }
        let triples: Vec<Triple> = document.into_iter().flat_map(|(_, triples)| triples).collect();
        let mut blanks = Blanks::default();
        let mut encoder = Encoder::lasting(&mut self.dictionary, &mut blanks);
        let graph = encode_name(&target, &mut encoder);
        let mut change = self.graphs.begin();
        change.replace(graph, &encoder.triples(&triples));
        let changes = change.commit();
        self.release_static_terms();
        Ok(changes.into())
    }

    /// Drops a graph; the default graph (`None`) is emptied. Running queries follow at their next evaluation. Ids in
    /// results that were drained before become invalid.
    ///
    /// # Errors
    /// If there is no such graph, or its name is not an absolute IRI.
    pub fn drop_graph(&mut self, graph: Option<&str>) -> Result<UpdateReport, EngineError> {
        let graph = self.known_graph(graph)?;
        let mut change = self.graphs.begin();
        change.drop_graph(graph);
        let changes = change.commit();
        self.release_static_terms();
        Ok(changes.into())
    }

    /// The graphs with their numbers of triples: the default graph first, the others by name.
    #[must_use]
    pub fn graph_names(&self) -> Vec<(GraphName, usize)> {
        let name = |id| match self.dictionary.term(id) {
            Term::NamedNode(node) => Some(GraphName::from(node)),
            Term::BlankNode(node) => Some(GraphName::from(node)),
            _ => None,
        };
        let mut names: Vec<_> = self.graphs.named().iter().collect();
        names.sort_unstable_by(|(a, _), (b, _)| compare_terms(**a, **b, &self.dictionary));
        let named = names.into_iter().filter_map(|(id, set)| Some((name(*id)?, set.len())));
        std::iter::once((GraphName::DefaultGraph, self.graphs.default_graph().len())).chain(named).collect()
    }

    /// The triples of a graph, in the order of their terms.
    ///
    /// # Errors
    /// When there is no such graph, or its name is not an absolute IRI.
    pub fn graph_triples(&self, graph: Option<&str>) -> Result<Vec<Triple>, EngineError> {
        let graph = self.known_graph(graph)?;
        let set = self.graphs.graph(graph);
        let mut triples: Vec<_> = set.into_iter().flat_map(|set| set.matching(None, None, None)).collect();
        triples.sort_unstable_by(|a, b| compare_triples(a, b, &self.dictionary));
        Ok(triples.iter().filter_map(|triple| decode(triple, &self.dictionary)).collect())
    }

    /// The triples of a graph as a document, in the order of their terms. N-Quads and TriG name the graph.
    ///
    /// # Errors
    /// Those of [`Engine::graph_triples`], and if the format cannot represent some term.
    pub fn graph_text(&self, graph: Option<&str>, format: RdfFormat) -> Result<Vec<u8>, EngineError> {
        self.copy_graph(graph, format)?.document()
    }

    /// Frees unused static terms, once much static data has been removed.
    pub(super) fn release_static_terms(&mut self) {
        if self.graphs.release_is_due(self.options.thresholds.removed_triples_min) {
            self.release_terms();
        }
    }

    /// Frees every unused term now: for tests of memory.
    #[doc(hidden)]
    pub fn release_terms(&mut self) {
        self.graphs.forget_changes();
        let held = self.timelines.iter().flat_map(Timeline::held_terms);
        Rare::StaticTermsReleased.note();
        self.dictionary.release_static(self.graphs.terms().chain(held));
        self.sweep();
    }

    /// A graph that exists; `_:label` denotes a graph named by a blank node.
    pub(super) fn known_graph(&self, graph: Option<&str>) -> Result<GraphId, EngineError> {
        let Some(graph) = graph else { return Ok(None) };
        let name: Term = match graph.strip_prefix("_:").map(BlankNode::new) {
            Some(Ok(node)) => node.into(),
            _ => named_node(graph)?.into(),
        };
        let id = self.dictionary.lookup(name.as_ref()).filter(|id| self.graphs.named().contains_key(id));
        id.map(Some).ok_or_else(|| unknown_graph(name.as_ref()))
    }
}

pub(super) fn compare_triples(a: &EncodedTriple, b: &EncodedTriple, dictionary: &Dictionary) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| compare_terms(*a, *b, dictionary));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// The name of a graph in documents; `_:label` is a blank node.
pub(super) fn graph_name(graph: Option<&str>) -> Result<GraphName, EngineError> {
    Ok(match graph {
        None => GraphName::DefaultGraph,
        Some(name) => match name.strip_prefix("_:").map(BlankNode::new) {
            Some(Ok(node)) => node.into(),
            _ => named_node(name)?.into(),
        },
    })
}

pub(super) fn decode([s, p, o]: &EncodedTriple, dictionary: &Dictionary) -> Option<Triple> {
    let subject: NamedOrBlankNode = match dictionary.term(*s) {
        Term::NamedNode(node) => node.into(),
        Term::BlankNode(node) => node.into(),
        _ => return None,
    };
    let Term::NamedNode(predicate) = dictionary.term(*p) else { return None };
    Some(Triple { subject, predicate, object: dictionary.term(*o) })
}

fn named_node(iri: &str) -> Result<NamedNode, EngineError> {
    NamedNode::new(iri).map_err(|_| EngineError::BadIri { iri: iri.to_owned() })
}

pub(super) fn unknown_graph(name: TermRef<'_>) -> EngineError {
    EngineError::UnknownGraph { graph: name.to_string() }
}

/// The triples of a document by graph, in text order; all of them in `target` if there is one.
fn by_graph(
    rdf: &[u8],
    format: RdfFormat,
    target: Option<&NamedNode>,
) -> Result<Vec<(GraphName, Vec<Triple>)>, EngineError> {
    let mut graphs: Vec<(GraphName, Vec<Triple>)> = Vec::new();
    let mut places: HashMap<GraphName, usize> = HashMap::new();
    for quad in parse_rdf(rdf, format, None)? {
        let graph = target.map_or(quad.graph_name, |name| name.clone().into());
        let place = *places.entry(graph).or_insert_with_key(|graph| {
            graphs.push((graph.clone(), Vec::new()));
            graphs.len() - 1
        });
        graphs[place].1.push(Triple { subject: quad.subject, predicate: quad.predicate, object: quad.object });
    }
    Ok(graphs)
}

fn encode_name(graph: &GraphName, encoder: &mut Encoder<'_>) -> GraphId {
    match graph {
        GraphName::DefaultGraph => None,
        GraphName::NamedNode(node) => Some(encoder.term(node.as_ref().into())),
        GraphName::BlankNode(node) => Some(encoder.term(node.as_ref().into())),
    }
}
