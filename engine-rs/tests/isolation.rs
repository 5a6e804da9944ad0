//! A query that fails fails alone, and queries that share leaves keep their own conditions.

use whorl_engine::{Answered, Engine, EngineError, EngineOptions, ParseOptions, QueryId, RdfFormat, Timestamp};

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

/// The first to give back what it held of the shared leaves must not take them from the second.
#[test]
fn queries_that_fail_together_spare_the_engine() {
    let (mut engine, first, second) = engine();
    engine.break_query(first).expect("it runs");
    engine.break_query(second).expect("it runs");
    push(&mut engine, 1);
    push(&mut engine, 2);
    for query in [first, second] {
        assert!(matches!(engine.drain(query), Err(EngineError::QueryFailed { .. })));
        engine.unregister(query).expect("it can still be let go");
    }
    let third = engine.register(TEXT, &ParseOptions::default()).expect("the query registers");
    push(&mut engine, 3);
    assert_eq!(engine.drain(third).expect("results").len(), 1);
}

/// Leaves are shared when their conditions are the same; printed without brackets, these two would be.
#[test]
fn conditions_that_differ_in_brackets_are_two_leaves() {
    let mut engine = Engine::new(EngineOptions::default());
    let mut register = |condition: &str| {
        let text = format!(
            "PREFIX : <http://ex/> SELECT ?t FROM NAMED WINDOW :w ON :s [RANGE 1s]
             WHERE {{ WINDOW :w {{ ?r :temp ?t }} FILTER({condition} > 10) }}"
        );
        engine.register(&text, &ParseOptions::default()).expect("a query")
    };
    let (sum_first, product_first) = (register("(?t + 1) * 2"), register("?t + 1 * 2"));
    let event = b"<http://ex/r> <http://ex/temp> 5 .";
    engine.push("http://ex/s", Some(Timestamp::from_millis(0)), event, RdfFormat::Turtle).expect("an event");
    engine.close();
    let mut rows = |query| match &engine.drain(query).expect("results")[0].answer {
        Answered::Bindings { inserted, .. } => inserted.len(),
        other => panic!("SELECT gives bindings, not {other:?}"),
    };
    assert_eq!((rows(sum_first), rows(product_first)), (1, 0));
}
