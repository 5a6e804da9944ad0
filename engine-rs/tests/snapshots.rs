//! Snapshots in special cases: damage of every kind is an error and nothing else, other releases are detected, options
//! may differ, and a stream that has ended stays ended.
//!
//! Detects: panics, unbounded allocations, undetected damage. Does not detect: missing state; law 8 does.

#![expect(clippy::tests_outside_test_module, reason = "an integration test is a test module")]

use whorl_engine::{
    Engine, EngineError, EngineOptions, ParseOptions, QueryId, RdfFormat, Retraction, Span, StreamOptions, Timestamp,
};

const S: &str = "http://ex/s";
const PREFIX: &str = "PREFIX : <http://ex/> ";

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn push(engine: &mut Engine, stream: &str, ms: i64, turtle: &str) -> u64 {
    let rdf = format!("{PREFIX}{turtle}");
    engine.push(stream, Some(at(ms)), rdf.as_bytes(), RdfFormat::Turtle).expect("an event").accepted
}

fn register(engine: &mut Engine, text: &str) -> QueryId {
    engine.register(&format!("{PREFIX}{text}"), &ParseOptions::default()).expect(text)
}

fn said(engine: &mut Engine, query: QueryId) -> Vec<String> {
    let envelopes = engine.drain_json(query, "q").expect("results");
    envelopes.into_iter().map(|bytes| String::from_utf8(bytes).expect("UTF-8")).collect()
}

/// Something in every section.
fn engine_with_everything() -> (Engine, Vec<QueryId>) {
    let mut engine = Engine::new(EngineOptions::default());
    let options = StreamOptions { lateness: Some(Span::from_millis(3)), ..StreamOptions::default() };
    engine.declare_stream(S, options).expect("a stream");
    engine
        .update("INSERT DATA { <http://ex/a> <http://ex/limit> 2 , \"long enough for a slot\"@en }", None)
        .expect("data");
    let queries = [
        "SELECT ?a ?b ?c ?d FROM NAMED WINDOW :w ON :s [RANGE 20ms STEP 5ms] WHERE { WINDOW :w { ?a :p ?b . ?b :q ?c . ?c :r ?d } }",
        "REGISTER ISTREAM :out AS CONSTRUCT { ?a :up [ :of ?b ] } FROM NAMED WINDOW :w ON :s [RANGE 20ms STEP 5ms] WHERE { WINDOW :w { ?a :p ?b } OPTIONAL { ?a :limit ?l } }",
        "SELECT ?a (SUM(?b) AS ?n) (SAMPLE(?b) AS ?one) FROM NAMED WINDOW :w ON :out [ELEMENTS 3] WHERE { WINDOW :w { ?a :up ?b } } GROUP BY ?a",
        "SELECT ?a ?b FROM NAMED WINDOW :w ON :s [TRIPLES 6] WHERE { WINDOW :w { ?a (:p|:q)+ ?b } } ORDER BY ?b LIMIT 3",
    ];
    let queries = queries.iter().map(|text| register(&mut engine, text)).collect();
    for n in 0..8 {
        push(
            &mut engine,
            S,
            n * 3,
            &format!(":a{} :p :b . :b :q :c , {n} . :c :r 1.5 , \"a text of its own {n}\" .", n % 3),
        );
    }
    (engine, queries)
}

#[test]
fn damage_at_any_place_is_an_error() {
    let snapshot = engine_with_everything().0.snapshot();
    let refused = |bytes: &[u8]| match Engine::restore(bytes, EngineOptions::default()) {
        Ok(_) => panic!("damage passed"),
        Err(error) => assert!(["snapshot.damaged", "snapshot.version"].contains(&error.code()), "{error}"),
    };
    for place in 0..snapshot.len() {
        let mut damaged = snapshot.clone();
        damaged[place] ^= 1 << (place % 8);
        refused(&damaged);
        if place % 7 == 0 {
            refused(&snapshot[..place]);
        }
    }
    refused(b"");
    refused(&[snapshot.as_slice(), b"x"].concat());
    refused(&[0xFF; 4096]);
}

/// The checksum of `codec.rs`, so that damage passes it and reaches the readers after it.
fn resealed(mut document: Vec<u8>) -> Vec<u8> {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let payload = &document[28..];
    let (words, rest) = payload.as_chunks::<8>();
    let sum = words.iter().fold(payload.len() as u64, |sum, word| step(sum, u64::from_le_bytes(*word)));
    let sum = step(rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte))), 0);
    let length = payload.len() as u64;
    document[12..20].copy_from_slice(&length.to_le_bytes());
    document[20..28].copy_from_slice(&sum.to_le_bytes());
    document
}

