//! The memory of groups in a plan is the memory that they take. A separate process, so that nothing else has an effect.

use serde_json::Value;
use whorl_engine::rdf::{Literal, NamedNode, Triple};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, Timestamp};

const STREAM: &str = "http://ex/s";
const GROUPS: i64 = 60_000;
const WINDOW: &str = "WHERE { STREAM :s [RANGE 1000000s] { ?room :temperature ?t } }";

/// Resident memory in bytes, if the system provides it.
fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok().map(|kb: i64| kb * 1024)
}

fn registered(text: &str) -> (Engine, QueryId) {
    let mut engine = Engine::new(EngineOptions::default());
    let query = engine.register(&format!("PREFIX : <http://ex/> {text}"), &ParseOptions::default()).expect("a query");
    (engine, query)
}

fn push(engine: &mut Engine, query: QueryId, room: i64, at: i64) {
    let node = |name: String| NamedNode::new_unchecked(format!("http://ex/{name}"));
    let reading = Triple::new(node(format!("room/{room}")), node("temperature".to_owned()), Literal::from(at as f64));
    engine.push_triples(STREAM, Timestamp::from_millis(at), &[reading]).expect("an event");
    engine.drain(query).expect("results");
}

/// The memory of the first operator of this kind.
fn bytes_of(engine: &Engine, query: QueryId, operator: &str) -> i64 {
    fn find<'a>(node: &'a Value, operator: &str) -> Option<&'a Value> {
        let inputs = node["inputs"].as_array().expect("inputs");
        if node["operator"] == operator { Some(node) } else { inputs.iter().find_map(|input| find(input, operator)) }
    }
    let plan: Value = serde_json::from_str(&engine.explain_json(query).expect("a plan")).expect("JSON");
    find(&plan["root"], operator).and_then(|node| node["bytes"].as_i64()).expect("its bytes")
}

#[test]
fn the_memory_of_groups_in_a_plan_is_what_the_process_grows_by() {
    let text = format!("SELECT ?room (SUM(?t) AS ?sum) (MEDIAN(?t) AS ?median) {WINDOW} GROUP BY ?room");
    let (mut engine, query) = registered(&text);
    let Some(before) = resident() else { return };
    (0..GROUPS).for_each(|number| push(&mut engine, query, number, number));
    let (shown, taken) = (bytes_of(&engine, query, "group"), resident().expect("as before") - before);
    // The process also keeps the terms and the mappings of the window, about a third of it.
    assert!(shown > taken / 3 && shown < taken, "{shown} bytes shown, {taken} taken");
}

#[test]
fn what_an_operator_keeps_shows_in_its_memory_and_goes_with_it() {
    for (operator, text) in [
        (
            "group",
            "SELECT ?room (SUM(?t) AS ?n) WHERE { STREAM :s [RANGE 10s] { ?room :temperature ?t } } GROUP BY ?room",
        ),
        ("distinct", "SELECT DISTINCT ?room WHERE { STREAM :s [RANGE 10s] { ?room :temperature ?t } }"),
        ("top-k", "SELECT ?room ?t WHERE { STREAM :s [RANGE 10s] { ?room :temperature ?t } } ORDER BY ?t LIMIT 3"),
        ("optional", "SELECT * WHERE { STREAM :s [RANGE 10s] { ?room :temperature ?t OPTIONAL { ?room :smoke ?s } } }"),
    ] {
        let (mut engine, query) = registered(text);
        let empty = bytes_of(&engine, query, operator);
        (0..3_000).for_each(|number| push(&mut engine, query, number, number));
        let full = bytes_of(&engine, query, operator);
        assert!(full - empty > 3_000 * 16, "{operator}: {empty}, then {full}");
        engine.advance_to(Timestamp::from_millis(100_000)).expect("time moves on");
        let after = bytes_of(&engine, query, operator);
        assert!(after <= full - 3_000 * 8, "{operator}: {full}, and {after} when all is gone");
    }
}
