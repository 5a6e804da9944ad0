//! Elements of a stream: what a window counts, orders and lets go.

use crate::model::EncodedTriple;
use crate::time::Timestamp;
use std::ops::Range;
use std::sync::Arc;

/// One accepted event: a set of triples at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub at: Timestamp,
    /// Number of the event in order of acceptance; terms of the event are in use from here on.
    pub seq: u64,
    pub triples: Arc<[EncodedTriple]>,
}

/// An element entering a window, with the key by which it will expire.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub element: Element,
    /// Time for windows by time, count for windows by count.
    pub expiry_key: i64,
    /// Which of the element's triples are in the window: all, except at the edge of `[TRIPLES n]`.
    pub part: Range<usize>,
}

impl Arrival {
    pub(crate) fn whole(element: Element, expiry_key: i64) -> Self {
        let part = 0..element.triples.len();
        Self { element, expiry_key, part }
    }

    pub(crate) fn triples(&self) -> &[EncodedTriple] {
        &self.element.triples[self.part.clone()]
    }
}
