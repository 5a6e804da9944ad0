//! Copies of the data that a reader needs, so that the reader and the engine can run at the same time.
//!
//! The engine copies only ids and their terms; building tables, sorting, evaluating and rendering happen on the thread
//! that owns the copy. A copy is made between two calls, so its reader never sees a partial change.

use super::Engine;
use super::asking::{AskOptions, asked_query, write_found};
use super::registry::QueryId;
use super::static_data::{compare_triples, decode, graph_name};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::limits::{Budget, Deadline, Limits, within};
use crate::model::{EncodedTriple, TermId};
use crate::parse::{PlainQuery, RdfFormat};
use crate::plan::{Reads, Wanted};
use crate::reevaluate::{Found, ReadableWindow, ask_once};
use crate::sink::{AnswerFormat, write_graph};
use crate::store::{StaticGraphs, TripleSet};
use oxrdf::{GraphName, NamedNode, Term};
use std::collections::{HashMap, HashSet};

/// The cost of copying a triple, apart from its terms: the same as reading it.
const TRIPLE_UNITS: u64 = 4;

/// A copy of the data for one document.
#[derive(Debug)]
pub struct Copied(Content);

#[derive(Debug)]
enum Content {
    Question { asked: Box<PlainQuery>, format: AnswerFormat, limits: Box<Limits>, graphs: Box<CopiedGraphs> },
    Answer { found: Found, format: AnswerFormat },
    Graph { name: GraphName, format: RdfFormat, triples: CopiedTriples },
}

impl Copied {
    /// The document.
    ///
    /// # Errors
    /// As [`Engine::ask`], [`Engine::answer`] and [`Engine::graph_text`].
    pub fn document(self) -> Result<Vec<u8>, EngineError> {
        self.document_until(None)
    }

    /// Like [`Copied::document`]; an ad-hoc query has a time limit in milliseconds by this clock.
    ///
    /// # Errors
    /// Those of [`Copied::document`], and an exceeded time limit.
    pub fn document_within(self, allowed_ms: u64, now_ns: fn() -> u64) -> Result<Vec<u8>, EngineError> {
        self.document_until(Some(Deadline::after(allowed_ms, now_ns)))
    }

    fn document_until(self, deadline: Option<Deadline>) -> Result<Vec<u8>, EngineError> {
        match self.0 {
            Content::Question { asked, format, limits, graphs } => {
                let mut budget = Budget::until(*limits, deadline);
                let graphs = graphs.readable();
                let windows = graphs.windows();
                let found = within(|| ask_once(&asked, &graphs.fixed, &windows, &graphs.dictionary, &mut budget));
                let found = found.map_err(|breach| EngineError::question_too_costly(&breach))?;
                write_found(found.map_err(|error| EngineError::AskFailed { reason: error.to_string() })?, format)
            }
            Content::Answer { found, format } => write_found(found, format),
            Content::Graph { name, format, triples } => {
                let (dictionary, mut triples) = triples.readable();
                triples.sort_unstable_by(|a, b| compare_triples(a, b, &dictionary));
                let triples = triples.iter().filter_map(|triple| decode(triple, &dictionary));
                write_graph(AnswerFormat::Rdf(format), triples.map(|triple| triple.in_graph(name.clone())))
            }
        }
    }
}

impl Engine {
    /// Copies the data that an ad-hoc query can read, with a time limit in milliseconds by the injected clock.
    ///
    /// # Errors
    /// Those of [`Engine::ask`], and if copying exceeds the time limit or the limit on work.
    pub fn copy_for_question(
        &self,
        text: &str,
        format: AnswerFormat,
        options: &AskOptions,
        allowed_ms: u64,
    ) -> Result<Copied, EngineError> {
        let asked = asked_query(text, options)?;
        let windows = self.readable_windows();
        self.check_windows_kept(&asked, &windows)?;
        let limits = self.options.limits;
        let mut copying = Copying::of(&self.dictionary, Budget::until(limits, self.deadline(allowed_ms)));
        let reads = Reads::of(&asked.query);
        let graphs = within(|| copying.graphs(&self.graphs, &windows, &reads));
        let graphs = graphs.map_err(|breach| EngineError::question_too_costly(&breach))?;
        let graphs = Box::new(CopiedGraphs { terms: copying.terms, ..graphs });
        Ok(Copied(Content::Question { asked: Box::new(asked), format, limits: Box::new(limits), graphs }))
    }

    /// Copies the current result of a query.
    ///
    /// # Errors
    /// As [`Engine::answer`].
    pub fn copy_answer(&mut self, id: QueryId, format: AnswerFormat) -> Result<Copied, EngineError> {
        Ok(Copied(Content::Answer { found: self.current_answer(id)?, format }))
    }

    /// Copies a static graph.
    ///
    /// # Errors
    /// As [`Engine::graph_triples`].
    pub fn copy_graph(&self, graph: Option<&str>, format: RdfFormat) -> Result<Copied, EngineError> {
        let set = self.graphs.graph(self.known_graph(graph)?);
        let mut copying = Copying::of(&self.dictionary, Budget::default());
        let triples = set.map(|set| copying.triples(set, &[Wanted::default()])).unwrap_or_default();
        let triples = CopiedTriples { terms: copying.terms, triples };
        Ok(Copied(Content::Graph { name: document_graph(graph, format)?, format, triples }))
    }
}

