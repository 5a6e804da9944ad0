//! Costly queries are refused or fail alone, after a bounded amount of work and memory.
//!
//! Detects: work that is not counted (a test that does not end), failures that spread, state that a failed query leaves
//! behind, limits that are not enforced. Does not detect: how long a unit of work takes.

use std::path::Path;
use whorl_engine::{
    AnswerFormat, AskOptions, Engine, EngineError, EngineOptions, Limits, ParseOptions, QueryId, RdfFormat, Timestamp,
};

const STREAM: &str = "http://ex/s";
const NODES: i64 = 300;
const HEAD: &str = "PREFIX : <http://ex/> ";
const FROM: &str = "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s]";
const NEIGHBOUR: &str = "SELECT ?a (COUNT(?b) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s]
                         WHERE { WINDOW :w { ?a :p ?b . ?a :v ?v } FILTER(?v > 3) } GROUP BY ?a";

fn limits() -> Limits {
    Limits { work: Some(1_000_000), result_rows: Some(2_000), ..Limits::guarded() }
}

fn engine(limits: Limits) -> Engine {
    Engine::new(EngineOptions { limits, ..EngineOptions::default() })
}

fn register(engine: &mut Engine, text: &str, allow_cartesian: bool) -> Result<QueryId, EngineError> {
    let options = ParseOptions { allow_cartesian, ..ParseOptions::default() };
    engine.register(&format!("{HEAD}{text}"), &options)
}

fn select(what: &str, pattern: &str) -> String {
    format!("SELECT {what} {FROM} WHERE {{ WINDOW :w {{ {pattern} }} }}")
}

