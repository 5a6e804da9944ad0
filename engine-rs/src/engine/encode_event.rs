//! From parsed quads to encoded events: blank nodes get fresh names, events their times.

use crate::encode::{Dictionary, WallTime};
use crate::error::EngineError;
use crate::model::{EncodedTriple, TermId};
use crate::time::Timestamp;
use oxrdf::vocab::xsd;
use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term, TermRef, Triple};
use std::collections::HashMap;

const GENERATED_AT: &str = "http://www.w3.org/ns/prov#generatedAtTime";

/// One event as it came: its triples, and its time if it has one.
#[derive(Debug)]
pub(crate) struct RawEvent {
    pub at: Option<Timestamp>,
    /// The name of its graph, if it came as a named one.
    pub graph: Option<NamedOrBlankNode>,
    pub triples: Vec<Triple>,
}

/// Cuts a document into events. Named graphs are events of their own, timed by
/// `<g> prov:generatedAtTime "…"` in the default graph; without named graphs all is one event.
pub(crate) fn cut(quads: Vec<Quad>, at: Option<Timestamp>) -> Result<Vec<RawEvent>, EngineError> {
    let mut graphs: Vec<(GraphName, Vec<Triple>)> = Vec::new();
    let mut places: HashMap<GraphName, usize> = HashMap::new();
    let mut default = Vec::new();
    for quad in quads {
        let triple = Triple { subject: quad.subject, predicate: quad.predicate, object: quad.object };
        if quad.graph_name == GraphName::DefaultGraph {
            default.push(triple);
            continue;
        }
        let place = *places.entry(quad.graph_name.clone()).or_insert_with(|| {
            graphs.push((quad.graph_name.clone(), Vec::new()));
            graphs.len() - 1
        });
        graphs[place].1.push(triple);
    }
    if graphs.is_empty() {
        return Ok(vec![RawEvent { at, graph: None, triples: default }]);
    }
    let mut times = HashMap::new();
    for triple in default.iter().filter(|triple| triple.predicate.as_str() == GENERATED_AT) {
        times.insert(graph_name(&triple.subject), time_of(&triple.object)?);
    }
    let event = |(name, triples): (GraphName, Vec<Triple>)| {
        let at = times.get(&name).copied().or(at);
        RawEvent { at, graph: node_of(name), triples }
    };
    let mut events: Vec<RawEvent> = graphs.into_iter().map(event).collect();
    // Graphs have no order in a document: events of one document come by time.
    events.sort_by_key(|event| event.at);
    Ok(events)
}

fn node_of(name: GraphName) -> Option<NamedOrBlankNode> {
    match name {
        GraphName::NamedNode(node) => Some(node.into()),
        GraphName::BlankNode(node) => Some(node.into()),
        GraphName::DefaultGraph => None,
    }
}

fn graph_name(subject: &NamedOrBlankNode) -> GraphName {
    match subject {
        NamedOrBlankNode::NamedNode(node) => node.clone().into(),
        NamedOrBlankNode::BlankNode(node) => node.clone().into(),
    }
}

/// A time in data: a dateTime with a zone, or an integer of milliseconds.
pub(crate) fn time_of(value: &Term) -> Result<Timestamp, EngineError> {
    let bad = || EngineError::BadTimestamp { value: value.to_string() };
    let Term::Literal(literal) = value else { return Err(bad()) };
    if let Ok(ms) = literal.value().parse::<i64>() {
        return Ok(Timestamp::from_millis(ms));
    }
    if literal.datatype() == xsd::DATE_TIME {
        if let Some(ms) = WallTime::parse(literal.value()).and_then(WallTime::epoch_ms) {
            return Ok(Timestamp::from_millis(ms));
        }
        let parsed: Option<oxsdatatypes::DateTime> = literal.value().parse().ok();
        if let Some(instant) = parsed.filter(|dt| dt.timezone_offset().is_some()) {
            let epoch: oxsdatatypes::DateTime = "1970-01-01T00:00:00Z".parse().map_err(|_| bad())?;
            let since = instant.checked_sub(epoch).ok_or_else(bad)?;
            let seconds = since.as_seconds().checked_mul(oxsdatatypes::Decimal::from(1000)).ok_or_else(bad)?;
            let ms = i128::from_be_bytes(seconds.to_be_bytes()).div_euclid(1_000_000_000_000_000_000);
            return i64::try_from(ms).map(Timestamp::from_millis).map_err(|_| bad());
        }
    }
    Err(bad())
}

/// The time an event carries under a predicate.
pub(crate) fn time_under(triples: &[Triple], predicate: &NamedNode) -> Result<Option<Timestamp>, EngineError> {
    let timed = triples.iter().find(|triple| triple.predicate == *predicate);
    timed.map(|triple| time_of(&triple.object)).transpose()
}

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
fn drop_copies(triples: &mut Vec<EncodedTriple>) {
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
