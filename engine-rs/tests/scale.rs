//! A query in partitions says what one engine says that is given each batch sorted by time: instant by instant, byte
//! by byte.
//!
//! Streams are random and favour trouble: equal timestamps, window borders ± 1 ms, gaps, copies, events behind the
//! watermark, one hot key. Batches are cut at random, routed by several calls, their chunks shuffled; engines are saved and
//! restored in between. What this cannot see is a fault that the embedded engine has too: for that there is the
//! oracle.

use std::sync::Arc;
use whorl_engine::rdf::{Literal, NamedNode, Term, Triple};
use whorl_engine::{
    Answered, Engine, EngineOptions, EventBatch, MergeEngine, ParseOptions, PartitionEngine, QueryId, QueryResult,
    RdfFormat, Reported, ReportedRow, Rows, ScaledQuery, Span, StreamOptions, Timestamp,
};

const PREFIX: &str = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";
const STREAMS: [&str; 2] = ["http://ex/s", "http://ex/t"];
const STATIC: &str = "@prefix : <http://ex/> . :k0 :room :r0 . :k1 :room :r0 . :k2 :room :r1 . :k3 :room :r1 . :r0 :level 1 . :r1 :level 2 .";

/// A linear congruence: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn chance(&mut self, of_ten: u64) -> bool {
        self.below(10) < of_ten
    }
}

#[derive(Clone, Debug)]
struct Event {
    stream: usize,
    at: i64,
    triples: Vec<Triple>,
}

fn iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://ex/{name}"))
}

/// A key; one of them is hot.
fn key(random: &mut Random) -> NamedNode {
    let number = if random.chance(4) { 0 } else { random.below(7) };
    iri(&format!("k{number}"))
}

