//! Law 2 under change: the results depend on the current static data and not on its history.
//!
//! Between the steps of a scenario, the static graphs change at random. At every step the reports of the running query
//! equal those of a fresh engine that has had the same data from the beginning, and the signed changes of a second
//! query add up to them. Unused terms are freed after every change, so an id that outlives its term shows up as a wrong
//! result when windows are empty; the second test concentrates on that.

use crate::random::Random;
use crate::run::{Bag, Seen, drained, hold, minus, prepared, step, text};
use crate::scenario::{Event, PREFIXES, Scenario, Step};
use std::collections::BTreeMap;
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, R2s, RdfFormat};

/// Some terms occur in the streams, some are always new, so that slots of terms are reused.
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

/// Compares the changes between two results with those that the other query reported.
fn check_signs(previous: &mut Bag, answer: &Seen, signs: &mut impl Iterator<Item = Seen>) {
    let (inserted, deleted) = (minus(&answer.inserted, previous), minus(previous, &answer.inserted));
    if !inserted.is_empty() || !deleted.is_empty() {
        let report = signs.next().expect("a report of changes");
        assert_eq!((report.at, &report.inserted, &report.deleted), (answer.at, &inserted, &deleted));
    }
    previous.clone_from(&answer.inserted);
}

/// Runs a scenario with changes in between; returns the number of compared reports, or `None` if the query is not
/// supported.
fn follow(scenario: &Scenario, random: &mut Random, change: fn(&mut Engine, &mut Random, &mut u32)) -> Option<usize> {
    // In separate engines: state held by one query must not help the other.
    let mut engines = [R2s::Rstream, R2s::Changes].map(|r2s| {
        let mut engine = prepared(scenario, EngineOptions::default());
        register(&mut engine, scenario, r2s).map(|query| (engine, query))
    });
    let [Some((engine, query)), Some((signing, signed))] = &mut engines else { return None };
    let (mut made, mut previous, mut compared) = (0, Bag::new(), 0);
    for (at, one) in scenario.steps.iter().enumerate() {
        let (seed, changes, releases) = (random.next(), random.chance(60), random.chance(30));
        let before = made;
        for engine in [&mut *engine, &mut *signing] {
            made = before;
            if changes {
                change(engine, &mut Random::new(seed), &mut made);
                engine.release_terms();
            }
            step(engine, one);
            if releases {
                engine.release_terms();
            }
        }
        let reports = drained(engine, *query);
        assert_eq!(reports, fresh(scenario, static_data(engine), at + 1), "step {at}");
        let mut signs = drained(signing, *signed).into_iter();
        reports.iter().for_each(|answer| check_signs(&mut previous, answer, &mut signs));
        assert!(signs.next().is_none(), "no report without a change");
        compared += reports.len();
    }
    Some(compared)
}

#[test]
fn running_queries_follow_static_data_as_if_it_had_always_been_so() {
    hold(12, |scenario, random| scenario.query.contains(":static").then(|| follow(scenario, random, change)).flatten());
}

