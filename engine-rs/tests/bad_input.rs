//! Bad input gets a clear error with a code and a position, and affects nothing else.
//!
//! Every case runs beside another query, whose results must be the same bytes as without the bad input, on a thread
//! with the 2 MB stack of a worker thread. Detects: panics, stack overflows, partly applied documents, errors without a
//! position. Does not detect: poor wording of messages.

use whorl_engine::rdf::NamedNode;
use whorl_engine::{
    BodyFormat, Engine, EngineError, EngineOptions, ParseOptions, PushOptions, QueryId, RdfFormat, StreamOptions,
    Timestamp,
};

const STREAM: &str = "http://ex/s";
const BESIDE: &str = "PREFIX : <http://ex/> SELECT ?e ?v FROM NAMED WINDOW :w ON :s [RANGE 5ms STEP 2ms] WHERE { WINDOW :w { ?e :v ?v } }";

/// What an error must contain: its code, and line and column if it concerns a text.
type Place = Option<(u32, u32)>;

fn register(engine: &mut Engine, query: &str) -> Result<QueryId, EngineError> {
    engine.register(query, &ParseOptions::default())
}

fn push(engine: &mut Engine, at: Option<i64>, rdf: &[u8], format: RdfFormat) -> Result<u64, EngineError> {
    engine.push(STREAM, at.map(Timestamp::from_millis), rdf, format).map(|report| report.accepted)
}

/// The results of the other query, with an action on the engine after every event.
fn results(meanwhile: &mut dyn FnMut(&mut Engine)) -> Vec<Vec<u8>> {
    let mut engine = Engine::new(EngineOptions::default());
    let query = register(&mut engine, BESIDE).expect("a good query");
    let timed = StreamOptions {
        timestamp_predicate: Some(NamedNode::new_unchecked("http://ex/at")),
        ..StreamOptions::default()
    };
    engine.declare_stream("http://ex/timed", timed).expect("a stream");
    for number in 0..12 {
        let rdf = format!("<http://ex/e{number}> <http://ex/v> {number} .");
        push(&mut engine, Some(number), rdf.as_bytes(), RdfFormat::Turtle).expect("a good event");
        meanwhile(&mut engine);
    }
    engine.close();
    engine.drain_json(query, "beside").expect("results")
}