/// A ring of nodes with numbers and texts, some of it new at every instant.
fn run(engine: &mut Engine) {
    for second in 0..4 {
        let mut turtle = String::from("PREFIX : <http://ex/>\n");
        for i in 0..NODES {
            let (next, other) = ((i + 1) % NODES, (i * 7 + second) % NODES);
            turtle += &format!(":n{i} :p :n{next} ; :q :n{other} ; :v {i} ; :t \"text {i}\" .\n");
        }
        let at = Some(Timestamp::from_millis(second * 1000));
        engine.push(STREAM, at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
    }
    engine.advance_to(Timestamp::from_millis(30_000)).expect("time goes on");
}

fn answers(engine: &mut Engine, query: QueryId) -> Vec<Vec<u8>> {
    engine.drain_json(query, "q").expect("the neighbour runs")
}

#[derive(PartialEq, Debug)]
enum Fate {
    Refused(&'static str),
    Failed(String),
    Answered,
}

/// Registers the query beside a neighbour that shares its windows, runs both, and checks that the neighbour emits the
/// same results as alone.
fn fate(text: &str, allow_cartesian: bool, limits: Limits) -> Fate {
    let mut alone = engine(limits);
    let reference = register(&mut alone, NEIGHBOUR, false).expect("the neighbour is harmless");
    run(&mut alone);
    let mut shared = engine(limits);
    let hostile = register(&mut shared, text, allow_cartesian);
    let neighbour = register(&mut shared, NEIGHBOUR, false).expect("the neighbour is harmless");
    run(&mut shared);
    assert_eq!(answers(&mut shared, neighbour), answers(&mut alone, reference), "{text}");
    let hostile = match hostile {
        Ok(hostile) => hostile,
        Err(error) => return Fate::Refused(error.code()),
    };
    let failure = std::iter::repeat_with(|| shared.drain(hostile)).take(3).find_map(Result::err);
    let Some(failure) = failure else { return Fate::Answered };
    assert_eq!(failure.code(), "query.too_costly", "{failure} of {text}");
    assert!(shared.explain(hostile).is_err(), "a query that failed has no plan");
    assert_eq!(shared.state_size(), alone.state_size(), "a failed query keeps nothing: {text}");
    Fate::Failed(failure.to_string())
}

fn breaks(text: &str, limit: &str) {
    breaks_within(limits(), text, limit);
}

fn breaks_within(limits: Limits, text: &str, limit: &str) {
    match fate(text, true, limits) {
        Fate::Failed(message) => assert!(message.contains(&format!("(limit {limit})")), "{message} of {text}"),
        other => panic!("{other:?}, and not {limit}, for {text}"),
    }
}

fn is_refused(text: &str, code: &str) {
    match fate(text, false, limits()) {
        Fate::Refused(given) => assert_eq!(given, code, "{text}"),
        other => panic!("{other:?}, and not refused, for {text}"),
    }
}

fn product(n: usize) -> String {
    (0..n).map(|i| format!("?a{i} :p ?b{i} . ")).collect()
}

fn doublings(n: usize, step: &str) -> String {
    let bind = |i: usize| format!("BIND({} AS ?x{}) ", step.replace('@', &format!("?x{i}")), i + 1);
    format!(":n1 :t ?x0 . {}", (0..n).map(bind).collect::<String>())
}

#[test]
fn products_are_refused_and_where_allowed_stop_in_the_middle() {
    for n in 2..=6 {
        let text = select("*", &product(n));
        is_refused(&text, "query.too_costly");
        match fate(&text, true, limits()) {
            Fate::Failed(message) => assert!(message.contains("too costly"), "{message}"),
            other => panic!("{other:?} for a product of {n}"),
        }
        breaks(&select("(COUNT(*) AS ?n)", &product(n.max(3))), "work");
    }
    is_refused(&select("*", "?a :p ?b OPTIONAL { ?c :q ?d }"), "query.too_costly");
    is_refused(&select("*", "?a :p ?b { SELECT ?c { ?c :q ?d } }"), "query.too_costly");
    is_refused(&select("*", "?a :p ?b { { ?c :q ?d } UNION { ?c :v ?d } }"), "query.too_costly");
    breaks(&select("(COUNT(*) AS ?n)", "?a :p ?b . ?c :q ?d . ?e :v ?f OPTIONAL { ?g :p ?h }"), "work");
    breaks(&select("(COUNT(*) AS ?n)", "?a :p ?b . ?c :q ?d . ?e :v ?f MINUS { ?c :p ?a }"), "work");
    breaks(&select("*", "?a :p ?b . ?c :q ?d FILTER(?a != ?c) FILTER NOT EXISTS { ?x :p ?y FILTER(?y = ?b) }"), "work");
}

#[test]
fn a_product_is_refused_with_its_place_and_what_to_do() {
    let mut engine = engine(limits());
    let error = register(&mut engine, &select("*", "?room :p ?b . ?c :q ?d"), false).expect_err("a product");
    let position = error.position().expect("a place");
    assert_eq!((position.line, position.column > 20), (1, true), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("allow_cartesian")), "{error}");
    assert!(error.to_string().contains("?b") && error.to_string().contains("?c"), "{error}");
}

#[test]
fn parts_that_an_expression_brings_together_are_no_product() {
    for pattern in [
        "?a :p ?b . ?c :q ?d FILTER(?b = ?d)",
        "?a :v ?b . ?c :v ?d BIND(?b + 1 AS ?e) FILTER(?e = ?d)",
        "?a :v ?b . VALUES ?limit { 3 4 }",
        "?a :v ?b { SELECT (MAX(?v) AS ?m) { ?x :v ?v } }",
        "?a :v ?b OPTIONAL { ?c :v ?d FILTER(?d = ?b + 1) }",
        "?a :p _:x . _:x :q ?c",
        ":n1 :p :n2 . ?a :p ?b",
        "?a :p :n1 ; :v ?b . ?c :p ?d",
        "GRAPH ?g { ?a :p ?b . ?c :q ?d }",
    ] {
        let mut engine = engine(limits());
        let registered = register(&mut engine, &select("*", pattern), false);
        assert!(registered.is_ok(), "{pattern}: {}", registered.expect_err("refused"));
    }
}

#[test]
fn open_closures_are_refused_and_where_allowed_stop_in_the_middle() {
    for path in [":p*", ":p+", "(:p*)*", "(:p|:q)*", "(:p|:q)+", "^:p*", "(:p/:q)*", "!:v*", ":p*/:q*", ":p*|:q"] {
        let text = select("?a ?b", &format!("?a {path} ?b"));
        is_refused(&text, "query.too_costly");
        breaks(&text, "work");
    }
    is_refused(&select("?a ?c", "?a :p* ?b . ?b :q+ ?c"), "query.too_costly");
    is_refused(&select("?a", "?a :v ?v FILTER EXISTS { ?x :p ?y . ?z :q ?u }"), "query.too_costly");
}

#[test]
fn closures_with_an_end_are_answered() {
    for pattern in [":n1 :p* ?b", "?a :p+ :n1"] {
        assert_eq!(fate(&select("*", pattern), false, limits()), Fate::Answered, "{pattern}");
    }
    let mut engine = engine(limits());
    assert!(register(&mut engine, &select("*", "VALUES ?a { :n1 } ?a :p* ?b"), false).is_ok());
    assert!(
        register(&mut engine, &format!("SELECT * {FROM} WHERE {{ WINDOW :w {{ ?a :p ?b }} ?b :sub* ?c }}"), false)
            .is_ok()
    );
}

#[test]
fn strings_that_double_stop_the_query() {
    let worked = Limits { work: Some(10_000_000), ..limits() };
    for step in ["CONCAT(@, @)", "REPLACE(@, '.+', '$0$0')", "ENCODE_FOR_URI(CONCAT(@, '%%%', @))"] {
        // A text of the greatest length takes more work to search than the other tests allow.
        breaks_within(worked, &select("*", &doublings(30, step)), "literal_bytes");
        breaks(&select("*", &doublings(30, step).replace(":n1", "?s")), "work");
    }
    // Each match may have read the rest of the text, so the limit is reached through work before the results are too
    // long.
    breaks(&select("*", &doublings(30, "REPLACE(@, '.', '$0$0')")), "work");
    breaks_within(
        worked,
        &select("*", &format!(":n1 :t ?x0 FILTER(STRLEN({}) > 3)", nested_growth(5))),
        "literal_bytes",
    );
    let group = "SELECT (GROUP_CONCAT(?y; separator='') AS ?all)";
    let long = Limits { concat_bytes: Some(10_000), ..limits() };
    let text = format!(
        "{group} {FROM} WHERE {{ WINDOW :w {{ {} }} BIND(?x8 AS ?y) }}",
        doublings(8, "CONCAT(@, @)").replace(":n1", "?s")
    );
    assert!(matches!(fate(&text, false, long), Fate::Failed(message) if message.contains("limit concat_bytes")));
}

/// One expression, whose condition is checked in a leaf.
fn nested_growth(n: usize) -> String {
    (0..n).fold("?x0".to_owned(), |inner, _| format!("REPLACE({inner}, '.+', '{}')", "$0".repeat(16)))
}

#[test]
fn long_strings_have_no_value_where_nothing_is_limited() {
    let text = select("(COUNT(?x30) AS ?n)", &doublings(30, "CONCAT(@, @)"));
    assert_eq!(fate(&text, false, Limits::default()), Fate::Answered);
}

#[test]
fn texts_that_grow_stop_where_another_evaluator_makes_them() {
    let mut engine = engine(limits());
    let double = |n: usize, last: &str| {
        let bind = |i: usize| format!("BIND(CONCAT(?x{i}, ?x{i}) AS ?x{}) ", i + 1);
        format!("VALUES ?x0 {{ '%%%%%%%%' }} {} BIND({last} AS ?y)", (0..n).map(bind).collect::<String>())
    };
    let options = AskOptions::default();
    for body in [double(30, "1"), double(15, "REPLACE(?x15, '.', ?x15)"), double(16, "ENCODE_FOR_URI(?x16)")] {
        let asked = engine.ask(&format!("SELECT * {{ {body} }}"), AnswerFormat::Json, &options).map(|_| "an answer");
        assert_eq!(asked.expect_err("too long").code(), "query.too_costly", "{body}");
        let update = format!("INSERT {{ <http://ex/a> <http://ex/b> ?y }} WHERE {{ {body} }}");
        assert_eq!(engine.update(&update, None).expect_err("too long").code(), "query.too_costly", "{body}");
    }
    let bomb =
        format!("SELECT (GROUP_CONCAT(?y) AS ?all) {{ VALUES ?n {{ 1 2 3 4 5 6 7 8 9 10 }} {} }}", double(16, "?x16"));
    let small = Limits { concat_bytes: Some(1 << 20), work: None, ..limits() };
    let asked = self::engine(small).ask(&bomb, AnswerFormat::Json, &options).map(|_| "an answer");
    assert!(asked.expect_err("too long").to_string().contains("concat_bytes"));
    let fine = "SELECT (GROUP_CONCAT(DISTINCT ?y; separator='-') AS ?all) { VALUES ?x { 'b' 'a' 'a' }
                BIND(REPLACE(CONCAT(?x, 'X'), 'x', ENCODE_FOR_URI(' '), 'i') AS ?y) } ORDER BY ?all";
    let answer = engine.ask(fine, AnswerFormat::Csv, &options).expect("an answer");
    assert_eq!(String::from_utf8_lossy(&answer), "all\r\na%20-b%20\r\n");
}