/// Rows of static data alone, and values that operators of every kind compute and keep of them while windows are empty.
const LASTING: [&str; 13] = [
    "SELECT * WHERE { ?a :static ?n OPTIONAL { WINDOW :w { ?a :p ?b } } }",
    "SELECT * WHERE { { ?a :static ?n } UNION { WINDOW :w { ?a :p ?n } } BIND(CONCAT(STR(?n), ' made of it') AS ?m) }",
    "SELECT * WHERE { ?a :static ?n OPTIONAL { WINDOW :w { ?a :p ?b } } BIND(CONCAT(STR(?n), ' made of it') AS ?m) }",
    "SELECT * WHERE { WINDOW :w { ?z :q ?y } { ?a :static ?n OPTIONAL { WINDOW :w { ?a :p ?b } }
       BIND(CONCAT(STR(?n), ' made of it') AS ?m) } }",
    "SELECT (GROUP_CONCAT(?t) AS ?all) WHERE { ?a :static ?n BIND(STR(?n) AS ?t) OPTIONAL { WINDOW :w { ?a :p ?b } } }",
    "SELECT ?n (COUNT(?b) AS ?c) (MAX(?a) AS ?m) WHERE { ?a :static ?n OPTIONAL { WINDOW :w { ?a :p ?b } } } GROUP BY ?n",
    "SELECT (COUNT(DISTINCT ?m) AS ?c) (MIN(?m) AS ?least) WHERE { ?a :static ?n OPTIONAL { WINDOW :w { ?a :p ?b } }
       BIND(CONCAT(STR(?n), ' made of it') AS ?m) }",
    "SELECT DISTINCT ?m WHERE { ?a :static ?n OPTIONAL { WINDOW :w { ?a :p ?b } } BIND(CONCAT(STR(?n), ' made') AS ?m) }",
    "SELECT ?m WHERE { ?a :static ?n OPTIONAL { WINDOW :w { ?a :p ?b } } BIND(CONCAT(STR(?n), ' made') AS ?m) }
       ORDER BY DESC(?m) LIMIT 2",
    "SELECT * WHERE { ?a :static ?n FILTER NOT EXISTS { WINDOW :w { ?a :p ?b } } BIND(CONCAT(STR(?n), ' made') AS ?m) }",
    "SELECT * WHERE { ?a :static ?n MINUS { WINDOW :w { ?a :p ?b } } }",
    "SELECT * WHERE { WINDOW :w { ?a :p* ?b } ?a :static ?n BIND(CONCAT(STR(?n), ' made') AS ?m) }",
    "SELECT * WHERE { WINDOW :w { ?a :p ?b } ?a :static ?n BIND(CONCAT(STR(?n), STR(?b), ' made') AS ?m) }",
];

/// A few events in short windows, with new terms for the slots that have become free.
fn sparse(query: &str, random: &mut Random) -> Scenario {
    let head = query.replacen("WHERE", "FROM NAMED WINDOW :w ON :s [RANGE 3ms STEP 1ms] WHERE", 1);
    let mut at = 0;
    let mut steps = Vec::new();
    for number in 0..12 {
        at += random.range(1, 5);
        let subject = *random.pick(&[":a", ":b", ":c", ":d"]);
        let predicate = *random.pick(&[":p", ":q"]);
        let turtle = format!("{subject} {predicate} :b , 'a text that came with event {number}' .");
        steps.push(match random.chance(50) {
            true => Step::Event(Event { stream: "http://ex/s", at, turtle }),
            false => Step::Watermark(at),
        });
    }
    let statics = ":a :static :old , 'an old text' . :b :static 'another old text' .".to_owned();
    let (options, working) = (ParseOptions::default(), EngineOptions::default());
    Scenario { query: head, others: vec![], options, statics, lateness: BTreeMap::new(), steps, working, offset: 0 }
}

/// Mostly new terms.
fn renew(engine: &mut Engine, random: &mut Random, made: &mut u32) {
    let mut rdf = PREFIXES.to_owned();
    for _ in 0..random.below(4) {
        *made += 1;
        let subject = *random.pick(&[":a", ":b", ":c"]);
        rdf += &match random.below(4) {
            0 => format!("{subject} :static :b . "),
            1 => format!("{subject} :static :new{made} . "),
            _ => format!("{subject} :static 'a text that is new: {made}' . "),
        };
    }
    engine.replace_graph(None, rdf.as_bytes(), RdfFormat::Turtle).expect("a graph");
}

#[test]
fn terms_are_held_while_a_row_has_them_although_all_windows_are_empty() {
    for (number, query) in LASTING.iter().enumerate() {
        let mut compared = 0;
        for seed in 1..=60 {
            let mut random = Random::new(seed * 1_000 + number as u64);
            let scenario = sparse(query, &mut random);
            let run = || follow(&scenario, &mut random, renew).expect("it is supported");
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            compared += outcome.unwrap_or_else(|_| panic!("query {number}, seed {seed}:\n{}", scenario.describe()));
        }
        assert!(compared > 100, "query {number}: only {compared} reports");
    }
}