/// Performs an invalid action, which must return this error and disturb nothing.
fn refused<T>(code: &'static str, place: Place, bad: impl Fn(&mut Engine) -> Result<T, EngineError> + Send + 'static) {
    let run = move || {
        let undisturbed = results(&mut |_| {});
        let disturbed = results(&mut |engine| {
            let Err(error) = bad(engine) else { panic!("{code}: taken without an error") };
            assert_eq!(error.code(), code, "{error}");
            let position = error.position().map(|position| (position.line, position.column));
            assert_eq!(position, place, "{error}");
            assert!(!error.to_string().is_empty());
        });
        assert_eq!(disturbed, undisturbed, "{code}: the query beside has noticed");
        assert!(disturbed.len() > 3);
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn refused_rdf(code: &'static str, place: (u32, u32), rdf: impl Into<Vec<u8>>, format: RdfFormat) {
    let rdf = rdf.into();
    refused(code, Some(place), move |engine| push(engine, Some(100), &rdf, format));
}

fn refused_query(code: &'static str, place: (u32, u32), query: impl Into<String>) {
    let query = query.into();
    refused(code, Some(place), move |engine| register(engine, &query));
}

fn windowed(window: &str) -> String {
    format!(
        "PREFIX : <http://ex/>\nSELECT ?e FROM NAMED WINDOW :w ON :s [{window}]\nWHERE {{ WINDOW :w {{ ?e :v ?v }} }}"
    )
}

fn with_body(body: &str) -> String {
    format!(
        "PREFIX : <http://ex/>\nSELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 5ms]\nWHERE {{ WINDOW :w {{ ?e :v ?v }}\n{body} }}"
    )
}

#[test]
fn a_malformed_triple_is_refused_with_line_and_column() {
    let good = "<http://ex/a> <http://ex/v> \"1\" .\n";
    refused_rdf("rdf.syntax", (2, 29), format!("{good}<http://ex/a> <http://ex/v> 1x .\n"), RdfFormat::NTriples);
    refused_rdf("rdf.syntax", (2, 15), format!("{good}<http://ex/a> \"v\" <http://ex/b> .\n"), RdfFormat::NTriples);
    refused_rdf("rdf.syntax", (2, 15), format!("{good}<http://ex/a> \"v\" 1 .\n"), RdfFormat::Turtle);
    refused_rdf("rdf.syntax", (2, 1), format!("{good}ex:a ex:v 1 .\n"), RdfFormat::Turtle);
    refused_rdf("rdf.syntax", (2, 29), format!("{good}<http://ex/a> <http://ex/v> \"open .\n"), RdfFormat::NQuads);
}

#[test]
fn a_fault_late_in_a_document_takes_nothing_of_it() {
    let good = "<http://ex/a> <http://ex/v> \"1\" <urn:g> .\n";
    let text = format!("{good}{good}<http://ex/a> <http://ex/v> .\n");
    refused_rdf("rdf.syntax", (3, 29), text, RdfFormat::NQuads);
}

#[test]
fn bytes_that_are_not_utf8_are_refused_where_they_stand() {
    let mut rdf = b"<http://ex/a> <http://ex/v> 1 .\n<http://ex/a> <http://ex/v> \"".to_vec();
    rdf.extend(b"\xff\" .");
    for format in [RdfFormat::NTriples, RdfFormat::NQuads, RdfFormat::Turtle, RdfFormat::TriG] {
        refused_rdf("rdf.encoding", (2, 30), rdf.clone(), format);
    }
}

#[test]
fn deep_rdf_is_refused_before_it_is_walked() {
    let start = "<http://ex/a> <http://ex/v> ";
    for (open, inner, close) in
        [("[ <http://ex/v> ", "1", " ]"), ("( ", "1", " )"), ("<<( <http://ex/a> <http://ex/v> ", "1", " )>>")]
    {
        let rdf = format!("{start}{}{inner}{} .", open.repeat(20_000), close.repeat(20_000));
        let column = start.len() + 128 * open.len() + 1;
        refused_rdf("limit.depth", (1, column as u32), rdf, RdfFormat::Turtle);
    }
}

#[test]
fn a_stream_nobody_knows_is_refused_and_the_known_ones_are_named() {
    let bad = |engine: &mut Engine| {
        let error = engine
            .push("http://ex/nowhere", Some(Timestamp::EPOCH), b"", RdfFormat::Turtle)
            .expect_err("no such stream");
        assert!(
            error.to_string().contains("http://ex/nowhere") && error.hint().is_some_and(|hint| hint.contains(STREAM)),
            "{error}"
        );
        Err::<(), _>(error)
    };
    refused("stream.unknown", None, bad);
    refused("stream.unknown", None, |engine| engine.advance_stream("http://ex/nowhere", Timestamp::EPOCH));
    refused("stream.unknown", None, |engine| engine.mark_idle("http://ex/nowhere"));
}

#[test]
fn a_stream_name_that_is_no_absolute_iri_is_refused() {
    refused("iri.invalid", None, |engine| engine.declare_stream("nowhere", StreamOptions::default()));
}

#[test]
fn an_event_without_a_time_is_refused() {
    refused("timestamp.missing", None, |engine| {
        push(engine, None, b"<http://ex/a> <http://ex/v> 1 .", RdfFormat::Turtle)
    });
    // The stream has a timestamp predicate, the event does not use it.
    refused("timestamp.missing", None, |engine| {
        engine.push("http://ex/timed", None, b"<urn:a> <urn:v> 1 .", RdfFormat::Turtle)
    });
    // One of two graphs has a time: nothing of the document is applied.
    let half = "<urn:g1> <http://www.w3.org/ns/prov#generatedAtTime> 100 . <urn:g1> { <http://ex/a> <http://ex/v> 1 } <urn:g2> { <http://ex/a> <http://ex/v> 2 }";
    refused("timestamp.missing", None, move |engine| push(engine, None, half.as_bytes(), RdfFormat::TriG));
}

#[test]
fn a_timestamp_that_is_no_time_is_refused() {
    let zone = "\"2024-01-01T00:00:00\"^^<http://www.w3.org/2001/XMLSchema#dateTime>";
    for value in ["\"soon\"", "<urn:now>", "1.5", "true", "\"99999999999999999999\"", zone] {
        let rdf = format!("<urn:a> <http://ex/at> {value} .");
        refused("timestamp.invalid", None, move |engine| {
            engine.push("http://ex/timed", None, rdf.as_bytes(), RdfFormat::Turtle)
        });
        let named =
            format!("<urn:g> <http://www.w3.org/ns/prov#generatedAtTime> {value} . <urn:g> {{ <urn:a> <urn:v> 1 }}");
        refused("timestamp.invalid", None, move |engine| push(engine, None, named.as_bytes(), RdfFormat::TriG));
    }
}

#[test]
fn a_watermark_that_goes_back_is_refused() {
    refused("watermark.regression", None, |engine| engine.advance_stream(STREAM, Timestamp::from_millis(-1)));
}

#[test]
fn windows_without_a_size_are_refused_where_it_stands() {
    refused_query("window.zero_width", (2, 45), windowed("RANGE 0s"));
    refused_query("window.zero_slide", (2, 53), windowed("RANGE 5s STEP 0ms"));
    refused_query("duration.negative", (2, 45), windowed("RANGE -5s"));
    refused_query("duration.negative", (2, 53), windowed("RANGE 5s STEP -1s"));
    refused_query("window.zero_count", (2, 48), windowed("ELEMENTS 0"));
    refused_query("window.zero_count", (2, 47), windowed("TRIPLES -1"));
    refused_query("window.zero_width", (2, 44), windowed("FROM NOW-1s TO NOW-2s"));
}

#[test]
fn windows_too_large_or_too_many_are_refused() {
    refused_query("duration.overflow", (2, 45), windowed("RANGE 99999999999d"));
    refused_query("duration.overflow", (2, 45), windowed("RANGE 999999999999999999999999999999s"));
    refused_query("window.too_many", (2, 57), windowed("RANGE 1001ms STEP 1ms"));
    refused_query("duration.calendar", (2, 45), windowed("RANGE P1M"));
    refused_query("duration.unit", (2, 45), windowed("RANGE 5fortnights"));
}

#[test]
fn a_syntax_error_has_line_and_column() {
    refused_query("parse.unexpected_token", (4, 8), with_body("FILTER ?v"));
    refused_query("parse.unexpected_token", (4, 14), with_body("FILTER (?v > )"));
    refused_query("parse.unexpected_token", (2, 1), "PREFIX : <http://ex/>\nSELEKT ?e WHERE { }");
    refused_query("prefix.unknown", (4, 4), with_body("?e ex:v ?w"));
    refused_query("window.undeclared", (4, 8), with_body("WINDOW :x { ?e :v ?w }"));
    refused_query("parse.unterminated_string", (4, 14), with_body("FILTER (?v = \"open)"));
}

#[test]
fn a_query_that_reads_no_window_is_refused() {
    refused_query("plan.no_window", (1, 1), "SELECT ?s WHERE { ?s ?p ?o }");
}

#[test]
fn a_query_that_asks_another_server_is_refused() {
    refused_query("unsupported.service", (4, 1), with_body("SERVICE <http://ex/sparql> { ?e ?p ?o }"));
}

#[test]
fn nesting_and_chains_beyond_the_limits_are_refused_and_do_not_overflow_the_stack() {
    refused_query("limit.depth", (4, 64), with_body(&format!("{}{}", "{".repeat(600), "}".repeat(600))));
    refused_query("limit.operators", (4, 521), with_body(&format!("FILTER({}1 > 0)", "1+".repeat(1_750))));
    refused_query("limit.operators", (4, 264), with_body(&format!("FILTER({}true)", "!".repeat(2_400))));
    let unions = format!("{{ ?e :v 1 }}{}", " UNION { ?e :v 2 }".repeat(1_700));
    assert_eq!(code_of(&with_body(&unions)), "limit.operators");
    assert_eq!(code_of(&with_body(&"OPTIONAL { ?e :v 1 } ".repeat(700))), "limit.operators");
    assert_eq!(code_of(&with_body(&"FILTER(?v > 1) ".repeat(3_000))), "limit.operators");
    assert_eq!(code_of(&with_body(&format!("?e {}:v ?x", ":v/".repeat(5_000)))), "limit.operators");
    assert_eq!(code_of(&with_body(&format!("# {}\n", "x".repeat(70_000)))), "limit.text");
    assert_eq!(code_of(&with_body(&format!("FILTER({}1{})", "(".repeat(900), ")".repeat(900)))), "limit.depth");
}

/// The code of the error, which must also have a position and disturb nothing.
fn code_of(query: &str) -> &'static str {
    let query_text = query.to_owned();
    let first = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let error = register(&mut Engine::new(EngineOptions::default()), &query_text).expect_err("refused");
        (error.code(), error.position().map(|position| (position.line, position.column)))
    });
    let (code, place) = first.expect("a thread").join().expect("no panic");
    assert!(place.is_some() || code == "limit.text", "{code} without a place");
    let query = query.to_owned();
    refused(code, place, move |engine| register(engine, &query));
    code
}