/// The name by which a document can refer to its graph; only N-Quads and TriG can.
fn document_graph(graph: Option<&str>, format: RdfFormat) -> Result<GraphName, EngineError> {
    let names_graph = matches!(format, RdfFormat::NQuads | RdfFormat::TriG);
    graph_name(graph.filter(|_| names_graph))
}

/// Copies triples, and each of their terms once.
struct Copying<'a> {
    dictionary: &'a Dictionary,
    known: HashSet<TermId>,
    terms: Vec<(TermId, Term)>,
    budget: Budget,
}

impl<'a> Copying<'a> {
    fn of(dictionary: &'a Dictionary, budget: Budget) -> Self {
        Self { dictionary, known: HashSet::new(), terms: Vec::new(), budget }
    }

    fn graphs(&mut self, fixed: &StaticGraphs, windows: &[ReadableWindow<'_>], reads: &Reads) -> CopiedGraphs {
        let wanted = &reads.patterns;
        let default = if reads.default_graph { self.triples(fixed.default_graph(), wanted) } else { vec![] };
        let is_read = |name: TermId| match self.dictionary.term(name) {
            Term::NamedNode(node) => reads.names(&node),
            _ => reads.any_name,
        };
        let read: Vec<_> = fixed.named().iter().filter(|(name, _)| is_read(**name)).collect();
        let named = read.into_iter().map(|(name, set)| (self.term(*name), self.triples(set, wanted))).collect();
        let read = windows.iter().filter(|w| reads.names.contains(&w.name) || (reads.any_name && w.is_listed));
        let windows = read.map(|w| (w.name.clone(), w.is_listed, self.triples(w.content, wanted))).collect();
        CopiedGraphs { terms: vec![], default, named, windows }
    }

    /// The triples that match any of the patterns; duplicates are possible.
    fn triples(&mut self, set: &TripleSet, wanted: &[Wanted]) -> Vec<EncodedTriple> {
        let mut triples = Vec::new();
        for pattern in wanted {
            let Some([s, p, o]) = self.ids(pattern) else { continue };
            for triple in set.matching(s, p, o) {
                self.budget.spend(TRIPLE_UNITS);
                triple.iter().for_each(|id| _ = self.term(*id));
                triples.push(triple);
            }
        }
        triples
    }

    /// `None` if one of the terms is in no triple.
    fn ids(&self, pattern: &Wanted) -> Option<[Option<TermId>; 3]> {
        let mut ids = [None; 3];
        for (id, term) in ids.iter_mut().zip(pattern) {
            if let Some(term) = term {
                *id = Some(self.dictionary.lookup(term.as_ref())?);
            }
        }
        Some(ids)
    }

    fn term(&mut self, id: TermId) -> TermId {
        if id.slot().is_some() && self.known.insert(id) {
            let term = self.dictionary.term(id);
            self.budget.make_text(crate::reevaluate::text_bytes(&term));
            self.terms.push((id, term));
        }
        id
    }
}

/// Triples as ids of the engine, and the terms of these ids.
#[derive(Debug)]
struct CopiedTriples {
    terms: Vec<(TermId, Term)>,
    triples: Vec<EncodedTriple>,
}

impl CopiedTriples {
    fn readable(self) -> (Dictionary, Vec<EncodedTriple>) {
        let (dictionary, ids) = interned(&self.terms);
        let triples = self.triples.iter().map(|triple| triple.map(|id| renamed(id, &ids)));
        let triples = triples.collect();
        (dictionary, triples)
    }
}

#[derive(Debug)]
struct CopiedGraphs {
    terms: Vec<(TermId, Term)>,
    default: Vec<EncodedTriple>,
    named: Vec<(TermId, Vec<EncodedTriple>)>,
    /// The graphs with their names, and whether `GRAPH ?g` finds them.
    windows: Vec<(NamedNode, bool, Vec<EncodedTriple>)>,
}

/// Graphs of a copy, with a dictionary of their own.
struct ReadableGraphs {
    dictionary: Dictionary,
    fixed: StaticGraphs,
    windows: Vec<(NamedNode, bool, TripleSet)>,
}

impl CopiedGraphs {
    fn readable(self) -> ReadableGraphs {
        let (dictionary, ids) = interned(&self.terms);
        let set = |triples: Vec<EncodedTriple>| -> TripleSet {
            triples.iter().map(|triple| triple.map(|id| renamed(id, &ids))).collect()
        };
        let named = self.named.into_iter().map(|(name, triples)| (renamed(name, &ids), set(triples))).collect();
        let fixed = StaticGraphs::of(set(self.default), named);
        let windows = self.windows.into_iter().map(|(name, listed, triples)| (name, listed, set(triples))).collect();
        ReadableGraphs { dictionary, fixed, windows }
    }
}

impl ReadableGraphs {
    fn windows(&self) -> Vec<ReadableWindow<'_>> {
        self.windows
            .iter()
            .map(|(name, is_listed, content)| ReadableWindow { name: name.clone(), content, is_listed: *is_listed })
            .collect()
    }
}

fn interned(terms: &[(TermId, Term)]) -> (Dictionary, HashMap<TermId, TermId>) {
    let mut dictionary = Dictionary::new(0);
    let ids = terms.iter().map(|(id, term)| (*id, dictionary.intern(term.as_ref()))).collect();
    (dictionary, ids)
}

/// Ids that hold their value mean the same in every dictionary.
fn renamed(id: TermId, ids: &HashMap<TermId, TermId>) -> TermId {
    ids.get(&id).copied().unwrap_or(id)
}
