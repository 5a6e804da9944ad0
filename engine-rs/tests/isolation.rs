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
    let writes = "PREFIX : <http://ex/> REGISTER RSTREAM <http://ex/other> AS CONSTRUCT { ?a :p ?b } WHERE { STREAM :s [NOW] { ?a :p ?b } }";
    let known = Some(["http://ex/s", "http://ex/other"].as_slice());
    let refused = engine.register_reading(writes, &ParseOptions::default(), known);
    assert_eq!(refused.map_err(|error| error.code()), Err("query.output_declared"));
    assert!(engine.snapshot() == before, "a stream that others write was taken");
    engine.register_reading(other, &ParseOptions::default(), Some(&["http://ex/other"])).expect("a known stream");
}

/// A query over static data that is too costly before any event has come: refused, and nobody else notices. Terms that
/// nobody uses may have been let go with it.
#[test]
fn a_query_that_fails_as_it_starts_is_refused_and_leaves_nothing_behind() {
    let limits = Limits { work: Some(10_000), ..Limits::default() };
    let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
    let graph: String = (0..200).map(|n| format!("<http://ex/n{n}> <http://ex/q> {n} .\n")).collect();
    engine.load(Some("http://ex/g"), graph.as_bytes(), RdfFormat::Turtle).expect("a graph");
    let out = "http://ex/out";
    let text = |from: &str, more: &str| {
        format!(
            "PREFIX : <http://ex/> REGISTER RSTREAM <{out}> AS CONSTRUCT {{ ?a :p ?b }}
             FROM NAMED WINDOW :w ON {from} [RANGE 5s STEP 1s] WHERE {{ WINDOW :w {{ ?a :p ?b }} {more} }}"
        )
    };
    let product = "GRAPH :g { ?a :q ?x . ?y :q ?z }";
    let sound = register(&mut engine, &text(":s", ""));
    let reader = register(&mut engine, &text(":out", "").replace(&format!("<{out}>"), "<http://ex/further>"));
    for _ in 0..2 {
        let before = engine.state_size();
        for costly in [text(":s", product).replace(&format!("<{out}>"), "<http://ex/other>"), text(":s", product)] {
            let refused = match costly.contains("other") {
                true => engine.register(&costly, &ParseOptions::default()),
                false => engine.replace(sound, &costly, &ParseOptions::default(), None),
            };
            let error = refused.expect_err("it fails as it starts");
            assert!(matches!(&error, EngineError::FailedAtStart { code: "query.too_costly", .. }), "{error}");
            assert!(engine.waiting().is_empty(), "a query that does not exist has results");
            assert_eq!(engine.query_ids().collect::<Vec<_>>(), [sound, reader]);
            assert_eq!(engine.state_size(), before, "{costly} has left something behind");
            assert_eq!(engine.output_stream(sound).expect("it runs"), Some(out));
        }
        push(&mut engine, 1_000, 1);
    }
    push(&mut engine, 9_000, 1);
    engine.advance_to(Timestamp::from_millis(9_000)).expect("time goes on");
    assert!(!engine.drain(reader).expect("the stream is still written").is_empty());
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
