//! From the triples of events to encoded ones: blank nodes get fresh names.

use crate::encode::Dictionary;
use crate::model::{EncodedTriple, TermId};
use oxrdf::{NamedOrBlankNode, Term, TermRef, Triple};
use std::collections::HashMap;

/// Encodes the triples of messages; a blank node label is one node within one message.
pub(crate) struct Encoder<'a> {
    pub dictionary: &'a mut Dictionary,
    pub blanks: HashMap<String, TermId>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(dictionary: &'a mut Dictionary) -> Self {
        Self { dictionary, blanks: HashMap::new() }
    }

    /// The event as a set: a triple written twice is there once.
    pub(crate) fn event<'t>(
        &mut self,
        triples: impl IntoIterator<Item = &'t Triple>,
        is_static: bool,
    ) -> Vec<EncodedTriple> {
        let mut encoded: Vec<EncodedTriple> = Vec::new();
        for triple in triples {
            let subject = Term::from(triple.subject.clone());
            let predicate = self.intern(triple.predicate.as_ref().into(), is_static);
            encoded.push([self.term(&subject, is_static), predicate, self.term(&triple.object, is_static)]);
        }
        drop_copies(&mut encoded);
        encoded
    }

    /// The name of an event's graph; unbound when it has none.
    pub(crate) fn graph(&mut self, name: Option<&NamedOrBlankNode>) -> TermId {
        name.map_or(TermId::UNBOUND, |name| self.term(&name.clone().into(), false))
    }

    /// The id of a term; a blank node's label has a meaning in this message alone.
    pub(crate) fn term(&mut self, term: &Term, is_static: bool) -> TermId {
        match term {
            Term::BlankNode(node) => {
                let Self { dictionary, blanks } = self;
                *blanks.entry(node.as_str().to_owned()).or_insert_with(|| dictionary.fresh_blank())
            }
            Term::Triple(triple) if has_blank(triple) => {
                let renamed = self.rename(triple);
                self.intern(Term::from(renamed).as_ref(), is_static)
            }
            other => self.intern(other.as_ref(), is_static),
        }
    }

    fn intern(&mut self, term: TermRef<'_>, is_static: bool) -> TermId {
        if is_static { self.dictionary.intern_static(term) } else { self.dictionary.intern(term) }
    }

    /// A triple term with its blank nodes renamed.
    fn rename(&mut self, triple: &Triple) -> Triple {
        let subject = self.renamed(&triple.subject.clone().into());
        let subject = match subject {
            Term::BlankNode(node) => node.into(),
            _ => triple.subject.clone(),
        };
        Triple { subject, predicate: triple.predicate.clone(), object: self.renamed(&triple.object) }
    }

    fn renamed(&mut self, term: &Term) -> Term {
        let id = self.term(term, false);
        self.dictionary.term(id)
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

/// Keeps the first of equal triples; most events are too small for a table to pay.
pub(crate) fn drop_copies(triples: &mut Vec<EncodedTriple>) {
    if triples.len() < 32 {
        for i in (1..triples.len()).rev() {
            if triples[..i].contains(&triples[i]) {
                triples.remove(i);
            }
        }
        return;
    }
    let mut seen = std::collections::HashSet::with_capacity(triples.len());
    triples.retain(|triple| seen.insert(*triple));
}
