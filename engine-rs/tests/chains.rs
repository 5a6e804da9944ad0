//! Chains: a query over what another writes is that query over the same events pushed by hand.
//!
//! Sees: events lost, doubled, late or at the wrong instant on the way, windows downstream that do not close, terms
//! let go too early. Does not see: faults of the queries themselves.

#![expect(clippy::tests_outside_test_module, reason = "an integration test is a test module")]

use whorl_engine::rdf::Triple;
use whorl_engine::{
    Answered, ContentSemantics, Engine, EngineError, EngineOptions, ParseOptions, QueryId, RdfFormat, Timestamp,
};

const PREFIX: &str = "PREFIX : <http://ex/> ";
const OUT: &str = "http://ex/out";

/// A small generator of numbers; the same seed gives the same run.
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

/// The answers as text, without ids.
fn answers(engine: &mut Engine, query: QueryId) -> Vec<String> {
    let envelopes = engine.drain_json(query, "q").expect("the query runs");
    envelopes.into_iter().map(|envelope| String::from_utf8(envelope).expect("JSON is UTF-8")).collect()
}

/// The events a query has written since the last call.
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
        // The reader may come before the writer.
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
        // Windows by count keep what they have at the end, and what [NOW] loses waits for a report that never comes.
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
    // One event for each window that closes; the first second has that of the arrival too.
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
            // What it said before it failed is still there.
            assert_eq!(engine.drain(chain).expect("results").len(), 100_003);
            engine.drain(chain).expect_err("it has failed").code()
        });
        (answers(&mut engine, query), error)
    };
    let (alone, with_chain) = (results(false), results(true));
    assert_eq!(with_chain.1, Some("query.too_costly"));
    assert!(alone.0 == with_chain.0, "another query must not change what is reported");
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
    // Its windows are empty: what arrived before is not in the first report, and readers of the stream read on.
    push_at(&mut engine, 2_500);
    engine.advance_to(Timestamp::from_millis(7_000)).expect("time goes on");
    let read = answers(&mut engine, reader);
    assert_eq!(read.iter().filter(|one| one.contains("\"type\":\"uri\"")).count(), 1, "{read:?}");
    assert!(matches!(
        engine.replace(old, &text(OUT, "?s :p ?o"), &options, None),
        Err(EngineError::UnknownQuery { .. })
    ));
}
