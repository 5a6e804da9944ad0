//! Chains: a query over the output of another one gives the same results as over the same events pushed by hand.
//!
//! Detects: events lost, duplicated, late or at the wrong instant, downstream windows that do not close, terms freed
//! too early. Does not detect: faults of the queries themselves.

#![expect(clippy::tests_outside_test_module, reason = "an integration test is a test module")]

use whorl_engine::rdf::Triple;
use whorl_engine::{
    Answered, ContentSemantics, Engine, EngineError, EngineOptions, ParseOptions, QueryId, RdfFormat, Thresholds,
    Timestamp,
};

const PREFIX: &str = "PREFIX : <http://ex/> ";
const OUT: &str = "http://ex/out";

/// A small random generator; the same seed gives the same run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % n
    }

    fn pick<'a>(&mut self, options: &[&'a str]) -> &'a str {
        options[self.roll(options.len() as u64) as usize]
    }
}

fn register(engine: &mut Engine, text: &str) -> QueryId {
    engine.register(&format!("{PREFIX}{text}"), &ParseOptions::default()).expect(text)
}

fn upstream(dice: &mut Dice) -> String {
    let window = dice.pick(&["RANGE 4s", "RANGE 6s STEP 2s", "RANGE 3s STEP 3s REPORT CHANGE", "NOW", "ELEMENTS 3"]);
    let r2s = dice.pick(&["RSTREAM", "ISTREAM", "DSTREAM"]);
    let body = dice.pick(&[
        "CONSTRUCT { ?s :up ?o . ?o a :Seen } FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?s :p ?o } }",
        "CONSTRUCT { ?s :up ?n } FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { { SELECT ?s (COUNT(?o) AS ?n) WHERE { WINDOW :w { ?s :p ?o } } GROUP BY ?s } }",
        "CONSTRUCT { ?s :up ?l } FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?s :p ?o } BIND(CONCAT(\"a long name that is not inlined \", STR(?o)) AS ?l) }",
    ]);
    format!("REGISTER {r2s} <{OUT}> AS {}", body.replace("WINDOW]", &format!("{window}]")))
}

fn downstream(dice: &mut Dice) -> String {
    let window = dice.pick(&["RANGE 5s", "RANGE 8s STEP 4s", "RANGE 6s STEP 1s REPORT CHANGE", "NOW", "TRIPLES 3"]);
    let body = dice.pick(&[
        "SELECT ?s ?x FROM NAMED WINDOW :v ON :out [WINDOW] WHERE { WINDOW :v { ?s :up ?x } }",
        "SELECT ?s (COUNT(*) AS ?n) FROM NAMED WINDOW :v ON :out [WINDOW] WHERE { WINDOW :v { ?s :up ?x } } GROUP BY ?s",
    ]);
    body.replace("WINDOW]", &format!("{window}]"))
}

/// The results as text, without ids.
fn answers(engine: &mut Engine, query: QueryId) -> Vec<String> {
    let envelopes = engine.drain_json(query, "q").expect("the query runs");
    envelopes.into_iter().map(|envelope| String::from_utf8(envelope).expect("JSON is UTF-8")).collect()
}

/// The events that a query has written since the last call.
fn written(engine: &mut Engine, query: QueryId) -> Vec<(Timestamp, Vec<Triple>)> {
    let results = engine.drain(query).expect("the query runs");
    let mut events = Vec::new();
    for result in results {
        let Answered::Graph { inserted, deleted } = &result.answer else { panic!("a graph") };
        let rows = if inserted.is_empty() { deleted } else { inserted };
        let term = |id| engine.dictionary().term(id);
        let triple = |row: &[_]| match (term(row[0]), term(row[1])) {
            (whorl_engine::rdf::Term::NamedNode(s), whorl_engine::rdf::Term::NamedNode(p)) => {
                Triple::new(s, p, term(row[2]))
            }
            other => panic!("not a triple: {other:?}"),
        };
        let triples: Vec<Triple> = rows.iter().map(triple).collect();
        if !triples.is_empty() {
            events.push((result.at, triples));
        }
    }
    events
}

