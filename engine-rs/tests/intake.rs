//! Bodies of events through the engine's own interface: lines of JSON, batches of encoded events, row mappings.
//!
//! Detects: partly applied bodies, ids of a batch that a sweep made invalid, mappings that lose rows. Arrow columns and
//! hostile bytes are tested from Python.

use whorl_engine::rdf::{NamedNode, Term};
use whorl_engine::{
    BodyFormat, Engine, EngineError, EngineOptions, EventBatch, IngestReport, ParseOptions, PushOptions, QueryId,
    RdfFormat, RowMapper, RowMapping, TermId, Timestamp,
};

const STREAM: &str = "http://ex/s";
const QUERY: &str = "PREFIX : <http://ex/> SELECT ?s ?o FROM NAMED WINDOW :w ON :s [RANGE 10ms STEP 10ms] WHERE { WINDOW :w { ?s :p ?o } }";
const LENIENT: PushOptions = PushOptions { latest: None, atomic: false, zone: None };

fn engine() -> (Engine, QueryId) {
    let mut engine = Engine::new(EngineOptions::default());
    let query = engine.register(QUERY, &ParseOptions::default()).expect("a query");
    (engine, query)
}

fn lines(engine: &mut Engine, text: &str, options: &PushOptions) -> Result<IngestReport, EngineError> {
    engine.push_body(STREAM, None, text.as_bytes(), BodyFormat::NdJson, options)
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn iri(batch: &mut EventBatch, name: &str) -> TermId {
    batch.term(&Term::from(NamedNode::new_unchecked(format!("http://ex/{name}"))))
}

fn results(mut engine: Engine, query: QueryId) -> Vec<Vec<u8>> {
    engine.close();
    engine.drain_json(query, "q").expect("results")
}

#[test]
fn a_batch_gives_the_same_results_as_text() {
    let (mut by_text, text_query) = engine();
    let (mut by_batch, batch_query) = engine();
    let mut batch = EventBatch::new();
    for number in 0..100_i64 {
        let rdf = format!(
            "<http://ex/s{}> <http://ex/p> {number}, _:b, \"a longer text {number}\" ; <http://ex/q> 1 .",
            number % 7
        );
        by_text.push(STREAM, Some(at(number)), rdf.as_bytes(), RdfFormat::Turtle).expect("an event");
        batch.begin(Some(at(number)), number as u64);
        let (s, p, q) = (iri(&mut batch, &format!("s{}", number % 7)), iri(&mut batch, "p"), iri(&mut batch, "q"));
        let (o, one, text) =
            (batch.integer(number), batch.integer(1), batch.string(&format!("a longer text {number}")));
        let blank = batch.term(&Term::from(whorl_engine::rdf::BlankNode::new_unchecked(format!("b{number}"))));
        [[s, p, o], [s, p, blank], [s, p, text], [s, q, one], [s, p, o]]
            .into_iter()
            .for_each(|triple| batch.push(triple));
    }
    let report = by_batch.push_batch(STREAM, &batch, 0..batch.len(), &PushOptions::default()).expect("a batch");
    assert_eq!((report.accepted, report.events, report.triples), (100, 100, 500));
    assert_eq!(results(by_batch, batch_query), results(by_text, text_query));
}

#[test]
fn ids_of_a_batch_outlive_sweeps_between_its_events() {
    let mut engine = Engine::new(EngineOptions::default());
    // Undrained results keep terms; this query has one result, at the end.
    let text = "PREFIX : <http://ex/> SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 10ms STEP 10ms] WHERE { WINDOW :w { ?s :p ?o . ?s :last 1 } }";
    let options = ParseOptions {
        report: Some(whorl_engine::Report { close: true, nonempty: true, ..Default::default() }),
        ..ParseOptions::default()
    };
    let query = engine.register(text, &options).expect("a query");
    let mut batch = EventBatch::new();
    for number in 0..30_000_i64 {
        batch.begin(Some(at(number * 10)), number as u64);
        let name = if number % 9_999 == 0 { "returns".to_owned() } else { format!("long-name-{number}") };
        let (s, p, last) = (iri(&mut batch, &name), iri(&mut batch, "p"), iri(&mut batch, "last"));
        let (o, one) = (batch.integer(number), batch.integer(1));
        batch.push([s, p, o]);
        if number == 29_997 {
            batch.push([s, last, one]);
        }
    }
    engine.push_batch(STREAM, &batch, 0..batch.len(), &PushOptions::default()).expect("a batch");
    assert!(engine.stats().stream_terms < 20_000, "terms were swept while the batch went in");
    let found = results(engine, query);
    let found: Vec<_> = found.iter().map(|json| String::from_utf8_lossy(json)).collect();
    assert!(found.iter().any(|json| json.contains("\"http://ex/returns\"")), "{found:?}");
}

#[test]
fn nothing_is_taken_when_one_of_many_is_wrong() {
    let (mut engine, _) = engine();
    let mut text: String =
        (0..50).map(|n| format!("{{\"t\":{n},\"data\":\"<http://ex/a> <http://ex/p> {n} .\"}}\n")).collect();
    text.push_str("{\"watermark\":60}\n{\"t\":70}");
    let error = lines(&mut engine, &text, &PushOptions::default()).expect_err("no event in the last line");
    assert_eq!((error.code(), error.index(), error.position().map(|p| p.line)), ("rdf.syntax", Some(51), Some(52)));
    assert_eq!((engine.stats().events, engine.stats().streams[0].watermark), (0, None));
    let report = lines(&mut engine, &text, &LENIENT).expect("the others are right");
    assert_eq!((report.accepted, report.refused.len(), report.events), (50, 1, 51));
    assert_eq!(engine.stats().streams[0].watermark, Some(at(60)));
}

#[test]
fn a_watermark_behind_an_event_of_the_same_body_is_refused() {
    let (mut engine, _) = engine();
    let text = "{\"t\":50,\"data\":\"\"}\n{\"watermark\":20}";
    let error = lines(&mut engine, text, &PushOptions::default()).expect_err("time does not go back");
    assert_eq!((error.code(), error.index()), ("watermark.regression", Some(1)));
    assert_eq!(engine.stats().events, 0);
}

#[test]
fn an_end_ends_one_stream() {
    let (mut engine, query) = engine();
    let text = "{\"t\":1,\"data\":\"<http://ex/a> <http://ex/p> 1 .\"}\n{\"end\":true}\n{\"t\":2,\"data\":\"\"}";
    let report = lines(&mut engine, text, &PushOptions::default()).expect("a body");
    assert_eq!((report.accepted, report.late), (1, 1));
    let ended = engine.drain_json(query, "q").expect("results");
    engine.close();
    assert_eq!((engine.state_size(), engine.drain(query).expect("nothing more").len()), (0, 0));
    let (mut closed, query) = self::engine();
    closed.push(STREAM, Some(at(1)), b"<http://ex/a> <http://ex/p> 1 .", RdfFormat::Turtle).expect("an event");
    assert_eq!(ended, results(closed, query));
}

#[test]
fn deep_lines_do_not_overflow_a_small_stack() {
    let deep = format!("{{\"t\":1,\"event\":{}1{}}}", "{\"http://ex/p\":".repeat(70_000), "}".repeat(70_000));
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let (mut engine, _) = engine();
        [&deep, &"[".repeat(70_000)].map(|text| lines(&mut engine, text, &PushOptions::default()).map_err(|e| e.code()))
    });
    let codes = worker.expect("a thread").join().expect("no overflow");
    assert!(codes.iter().all(|code| *code == Err("limit.depth")));
}

