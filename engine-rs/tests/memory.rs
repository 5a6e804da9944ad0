//! An endless stream of new terms through windows of fixed size: memory does not grow.
//!
//! Every event brings a new IRI and a new literal. Detects: terms, mappings, index entries and results that are not
//! freed, by the engine's own counters and by the memory of the process. 400,000 events, 2,000,000 with
//! `WHORL_CAMPAIGN=long`.

use whorl_engine::rdf::{Literal, NamedNode, Triple};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, Timestamp};

const SAMPLE_EVERY: i64 = 50_000;
const STREAM: &str = "http://ex/s";

/// A stepping window with a join and a group; a window that slides at every event.
const QUERIES: [&str; 3] = [
    "SELECT ?d (COUNT(?e) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 1000ms STEP 100ms] WHERE { WINDOW :w { ?e :after ?d } } GROUP BY ?d",
    "SELECT DISTINCT ?text FROM NAMED WINDOW :w ON :s [RANGE 1000ms STEP 500ms] WHERE { WINDOW :w { ?e :says ?text . ?e :after ?d } }",
    "SELECT ?e ?text WHERE { STREAM :s [RANGE 500ms] { ?e :says ?text } STREAM :s [RANGE 20ms] { ?f :after ?e } }",
];

fn n_events() -> i64 {
    match std::env::var("WHORL_CAMPAIGN").as_deref() {
        Ok("long") => 2_000_000,
        _ => 400_000,
    }
}

fn node(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://ex/{name}"))
}

fn event(number: i64) -> [Triple; 2] {
    let this = node(&format!("event/{number}"));
    let text = Literal::new_simple_literal(format!("a text that belongs to event {number} alone"));
    [
        Triple::new(this.clone(), node("says"), text),
        Triple::new(this, node("after"), node(&format!("event/{}", number - 1))),
    ]
}

/// Resident memory in kB, if the system provides it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

fn take(engine: &mut Engine, queries: &[QueryId]) -> usize {
    queries.iter().map(|query| engine.drain(*query).expect("results").len()).sum()
}

#[test]
fn new_terms_without_end_do_not_add_up() {
    let mut engine = Engine::new(EngineOptions::default());
    let register = |text: &&str| {
        engine.register(&format!("PREFIX : <http://ex/> {text}"), &ParseOptions::default()).expect("a query")
    };
    let queries: Vec<QueryId> = QUERIES.iter().map(register).collect();
    let events = n_events();
    let (mut terms, mut state, mut memory, mut reports) = (Vec::new(), Vec::new(), None, 0);
    for number in 1..=events {
        engine.push_triples(STREAM, Timestamp::from_millis(number), &event(number)).expect("an event");
        if number % 100 == 0 {
            reports += take(&mut engine, &queries);
        }
        if number % SAMPLE_EVERY == 0 {
            let stats = engine.stats();
            assert!(stats.queries.iter().all(|query| query.dropped_results == 0));
            terms.push(stats.stream_terms);
            state.push(stats.state_size);
        }
        if number == events / 4 {
            memory = resident();
        }
    }
    assert!(reports as i64 > events / 100, "the queries must answer: {reports} reports");
    for (what, samples) in [("terms", &terms), ("state", &state)] {
        let after_warm_up = &samples[1..];
        let (least, most) =
            (after_warm_up.iter().min().expect("samples"), after_warm_up.iter().max().expect("samples"));
        assert!(most <= &(2 * least), "{what} grow: {samples:?}");
    }
    if let (Some(before), Some(after)) = (memory, resident()) {
        assert!(after * 10 <= before * 11, "the process grew from {before} kB to {after} kB");
    }
    engine.close();
    take(&mut engine, &queries);
    engine.close();
    assert_eq!(engine.state_size(), 0, "{:?}", engine.stats());
}

#[test]
fn results_nobody_takes_are_dropped_from_the_oldest_and_the_gap_shows() {
    let mut engine = Engine::new(EngineOptions { result_rows_max: 10, ..EngineOptions::default() });
    let text = "PREFIX : <http://ex/> SELECT ?e WHERE { STREAM :s [RANGE 1ms] { ?e :says ?text } }";
    let query = engine.register(text, &ParseOptions::default()).expect("a query");
    (1..=100).for_each(|number| {
        engine.push_triples(STREAM, Timestamp::from_millis(number), &event(number)).expect("an event");
    });
    let numbers: Vec<u64> = engine.drain(query).expect("results").iter().map(|result| result.seq).collect();
    assert_eq!(numbers, (91..=100).collect::<Vec<u64>>());
    assert_eq!(engine.stats().queries[0].dropped_results, 90);
}