/// Static parts of a query in each graph are left to the other evaluator, including their expressions.
#[test]
fn texts_that_grow_in_static_graphs_fail_their_query() {
    let binds: String = (0..25).map(|i| format!("BIND(CONCAT(?x{i}, ?x{i}) AS ?x{}) ", i + 1)).collect();
    let mut engine = engine(limits());
    engine.load(Some("http://ex/g"), b"<http://ex/a> <http://ex/t> 'text' .", RdfFormat::Turtle).expect("data");
    let text = format!("SELECT * {FROM} WHERE {{ WINDOW :w {{ ?a :p ?b }} GRAPH ?g {{ ?a :t ?x0 {binds} }} }}");
    let error = register(&mut engine, &text, false).expect_err("it is not costly by its form, but fails at once");
    assert!(matches!(&error, EngineError::FailedAtStart { code: "query.too_costly", .. }), "{error}");
}

#[test]
fn a_failure_outlives_a_snapshot() {
    let mut engine = engine(limits());
    let query = register(&mut engine, &select("*", &product(3)), true).expect("products are allowed");
    run(&mut engine);
    let options = EngineOptions { limits: limits(), ..EngineOptions::default() };
    let mut restored = Engine::restore(&engine.snapshot(), options).expect("a snapshot");
    let failure = |engine: &mut Engine| (0..3).find_map(|_| engine.drain(query).err()).expect("it has failed");
    assert_eq!(failure(&mut restored), failure(&mut engine));
    let event = b"<http://ex/a> <http://ex/p> 1 .";
    restored.push(STREAM, Some(Timestamp::from_millis(9_000_000)), event, RdfFormat::Turtle).expect("an event");
    restored.advance_to(Timestamp::from_millis(9_000_001)).expect("time goes on");
    assert_eq!(restored.state_size(), 0, "nobody reads the windows");
}

