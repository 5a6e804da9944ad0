//! Changing static data: the effect of requests on the graphs, the effect of changes on running queries, and that
//! deleted data leaves nothing behind.
//!
//! Detects: partly applied updates, queries that lag or evaluate unnecessarily, terms that are not freed. Does not
//! detect: the finer points of SPARQL Update, which the W3C tests in Python cover, and rare interleavings, which a law
//! covers.

use whorl_engine::rdf::GraphName;
use whorl_engine::{
    Answered, Engine, EngineOptions, Limits, ParseOptions, QueryId, R2s, Rare, RdfFormat, Rows, TermId, Thresholds,
    Timestamp, UpdateReport,
};

const PREFIX: &str = "PREFIX : <http://ex/> ";
const GRAPH: Option<&str> = Some("http://ex/g");

fn engine() -> Engine {
    Engine::new(EngineOptions::default())
}

fn register(engine: &mut Engine, text: &str) -> QueryId {
    engine.register(&format!("{PREFIX}{text}"), &ParseOptions::default()).expect("a query")
}

fn update(engine: &mut Engine, text: &str) -> UpdateReport {
    engine.update(&format!("{PREFIX}{text}"), None).expect("an update")
}

fn refused(engine: &mut Engine, text: &str) -> &'static str {
    engine.update(&format!("{PREFIX}{text}"), None).expect_err("a wrong update").code()
}

fn push(engine: &mut Engine, at: i64, turtle: &str) {
    let rdf = format!("{PREFIX}{turtle}");
    let at = Some(Timestamp::from_millis(at));
    engine.push("http://ex/s", at, rdf.as_bytes(), RdfFormat::Turtle).expect("an event");
}

fn triples(engine: &Engine, graph: Option<&str>) -> Vec<String> {
    let found = engine.graph_triples(graph).expect("a graph");
    found.iter().map(|triple| triple.to_string().replace("http://ex/", "")).collect()
}

fn names(engine: &Engine) -> Vec<(String, usize)> {
    let name = |name: GraphName| name.to_string().replace("http://ex/", "");
    engine.graph_names().into_iter().map(|(graph, triples)| (name(graph), triples)).collect()
}

/// Reports as `+ row` and `- row`.
fn changes(engine: &mut Engine, query: QueryId) -> Vec<String> {
    let results = engine.drain(query).expect("results");
    let mut lines = Vec::new();
    for result in &results {
        let Answered::Bindings { inserted, deleted } = &result.answer else { panic!("SELECT gives bindings") };
        let term = |id: &TermId| {
            if id.is_bound() { engine.dictionary().term(*id).to_string() } else { "_".to_owned() }
        };
        let mut show = |sign: &str, rows: &Rows| {
            for row in rows.iter() {
                let terms: Vec<_> = row.iter().map(&term).collect();
                lines.push(format!("{} {sign} {}", result.at.as_millis(), terms.join(" ").replace("http://ex/", "")));
            }
        };
        show("+", inserted);
        show("-", deleted);
    }
    lines
}

#[test]
fn a_running_query_follows_at_its_next_instant() {
    let mut engine = engine();
    engine.replace_graph(GRAPH, b"<http://ex/a> <http://ex/name> 'A' .", RdfFormat::Turtle).expect("a graph");
    let text = "REGISTER STREAM <q> AS SELECT CHANGES ?n FROM NAMED WINDOW :w ON :s [RANGE 100ms STEP 1ms]
                WHERE { WINDOW :w { ?x :in ?y } GRAPH :g { ?x :name ?n } }";
    let query = register(&mut engine, text);
    push(&mut engine, 100, ":a :in :x .");
    push(&mut engine, 102, ":b :in :x .");
    assert_eq!(changes(&mut engine, query), ["101 + \"A\""]);
    engine.replace_graph(GRAPH, b"<http://ex/b> <http://ex/name> 'B' .", RdfFormat::Turtle).expect("a graph");
    assert_eq!(changes(&mut engine, query), [""; 0], "nothing is evaluated by the change itself");
    push(&mut engine, 103, ":c :in :x .");
    assert_eq!(changes(&mut engine, query), ["103 + \"B\"", "103 - \"A\""]);
    update(
        &mut engine,
        "DELETE { GRAPH :g { :b :name ?n } } INSERT { GRAPH :g { :b :name ?m } }
                         WHERE { GRAPH :g { :b :name ?n BIND(CONCAT(?n, ?n) AS ?m) } }",
    );
    push(&mut engine, 104, ":c :in :x .");
    assert_eq!(changes(&mut engine, query), ["104 + \"BB\"", "104 - \"B\""]);
    engine.drop_graph(GRAPH).expect("a graph");
    push(&mut engine, 105, ":c :in :x .");
    assert_eq!(changes(&mut engine, query), ["105 - \"BB\""]);
}

