//! A query that fails fails alone, and queries that share leaves keep their own conditions.

use whorl_engine::{Answered, Engine, EngineError, EngineOptions, Limits, ParseOptions, QueryId, RdfFormat, Timestamp};

const SOUND: &str = "PREFIX : <http://ex/> SELECT ?a ?b WHERE { STREAM :s [RANGE 5s] { ?a :p ?b } }";
/// Reads the same leaf three times: a few triples produce more rows than the limit allows.
const COSTLY: &str = "PREFIX : <http://ex/> SELECT * WHERE { STREAM :s [RANGE 5s] { ?a :p ?b . ?c :p ?d . ?e :p ?f } }";

fn engine() -> Engine {
    let limits = Limits { result_rows: Some(100), ..Limits::default() };
    Engine::new(EngineOptions { limits, ..EngineOptions::default() })
}

fn register(engine: &mut Engine, text: &str) -> QueryId {
    engine.register(text, &ParseOptions::default()).expect("the query registers")
}

/// An event with this many triples.
fn push(engine: &mut Engine, at: i64, n_triples: i64) {
    let triple = |n: i64| format!("<http://ex/a> <http://ex/p> {} .", at * 100 + n);
    let turtle: String = (0..n_triples).map(triple).collect();
    let at = Some(Timestamp::from_millis(at));
    engine.push("http://ex/s", at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
}

#[test]
fn a_query_that_fails_fails_alone() {
    let mut engine = engine();
    let (failing, sound) = (register(&mut engine, COSTLY), register(&mut engine, SOUND));
    push(&mut engine, 1, 1);
    push(&mut engine, 2, 20);
    push(&mut engine, 3, 1);
    assert_eq!(engine.drain(sound).expect("results").len(), 3);
    assert_eq!(engine.drain(failing).expect("what it said before").len(), 1);
    let error = engine.drain(failing).expect_err("it has failed");
    assert!(matches!(&error, EngineError::QueryFailed { code: "query.too_costly", .. }), "{error}");
    engine.unregister(failing).expect("it can still be let go");
    push(&mut engine, 4, 1);
    assert_eq!(engine.drain(sound).expect("results").len(), 1);
}

/// The first query to release the shared leaves must not take them from the second.
#[test]
fn queries_that_fail_together_spare_the_engine() {
    let mut engine = engine();
    let failing = [register(&mut engine, COSTLY), register(&mut engine, COSTLY)];
    push(&mut engine, 1, 20);
    push(&mut engine, 2, 1);
    for query in failing {
        assert!(matches!(engine.drain(query), Err(EngineError::QueryFailed { .. })));
        engine.unregister(query).expect("it can still be let go");
    }
    let third = register(&mut engine, SOUND);
    push(&mut engine, 3, 1);
    assert_eq!(engine.drain(third).expect("results").len(), 1);
}

/// A query that is refused, whether in parsing, planning or building, leaves nothing behind: no stream, no term, no
/// leaf on the timeline it would have shared. Otherwise an engine that replays a log would differ.
#[test]
fn a_refused_registration_leaves_nothing_behind() {
    let mut engine = engine();
    register(&mut engine, SOUND);
    let before = engine.snapshot();
    let stream = |body: &str| format!("PREFIX : <http://ex/> SELECT * WHERE {{ STREAM :s [RANGE 5s] {{ {body} }} }}");
    for (text, code) in [
        (stream("?a :p ?b ?c"), "parse.unexpected_token"),
        (
            stream(
                "?a :q ?new . ?new :r <http://ex/new> FILTER(<http://ex/unknown>(?new, EXISTS { ?a :z ?z }) = 1) BIND(<http://www.w3.org/2001/XMLSchema#integer>(?new, \"new\") AS ?x)",
            ),
            "expr.wrong_arity",
        ),
        (stream("?a :new ?b GRAPH ?g { ?b :new* ?c }"), "plan.unsupported"),
        (stream("?a :new ?b FILTER EXISTS { SELECT ?a { ?a :u ?u } OFFSET 1 }"), "plan.needs_set"),
        ("SELECT * WHERE { STREAM ?s [NOW] { ?a ?b ?c } }".to_owned(), "plan.no_stream"),
    ] {
        let refused = engine.register(&text, &ParseOptions::default()).expect_err(&text);
        assert_eq!(refused.code(), code, "{refused} of {text}");
        assert!(engine.snapshot() == before, "{text} has left something behind");
    }
    let other = "PREFIX : <http://ex/> SELECT * WHERE { STREAM :other [NOW] { ?a :new ?b } }";
    let refused = engine.register_reading(other, &ParseOptions::default(), Some(&["http://ex/s"]));
    assert_eq!(refused.map_err(|error| error.code()), Err("stream.unknown"));
    assert!(engine.snapshot() == before, "a stream was declared");
    engine.register_reading(other, &ParseOptions::default(), Some(&["http://ex/other"])).expect("a known stream");
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
