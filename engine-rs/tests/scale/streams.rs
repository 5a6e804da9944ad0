//! Random streams, cut into batches.

use whorl_engine::rdf::{Literal, NamedNode, Term, Triple};

pub(crate) const STREAMS: [&str; 2] = ["http://ex/s", "http://ex/t"];

/// A linear congruence: the same numbers everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn chance(&mut self, of_ten: u64) -> bool {
        self.below(10) < of_ten
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) stream: usize,
    pub(crate) at: i64,
    pub(crate) triples: Vec<Triple>,
}

pub(crate) fn iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://ex/{name}"))
}

/// A key; one of them is hot.
pub(crate) fn key(random: &mut Random) -> NamedNode {
    let number = if random.chance(4) { 0 } else { random.below(7) };
    iri(&format!("k{number}"))
}

pub(crate) fn value(random: &mut Random) -> Term {
    match random.below(12) {
        0..6 => Literal::from(random.below(20) as i64 - 5).into(),
        6..8 => Literal::new_typed_literal(
            format!("{}.{}", random.below(9), 1 + random.below(9)),
            oxrdf::vocab::xsd::DECIMAL,
        )
        .into(),
        8..10 => Literal::from([0.1, 1e16, -1e16, 2.5e-7, 3.3, 7e200][random.below(6) as usize]).into(),
        10 => Literal::new_typed_literal(format!("0{}", random.below(5)), oxrdf::vocab::xsd::INTEGER).into(),
        _ if random.chance(2) => Literal::new_simple_literal("no number").into(),
        _ => Literal::from(random.below(4) as i64).into(),
    }
}

pub(crate) fn triple(random: &mut Random, stream: usize) -> Triple {
    let subject = key(random);
    match (stream, random.below(6)) {
        (0, 0..3) => Triple::new(subject, iri("temp"), value(random)),
        (0, 3) => Triple::new(subject, iri("in"), iri(&format!("r{}", random.below(3)))),
        (0, 4) => Triple::new(subject, iri("near"), key(random)),
        (1, 0..3) => Triple::new(subject, iri("load"), value(random)),
        (1, 3) => Triple::new(key(random), iri("about"), subject),
        _ => Triple::new(subject, iri("unread"), value(random)),
    }
}

/// Batches of events, each in the order of its source. Times mostly grow; some events come late.
pub(crate) fn batches(random: &mut Random, lateness: i64) -> Vec<Vec<Event>> {
    let mut clock = 10_000 + random.below(3_000) as i64;
    let mut batches = Vec::new();
    for _ in 0..4 + random.below(5) {
        let mut batch = Vec::new();
        for _ in 0..random.below(22) {
            clock += match random.below(12) {
                0..3 => 0,
                3..9 => random.below(300) as i64,
                // Exactly on a border, or one beside it.
                9 => (1_000 - clock.rem_euclid(1_000)) + random.below(3) as i64 - 1,
                10 => 1_000,
                _ if random.chance(3) => 7_000,
                _ => 1,
            };
            let back = match random.below(8) {
                0 => random.below(1 + lateness.max(1) as u64) as i64,
                1 if random.chance(3) => random.below(3_000) as i64,
                _ => 0,
            };
            let stream = random.below(2) as usize;
            let n_triples = if random.chance(2) { random.below(4) } else { 1 };
            let triples = (0..n_triples).map(|_| triple(random, stream)).collect();
            batch.push(Event { stream, at: clock - back, triples });
        }
        batches.push(batch);
    }
    batches
}
