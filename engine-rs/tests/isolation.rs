//! A query that fails fails alone.

use whorl_engine::{Engine, EngineError, EngineOptions, ParseOptions, QueryId, RdfFormat, Timestamp};

const TEXT: &str = "PREFIX : <http://ex/> SELECT ?a ?b WHERE { STREAM :s [RANGE 5s] { ?a :p ?b } }";

fn engine() -> (Engine, QueryId, QueryId) {
    let mut engine = Engine::new(EngineOptions::default());
    let mut register = || engine.register(TEXT, &ParseOptions::default()).expect("the query registers");
    let (first, second) = (register(), register());
    (engine, first, second)
}

fn push(engine: &mut Engine, at: i64) {
    let turtle = format!("<http://ex/a> <http://ex/p> {at} .");
    let at = Some(Timestamp::from_millis(at));
    engine.push("http://ex/s", at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
}

#[test]
fn a_panic_fails_its_query_and_no_other() {
    let (mut engine, broken, sound) = engine();
    push(&mut engine, 1);
    engine.break_query(broken).expect("it runs");
    push(&mut engine, 2);
    push(&mut engine, 3);
    assert_eq!(engine.drain(sound).expect("results").len(), 3);
    assert_eq!(engine.drain(broken).expect("what it said before").len(), 1);
    let error = engine.drain(broken).expect_err("it has failed");
    assert!(matches!(&error, EngineError::QueryFailed { reason, .. } if reason.contains("on purpose")), "{error}");
    engine.unregister(broken).expect("it can still be let go");
    push(&mut engine, 4);
    assert_eq!(engine.drain(sound).expect("results").len(), 1);
}
