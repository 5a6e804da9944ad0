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
    Answered, BodyFormat, Bounds, ContentSemantics, Engine, EngineOptions, EventBatch, MergeEngine, ParseOptions,
    PartitionEngine, QueryId, QueryResult, R2s, RdfFormat, Report, Reported, ReportedRow, Rows, ScaledQuery, Span,
    StreamOptions, Tick, Timestamp,
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

/// How far the second stream may be behind the first one.
fn with_timeout(options: StreamOptions, iri: &str, timeout: Option<i64>) -> StreamOptions {
    let idle_timeout = timeout.filter(|_| iri == STREAMS[1]).map(Span::from_millis);
    StreamOptions { idle_timeout, ..options }
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
    timeout: Option<i64>,
}

impl Embedded {
    fn new(text: &str, options: &ParseOptions, streams: &[String], lateness: i64, timeout: Option<i64>) -> Self {
        let mut engine = Engine::new(EngineOptions::default());
        for stream in streams {
            engine.declare_stream(stream, stream_options(lateness)).expect("a stream");
        }
        engine.load(None, STATIC.as_bytes(), RdfFormat::Turtle).expect("static data");
        let query = engine.register(text, options).expect(text);
        Self { engine, query, timeout: timeout.filter(|_| streams.len() == 2) }
    }