#[test]
fn an_update_that_fails_changes_nothing() {
    let mut engine = engine();
    update(&mut engine, "INSERT DATA { :a :p 1 . GRAPH :g { :b :p 2 } }");
    let before = (names(&engine), triples(&engine, None), triples(&engine, GRAPH));
    let undone = "CLEAR DEFAULT ; INSERT DATA { GRAPH :h { :c :p 3 } } ; DROP GRAPH :g ; INSERT DATA { :d :p 4 } ;";
    for (last, code) in [
        ("DROP GRAPH :nowhere", "graph.unknown"),
        ("CLEAR GRAPH :nowhere", "graph.unknown"),
        ("CREATE GRAPH :h", "graph.exists"),
        ("MOVE :nowhere TO DEFAULT", "graph.unknown"),
        ("COPY :nowhere TO :h", "graph.unknown"),
        ("ADD :nowhere TO :h", "graph.unknown"),
        ("INSERT { :a :p ?o } WHERE { SERVICE :x { ?s ?p ?o } }", "unsupported.service"),
        ("LOAD :x INTO GRAPH :h", "unsupported.load"),
    ] {
        assert_eq!(refused(&mut engine, &format!("{undone} {last}")), code, "{last}");
        let after = (names(&engine), triples(&engine, None), triples(&engine, GRAPH));
        assert_eq!(after, before, "{last}");
    }
    let silent = "COPY SILENT :nowhere TO :g ; MOVE SILENT :nowhere TO DEFAULT ; ADD SILENT :nowhere TO :g ;
                  DROP SILENT GRAPH :nowhere ; CLEAR SILENT GRAPH :nowhere ; CREATE SILENT GRAPH :g ; LOAD SILENT :x";
    assert_eq!(update(&mut engine, silent), UpdateReport::default());
    assert_eq!((names(&engine), triples(&engine, None), triples(&engine, GRAPH)), before);
}

#[test]
fn a_query_does_not_look_again_when_nothing_has_changed() {
    let mut engine = engine();
    update(&mut engine, "INSERT DATA { :a :p 1 }");
    for nothing in
        ["INSERT DATA { :a :p 1 }", "DELETE DATA { :a :p 2 }", "DELETE DATA { :a :p 1 } ; INSERT DATA { :a :p 1 }"]
    {
        assert_eq!(update(&mut engine, nothing), UpdateReport::default());
    }
    let report = engine.replace_graph(None, b"<http://ex/a> <http://ex/p> 1 .", RdfFormat::Turtle);
    assert_eq!(report, Ok(UpdateReport::default()));
    assert_eq!(engine.load(None, b"<http://ex/a> <http://ex/p> 1 .", RdfFormat::Turtle), Ok(0));
}

