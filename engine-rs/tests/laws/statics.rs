//! Law 2 under change: static data that has become what it is gives the answers of data that was always so.
//!
//! Between the steps of a scenario the static graphs change at random. At every step the reports of the running
//! query equal those of a fresh engine that has had the same data from the beginning, and the signs of a second query
//! add up to them. Terms are let go after every change, so an id that outlives its term shows as a wrong answer.

use crate::random::Random;
use crate::run::{Bag, Seen, drained, hold, minus, prepared, step, text};
use crate::scenario::{PREFIXES, Scenario};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, R2s, RdfFormat};

/// Some terms are of the streams, some are new each time, so that slots of terms are used again.
fn triple(random: &mut Random, made: &mut u32) -> String {
    *made += 1;
    let subject = *random.pick(&[":a", ":b", ":c"]);
    let object = match random.below(8) {
        0 => format!(":new{made}"),
        1 => format!("\"a text that is new: {made}\""),
        n => [":a", ":b", ":c", "1", "2", "01"][n - 2].to_owned(),
    };
    format!("{subject} :static {object}")
}

fn triples(random: &mut Random, made: &mut u32) -> String {
    (0..random.below(5)).map(|_| triple(random, made) + " . ").collect()
}

fn change(engine: &mut Engine, random: &mut Random, made: &mut u32) {
    let update = match random.below(8) {
        0 => {
            let rdf = format!("{PREFIXES}{}", triples(random, made));
            engine.replace_graph(None, rdf.as_bytes(), RdfFormat::Turtle).expect("a graph");
            return;
        }
        1 => {
            let rdf = format!("{PREFIXES}{}", triples(random, made));
            engine.load(None, rdf.as_bytes(), RdfFormat::Turtle).expect("a graph");
            return;
        }
        2 => {
            engine.drop_graph(None).expect("the default graph");
            return;
        }
        3 => format!("DELETE DATA {{ {} }}", triple(random, made)),
        4 => "DELETE { ?s :static ?o } INSERT { ?s :static ?s } WHERE { ?s :static ?o FILTER(isIRI(?o)) }".to_owned(),
        5 => "INSERT { ?s :static ?t } WHERE { ?s :static ?o BIND(CONCAT(\"made of \", STR(?o)) AS ?t) }".to_owned(),
        6 => format!("DELETE WHERE {{ :{} :static ?o }}", ["a", "b", "c"][random.below(3)]),
        _ => format!("INSERT DATA {{ {} }}", triples(random, made)),
    };
    engine.update(&format!("{PREFIXES}{update}"), None).expect("an update");
}

fn register(engine: &mut Engine, scenario: &Scenario, r2s: R2s) -> Option<QueryId> {
    engine.register(&text(scenario), &ParseOptions { r2s: Some(r2s), ..scenario.options.clone() }).ok()
}

fn static_data(engine: &Engine) -> String {
    let triples = engine.graph_triples(None).expect("the default graph");
    triples.iter().map(|triple| format!("{triple} . ")).collect()
}

/// The reports of the last of the first `n` steps, with this static data from the beginning.
fn fresh(scenario: &Scenario, statics: String, n: usize) -> Vec<Seen> {
    let mut engine = prepared(&Scenario { statics, ..scenario.clone() }, EngineOptions::default());
    let query = register(&mut engine, scenario, R2s::Rstream).expect("it was registered before");
    for one in &scenario.steps[..n] {
        drained(&mut engine, query);
        step(&mut engine, one);
    }
    drained(&mut engine, query)
}

/// Adds the changes between two answers to what the other query must have said.
fn check_signs(previous: &mut Bag, answer: &Seen, signs: &mut impl Iterator<Item = Seen>) {
    let (inserted, deleted) = (minus(&answer.inserted, previous), minus(previous, &answer.inserted));
    if !inserted.is_empty() || !deleted.is_empty() {
        let report = signs.next().expect("a report of changes");
        assert_eq!((report.at, &report.inserted, &report.deleted), (answer.at, &inserted, &deleted));
    }
    previous.clone_from(&answer.inserted);
}

#[test]
fn running_queries_follow_static_data_as_if_it_had_always_been_so() {
    hold(12, |scenario, random| {
        if !scenario.query.contains(":static") {
            return None;
        }
        let mut engine = prepared(scenario, EngineOptions::default());
        let query = register(&mut engine, scenario, R2s::Rstream)?;
        let signed = register(&mut engine, scenario, R2s::Changes)?;
        let (mut made, mut previous, mut compared) = (0, Bag::new(), 0);
        for (at, one) in scenario.steps.iter().enumerate() {
            if random.chance(60) {
                change(&mut engine, random, &mut made);
                engine.release_terms();
            }
            step(&mut engine, one);
            if random.chance(30) {
                engine.release_terms();
            }
            let reports = drained(&mut engine, query);
            assert_eq!(reports, fresh(scenario, static_data(&engine), at + 1), "step {at}");
            let mut signs = drained(&mut engine, signed).into_iter();
            reports.iter().for_each(|answer| check_signs(&mut previous, answer, &mut signs));
            assert!(signs.next().is_none(), "no report without a change");
            compared += reports.len();
        }
        Some(compared)
    });
}
