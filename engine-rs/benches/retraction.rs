//! Retraction by tree and by probe: where each of them is faster.
//!
//! Chains of k patterns over one count window, counted per first key, so that every result must be retracted. The
//! number of keys determines how many results an event creates. Both ways yield the same counts.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode};
use whorl_engine::{Engine, EngineOptions, ParseOptions, Retraction, Timestamp};

const EVENTS: u64 = 60_000;
const WIDTH: u64 = 3_000;
const ROUNDS: usize = 5;

fn query(patterns: usize) -> String {
    let chain: Vec<String> = (0..patterns).map(|n| format!("?v{n} :p{n} ?v{} .", n + 1)).collect();
    format!(
        "PREFIX : <http://ex/> SELECT ?v0 (COUNT(*) AS ?n) WHERE {{ STREAM :s [TRIPLES {WIDTH}] {{ {} }} }} GROUP BY ?v0",
        chain.join(" ")
    )
}

fn run(patterns: usize, keys: u64, retraction: Retraction) -> (Duration, u64) {
    let mut engine = Engine::new(EngineOptions { retraction, ..EngineOptions::default() });
    let query = engine.register(&query(patterns), &ParseOptions::default()).expect("the query registers");
    let stream = engine.stream_id("http://ex/s").expect("declared by the query");
    let predicates: Vec<_> =
        (0..patterns).map(|n| engine.pin(&NamedNode::new_unchecked(format!("http://ex/p{n}")).into())).collect();
    let numbers: Vec<_> = (0..keys).map(|n| engine.pin(&Literal::from(n as i64).into())).collect();
    let mut state = 7_u64;
    let mut key = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 20) % keys) as usize
    };
    let start = Instant::now();
    let mut rows = 0;
    for n in 0..EVENTS {
        let triple = [numbers[key()], predicates[n as usize % patterns], numbers[key()]];
        engine.push_encoded(stream, Timestamp::from_millis(n as i64), &[triple]);
        if n % 256 == 0 {
            rows += engine.drain(query).expect("the query runs").len() as u64;
        }
    }
    (start.elapsed(), rows)
}

fn main() {
    for (patterns, keys) in [(2, 3_000), (2, 300), (3, 2_000), (3, 500), (4, 1_500), (4, 500)] {
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let (tree, tree_rows) = run(patterns, keys, Retraction::Tree);
            let (probe, probe_rows) = run(patterns, keys, Retraction::Probe);
            assert_eq!(tree_rows, probe_rows, "both ways say the same");
            ratios.push(tree.as_secs_f64() / probe.as_secs_f64());
        }
        ratios.sort_by(f64::total_cmp);
        println!(
            "{patterns} patterns, {keys} keys: tree / probe = {:.2} ({:.2}..{:.2})",
            ratios[ROUNDS / 2],
            ratios[0],
            ratios[ROUNDS - 1]
        );
    }
}
