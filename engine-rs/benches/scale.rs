//! A query in partitions, stage by stage, on one core: how many triples a second `route`, `absorb` and the merge take.
//!
//! A million triples of ten thousand sensors, in ten batches; windows tumble every ten seconds of event time. A figure
//! is printed only if the merged results equal those of one engine. Events are already encoded: the cost of reading
//! their text or columns is not included.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode, Term, Triple};
use whorl_engine::{
    Engine, EngineOptions, EventBatch, MergeEngine, ParseOptions, PartitionEngine, PushOptions, ScaledQuery, Timestamp,
};

const STREAM: &str = "http://ex/s";
const BATCHES: u64 = 10;
const PER_BATCH: u64 = 100_000;
const SENSORS: u64 = 10_000;
const QUERIES: [(&str, &str); 3] = [
    ("star join", "SELECT ?k ?v ?r WINDOWS WHERE { WINDOW :w { ?k :temp ?v ; :load ?r } FILTER(?v > 98) }"),
    ("group by the key", "SELECT ?k (AVG(?v) AS ?mean) WINDOWS WHERE { WINDOW :w { ?k :temp ?v } } GROUP BY ?k"),
    (
        "group by another",
        "SELECT ?r (AVG(?v) AS ?mean) WINDOWS WHERE { WINDOW :w { ?k :temp ?v ; :in ?r } } GROUP BY ?r",
    ),
];

fn node(name: &str, number: u64) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/building/{name}/{number}"))
}

fn triple(n: u64) -> Triple {
    let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let (sensor, predicate) =
        (node("sensor", mixed % SENSORS), |name: &str| NamedNode::new_unchecked(format!("http://ex/{name}")));
    match n % 3 {
        0 => Triple::new(sensor, predicate("temp"), Literal::from((mixed / 7 % 100) as i64)),
        1 => Triple::new(sensor, predicate("load"), Literal::from((mixed / 7 % 1_000) as f64 / 8.0)),
        _ => Triple::new(sensor, predicate("in"), node("room", mixed % 50)),
    }
}

fn batch(number: u64) -> EventBatch {
    let mut batch = EventBatch::new();
    for n in number * PER_BATCH..(number + 1) * PER_BATCH {
        let Triple { subject, predicate, object } = triple(n);
        batch.begin(Some(Timestamp::from_millis(n as i64 / 10)), n - number * PER_BATCH);
        let terms: [Term; 3] = [subject.into(), predicate.into(), object];
        let ids = terms.map(|term| batch.term(&term));
        batch.push(ids);
    }
    batch
}

fn rows_of_one_engine(text: &str, batches: &[EventBatch]) -> (usize, Duration) {
    let mut engine = Engine::new(EngineOptions::default());
    let query = engine.register(text, &ParseOptions::default()).expect("a query");
    let start = Instant::now();
    for batch in batches {
        engine.push_batch(STREAM, batch, 0..batch.len(), &PushOptions::default()).expect("events");
    }
    engine.close();
    let rows = engine.drain_json(query, "q").expect("answers").len();
    (rows, start.elapsed())
}

fn main() {
    let batches: Vec<EventBatch> = (0..BATCHES).map(batch).collect();
    let rate = |time: Duration| (BATCHES * PER_BATCH) as f64 / time.as_secs_f64() / 1e6;
    for (name, text) in QUERIES {
        let text = text.replace("WINDOWS", "FROM NAMED WINDOW :w ON :s [RANGE 10s]");
        let text = format!("PREFIX : <http://ex/> {text}");
        let (expected, alone) = rows_of_one_engine(&text, &batches);
        for partitions in [1, 2, 8] {
            let query = Arc::new(ScaledQuery::new(&text, ParseOptions::default(), partitions, &[]).expect("a query"));
            let mut engines: Vec<_> = (0..partitions)
                .map(|number| PartitionEngine::new(query.clone(), number, &[]).expect("a partition"))
                .collect();
            let mut merge = MergeEngine::new(query.clone()).expect("a merge");
            let (mut routing, mut absorbing, mut merging) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            let (mut bytes, mut answers) = (0, 0);
            for (number, batch) in batches.iter().enumerate() {
                let start = Instant::now();
                let chunks = query.route(STREAM, batch, number as u64 * PER_BATCH).expect("chunks");
                routing += start.elapsed();
                bytes += chunks.iter().map(Vec::len).sum::<usize>();
                let start = Instant::now();
                for (engine, chunk) in engines.iter_mut().zip(&chunks) {
                    engine.absorb(&[chunk]).expect("a batch");
                }
                absorbing += start.elapsed();
                let start = Instant::now();
                let partials = engines.iter_mut().map(|engine| engine.drain().expect("partial answers")).collect();
                answers += merge.merge(partials).expect("answers").len();
                merging += start.elapsed();
            }
            engines.iter_mut().for_each(PartitionEngine::close);
            let partials = engines.iter_mut().map(|engine| engine.drain().expect("partial answers")).collect();
            answers += merge.merge(partials).expect("answers").len();
            assert_eq!(answers, expected, "as many answers as one engine gives");
            println!(
                "{name}, {partitions} partitions: route {:.2} M/s, absorb {:.2} M/s, drain and merge {:.2} M/s, {:.1} bytes per triple; one engine {:.2} M/s",
                rate(routing),
                rate(absorbing),
                rate(merging),
                bytes as f64 / (BATCHES * PER_BATCH) as f64,
                rate(alone),
            );
        }
    }
}
