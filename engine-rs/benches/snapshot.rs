//! Snapshot and restore of a large state: a million live triples in one window by time, under a join of three patterns.
//!
//! Prints seconds and bytes, for terms in the dictionary and for a join whose results are kept as trees. When the
//! window moves on, the restored engine must emit the same results as the original one.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::{Duration, Instant};
use whorl_engine::rdf::{NamedNode, Triple};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, R2s, Timestamp};

const TRIPLES: u64 = 1_000_000;
const ROUNDS: usize = 5;
const QUERY: &str = "PREFIX : <http://ex/> SELECT ?a ?d FROM NAMED WINDOW :w ON :s [RANGE 1000s STEP 1s]
     WHERE { WINDOW :w { ?a :p0 ?b . ?b :p1 ?c . ?c :p2 ?d } }";

fn node(kind: &str, number: u64) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/building/{kind}/{number}"))
}

fn filled(r2s: R2s) -> (Engine, QueryId) {
    let mut engine = Engine::new(EngineOptions::default());
    let options = ParseOptions { r2s: Some(r2s), ..ParseOptions::default() };
    let query = engine.register(QUERY, &options).expect("the query registers");
    let kinds = ["a", "b", "c", "d"];
    let keys = TRIPLES / 3;
    let mut state = 7_u64;
    let mut key = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % keys
    };
    for n in 0..TRIPLES {
        let step = (n % 3) as usize;
        let predicate = NamedNode::new_unchecked(format!("http://ex/p{step}"));
        let triple = Triple::new(node(kinds[step], key()), predicate, node(kinds[step + 1], key()));
        engine
            .push_triples("http://ex/s", Timestamp::from_millis(n as i64 * 999_000 / TRIPLES as i64), &[triple])
            .expect("an event");
    }
    engine.advance_to(Timestamp::from_millis(1_000_000)).expect("time moves");
    engine.drain(query).expect("results");
    (engine, query)
}

fn median(mut times: Vec<Duration>) -> (f64, f64, f64) {
    times.sort();
    (times[times.len() / 2].as_secs_f64(), times[0].as_secs_f64(), times[times.len() - 1].as_secs_f64())
}

fn main() {
    for r2s in [R2s::Istream, R2s::Changes] {
        let (mut engine, query) = filled(r2s);
        let (mut saving, mut restoring) = (Vec::new(), Vec::new());
        let mut snapshot = Vec::new();
        let mut restored = Engine::new(EngineOptions::default());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            snapshot = engine.snapshot();
            saving.push(start.elapsed());
            let start = Instant::now();
            restored = Engine::restore(&snapshot, EngineOptions::default()).expect("it restores");
            restoring.push(start.elapsed());
        }
        let size = engine.state_size();
        for engine in [&mut engine, &mut restored] {
            engine.advance_to(Timestamp::from_millis(1_002_000)).expect("time moves");
        }
        assert_eq!(restored.drain_json(query, "q"), engine.drain_json(query, "q"), "both say the same");
        let ((save, save_least, save_most), (load, load_least, load_most)) = (median(saving), median(restoring));
        println!(
            "{r2s:?}: {TRIPLES} triples, state {size}, {:.0} MB: snapshot {save:.2} s ({save_least:.2}..{save_most:.2}), restore {load:.2} s ({load_least:.2}..{load_most:.2})",
            snapshot.len() as f64 / 1e6
        );
    }
}