fn value(random: &mut Random) -> Term {
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

fn triple(random: &mut Random, stream: usize) -> Triple {
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
fn batches(random: &mut Random, lateness: i64) -> Vec<Vec<Event>> {
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

fn stream_options(lateness: i64) -> StreamOptions {
    StreamOptions { lateness: (lateness > 0).then(|| Span::from_millis(lateness)), ..StreamOptions::default() }
}

fn cells(rows: &Rows, sign: i8, engine: &Engine) -> Vec<ReportedRow> {
    let cell = |id: &whorl_engine::TermId| id.is_bound().then(|| engine.dictionary().term(*id).to_string());
    rows.iter().map(|row| ReportedRow { sign, cells: row.iter().map(cell).collect() }).collect()
}

fn said(result: &QueryResult, engine: &Engine) -> Reported {
    let rows = match &result.answer {
        Answered::Bindings { inserted, deleted } | Answered::Graph { inserted, deleted } => {
            let mut rows = cells(inserted, 1, engine);
            rows.extend(cells(deleted, -1, engine));
            rows
        }
        Answered::Boolean(value) => {
            let cell = Term::from(Literal::from(*value)).to_string();
            vec![ReportedRow { sign: 1, cells: vec![Some(cell)] }]
        }
    };
    Reported { seq: result.seq, at: result.at, windows: result.windows.to_vec(), rows }
}

/// One engine that is given each batch sorted by time.
struct Embedded {
    engine: Engine,
    query: QueryId,
}

impl Embedded {
    fn new(text: &str, streams: &[String], lateness: i64) -> Self {
        let mut engine = Engine::new(EngineOptions::default());
        for stream in streams {
            engine.declare_stream(stream, stream_options(lateness)).expect("a stream");
        }
        engine.load(None, STATIC.as_bytes(), RdfFormat::Turtle).expect("static data");
        let query = engine.register(text, &ParseOptions::default()).expect(text);
        Self { engine, query }
    }

    fn take(&mut self, batch: &[(usize, &Event)]) {
        let mut sorted = batch.to_vec();
        sorted.sort_by_key(|(number, event)| (event.at, *number));
        for (_, event) in sorted {
            let at = Timestamp::from_millis(event.at);
            self.engine.push_triples(STREAMS[event.stream], at, &event.triples).expect("an event");
        }
    }

    fn drain(&mut self) -> Vec<Reported> {
        let results = self.engine.drain(self.query).expect("answers");
        results.iter().map(|result| said(result, &self.engine)).collect()
    }
}

/// The same query in partitions.
struct Spread {
    query: Arc<ScaledQuery>,
    partitions: Vec<PartitionEngine>,
    merge: MergeEngine,
}

impl Spread {
    fn new(query: ScaledQuery) -> Self {
        let query = Arc::new(query);
        let graphs = [(None, STATIC.as_bytes(), RdfFormat::Turtle)];
        let partition = |number| PartitionEngine::new(query.clone(), number, &graphs).expect("a partition");
        let partitions = (0..query.partitions()).map(partition).collect();
        Self { merge: MergeEngine::new(query.clone()).expect("a merge"), query, partitions }
    }

    /// Routes runs of events of one stream, as tasks would, and shuffles the chunks.
    fn take(&mut self, batch: &[(usize, &Event)], random: &mut Random) {
        let mut chunks: Vec<Vec<Vec<u8>>> = self.partitions.iter().map(|_| Vec::new()).collect();
        let mut rest = batch;
        while let Some((first, event)) = rest.first() {
            let same = rest.iter().take_while(|(_, other)| other.stream == event.stream).count();
            let (run, after) = rest.split_at(1 + random.below(same as u64) as usize);
            rest = after;
            let routed = self.query.route(STREAMS[event.stream], &event_batch(run), *first as u64).expect("chunks");
            assert_eq!(routed.len(), chunks.len(), "one chunk per partition");
            routed.into_iter().zip(&mut chunks).for_each(|(chunk, of)| of.push(chunk));
        }
        for (partition, chunks) in self.partitions.iter_mut().zip(&mut chunks) {
            for i in (1..chunks.len()).rev() {
                chunks.swap(i, random.below(1 + i as u64) as usize);
            }
            partition.absorb(chunks).expect("a batch");
        }
    }

    fn drain(&mut self) -> Vec<Reported> {
        let partials = self.partitions.iter_mut().map(|partition| partition.drain().expect("partial answers"));
        let partials = partials.collect();
        self.merge.merge(partials).expect("answers")
    }

    fn restart(&mut self, random: &mut Random) {
        for (number, partition) in self.partitions.iter_mut().enumerate() {
            if random.chance(4) {
                let snapshot = partition.snapshot();
                *partition =
                    PartitionEngine::restore(self.query.clone(), number as u32, &snapshot).expect("the partition");
                assert_eq!(partition.snapshot(), snapshot);
            }
        }
        if random.chance(4) {
            let snapshot = self.merge.snapshot();
            self.merge = MergeEngine::restore(self.query.clone(), &snapshot).expect("the merge");
            assert_eq!(self.merge.snapshot(), snapshot);
        }
    }
}

fn event_batch(run: &[(usize, &Event)]) -> EventBatch {
    let mut batch = EventBatch::new();
    for (index, (_, event)) in run.iter().enumerate() {
        batch.begin(Some(Timestamp::from_millis(event.at)), index as u64);
        for Triple { subject, predicate, object } in &event.triples {
            let ids = [subject.clone().into(), predicate.clone().into(), object.clone()].map(|term| batch.term(&term));
            batch.push(ids);
        }
    }
    batch
}

fn scaled(text: &str, partitions: u32, lateness: i64) -> ScaledQuery {
    let streams = streams_in(text);
    let streams: Vec<_> = streams.iter().map(|iri| (iri.clone(), stream_options(lateness))).collect();
    ScaledQuery::new(text, ParseOptions::default(), partitions, &streams).expect(text)
}

fn streams_in(text: &str) -> Vec<String> {
    let names = [(":s [", STREAMS[0]), (":t [", STREAMS[1])];
    names.iter().filter(|(mark, _)| text.contains(mark)).map(|(_, iri)| (*iri).to_owned()).collect()
}

/// Runs a query both ways on several streams; gives how many rows there were.
fn compare(text: &str, partitions: u32, seed: u64) -> usize {
    let mut random = Random(seed);
    let lateness = [0, 0, 400, 1_500][random.below(4) as usize];
    let read = streams_in(text);
    let mut embedded = Embedded::new(text, &read, lateness);
    let mut spread = Spread::new(scaled(text, partitions, lateness));
    let (mut number, mut n_rows) = (0, 0);
    let check = |embedded: &mut Embedded, spread: &mut Spread| {
        let (expected, found) = (embedded.drain(), spread.drain());
        assert_eq!(found, expected, "{partitions} partitions, seed {seed}: {text}");
        found.iter().map(|reported| reported.rows.len()).sum::<usize>()
    };
    for batch in batches(&mut random, lateness) {
        let events = batch.iter().filter(|event| read.iter().any(|iri| iri == STREAMS[event.stream]));
        let numbered: Vec<(usize, &Event)> = events.enumerate().map(|(at, event)| (number + at, event)).collect();
        number += numbered.len();
        embedded.take(&numbered);
        spread.take(&numbered, &mut random);
        n_rows += check(&mut embedded, &mut spread);
        spread.restart(&mut random);
    }
    embedded.engine.close();
    spread.partitions.iter_mut().for_each(PartitionEngine::close);
    n_rows += check(&mut embedded, &mut spread);
    // Terms of answers that waited go with the next sweep.
    spread.partitions.iter_mut().for_each(PartitionEngine::close);
    let left: usize = spread.partitions.iter().map(PartitionEngine::state_size).sum();
    assert_eq!(left, 0, "nothing is left in {partitions} partitions, seed {seed}: {text}");
    n_rows
}

const S: &str = "FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s]";
const ST: &str = "FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s] FROM NAMED WINDOW :x ON :t [RANGE 3s STEP 1s]";

/// Text of the query, with `OUT` for the way of reporting, and the merge it asks for under RSTREAM and otherwise.
const QUERIES: &[(&str, &str, &str, &str)] = &[
    ("OUT SELECT ?k ?v ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "union union"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "union netting"),
    ("OUT SELECT ?k ?v ?l", ST, "WINDOW :w { ?k :temp ?v } WINDOW :x { ?k :load ?l }", "union union"),
    ("OUT SELECT ?k ?v ?o", ST, "WINDOW :w { ?k :temp ?v } WINDOW :x { ?o :about ?k }", "union union"),
    ("OUT SELECT ?k (COUNT(*) AS ?n) (SUM(?v) AS ?sum) ", S, "WINDOW :w { ?k :temp ?v } GROUP BY ?k", "union union"),
    (
        "OUT SELECT ?r (COUNT(*) AS ?n) (COUNT(?v) AS ?m) (SUM(?v) AS ?sum) (AVG(?v) AS ?avg) (MIN(?v) AS ?min) (MAX(?v) AS ?max) (SAMPLE(?v) AS ?any)",
        S,
        "WINDOW :w { ?k :temp ?v ; :in ?r } GROUP BY ?r",
        "groups groups",
    ),
    (
        "OUT SELECT ?r (AVG(?v + 0.5) AS ?avg)",
        S,
        "WINDOW :w { ?k :temp ?v ; :in ?r } GROUP BY ?r HAVING (COUNT(*) > 1)",
        "groups groups",
    ),
    ("OUT SELECT (SUM(?v) AS ?sum) (AVG(?v) AS ?avg) (COUNT(*) AS ?n)", S, "WINDOW :w { ?k :temp ?v } FILTER(isNumeric(?v))", "groups groups"),
    ("OUT SELECT ?room (MAX(?v) AS ?max)", S, "WINDOW :w { ?k :temp ?v } ?k :room ?room GROUP BY ?room", "groups groups"),
    ("OUT SELECT ?k ?level ?v", S, "WINDOW :w { ?k :temp ?v } ?k :room ?room . ?room :level ?level", "union union"),
    ("OUT SELECT DISTINCT ?k ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "union union"),
    ("OUT SELECT DISTINCT ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "distinct distinct"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY DESC(?v) LIMIT 4", "top-k top-k"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY ?v LIMIT 3 OFFSET 2", "top-k top-k"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY ?v ?k", "top-k union"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v } LIMIT 5", "top-k top-k"),
    ("OUT SELECT ?r (SUM(?v) AS ?sum)", S, "WINDOW :w { ?k :temp ?v ; :in ?r } GROUP BY ?r ORDER BY DESC(?sum) LIMIT 2", "groups groups"),
    ("OUT SELECT ?k (SUM(?v) AS ?sum)", S, "WINDOW :w { ?k :temp ?v } GROUP BY ?k ORDER BY DESC(?sum) LIMIT 2", "top-k top-k"),
    ("OUT SELECT ?k ?v ?r", S, "WINDOW :w { ?k :temp ?v OPTIONAL { ?k :in ?r } FILTER(?v > 1) }", "union union"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v MINUS { ?k :in :r1 } }", "union union"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v FILTER NOT EXISTS { ?k :in :r1 } }", "union union"),
    ("OUT SELECT ?k ?x", S, "WINDOW :w { { ?k :temp ?x } UNION { ?k :in ?x } }", "union union"),
    ("OUT SELECT ?a ?k ?b", S, "WINDOW :w { ?a :near ?k . ?k :near ?b }", "union union"),
    ("OUT SELECT ?a ?b", S, "WINDOW :w { ?a :near ?k . ?k :near ?b }", "union netting"),
    ("OUT SELECT (COUNT(*) AS ?n)", S, "WINDOW :w { ?a :near ?k OPTIONAL { ?k :near ?b } }", "groups groups"),
    ("OUT SELECT ?k ?n ?v", S, "WINDOW :w { ?k :temp ?v } { SELECT ?k (COUNT(*) AS ?n) { WINDOW :w { ?k :in ?r } } GROUP BY ?k }", "union union"),
    ("OUT SELECT ?r (COUNT(*) AS ?n)", S, "{ SELECT DISTINCT ?k ?r { WINDOW :w { ?k :temp ?v ; :in ?r } } } GROUP BY ?r", "groups groups"),
    ("OUT SELECT (MAX(?n) AS ?most)", S, "{ SELECT ?r (COUNT(*) AS ?n) { WINDOW :w { ?k :temp ?v ; :in ?r } } GROUP BY ?r }", "groups groups"),
    ("OUT SELECT (BOUND(?zero) AS ?b) ?r", S, "WINDOW :w { ?k :in ?r } BIND(NOW() AS ?now)", "union netting"),
];

fn query_text(query: &(&str, &str, &str, &str), r2s: &str) -> String {
    let (select, windows, body, _) = query;
    let (pattern, modifiers) = match body.find(" GROUP BY ?r").or(body.find(" GROUP BY ?k")).or(body.find(" ORDER")) {
        _ if body.contains("{ SELECT") && body.ends_with('}') => (*body, ""),
        Some(at) if !body[at..].contains('}') => body.split_at(at),
        _ => body.find(" LIMIT").map_or((*body, ""), |at| body.split_at(at)),
    };
    let out = format!("REGISTER {r2s} <http://ex/out> AS");
    format!("{PREFIX}{} {windows} WHERE {{ {pattern} }}{modifiers}", select.replace("OUT", &out))
}

fn merge_of(query: &ScaledQuery) -> String {
    let explained = query.explain();
    let start = explained.find("\"merge\":\"").expect("a merge") + 9;
    explained[start..].split('"').next().unwrap_or_default().to_owned()
}

#[test]
fn the_answers_are_those_of_one_engine() {
    for query in QUERIES {
        for r2s in ["RSTREAM", "ISTREAM", "DSTREAM"] {
            let text = query_text(query, r2s);
            let merges: Vec<&str> = query.3.split(' ').collect();
            let merge = merges[usize::from(r2s != "RSTREAM")];
            assert_eq!(merge_of(&scaled(&text, 8, 0)), merge, "{text}");
            let mut n_rows = 0;
            for partitions in [1, 2, 8] {
                for seed in 0..6 {
                    n_rows += compare(&text, partitions, seed * 1_000 + 17 * u64::from(partitions));
                }
            }
            assert!(n_rows > 20, "{n_rows} rows say little: {text}");
        }
    }
}