#[test]
fn wide_answers_and_deep_queries_are_bounded() {
    let unique = format!(
        "SELECT ?k (COUNT(*) AS ?n) {FROM} WHERE {{ WINDOW :w {{ ?a ?x ?b . ?b ?y ?c }} BIND(CONCAT(STR(?a), STR(?x), STR(?b), STR(?y), STR(?c)) AS ?k) }} GROUP BY ?k"
    );
    assert!(matches!(fate(&unique, false, limits()), Fate::Failed(_)));
    let keys: String = (0..64).map(|i| format!("(?v + {i}) ")).collect();
    let ordered = format!("SELECT ?a ?v {FROM} WHERE {{ WINDOW :w {{ ?a ?x ?v . ?b ?y ?a }} }} ORDER BY {keys}");
    assert!(matches!(fate(&ordered, false, limits()), Fate::Failed(_)));
    breaks(&select("*", "?a ?x ?b . ?b ?y ?c"), "result_rows");
    let values: String = (0..4000).map(|i| format!("{i} ")).collect();
    let in_list: String = (0..4000).map(|i| format!("{i},")).collect();
    assert_eq!(fate(&select("?a", &format!("?a :v ?v VALUES ?v {{ {values} }}")), false, limits()), Fate::Answered);
    breaks(&select("?a", &format!("?a :p ?b . ?b :v ?v FILTER(?v + 1 IN ({}0))", in_list)), "work");
    let deep = (0..20).fold("?a :p ?b".to_owned(), |inner, _| format!("{{ SELECT * {{ {inner} }} }}"));
    assert_eq!(fate(&select("*", &deep), false, limits()), Fate::Answered);
}