    fn take(&mut self, batch: &[(usize, &Event)]) {
        let mut sorted = batch.to_vec();
        if self.timeout.is_some() && batch.iter().any(|(_, event)| event.stream == 1) {
            self.engine.mark_active(STREAMS[1]).expect("a stream");
        }
        sorted.sort_by_key(|(number, event)| (event.at, *number));
        for (_, event) in sorted {
            let at = Timestamp::from_millis(event.at);
            self.engine.push_triples(STREAMS[event.stream], at, &event.triples).expect("an event");
        }
        // The second stream is idle when a batch leaves it too far behind.
        if let Some(timeout) = self.timeout {
            let [first, second] = STREAMS.map(|stream| self.engine.watermark(stream).expect("a stream"));
            let millis = |at: Option<Timestamp>| at.map_or(i64::MIN / 2, Timestamp::as_millis);
            if first.is_some() && millis(second) < millis(first) - timeout {
                self.engine.mark_idle(STREAMS[1]).expect("a stream");
            }
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

fn scaled(text: &str, options: &ParseOptions, partitions: u32, lateness: i64) -> ScaledQuery {
    scaled_within(text, options, partitions, lateness, None)
}

fn scaled_within(
    text: &str,
    options: &ParseOptions,
    partitions: u32,
    lateness: i64,
    timeout: Option<i64>,
) -> ScaledQuery {
    let streams = streams_in(text);
    let settings = |iri: &String| (iri.clone(), with_timeout(stream_options(lateness), iri, timeout));
    let streams: Vec<_> = streams.iter().map(settings).collect();
    ScaledQuery::new(text, options.clone(), partitions, &streams).expect(text)
}

fn streams_in(text: &str) -> Vec<String> {
    let names = [(":s [", STREAMS[0]), (":t [", STREAMS[1])];
    names.iter().filter(|(mark, _)| text.contains(mark)).map(|(_, iri)| (*iri).to_owned()).collect()
}

/// Runs a query both ways on several streams; gives how many rows there were.
fn compare(text: &str, options: &ParseOptions, partitions: u32, seed: u64) -> usize {
    let mut random = Random(seed);
    let lateness = [0, 0, 400, 1_500][random.below(4) as usize];
    let timeout = [None, Some(0), Some(500), Some(3_000)][random.below(4) as usize];
    let read = streams_in(text);
    let mut embedded = Embedded::new(text, options, &read, lateness, timeout);
    let mut spread = Spread::new(scaled_within(text, options, partitions, lateness, timeout));
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
    // The one row of an answer without groups is always there; in partitions it is in the merge.
    assert!(
        left == 0 || spread.query.partitions() == 1,
        "{left} left: nothing is left in {partitions} partitions, seed {seed}: {text}"
    );
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
    (
        "OUT SELECT (SUM(?v) AS ?sum) (AVG(?v) AS ?avg) (COUNT(*) AS ?n)",
        S,
        "WINDOW :w { ?k :temp ?v } FILTER(isNumeric(?v))",
        "groups groups",
    ),
    (
        "OUT SELECT ?room (MAX(?v) AS ?max)",
        S,
        "WINDOW :w { ?k :temp ?v } ?k :room ?room GROUP BY ?room",
        "groups groups",
    ),
    ("OUT SELECT ?k ?level ?v", S, "WINDOW :w { ?k :temp ?v } ?k :room ?room . ?room :level ?level", "union union"),
    ("OUT SELECT DISTINCT ?k ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "union union"),
    ("OUT SELECT DISTINCT ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "distinct distinct"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY DESC(?v) LIMIT 4", "top-k top-k"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY ?v LIMIT 3 OFFSET 2", "top-k top-k"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY ?v ?k", "top-k union"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v } LIMIT 5", "top-k top-k"),
    (
        "OUT SELECT ?r (SUM(?v) AS ?sum)",
        S,
        "WINDOW :w { ?k :temp ?v ; :in ?r } GROUP BY ?r ORDER BY DESC(?sum) LIMIT 2",
        "groups groups",
    ),
    (
        "OUT SELECT ?k (SUM(?v) AS ?sum)",
        S,
        "WINDOW :w { ?k :temp ?v } GROUP BY ?k ORDER BY DESC(?sum) LIMIT 2",
        "top-k top-k",
    ),
    ("OUT SELECT ?k ?v ?r", S, "WINDOW :w { ?k :temp ?v OPTIONAL { ?k :in ?r } FILTER(?v > 1) }", "union union"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v MINUS { ?k :in :r1 } }", "union union"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v FILTER NOT EXISTS { ?k :in :r1 } }", "union union"),
    ("OUT SELECT ?k ?x", S, "WINDOW :w { { ?k :temp ?x } UNION { ?k :in ?x } }", "union union"),
    ("OUT SELECT ?a ?k ?b", S, "WINDOW :w { ?a :near ?k . ?k :near ?b }", "union union"),
    ("OUT SELECT ?a ?b", S, "WINDOW :w { ?a :near ?k . ?k :near ?b }", "union netting"),
    ("OUT SELECT (COUNT(*) AS ?n)", S, "WINDOW :w { ?a :near ?k OPTIONAL { ?k :near ?b } }", "groups groups"),
    (
        "OUT SELECT ?k ?n ?v",
        S,
        "WINDOW :w { ?k :temp ?v } { SELECT ?k (COUNT(*) AS ?n) { WINDOW :w { ?k :in ?r } } GROUP BY ?k }",
        "union union",
    ),
    (
        "OUT SELECT ?r (COUNT(*) AS ?n)",
        S,
        "{ SELECT DISTINCT ?k ?r { WINDOW :w { ?k :temp ?v ; :in ?r } } } GROUP BY ?r",
        "groups groups",
    ),
    (
        "OUT SELECT (MAX(?n) AS ?most)",
        S,
        "{ SELECT ?r (COUNT(*) AS ?n) { WINDOW :w { ?k :temp ?v ; :in ?r } } GROUP BY ?r }",
        "groups groups",
    ),
    ("OUT SELECT (BOUND(?zero) AS ?b) ?r", S, "WINDOW :w { ?k :in ?r } BIND(NOW() AS ?now)", "union union"),
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

fn why(query: &ScaledQuery) -> String {
    let explained = query.explain();
    let start = explained.find("\"why\":\"").expect("a reason") + 7;
    explained[start..].split("\",\"").next().unwrap_or_default().to_owned()
}

#[test]
fn the_answers_are_those_of_one_engine() {
    let options = ParseOptions::default();
    for query in QUERIES {
        for r2s in ["RSTREAM", "ISTREAM", "DSTREAM"] {
            let text = query_text(query, r2s);
            let merges: Vec<&str> = query.3.split(' ').collect();
            let merge = merges[usize::from(r2s != "RSTREAM")];
            let found = merge_of(&scaled(&text, &options, 8, 0));
            assert_eq!(found, merge, "{text}");
            let mut n_rows = 0;
            for partitions in [1, 2, 8] {
                for seed in 0..4 {
                    n_rows += compare(&text, &options, partitions, seed * 1_000 + 17 * u64::from(partitions));
                }
            }
            assert!(n_rows > 8, "{n_rows} rows say little: {text}");
        }
    }
}

#[test]
fn signed_changes_bags_and_other_borders_are_those_of_one_engine() {
    let default = ParseOptions::default();
    let chosen = [
        ParseOptions { r2s: Some(R2s::Changes), ..default.clone() },
        ParseOptions { semantics: Some(ContentSemantics::Bag), ..default.clone() },
        ParseOptions { bounds: Some(Bounds::OpenClosed), r2s: Some(R2s::Changes), ..default.clone() },
        ParseOptions { partial: Some(true), t0: Some(Timestamp::from_millis(10_300)), ..default },
    ];
    for query in [&QUERIES[0], &QUERIES[1], &QUERIES[5], &QUERIES[11], &QUERIES[12], &QUERIES[23]] {
        for options in &chosen {
            (0..3).for_each(|seed| {
                compare(&query_text(query, "RSTREAM"), options, 3, seed + 100);
            });
        }
    }
    let windows = "FROM NAMED WINDOW :w ON :s [FROM NOW-3s TO NOW-1s STEP 500ms]";
    let text = query_text(&(QUERIES[5].0, windows, QUERIES[5].2, ""), "ISTREAM");
    (0..4).for_each(|seed| {
        compare(&text, &ParseOptions::default(), 4, seed);
    });
}

#[test]
fn what_cannot_be_spread_runs_on_one_partition_and_says_why() {
    let temp = "WINDOW :w { ?k :temp ?v }";
    let cases = [
        ("SELECT *", "[ELEMENTS 5]", temp, "counts what comes to all partitions"),
        ("SELECT *", "[TRIPLES 5]", temp, "counts what comes to all partitions"),
        ("SELECT *", "[NOW]", temp, "moves with every event"),
        (
            "SELECT ?a ?d",
            "[RANGE 2s]",
            "WINDOW :w { ?a :near ?b . ?c :temp ?d }",
            "share no variable as subject or object",
        ),
        ("SELECT ?a ?d", "[RANGE 2s]", "WINDOW :w { ?a :near ?b . ?b :near ?c . ?c :near ?d }", "share no variable"),
        ("SELECT ?a", "[RANGE 2s]", "WINDOW :w { ?a :near+ :k0 }", "no pattern reads a stream by its triples"),
        (
            "SELECT (COUNT(DISTINCT ?r) AS ?n)",
            "[RANGE 2s]",
            "WINDOW :w { ?k :temp ?v ; :in ?r }",
            "COUNT(DISTINCT ?r) cannot be computed from parts",
        ),
        (
            "SELECT (GROUP_CONCAT(STR(?r)) AS ?all)",
            "[RANGE 2s]",
            "WINDOW :w { ?k :temp ?v ; :in ?r }",
            "cannot be computed from parts",
        ),
        ("SELECT ?k (RAND() AS ?x)", "[RANGE 2s]", temp, "would draw other values"),
        ("SELECT ?k ?r", "[RANGE 2s]", "{ ?k :room ?r } UNION { WINDOW :w { ?k :in ?r } }", "reads static data alone"),
        (
            "SELECT ?k ?v",
            "[RANGE 2s]",
            "?k :room ?room OPTIONAL { WINDOW :w { ?k :temp ?v } }",
            "the left side of OPTIONAL",
        ),
        (
            "SELECT ?k ?m",
            "[RANGE 2s]",
            "WINDOW :w { ?k :temp ?v } { SELECT (MAX(?v) AS ?m) { WINDOW :w { ?k :temp ?v } } }",
            "groups without",
        ),
        ("CONSTRUCT { ?k :hot ?v }", "[RANGE 2s]", temp, "CONSTRUCT gives one graph"),
        ("ASK", "[RANGE 2s]", temp, "ASK gives one boolean"),
        ("SELECT * ", "[RANGE 2s STEP 1s @ :temp]", temp, "reads its time from the data"),
    ];
    for (select, window, pattern, reason) in cases {
        let text = format!("{PREFIX}{select} FROM NAMED WINDOW :w ON :s {window} WHERE {{ {pattern} }}");
        let query = scaled(&text, &ParseOptions::default(), 8, 0);
        let why = why(&query);
        assert!(query.partitions() == 1 && why.contains(reason), "{why}: {text}");
        // Random values, and times in the data, are of the engine's own making.
        if !text.contains("RAND") && !text.contains('@') {
            (0..3).for_each(|seed| {
                compare(&text, &ParseOptions::default(), 8, seed);
            });
        }
    }
    let text = format!("{PREFIX}SELECT * FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE {{ {temp} }}");
    let report = |report: Report| ParseOptions { report: Some(report), ..ParseOptions::default() };
    let chosen = [
        (report(Report { close: true, nonempty: true, ..Report::default() }), "report nonempty"),
        (report(Report { change: true, ..Report::default() }), "report change"),
        (ParseOptions { tick: Some(Tick::Tuple), ..ParseOptions::default() }, "tick tuple"),
    ];
    for (options, reason) in chosen {
        let why = why(&scaled(&text, &options, 8, 0));
        assert!(why.contains(reason), "{why}");
        (0..3).for_each(|seed| {
            compare(&text, &options, 8, seed);
        });
    }
}

fn star() -> String {
    query_text(&QUERIES[0], "RSTREAM")
}

/// Chunks of one event per key, and the partitions that took them.
fn filled(query: &Arc<ScaledQuery>) -> (Vec<Vec<u8>>, Vec<PartitionEngine>) {
    let mut random = Random(7);
    let triples: Vec<Triple> = (0..40).map(|_| triple(&mut random, 0)).collect();
    let events: Vec<Event> =
        triples.iter().map(|triple| Event { stream: 0, at: 5_000, triples: vec![triple.clone()] }).collect();
    let numbered: Vec<(usize, &Event)> = events.iter().enumerate().collect();
    let chunks = query.route(STREAMS[0], &event_batch(&numbered), 0).expect("chunks");
    let partition = |(number, chunk): (usize, &Vec<u8>)| {
        let mut partition = PartitionEngine::new(query.clone(), number as u32, &[]).expect("a partition");
        partition.absorb(&[chunk]).expect("a batch");
        partition
    };
    let partitions = chunks.iter().enumerate().map(partition).collect();
    (chunks, partitions)
}

#[test]
fn a_snapshot_of_something_else_is_refused() {
    let query = Arc::new(scaled(&star(), &ParseOptions::default(), 2, 0));
    let others = [
        scaled(&star(), &ParseOptions::default(), 3, 0),
        scaled(&star(), &ParseOptions::default(), 2, 500),
        scaled(&query_text(&QUERIES[1], "RSTREAM"), &ParseOptions::default(), 2, 0),
    ];
    let (_, partitions) = filled(&query);
    let snapshot = partitions[0].snapshot();
    let code = |query: &Arc<ScaledQuery>, number: u32, bytes: &[u8]| {
        PartitionEngine::restore(query.clone(), number, bytes).err().map(|error| error.code())
    };
    assert_eq!(code(&query, 0, &snapshot), None);
    assert_eq!(code(&query, 1, &snapshot), Some("snapshot.query"));
    for other in others {
        assert_ne!(other.fingerprint(), query.fingerprint());
        assert_eq!(code(&Arc::new(other), 0, &snapshot), Some("snapshot.query"));
    }
    assert!(MergeEngine::restore(query.clone(), &snapshot).is_err_and(|error| error.code() == "snapshot.query"));
    assert_eq!(code(&query, 0, &snapshot[..snapshot.len() - 1]), Some("snapshot.damaged"));
    let mut damaged = snapshot.clone();
    damaged[snapshot.len() - 9] ^= 4;
    assert_eq!(code(&query, 0, &damaged), Some("snapshot.damaged"));
    let mut newer = snapshot;
    newer[8] += 1;
    assert_eq!(code(&query, 0, &newer), Some("snapshot.version"));
}

#[test]
fn a_damaged_chunk_takes_nothing_and_no_other_partition_takes_a_chunk() {
    let query = Arc::new(scaled(&star(), &ParseOptions::default(), 2, 0));
    let (chunks, mut partitions) = filled(&query);
    let before = partitions[0].snapshot();
    let mut refused = |chunk: &[u8]| partitions[0].absorb(&[chunk]).err().map(|error| error.code());
    for at in 0..chunks[0].len() {
        let mut damaged = chunks[0].clone();
        damaged[at] ^= 1 << (at % 8);
        assert_eq!(refused(&damaged), Some("chunk.damaged"));
        assert_eq!(refused(&chunks[0][..at]), Some("chunk.damaged"));
    }
    assert_eq!(refused(&chunks[1]), Some("chunk.other"));
    let other = scaled(&star(), &ParseOptions::default(), 2, 1);
    let theirs = other.route(STREAMS[0], &EventBatch::new(), 0).expect("chunks");
    assert_eq!(refused(&theirs[0]), Some("chunk.other"));
    assert_eq!(partitions[0].snapshot(), before);
}

#[test]
fn a_blank_node_is_dealt_out_as_the_value_of_the_variable_alone() {
    let options = ParseOptions::default();
    let body = |text: &str| format!("@prefix : <http://ex/> . {text}").into_bytes();
    let routed = |query: &ScaledQuery, text: &str| {
        let at = Some(Timestamp::from_millis(5));
        let batch = query.read_body(&body(text), RdfFormat::Turtle.into(), at).expect("a body");
        query.route(STREAMS[0], &batch, 0).err().map(|error| error.code())
    };
    let star = scaled(&star(), &options, 4, 0);
    assert_eq!(routed(&star, "_:b :temp 5 ; :in :r1 ."), None);
    assert_eq!(routed(&star, ":k0 :in _:b ."), Some("scale.blank_node"));
    assert_eq!(routed(&star, ":k0 :unread _:b ."), None, "nobody reads it");
    let chain = scaled(&query_text(&QUERIES[22], "RSTREAM"), &options, 4, 0);
    assert_eq!(routed(&chain, "_:b :near :k1 ."), Some("scale.blank_node"));
    let one = scaled(&query_text(&QUERIES[22], "RSTREAM"), &options, 1, 0);
    assert_eq!(routed(&one, "_:b :near _:c ."), None);
}

#[test]
fn what_chunks_cannot_carry_is_refused() {
    let refused = |text: &str| {
        let text = format!("{PREFIX}{text}");
        ScaledQuery::new(&text, ParseOptions::default(), 2, &[]).err().map(|error| error.code())
    };
    let graphs = "SELECT * FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE { WINDOW :w { GRAPH ?g { ?s :p ?o } } }";
    assert_eq!(refused(graphs), Some("scale.unsupported"));
    assert!(refused("SELECT * FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE { WINDOW :w { ?s :p } }").is_some());
    let text = star();
    let unknown = [("http://ex/other".to_owned(), StreamOptions::default())];
    let error = ScaledQuery::new(&text, ParseOptions::default(), 2, &unknown).expect_err("refused");
    assert_eq!(error.code(), "stream.unknown");
    assert!(ScaledQuery::new(&text, ParseOptions::default(), 0, &[]).is_err());
    let query = scaled(&text, &ParseOptions::default(), 2, 0);
    assert_eq!(query.route("http://ex/other", &EventBatch::new(), 0).expect_err("refused").code(), "stream.unknown");
    let mut timeless = EventBatch::new();
    timeless.begin(None, 0);
    assert_eq!(query.route(STREAMS[0], &timeless, 0).expect_err("refused").code(), "timestamp.missing");
    let line = br#"{"watermark": 5}"#;
    let read = query.read_body(line, BodyFormat::NdJson, None);
    assert!(read.is_err());
}

#[test]
fn the_time_may_be_in_a_triple_that_nobody_else_reads() {
    let predicate = Some(iri("time"));
    let settings = StreamOptions { timestamp_predicate: predicate, ..StreamOptions::default() };
    let streams = [(STREAMS[0].to_owned(), settings)];
    let query = Arc::new(ScaledQuery::new(&star(), ParseOptions::default(), 2, &streams).expect("a query"));
    let body = b"<http://ex/k1> <http://ex/temp> 5 ; <http://ex/in> <http://ex/r1> ; <http://ex/time> 1500 .";
    let batch = query.read_body(body, RdfFormat::Turtle.into(), None).expect("a body");
    let mut rows = 0;
    for (number, chunk) in query.route(STREAMS[0], &batch, 0).expect("chunks").into_iter().enumerate() {
        let mut partition = PartitionEngine::new(query.clone(), number as u32, &[]).expect("a partition");
        partition.absorb(&[chunk]).expect("a batch");
        assert_eq!(partition.watermarks().next(), Some((STREAMS[0], Some(Timestamp::from_millis(1_500)))));
        partition.close();
        rows += partition.drain().expect("answers").iter().map(|answer| answer.rows.len()).sum::<usize>();
    }
    assert_eq!(rows, 2, "in the windows that end at two and at three seconds");
}