#[test]
fn blank_nodes_of_a_template_are_new_for_each_solution() {
    let mut engine = engine();
    update(&mut engine, "INSERT DATA { :a :p 1 . :b :p 2 . _:x :q _:x }");
    update(&mut engine, "INSERT { _:n :of ?s . _:n :is _:n } WHERE { ?s :p ?o }");
    let ask = |engine: &mut Engine, text: &str| update(engine, text).deleted;
    assert_eq!(ask(&mut engine, "DELETE { ?n :of ?s } WHERE { ?n :of ?s . ?n :is ?n }"), 2);
    assert_eq!(ask(&mut engine, "DELETE { ?n :is ?m } WHERE { ?n :is ?m . ?x :q ?x FILTER(?n != ?x) }"), 2);
    assert_eq!(update(&mut engine, "INSERT { ?b :made 1 } WHERE { ?s :p ?o BIND(BNODE() AS ?b) }").inserted, 2);
    let labels: Vec<_> = triples(&engine, None).iter().filter_map(|t| Some(t.split_once(' ')?.0.len())).collect();
    assert!(labels.iter().all(|len| *len < 6), "labels are the engine's own: {:?}", triples(&engine, None));
}

#[test]
fn graphs_exist_until_they_are_dropped() {
    let mut engine = engine();
    update(&mut engine, "CREATE GRAPH :e ; INSERT DATA { GRAPH :g { :a :p 1, 2 } } ; CLEAR GRAPH :g");
    assert_eq!(names(&engine), [("DEFAULT".into(), 0), ("<e>".into(), 0), ("<g>".into(), 0)]);
    update(&mut engine, "DROP NAMED");
    assert_eq!(names(&engine), [("DEFAULT".into(), 0)]);
    assert_eq!(engine.drop_graph(GRAPH).expect_err("it is gone").code(), "graph.unknown");
    assert_eq!(engine.graph_triples(GRAPH).expect_err("it is gone").code(), "graph.unknown");
    engine.load(None, b"_:g { <http://ex/a> <http://ex/p> _:g }", RdfFormat::TriG).expect("a dataset");
    let (name, _) = engine.graph_names().pop().expect("a graph");
    assert_eq!(triples(&engine, Some(&name.to_string())), [format!("<a> <p> {name}")]);
    let many = engine.replace_graph(None, b"<http://ex/g> { <http://ex/a> <http://ex/p> 1 }", RdfFormat::TriG);
    assert_eq!(many.expect_err("which graph?").code(), "graph.many");
}

#[test]
fn using_and_with_choose_the_graphs() {
    let mut engine = engine();
    update(&mut engine, "INSERT DATA { :a :p 0 . GRAPH :g { :a :p 1 } GRAPH :h { :a :p 2 } }");
    update(&mut engine, "WITH :g INSERT { ?s :with ?o } WHERE { ?s :p ?o }");
    update(&mut engine, "WITH :g INSERT { ?s :using ?o } USING :h WHERE { ?s :p ?o }");
    update(&mut engine, "WITH :g INSERT { ?s :named ?o } USING NAMED :h WHERE { GRAPH ?g { ?s :p ?o } }");
    assert_eq!(triples(&engine, GRAPH).len(), 4);
    let integer = |n: i32| format!("\"{n}\"^^<http://www.w3.org/2001/XMLSchema#integer>");
    let expected =
        [("named", 2), ("p", 1), ("using", 2), ("with", 1)].map(|(p, o)| format!("<a> <{p}> {}", integer(o)));
    assert_eq!(triples(&engine, GRAPH), expected);
}

/// Terms of all kinds after each thousandth of the steps.
fn terms_over_time(engine: &mut Engine, steps: i64, mut step: impl FnMut(&mut Engine, i64)) -> Vec<usize> {
    let mut samples = Vec::new();
    for number in 1..=steps {
        step(engine, number);
        if number % 1000 == 0 {
            let stats = engine.stats();
            samples.push(stats.stream_terms + stats.pinned_terms);
        }
    }
    samples
}

fn assert_flat(samples: &[usize]) {
    let later = &samples[1..];
    assert!(later.iter().all(|n| *n < 20_000), "terms add up: {samples:?}");
    assert!(*later.last().expect("samples") <= 2 * later[0].max(10_000), "terms add up: {samples:?}");
}

