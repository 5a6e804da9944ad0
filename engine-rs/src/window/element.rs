//! Elements of a stream: what a window counts, orders and expires.

use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::model::{EncodedTriple, TermId};
use crate::time::Timestamp;
use std::ops::Range;
use std::sync::Arc;

/// One accepted event: a set of triples at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub at: Timestamp,
    /// Number of the event in order of acceptance. The dictionary keeps the terms of every event from the oldest one
    /// that a window may still show (`oldest_seq`).
    pub seq: u64,
    /// The name of the event's graph; unbound if it has none.
    pub graph: TermId,
    pub triples: EventTriples,
}

impl Element {
    pub(crate) fn save(&self, to: &mut Writer) {
        to.at(self.at);
        to.u64(self.seq);
        to.id(self.graph);
        to.list(self.triples.as_slice().iter(), |to, triple| to.ids(triple.iter().copied()));
    }

    pub(crate) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let (at, seq, graph) = (from.at()?, from.u64()?, from.id()?);
        let triples: Vec<EncodedTriple> = from.list(24, |from| Ok([from.id()?, from.id()?, from.id()?]))?;
        Ok(Self { at, seq, graph, triples: EventTriples::from(triples.as_slice()) })
    }
}

/// The triples of an event, shared by its windows. A single triple is stored inline, which is cheaper to copy.
#[derive(Clone, Debug)]
pub(crate) enum EventTriples {
    None,
    One(EncodedTriple),
    Many(Arc<[EncodedTriple]>),
}

impl EventTriples {
    pub(crate) fn as_slice(&self) -> &[EncodedTriple] {
        match self {
            Self::None => &[],
            Self::One(triple) => std::slice::from_ref(triple),
            Self::Many(triples) => triples,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.as_slice().len()
    }
}

impl From<&[EncodedTriple]> for EventTriples {
    fn from(triples: &[EncodedTriple]) -> Self {
        match triples {
            [] => Self::None,
            [triple] => Self::One(*triple),
            _ => Self::Many(triples.into()),
        }
    }
}

/// An element entering a window, with the key by which it will expire.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub element: Element,
    /// Time for windows by time, count for windows by count.
    pub expiry_key: i64,
    /// Which of the element's triples are in the window: all of them, except at the edge of `[TRIPLES n]`.
    pub part: Range<usize>,
}

impl Arrival {
    pub(crate) fn whole(element: Element, expiry_key: i64) -> Self {
        let part = 0..element.triples.len();
        Self { element, expiry_key, part }
    }

    pub(crate) fn triples(&self) -> &[EncodedTriple] {
        &self.element.triples.as_slice()[self.part.clone()]
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        self.element.save(to);
        to.i64(self.expiry_key);
        to.count(self.part.start);
        to.count(self.part.end);
    }

    pub(crate) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let (element, expiry_key) = (Element::restored(from)?, from.i64()?);
        let part = from.number()?..from.number()?;
        ensure(part.start <= part.end && part.end <= element.triples.len(), "an element is not whole")?;
        Ok(Self { element, expiry_key, part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_of_the_element_is_refused() {
        let triples: &[EncodedTriple] = &[[TermId::UNBOUND; 3]; 2];
        let element =
            Element { at: Timestamp::from_millis(1), seq: 1, graph: TermId::UNBOUND, triples: triples.into() };
        let restored = |part: Range<usize>| {
            let mut bytes = Writer::starting_with(0);
            Arrival { element: element.clone(), expiry_key: 1, part }.save(&mut bytes);
            Arrival::restored(&mut Reader::new(&bytes.into_bytes())).map(|arrival| arrival.part)
        };
        assert!([0..0, 1..2, 2..2, 0..2].into_iter().all(|part| restored(part.clone()).ok() == Some(part)));
        assert!(restored(0..3).is_err() && restored(Range { start: 2, end: 1 }).is_err());
    }
}
