//! The output of the readers: triples as tokens, divided into events.
//!
//! A token holds the position of a term's text: in the body itself, or, if the body spells it differently, in a side
//! buffer. Nothing is encoded here, so a refused body leaves nothing behind. The buffers are reused for the next body:
//! in a steady state nothing is allocated.
//!
//! Named graphs are events of their own, timed by `<g> prov:generatedAtTime "…"` in the default graph, in the order of
//! their first quads; without named graphs the document is one event.

use super::event::{AssumedZone, GENERATED_AT, RawEvent, time_of};
use crate::encode::{RawTerm, TermKind, with_tags_in_form};
use crate::error::EngineError;
use crate::time::Timestamp;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term, TermRef, Triple};
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// A term of a body: its kind and the position of its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    /// The start of the text, whether it is in the side buffer, and the kind; for a triple term, its number.
    start: u64,
    end: u64,
}

const KIND_BITS: u32 = 7;
const BESIDE: u64 = 1 << KIND_BITS;
const START_SHIFT: u32 = KIND_BITS + 1;

impl Token {
    /// A term whose text is this part of the body.
    pub(super) fn in_body(kind: TermKind, text: Range<usize>) -> Self {
        Self { start: (text.start as u64) << START_SHIFT | u64::from(kind.as_byte()), end: text.end as u64 }
    }

    fn beside(kind: TermKind, text: Range<usize>) -> Self {
        let Self { start, end } = Self::in_body(kind, text);
        Self { start: start | BESIDE, end }
    }

    pub(super) fn kind(self) -> TermKind {
        TermKind::from_byte((self.start & (BESIDE - 1)) as u8)
    }

    fn is_beside(self) -> bool {
        self.start & BESIDE != 0
    }

    fn start(self) -> usize {
        (self.start >> START_SHIFT) as usize
    }

    /// The length of the text in bytes.
    pub(super) fn len(self) -> usize {
        self.text().len()
    }

    fn text(self) -> Range<usize> {
        self.start()..self.end as usize
    }
}

