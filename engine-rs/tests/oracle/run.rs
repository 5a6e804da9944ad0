//! One scenario through the engine, in some way of working, and through the twin.

use crate::naive::{Naive, Report, term_text};
use crate::scenario::{PREFIXES, Scenario, Step};
use crate::solve::Bag;
use whorl_engine::{
    Answered, Engine, EngineError, EngineOptions, ParseOptions, Probing, QueryId, RdfFormat, Retraction, Rows, Span,
    StreamOptions, Timestamp, parse_query, parse_rdf,
};

pub enum Outcome {
    Same {
        reports: usize,
    },
    /// The engine does not support the query, and says so.
    Refused,
    Different(String),
}

pub fn compare(scenario: &Scenario, options: EngineOptions) -> Outcome {
    let text = format!("{PREFIXES}{}", scenario.query);
    let definition = match parse_query(&text, &scenario.options) {
        Ok(definition) => definition,
        Err(error) => panic!("the generator writes what parses: {error}\n{text}"),
    };
    let mut engine = prepared(scenario, options);
    let query = match engine.register(&text, &scenario.options) {
        Ok(query) => query,
        Err(EngineError::Plan(_)) => return Outcome::Refused,
        Err(error) => panic!("{error}\n{text}"),
    };
    let statics = triples(&scenario.statics);
    let mut naive = Naive::new(definition, statics, &scenario.lateness);
    let mut reports = Vec::new();
    for step in &scenario.steps {
        engine_step(&mut engine, step);
        naive_step(&mut naive, step);
        reports.extend(drained(&mut engine, query));
        if reports != naive.reports {
            let engine_says: Vec<_> = reports.iter().map(|r| format!("{r:?}")).collect();
            let twin_says: Vec<_> = naive.reports.iter().map(|r| format!("{r:?}")).collect();
            let plan = engine.explain(query).unwrap_or_default();
            return Outcome::Different(format!(
                "after {step:?}\nengine\n{}\ntwin\n{}\nplan\n{plan}",
                engine_says.join("\n"),
                twin_says.join("\n")
            ));
        }
    }
    Outcome::Same { reports: reports.len() }
}

fn prepared(scenario: &Scenario, options: EngineOptions) -> Engine {
    let mut engine = Engine::new(options);
    for stream in ["http://ex/s", "http://ex/s2"] {
        let lateness = scenario.lateness.get(stream).map(|ms| Span::from_millis(*ms));
        engine.declare_stream(stream, StreamOptions { lateness, ..StreamOptions::default() }).expect("a stream");
    }
    engine.load(None, format!("{PREFIXES}{}", scenario.statics).as_bytes(), RdfFormat::Turtle).expect("static data");
    engine
}

fn triples(turtle: &str) -> Vec<whorl_engine::rdf::Triple> {
    let quads = parse_rdf(format!("{PREFIXES}{turtle}").as_bytes(), RdfFormat::Turtle, None).expect("Turtle");
    let mut triples: Vec<whorl_engine::rdf::Triple> = Vec::new();
    for quad in quads {
        let triple = whorl_engine::rdf::Triple::new(quad.subject, quad.predicate, quad.object);
        if !triples.contains(&triple) {
            triples.push(triple);
        }
    }
    triples
}

fn engine_step(engine: &mut Engine, step: &Step) {
    match step {
        Step::Event { stream, at, turtle } => {
            engine.push_triples(stream, Timestamp::from_millis(*at), &triples(turtle)).expect("an event");
        }
        Step::Watermark(at) => engine.advance_to(Timestamp::from_millis(*at)).expect("a watermark"),
        Step::Close => engine.close(),
    }
}

fn naive_step(naive: &mut Naive, step: &Step) {
    match step {
        Step::Event { stream, at, turtle } => naive.push(stream, *at, triples(turtle)),
        Step::Watermark(at) => naive.advance(*at),
        Step::Close => naive.advance(i64::MAX),
    }
}

fn drained(engine: &mut Engine, query: QueryId) -> Vec<Report> {
    let results = engine.drain(query).expect("results");
    let bag = |rows: &Rows| {
        let mut bag = Bag::default();
        for row in rows.iter() {
            bag.add(
                row.iter()
                    .map(|id| if id.is_bound() { term_text(&engine.dictionary().term(*id)) } else { "_".to_owned() })
                    .collect(),
            );
        }
        bag
    };
    let report = |result: &whorl_engine::QueryResult| match &result.answer {
        Answered::Bindings { inserted, deleted } => {
            Report { at: result.at.as_millis(), inserted: bag(inserted), deleted: bag(deleted) }
        }
        other => panic!("SELECT gives bindings, not {other:?}"),
    };
    results.iter().map(report).collect()
}

/// Other ways of working, with the number of steps between two looks at the results.
pub fn ways() -> Vec<(&'static str, EngineOptions, usize)> {
    let base = EngineOptions::default();
    vec![
        ("batches of 7", base, 7),
        ("batches of 64", base, 64),
        ("batches of 1000", base, 1000),
        ("results kept as trees", EngineOptions { retraction: Retraction::Tree, ..base }, 1),
        ("results found again by probing", EngineOptions { retraction: Retraction::Probe, ..base }, 1),
        ("a fixed probing order", EngineOptions { probing: Probing::Fixed(3), ..base }, 1),
        (
            "another fixed probing order",
            EngineOptions { probing: Probing::Fixed(8), retraction: Retraction::Tree, ..base },
            7,
        ),
        ("no sharing", EngineOptions { sharing: false, ..base }, 1),
        ("another hash seed", EngineOptions { hash_seed: 99, ..base }, 64),
    ]
}

/// The bytes of all results, taken every `batch` steps, with a second query beside that reads the same.
pub fn engine_reports(scenario: &Scenario, options: EngineOptions, batch: usize) -> Option<Vec<Vec<u8>>> {
    let mut engine = prepared(scenario, options);
    let text = format!("{PREFIXES}{}", scenario.query);
    let query = engine.register(&text, &scenario.options).ok()?;
    if options.hash_seed != EngineOptions::default().hash_seed || !options.sharing {
        engine.register(&text, &scenario.options).ok()?;
        let beside = "SELECT ?a FROM NAMED WINDOW :z ON :s [RANGE 3ms] WHERE { WINDOW :z { ?a :p ?b } }";
        engine.register(&format!("{PREFIXES}{beside}"), &ParseOptions::default()).ok()?;
    }
    let mut envelopes = Vec::new();
    for steps in scenario.steps.chunks(batch) {
        steps.iter().for_each(|step| engine_step(&mut engine, step));
        envelopes.extend(engine.drain_json(query, "q").expect("results"));
    }
    Some(envelopes)
}
