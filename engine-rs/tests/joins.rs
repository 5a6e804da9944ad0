//! Joins at their edges: filters that one step decides, copies that leave and return, indexes that outlive their users.
//!
//! Detects: skipped filters, results reported as new that only left and returned, unused indexes. Does not detect:
//! missing results among many; the oracle does.

#![expect(clippy::tests_outside_test_module, reason = "an integration test is a test module")]

use whorl_engine::{
    Answered, Engine, EngineOptions, Limits, ParseOptions, Probing, QueryId, Rare, RdfFormat, Retraction, Timestamp,
};

const PREFIX: &str = "PREFIX : <http://ex/> ";

fn push(engine: &mut Engine, ms: i64, turtle: &str) {
    let text = format!("{PREFIX}{turtle}");
    engine.push("http://ex/s", Some(Timestamp::from_millis(ms)), text.as_bytes(), RdfFormat::Turtle).expect("an event");
}

fn register(engine: &mut Engine, text: &str) -> QueryId {
    engine.register(&format!("{PREFIX}{text}"), &ParseOptions::default()).expect(text)
}

/// The rows of all results so far.
fn rows(engine: &mut Engine, query: QueryId) -> Vec<String> {
    let mut rows = Vec::new();
    for result in engine.drain(query).expect("results") {
        let Answered::Bindings { inserted, .. } = &result.answer else { panic!("a SELECT") };
        let term = |id: &whorl_engine::TermId| engine.dictionary().term(*id).to_string();
        rows.extend(inserted.iter().map(|row| row.iter().map(term).collect::<Vec<_>>().join(" ")));
    }
    rows
}

fn ways() -> impl Iterator<Item = EngineOptions> {
    let retractions = [Retraction::Auto, Retraction::Tree, Retraction::Probe];
    retractions.into_iter().flat_map(|retraction| {
        (0..4).map(move |order| EngineOptions {
            retraction,
            probing: Probing::Fixed(order),
            ..EngineOptions::default()
        })
    })
}

/// The variables of a filter may be bound all at once: by the arriving mapping, by an input, or by nothing at all.
#[test]
fn a_filter_that_one_step_decides_is_decided() {
    let bodies = [
        ("WINDOW :w { ?a :p ?b . ?b :q ?c } FILTER(1 > 2)", 0),
        ("WINDOW :w { ?a :p ?b . ?b :q ?c } FILTER(1 < 2)", 1),
        (
            "{ SELECT ?a (COUNT(?x) AS ?n) WHERE { WINDOW :w { ?a :p ?x } } GROUP BY ?a } WINDOW :w { ?a :p ?b . ?b :q ?c } FILTER(?n > 5)",
            0,
        ),
        (
            "{ SELECT ?a (COUNT(?x) AS ?n) WHERE { WINDOW :w { ?a :p ?x } } GROUP BY ?a } WINDOW :w { ?a :p ?b . ?b :q ?c } FILTER(?n < 5)",
            1,
        ),
        ("VALUES (?b ?n) { (:b 1) (:b 7) } WINDOW :w { ?a :p ?b . ?b :q ?c } FILTER(?n > 5)", 1),
        ("VALUES (?b ?n) { (:b 1) (:b 7) } WINDOW :w { ?a :p ?b . ?b :q ?c } FILTER(?n > ?c)", 1),
    ];
    for (body, expected) in bodies {
        for options in ways() {
            let mut engine = Engine::new(options);
            let query = register(
                &mut engine,
                &format!("SELECT ?a ?b ?c FROM NAMED WINDOW :w ON :s [RANGE 10ms] WHERE {{ {body} }}"),
            );
            push(&mut engine, 0, ":a :p :b . :b :q 3 .");
            engine.close();
            assert_eq!(rows(&mut engine, query).len(), expected, "{body}\n{options:?}");
        }
    }
}

/// In a bag, a mapping that leaves while an equal one arrives gives nothing new, whichever of the arrivals it is.
#[test]
fn what_leaves_and_returns_at_one_instant_is_not_new() {
    let texts = [
        "SELECT ?a ?b WHERE { STREAM :s [RANGE 5ms] { ?a :p ?b } }",
        "SELECT ?a ?b ?c WHERE { STREAM :s [RANGE 5ms] { ?a :p ?b . ?b :q ?c } }",
    ];
    for (text, n_others) in texts.iter().flat_map(|text| (0..20).map(move |n| (text, n))) {
        let mut engine = Engine::new(EngineOptions::default());
        let query = register(&mut engine, text);
        push(&mut engine, 0, ":a :p :b . :b :q :c .");
        assert_eq!(rows(&mut engine, query).len(), 1);
        let others: String = (0..n_others).map(|n| format!(":x{n} :p :y{n} . ")).collect();
        push(&mut engine, 5, &format!("{others} :a :p :b . :b :q :c ."));
        let new = rows(&mut engine, query);
        assert!(new.iter().all(|row| !row.starts_with("<http://ex/a>")), "{text}, {n_others} others: {new:?}");
    }
}