/// A borrowed view of a term of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenTerm<'a> {
    Raw(RawTerm<'a>),
    Triple(&'a Triple),
}

/// A triple of a body as tokens.
pub(crate) type TokenTriple = [Token; 3];

#[derive(Debug, Default)]
pub(crate) struct Tokens {
    /// Texts that the body spells differently.
    texts: String,
    /// Triple terms.
    nested: Vec<Triple>,
    triples: Vec<TokenTriple>,
    graphs: Graphs,
}

/// The graphs of the document that is being read.
#[derive(Debug, Default)]
struct Graphs {
    /// The first triple of the document.
    first: usize,
    names: Vec<Token>,
    by_name: HashTable<u32>,
    /// The graph number of each triple of the document, from 1; 0, and entries missing at the end, mean the default
    /// graph.
    of_triples: Vec<u32>,
    /// The start of each graph's triples, the default graph first; then the end of the last.
    starts: Vec<usize>,
    /// The stated time of each graph.
    times: Vec<Option<Token>>,
    sorted: Vec<TokenTriple>,
}

impl Tokens {
    /// Clears everything but keeps the memory, unless it is large.
    pub(super) fn clear(&mut self) {
        const KEPT_MAX: usize = 1 << 16;
        if self.triples.capacity().max(self.graphs.names.capacity()) > KEPT_MAX || self.texts.capacity() > KEPT_MAX * 64
        {
            *self = Self::default();
        }
        self.texts.clear();
        self.nested.clear();
        self.triples.clear();
        self.graphs.clear(0);
    }

    pub(crate) fn triples(&self, range: Range<usize>) -> &[TokenTriple] {
        &self.triples[range]
    }

    pub(crate) fn term<'a>(&'a self, token: Token, body: &'a str) -> TokenTerm<'a> {
        if token.kind() == TermKind::TRIPLE {
            return TokenTerm::Triple(&self.nested[token.start()]);
        }
        let text = if token.is_beside() { &self.texts[token.text()] } else { &body[token.text()] };
        TokenTerm::Raw(RawTerm::new(token.kind(), text))
    }

    /// The text of a term in the side buffer.
    pub(super) fn text_beside(&self, token: Token) -> Option<&str> {
        token.is_beside().then(|| &self.texts[token.text()])
    }

    fn raw<'a>(&'a self, token: Token, body: &'a str) -> Option<RawTerm<'a>> {
        match self.term(token, body) {
            TokenTerm::Raw(raw) => Some(raw),
            TokenTerm::Triple(_) => None,
        }
    }

    /// Begins a document, with graphs of its own.
    pub(super) fn begin_document(&mut self) {
        self.graphs.clear(self.triples.len());
    }

    /// Forgets the document that is being read.
    pub(super) fn drop_document(&mut self) {
        self.triples.truncate(self.graphs.first);
        self.begin_document();
    }

    pub(super) fn is_empty_document(&self) -> bool {
        self.triples.len() == self.graphs.first
    }

    pub(super) fn push(&mut self, triple: TokenTriple, graph: Option<Token>, body: &str) {
        if let Some(name) = graph {
            let number = self.graph_number(name, body);
            let place = self.triples.len() - self.graphs.first;
            self.graphs.of_triples.resize(place, 0);
            self.graphs.of_triples.push(number);
        }
        self.triples.push(triple);
    }

    pub(super) fn push_quad(&mut self, quad: &Quad, body: &str) {
        let graph = match &quad.graph_name {
            GraphName::DefaultGraph => None,
            GraphName::NamedNode(node) => Some(self.token(node.as_ref().into())),
            GraphName::BlankNode(node) => Some(self.token(node.as_ref().into())),
        };
        let triple = self.triple([node(&quad.subject), quad.predicate.as_ref().into(), quad.object.as_ref()]);
        self.push(triple, graph, body);
    }

    pub(super) fn push_triple(&mut self, triple: &Triple) {
        let triple = self.triple([node(&triple.subject), triple.predicate.as_ref().into(), triple.object.as_ref()]);
        self.triples.push(triple);
    }

    /// Takes over an event of another body, with its own blank node labels.
    pub(super) fn push_event(&mut self, event: &RawEvent, from: &Self, body: &str, labels: &str) -> RawEvent {
        let start = self.triples.len();
        for triple in from.triples(event.triples.clone()) {
            let triple = triple.map(|token| self.copy(token, from, body, labels));
            self.triples.push(triple);
        }
        let graph = event.graph.map(|name| self.copy(name, from, body, ""));
        RawEvent { at: event.at, graph, triples: start..self.triples.len() }
    }

    fn copy(&mut self, token: Token, from: &Self, body: &str, labels: &str) -> Token {
        match from.term(token, body) {
            TokenTerm::Triple(triple) => self.nest(relabelled(triple, labels)),
            TokenTerm::Raw(raw) if raw.kind == TermKind::BLANK => self.add(raw.kind, &[labels, raw.text]),
            TokenTerm::Raw(raw) => self.add(raw.kind, &[raw.text]),
        }
    }

    fn triple(&mut self, terms: [TermRef<'_>; 3]) -> TokenTriple {
        terms.map(|term| self.token(term))
    }

    fn token(&mut self, term: TermRef<'_>) -> Token {
        if let Some(term) = with_tags_in_form(term) {
            return self.token(term.as_ref());
        }
        if let TermRef::Triple(triple) = term {
            return self.nest(triple.clone());
        }
        let mut buffer = String::new();
        let raw = RawTerm::of(term, &mut buffer);
        self.add(raw.kind, &[raw.text])
    }

    fn nest(&mut self, triple: Triple) -> Token {
        self.nested.push(triple);
        let number = self.nested.len() - 1;
        Token::in_body(TermKind::TRIPLE, number..number)
    }

    /// Copies the text of a term into the side buffer.
    pub(super) fn add(&mut self, kind: TermKind, parts: &[&str]) -> Token {
        let start = self.texts.len();
        self.texts.extend(parts.iter().copied());
        Token::beside(kind, start..self.texts.len())
    }
}

/// Graphs and events.
impl Tokens {
    fn graph_number(&mut self, name: Token, body: &str) -> u32 {
        if let Some(last) = self.graphs.names.last()
            && self.raw(*last, body) == self.raw(name, body)
        {
            return self.graphs.names.len() as u32;
        }
        let hash = self.hash(name, body);
        if let Some(number) = self.find_graph(name, hash, body) {
            return number;
        }
        let mut by_name = std::mem::take(&mut self.graphs.by_name);
        self.graphs.names.push(name);
        let number = u32::try_from(self.graphs.names.len()).expect("fewer than 2³² graphs in a body");
        by_name.insert_unique(hash, number, |number| self.hash(self.graphs.names[*number as usize - 1], body));
        self.graphs.by_name = by_name;
        number
    }

    fn find_graph(&self, name: Token, hash: u64, body: &str) -> Option<u32> {
        let raw = self.raw(name, body);
        let is_same = |number: &u32| self.raw(self.graphs.names[*number as usize - 1], body) == raw;
        self.graphs.by_name.find(hash, is_same).copied()
    }

    fn hash(&self, name: Token, body: &str) -> u64 {
        let mut hasher = FixedState::with_seed(0x5748_4F52_4C02).build_hasher();
        if let Some(raw) = self.raw(name, body) {
            hasher.write(raw.text.as_bytes());
        }
        hasher.finish()
    }

    /// Ends the document; returns the number of its events.
    pub(super) fn end_document(&mut self, body: &str) -> usize {
        if self.graphs.names.is_empty() {
            return 1;
        }
        self.sort_by_graph();
        self.find_times(body);
        self.graphs.names.len()
    }

    /// An event of the document that has ended, by its number from zero.
    pub(super) fn event(
        &self,
        number: usize,
        at: Option<Timestamp>,
        body: &str,
        zone: Option<&AssumedZone>,
    ) -> Result<RawEvent, EngineError> {
        let Graphs { first, names, starts, times, .. } = &self.graphs;
        let Some(name) = names.get(number) else {
            return Ok(RawEvent { at, graph: None, triples: *first..self.triples.len() });
        };
        let at = match times[number] {
            Some(time) => Some(self.time(time, body, zone)?),
            None => at,
        };
        Ok(RawEvent { at, graph: Some(*name), triples: starts[number + 1]..starts[number + 2] })
    }

    /// The time that a token denotes.
    pub(crate) fn time(&self, token: Token, body: &str, zone: Option<&AssumedZone>) -> Result<Timestamp, EngineError> {
        match self.term(token, body) {
            TokenTerm::Raw(raw) => {
                let bad = || EngineError::BadTimestamp { value: raw.text.to_owned() };
                time_of(raw.to_term().ok_or_else(bad)?, zone)
            }
            TokenTerm::Triple(triple) => time_of(TermRef::Triple(triple), zone),
        }
    }

    /// Groups the triples by graph, keeping their order.
    fn sort_by_graph(&mut self) {
        let Self { triples, graphs, .. } = self;
        let Graphs { first, names, of_triples, starts, sorted, .. } = graphs;
        of_triples.resize(triples.len() - *first, 0);
        starts.clear();
        starts.resize(names.len() + 2, 0);
        of_triples.iter().for_each(|graph| starts[*graph as usize + 1] += 1);
        starts[0] = *first;
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        if of_triples.is_sorted() {
            return;
        }
        let own = &mut triples[*first..];
        sorted.clear();
        sorted.extend_from_slice(own);
        for (triple, graph) in sorted.iter().zip(of_triples) {
            let place = &mut starts[*graph as usize];
            own[*place - *first] = *triple;
            *place += 1;
        }
        // Filling has moved each start to the start of the next graph.
        starts.rotate_right(1);
        starts[0] = *first;
    }

    fn find_times(&mut self, body: &str) {
        let mut times = std::mem::take(&mut self.graphs.times);
        times.clear();
        times.resize(self.graphs.names.len(), None);
        for [subject, predicate, object] in &self.triples[self.graphs.starts[0]..self.graphs.starts[1]] {
            let says_time = self.raw(*predicate, body).is_some_and(|raw| raw.is_iri(GENERATED_AT));
            let graph = says_time.then(|| self.find_graph(*subject, self.hash(*subject, body), body)).flatten();
            if let Some(number) = graph {
                times[number as usize - 1] = Some(*object);
            }
        }
        self.graphs.times = times;
    }
}

impl Graphs {
    fn clear(&mut self, first: usize) {
        self.first = first;
        self.names.clear();
        self.by_name.clear();
        self.of_triples.clear();
    }
}

fn node(node: &NamedOrBlankNode) -> TermRef<'_> {
    match node {
        NamedOrBlankNode::NamedNode(node) => node.as_ref().into(),
        NamedOrBlankNode::BlankNode(node) => node.as_ref().into(),
    }
}

fn relabelled(triple: &Triple, prefix: &str) -> Triple {
    let blank = |node: &oxrdf::BlankNode| oxrdf::BlankNode::new_unchecked(format!("{prefix}{}", node.as_str()));
    let subject = match &triple.subject {
        NamedOrBlankNode::BlankNode(node) => blank(node).into(),
        named => named.clone(),
    };
    let object = match &triple.object {
        Term::BlankNode(node) => blank(node).into(),
        Term::Triple(inner) => Term::from(relabelled(inner, prefix)),
        other => other.clone(),
    };
    Triple { subject, predicate: triple.predicate.clone(), object }
}