fn map(construct: &str, columns: &[&str], rows: &[&[Option<&str>]]) -> EventBatch {
    let mapping = RowMapping::parse(construct).expect("a mapping");
    mapping.check_columns(columns).expect("the columns are there");
    let mut mapper = RowMapper::new(&mapping).expect("it was checked");
    let places: Vec<Option<usize>> =
        mapping.columns().map(|name| columns.iter().position(|column| *column == name)).collect();
    for (number, row) in rows.iter().enumerate() {
        let id = |place: &Option<usize>| place.and_then(|place| row[place]);
        let texts: Vec<Option<&str>> = places.iter().map(id).collect();
        let ids: Vec<TermId> = texts
            .into_iter()
            .map(|text| text.map_or(TermId::UNBOUND, |text| mapper.batch_mut().string(text)))
            .collect();
        mapper.add_row(number as u64, Some(at(number as i64)), &ids);
    }
    mapper.into_batch()
}

#[test]
fn rows_of_text_are_mapped_with_casts() {
    let construct = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        CONSTRUCT { ?s :p ?number } WHERE { BIND(IRI(CONCAT(STR(:), ?name)) AS ?s) BIND(xsd:integer(?v) AS ?number) }";
    let rows: [&[Option<&str>]; 3] = [&[Some("a"), Some("1")], &[Some("b"), None], &[Some("c"), Some("x")]];
    let batch = map(construct, &["name", "v"], &rows);
    assert_eq!((batch.len(), batch.refused().len()), (1, 0), "rows without a triple are no events");
    let text = String::from_utf8(batch.to_nquads()).expect("text");
    assert!(text.contains("<http://ex/a> <http://ex/p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer>"), "{text}");
}

#[test]
fn drawn_values_differ_from_row_to_row_and_are_the_same_again() {
    let construct = "CONSTRUCT { ?u <http://ex/p> ?v } WHERE { BIND(UUID() AS ?u) }";
    let rows: [&[Option<&str>]; 2] = [&[Some("same")], &[Some("same")]];
    let (once, again) = (map(construct, &["v"], &rows).to_nquads(), map(construct, &["v"], &rows).to_nquads());
    assert_eq!(once, again);
    let text = String::from_utf8(once).expect("text");
    let uuids: std::collections::HashSet<&str> =
        text.lines().filter(|line| line.contains("urn:uuid")).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(uuids.len(), 2);
}

#[test]
fn a_mapping_is_kept_with_its_stream() {
    let (mut engine, _) = engine();
    let construct = "CONSTRUCT { ?s <http://ex/p> ?o }";
    engine.set_mapping(STREAM, Some(construct), "when").expect("a mapping");
    assert_eq!(engine.mapping(STREAM), Ok(Some((construct, "when"))));
    let error = engine.set_mapping(STREAM, Some("CONSTRUCT { ?s <http://ex/p> ?o } WHERE { ?s ?p ?o }"), "t");
    assert_eq!(error.map_err(|error| error.code()), Err("mapping.unsupported"));
    assert_eq!(engine.mapping(STREAM), Ok(Some((construct, "when"))));
    engine.set_mapping(STREAM, None, "t").expect("no mapping");
    assert_eq!(engine.mapping(STREAM), Ok(None));
    assert_eq!(engine.mapping("http://ex/other").map_err(|error| error.code()), Err("stream.unknown"));
}