/// A leaf has the indexes that some query needs; those of a removed neighbour are dropped.
#[test]
fn a_neighbour_takes_its_indexes_along() {
    let window = "FROM NAMED WINDOW :w ON :s [RANGE 10ms]";
    let mut engine = Engine::new(EngineOptions::default());
    let query = register(&mut engine, &format!("SELECT * {window} WHERE {{ WINDOW :w {{ ?a :p ?b . ?a :q ?c }} }}"));
    let alone = engine.explain(query).expect("a plan");
    let other = format!("SELECT * {window} WHERE {{ WINDOW :w {{ ?a :p ?b . ?d :q ?b . ?d :p ?c }} }}");
    let neighbour = register(&mut engine, &other);
    assert_ne!(engine.explain(query).expect("a plan"), alone, "the neighbour adds an index to the leaf");
    engine.unregister(neighbour).expect("it is there");
    assert_eq!(engine.explain(query).expect("a plan"), alone);
}

/// Everything that a query emits while events of one triple arrive one by one. Neighbours run the same query, so that
/// the leaves have several readers.
fn said(text: &str, limits: Limits, neighbours: usize) -> Vec<String> {
    let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
    let query = register(&mut engine, text);
    for _ in 0..neighbours {
        register(&mut engine, text);
    }
    let (mut said, mut state, mut at) = (Vec::new(), 7_u64, 0_i64);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..300 {
        at += draw(3) as i64;
        let (stream, predicate) = [("s", "p"), ("t", "q")][draw(2) as usize];
        let stream = if text.contains("STREAM :t") { stream } else { "s" };
        let turtle = format!("{PREFIX} :v{} :{predicate} {} .", draw(3), draw(4));
        let (stream, at) = (format!("http://ex/{stream}"), Some(Timestamp::from_millis(at)));
        engine.push(&stream, at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
        let results = engine.drain(query).map_err(|error| error.code());
        said.push(format!("{results:?}"));
    }
    said
}

/// An event that arrives alone takes the direct path; if a leaf has two readers, it takes the general one.
#[test]
fn an_instant_says_the_same_straight_and_by_lists() {
    let texts = [
        "SELECT ?a ?b WHERE { STREAM :s [TRIPLES 3] { ?a :p ?b } }",
        "SELECT ?a ?b ?c WHERE { STREAM :s [TRIPLES 9] { ?a :p ?b } STREAM :t [TRIPLES 7] { ?a :q ?c } }",
        "SELECT ?a ?b ?c WHERE { STREAM :s [RANGE 20ms] { ?a :p ?b } STREAM :t [RANGE 12ms] { ?a :q ?c } }",
        "SELECT ?a ?b ?c WHERE { STREAM :s [RANGE 20ms] { ?a :p ?b } STREAM :t [TRIPLES 7] { ?a :q ?c } FILTER(?b > 1) }",
        "SELECT ?a ?b WHERE { STREAM :s [TRIPLES 5] { ?a :p ?b . ?c :p ?b } }",
        "SELECT ?a WHERE { STREAM :s [TRIPLES 5] { ?a :p ?b . ?a :q ?c } }",
        "SELECT ?a ?b ?c WHERE { STREAM :s [RANGE 9ms] { ?a :p ?b . ?a :q ?c } }",
        "SELECT (COUNT(*) AS ?n) WHERE { STREAM :s [TRIPLES 5] { ?a :p ?b } STREAM :t [ALL] { ?a :q ?c } }",
    ];
    let stopping = Limits { work: Some(25), ..Limits::default() };
    let narrow = Limits { result_rows: Some(2), ..Limits::default() };
    for limits in [Limits::default(), stopping, narrow] {
        for text in texts {
            let before = Rare::WentStraight.count();
            let straight = said(text, limits, 0);
            let went = Rare::WentStraight.count() - before;
            assert!(!cfg!(debug_assertions) || went > 0 || text.contains("?c :p"), "none goes straight: {text}");
            let by_lists = said(text, limits, 1);
            assert_eq!(Rare::WentStraight.count() - before, went, "a leaf with two readers: {text}");
            for (number, (one, other)) in straight.iter().zip(&by_lists).enumerate() {
                assert_eq!(one, other, "event {number} of {text} with {limits:?}");
            }
        }
    }
}

/// A result that leaves with a mapping of one leaf returns with a mapping of another.
#[test]
fn what_goes_from_one_leaf_and_comes_back_from_another_is_not_new() {
    let mut engine = Engine::new(EngineOptions::default());
    let query = register(&mut engine, "SELECT ?a WHERE { STREAM :s [TRIPLES 3] { ?a :p ?b . ?a :q ?c } }");
    push(&mut engine, 1, ":v :q 1 .");
    push(&mut engine, 2, ":v :q 2 .");
    push(&mut engine, 3, ":v :p 1 .");
    assert_eq!(rows(&mut engine, query).len(), 2);
    // The first of the four leaves, and a row with it; one row arrives.
    push(&mut engine, 4, ":v :p 2 .");
    assert_eq!(rows(&mut engine, query), [""; 0]);
}