#[test]
fn patterns_of_regular_expressions_take_linear_time() {
    for pattern in ["(a+)+$", "(a|a)*b", "(.*)*x", "a{1,50}{1,50}{1,50}", "(x+x+)+y"] {
        let text = select(
            "?a",
            &format!("?a :t ?t FILTER(REGEX(CONCAT(?t, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'), '{pattern}'))"),
        );
        assert_eq!(fate(&text, false, limits()), Fate::Answered, "{pattern}");
    }
}

#[test]
fn state_is_bounded() {
    let small = Limits { state_rows: Some(1_000), ..limits() };
    let text = format!("SELECT (COUNT(DISTINCT ?b) AS ?n) {FROM} WHERE {{ WINDOW :w {{ ?a ?p ?b }} }}");
    assert!(matches!(fate(&text, false, small), Fate::Failed(message) if message.contains("limit state_rows")));
    let roomy = Limits { state_rows: Some(100_000), ..limits() };
    assert_eq!(fate(&text, false, roomy), Fate::Answered);
}

#[test]
fn large_queries_are_refused_by_their_size() {
    let triples: String = (0..65).map(|i| format!("?a :p{i} ?b{i} . ")).collect();
    is_refused(&select("?a", &triples), "query.too_costly");
    let clauses: String = (0..17).map(|i| format!("FROM NAMED WINDOW :w{i} ON :s [RANGE 1s] ")).collect();
    let blocks: String = (0..17).map(|i| format!("WINDOW :w{i} {{ ?a :p ?b }} ")).collect();
    is_refused(&format!("SELECT * {clauses} WHERE {{ {blocks} }}"), "query.too_costly");
    is_refused(
        "SELECT * FROM NAMED WINDOW :w ON :s [RANGE P2D STEP P1D] WHERE { WINDOW :w { ?a :p ?b } }",
        "query.too_costly",
    );
}

#[test]
fn a_failure_is_the_same_in_every_run() {
    let text = select("(COUNT(*) AS ?n)", &product(3));
    assert_eq!(fate(&text, true, limits()), fate(&text, true, limits()));
    let unshared = |seed| {
        let options = EngineOptions { limits: limits(), sharing: false, hash_seed: seed, ..EngineOptions::default() };
        let mut engine = Engine::new(options);
        let query = register(&mut engine, &text, true).expect("products are allowed");
        run(&mut engine);
        (engine.drain(query).map(|results| results.len()), engine.state_size())
    };
    assert_eq!(unshared(1), unshared(2));
}

#[test]
fn a_failed_query_alone_keeps_no_windows_and_can_be_let_go() {
    let mut engine = engine(limits());
    let query = register(&mut engine, &select("*", &product(3)), true).expect("products are allowed");
    run(&mut engine);
    assert!((0..3).any(|_| engine.drain(query).is_err()));
    assert_eq!(engine.state_size(), 0);
    engine.unregister(query).expect("it is still known");
}

#[test]
fn updates_have_a_budget_too() {
    let mut engine = engine(limits());
    let triples: String = (0..400).map(|i| format!("<http://ex/n{i}> <http://ex/p> {i} .")).collect();
    engine.load(None, triples.as_bytes(), RdfFormat::Turtle).expect("data");
    let update = "INSERT { ?a <http://ex/x> ?d } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }";
    let error = engine.update(update, None).expect_err("a product of three");
    assert_eq!(error.code(), "query.too_costly");
    assert_eq!(engine.graph_names()[0].1, 400, "nothing has changed");
}

