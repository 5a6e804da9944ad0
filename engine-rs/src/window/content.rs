//! The triples of a window as a graph. Kept only if an operator re-evaluates over them, or if the report policy needs
//! to know whether the content, as a set, has changed.

use super::element::Arrival;
use crate::codec::{Decoded, Reader, Writer};
use crate::model::EncodedTriple;
use crate::store::TripleSet;
use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};

#[derive(Debug, Default)]
pub(super) struct Content {
    arrivals: VecDeque<Arrival>,
    copies: HashMap<EncodedTriple, u32>,
    triples: TripleSet,
    /// Increases with every change of the set.
    version: u64,
}

impl Content {
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn triples(&self) -> &TripleSet {
        &self.triples
    }

    /// Adds the triples; appends those that were not present, with +1.
    pub(super) fn arrive(&mut self, arrival: &Arrival, changes: &mut Vec<(EncodedTriple, i64)>) {
        for triple in arrival.triples() {
            let copies = self.copies.entry(*triple).or_insert(0);
            *copies += 1;
            if *copies == 1 {
                self.triples.insert(*triple);
                self.version += 1;
                changes.push((*triple, 1));
            }
        }
        let place = self.arrivals.partition_point(|a| a.expiry_key <= arrival.expiry_key);
        self.arrivals.insert(place, arrival.clone());
    }

    /// Removes what expires; appends the triples whose last copy left, with −1.
    pub(super) fn expire_below(&mut self, bound: i64, changes: &mut Vec<(EncodedTriple, i64)>) {
        while self.arrivals.front().is_some_and(|a| a.expiry_key < bound) {
            let Some(arrival) = self.arrivals.pop_front() else { return };
            for triple in arrival.triples() {
                if let Entry::Occupied(mut copies) = self.copies.entry(*triple) {
                    *copies.get_mut() -= 1;
                    if *copies.get() == 0 {
                        copies.remove();
                        self.triples.remove(triple);
                        self.version += 1;
                        changes.push((*triple, -1));
                    }
                }
            }
        }
    }

    /// Panics if copies and the set are not those of the arrivals.
    pub(super) fn check(&self) {
        let mut copies: HashMap<EncodedTriple, u32> = HashMap::new();
        for triple in self.arrivals.iter().flat_map(Arrival::triples) {
            *copies.entry(*triple).or_insert(0) += 1;
        }
        assert!(copies == self.copies, "content of a window: the copies of a triple");
        assert_eq!(self.triples.len(), copies.len(), "content of a window: its triples");
        let in_order = self.arrivals.iter().zip(self.arrivals.iter().skip(1));
        assert!(in_order.into_iter().all(|(a, b)| a.expiry_key <= b.expiry_key), "content of a window: its order");
    }

    /// Saves only the arrivals: copies and the set follow from them.
    pub(super) fn save(&self, to: &mut Writer) {
        to.u64(self.version);
        to.list(self.arrivals.iter(), |to, arrival| arrival.save(to));
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let version = from.u64()?;
        let arrivals: VecDeque<Arrival> = from.list(56, Arrival::restored)?;
        let mut copies = HashMap::new();
        for triple in arrivals.iter().flat_map(Arrival::triples) {
            *copies.entry(*triple).or_insert(0) += 1;
        }
        let triples = copies.keys().copied().collect();
        Ok(Self { arrivals, copies, triples, version })
    }
}
