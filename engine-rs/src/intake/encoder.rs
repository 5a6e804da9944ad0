//! Encodes the terms of events as ids; blank nodes get fresh names.

use super::body::Intake;
use super::document::{Token, TokenTerm};
use crate::encode::{Dictionary, RawTerm, TermKind};
use crate::model::{EncodedTriple, TermId};
use foldhash::fast::FixedState;
use hashbrown::{HashSet, HashTable};
use oxrdf::{NamedOrBlankNode, Term, TermRef, Triple};
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// Encodes the terms of messages; a blank node label denotes one node within one message.
pub(crate) struct Encoder<'a> {
    pub dictionary: &'a mut Dictionary,
    pub blanks: &'a mut Blanks,
    /// Whether the terms belong to static data.
    pub is_static: bool,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(dictionary: &'a mut Dictionary, blanks: &'a mut Blanks) -> Self {
        Self { dictionary, blanks, is_static: false }
    }

    /// An encoder for static data.
    pub(crate) fn lasting(dictionary: &'a mut Dictionary, blanks: &'a mut Blanks) -> Self {
        Self { dictionary, blanks, is_static: true }
    }

    /// Encodes triples as a set: duplicates are removed.
    pub(crate) fn triples<'t>(&mut self, triples: impl IntoIterator<Item = &'t Triple>) -> Vec<EncodedTriple> {
        let mut encoded: Vec<EncodedTriple> = Vec::new();
        for triple in triples {
            let predicate = self.intern(triple.predicate.as_ref().into());
            let subject = self.term(node(&triple.subject));
            encoded.push([subject, predicate, self.term(triple.object.as_ref())]);
        }
        drop_copies(&mut encoded, COMPARED_MAX, self.dictionary.hasher());
        encoded
    }

    /// The id of a term of a body.
    #[inline]
    pub(crate) fn token(&mut self, token: Token, intake: &Intake<'_>) -> TermId {
        match intake.term(token) {
            TokenTerm::Raw(raw) => self.raw(raw),
            TokenTerm::Triple(triple) => self.term(TermRef::Triple(triple)),
        }
    }

    /// The id of a term as text; a blank node label is scoped to this message.
    #[inline]
    pub(crate) fn raw(&mut self, term: RawTerm<'_>) -> TermId {
        match term.kind {
            TermKind::BLANK => self.blank(term.text),
            _ if self.is_static => self.dictionary.intern_static_raw(term),
            _ => self.dictionary.intern_raw(term),
        }
    }

    /// The id of a term; a blank node label is scoped to this message.
    pub(crate) fn term(&mut self, term: TermRef<'_>) -> TermId {
        match term {
            TermRef::BlankNode(node) => self.blank(node.as_str()),
            TermRef::Triple(triple) if has_blank(triple) => {
                let renamed = self.rename(triple);
                self.intern(Term::from(renamed).as_ref())
            }
            other => self.intern(other),
        }
    }

    /// Marks the id as used by this message and returns it.
    #[inline]
    pub(crate) fn use_again(&mut self, id: TermId) -> TermId {
        self.dictionary.use_again(id);
        id
    }

    fn blank(&mut self, label: &str) -> TermId {
        let Self { dictionary, blanks, .. } = self;
        blanks.node(label, || dictionary.fresh_blank())
    }

    fn intern(&mut self, term: TermRef<'_>) -> TermId {
        if self.is_static { self.dictionary.intern_static(term) } else { self.dictionary.intern(term) }
    }

    /// A triple term with its blank nodes renamed.
    fn rename(&mut self, triple: &Triple) -> Triple {
        let subject = match &triple.subject {
            NamedOrBlankNode::BlankNode(node) => match self.renamed(node.as_ref().into()) {
                Term::BlankNode(node) => node.into(),
                _ => triple.subject.clone(),
            },
            NamedOrBlankNode::NamedNode(_) => triple.subject.clone(),
        };
        Triple { subject, predicate: triple.predicate.clone(), object: self.renamed(triple.object.as_ref()) }
    }

    fn renamed(&mut self, term: TermRef<'_>) -> Term {
        let is_blank =
            matches!(term, TermRef::BlankNode(_)) || matches!(term, TermRef::Triple(inner) if has_blank(inner));
        if !is_blank {
            return term.into_owned();
        }
        let id = self.term(term);
        self.dictionary.term(id)
    }
}

/// The nodes that labels denote.
#[derive(Debug, Default)]
pub(crate) struct Blanks {
    labels: String,
    by_label: HashTable<(Range<usize>, TermId)>,
}

impl Blanks {
    pub(crate) fn clear(&mut self) {
        self.labels.clear();
        self.by_label.clear();
    }

    fn node(&mut self, label: &str, fresh: impl FnOnce() -> TermId) -> TermId {
        let Self { labels, by_label } = self;
        let hash = hash_of(label);
        if let Some((_, id)) = by_label.find(hash, |(place, _)| labels[place.clone()] == *label) {
            return *id;
        }
        let (start, id) = (labels.len(), fresh());
        labels.push_str(label);
        by_label.insert_unique(hash, (start..labels.len(), id), |(place, _)| hash_of(&labels[place.clone()]));
        id
    }
}

fn hash_of(label: &str) -> u64 {
    let mut hasher = FixedState::with_seed(0x5748_4F52_4C03).build_hasher();
    hasher.write(label.as_bytes());
    hasher.finish()
}

fn node(node: &NamedOrBlankNode) -> TermRef<'_> {
    match node {
        NamedOrBlankNode::NamedNode(node) => node.as_ref().into(),
        NamedOrBlankNode::BlankNode(node) => node.as_ref().into(),
    }
}

fn has_blank(triple: &Triple) -> bool {
    let in_object = match &triple.object {
        Term::BlankNode(_) => true,
        Term::Triple(inner) => has_blank(inner),
        _ => false,
    };
    in_object || matches!(triple.subject, NamedOrBlankNode::BlankNode(_))
}

/// Below this number of triples, duplicates are found by pairwise comparison.
const COMPARED_MAX: usize = 32;

/// Keeps the first of equal triples. Most events are too small for a hash table to pay off, so small ones are compared
/// pairwise.
pub(crate) fn drop_copies(triples: &mut Vec<EncodedTriple>, compared_max: usize, hasher: FixedState) {
    if triples.len() < compared_max {
        for i in (1..triples.len()).rev() {
            if triples[..i].contains(&triples[i]) {
                triples.remove(i);
            }
        }
        return;
    }
    let mut seen = HashSet::with_capacity_and_hasher(triples.len(), hasher);
    triples.retain(|triple| seen.insert(*triple));
}
