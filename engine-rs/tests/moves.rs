//! Results survive the moves of their mappings: when a ring grows during a move, when the engine was restored with
//! rings of another capacity, and when sub-results move.
//!
//! Each stream is long and repetitive enough that triples are renewed and rings grow. Compares the default way of
//! retracting results with the one that stores none (`Retraction::Probe`), byte by byte.

use whorl_engine::rdf::{NamedNode, Triple};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, Retraction, Thresholds, Timestamp};

const PREFIX: &str = "PREFIX : <http://ex/> ";
const TRIANGLE: &str = "?a :at ?b . ?b :at ?c . ?c :at ?a";

/// A small deterministic random generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Triples between five nodes, one every 0 to 2 seconds.
fn stream(seed: u64, n: usize) -> Vec<(Timestamp, Triple)> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
    let node = |n: u64| NamedNode::new_unchecked(format!("http://ex/n{n}"));
    let mut at = 0;
    let mut event = || {
        at += 1_000 * random.below(3) as i64;
        let triple =
            Triple::new(node(random.below(5)), NamedNode::new_unchecked("http://ex/at"), node(random.below(5)));
        (Timestamp::from_millis(at), triple)
    };
    (0..n).map(|_| event()).collect()
}

/// The results of a query over a stream; the engine is saved and restored after every `restore_every` events.
fn results(query: &str, options: EngineOptions, events: &[(Timestamp, Triple)], restore_every: usize) -> Vec<Vec<u8>> {
    let mut engine = Engine::new(options);
    let query: QueryId = engine.register(&format!("{PREFIX}{query}"), &ParseOptions::default()).expect(query);
    let mut results = Vec::new();
    for (number, (at, triple)) in events.iter().enumerate() {
        engine.push_triples("http://ex/s", *at, std::slice::from_ref(triple)).expect("an event");
        if number % restore_every == restore_every - 1 {
            engine = Engine::restore(&engine.snapshot(), options).expect("a snapshot");
        }
        results.extend(engine.drain_json(query, "q").expect("results"));
    }
    engine.close();
    results.extend(engine.drain_json(query, "q").expect("results"));
    results
}

fn assert_same(query: &str, restore_every: usize) {
    let default = EngineOptions::default();
    let probing = EngineOptions { retraction: Retraction::Probe, ..default };
    let tiny = EngineOptions { thresholds: Thresholds::tiny(), ..default };
    let trees = EngineOptions { retraction: Retraction::Tree, ..tiny };
    for seed in 0..12 {
        let events = stream(seed, 150);
        let expected = results(query, probing, &events, usize::MAX);
        for (way, options) in [("default", default), ("tiny thresholds", tiny), ("trees everywhere", trees)] {
            let got = results(query, options, &events, restore_every);
            assert!(got == expected, "{way}, seed {seed}: {query}");
        }
    }
}

fn triangles(window: &str, pattern: &str) -> String {
    format!("SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [{window}] WHERE {{ {pattern} }}")
}

#[test]
fn a_ring_that_grows_in_the_middle_of_a_move_loses_no_result() {
    assert_same(&triangles("RANGE 20s STEP 5s", &format!("WINDOW :w {{ {TRIANGLE} }}")), usize::MAX);
}

#[test]
fn a_restored_ring_of_another_capacity_loses_no_result() {
    assert_same(&triangles("RANGE 20s STEP 5s", &format!("WINDOW :w {{ {TRIANGLE} }}")), 7);
}

#[test]
fn results_of_a_sub_query_can_be_taken_back_after_they_moved() {
    let inside = format!("{{ SELECT ?a ?b WHERE {{ WINDOW :w {{ {TRIANGLE} }} }} }}");
    assert_same(&triangles("RANGE 20s STEP 5s", &format!("WINDOW :w {{ ?a :at ?d }} {inside}")), 11);
}

#[test]
fn a_sub_query_between_patterns_is_counted_once() {
    let inside = "{ SELECT ?a ?c WHERE { WINDOW :w { ?a :at ?b . ?b :at ?c } } }";
    assert_same(&triangles("RANGE 7s STEP 1s", &format!("WINDOW :w {{ ?c :at ?a . ?a :at ?d }} {inside}")), 5);
}

#[test]
fn bags_that_slide_lose_no_result_either() {
    let query = format!("SELECT ?a ?b ?c WHERE {{ STREAM :s [RANGE 9s] {{ {TRIANGLE} }} }}");
    assert_same(&query, 13);
    let inside = format!("{{ SELECT ?a ?b WHERE {{ STREAM :s [RANGE 9s] {{ {TRIANGLE} }} }} }}");
    assert_same(&format!("SELECT ?a ?d WHERE {{ STREAM :s [RANGE 9s] {{ ?a :at ?d }} {inside} }}"), 13);
}