#[test]
fn a_graph_replaced_without_end_leaves_no_terms() {
    let mut engine = engine();
    let texts = [
        "SELECT ?n FROM NAMED WINDOW :w ON :s [RANGE 100ms STEP 10ms] WHERE { WINDOW :w { ?x :in ?y } GRAPH :g { ?x :name ?n } }",
        "SELECT ?n ?t WHERE { STREAM :s [RANGE 20ms] { ?z :in ?y } GRAPH :g { ?x :name ?n } BIND(CONCAT(?n, ' made') AS ?t) }",
        "SELECT (GROUP_CONCAT(?n) AS ?all) FROM NAMED WINDOW :w ON :s [RANGE 10ms] WHERE { WINDOW :w { ?x :in ?y } GRAPH :g { ?x :name ?n } }",
        "SELECT ?n ?y FROM NAMED WINDOW :w ON :s [RANGE 10ms] WHERE { GRAPH :g { ?x :name ?n } OPTIONAL { WINDOW :w { ?x :in ?y } } }",
    ];
    let queries = texts.map(|text| register(&mut engine, text));
    let mut answers = 0;
    let samples = terms_over_time(&mut engine, 10_000, |engine, number| {
        let name = |n| format!("<http://ex/thing/{number}/{n}> :name 'the name of thing {n} at step {number}' . ");
        let rdf = format!("{PREFIX}{}", (0..3).map(name).collect::<String>());
        engine.replace_graph(GRAPH, rdf.as_bytes(), RdfFormat::Turtle).expect("a graph");
        push(engine, number, &format!("<http://ex/thing/{number}/1> :in :x ."));
        answers += queries.iter().map(|query| changes(engine, *query).len()).sum::<usize>();
    });
    assert!(answers > 10_000, "the queries must answer: {answers}");
    assert_flat(&samples);
}

#[test]
fn updates_without_end_leave_no_terms() {
    let mut engine = engine();
    let samples = terms_over_time(&mut engine, 10_000, |engine, number| {
        let text = format!("DELETE WHERE {{ :a :p ?o }} ; INSERT DATA {{ :a :p :value{number}, 'a text {number}' }}");
        update(engine, &text);
        refused(engine, &format!("INSERT DATA {{ :a :p :lost{number} }} ; DROP GRAPH :nowhere"));
    });
    assert_flat(&samples);
}

#[test]
fn what_is_computed_at_every_instant_leaves_no_terms() {
    let mut engine = engine();
    let texts = [
        "SELECT (GROUP_CONCAT(?t) AS ?all) FROM NAMED WINDOW :w ON :s [RANGE 5ms] WHERE { WINDOW :w { ?x :says ?t } }",
        "SELECT ?t FROM NAMED WINDOW :w ON :s [RANGE 5ms] WHERE { WINDOW :w { ?x :knows* ?y . ?y :says ?t } }",
    ];
    let queries = texts.map(|text| register(&mut engine, text));
    let samples = terms_over_time(&mut engine, 20_000, |engine, number| {
        push(engine, number, &format!(":x :says 'a text of event {number}' ."));
        queries.iter().for_each(|query| {
            changes(engine, *query);
        });
    });
    assert_flat(&samples);
}

/// Patterns that are maintained from the changes, and some that are not.
const FOLLOWERS: [&str; 5] = [
    "?x :in ?y",
    "?x :in ?y . ?y :in ?z . ?z :in ?x",
    "?x :in ?y . ?y :in :n0 . ?x ?p ?y",
    "GRAPH :g { ?x :in ?y . ?y :in ?z }",
    "?x :in ?y OPTIONAL { ?y :in :n1 . GRAPH ?g { ?y :in ?z } }",
];

/// The output of each query at this instant, for an event that mentions every node.
fn said(engine: &mut Engine, queries: &[QueryId], at: i64) -> Vec<Vec<String>> {
    push(engine, at, ":e :at :n0 , :n1 , :n2 , :n3 .");
    queries.iter().map(|query| changes(engine, *query)).collect()
}

fn followers(engine: &mut Engine) -> Vec<QueryId> {
    let options = ParseOptions { r2s: Some(R2s::Rstream), ..ParseOptions::default() };
    let register = |pattern: &&str| {
        let text = format!("{PREFIX} SELECT * WHERE {{ STREAM :s [NOW] {{ ?e :at ?x }} {pattern} }}");
        engine.register(&text, &options).expect("a query")
    };
    FOLLOWERS.iter().map(register).collect()
}