#[test]
fn a_query_over_a_chain_is_the_query_over_what_was_written() {
    let mut n_answers = 0;
    for seed in 1..=400 {
        let dice = &mut Dice(seed * 0x9E37_79B9);
        let (up, down) = (upstream(dice), downstream(dice));
        let mut chain = Engine::new(EngineOptions::default());
        // The reader may be registered before the writer.
        let reader_first = dice.roll(2) == 0;
        let early = reader_first.then(|| register(&mut chain, &down));
        let middle = register(&mut chain, &up);
        let chained = early.unwrap_or_else(|| register(&mut chain, &down));
        let mut source = Engine::new(EngineOptions::default());
        let writer = register(&mut source, &up);
        let mut by_hand = Engine::new(EngineOptions::default());
        let reader = register(&mut by_hand, &down);
        let mut at = 0;
        for step in 0..=14 {
            let last = step == 14;
            at += dice.roll(2_500) as i64;
            let turtle = format!("<http://ex/s{}> <http://ex/p> <http://ex/o{}> .", dice.roll(3), dice.roll(4));
            for engine in [&mut chain, &mut source] {
                if last {
                    engine.close();
                } else {
                    let time = Some(Timestamp::from_millis(at));
                    engine.push("http://ex/s", time, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
                }
            }
            for (at, triples) in written(&mut source, writer) {
                by_hand.push_triples(OUT, at, &triples).expect("an event");
            }
            if last {
                by_hand.close();
            } else {
                let watermark = Timestamp::from_millis(at);
                // An event at the watermark may have been written already.
                let _ = by_hand.advance_stream(OUT, watermark);
            }
            let (found, expected) = (answers(&mut chain, chained), answers(&mut by_hand, reader));
            n_answers += expected.len();
            assert_eq!(found, expected, "seed {seed}, step {step}\n{up}\n{down}");
        }
        chain.drain(middle).expect("the query runs");
        chain.advance_to(Timestamp::MAX).expect("the end");
        // Count windows keep their content at the end, and changes of [NOW] wait for a report that never comes.
        let keeps = ["ELEMENTS", "TRIPLES 3", "[NOW]"].iter().any(|word| up.contains(word) || down.contains(word));
        assert!(keeps || chain.state_size() == 0, "seed {seed}\n{up}\n{down}");
    }
    assert!(n_answers > 2_000, "{n_answers}");
}

#[test]
fn cycles_and_second_writers_are_refused_and_outputs_take_no_events() {
    let mut engine = Engine::new(EngineOptions::default());
    let link = |from: &str, to: &str| {
        format!(
            "{PREFIX}REGISTER ISTREAM :{to} AS CONSTRUCT {{ ?s ?p ?o }} FROM NAMED WINDOW :w ON :{from} [NOW] WHERE {{ WINDOW :w {{ ?s ?p ?o }} }}"
        )
    };
    let mut try_link = |from, to| engine.register(&link(from, to), &ParseOptions::default());
    let first = try_link("a", "b").expect("a writer");
    try_link("b", "c").expect("a writer of the writer's stream");
    let code = |error: EngineError| error.code();
    assert_eq!(try_link("c", "a").map_err(code), Err("query.cycle"));
    assert_eq!(try_link("x", "x").map_err(code), Err("query.cycle"));
    assert_eq!(try_link("x", "b").map_err(code), Err("query.output_taken"));
    assert_eq!(engine.output_stream(first).expect("a query"), Some("http://ex/b"));
    let event = b"<http://ex/s> <http://ex/p> 1 .";
    let push = |engine: &mut Engine, stream: &str| {
        engine.push(stream, Some(Timestamp::EPOCH), event, RdfFormat::Turtle).map_err(code)
    };
    assert_eq!(push(&mut engine, "http://ex/b").err(), Some("stream.output"));
    engine.unregister(first).expect("a query");
    assert!(push(&mut engine, "http://ex/b").is_ok(), "nobody writes it any more");
}

const REPEATS: &str = "REGISTER RSTREAM :out AS CONSTRUCT { ?s :up ?o } FROM NAMED WINDOW :l ON :s [ALL]
    FROM NAMED WINDOW :w ON :s [RANGE 1ms] WHERE { WINDOW :l { ?s :p ?o } OPTIONAL { WINDOW :w { ?s :q ?o } } }";

fn push_at(engine: &mut Engine, ms: i64) {
    let time = Some(Timestamp::from_millis(ms));
    engine.push("http://ex/s", time, b"<http://ex/s> <http://ex/p> 1 .", RdfFormat::Turtle).expect("an event");
}

#[test]
fn a_long_stretch_without_news_loses_no_event_of_a_chain() {
    let mut engine = Engine::new(EngineOptions::default());
    register(&mut engine, REPEATS);
    let down = "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :v ON :out [RANGE 1s] WHERE { WINDOW :v { ?s :up ?o } }";
    let options = ParseOptions { semantics: Some(ContentSemantics::Bag), ..ParseOptions::default() };
    let reader = engine.register(&format!("{PREFIX}{down}"), &options).expect("a reader");
    push_at(&mut engine, 0);
    push_at(&mut engine, 20_000);
    let answers = answers(&mut engine, reader);
    // One event per closing window; the first second also has that of the arrival.
    assert_eq!(answers.len(), 20);
    assert!(answers.iter().all(|answer| answer.contains("\"value\":\"1000\"")), "{answers:?}");
}

#[test]
fn a_chain_that_would_repeat_itself_for_ever_fails_alone() {
    let beside = "SELECT ?s FROM NAMED WINDOW :l ON :s [ALL] FROM NAMED WINDOW :w ON :s [RANGE 1ms]
        WHERE { WINDOW :l { ?s :p ?o } OPTIONAL { WINDOW :w { ?s :q ?o } } }";
    let results = |with_chain: bool| {
        let mut engine = Engine::new(EngineOptions::default());
        let query = register(&mut engine, beside);
        let chain = with_chain.then(|| register(&mut engine, REPEATS));
        push_at(&mut engine, 0);
        push_at(&mut engine, 31_556_952_000_000);
        let error = chain.map(|chain| {
            // Results from before the failure are still readable.
            assert_eq!(engine.drain(chain).expect("results").len(), 100_003);
            engine.drain(chain).expect_err("it has failed").code()
        });
        (answers(&mut engine, query), error)
    };
    let (alone, with_chain) = (results(false), results(true));
    assert_eq!(with_chain.1, Some("query.too_costly"));
    assert!(alone.0 == with_chain.0, "another query must not change what is reported");
}

/// A chain numbers its own events while an event is applied. If the next reading of that event (by a time in its data)
/// got one of those numbers, a sweep would free terms that its windows still show.
#[test]
fn an_event_keeps_its_number_in_every_reading_of_its_stream() {
    let thresholds = Thresholds { new_terms_min: 1, ..Thresholds::default() };
    let mut engine = Engine::new(EngineOptions { thresholds, ..EngineOptions::default() });
    let writer = register(
        &mut engine,
        "REGISTER ISTREAM :out AS CONSTRUCT { :x :seen 1 } FROM NAMED WINDOW :w ON :s [NOW] WHERE { WINDOW :w { ?s :p ?o } }",
    );
    let reader = register(
        &mut engine,
        "SELECT ?s ?o FROM NAMED WINDOW :v ON :s [RANGE 100s STEP 100s @ :when] WHERE { WINDOW :v { ?s :p ?o } }",
    );
    let mut push = |ms: i64, turtle: &str| {
        let text = format!("@prefix : <http://ex/> . {turtle}");
        engine.push("http://ex/s", Some(Timestamp::from_millis(ms)), text.as_bytes(), RdfFormat::Turtle).expect(turtle);
        engine.drain(writer).expect("the writer runs");
    };
    push(0, ":first :p :one .");
    push(1, ":second :p :two ; :when 1 .");
    push(2, ":third :p :three ; :when 2 .");
    push(3, ":fourth :p :four ; :when 3 .");
    engine.close();
    let answers = answers(&mut engine, reader);
    let names = ["second", "two", "third", "three", "fourth", "four"];
    assert!(names.iter().all(|name| answers[0].contains(&format!("\"http://ex/{name}\""))), "{answers:?}");
}

/// A query that fails between two instants is visited at the next one, although that does not concern it, so that its
/// state is released.
#[test]
fn a_chain_that_fails_in_a_quiet_stretch_leaves_no_state() {
    let thresholds =
        Thresholds { quiet_reports_max: 2, repeated_reports_max: 5, checks: true, ..Thresholds::default() };
    for r2s in ["RSTREAM", "ISTREAM"] {
        let mut engine = Engine::new(EngineOptions { thresholds, ..EngineOptions::default() });
        let writer = register(
            &mut engine,
            &format!(
                "REGISTER {r2s} :out AS CONSTRUCT {{ ?s :at ?n }} FROM NAMED WINDOW :l ON :s [ALL]
                FROM NAMED WINDOW :w ON :s [RANGE 1ms] WHERE {{ WINDOW :l {{ ?s :p ?o }} OPTIONAL {{ WINDOW :w {{ ?s :q ?x }} }} BIND(NOW() AS ?n) }}"
            ),
        );
        push_at(&mut engine, 0);
        push_at(&mut engine, 1_000);
        engine.drain(writer).expect("what it said before");
        assert_eq!(engine.drain(writer).expect_err("it repeats itself").code(), "query.too_costly", "{r2s}");
        engine.advance_to(Timestamp::from_millis(1_001)).expect("a watermark");
        assert_eq!(engine.state_size(), 0, "{r2s}");
    }
}

/// The condition is evaluated again when a left row leaves. It must then give the same result as before, even if it
/// uses RAND: random values belong to the pair of rows, and NOW() is part of the row.
#[test]
fn a_condition_of_optional_that_draws_takes_back_what_it_gave() {
    let thresholds = Thresholds { checks: true, ..Thresholds::default() };
    for condition in ["RAND() < 0.5", "NOW() > ?t", "RAND() < 0.5 && NOW() > ?t"] {
        let mut engine = Engine::new(EngineOptions { thresholds, ..EngineOptions::default() });
        let text = format!(
            "SELECT ?a ?b ?t FROM NAMED WINDOW :w ON :s [RANGE 5ms] FROM NAMED WINDOW :v ON :s [RANGE 3ms]
             WHERE {{ WINDOW :w {{ ?a :p ?b }} OPTIONAL {{ WINDOW :v {{ ?a :q ?t }} FILTER({condition}) }} }}"
        );
        let query = register(&mut engine, &text);
        for ms in 0..60_i64 {
            let turtle = format!(
                "<http://ex/a{}> <http://ex/p> {ms} ; <http://ex/q> \"1970-01-01T00:00:00.0{:02}Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> .",
                ms % 3,
                ms % 7
            );
            engine
                .push("http://ex/s", Some(Timestamp::from_millis(ms)), turtle.as_bytes(), RdfFormat::Turtle)
                .expect("an event");
            engine.drain(query).expect("the query runs");
        }
        engine.advance_to(Timestamp::from_millis(1_000)).expect("a watermark");
        engine.drain(query).expect("the query runs");
        engine.advance_to(Timestamp::from_millis(1_001)).expect("a watermark");
        assert_eq!(engine.state_size(), 0, "{condition}");
    }
}

#[test]
fn a_query_is_replaced_or_left_as_it_was() {
    let text = |out: &str, pattern: &str| {
        format!(
            "{PREFIX}REGISTER RSTREAM <{out}> AS CONSTRUCT {{ ?s :up ?o }} FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 2s] WHERE {{ WINDOW :w {{ {pattern} }} }}"
        )
    };
    let options = ParseOptions::default();
    let mut engine = Engine::new(EngineOptions::default());
    let old = engine.register(&text(OUT, "?s :p ?o"), &options).expect("it is a query");
    let reader = register(
        &mut engine,
        "SELECT ?s FROM NAMED WINDOW :v ON :out [RANGE 2s STEP 2s] WHERE { WINDOW :v { ?s :up ?x } }",
    );
    push_at(&mut engine, 500);
    let before = engine.snapshot();
    for (wrong, streams) in [
        (text(OUT, "?s :p"), None),
        (text("http://ex/s", "?s :p ?o"), None),
        (text(OUT, "?s :p ?o"), Some(["http://ex/other"].as_slice())),
    ] {
        engine.replace(old, &wrong, &options, streams).expect_err("it cannot run");
        assert_eq!(engine.snapshot(), before, "{wrong}");
    }
    let new =
        engine.replace(old, &text(OUT, "?s :p ?o . ?s :p ?x"), &options, None).expect("it writes the same stream");
    assert_eq!(engine.output_stream(new).expect("it runs"), Some(OUT));
    assert!(matches!(engine.drain(old), Err(EngineError::UnknownQuery { .. })));
    // Its windows are empty: earlier events are not in the first report, and readers of the stream continue.
    push_at(&mut engine, 2_500);
    engine.advance_to(Timestamp::from_millis(7_000)).expect("time goes on");
    let read = answers(&mut engine, reader);
    assert_eq!(read.iter().filter(|one| one.contains("\"type\":\"uri\"")).count(), 1, "{read:?}");
    assert!(matches!(
        engine.replace(old, &text(OUT, "?s :p ?o"), &options, None),
        Err(EngineError::UnknownQuery { .. })
    ));
}