/// Such damage may produce a wrong engine, but never a panic or an unbounded allocation.
#[test]
fn damage_behind_the_checksum_does_not_panic() {
    let snapshot = engine_with_everything().0.snapshot();
    assert_eq!(resealed(snapshot.clone()), snapshot, "the sum is the sum");
    let mut errors = 0;
    for place in (28..snapshot.len()).step_by(5) {
        let mut damaged = snapshot.clone();
        damaged[place] ^= [0xFF, 0x01, 0x80][place % 3];
        errors += u32::from(Engine::restore(&resealed(damaged), EngineOptions::default()).is_err());
        if place % 3 == 0 {
            let cut = resealed(snapshot[..place].to_vec());
            assert!(Engine::restore(&cut, EngineOptions::default()).is_err(), "cut at {place}");
        }
    }
    assert!(errors > 0);
}

#[test]
fn another_format_is_told_from_damage() {
    let mut snapshot = Engine::new(EngineOptions::default()).snapshot();
    let format = u32::from_le_bytes(snapshot[8..12].try_into().expect("four bytes"));
    snapshot[8] += 1;
    let error = Engine::restore(&snapshot, EngineOptions::default()).err().expect("refused");
    assert_eq!(error.code(), "snapshot.version");
    let told = format!("its format is {}, and this release reads {format}", format + 1);
    assert!(error.to_string().contains(&told), "{error}");
}

#[test]
fn options_may_differ_and_may_differ_again() {
    let (mut engine, queries) = engine_with_everything();
    let mut others = Engine::restore(&engine.snapshot(), EngineOptions::default()).expect("it restores");
    for retraction in [Retraction::Tree, Retraction::Probe, Retraction::Auto] {
        let options = EngineOptions { retraction, sharing: false, hash_seed: 7, ..EngineOptions::default() };
        others = Engine::restore(&others.snapshot(), options).expect("it restores");
    }
    engine.close();
    others.close();
    for query in queries {
        assert_eq!(said(&mut others, query), said(&mut engine, query));
    }
}

#[test]
fn an_ended_stream_takes_nothing_more_and_holds_nothing_back() {
    let mut engine = Engine::new(EngineOptions::default());
    let options = StreamOptions { idle_timeout: Some(Span::from_millis(50)), ..StreamOptions::default() };
    engine.declare_stream("http://ex/s2", options).expect("a stream");
    let text = "SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE 10ms] FROM NAMED WINDOW :v ON :s2 [RANGE 10ms] WHERE { WINDOW :w { ?a :p ?x } WINDOW :v { ?b :p ?y } }";
    let query = register(&mut engine, text);
    assert_eq!(push(&mut engine, S, 1, ":a :p 1 ."), 1);
    assert_eq!(push(&mut engine, "http://ex/s2", 2, ":b :p 1 ."), 1);
    engine.close_stream(S).expect("it ends");
    assert_eq!(said(&mut engine, query), [""; 0], "the other stream is at 2 and has not timed out");
    assert_eq!(push(&mut engine, S, 3, ":late :p 1 ."), 0, "late");
    let mut restored = Engine::restore(&engine.snapshot(), EngineOptions::default()).expect("it restores");
    for engine in [&mut engine, &mut restored] {
        assert_eq!(push(engine, S, 4, ":late :p 1 ."), 0, "late");
        assert_eq!(push(engine, "http://ex/s2", 12, ":b :p 2 ."), 1);
        let said = said(engine, query);
        assert_eq!(said.len(), 1, "the other stream alone moves time");
        assert!(said[0].contains("http://ex/a") && said[0].contains("http://ex/b"), "{said:?}");
        engine.close_stream("http://ex/s2").expect("it ends");
        assert_eq!(engine.state_size(), 0);
    }
    assert!(matches!(engine.close_stream("http://ex/none"), Err(EngineError::UnknownStream { .. })));
}

/// Between two closes, groups have counted events that they do not show yet. Stragglers and copies occur as well.
#[test]
fn a_window_that_is_folded_ahead_is_restored_in_its_middle() {
    let text = |step: i64| {
        format!(
            "SELECT ?a (SUM(?b) AS ?n) (MIN(?b) AS ?least) (MEDIAN(?b) AS ?middle) FROM NAMED WINDOW :w ON :s [RANGE 400ms STEP {step}ms]
             WHERE {{ WINDOW :w {{ ?a :p ?b }} }} GROUP BY ?a"
        )
    };
    let mut kept = Engine::new(EngineOptions::default());
    let queries = [400, 100, 500].map(|step| register(&mut kept, &text(step)));
    let mut restored = Engine::restore(&kept.snapshot(), EngineOptions::default()).expect("a snapshot");
    let mut results = 0;
    for n in 0..2_000 {
        let ms = if n % 11 == 10 { n - 5 } else { n };
        for engine in [&mut kept, &mut restored] {
            push(engine, S, ms, &format!(":a{} :p {} .", n % 7, n * 13 % 50));
        }
        if n % 149 == 70 {
            let snapshot = kept.snapshot();
            assert_eq!(restored.snapshot(), snapshot, "the same state after event {n}");
            restored = Engine::restore(&snapshot, EngineOptions::default()).expect("a snapshot");
        }
        for query in queries {
            let expected = said(&mut kept, query);
            assert_eq!(said(&mut restored, query), expected, "after event {n}");
            results += expected.len();
        }
    }
    assert!(results > 20, "{results} closes");
}