#[test]
fn queries_just_within_the_limits_are_answered_on_a_small_stack() {
    let run = || {
        let nested = format!("{}?e :v ?x{}", "{ ".repeat(50), " }".repeat(50));
        for body in [nested, format!("FILTER({}1 > 0)", "1+".repeat(200)), "OPTIONAL { ?e :v ?x } ".repeat(60)] {
            let mut engine = Engine::new(EngineOptions::default());
            // Static patterns in the body read the default graph, which is empty; here they must only not fail.
            register(&mut engine, &with_body(&body)).expect("within the limits");
            push(&mut engine, Some(1), b"<http://ex/a> <http://ex/v> 1 .", RdfFormat::Turtle).expect("an event");
            engine.close();
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    thread.join().expect("no overflow");
}

#[test]
fn updates_are_refused_with_their_place_or_fit_a_small_stack() {
    let update = |text: String| move |engine: &mut Engine| engine.update(&text, None);
    let text = |body: &str| format!("PREFIX : <http://ex/>\nCLEAR ALL ;\nINSERT {{ ?e :v 1 }} WHERE {{ {body} }}");
    refused("limit.depth", Some((3, 91)), update(text(&format!("{}{}", "{".repeat(600), "}".repeat(600)))));
    refused("limit.operators", Some((3, 548)), update(text(&format!("FILTER({}1 > 0)", "1+".repeat(1_750)))));
    refused("parse.unexpected_token", Some((3, 28)), update(text("WINDOW :w { ?s ?p ?o }")));
    refused("unsupported.service", Some((3, 28)), update(text("SERVICE :x { ?s ?p ?o }")));
    refused("unsupported.load", Some((1, 1)), update("LOAD <http://ex/a>".to_owned()));
    refused("graph.unknown", None, update("DROP GRAPH <http://ex/a>".to_owned()));
    refused("iri.invalid", None, |engine| engine.replace_graph(Some("no"), b"", RdfFormat::Turtle));
    refused("rdf.syntax", Some((1, 1)), |engine| engine.replace_graph(None, b"?", RdfFormat::Turtle));
    refused("graph.unknown", None, |engine| engine.drop_graph(Some("http://ex/a")));
    let run = move || {
        let nested = format!("{}?e :v ?x{}", "{ ".repeat(50), " }".repeat(50));
        for body in [nested, format!("FILTER({}1 > 0)", "1+".repeat(200)), "OPTIONAL { ?e :v ?x } ".repeat(60)] {
            Engine::new(EngineOptions::default()).update(&text(&body), None).expect("within the limits");
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    thread.join().expect("no overflow");
}

#[test]
fn a_graph_inside_a_window_reads_events_and_not_static_data() {
    let mut engine = Engine::new(EngineOptions::default());
    engine.load(Some("http://ex/g"), b"<http://ex/static> <http://ex/v> 0 .", RdfFormat::Turtle).expect("static data");
    let bodies = ["WINDOW :w { GRAPH :g { ?s ?p ?o } }", "WINDOW :w { ?s ?p ?o GRAPH ?g { ?s ?p ?o } }"];
    let queries = bodies.map(|body| {
        let text = format!("PREFIX : <http://ex/> SELECT ?s FROM NAMED WINDOW :w ON :s [NOW] WHERE {{ {body} }}");
        engine.register(&text, &ParseOptions::default()).expect("it is accepted")
    });
    let event = b"GRAPH <http://ex/g> { <http://ex/a> <http://ex/v> 1 . }";
    push(&mut engine, Some(1), event, RdfFormat::TriG).expect("an event");
    push(&mut engine, Some(2), b"<http://ex/b> <http://ex/v> 1 .", RdfFormat::Turtle).expect("an event");
    engine.close();
    for query in queries {
        let answers = engine.drain_json(query, "q").expect("it runs");
        let text: String = answers.iter().map(|answer| String::from_utf8_lossy(answer)).collect();
        assert!(text.contains("http://ex/a") && !text.contains("http://ex/b\"") && !text.contains("static"), "{text}");
    }
}

/// Each line is within the limit on expansion for a body; all of them together exceed it.
#[test]
fn lines_of_one_body_unfold_together() {
    let turtle = format!("@prefix p: <http://ex/{}> . {}", "n".repeat(4_000), "p:a p:b p:c . ".repeat(400));
    let line = format!("{{\"t\": 1, \"data\": \"{turtle}\"}}\n");
    let mut engine = Engine::new(EngineOptions::default());
    engine.declare_stream("http://ex/s", StreamOptions::default()).expect("a stream");
    let options = PushOptions::default();
    let mut push = |body: &str| engine.push_body("http://ex/s", None, body.as_bytes(), BodyFormat::NdJson, &options);
    assert!(push(&line).is_ok(), "5 MB of terms");
    assert_eq!(push(&line.repeat(20)).expect_err("100 MB of terms").code(), "limit.unfolding");
}
