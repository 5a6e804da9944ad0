//! What a server needs of the engine besides results: envelopes, current results, ad-hoc queries, validation,
//! descriptions.

use whorl_engine::{
    AnswerFormat, AskOptions, Engine, EngineError, EngineOptions, Limits, ParseOptions, QueryForm, QueryId, R2s,
    RdfFormat, Timestamp, query_form,
};

const PREFIX: &str = "PREFIX : <http://ex/>\n";

fn engine() -> Engine {
    Engine::new(EngineOptions::default())
}

fn register(engine: &mut Engine, text: &str, options: &ParseOptions) -> QueryId {
    engine.register(&format!("{PREFIX}{text}"), options).expect("a query")
}

fn push(engine: &mut Engine, at: i64, turtle: &str) {
    let rdf = format!("@prefix : <http://ex/> . {turtle}");
    let at = Some(Timestamp::from_millis(at));
    engine.push("http://ex/s", at, rdf.as_bytes(), RdfFormat::Turtle).expect("an event");
}

fn advance(engine: &mut Engine, at: i64) {
    engine.advance_to(Timestamp::from_millis(at)).expect("a watermark");
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

fn ask(engine: &Engine, query: &str) -> String {
    let csv = engine.ask(&format!("{PREFIX}{query}"), AnswerFormat::Csv, &AskOptions::default()).expect(query);
    text(csv).replace("\r\n", " ").trim_end().to_owned()
}

fn with(r2s: R2s) -> ParseOptions {
    ParseOptions { r2s: Some(r2s), ..ParseOptions::default() }
}

fn keeping() -> ParseOptions {
    ParseOptions { keep_answer: true, keep_windows: true, ..ParseOptions::default() }
}

fn envelopes(r2s: R2s, query: &str) -> Vec<String> {
    let mut engine = engine();
    let query = register(&mut engine, query, &with(r2s));
    push(&mut engine, 1000, ":a :p 1 .");
    push(&mut engine, 11_000, ":a :p 2 .");
    advance(&mut engine, 20_000);
    let envelopes = engine.drain_envelopes(query, "my \"q\"", "c0ffee").expect("envelopes");
    assert_eq!(envelopes.iter().map(|e| (e.seq, e.at.as_millis())).collect::<Vec<_>>(), [(1, 10_000), (2, 20_000)]);
    assert_eq!(engine.drain_envelopes(query, "q", "c0ffee").map(|e| e.len()), Ok(0), "taken once");
    envelopes.into_iter().map(|envelope| text(envelope.json)).collect()
}

const SELECT: &str = "SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { :a :p ?v } }";

fn head(seq: u64, close: i64, r2s: &str) -> String {
    format!(
        "{{\"query\":\"my \\\"q\\\"\",\"incarnation\":\"c0ffee\",\"seq\":{seq},\"token\":\"c0ffee:{seq}\",\"t\":{close},\
         \"windows\":[{{\"name\":\"http://ex/w\",\"open\":{},\"close\":{close}}}],\"r2s\":\"{r2s}\",",
        close - 10_000
    )
}

fn bindings(values: &[i64]) -> String {
    let row = |v: &i64| {
        format!(
            "{{\"v\":{{\"type\":\"literal\",\"value\":\"{v}\",\"datatype\":\"http://www.w3.org/2001/XMLSchema#integer\"}}}}"
        )
    };
    let rows: Vec<String> = values.iter().map(row).collect();
    format!("{{\"head\":{{\"vars\":[\"v\"]}},\"results\":{{\"bindings\":[{}]}}}}", rows.join(","))
}

#[test]
fn envelopes_say_who_when_and_what() {
    let seen = envelopes(R2s::Rstream, SELECT);
    assert_eq!(
        seen[1],
        format!("{}\"type\":\"bindings\",\"results\":{}}}", head(2, 20_000, "RSTREAM"), bindings(&[2]))
    );
}

#[test]
fn an_envelope_of_changes_has_both_sides() {
    let seen = envelopes(R2s::Changes, SELECT);
    let sides = format!("\"type\":\"changes\",\"insert\":{},\"delete\":{}}}", bindings(&[2]), bindings(&[1]));
    assert_eq!(seen[1], format!("{}{sides}", head(2, 20_000, "CHANGES")));
}

#[test]
fn an_envelope_of_a_graph_holds_n_quads() {
    let construct = "CONSTRUCT { :b :q ?v } FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { :a :p ?v } }";
    let line = |v: i64| {
        format!("\"<http://ex/b> <http://ex/q> \\\"{v}\\\"^^<http://www.w3.org/2001/XMLSchema#integer> .\\n\"")
    };
    let seen = envelopes(R2s::Rstream, construct);
    assert_eq!(seen[1], format!("{}\"type\":\"graph\",\"results\":{}}}", head(2, 20_000, "RSTREAM"), line(2)));
    let seen = envelopes(R2s::Changes, construct);
    let sides = format!("\"type\":\"changes\",\"insert\":{},\"delete\":{}}}", line(2), line(1));
    assert_eq!(seen[1], format!("{}{sides}", head(2, 20_000, "CHANGES")));
}

#[test]
fn an_envelope_of_ask_holds_a_boolean() {
    let seen = envelopes(R2s::Rstream, "ASK FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { :a :p 1 } }");
    let end = "\"type\":\"boolean\",\"results\":{\"head\":{},\"boolean\":false}}";
    assert_eq!(seen[1], format!("{}{end}", head(2, 20_000, "RSTREAM")));
}

#[test]
fn envelopes_of_a_failed_query_end_in_an_error() {
    let limits = Limits { result_rows: Some(1), ..Limits::default() };
    let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
    let query = register(&mut engine, SELECT, &keeping());
    push(&mut engine, 0, ":a :p 1 , 2 .");
    advance(&mut engine, 10_000);
    let code = |result: Result<usize, EngineError>| result.expect_err("failed").code();
    assert_eq!(code(engine.drain_envelopes(query, "q", "1").map(|e| e.len())), "query.too_costly");
    assert_eq!(code(engine.answer(query, AnswerFormat::Json).map(|a| a.len())), "query.too_costly");
}

#[test]
fn the_current_answer_can_be_read_in_every_format_and_stays() {
    let mut engine = engine();
    let ordered =
        "SELECT ?x ?v FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?x :p ?v } } ORDER BY DESC(?v)";
    let query = register(&mut engine, ordered, &ParseOptions { r2s: Some(R2s::Istream), ..keeping() });
    let answer = |engine: &mut Engine, format| text(engine.answer(query, format).expect("an answer"));
    assert_eq!(answer(&mut engine, AnswerFormat::Csv), "x,v\r\n", "before the first instant");
    push(&mut engine, 0, ":a :p 1 . :b :p 3 . :c :p 2 .");
    advance(&mut engine, 10_000);
    for _ in 0..2 {
        assert_eq!(
            answer(&mut engine, AnswerFormat::Csv),
            "x,v\r\nhttp://ex/b,3\r\nhttp://ex/c,2\r\nhttp://ex/a,1\r\n"
        );
    }
    assert!(answer(&mut engine, AnswerFormat::Tsv).starts_with("?x\t?v\n<http://ex/b>\t3\n"));
    assert!(answer(&mut engine, AnswerFormat::Xml).contains("<uri>http://ex/b</uri>"));
    assert!(answer(&mut engine, AnswerFormat::Json).contains("\"bindings\":[{\"x\""));
    let refused = engine.answer(query, AnswerFormat::Rdf(RdfFormat::Turtle)).expect_err("solutions");
    assert_eq!(refused.code(), "format.mismatch");
    advance(&mut engine, 20_000);
    assert_eq!(answer(&mut engine, AnswerFormat::Csv), "x,v\r\n", "the window has emptied");
    assert_eq!(engine.drain(query).map(|results| results.len()), Ok(1), "reading the answer takes no result");
}

#[test]
fn the_current_answer_of_construct_and_ask_has_its_formats() {
    let mut engine = engine();
    let construct = "CONSTRUCT { ?x :q ?v } FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?x :p ?v } }";
    let graph = register(&mut engine, construct, &ParseOptions { r2s: Some(R2s::Dstream), ..keeping() });
    let boolean = register(
        &mut engine,
        "ASK FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?x :p 1 } }",
        &with(R2s::Istream),
    );
    push(&mut engine, 0, ":a :p 1 .");
    advance(&mut engine, 10_000);
    for (format, part) in [
        (RdfFormat::NTriples, "<http://ex/a> <http://ex/q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> ."),
        (RdfFormat::NQuads, "<http://ex/a> <http://ex/q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> ."),
        (RdfFormat::Turtle, "<http://ex/a> <http://ex/q> 1"),
        (RdfFormat::TriG, "<http://ex/a> <http://ex/q> 1"),
        (RdfFormat::JsonLd, "\"@id\":\"http://ex/a\""),
    ] {
        let written = text(engine.answer(graph, AnswerFormat::Rdf(format)).expect("a graph"));
        assert!(written.contains(part), "{written}");
        let quads = whorl_engine::parse_rdf(written.as_bytes(), format, None).expect("what we write can be read");
        assert_eq!(quads.len(), 1);
    }
    assert_eq!(engine.answer(graph, AnswerFormat::Csv).expect_err("a graph").code(), "format.mismatch");
    assert_eq!(engine.answer(boolean, AnswerFormat::Json).map(text), Ok("{\"head\":{},\"boolean\":true}".to_owned()));
}

#[test]
fn an_answer_that_is_not_kept_is_refused_with_a_hint() {
    let mut engine = engine();
    let query = register(&mut engine, SELECT, &with(R2s::Istream));
    let error = engine.answer(query, AnswerFormat::Json).expect_err("not kept");
    assert_eq!(error.code(), "query.answer_not_kept");
    assert!(error.hint().is_some_and(|hint| hint.contains("keep_answer")), "{error}");
}

/// A plain join that reports only additions does not need to process expiries. Its current result is computed on
/// request, and keeping it readable costs nothing.
#[test]
fn the_current_result_of_a_plain_istream_is_enumerated_and_not_kept() {
    const JOIN: &str = "SELECT ?a ?b ?c FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s] \
                        WHERE { WINDOW :w { ?a :p ?b . ?b :q ?c FILTER(?c != 7) } }";
    let sizes = [false, true].map(|keep_answer| {
        let mut engine = engine();
        let options = ParseOptions { keep_answer, ..with(R2s::Istream) };
        let query = register(&mut engine, JOIN, &options);
        for at in 0..30 {
            push(&mut engine, at * 500, &format!(":a{} :p :b{} . :b{} :q {} .", at % 7, at % 3, at % 3, at % 9));
        }
        advance(&mut engine, 15_000);
        if keep_answer {
            let rows = text(engine.answer(query, AnswerFormat::Csv).expect("an answer")).lines().count() - 1;
            assert!(rows > 20, "{rows} rows");
        }
        engine.stats().state_size
    });
    assert_eq!(sizes[0], sizes[1]);
}

#[test]
fn a_current_result_that_is_too_costly_does_not_fail_its_query() {
    let limits = Limits { work: Some(100_000), ..Limits::default() };
    let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
    // In CQELS-QL each event is an instant: its share of the result is small.
    let product = "SELECT ?a ?b ?c WHERE { STREAM :s [RANGE 20s] { ?a :p ?b . ?c :p ?b } }";
    let query = register(&mut engine, product, &ParseOptions { keep_answer: true, ..with(R2s::Istream) });
    for at in 0..300 {
        push(&mut engine, at * 100, &format!(":a{at} :p :b ."));
    }
    let error = engine.answer(query, AnswerFormat::Csv).expect_err("40,000 rows");
    assert!(matches!(error, EngineError::TooCostly { .. }), "{error}");
    push(&mut engine, 30_000, ":a0 :p :b .");
    assert!(engine.drain(query).is_ok_and(|results| !results.is_empty()), "it goes on");
}

#[test]
fn static_graphs_are_asked_with_from_and_the_datasets_of_the_protocol() {
    let mut engine = engine();
    engine.load(None, b"<http://ex/a> <http://ex/p> 1 .", RdfFormat::Turtle).expect("data");
    engine.load(Some("http://ex/g"), b"<http://ex/a> <http://ex/p> 2 .", RdfFormat::Turtle).expect("data");
    engine.load(Some("http://ex/h"), b"<http://ex/a> <http://ex/p> 3 .", RdfFormat::Turtle).expect("data");
    assert_eq!(ask(&engine, "SELECT ?v { :a :p ?v }"), "v 1");
    assert_eq!(ask(&engine, "SELECT ?g ?v { GRAPH ?g { :a :p ?v } } ORDER BY ?g"), "g,v http://ex/g,2 http://ex/h,3");
    assert_eq!(ask(&engine, "SELECT ?v FROM :g FROM :h { :a :p ?v } ORDER BY ?v"), "v 2 3");
    assert_eq!(ask(&engine, "SELECT (MEDIAN(?v) AS ?m) { GRAPH ?g { ?s :p ?v } }"), "m 2.5");
    let chosen = AskOptions {
        default_graphs: Some(vec!["http://ex/h".to_owned()]),
        named_graphs: Some(vec!["http://ex/g".to_owned()]),
        ..AskOptions::default()
    };
    let query = "SELECT ?v ?g ?n FROM <http://ex/g> { ?s <http://ex/p> ?v GRAPH ?g { ?s <http://ex/p> ?n } }";
    assert_eq!(engine.ask(query, AnswerFormat::Csv, &chosen).map(text), Ok("v,g,n\r\n3,http://ex/g,2\r\n".to_owned()));
    let nothing = AskOptions { named_graphs: Some(vec![]), ..AskOptions::default() };
    assert_eq!(engine.ask("SELECT ?s { ?s ?p ?o }", AnswerFormat::Csv, &nothing).map(text), Ok("s\r\n".to_owned()));
    let bad = AskOptions { default_graphs: Some(vec!["no iri".to_owned()]), ..AskOptions::default() };
    assert_eq!(engine.ask("ASK {}", AnswerFormat::Json, &bad).expect_err("relative").code(), "iri.invalid");
}

#[test]
fn a_window_that_is_kept_is_a_graph_under_its_names() {
    let mut engine = engine();
    let body = |range: &str| {
        format!("SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE {range}] WHERE {{ WINDOW :w {{ :a :p ?v }} }}")
    };
    let ten = register(&mut engine, &body("10s"), &keeping());
    push(&mut engine, 1_000, ":a :p 1 . :a :unread :b .");
    assert_eq!(ask(&engine, "SELECT ?v { GRAPH :w { :a :p ?v } }"), "v", "the window has not closed");
    advance(&mut engine, 10_000);
    assert_eq!(
        ask(&engine, "SELECT ?o { GRAPH :w { :a ?p ?o } } ORDER BY ?o"),
        "o http://ex/b 1",
        "all of it, not what a query reads"
    );
    assert_eq!(ask(&engine, "SELECT ?g { GRAPH ?g { :a :p 1 } }"), "g http://ex/w");
    assert_eq!(ask(&engine, "SELECT ?v FROM :w { :a :p ?v }"), "v 1");
    let own = format!("urn:whorl:window:{}:1", ten.0);
    assert_eq!(ask(&engine, &format!("SELECT ?v {{ GRAPH <{own}> {{ :a :p ?v }} }}")), "v 1");
    assert!(engine.describe(ten).expect("facts").contains(&format!("\"graph\":\"{own}\"")));
    // Another query uses the same name for another window: the name then denotes both.
    let twenty = register(&mut engine, &body("20s"), &keeping());
    push(&mut engine, 11_000, ":a :p 2 .");
    advance(&mut engine, 40_000 - 1);
    push(&mut engine, 41_000, ":a :p 3 .");
    advance(&mut engine, 50_000);
    assert_eq!(ask(&engine, "SELECT ?v { GRAPH :w { :a :p ?v } } ORDER BY ?v"), "v 3");
    advance(&mut engine, 60_000);
    assert_eq!(ask(&engine, "SELECT (COUNT(*) AS ?n) { GRAPH :w { :a :p 3 } }"), "n 1", "a union is a set");
    assert_eq!(ask(&engine, &format!("SELECT ?v {{ GRAPH <{own}> {{ :a :p ?v }} }}")), "v", "the short one is empty");
    engine.unregister(twenty).expect("a query");
    assert_eq!(ask(&engine, "SELECT ?v { GRAPH :w { :a :p ?v } }"), "v");
}

#[test]
fn a_window_that_is_not_kept_does_not_look_empty() {
    let mut engine = engine();
    register(&mut engine, SELECT, &ParseOptions::default());
    for query in [
        "SELECT * { GRAPH <http://ex/w> { ?s ?p ?o } }",
        "SELECT * FROM <http://ex/w> { ?s ?p ?o }",
        "ASK { FILTER NOT EXISTS { GRAPH <http://ex/w> { ?s ?p ?o } } }",
        "SELECT * { GRAPH <urn:whorl:window:1:1> { ?s ?p ?o } }",
    ] {
        let error = engine.ask(query, AnswerFormat::Json, &AskOptions::default()).expect_err(query);
        assert_eq!(error.code(), "window.not_kept");
        assert!(error.hint().is_some_and(|hint| hint.contains("keep_windows")), "{error}");
    }
    assert_eq!(ask(&engine, "SELECT ?g { GRAPH ?g { ?s ?p ?o } }"), "g");
    engine.load(Some("http://ex/w"), b"<a:s> <a:p> 1 .", RdfFormat::Turtle).expect("data");
    assert_eq!(ask(&engine, "SELECT ?o { GRAPH :w { ?s ?p ?o } }"), "o 1", "a static graph of that name is there");
}

#[test]
fn asking_gives_graphs_without_copies_and_changes_nothing() {
    let mut engine = engine();
    engine.load(None, b"<a:s> <a:p> 1, 2 .", RdfFormat::Turtle).expect("data");
    let before = engine.stats();
    let query = "CONSTRUCT { ?s <a:new> \"a term nobody knows\" } { ?s <a:p> ?o }";
    let ntriples = AnswerFormat::Rdf(RdfFormat::NTriples);
    let graph = engine.ask(query, ntriples, &AskOptions::default()).map(text);
    assert_eq!(graph, Ok("<a:s> <a:new> \"a term nobody knows\" .\n".to_owned()));
    let described = engine.ask("DESCRIBE <a:s>", ntriples, &AskOptions::default()).map(text).expect("a graph");
    assert_eq!(described.lines().count(), 2);
    let error = engine.ask(query, AnswerFormat::Json, &AskOptions::default()).expect_err("a graph");
    assert_eq!(error.code(), "format.mismatch");
    assert_eq!(engine.stats(), before);
}

#[test]
fn the_form_is_known_before_the_format_is_chosen() {
    for (text, form) in [
        ("SELECT * { ?s ?p ?o }", QueryForm::Select),
        ("ASK { ?s ?p ?o }", QueryForm::Ask),
        ("CONSTRUCT WHERE { ?s ?p ?o }", QueryForm::Construct),
        ("DESCRIBE <a:b>", QueryForm::Describe),
    ] {
        assert_eq!(query_form(text, None), Ok(form));
    }
    assert_eq!(query_form("SELECT * { <a> ?p ?o }", Some("http://ex/")), Ok(QueryForm::Select));
    let error = query_form(&format!("{PREFIX}{SELECT}"), None).expect_err("continuous");
    assert_eq!(error.code(), "query.continuous");
}

#[test]
fn validation_says_what_would_run_and_leaves_nothing() {
    let mut engine = engine();
    engine.load(None, b"<http://ex/a> <http://ex/limit> 1 .", RdfFormat::Turtle).expect("data");
    let running = register(&mut engine, SELECT, &ParseOptions::default());
    push(&mut engine, 0, ":a :p 1 .");
    let (stats, plan) = (engine.stats(), engine.explain(running).expect("a plan"));
    let query = format!(
        "{PREFIX}REGISTER RSTREAM <out> AS CONSTRUCT {{ ?x :far \"never seen before\" }}
         FROM NAMED WINDOW :w ON :new [RANGE 5s STEP 10s]
         WHERE {{ WINDOW :w {{ ?x :next+ ?y . ?x :p ?v }} ?x :limit ?l }}"
    );
    let facts = engine.validate(&query, &keeping()).expect("facts");
    for part in [
        "\"dialect\":\"RSP-QL\",\"form\":\"CONSTRUCT\",\"variables\":[]",
        "\"kind\":\"step\",\"text\":\"[RANGE 5s STEP 10s]\",\"range_ms\":5000,\"step_ms\":10000,\"graph\":null",
        "\"streams\":[\"http://ex/new\"]",
        "\"output\":\"urn:whorl:name:out\"",
        "\"plan\":{\"incremental\":false,\"text\":",
        "\"code\":\"plan.reevaluated\"",
        "\"code\":\"window.gaps\"",
        "\"code\":\"stream.undeclared\"",
    ] {
        assert!(facts.contains(part), "{part}\n{facts}");
    }
    assert_eq!(engine.stats(), stats);
    assert_eq!(engine.explain(running), Ok(plan));
    assert_eq!(engine.validate("SELECT", &keeping()).expect_err("half a query").code(), "parse.unexpected_end");
    let plain = engine.validate("SELECT * { ?s ?p ?o }", &keeping()).expect_err("no window");
    assert_eq!(plain.code(), "plan.no_window");
    assert_eq!(engine.stats(), stats);
}

#[test]
fn warnings_are_given_where_they_apply() {
    let mut engine = engine();
    register(&mut engine, SELECT, &ParseOptions::default());
    let codes = |query: &str, r2s| {
        let facts = engine.validate(&format!("{PREFIX}{query}"), &with(r2s)).expect("facts");
        let warnings = facts.split_once("\"warnings\":").expect("warnings").1.to_owned();
        let codes: Vec<String> =
            warnings.split("\"code\":\"").skip(1).map(|w| w.split('"').next().unwrap_or("").to_owned()).collect();
        (codes.join(" "), warnings)
    };
    let ordered = format!("{SELECT} ORDER BY ?v");
    assert_eq!(codes(SELECT, R2s::Rstream).0, "");
    assert_eq!(codes(&format!("{ordered} LIMIT 3"), R2s::Rstream).0, "");
    assert_eq!(codes(&ordered, R2s::Rstream).0, "order.unlimited");
    assert!(codes(&ordered, R2s::Istream).1.contains("changes nothing"));
    let unread = "SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE 10s] FROM NAMED WINDOW :u ON :s [RANGE 10s] WHERE { WINDOW :w { :a :p ?v } WINDOW :u { } }";
    assert_eq!(codes(unread, R2s::Rstream).0, "window.unread");
}

#[test]
fn a_registered_query_can_be_described() {
    let mut engine = engine();
    let query = register(
        &mut engine,
        "SELECT ?x (MAX(?v) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 5s] FROM NAMED WINDOW :l ON :s [ELEMENTS 3]
         WHERE { WINDOW :w { ?x :p ?v } WINDOW :l { ?x :q ?u } } GROUP BY ?x",
        &with(R2s::Istream),
    );
    assert_eq!(
        engine.describe(query).expect("facts"),
        "{\"dialect\":\"RSP-QL\",\"form\":\"SELECT\",\"variables\":[\"x\",\"n\"],\"r2s\":\"ISTREAM\",\"report\":[\"close\"],\
         \"tick\":\"time\",\"semantics\":\"set\",\"bounds\":\"[)\",\"windows\":[\
         {\"name\":\"http://ex/w\",\"short\":\":w\",\"stream\":\"http://ex/s\",\"kind\":\"step\",\"text\":\"[RANGE 10s STEP 5s]\",\
         \"range_ms\":10000,\"step_ms\":5000,\"graph\":null,\"line\":2,\"column\":27},\
         {\"name\":\"http://ex/l\",\"short\":\":l\",\"stream\":\"http://ex/s\",\"kind\":\"elements\",\"text\":\"[ELEMENTS 3 STEP 1]\",\
         \"range_ms\":null,\"step_ms\":null,\"graph\":null,\"line\":2,\"column\":74}],\
         \"streams\":[\"http://ex/s\"],\"output\":null,\"warnings\":[]}"
    );
}

#[test]
fn a_static_graph_is_written_and_read_back_in_every_format() {
    let mut engine = engine();
    let data = "<http://ex/a> <http://ex/p> 1, \"x\\ny\"@en, <http://ex/b> . <http://ex/b> <http://ex/q> _:n .";
    engine.load(Some("http://ex/g"), data.as_bytes(), RdfFormat::Turtle).expect("data");
    for format in [RdfFormat::NTriples, RdfFormat::NQuads, RdfFormat::Turtle, RdfFormat::TriG, RdfFormat::JsonLd] {
        let written = engine.graph_text(Some("http://ex/g"), format).expect("a document");
        let names_graph = matches!(format, RdfFormat::NQuads | RdfFormat::TriG);
        assert_eq!(String::from_utf8_lossy(&written).contains("http://ex/g"), names_graph, "{format:?}");
        let mut other = Engine::new(EngineOptions::default());
        assert_eq!(other.load(Some("http://ex/g"), &written, format), Ok(4), "{format:?}");
    }
    assert_eq!(engine.graph_text(None, RdfFormat::NTriples), Ok(vec![]));
    assert_eq!(
        engine.graph_text(Some("http://ex/no"), RdfFormat::Turtle).expect_err("unknown").code(),
        "graph.unknown"
    );
}
