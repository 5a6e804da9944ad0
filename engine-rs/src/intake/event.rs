//! Events as they come: cut from documents, and the times they carry.

use crate::encode::WallTime;
use crate::error::EngineError;
use crate::time::Timestamp;
use oxrdf::vocab::xsd;
use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use std::collections::HashMap;

pub(super) const GENERATED_AT: &str = "http://www.w3.org/ns/prov#generatedAtTime";

/// One event as it came: its triples, and its time if it has one.
#[derive(Debug)]
pub(crate) struct RawEvent {
    pub at: Option<Timestamp>,
    /// The name of its graph, if it came as a named one.
    pub graph: Option<NamedOrBlankNode>,
    pub triples: Vec<Triple>,
}

/// An event of a document, and its number among them; or why it is none.
pub(crate) type Cut = (u64, Result<RawEvent, EngineError>);

/// Cuts a document into events. Named graphs are events of their own, timed by
/// `<g> prov:generatedAtTime "…"` in the default graph, in the order of their first quads; without named graphs all is
/// one event.
pub(crate) fn cut(quads: Vec<Quad>, at: Option<Timestamp>) -> Vec<Cut> {
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
        return vec![(0, Ok(RawEvent { at, graph: None, triples: default }))];
    }
    let mut times = HashMap::new();
    for triple in default.iter().filter(|triple| triple.predicate.as_str() == GENERATED_AT) {
        times.insert(graph_name(&triple.subject), time_of(&triple.object));
    }
    let event = |(index, (name, triples)): (usize, (GraphName, Vec<Triple>))| {
        let at = times.get(&name).map_or(Ok(at), |time| time.clone().map(Some));
        (index as u64, at.map(|at| RawEvent { at, graph: node_of(name), triples }))
    };
    // In the order in which the document names them, so that it means what its events mean one after the other.
    graphs.into_iter().enumerate().map(event).collect()
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

/// A time written as text: integer milliseconds, or a dateTime with a zone.
#[must_use]
pub fn read_time(text: &str) -> Option<Timestamp> {
    time_of(&oxrdf::Literal::new_typed_literal(text, xsd::DATE_TIME).into()).ok()
}

/// The time an event carries under a predicate.
pub(crate) fn time_under(triples: &[Triple], predicate: &NamedNode) -> Result<Option<Timestamp>, EngineError> {
    let timed = triples.iter().find(|triple| triple.predicate == *predicate);
    timed.map(|triple| time_of(&triple.object)).transpose()
}