/// The same graphs in an engine that never had others.
fn said_afresh(engine: &Engine, at: i64) -> Vec<Vec<String>> {
    let mut fresh = self::engine();
    for graph in [None, GRAPH] {
        let text = engine.graph_text(graph, RdfFormat::NTriples).expect("a graph");
        fresh.load(graph, &text, RdfFormat::NTriples).expect("what was written");
    }
    let queries = followers(&mut fresh);
    said(&mut fresh, &queries, at)
}

#[test]
fn what_follows_the_changes_is_what_is_evaluated_anew() {
    let mut engine = Engine::new(EngineOptions { thresholds: Thresholds::tiny(), ..EngineOptions::default() });
    let queries = followers(&mut engine);
    let before = Rare::StaticFollowed.count();
    let mut state = 11_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % below
    };
    update(&mut engine, "CREATE GRAPH :g");
    for at in 1..300 {
        for _ in 0..random(4) {
            let edge = format!(":n{} :in :n{}", random(4), random(4));
            let edge = if random(3) == 0 { format!("GRAPH :g {{ {edge} }}") } else { edge };
            let verb = if random(2) == 0 { "INSERT" } else { "DELETE" };
            update(&mut engine, &format!("{verb} DATA {{ {edge} }}"));
        }
        assert_eq!(said(&mut engine, &queries, at), said_afresh(&engine, at), "at {at}");
        if random(20) == 0 {
            engine = Engine::restore(&engine.snapshot(), EngineOptions::default()).expect("a snapshot");
        }
    }
    assert!(Rare::StaticFollowed.count() > before, "changes were followed");
}

/// An engine with much static data that a query has read, and may not read completely again.
fn on_a_budget(text: &str) -> (Engine, QueryId) {
    let mut engine = engine();
    let rdf: String = (0..5_000).map(|n| format!("<http://ex/n{n}> <http://ex/in> <http://ex/m{n}> .")).collect();
    engine.load(None, rdf.as_bytes(), RdfFormat::Turtle).expect("static data");
    let query = register(&mut engine, text);
    let limits = Limits { work: Some(1_000), ..Limits::default() };
    let options = EngineOptions { limits, ..EngineOptions::default() };
    (Engine::restore(&engine.snapshot(), options).expect("a snapshot"), query)
}

#[test]
fn a_change_in_a_graph_that_a_query_does_not_read_is_none_of_its_business() {
    let text = "SELECT * WHERE { STREAM :s [RANGE 1s] { ?e :at ?x } ?x :in+ ?y }";
    let (mut engine, query) = on_a_budget(text);
    update(&mut engine, "INSERT DATA { GRAPH :g { :n1 :in :m } }");
    push(&mut engine, 1, ":e :at :n1 .");
    assert_eq!(changes(&mut engine, query), ["1 + <e> <n1> <m1>"]);
    update(&mut engine, "INSERT DATA { :n1 :in :m }");
    push(&mut engine, 2, ":e :at :n2 .");
    let error = engine.drain(query).expect_err("it looks at all of its own graph, and that is too much");
    assert_eq!(error.code(), "query.too_costly");
}

#[test]
fn one_triple_among_many_costs_what_it_changes() {
    let text = "SELECT * WHERE { STREAM :s [RANGE 1s] { ?e :at ?x } ?x :in ?y . ?y :is ?z }";
    let (mut engine, query) = on_a_budget(text);
    push(&mut engine, 1, ":e :at :n1 , :n2 .");
    update(&mut engine, "INSERT DATA { :m1 :is :here . :m2 :is :there }");
    push(&mut engine, 2, ":e :at :n3 .");
    assert_eq!(changes(&mut engine, query), ["2 + <e> <n1> <m1> <here>", "2 + <e> <n2> <m2> <there>"]);
    update(&mut engine, "DELETE DATA { :n1 :in :m1 }");
    push(&mut engine, 3, ":e :at :n1 .");
    assert_eq!(changes(&mut engine, query), [] as [&str; 0]);
}