/// The queries of the benchmarks are realistic: none of them is refused. Those of `feeding` show a whole file in one
/// window, however long it is.
#[test]
fn every_example_is_registered() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let (mut seen, mut refused) = (0, Vec::new());
    let folders = std::fs::read_dir(root).expect("the examples").map(|entry| entry.expect("a folder").path());
    for folder in folders.filter(|folder| !folder.ends_with("feeding")) {
        for file in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("a file").path()) {
            let is_query =
                file.extension().is_some_and(|kind| ["rspql", "csparql", "cqels"].iter().any(|k| kind == *k));
            if !is_query {
                continue;
            }
            let text = std::fs::read_to_string(&file).expect("a text");
            let registered = engine(Limits::guarded()).register(&text, &ParseOptions::default());
            refused.extend(registered.err().map(|error| format!("{}: {error}", file.display())));
            seen += 1;
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(seen >= 60, "{seen} queries");
}

/// Events of one triple over few terms, the last hundred of them in view; every predicate joins with every other.
fn dense_stream(engine: &mut Engine, events: i64) {
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % n
    };
    for i in 0..events {
        let (subject, predicate, object) = (below(4), below(3), below(4));
        let node = |n: u64| format!("<http://ex/{}>", ["a", "b", "c", "d"][n as usize]);
        let object = if predicate == 2 { object.to_string() } else { node(object) };
        let turtle = format!("{} <http://ex/{}> {object} .", node(subject), ["p", "q", "v"][predicate as usize]);
        let at = Some(Timestamp::from_millis(i * 4));
        engine.push(STREAM, at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
    }
}

/// The failure of a query over the dense stream, or its results.
fn over_dense_stream(pattern: &str, events: i64, limits: Limits) -> Result<Vec<Vec<u8>>, EngineError> {
    let mut engine = engine(limits);
    let text = format!("SELECT ?a ?b ?c ?y WHERE {{ STREAM :s [RANGE 400ms] {{ {pattern} }} }}");
    let query = register(&mut engine, &text, false)?;
    dense_stream(&mut engine, events);
    let answers = engine.drain_json(query, "q")?;
    // A failure is reported once the earlier results have been drained.
    engine.drain_json(query, "q").map(|_| answers)
}

const DENSE: &str = "?a :v ?y . ?c :p ?a . ?a ((:q/:p)/(:q|:q)) ?c . OPTIONAL { ?c :p ?b }";

#[test]
fn values_decide_before_anything_is_joined() {
    let few = Limits { work: Some(20_000), ..limits() };
    for pattern in [
        format!("VALUES (?a) {{ (:x) (:y) }} {DENSE}"),
        format!("{DENSE} VALUES (?a) {{ (:x) (:y) }}"),
        format!("{DENSE} MINUS {{ ?c :v ?a }} BIND(?y + 1 AS ?z) VALUES (?a ?c) {{ (:x :c) (:y :d) }}"),
    ] {
        let answers = over_dense_stream(&pattern, 131, few).unwrap_or_else(|error| panic!("{error} of {pattern}"));
        assert!(answers.is_empty(), "{pattern}");
    }
    let error = over_dense_stream(DENSE, 131, few).expect_err("without VALUES it is more work");
    assert!(error.to_string().contains("(limit work)"), "{error}");
}

#[test]
fn where_values_stand_does_not_show() {
    let generous = Limits { work: None, result_rows: None, ..limits() };
    let answers = |pattern: &str| over_dense_stream(pattern, 60, generous).expect("answers");
    for given in ["(?a) { (:b) }", "(?a) { (:b) (:b) }", "(?a ?c) { (:b UNDEF) (UNDEF :a) }"] {
        let last = answers(&format!("{DENSE} VALUES {given}"));
        assert!(!last.is_empty());
        assert!(last == answers(&format!("VALUES {given} {DENSE}")), "{given}");
        // A sub-query keeps them in place.
        let apart = format!("{{ SELECT ?a ?b ?c ?y {{ {DENSE} }} }} VALUES {given}");
        assert!(last == answers(&apart), "{given}");
    }
}
